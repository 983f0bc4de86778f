"""torch.cuda's graphs over gfxgraph: CUDAGraph, graph(), make_graphed_callables(), graph_pool_handle() as torch 2.14 has them.

    import gfxgraph.torch as graphs

    g = graphs.CUDAGraph()
    with graphs.graph(g, stream=stream):
        model(x)
    g.replay()

Torch is not needed: work is what the program submits to the stream, memory is any device array. Captures are the stream captures
of the process: answered by gfxgraph's capture layer where it is (`gfxgraph run --capture -- python3 program.py`), by HIP's own
otherwise. With the layer torch's own classes work as well, unchanged.

A graph repeats what was captured over the same memory. Memory that the program freed is not noticed here: gfxgraph.capture()
makes steps that do. With torch on a device its allocator must not give away the memory of a captured graph: a capture is then
made under torch.cuda.use_mem_pool(), which torch has from 2.5 on.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import itertools
import sys
import threading
import weakref
from collections.abc import Sequence
from ctypes import byref, c_int, c_void_p
from typing import Any, Callable, Optional, Union

from . import _enabling, _hip, arrays, graph_hooks
from .arrays import stream_handle
from .graph_hooks import *  # noqa: F403
from .graph_hooks import RemovableHandle, added

__all__ = ["CUDAGraph", "export_dot", "export_graph_data", "graph", "graph_pool_handle", "is_current_stream_capturing",
           "make_graphed_callables", *(name for name in graph_hooks.__all__ if name.startswith("register_"))]

# Captures hold up nobody, whatever is asked for: this thread and others may allocate and wait meanwhile.
_RELAXED = 2
_MODES = ("global", "thread_local", "relaxed")
_numbers = itertools.count(1)
_current = threading.local()


def _torch() -> Any:
    """torch, if the program uses it on a device."""
    found = sys.modules.get("torch")
    return found if found is not None and found.cuda.is_available() else None


def _current_stream(stream: Any) -> int:
    if stream is not None:
        return stream_handle(stream)
    inside: Optional[int] = getattr(_current, "stream", None)
    if inside is not None:
        return inside
    torch = _torch()
    return 0 if torch is None else stream_handle(torch.cuda.current_stream())


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs share."""
    return 0, next(_numbers)


def _handle_of(pool: Any) -> tuple[int, int]:
    """Of a graph, of torch's MemPool, or the handle itself."""
    if pool is None:
        return graph_pool_handle()
    if isinstance(pool, CUDAGraph):
        return pool.pool()
    first, second = getattr(pool, "id", pool)
    return int(first), int(second)


def is_current_stream_capturing(stream: Any = None) -> bool:
    """Of the stream, torch's current one, or the one of the open graph(). False where the process has no HIP."""
    if stream is None and _hip.loaded("libamdhip64.so") is None:
        return False
    state = c_int()
    _hip.runtime().call("hipStreamIsCapturing", _current_stream(stream), byref(state))
    return state.value != 0


