#!/usr/bin/env python3
"""make_onnx.py KIND OUTPUT.onnx [--half] [--seed N]: a small ONNX model of random weights that MIGraphX compiles.

KIND is mlp, block (one transformer block), blocks (three of them, and a layer in front and behind) or conv (two convolutions, a pooling
and a layer). It has learned nothing. The same seed makes the same file. An ONNX file is one message in the encoding of Protocol Buffers, of which few fields are needed here.
"""

import argparse
import random
import struct
from pathlib import Path

POSITIONS = 16
WIDTH = 64
HEADS = 4
HIDDEN = 128
CHANNELS, SIDE = 4, 16  # the same numbers as an image: POSITIONS * WIDTH
FLOAT, INT64, HALF = 1, 7, 10  # TensorProto.DataType


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    """A number, a text, or a message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content & (1 << 64) - 1)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    """AttributeProto: a float, an int, or ints."""
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, one) for one in value) + field(20, 7)


class Model:
    def __init__(self, seed, half):
        self.random, self.half = random.Random(seed), half
        self.nodes, self.weights, self.made = [], [], 0

    def name(self):
        self.made += 1
        return f"t{self.made}"

    def tensor(self, shape, kind, data):
        name = self.name()
        self.weights.append(b"".join(field(1, size) for size in shape) + field(2, kind) + field(8, name) + field(9, data))
        return name

    def numbers(self, *shape, scale=1.0):
        count = 1
        for size in shape:
            count *= size
        values = [self.random.uniform(-scale, scale) for _ in range(count)]
        return self.tensor(shape, HALF if self.half else FLOAT, struct.pack(f"<{count}{'e' if self.half else 'f'}", *values))

    def integers(self, *values):
        return self.tensor((len(values),), INT64, struct.pack(f"<{len(values)}q", *values))

    def op(self, kind, *inputs, **attributes):
        output = self.name()
        node = b"".join(field(1, one) for one in inputs) + field(2, output) + field(3, output) + field(4, kind)
        self.nodes.append(node + b"".join(field(5, attribute(*one)) for one in attributes.items()))
        return output

    def layer(self, x, columns, rows):
        product = self.op("MatMul", x, self.numbers(columns, rows, scale=2 / columns**0.5))
        return self.op("Add", product, self.numbers(rows, scale=0.1))

    def norm(self, x):
        middle = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        spread = self.op("ReduceMean", self.op("Mul", middle, middle), axes=[-1], keepdims=1)
        small = self.constant(1e-3 if self.half else 1e-5)
        return self.op("Mul", self.op("Div", middle, self.op("Sqrt", self.op("Add", spread, small))), self.numbers(WIDTH))

    def constant(self, value):
        return self.tensor((1,), HALF if self.half else FLOAT, struct.pack("<e" if self.half else "<f", value))

    def heads(self, x, order):
        apart = self.op("Reshape", x, self.integers(1, POSITIONS, HEADS, WIDTH // HEADS))
        return self.op("Transpose", apart, perm=order)

    def block(self, x):
        at = self.norm(x)
        query, key, value = (self.layer(at, WIDTH, WIDTH) for _ in range(3))
        scores = self.op("MatMul", self.heads(query, [0, 2, 1, 3]), self.heads(key, [0, 2, 3, 1]))
        shares = self.op("Softmax", self.op("Mul", scores, self.constant((WIDTH // HEADS)**-0.5)), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", shares, self.heads(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = self.op("Add", x, self.layer(self.op("Reshape", mixed, self.integers(1, POSITIONS, WIDTH)), WIDTH, WIDTH))
        hidden = self.op("Relu", self.layer(self.norm(x), WIDTH, HIDDEN))
        return self.op("Add", x, self.layer(hidden, HIDDEN, WIDTH))

    def mlp(self, x):
        return self.layer(self.op("Relu", self.layer(self.op("Relu", self.layer(x, WIDTH, HIDDEN)), HIDDEN, HIDDEN)), HIDDEN, WIDTH)

    def blocks(self, x):
        x = self.layer(x, WIDTH, WIDTH)
        for _ in range(3):
            x = self.block(x)
        return self.layer(self.norm(x), WIDTH, WIDTH)

    def convolution(self, x, channels_in, channels_out, side):
        """Of odd `side`, with a border of zeros: the image keeps its size."""
        weights = self.numbers(channels_out, channels_in, side, side, scale=2 / (channels_in * side * side)**0.5)
        return self.op("Conv", x, weights, self.numbers(channels_out, scale=0.1), kernel_shape=[side, side], strides=[1, 1],
                       pads=[side // 2] * 4)

    def conv(self, x):
        image = self.op("Reshape", x, self.integers(1, CHANNELS, SIDE, SIDE))
        image = self.op("Relu", self.convolution(image, CHANNELS, 2 * CHANNELS, 3))
        image = self.op("Relu", self.convolution(image, 2 * CHANNELS, 2 * CHANNELS, 1))
        # Pooling as a mean: MIGraphX compiles it itself. For a pooling node it calls MIOpen, whose kernel is OpenCL.
        squares = self.op("Reshape", image, self.integers(1, 2 * CHANNELS, SIDE // 2, 2, SIDE // 2, 2))
        image = self.op("ReduceMean", squares, axes=[3, 5], keepdims=0)
        pooled = 2 * CHANNELS * (SIDE // 2)**2
        flat = self.op("Reshape", image, self.integers(1, pooled))
        return self.op("Reshape", self.layer(flat, pooled, POSITIONS * WIDTH), self.integers(1, POSITIONS, WIDTH))

    def value(self, name):
        shape = b"".join(field(1, field(1, size)) for size in (1, POSITIONS, WIDTH))
        return field(1, name) + field(2, field(1, field(1, HALF if self.half else FLOAT) + field(2, shape)))

    def file(self, kind):
        output = getattr(self, kind)("x")
        graph = b"".join(field(1, node) for node in self.nodes) + field(2, kind)
        graph += b"".join(field(5, one) for one in self.weights) + field(11, self.value("x")) + field(12, self.value(output))
        return field(1, 8) + field(8, field(2, 13)) + field(7, graph)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("kind", choices=("mlp", "block", "blocks", "conv"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--half", action="store_true", help="weights, input and output of 16 bits")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.output.write_bytes(Model(options.seed, options.half).file(options.kind))


if __name__ == "__main__":
    main()
