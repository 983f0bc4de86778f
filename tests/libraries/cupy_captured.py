"""CuPy work inside of a stream capture, against NumPy: kernels of its own, products by hipBLAS, copies, two streams.

Prints a line for each and ends with 1 when one differs. Started by scripts/experiments/capture-cupy.
"""
import sys

import cupy
import numpy

SOURCE = r'''extern "C" __global__ void axpy(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += s * x[i];
}'''


def captured(stream, work):
    """Runs the work once, to load what it needs, and then as a graph three times."""
    with stream:
        work()
        stream.synchronize()
        stream.begin_capture()
        work()
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch()
        stream.synchronize()


def kernels(stream):
    axpy = cupy.RawKernel(SOURCE, "axpy")
    x = cupy.arange(1000, dtype=cupy.float32)
    y = cupy.zeros_like(x)
    cupy.cuda.Device().synchronize()

    def work():
        axpy((4,), (256,), (x, y, numpy.float32(2), numpy.int32(1000)))
        cupy.add(y, 1, out=y)

    captured(stream, work)
    return y.get(), 4 * (2 * numpy.arange(1000, dtype=numpy.float32) + 1)


def products(stream):
    a = cupy.linspace(0, 1, 24 * 16, dtype=cupy.float32).reshape(24, 16)
    b = cupy.linspace(-1, 1, 16 * 20, dtype=cupy.float32).reshape(16, 20)
    c = cupy.zeros((24, 20), dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    captured(stream, lambda: cupy.matmul(a, b, out=c))
    return c.get(), a.get() @ b.get()


def forks(stream):
    other = cupy.cuda.Stream(non_blocking=True)
    begun, done = cupy.cuda.Event(disable_timing=True), cupy.cuda.Event(disable_timing=True)
    x = cupy.full(512, 3, dtype=cupy.float32)
    y, z = cupy.zeros_like(x), cupy.zeros_like(x)
    cupy.cuda.Device().synchronize()

    def work():
        cupy.multiply(x, 2, out=y)
        begun.record(stream)
        other.wait_event(begun)
        with other:
            cupy.add(y, 1, out=z)
        done.record(other)
        stream.wait_event(done)
        cupy.add(y, z, out=x)

    captured(stream, work)
    expected = numpy.full(512, 3, dtype=numpy.float32)
    for _ in range(4):
        expected = 4 * expected + 1
    return x.get(), expected


def main():
    wrong = 0
    for part in (kernels, products, forks):
        try:
            got, expected = part(cupy.cuda.Stream(non_blocking=True))
            right = numpy.allclose(got, expected, rtol=1e-4, atol=1e-4)
            print(f"{part.__name__}: {'as NumPy' if right else 'WRONG'}", flush=True)
        except Exception as error:  # of the runtime, each of which is a result here
            right = False
            print(f"{part.__name__}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        wrong += not right
    return 1 if wrong else 0


sys.exit(main())
