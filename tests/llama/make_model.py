#!/usr/bin/env python3
"""make_model.py OUTPUT.gguf [--seed N]: a small model of random weights that llama.cpp loads.

Architecture "llama" with two layers. It has learned nothing; what it says depends on all tokens before, which is enough
to tell a right computation from a wrong one. The same seed makes the same file.
"""

import argparse
import random
import struct
from pathlib import Path

LAYERS = 2
EMBEDDING = 256
HEADS = 4
KEY_HEADS = 2
KEYS = EMBEDDING // HEADS * KEY_HEADS  # numbers of a token in each layer, and as many values
FEED_FORWARD = 512
CONTEXT = 1024
# Three control tokens, one token for each byte, which any text can be spelled with, and words " t259" and so on.
CONTROL = ("<unk>", "<s>", "</s>")
FIRST_WORD = len(CONTROL) + 256
VOCABULARY = 512

# Of the GGUF format: types of values, of tensors, and of tokens.
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
F32, Q8_0 = 0, 8
NORMAL, UNKNOWN, CONTROL_TOKEN, BYTE = 1, 2, 3, 6
ALIGNMENT = 32
BLOCK = 32  # numbers that have one scale in Q8_0


def word(token):
    """What llama.cpp prints for a token that is a word."""
    return f" t{token}"


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, content):
    if kind == STRING:
        return struct.pack("<I", kind) + text(content)
    if isinstance(kind, tuple):  # an array of that
        element = {STRING: text, FLOAT32: lambda v: struct.pack("<f", v), INT32: lambda v: struct.pack("<i", v)}[kind[0]]
        return struct.pack("<IIQ", ARRAY, kind[0], len(content)) + b"".join(map(element, content))
    return struct.pack("<I" + {UINT32: "I", FLOAT32: "f", BOOL: "?"}[kind], kind, content)


def metadata(experts):
    tokens = [*CONTROL, *(f"<0x{byte:02X}>" for byte in range(256)),
              *(word(token).replace(" ", "▁") for token in range(FIRST_WORD, VOCABULARY))]
    kinds = [UNKNOWN, CONTROL_TOKEN, CONTROL_TOKEN, *[BYTE] * 256, *[NORMAL] * (VOCABULARY - FIRST_WORD)]
    choice = {"llama.expert_count": (UINT32, experts), "llama.expert_used_count": (UINT32, 2)} if experts else {}
    return choice | {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, "random weights"),
        "llama.block_count": (UINT32, LAYERS),
        "llama.context_length": (UINT32, CONTEXT),
        "llama.embedding_length": (UINT32, EMBEDDING),
        "llama.feed_forward_length": (UINT32, FEED_FORWARD),
        "llama.attention.head_count": (UINT32, HEADS),
        "llama.attention.head_count_kv": (UINT32, KEY_HEADS),
        "llama.attention.layer_norm_rms_epsilon": (FLOAT32, 1e-5),
        "llama.rope.dimension_count": (UINT32, EMBEDDING // HEADS),
        "tokenizer.ggml.model": (STRING, "llama"),
        "tokenizer.ggml.tokens": ((STRING,), tokens),
        "tokenizer.ggml.scores": ((FLOAT32,), [0.0] * VOCABULARY),
        "tokenizer.ggml.token_type": ((INT32,), kinds),
        "tokenizer.ggml.unknown_token_id": (UINT32, 0),
        "tokenizer.ggml.bos_token_id": (UINT32, 1),
        "tokenizer.ggml.eos_token_id": (UINT32, 2),
        "tokenizer.ggml.add_bos_token": (BOOL, True),
    }


def floats(generator, columns, rows):
    return struct.pack(f"<{columns * rows}f", *(generator.uniform(-1, 1) for _ in range(columns * rows)))


def quantized(generator, columns, rows):
    """Rows of blocks: a scale, and 32 numbers of 8 bits. The sum of a row's products has about the size of its factors."""
    scale = struct.pack("<e", 1.7 / columns**0.5 / 127)
    return b"".join(scale + bytes(generator.getrandbits(8) for _ in range(BLOCK))
                    for _ in range(rows * columns // BLOCK))


def tensors(generator, experts=0):
    """name: (type, shape, bytes)."""
    ones = struct.pack(f"<{EMBEDDING}f", *[1.0] * EMBEDDING)
    made = {"token_embd.weight": (F32, (EMBEDDING, VOCABULARY), floats(generator, EMBEDDING, VOCABULARY))}

    def matrix(name, columns, rows):
        made[name] = (Q8_0, (columns, rows), quantized(generator, columns, rows))

    def of_each_expert(name, columns, rows):
        if not experts:
            return matrix(name + ".weight", columns, rows)
        made[name + "_exps.weight"] = (Q8_0, (columns, rows, experts), quantized(generator, columns, rows * experts))

    for layer in range(LAYERS):
        at = f"blk.{layer}."
        made[at + "attn_norm.weight"] = (F32, (EMBEDDING,), ones)
        matrix(at + "attn_q.weight", EMBEDDING, EMBEDDING)
        matrix(at + "attn_k.weight", EMBEDDING, KEYS)
        matrix(at + "attn_v.weight", EMBEDDING, KEYS)
        matrix(at + "attn_output.weight", EMBEDDING, EMBEDDING)
        made[at + "ffn_norm.weight"] = (F32, (EMBEDDING,), ones)
        if experts:
            made[at + "ffn_gate_inp.weight"] = (F32, (EMBEDDING, experts), floats(generator, EMBEDDING, experts))
        of_each_expert(at + "ffn_gate", EMBEDDING, FEED_FORWARD)
        of_each_expert(at + "ffn_up", EMBEDDING, FEED_FORWARD)
        of_each_expert(at + "ffn_down", FEED_FORWARD, EMBEDDING)
    made["output_norm.weight"] = (F32, (EMBEDDING,), ones)
    # Zeros for what is not a word: the model says words only, of which it is known what llama.cpp prints.
    row = EMBEDDING // BLOCK * (2 + BLOCK)
    words = quantized(generator, EMBEDDING, VOCABULARY - FIRST_WORD)
    made["output.weight"] = (Q8_0, (EMBEDDING, VOCABULARY), bytes(FIRST_WORD * row) + words)
    return made


def embeddings(seed):
    """What llama.cpp gives the device for each token."""
    data = tensors(random.Random(seed))["token_embd.weight"][2]
    return [data[at:at + 4 * EMBEDDING] for at in range(0, len(data), 4 * EMBEDDING)]


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def model(seed, experts=0):
    """`experts`: of its feed-forward layers, of which each token uses two; 0: they are dense."""
    made, pairs = tensors(random.Random(seed), experts), metadata(experts)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(made), len(pairs))
    head += b"".join(text(key) + value(*content) for key, content in pairs.items())
    body = b""
    for name, (kind, shape, data) in made.items():
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
        body += padded(data)
    return padded(head) + body


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.output.write_bytes(model(arguments.seed))


if __name__ == "__main__":
    main()
