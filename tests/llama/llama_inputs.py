"""What llama.cpp gives a decode step of one token, and how to tell which input is which from a recorded step."""

import struct

MINUS_INFINITY = 0xFC00  # as a number of 16 bits


def mask(position, size):
    """What the token sees: positions up to its own, as numbers of 16 bits."""
    columns = size // 2
    seen = min(position + 1, columns)
    return struct.pack(f"<{columns}H", *[0] * seen, *[MINUS_INFINITY] * (columns - seen))


def position_of(contents):
    """The token's place in the sequence: the one number of four bytes that is not zero."""
    (position,) = (struct.unpack("<i", content)[0] for content in contents if len(content) == 4 and any(content))
    return position


def kind_of(content, position, embeddings):
    """What an input is, by its bytes when the step was recorded."""
    if content in embeddings:
        return "embedding"
    if len(content) in (4, 8) and int.from_bytes(content, "little") == position:
        return "position"
    if len(content) > 8 and content == mask(position, len(content)):
        return "mask"
    return "constant"


def given(kind, size, token, position, embeddings):
    """Its bytes for another token at another position; None: as recorded."""
    if kind == "embedding":
        return embeddings[token]
    if kind == "position":
        return position.to_bytes(size, "little")
    return mask(position, size) if kind == "mask" else None


def decide(logits):
    """The likeliest token."""
    values = struct.unpack(f"<{len(logits) // 4}f", logits)
    return max(range(len(values)), key=values.__getitem__)
