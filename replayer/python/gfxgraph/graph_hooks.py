"""What programs register with torch's graphs: hooks around captures, instantiations and replays, and what ends with a graph."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Callable

from . import _hip

__all__ = ["RemovableHandle", "register_graph_capture_end_hook", "register_graph_capture_start_hook",
           "register_graph_destroy_hook", "register_graph_instantiate_hook", "register_graph_replay_end_hook",
           "register_graph_replay_start_hook"]

_numbers = itertools.count()


class RemovableHandle:
    """Takes back what was registered: by remove(), or at the end of a with block."""

    def __init__(self, registered: dict[int, Any]) -> None:
        self.id = next(_numbers)
        self._registered = registered

    def remove(self) -> None:
        self._registered.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def added(registered: dict[int, Any], value: Any) -> RemovableHandle:
    handle = RemovableHandle(registered)
    registered[handle.id] = value
    return handle


class Hooks:
    """Of one place. Those of a graph are called in their order, and what they raise passes; those of the process come first, and
    one that raises does not keep others from being called, as torch has it."""

    def __init__(self) -> None:
        self.process: dict[int, Callable[[Any], Any]] = {}

    def run(self, own: dict[int, Callable[[Any], Any]], graph: Any) -> None:
        for hook in list(self.process.values()):
            with contextlib.suppress(Exception):
                hook(graph)
        for hook in list(own.values()):
            hook(graph)


capture_start, capture_end, instantiate, replay_start, replay_end = (Hooks() for _ in range(5))
_destroy: dict[int, Callable[[set[int]], None]] = {}


def register_graph_capture_start_hook(fn: Callable[[Any], None]) -> RemovableHandle:
    """Calls fn(graph) when the capture of any graph has begun: work that it submits to the stream is captured."""
    return added(capture_start.process, fn)


def register_graph_capture_end_hook(fn: Callable[[Any], None]) -> RemovableHandle:
    """Calls fn(graph) when a capture has ended and the hipGraph_t is there: graph.raw_cuda_graph()."""
    return added(capture_end.process, fn)


def register_graph_instantiate_hook(fn: Callable[[Any], None]) -> RemovableHandle:
    """Calls fn(graph) behind each instantiation: graph.raw_cuda_graph_exec()."""
    return added(instantiate.process, fn)


def register_graph_replay_start_hook(fn: Callable[[Any], None]) -> RemovableHandle:
    """Calls fn(graph) before each replay is submitted."""
    return added(replay_start.process, fn)


def register_graph_replay_end_hook(fn: Callable[[Any], None]) -> RemovableHandle:
    """Calls fn(graph) when a replay was submitted, or failed to be. Its work may still run."""
    return added(replay_end.process, fn)


def register_graph_destroy_hook(fn: Callable[[set[int]], None]) -> RemovableHandle:
    """Calls fn(executables) when a graph ends, with each hipGraphExec_t that it had; HIP has no other numbers of graphs."""
    return added(_destroy, fn)


class Retained:
    """What ends with a graph's capture. Knows the graph's streams and executables, and not the graph."""

    def __init__(self) -> None:
        self.callbacks: dict[int, Callable[[], None]] = {}
        self.objects: dict[int, object] = {}
        self.executables: set[int] = set()
        self.streams: set[int] = set()  # of replays, if they are waited for
        self.waits = False

    def fire(self) -> None:
        """Once: waits for the replays if that was asked for, calls the callbacks, of which none keeps others from being called,
        and lets go of the objects."""
        callbacks, self.callbacks = self.callbacks, {}
        if self.waits:
            for stream in self.streams:
                _hip.runtime().library.hipStreamSynchronize(stream)  # an error: nothing of it runs any more
        for callback in list(callbacks.values()):
            with contextlib.suppress(Exception):
                callback()
        if self.executables:
            for hook in list(_destroy.values()):
                with contextlib.suppress(Exception):
                    hook(set(self.executables))
        self.executables.clear()
        self.streams.clear()
        self.objects.clear()