class _SharedMemory:
    """torch's memory of a handle, as long as a graph keeps it."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory


_memories: weakref.WeakValueDictionary[tuple[int, int], _SharedMemory] = weakref.WeakValueDictionary()


def private_memory(handle: tuple[int, int], keeper: _hip.Keeper) -> contextlib.ExitStack:
    """Memory that a captured graph uses is given to nobody else: of this package, and of torch and CuPy where they are used."""
    stack = contextlib.ExitStack()
    stack.enter_context(_hip.keeping(keeper))
    torch = _torch()
    if torch is not None:
        if not hasattr(torch.cuda, "use_mem_pool"):
            raise RuntimeError("gfxgraph: captures with torch's memory need torch.cuda.use_mem_pool (torch 2.5); torch's own "
                               "CUDAGraph works under `gfxgraph run --capture`")
        shared = _memories.get(handle)
        if shared is None:
            shared = _memories[handle] = _SharedMemory(torch.cuda.MemPool())
        keeper.objects.append(shared)
        stack.enter_context(torch.cuda.use_mem_pool(shared.memory))
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        memory = cupy.cuda.MemoryPool()
        keeper.objects.append(memory)
        stack.enter_context(cupy.cuda.using_allocator(memory.malloc))
    return stack


def _require_layer() -> None:
    """HIP 5 does launches of modules at once and loses them for the graph."""
    major, minor = _hip.runtime().version()
    if major < 6 and _hip.loaded("libgfxgraph-capture.so") is None:
        raise RuntimeError(f"gfxgraph: captures of HIP {major}.{minor} lose launches of modules: start the program by "
                           "`gfxgraph run --capture -- python3 program.py`")


class CUDAGraph:
    """A captured piece of work as one HIP graph. Errors of HIP are gfxgraph's HipError, with the call's name.

    keep_graph: the graph stays for raw_cuda_graph(), and is instantiated by instantiate() or the first replay.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._keep_graph = keep_graph
        self._graph, self._executable = c_void_p(), c_void_p()
        self._stream: Optional[int] = None  # while it captures
        self._replays_on = 0
        self._pool: Optional[tuple[int, int]] = None
        self._memory: Optional[contextlib.ExitStack] = None
        self._keeper = _hip.Keeper()
        self._hooks: dict[graph_hooks.Hooks, dict[int, Callable[[Any], Any]]] = {
            place: {} for place in (graph_hooks.capture_start, graph_hooks.capture_end, graph_hooks.instantiate,
                                    graph_hooks.replay_start, graph_hooks.replay_end)}
        self._retain()
        self.captured_nodes = 0

    def _retain(self) -> None:
        # Also where the process ends first. The graph must not be in it.
        self._retained = graph_hooks.Retained()
        self._finalizer = weakref.finalize(self, self._retained.fire)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False, *,
                      stream: Any = None) -> None:
        """From here to capture_end() this thread's work on the stream (torch's current one; or `stream`) is held and not done.
        capture_error_mode: one of torch's three; captures hold up nobody else in any."""
        if capture_error_mode not in _MODES:
            raise ValueError(f"capture_error_mode {capture_error_mode!r}: it is one of {', '.join(_MODES)}")
        if check_input_liveness:
            raise ValueError("check_input_liveness: graphs do not notice freed memory; steps of gfxgraph.capture() do, by name")
        if self._stream is not None or self._graph or self._executable:
            raise RuntimeError("this graph has a capture: reset() it first")
        _require_layer()
        handle = _current_stream(stream)
        if handle == 0:
            raise RuntimeError("the null stream cannot be captured: name another one")
        self._pool = _handle_of(pool)
        memory = private_memory(self._pool, self._keeper)
        try:
            _hip.runtime().call("hipStreamBeginCapture", handle, _RELAXED)
        except BaseException:
            memory.close()
            raise
        self._memory, self._stream, self._replays_on = memory, handle, handle
        try:
            self._run_hooks(graph_hooks.capture_start)
        except BaseException:
            self.abandon()
            raise

    def _run_hooks(self, place: graph_hooks.Hooks) -> None:
        if place.process or self._hooks[place]:
            place.run(self._hooks[place], self)

    def register_capture_start_hook(self, hook: Callable[[CUDAGraph], None]) -> RemovableHandle:
        """Calls hook(graph) when a capture of this graph has begun; the work that it submits is captured. What it raises gives
        the capture up and passes."""
        return added(self._hooks[graph_hooks.capture_start], hook)

    def register_capture_end_hook(self, hook: Callable[[CUDAGraph], None]) -> RemovableHandle:
        """Calls hook(graph) when a capture has ended, while raw_cuda_graph() is there."""
        return added(self._hooks[graph_hooks.capture_end], hook)

    def register_post_instantiate_hook(self, hook: Callable[[CUDAGraph], None]) -> RemovableHandle:
        """Calls hook(graph) behind each instantiation."""
        return added(self._hooks[graph_hooks.instantiate], hook)

    def register_replay_start_hook(self, hook: Callable[[CUDAGraph], None]) -> RemovableHandle:
        """Calls hook(graph) before each replay is submitted; one that raises keeps it from being submitted."""
        return added(self._hooks[graph_hooks.replay_start], hook)

    def register_replay_end_hook(self, hook: Callable[[CUDAGraph], None]) -> RemovableHandle:
        """Calls hook(graph) when a replay was submitted, or failed to be. Its work may still run."""
        return added(self._hooks[graph_hooks.replay_end], hook)

    def register_destroy_callback(self, cb: Callable[[], None], *, synchronize_before_release: bool = False) -> RemovableHandle:
        """Calls cb() once, at reset() or when the graph is gone, before its HIP graph is. cb must not refer to the graph, which
        would live on. synchronize_before_release: waits for the streams of all replays before."""
        self._retained.waits |= synchronize_before_release
        return added(self._retained.callbacks, cb)

    def retain_object(self, obj: object, *, synchronize_before_release: bool = False) -> RemovableHandle:
        """Keeps an object until reset() or the end of the graph; the handle's remove() lets go of it earlier."""
        self._retained.waits |= synchronize_before_release
        return added(self._retained.objects, obj)

    def _leave(self) -> Any:
        stream, self._stream = self._stream, None
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        return stream

    def capture_end(self) -> None:
        """Ends the capture. HipError: it is invalid, and what was held is gone; the stream can be used."""
        self.capture_end_pre()
        self._run_hooks(graph_hooks.capture_end)
        if not self._keep_graph:
            self.instantiate()
        self.capture_end_post()

    def capture_end_pre(self) -> None:
        """Ends the capture, and keeps the graph for raw_cuda_graph(), instantiate() and capture_end_post()."""
        if self._stream is None:
            raise RuntimeError("no capture was begun")
        stream = self._leave()
        _hip.runtime().call("hipStreamEndCapture", stream, byref(self._graph))
        count = ctypes.c_size_t()
        _hip.runtime().call("hipGraphGetNodes", self._graph, None, byref(count))
        self.captured_nodes = count.value
        _enabling.counts.captured()

    def capture_end_post(self) -> None:
        """Lets go of the graph, which is instantiated by then, unless it is kept."""
        if self._keep_graph:
            return
        if not self._executable:
            raise RuntimeError("capture_end_post(): instantiate() the graph before, or keep it by keep_graph=True")
        self._drop_graph()

    def abandon(self) -> None:
        """Gives an open capture up: what was held is gone."""
        if self._stream is None:
            return
        stream = self._leave()
        graph = c_void_p()
        if _hip.runtime().library.hipStreamEndCapture(stream, byref(graph)) == 0 and graph:
            _hip.runtime().library.hipGraphDestroy(graph)

    def instantiate(self) -> None:
        """Makes the graph executable."""
        if not self._graph:
            raise RuntimeError("there is no graph: capture one, with keep_graph=True to instantiate it again")
        if self._executable:
            _hip.runtime().call("hipGraphExecDestroy", self._executable)
            self._executable = c_void_p()
        _hip.runtime().graph_call("hipGraphInstantiate", byref(self._executable), self._graph, None, None, 0)
        self._retained.executables.add(int(self._executable.value or 0))
        self._run_hooks(graph_hooks.instantiate)

    def replay(self, *, stream: Any = None) -> None:
        """Submits the graph to the stream (torch's current one; or that of the capture). Waits for nothing."""
        if not self._executable:
            if not self._graph:
                raise RuntimeError("there is no graph to replay: capture one first")
            self.instantiate()
        inside = stream is not None or _torch() is not None
        on = _current_stream(stream) if inside else self._replays_on
        if self._retained.waits:
            self._retained.streams.add(on)
        self._run_hooks(graph_hooks.replay_start)
        try:
            with _enabling.counts.replaying():
                _hip.runtime().graph_call("hipGraphLaunch", self._executable, on)
        finally:
            self._run_hooks(graph_hooks.replay_end)

    def reset(self) -> None:
        """Gives up the graph. Work of it that still runs must be waited for before."""
        self.abandon()
        self._finalizer.detach()
        self._retained.fire()
        if self._executable:
            _hip.runtime().library.hipGraphExecDestroy(self._executable)
            self._executable = c_void_p()
        self._drop_graph()
        self._keeper, self._pool = _hip.Keeper(), None
        self._retain()

    def _drop_graph(self) -> None:
        if self._graph:
            _hip.runtime().library.hipGraphDestroy(self._graph)
            self._graph = c_void_p()

    def pool(self) -> tuple[int, int]:
        """The handle of its memory, for capture_begin() of others."""
        if self._pool is None:
            raise RuntimeError("pool() needs a capture")
        return self._pool

    def pools(self) -> list[tuple[int, int]]:
        """Of all memory that it keeps: that of pool()."""
        return [self.pool()]

    def enable_debug_mode(self) -> None:
        """Before the capture: the same as keep_graph=True."""
        self._keep_graph = True

    def debug_dump(self, debug_path: str, *, verbose: bool = True) -> None:
        """Writes the graph in DOT's form; needs enable_debug_mode() or keep_graph, or a hook at the end of the capture; and HIP
        5.5 or newer."""
        if not self._graph:
            raise RuntimeError("debug_dump() needs enable_debug_mode() or keep_graph=True before the capture")
        _hip.runtime().call("hipGraphDebugDotPrint", self._graph, str(debug_path).encode(), int(verbose))

    def get_graph_data(self) -> dict[str, Any]:
        """Refused: it is made of CUDA's numbers of nodes for profilers, which HIP does not have."""
        raise RuntimeError("get_graph_data: HIP has no numbers of nodes for profilers; debug_dump() writes the graph, and "
                           "`gfxgraph info` lists the nodes of a recorded one")

    def raw_cuda_graph(self) -> int:
        """The hipGraph_t; it belongs to this object."""
        if not self._graph:
            raise RuntimeError("raw_cuda_graph() needs keep_graph=True and a capture")
        return int(self._graph.value or 0)

    def raw_cuda_graph_exec(self) -> int:
        """The hipGraphExec_t; it belongs to this object, and ends with instantiate() and reset()."""
        if not self._executable:
            raise RuntimeError("raw_cuda_graph_exec() needs an instantiated graph")
        return int(self._executable.value or 0)

    def register_generator_state(self, generator: Any) -> None:
        """Refused: random state in a graph repeats. A step of gfxgraph.capture() advances it as a parameter
        (Range.name_parameter, Step.advance)."""
        raise RuntimeError("register_generator_state: a replay would repeat the numbers of the capture; use a step of "
                           "gfxgraph.capture() with Range.name_parameter(), which advances")

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.reset()


