"""Traces: what was recorded, without a device."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from ctypes import byref, c_void_p
from typing import Any, NamedTuple, Union

from . import _library as lib

_PATTERNS = {1: "step", 2: "swap", 3: "free"}


class Buffer(NamedTuple):
    id: int
    name: str
    size_bytes: int
    extent_bytes: int  # what memory in its place must hold
    kind: int


class Parameter(NamedTuple):
    index: int  # type: ignore[assignment]  # hides the tuple's own
    name: str
    pattern: str  # "step", "swap" or "free"
    step: int
    places: int
    buffer: int  # of the recorded value; 0: a number
    number: int


class Input(NamedTuple):
    index: int  # type: ignore[assignment]  # hides the tuple's own
    name: str
    size_bytes: int
    buffer: int
    offset_bytes: int


class Output(Input):
    pass


class Place(NamedTuple):
    """Bytes of a launch's argument; `size_bytes` at most 8, 0: as far as the argument goes."""

    launch: int
    argument: int
    offset_bytes: int = 0
    size_bytes: int = 0


class Range(NamedTuple):
    """A named stretch of a trace."""

    trace: Trace
    index: int  # type: ignore[assignment]  # hides the tuple's own
    name: str
    ordinal: int
    launches: int

    def parameters(self) -> list[Parameter]:
        return [Parameter(i, lib.text(one.name), _PATTERNS[one.pattern], one.step, one.place_count, one.buffer, one.number)
                for i, one in self._all("parameter", lib.ParameterInfo)]

    def inputs(self) -> list[Input]:
        return [Input(i, lib.text(one.name), one.size_bytes, one.buffer, one.offset_bytes)
                for i, one in self._all("input", lib.TransferInfo)]

    def outputs(self) -> list[Output]:
        return [Output(i, lib.text(one.name), one.size_bytes, one.buffer, one.offset_bytes)
                for i, one in self._all("output", lib.TransferInfo)]

    def name_parameter(self, name: str, places: Iterable[Place], *, step: int = 0) -> Parameter:
        """Makes a parameter of bytes of arguments, for steps that are created from now on. `step`: what Step.advance() adds for
        each iteration."""
        given = [lib.Place(*place) for place in places]
        index = lib.find("trace_name_parameter", self.trace._handle, self.index, name.encode(), step,
                         (lib.Place * max(len(given), 1))(*given), len(given))
        return self.parameters()[index]

    def _all(self, what: str, structure: type) -> Iterator[tuple[int, Any]]:
        for i in range(lib.find(f"trace_{what}_count", self.trace._handle, self.index)):
            yield i, lib.describe(f"trace_{what}", structure, self.trace._handle, self.index, i)

    def _index(self, what: str, which: Union[int, str, NamedTuple]) -> int:
        if isinstance(which, str):
            return lib.find(f"trace_find_{what}", self.trace._handle, self.index, which.encode())
        return which if isinstance(which, int) else int(getattr(which, "index"))  # noqa: B009


class Trace(lib.Owner):
    """A trace file; `source` is a path or an open descriptor. `pointers`: which words that look like
    addresses are relocated, GFXGRAPH_POINTERS_... of gfxgraph.h."""

    _destroy = "trace_destroy"

    def __init__(self, source: Union[str, os.PathLike[str], int], *, allow_torn: bool = False,
                 allow_incomplete: bool = False, pointers: int = 0, max_operations: int = 0) -> None:
        options = lib.options("trace", allow_torn=allow_torn, allow_incomplete=allow_incomplete, pointers=pointers,
                           max_operations=max_operations)
        handle = c_void_p()
        if isinstance(source, int):
            lib.call("trace_open_descriptor", source, byref(options), byref(handle))
        else:
            lib.call("trace_open", os.fsencode(source), byref(options), byref(handle))
        super().__init__(handle)

    @classmethod
    def _of(cls, handle: c_void_p) -> Trace:
        made = cls.__new__(cls)
        lib.Owner.__init__(made, handle)
        return made

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a captured trace to a file, whole or not at all. It opens elsewhere if it was captured with contents."""
        lib.call("trace_save", self._handle, os.fsencode(path))

    @property
    def gpu_arch(self) -> str:
        return lib.text(self._environment().gpu_arch)

    @property
    def complete(self) -> bool:
        return bool(self._environment().complete)

    @property
    def launches(self) -> int:
        return int(self._environment().launch_count)

    def ranges(self) -> list[Range]:
        return [self._range(i) for i in range(self._environment().range_count)]

    def range(self, name: str) -> Range:
        """"decode#3", "decode" for the first one of this name, "all"."""
        return self._range(lib.find("trace_find_range", self._handle, name.encode()))

    def buffers(self) -> list[Buffer]:
        found = []
        for i in range(1, self._environment().buffer_count + 1):
            try:
                found.append(self.buffer(i))
            except lib.Error as error:
                if error.status != lib.NOT_FOUND:  # an id without a buffer
                    raise
        return found

    def buffer(self, which: Union[int, str, Buffer]) -> Buffer:
        """By id or by name."""
        if isinstance(which, str):
            which = lib.find("trace_find_buffer", self._handle, lib.RANGE_ALL, which.encode())
        number = which.id if isinstance(which, Buffer) else which
        info = lib.describe("trace_buffer", lib.BufferInfo, self._handle, number)
        return Buffer(number, lib.text(info.name), info.size_bytes, info.extent_bytes, info.kind)

    def _environment(self) -> Any:
        return lib.describe("trace_environment", lib.Environment, self._handle)

    def _range(self, index: int) -> Range:
        info = lib.describe("trace_range", lib.RangeInfo, self._handle, index)
        return Range(self, index, lib.text(info.name), info.ordinal, info.launches)
