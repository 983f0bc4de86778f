"""Debian's CPU torch as the class, the hooks and the modules behind gfxgraph.torch: device arrays are gfxgraph's, kernels HIP's by ctypes."""

import ctypes
import inspect
import sys

import numpy
import torch
from results import compare, parts, say

import gfxgraph
import gfxgraph.torch as graphs
from gfxgraph.hipgraph_bridge import ShapeBucketPool

SOURCE = b"""extern "C" __global__ void affine(const float* x, float* y, float s, float t, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s + t;
}"""
COLUMNS = 24
hip, hiprtc = ctypes.CDLL("libamdhip64.so.6"), ctypes.CDLL("libhiprtc.so.6")
numbers = numpy.random.default_rng(0)


def call(function, *arguments):
    error = function(*arguments)
    if error:
        sys.exit(f"{function.__name__}: error {error}")


def compiled():
    program, size, module, function = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_void_p()
    call(hiprtc.hiprtcCreateProgram, ctypes.byref(program), SOURCE, b"affine", 0, None, None)
    options = (ctypes.c_char_p * 1)(b"--offload-arch=gfx1030")
    call(hiprtc.hiprtcCompileProgram, program, 1, options)
    call(hiprtc.hiprtcGetCodeSize, program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    call(hiprtc.hiprtcGetCode, program, code)
    call(hip.hipModuleLoadData, ctypes.byref(module), code)
    call(hip.hipModuleGetFunction, ctypes.byref(function), module, b"affine")
    return function


kernel = compiled()
made = ctypes.c_void_p()
call(hip.hipStreamCreateWithFlags, ctypes.byref(made), 1)
stream = made.value


def affine(x, y, scale, shift, on):
    memory = gfxgraph.device_memory(x)
    count = memory.size_bytes // 4
    arguments = [ctypes.c_void_p(memory.address), ctypes.c_void_p(gfxgraph.device_memory(y).address), ctypes.c_float(scale),
                 ctypes.c_float(shift), ctypes.c_int(count)]
    pointers = (ctypes.c_void_p * 5)(*map(ctypes.addressof, arguments))
    call(hip.hipModuleLaunchKernel, kernel, -(-count // 256), 1, 1, 256, 1, 1, 0, ctypes.c_void_p(on), pointers, None)


def on_device(values):
    values = numpy.ascontiguousarray(values, dtype=numpy.float32)
    array = gfxgraph.empty(values.shape, "<f4", stream)
    # On the stream: its memory may be that of an array whose work is not done yet.
    call(hip.hipMemcpyAsync, ctypes.c_void_p(array.address), ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes), 1,
         ctypes.c_void_p(stream))
    call(hip.hipStreamSynchronize, ctypes.c_void_p(stream))
    return array


def on_host(array):
    call(hip.hipStreamSynchronize, ctypes.c_void_p(stream))
    return numpy.frombuffer(array.to_host(), numpy.float32).reshape(array.shape)


def rows(count):
    return numbers.random((count, COLUMNS), dtype=numpy.float32)


class Layer(torch.nn.Module):
    """y = x * scale + shift, with parameters of torch on the host; counts its calls."""

    def __init__(self, scale, shift):
        super().__init__()
        self.scale, self.shift = (torch.nn.Parameter(torch.tensor(value), requires_grad=False) for value in (scale, shift))
        self.calls = 0

    def forward(self, x, *, stream):
        self.calls += 1
        y = gfxgraph.empty(x.shape, "<f4", stream)
        affine(x, y, self.scale.item(), self.shift.item(), stream)
        return y


def expect(name, condition):
    say(name, 0 if condition else 1, 0, name.encode(), "torch")


def raised(kind, text, function):
    try:
        function()
    except kind as error:
        return text in str(error)
    return False


def names():
    """Each name of torch's graphs, with its parameters and their defaults."""
    missing = []

    def look(what, theirs, ours):
        for one in inspect.signature(theirs).parameters.values():
            found = inspect.signature(ours).parameters.get(one.name)
            if found is None or found.default != one.default or found.kind != one.kind:
                missing.append(f"{what}({one.name})")

    theirs = torch.cuda.graphs
    for name in theirs.__all__:
        if hasattr(graphs, name):
            look(name, getattr(theirs, name), getattr(graphs, name))
        else:
            missing.append(name)
    for name, function in vars(theirs.CUDAGraph).items():
        if name.startswith("_") or not callable(function):
            continue
        if hasattr(graphs.CUDAGraph, name):
            look(f"CUDAGraph.{name}", function, getattr(graphs.CUDAGraph, name))
        else:
            missing.append(f"CUDAGraph.{name}")
    print(f"torch {torch.__version__}; missing: {', '.join(missing) or 'nothing'}")
    expect("names", not missing)


def replaced():
    """torch.cuda's own names are gfxgraph's between enable() and disable()."""
    before = torch.cuda.CUDAGraph, torch.cuda.graphs.graph
    gfxgraph.enable()
    expect("enabled", torch.cuda.CUDAGraph is graphs.CUDAGraph and torch.cuda.graphs.graph is graphs.graph)
    values = rows(3)
    x, y = on_device(values), on_device(numpy.zeros_like(values))
    captured, seen = torch.cuda.CUDAGraph(), []
    with torch.cuda.graphs.register_graph_replay_end_hook(seen.append), torch.cuda.graph(captured, stream=stream):
        affine(x, y, 2, 1, stream)
        affine(y, x, 0.5, 3, stream)
    compare("held, not done", on_host(y), numpy.zeros_like(values), 0)
    for _ in range(3):
        captured.replay()
    for _ in range(3):
        doubled = values * 2 + 1
        values = doubled * numpy.float32(0.5) + 3
    compare("three replays", on_host(x), values, 1e-6)
    compare("between them", on_host(y), doubled, 1e-6)
    expect("a hook that was taken back", seen == [] and gfxgraph.stats()["replay_count"] == 3)
    gfxgraph.disable()
    expect("disabled", before == (torch.cuda.CUDAGraph, torch.cuda.graphs.graph) and before[0] is not graphs.CUDAGraph)


def modules():
    """make_graphed_callables() of torch's modules: their hooks, training, gradients."""
    layer = Layer(3.0, -1.0).eval()
    graphed = graphs.make_graphed_callables(layer, (on_device(rows(4)),), num_warmup_iters=2, stream=stream)
    expect("the module itself", graphed is layer and layer.calls == 3)
    seen = []
    layer.register_forward_pre_hook(lambda module, given: seen.append("before"))
    layer.register_forward_hook(lambda module, given, result: seen.append(type(result).__name__))
    outputs = [(values, layer(on_device(values))) for values in (rows(4) for _ in range(3))]
    for values, output in outputs:  # each of its own
        compare("a graphed module", on_host(output), values * 3 - 1, 1e-6)
    expect("hooks around the graph", seen == ["before", "DeviceArray"] * 3 and layer.calls == 3)
    layer.train()
    values = rows(2)
    compare("in training, as it is", on_host(layer(on_device(values), stream=stream)), values * 3 - 1, 1e-6)
    expect("the function of its own", layer.calls == 4)
    expect("hooks before", raised(ValueError, "has hooks", lambda: graphs.make_graphed_callables(layer, (on_device(values),), stream=stream)))
    trained = Layer(1.0, 0.0).requires_grad_(True)
    expect("gradients", raised(ValueError, "no_grad()", lambda: graphs.make_graphed_callables(trained, (on_device(values),), stream=stream)))
    with torch.no_grad():
        both = graphs.make_graphed_callables((trained, Layer(2.0, 2.0)), ((on_device(rows(1)),), (on_device(rows(2)),)), stream=stream)
        values = rows(2)
        compare("two modules", on_host(both[1](on_device(values))), values * 2 + 2, 1e-6)
    expect("gradients in a call", raised(ValueError, "no_grad()", lambda: both[0](on_device(rows(1)))))


def steps():
    """With gfxgraph's hooks: captured steps with inputs that are torch's tensors, and modules in buckets."""
    x, y = on_device(rows(2)), on_device(numpy.zeros((2, COLUMNS)))
    first, second = torch.rand(2, COLUMNS), torch.rand(2, COLUMNS)
    with gfxgraph.capture(stream, mode="graph") as step:
        call(hip.hipMemcpyAsync, ctypes.c_void_p(x.address), ctypes.c_void_p(first.data_ptr()), ctypes.c_size_t(4 * first.numel()), 1,
             ctypes.c_void_p(stream))
        affine(x, y, 2, 0, stream)
    compare("captured over a tensor", on_host(y), first.numpy() * 2, 1e-6)
    (given,) = step.range.inputs()
    step.set_input(given, second)
    step.run(stream)
    compare("an input that is a tensor", on_host(y), second.numpy() * 2, 1e-6)
    expect("gradients of an input", raised(Exception, "gradient", lambda: step.set_input(given, second.clone().requires_grad_())))
    expect("not contiguous", raised(ValueError, "contiguous", lambda: step.set_input(given, torch.rand(COLUMNS, 2).T)))
    layer = Layer(5.0, 1.0)
    pool = ShapeBucketPool(layer, [2, 4])
    for size in (1, 2, 3, 4, 1, 3):
        values = rows(size)
        compare(f"a module in buckets, {size}", on_host(pool(on_device(values), stream)), values * 5 + 1, 1e-6)
    expect("captured once for each bucket", layer.calls == 3 and pool.last.way == "graph")


parts([names, replaced, modules, steps])