class graph:  # torch's name
    """Captures the work of a with block. Without a stream, a new one is made, which `with` gives. An exception in the block gives
    the capture up and passes."""

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global",
                 enable_annotations: bool = False, check_input_liveness: bool = False) -> None:
        _refuse_annotations(enable_annotations)
        self._check = check_input_liveness
        self.cuda_graph, self._pool, self._given, self._mode = cuda_graph, pool, stream, capture_error_mode
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> int:
        stream = self._stack.enter_context(_hip.own_stream()) if self._given is None else stream_handle(self._given)
        torch = _torch()
        if torch is not None:
            self._stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(stream)))
        before = getattr(_current, "stream", None)
        _current.stream = stream
        self._stack.callback(setattr, _current, "stream", before)
        try:
            self.cuda_graph.capture_begin(self._pool, self._mode, self._check, stream=stream)
        except BaseException:
            self._stack.close()
            raise
        return stream

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Any) -> None:
        with self._stack:
            if kind is not None:
                self.cuda_graph.abandon()
                return
            self.cuda_graph.capture_end()
            if self._given is None:
                self.cuda_graph._replays_on = 0  # the stream of the capture ends


def export_dot(path: str, *, verbose: bool = True) -> Callable[[CUDAGraph], None]:
    """A hook for CUDAGraph.register_capture_end_hook() that writes the graph in DOT's form."""
    return lambda captured: captured.debug_dump(path, verbose=verbose)


