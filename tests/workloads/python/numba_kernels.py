"""Numba-HIP: Python functions compiled for gfx1030, in LDS and on a stream, beside NumPy."""

import numpy
from numba import float32, hip
from results import compare, parts


@hip.jit
def axpy_kernel(a, x, y):
    i = hip.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@hip.jit
def total_kernel(x, out):
    shared = hip.shared.array(256, float32)
    thread, i = hip.threadIdx.x, hip.grid(1)
    shared[thread] = x[i] if i < x.size else 0
    hip.syncthreads()
    width = 128
    while width > 0:
        if thread < width:
            shared[thread] += shared[thread + width]
        hip.syncthreads()
        width //= 2
    if thread == 0:
        out[hip.blockIdx.x] = shared[0]


def axpy():
    x, y = numpy.arange(1000, dtype=numpy.float32), numpy.ones(1000, numpy.float32)
    there, result = hip.to_device(x), hip.to_device(y)
    for _ in range(4):
        axpy_kernel[4, 256](numpy.float32(3), there, result)
    compare("axpy, four times", result.copy_to_host(), 1 + 12 * x, 0)


def total():
    x = numpy.arange(1000, dtype=numpy.float32)
    stream = hip.stream()
    out, there = hip.to_device(numpy.zeros(4, numpy.float32), stream=stream), hip.to_device(x, stream=stream)
    total_kernel[4, 256, stream](there, out)
    got = out.copy_to_host(stream=stream)
    stream.synchronize()
    compare("sums in LDS", got, [x[i:i + 256].sum() for i in range(0, 1000, 256)], 0)


parts([axpy, total])
