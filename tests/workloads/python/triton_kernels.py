"""Triton's kernels, compiled for gfx1030 and launched as a program would: buffers made once, several launches on a stream, then a wait."""

import ctypes

import gfxgraph.triton
import numpy
import triton
import triton.language as tl
from results import compare, parts

ROUNDS = 6


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    values = tl.load(x + row * columns + i, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, 0), mask=mask)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    values = tl.load(x + row * columns + i, mask=mask, other=0.0)
    mean = tl.sum(values, 0) / columns
    apart = tl.where(mask, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, 0) / columns + 1e-5)
    tl.store(out + row * columns + i, apart * scale * tl.load(weight + i, mask=mask) + tl.load(bias + i, mask=mask), mask=mask)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :], mask=(rows[:, None] < M) & ((k + inner)[None, :] < K), other=0.0)
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :], mask=((k + inner)[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def attention_kernel(q, k, v, out, length, scale, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    """One head by each program of the second dimension, causal: the sum of softmax is made while keys are read."""
    head = tl.program_id(1) * length * DEPTH
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, DEPTH)
    places = head + rows[:, None] * DEPTH + depth[None, :]
    query = tl.load(q + places, mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    sums = tl.zeros((BLOCK, DEPTH), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        key = tl.load(k + head + keys[None, :] * DEPTH + depth[:, None], mask=keys[None, :] < length, other=0.0)
        value = tl.load(v + head + keys[:, None] * DEPTH + depth[None, :], mask=keys[:, None] < length, other=0.0)
        scores = tl.where((keys[None, :] <= rows[:, None]) & (keys[None, :] < length), tl.dot(query, key) * scale, -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        shrink = tl.exp(largest - higher)
        total = total * shrink + tl.sum(powers, 1)
        sums = sums * shrink[:, None] + tl.dot(powers.to(tl.float16), value)
        largest = higher
    tl.store(out + places, sums / total[:, None], mask=rows[:, None] < length)


class Device:
    """Of HIP what the launches need."""

    def __init__(self):
        self.hip = ctypes.CDLL("libamdhip64.so.6")
        self.stream, self.kept = ctypes.c_void_p(), []
        self.call("hipStreamCreate", ctypes.byref(self.stream))

    def call(self, name, *arguments):
        result = getattr(self.hip, name)(*arguments)
        if result:
            raise SystemExit(f"{name}: error {result}")

    def array(self, values):
        memory = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(memory), ctypes.c_size_t(values.nbytes))
        self.call("hipMemcpy", memory, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes), 1)
        return memory

    def read(self, memory, like):
        values = numpy.empty_like(like)
        self.call("hipMemcpy", ctypes.c_void_p(values.ctypes.data), memory, ctypes.c_size_t(values.nbytes), 2)
        return values

    def kernel(self, kernel, grid, *values, **constants):
        """A function that launches it. Arrays among the values are given as pairs of memory and a NumPy array of that type."""
        made = gfxgraph.triton.compile(kernel, *[value[1] if isinstance(value, tuple) else value for value in values], **constants)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("hipModuleLoadData", ctypes.byref(module), made.code)
        self.call("hipModuleGetFunction", ctypes.byref(function), module, made.name.encode())
        cells = [value[0] if isinstance(value, tuple) else ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int32(value)
                 for value in values]
        cells += [ctypes.c_void_p() for _ in range(4)]  # Triton's own: HIP reads as many as the kernel has
        pointers = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        self.kept.append((cells, pointers))
        size = (*grid, 1, 1)[:3]
        return lambda: self.call("hipModuleLaunchKernel", function, *size, made.threads, 1, 1, made.shared_bytes, self.stream, pointers, None)

    def rounds(self, *launches):
        for _ in range(ROUNDS):
            for launch in launches:
                launch()
            self.call("hipStreamSynchronize", self.stream)


random = numpy.random.default_rng(3)


def floats(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def softmax_of(x):
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def softmax():
    device, x = Device(), floats(7, 300)
    there = [(device.array(one), one) for one in (x, x * 0, x * 0)]
    device.rounds(*[device.kernel(softmax_kernel, (7,), there[i], there[i + 1], 300, BLOCK=512) for i in range(2)])
    compare("softmax", device.read(*there[1]), softmax_of(x), 1e-5)
    compare("softmax of softmax", device.read(*there[2]), softmax_of(softmax_of(x)), 1e-5)


def layer_norm():
    device, x, weight, bias = Device(), floats(9, 200), floats(200), floats(200)
    there = [(device.array(one), one) for one in (x, weight, bias, x * 0, x * 0)]
    first = device.kernel(layer_norm_kernel, (9,), there[0], there[1], there[2], there[3], 200, BLOCK=256)
    second = device.kernel(layer_norm_kernel, (9,), there[3], there[1], there[2], there[4], 200, BLOCK=256)
    device.rounds(first, second)

    def norm(values):
        return (values - values.mean(-1, keepdims=True)) / numpy.sqrt(values.var(-1, keepdims=True) + 1e-5) * weight + bias

    compare("layer norm", device.read(*there[3]), norm(x), 1e-4)
    compare("layer norm of layer norm", device.read(*there[4]), norm(norm(x)), 1e-4)


def matmul():
    device, a, b = Device(), floats(50, 90).astype(numpy.float16), floats(90, 70).astype(numpy.float16)
    c = numpy.zeros((50, 70), numpy.float32)
    there = [(device.array(one), one) for one in (a, b, c)]
    launch = device.kernel(matmul_kernel, (2, 3), *there, 50, 70, 90, BM=32, BN=32, BK=32)
    device.rounds(launch, launch)
    compare("matmul", device.read(*there[2]), a.astype(numpy.float32) @ b.astype(numpy.float32), 1e-3)


def attention():
    heads, length, depth = 2, 45, 16
    device, (q, k, v) = Device(), [floats(heads, length, depth).astype(numpy.float16) for _ in range(3)]
    out = numpy.zeros((heads, length, depth), numpy.float32)
    there = [(device.array(one), one) for one in (q, k, v, out)]
    launch = device.kernel(attention_kernel, (3, heads), *there, length, depth**-0.5, DEPTH=depth, BLOCK=16)
    device.rounds(launch, launch)
    q, k, v = [one.astype(numpy.float32) for one in (q, k, v)]
    scores = q @ k.swapaxes(1, 2) * numpy.float32(depth**-0.5)
    scores = numpy.where(numpy.tril(numpy.ones((length, length), bool)), scores, -numpy.inf)
    compare("attention", device.read(*there[3]), softmax_of(scores) @ v, 5e-3)


parts([softmax, layer_norm, matmul, attention])