def export_graph_data(path: str) -> Callable[[CUDAGraph], None]:
    """Refused, as CUDAGraph.get_graph_data()."""
    raise RuntimeError(f"export_graph_data({path!r}): HIP has no numbers of nodes for profilers; export_dot() writes the graph")


def _refuse_annotations(wanted: bool) -> None:
    if wanted:
        raise ValueError("enable_annotations: HIP has no numbers of nodes for profilers to name kernels by")


def owned(value: Any, stream: int) -> Any:
    """A copy that the caller owns, made on the stream."""
    memory = arrays.device_memory(value)
    made = _hip.empty(memory.shape, memory.typestr, stream)
    _hip.copy(made.address, memory, stream)
    torch = _torch()
    return torch.from_dlpack(made) if torch is not None and isinstance(value, torch.Tensor) else made


def call_with(function: Any, arguments: Sequence[Any], stream: int) -> Any:
    """With `stream=`, if the function has such a parameter; on torch's current stream, if torch is used."""
    torch = _torch()
    with contextlib.ExitStack() as stack:
        if torch is not None:
            stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(stream)))
        takes_stream = "stream" in inspect.signature(function.forward if _is_module(function) else function).parameters
        return function(*arguments, stream=stream) if takes_stream else function(*arguments)


def _is_module(function: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(function, torch.nn.Module)


def _check_module(module: Any) -> None:
    if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
        raise ValueError(f"{type(module).__name__} has hooks: register them behind make_graphed_callables(); they are then "
                         "called around the graph")
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise ValueError(f"{type(module).__name__} has buffers that require gradients: only parameters may")


def _check_gradients(parameters: Sequence[Any]) -> None:
    if parameters and sys.modules["torch"].is_grad_enabled() and any(one.requires_grad for one in parameters):
        raise ValueError("make_graphed_callables: only the forward work is captured, and parameters require gradients: use "
                         "torch.no_grad(), or module.requires_grad_(False)")


class _Graphed:
    def __init__(self, function: Any, samples: Sequence[Any], warmup: int, pool: Any, stream: int) -> None:
        if any(getattr(sample, "requires_grad", False) for sample in samples):
            raise ValueError("make_graphed_callables: arguments that require gradients are not supported: only the forward work "
                             "is captured")
        self._parameters = tuple(function.parameters()) if _is_module(function) else ()
        _check_gradients(self._parameters)
        self._inputs = [arrays.device_memory(sample) for sample in samples]
        for _ in range(warmup):
            call_with(function, samples, stream)
        self._graph = CUDAGraph()
        with graph(self._graph, pool=pool, stream=stream):
            results = call_with(function, samples, stream)
        self._many = isinstance(results, (tuple, list))
        self._results = list(results) if self._many else [results]

    def __call__(self, *arguments: Any, stream: Any = None) -> Any:
        on = self._graph._replays_on if stream is None and _torch() is None else _current_stream(stream)
        _check_gradients(self._parameters)
        if len(arguments) != len(self._inputs):
            raise TypeError(f"{len(arguments)} arguments; the graph was captured with {len(self._inputs)}")
        for number, (given, fixed) in enumerate(zip(arguments, self._inputs)):
            memory = arrays.device_memory(given)
            if (memory.shape, memory.typestr) != (fixed.shape, fixed.typestr):
                raise ValueError(f"argument {number}: shape {memory.shape} and type {memory.typestr}; the graph was captured "
                                 f"with {fixed.shape} and {fixed.typestr}")
            if memory.address != fixed.address:
                _hip.copy(fixed.address, memory, on)
        self._graph.replay(stream=on)
        results = tuple(owned(result, on) for result in self._results)
        return results if self._many else results[0]


def make_graphed_callables(callables: Union[Callable[..., Any], Sequence[Callable[..., Any]]], sample_args: Sequence[Any],
                           num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None,
                           capture_error_mode: str = "global", enable_annotations: bool = False, *, stream: Any = None) -> Any:
    """Functions of device arrays as graphs, forward work only. Each is called `num_warmup_iters` times with its sample arguments,
    then captured over their memory; a call copies its arguments there, replays, and returns copies that the caller owns. With
    several functions, `sample_args` has a tuple for each. `stream`: for all of it; None: torch's current one.

    A torch.nn.Module is given back with a forward() that is the graph as long as the module is in training or not, as it was
    captured, and its own otherwise. Its hooks are registered behind this call. With parameters that require gradients it is made
    and called under torch.no_grad(). capture_error_mode: as of capture_begin().
    """
    _refuse_annotations(enable_annotations)
    if capture_error_mode not in _MODES:
        raise ValueError(f"capture_error_mode {capture_error_mode!r}: it is one of {', '.join(_MODES)}")
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError("make_graphed_callables: the cache of autocast lets go of what graphs use; set cache_enabled=False")
    on = _current_stream(stream)
    if callable(callables):
        return _graphed(callables, sample_args, num_warmup_iters, pool, on)
    shared = pool or graph_pool_handle()
    return tuple(_graphed(function, samples, num_warmup_iters, shared, on) for function, samples in zip(callables, sample_args))


def _graphed(function: Any, samples: Sequence[Any], warmup: int, pool: Any, stream: int) -> Any:
    if not _is_module(function):
        return _Graphed(function, samples, warmup, pool, stream)
    _check_module(function)
    graphed = _Graphed(function, samples, warmup, pool, stream)
    own, training = function.forward, function.training

    def forward(*arguments: Any, **named: Any) -> Any:
        return (graphed if function.training == training else own)(*arguments, **named)

    function.forward = forward
    return function
