"""hipEngine's runtime and two of its kernels, launched and as a graph, without a model, beside NumPy."""

import numpy
from hipengine.core.hip import get_hip_runtime
from hipengine.core.runtime import MemcpyKind
from hipengine.kernels.hip_gfx1100.norm.rmsnorm import build_qwen35_rmsnorm, paro_rmsnorm_out_fp16
from hipengine.kernels.hip_gfx1100.smoke.smoke_add import build_smoke_add, smoke_add_f32
from results import compare, parts

runtime = get_hip_runtime()


def up(values):
    memory = runtime.malloc(values.nbytes)
    runtime.memcpy(memory, values.ctypes.data, values.nbytes, MemcpyKind.HOST_TO_DEVICE)
    return memory


def down(memory, like):
    values = numpy.zeros_like(like)
    runtime.memcpy(values.ctypes.data, memory, values.nbytes, MemcpyKind.DEVICE_TO_HOST)
    return values


def add():
    library = build_smoke_add(load=True)
    x, y = numpy.arange(1000, dtype=numpy.float32), numpy.ones(1000, numpy.float32)
    first, second, out = up(x), up(y), up(numpy.zeros_like(x))
    smoke_add_f32(first, second, out, 1000, library=library)
    runtime.device_synchronize()
    compare("add", down(out, x), x + y, 0)
    stream = runtime.stream_create()
    runtime.stream_begin_capture(stream)
    smoke_add_f32(out, second, out, 1000, stream=stream, library=library)
    smoke_add_f32(out, first, out, 1000, stream=stream, library=library)
    graph = runtime.graph_instantiate(runtime.stream_end_capture(stream))
    for _ in range(2):
        runtime.graph_launch(graph, stream)
    runtime.stream_synchronize(stream)
    compare("add as a graph, twice", down(out, x), 3 * x + 3, 0)


def norm():
    x = numpy.random.default_rng(0).standard_normal((3, 256)).astype(numpy.float16)
    weight = numpy.random.default_rng(1).standard_normal(256).astype(numpy.float16)
    given, weights, out = up(x), up(weight), up(numpy.zeros_like(x))
    paro_rmsnorm_out_fp16(given, weights, out, 3, 256, library=build_qwen35_rmsnorm(load=True))
    runtime.device_synchronize()
    wide = x.astype(numpy.float32)
    compare("RMS norm", down(out, x), wide / numpy.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-6) * weight, 0.01)


parts([add, norm])
