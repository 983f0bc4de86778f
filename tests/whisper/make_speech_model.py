#!/usr/bin/env python3
"""make_speech_model.py MODEL.bin SOUND.wav [--seed N]: a small model of random weights that whisper.cpp loads, and two seconds of sound.

It has learned nothing. Its words depend on the sound and on the words before, which is enough to tell a right computation from a wrong
one. The same seed makes the same files. The model is in whisper.cpp's own format: magic number, sizes, filters of the mel spectrum,
vocabulary and tensors, all in little-endian order.
"""

import argparse
import math
import random
import struct
import wave
from pathlib import Path

MAGIC = 0x67676D6C
LAYERS = 2  # of the encoder, and of the decoder
WIDTH = 128
HEADS = 2
AUDIO_CONTEXT = 64  # positions of the encoder, each of two frames of 10 ms
TEXT_CONTEXT = 32  # whisper.cpp stops after TEXT_CONTEXT / 2 - 4 words
MELS, SPECTRUM = 80, 201
VOCABULARY = 51864  # the numbers of control tokens follow from this size
TEXT = 50256  # tokens below are text, those from here on control tokens
SPACE = 220  # whisper.cpp looks for a token " "
FIRST_WORD, WORDS = 1000, 500  # only these can be said: the rows of all others are zero
RATE, SECONDS = 16000, 2
F32, F16 = 0, 1


def word(token):
    """What whisper.cpp prints for a token of text."""
    return " " if token == SPACE else f" t{token}"


def filters():
    """Triangles of equal width, in place of the mel scale."""
    step = SPECTRUM / (MELS + 1)
    return [max(0.0, 1 - abs(at - (mel + 1) * step) / step) for mel in range(MELS) for at in range(SPECTRUM)]


def tensors(generator):
    """name: (type, shape with the fastest dimension first, numbers)."""
    made = {}

    def numbers(count, scale):
        return [generator.uniform(-scale, scale) for _ in range(count)]

    def vector(name, content):
        made[name] = (F32, (len(content),), content)

    def norm(name):
        vector(name + ".weight", [1.0] * WIDTH)
        vector(name + ".bias", numbers(WIDTH, 0.1))

    def layer(name, columns, rows, bias=True):
        made[name + ".weight"] = (F16, (columns, rows), numbers(columns * rows, 2 / columns**0.5))
        if bias:
            vector(name + ".bias", numbers(rows, 0.1))

    def attention(name):
        norm(name + "_ln")
        layer(name + ".query", WIDTH, WIDTH)
        layer(name + ".key", WIDTH, WIDTH, bias=False)
        layer(name + ".value", WIDTH, WIDTH)
        layer(name + ".out", WIDTH, WIDTH)

    def blocks(name, attentions):
        for at in range(LAYERS):
            for one in attentions:
                attention(f"{name}.blocks.{at}.{one}")
            norm(f"{name}.blocks.{at}.mlp_ln")
            layer(f"{name}.blocks.{at}.mlp.0", WIDTH, 4 * WIDTH)
            layer(f"{name}.blocks.{at}.mlp.2", 4 * WIDTH, WIDTH)

    def convolution(name, channels):
        made[name + ".weight"] = (F16, (3, channels, WIDTH), numbers(3 * channels * WIDTH, 2 / (3 * channels)**0.5))
        made[name + ".bias"] = (F32, (1, WIDTH), numbers(WIDTH, 0.1))

    made["encoder.positional_embedding"] = (F32, (WIDTH, AUDIO_CONTEXT), numbers(WIDTH * AUDIO_CONTEXT, 1))
    convolution("encoder.conv1", MELS)
    convolution("encoder.conv2", WIDTH)
    blocks("encoder", ["attn"])
    norm("encoder.ln_post")
    made["decoder.positional_embedding"] = (F32, (WIDTH, TEXT_CONTEXT), numbers(WIDTH * TEXT_CONTEXT, 1))
    said = numbers(WIDTH * WORDS, 0.2)
    made["decoder.token_embedding.weight"] = (F16, (WIDTH, VOCABULARY), [0.0] * (WIDTH * FIRST_WORD) + said
                                              + [0.0] * (WIDTH * (VOCABULARY - FIRST_WORD - WORDS)))
    blocks("decoder", ["attn", "cross_attn"])
    norm("decoder.ln")
    return made


def model(seed):
    sizes = (VOCABULARY, AUDIO_CONTEXT, WIDTH, HEADS, LAYERS, TEXT_CONTEXT, WIDTH, HEADS, LAYERS, MELS, F16)
    parts = [struct.pack("<I11i", MAGIC, *sizes), struct.pack(f"<2i{MELS * SPECTRUM}f", MELS, SPECTRUM, *filters()),
             struct.pack("<i", TEXT)]
    for token in range(TEXT):
        name = word(token).encode()
        parts.append(struct.pack("<i", len(name)) + name)
    for name, (kind, shape, content) in tensors(random.Random(seed)).items():
        parts.append(struct.pack(f"<3i{len(shape)}i", len(shape), len(name), kind, *shape) + name.encode())
        parts.append(struct.pack(f"<{len(content)}{'e' if kind == F16 else 'f'}", *content))
    return b"".join(parts)


def write_sound(path):
    """A tone that rises."""
    samples = [int(8000 * math.sin(2 * math.pi * (300 + 400 * at / RATE) * at / RATE)) for at in range(RATE * SECONDS)]
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(struct.pack(f"<{len(samples)}h", *samples))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("sound", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.model.write_bytes(model(options.seed))
    write_sound(options.sound)


if __name__ == "__main__":
    main()
