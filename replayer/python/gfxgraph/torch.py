"""torch.cuda's graphs over gfxgraph: CUDAGraph, graph(), make_graphed_callables(), graph_pool_handle() as torch 2.9 has them.

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

from . import _enabling, _hip, arrays
from .arrays import stream_handle

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

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


def is_current_stream_capturing(stream: Any = None) -> bool:
    """Of the stream, torch's current one, or the one of the open graph()."""
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
        self._debug = False
        self.captured_nodes = 0

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
        self._pool = pool.pool() if isinstance(pool, CUDAGraph) else tuple(pool) if pool is not None else graph_pool_handle()
        memory = private_memory(self._pool, self._keeper)
        try:
            _hip.runtime().call("hipStreamBeginCapture", handle, _RELAXED)
        except BaseException:
            memory.close()
            raise
        self._memory, self._stream, self._replays_on = memory, handle, handle

    def _leave(self) -> Any:
        stream, self._stream = self._stream, None
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        return stream

    def capture_end(self) -> None:
        """Ends the capture. HipError: it is invalid, and what was held is gone; the stream can be used."""
        if self._stream is None:
            raise RuntimeError("no capture was begun")
        stream = self._leave()
        _hip.runtime().call("hipStreamEndCapture", stream, byref(self._graph))
        count = ctypes.c_size_t()
        _hip.runtime().call("hipGraphGetNodes", self._graph, None, byref(count))
        self.captured_nodes = count.value
        _enabling.counts.captured()
        if not self._keep_graph:
            self.instantiate()
            if not self._debug:
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

    def replay(self, *, stream: Any = None) -> None:
        """Submits the graph to the stream (torch's current one; or that of the capture). Waits for nothing."""
        if not self._executable:
            if not self._graph:
                raise RuntimeError("there is no graph to replay: capture one first")
            self.instantiate()
        inside = stream is not None or _torch() is not None
        with _enabling.counts.replaying():
            _hip.runtime().graph_call("hipGraphLaunch", self._executable, _current_stream(stream) if inside else self._replays_on)

    def reset(self) -> None:
        """Gives up the graph. Work of it that still runs must be waited for before."""
        self.abandon()
        if self._executable:
            _hip.runtime().library.hipGraphExecDestroy(self._executable)
            self._executable = c_void_p()
        self._drop_graph()
        self._keeper, self._pool = _hip.Keeper(), None

    def _drop_graph(self) -> None:
        if self._graph:
            _hip.runtime().library.hipGraphDestroy(self._graph)
            self._graph = c_void_p()

    def pool(self) -> tuple[int, int]:
        """The handle of its memory, for capture_begin() of others."""
        if self._pool is None:
            raise RuntimeError("pool() needs a capture")
        return self._pool

    def enable_debug_mode(self) -> None:
        """Before the capture: keeps the graph for debug_dump()."""
        self._debug = True

    def debug_dump(self, debug_path: str) -> None:
        """Writes the graph in DOT's form; needs enable_debug_mode() or keep_graph, and HIP 5.5 or newer."""
        if not self._graph:
            raise RuntimeError("debug_dump() needs enable_debug_mode() or keep_graph=True before the capture")
        _hip.runtime().call("hipGraphDebugDotPrint", self._graph, str(debug_path).encode(), 1)

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

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global") -> None:
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
            self.cuda_graph.capture_begin(self._pool, self._mode, stream=stream)
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


def owned(value: Any, stream: int) -> Any:
    """A copy that the caller owns, made on the stream."""
    memory = arrays.device_memory(value)
    made = _hip.empty(memory.shape, memory.typestr, stream)
    _hip.copy(made.address, memory, stream)
    torch = _torch()
    return torch.from_dlpack(made) if torch is not None and isinstance(value, torch.Tensor) else made


def call_with(function: Callable[..., Any], arguments: Sequence[Any], stream: int) -> Any:
    """With `stream=`, if the function has such a parameter; on torch's current stream, if torch is used."""
    torch = _torch()
    with contextlib.ExitStack() as stack:
        if torch is not None:
            stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(stream)))
        takes_stream = "stream" in inspect.signature(function).parameters
        return function(*arguments, stream=stream) if takes_stream else function(*arguments)


class _Graphed:
    def __init__(self, function: Callable[..., Any], samples: Sequence[Any], warmup: int, pool: Any, stream: int) -> None:
        if any(getattr(sample, "requires_grad", False) for sample in samples):
            raise ValueError("make_graphed_callables: arguments that require gradients are not supported: only the forward work "
                             "is captured")
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
                           num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None, *,
                           stream: Any = None) -> Any:
    """Functions of device arrays as graphs, forward work only. Each is called `num_warmup_iters` times with its sample arguments,
    then captured over their memory; a call copies its arguments there, replays, and returns copies that the caller owns. With
    several functions, `sample_args` has a tuple for each. `stream`: for all of it; None: torch's current one.
    """
    on = _current_stream(stream)
    if callable(callables):
        return _Graphed(callables, sample_args, num_warmup_iters, pool, on)
    shared = pool or graph_pool_handle()
    return tuple(_Graphed(function, samples, num_warmup_iters, shared, on) for function, samples in zip(callables, sample_args))
