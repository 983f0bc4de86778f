"""CuPy: kernels that it makes, its libraries, streams, and captures (cupy.cuda.Stream.begin_capture), beside NumPy and SciPy."""

import cupy
import cupyx.scipy.sparse
import numpy
import scipy.sparse
from results import compare, parts

random = numpy.random.default_rng(0)
a, b = random.random((33, 47), dtype=numpy.float32), random.random((47, 29), dtype=numpy.float32)
SOURCE = r"""extern "C" __global__ void axpy(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += s * x[i];
}"""


def kernels():
    x = cupy.asarray(a)
    compare("elements", (cupy.sin(x) * 2 + 1).get(), numpy.sin(a) * 2 + 1, 1e-6)
    compare("sum", x.sum(axis=1).get(), a.sum(axis=1), 1e-5)
    compare("largest", x.max(axis=0).get(), a.max(axis=0), 0)
    compare("cumulated", cupy.cumsum(x[0]).get(), numpy.cumsum(a[0]), 1e-5)
    compare("sorted", cupy.argsort(x[:, 0]).get(), numpy.argsort(a[:, 0]), 0)
    for kernel in (cupy.RawKernel(SOURCE, "axpy"), cupy.RawModule(code=SOURCE).get_function("axpy")):
        flat, y = cupy.asarray(a.ravel()), cupy.ones(a.size, cupy.float32)
        kernel(((a.size + 63) // 64,), (64,), (flat, y, numpy.float32(3), numpy.int32(a.size)))
        compare("its own source", y.get(), 1 + 3 * a.ravel(), 1e-6)


def products():
    compare("product", (cupy.asarray(a) @ cupy.asarray(b)).get(), a @ b, 1e-5)


def fourier():
    compare("Fourier", cupy.fft.fft(cupy.asarray(a[0])).get().view(numpy.float32), numpy.fft.fft(a[0]).astype(numpy.complex64).view(numpy.float32), 1e-5)


def solves():
    matrix = random.random((16, 16), dtype=numpy.float32) + 4 * numpy.eye(16, dtype=numpy.float32)
    right = random.random(16, dtype=numpy.float32)
    compare("solution", cupy.linalg.solve(cupy.asarray(matrix), cupy.asarray(right)).get(), numpy.linalg.solve(matrix, right), 1e-5)


def sparse():
    matrix = scipy.sparse.random(40, 30, 0.2, format="csr", dtype=numpy.float32, random_state=0)
    right = random.random(30, dtype=numpy.float32)
    compare("sparse product", (cupyx.scipy.sparse.csr_matrix(matrix) @ cupy.asarray(right)).get(), matrix @ right, 1e-5)


def numbers():
    """Of a generator: what is known of them is where their mean and their deviation lie."""
    drawn = cupy.random.default_rng(1).random(4096).get()
    compare("mean of random numbers", drawn.mean(), 0.5, 0.02)
    compare("deviation of random numbers", drawn.std(), 12**-0.5, 0.02)


def streams():
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    done = cupy.cuda.Event(disable_timing=True)
    with first:
        x = cupy.asarray(a) * 2
        done.record(first)
    second.wait_event(done)
    with second:
        y = x + 1
    second.synchronize()
    compare("two streams", y.get(), a * 2 + 1, 1e-6)


def captured():
    stream, axpy = cupy.cuda.Stream(non_blocking=True), cupy.RawKernel(SOURCE, "axpy")
    x = cupy.asarray(a.ravel())
    y = cupy.zeros_like(x)
    n = x.size
    cupy.cuda.Device().synchronize()
    with stream:
        axpy(((n + 63) // 64,), (64,), (x, y, numpy.float32(0), numpy.int32(n)))
        cupy.multiply(y, 2, out=y)
        stream.synchronize()
        stream.begin_capture()
        axpy(((n + 63) // 64,), (64,), (x, y, numpy.float32(1), numpy.int32(n)))
        cupy.multiply(y, 2, out=y)
        graph = stream.end_capture()
        for _ in range(4):
            graph.launch(stream)
        stream.synchronize()
    expected = numpy.zeros_like(a.ravel())
    for _ in range(4):
        expected = (expected + a.ravel()) * 2
    compare("captured, four times", y.get(), expected, 1e-6)


parts([kernels, products, fourier, solves, sparse, numbers, streams, captured])
