"""CuPy and gfxgraph take each other's arrays without a copy: pools and captured steps over CuPy's arrays, CuPy's work over gfxgraph's."""

import cupy
import numpy
from results import compare, parts, say

import gfxgraph
import gfxgraph.torch as graphs
from gfxgraph.hipgraph_bridge import ShapeBucketPool

COLUMNS = 24
random = numpy.random.default_rng(0)
stream = cupy.cuda.Stream(non_blocking=True)
SOURCE = r"""extern "C" __global__ void affine(const float* x, float* y, float s, float t, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s + t;
}"""
affine = cupy.RawKernel(SOURCE, "affine")


def launch(x, y, scale, shift):
    affine(((x.size + 63) // 64,), (64,), (x, y, numpy.float32(scale), numpy.float32(shift), numpy.int32(x.size)))


def rows(count):
    return random.random((count, COLUMNS), dtype=numpy.float32)


def expect(name, condition):
    say(name, 0 if condition else 1, 0, name.encode(), "CuPy")


def on(call_stream):
    return cupy.cuda.ExternalStream(call_stream)


def pools():
    """Inputs and outputs are CuPy's; what gfxgraph makes is CuPy's array by both protocols, in place and with an owner."""

    @gfxgraph.step(buckets=[2, 4], outputs={"y": ("<f4", (COLUMNS,))})
    def layer(x, y, *, stream):
        with on(stream):
            launch(cupy.asarray(x), cupy.asarray(y), 3, 1)

    with stream:
        for size in (1, 2, 3, 4, 3):
            values = rows(size)
            x = cupy.asarray(values)
            made = layer(x, stream=stream)
            by_interface, by_dlpack = cupy.asarray(made), cupy.from_dlpack(made)
            expect("no copy", by_interface.data.ptr == by_dlpack.data.ptr == made.address and by_dlpack.shape == (size, COLUMNS))
            del made
            by_interface *= 2  # CuPy's own kernels, over gfxgraph's memory
            stream.synchronize()
            compare(f"an output, {size} rows", by_dlpack.get(), (values * 3 + 1) * 2, 1e-6)
            given = cupy.zeros((size, COLUMNS), cupy.float32)
            layer(x, given, stream=stream)
            compare("an output of CuPy", given.get(stream), values * 3 + 1, 1e-6)
        flipped = cupy.asarray(rows(2))[:, ::-1]
        try:
            layer(flipped, stream=stream)
            expect("strides", False)
        except ValueError as error:
            expect("strides", "not contiguous" in str(error))

        # A function that returns CuPy's arrays, whose memory CuPy would give to others.
        pool = ShapeBucketPool(lambda x: cupy.sqrt(cupy.asarray(x) + 1), [4])
        for size in (4, 2, 3):
            values = rows(size)
            result = cupy.asarray(pool(cupy.asarray(values), stream))
            cupy.full((4, COLUMNS), 7, cupy.float32)
            compare(f"a function of CuPy, {size} rows", result.get(stream), numpy.sqrt(values + 1), 1e-6)


def steps():
    """With gfxgraph's hooks: a captured step of CuPy's kernels; its memory bound to, set to and filled from CuPy's arrays."""
    with stream:
        first, second, third = rows(3), rows(3), rows(3)
        x, y = cupy.asarray(first), cupy.zeros((3, COLUMNS), cupy.float32)
        stream.synchronize()
        with gfxgraph.capture(stream, mode="graph") as step:
            launch(x, y, 2, 1)
        compare("captured", y.get(stream), first * 2 + 1, 1e-6)
        x.set(second, stream=stream)
        step.run(stream)
        compare("again, over the same array", y.get(stream), second * 2 + 1, 1e-6)
        other = cupy.asarray(third)
        step.set_argument(0, 0, other)
        step.run(stream)
        compare("over another array", y.get(stream), third * 2 + 1, 1e-6)
        y.fill(0)
        (buffer, begin), = ((one, step.session.address(one)) for one in step.session.trace.buffers()
                            if 0 <= y.data.ptr - step.session.address(one) < one.size_bytes)
        offset = y.data.ptr - begin
        bound = cupy.zeros(buffer.size_bytes, cupy.uint8)
        step.session.bind(buffer, bound)
        step.run(stream)
        stream.synchronize()
        found = bound[offset:offset + y.nbytes].view(cupy.float32).reshape(y.shape)
        compare("bound memory", found.get(stream), third * 2 + 1, 1e-6)
        compare("not its own", y.get(stream), numpy.zeros_like(third), 0)
        shown = cupy.from_dlpack(step.session.array(buffer))
        compare("memory of the session, by DLPack", shown.view(cupy.uint8)[offset:offset + y.nbytes].view(cupy.float32).reshape(y.shape).get(stream),
                third * 2 + 1, 1e-6)


def graphs_of_cupy():
    """gfxgraph.torch's graphs over CuPy's work, whose temporary memory is the graph's own."""
    with stream:
        values = rows(4)
        x, y = cupy.asarray(values), cupy.zeros((4, COLUMNS), cupy.float32)
        cupy.add(cupy.sqrt(x), 1, out=y)  # compiled before the capture
        y.fill(0)
        stream.synchronize()
        graph = graphs.CUDAGraph()
        with graphs.graph(graph, stream=stream):
            cupy.add(cupy.sqrt(x), 1, out=y)
        compare("held", y.get(stream), numpy.zeros_like(values), 0)
        for _ in range(2):
            values = rows(4)
            x.set(values, stream=stream)
            cupy.full((4, COLUMNS), 9, cupy.float32)  # would get memory that the capture let go of
            graph.replay(stream=stream)
            compare("replayed", y.get(stream), numpy.sqrt(values) + 1, 1e-6)


graphs_of_cupy.__name__ = "graphs"
parts([pools, steps, graphs_of_cupy])
