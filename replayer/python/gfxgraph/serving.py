"""Names by which servers of language models use graphs: vLLM's CUDAGraphWrapper and SGLang's backend, over gfxgraph.torch.

    from gfxgraph.serving import CUDAGraphWrapper, GraphBackend

Neither vLLM nor SGLang is needed. As in theirs, a graph repeats work over the memory that it was captured over: the server keeps
its inputs there. What cannot be captured goes by the function, alone, and is counted in gfxgraph.stats() with its reason;
exceptions of a function pass.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Hashable, Iterator
from typing import Any, Callable, Optional

from . import _enabling, _hip, arrays
from .torch import CUDAGraph, _current_stream, call_with, graph, graph_pool_handle

__all__ = ["CUDAGraphWrapper", "GraphBackend"]


class _Entry:
    """A captured function: its graph, what it returned, and where its inputs lie."""

    def __init__(self, function: Callable[..., Any], pool: tuple[int, int], stream: int, kept: Any = None) -> None:
        self.cudagraph: Optional[CUDAGraph] = CUDAGraph()
        self.output: Any = None
        self.input_addresses: list[int] = []
        self.failure = ""
        self._kept = kept  # inputs whose memory the graph has
        try:
            with graph(self.cudagraph, pool=pool, stream=stream):
                self.output = function()
        except _hip.HipError as error:
            self.cudagraph, self.output, self.failure = None, None, str(error)
            _enabling.counts.fell("capture")


class CUDAGraphWrapper:
    """vLLM's: `runnable` as one graph for each batch descriptor, where the forward context's mode is `runtime_mode`; called as it
    is otherwise. The first call with a descriptor captures and repeats once, so that its results are there.

    `forward_context()` gives the object with batch_descriptor and cudagraph_runtime_mode; vLLM's own by default. Each call is
    checked to have its device arrays where they were captured: ValueError. vllm_config and cudagraph_options are taken as vLLM
    gives them, and make no difference: outputs are kept as long as the graph. `stream`: torch's current one by default.
    """

    def __init__(self, runnable: Callable[..., Any], vllm_config: Any = None, runtime_mode: Any = "FULL",
                 cudagraph_options: Any = None, *, forward_context: Optional[Callable[[], Any]] = None,
                 stream: Any = None) -> None:
        if _is_none(runtime_mode):
            raise ValueError("runtime_mode NONE has no graphs")
        self.runnable, self.runtime_mode = runnable, runtime_mode
        self.vllm_config, self.cudagraph_options = vllm_config, cudagraph_options
        self.graph_pool = graph_pool_handle()
        self.concrete_cudagraph_entries: dict[Hashable, _Entry] = {}
        self._forward_context, self._stream = forward_context, stream

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "runnable":
            raise AttributeError(name)
        return getattr(self.runnable, name)

    def unwrap(self) -> Callable[..., Any]:
        return self.runnable

    def clear_graphs(self) -> None:
        """Their work must have been waited for."""
        self.concrete_cudagraph_entries.clear()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        context = self._context()
        mode, key = context.cudagraph_runtime_mode, context.batch_descriptor
        if _is_none(mode) or mode != self.runtime_mode:
            return self.runnable(*arguments, **named)
        if key is None:
            raise ValueError(f"mode {mode} without a batch descriptor")
        on = _current_stream(self._stream)
        addresses = [arrays.device_memory(one).address for one in (*arguments, *named.values()) if arrays.is_device_array(one)]
        entry = self.concrete_cudagraph_entries.get(key)
        if entry is None:
            entry = _Entry(lambda: self.runnable(*arguments, **named), self.graph_pool, on, (arguments, named))
            entry.input_addresses = addresses
            self.concrete_cudagraph_entries[key] = entry
        if entry.cudagraph is None:
            return self.runnable(*arguments, **named)
        if addresses != entry.input_addresses:
            pairs = enumerate(zip(addresses, entry.input_addresses))
            moved = next((n for n, (now, then) in pairs if now != then), len(addresses))
            raise ValueError(f"the graph of {key} was captured over other memory: device array {moved} of the call is not where "
                             "it was; copy inputs to the memory of the capture")
        entry.cudagraph.replay(stream=on)
        return entry.output

    def _context(self) -> Any:
        if self._forward_context is not None:
            return self._forward_context()
        vllm = sys.modules.get("vllm.forward_context")
        if vllm is None:
            raise RuntimeError("CUDAGraphWrapper: vLLM is not loaded: name forward_context=")
        return vllm.get_forward_context()


def _is_none(mode: Any) -> bool:
    return mode is None or getattr(mode, "name", mode) == "NONE"


class GraphBackend:
    """SGLang's backend of a graph runner: shapes are captured within capture_session(), and replayed within replay_session().

    `warmup`: how often the function of a shape is called before it is captured. `runner`: what SGLang gives; not looked at.
    """

    def __init__(self, runner: Any = None, *, warmup: int = 2, **_: Any) -> None:
        self._runner, self._warmup = runner, warmup
        self._pool = graph_pool_handle()
        self._stream: Optional[int] = None  # within a capture session
        self._entries: dict[Hashable, _Entry] = {}

    @contextlib.contextmanager
    def capture_session(self, stream: Any) -> Iterator[None]:
        """Captures on the stream."""
        self._stream = arrays.stream_handle(stream)
        try:
            yield
        finally:
            self._stream = None

    def capture_one(self, shape_key: Hashable, forward_fn: Callable[..., Any], capture_inputs: Any = None,
                    post_warmup_hook: Optional[Callable[[], None]] = None) -> None:
        """Captures what the function submits for this shape; it has `stream`, if it has such a parameter. capture_inputs: is kept
        as long as the graph. A shape that cannot be captured is not one that can_run(); failures() says why."""
        if self._stream is None:
            raise RuntimeError("capture_one() is called within capture_session()")
        on = self._stream
        for _ in range(self._warmup):
            call_with(forward_fn, [], on)
            if post_warmup_hook is not None:
                post_warmup_hook()
        self._entries[shape_key] = _Entry(lambda: call_with(forward_fn, [], on), self._pool, on, capture_inputs)

    def can_run(self, forward_batch: Any, shape_key: Hashable) -> bool:
        entry = self._entries.get(shape_key)
        return entry is not None and entry.cudagraph is not None

    def failures(self) -> dict[Hashable, str]:
        """Shapes that could not be captured, with the reason."""
        return {key: entry.failure for key, entry in self._entries.items() if entry.cudagraph is None}

    @contextlib.contextmanager
    def replay_session(self) -> Iterator[None]:
        """Graphs need nothing around their replays."""
        yield

    def replay(self, shape_key: Hashable, static_forward_batch: Any = None, *, stream: Any = None, **_: Any) -> Any:
        """What the function returned when it was captured, filled anew: on torch's current stream, or that of the capture."""
        entry = self._entries.get(shape_key)
        if entry is None or entry.cudagraph is None:
            why = "was not captured" if entry is None else f"could not be captured: {entry.failure}"
            raise KeyError(f"shape {shape_key!r} {why}")
        entry.cudagraph.replay(stream=stream)
        return entry.output

    def cleanup(self) -> None:
        """Gives up all graphs. Their work must have been waited for."""
        self._entries.clear()
