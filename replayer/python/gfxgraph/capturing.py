"""Steps that a program captures of itself, and runs over its own memory (gfxgraph/capture.h)."""

from __future__ import annotations

from ctypes import byref, c_void_p
from types import TracebackType
from typing import Any, Callable, Optional

from . import _library as lib
from .arrays import stream_handle
from .borders import Border
from .session import Session, Step
from .trace import Trace


class Capture:
    """What this thread's work on `stream` is, from here to end().

    `hold`: the work is not done, only captured; otherwise it is done at once, and once. `contents`: with what memory holds, so
    that the saved trace opens elsewhere; begin and end then wait for the device. Another thread's capture is waited for, at most
    `wait_seconds`. Raises Error with the status of GFXGRAPH_UNSUPPORTED if the process has no hooks of gfxgraph.
    """

    def __init__(self, stream: Any = None, *, name: str = "step", hold: bool = False, contents: bool = False,
                 wait_seconds: float = 10) -> None:
        self.name = name
        self._name = name.encode()  # lives as long as the options
        options = lib.options("capture", mode=int(hold), contents=contents, wait_milliseconds=int(wait_seconds * 1000),
                              name=self._name)
        self._handle = c_void_p()
        lib.call("capture_begin", stream_handle(stream), byref(options), byref(self._handle))

    def pause(self) -> None:
        """Ends an iteration. Several iterations of one shape have parameters: the values that differ between them."""
        lib.call("capture_pause", self._handle)

    def resume(self) -> None:
        lib.call("capture_resume", self._handle)

    def border(self, name: str) -> None:
        """A place where runs of the step wait and the host acts."""
        lib.call("capture_break", self._handle, name.encode())

    def launches(self) -> int:
        """The number that the next launch gets."""
        return lib.find("capture_launches", self._handle)

    def end(self) -> Trace:
        """The captured trace. The capture is gone, also if this raises: Error names calls that were not captured."""
        handle, self._handle = self._handle, c_void_p()
        trace = c_void_p()
        lib.call("capture_end", handle, byref(trace))
        return Trace._of(trace)

    def abandon(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), c_void_p()
        if handle:
            lib.library.gfxgraph_capture_abandon(handle)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def __del__(self) -> None:
        self.abandon()


class Captured(Step):
    """The step that a with block captured; a gfxgraph.Step from the end of the block on. See gfxgraph.capture()."""

    def __init__(self, captured: Capture, mode: str, border: Optional[Callable[[Border], object]]) -> None:
        self._capture: Optional[Capture] = captured
        self._mode, self._at_borders = mode, border
        self._handle = c_void_p()

    def __enter__(self) -> Captured:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        captured, self._capture = self._capture, None
        if captured is None:
            return self.close()
        if kind is not None:
            return captured.abandon()
        session = Session(captured.end())
        super().__init__(session, session.trace.range(captured.name), self._mode, border=self._at_borders)
        return None

    @property
    def capturing(self) -> Capture:
        """Inside of the block: the capture, for pause(), resume() and border()."""
        if self._capture is None:
            raise RuntimeError("the block is over: its work is captured")
        return self._capture


def capture(stream: Any = None, *, mode: str = "auto", name: str = "step", hold: bool = False, contents: bool = False,
            wait_seconds: float = 10, border: Optional[Callable[[Border], object]] = None) -> Captured:
    """Captures the work of a with block on `stream`, and makes a step of it that runs in place.

        with gfxgraph.capture(stream, mode="graph") as step:
            model(x)
        step.run(stream)

    An exception in the block abandons the capture and passes. What the work reads on the host is fixed by the capture; memory
    that the program frees later makes run() raise an Error that names it. Arguments as for Capture; `mode` and
    `border` as for Session.step().
    """
    return Captured(Capture(stream, name=name, hold=hold, contents=contents, wait_seconds=wait_seconds), mode, border)
