"""Borders: where the host of a captured program acted between the work of a step (gfxgraph/capture.h)."""

from __future__ import annotations

import threading
from typing import Any, Callable, NamedTuple

from . import _library as lib

__all__ = ["Border"]

RAISED = 1 << 20  # the status of a function that raised; none of the library's
_KINDS = ("", "wait", "result", "function", "break")


class Border(NamedTuple):
    """One of a step: `kind` says what the host did there: "wait" for work, get bytes of the device ("result"), have a "function"
    called on a stream, or capture.border() ("break"). `number` counts those of the step from 0; `name` says the same in words, or
    is that of capture.border()."""

    kind: str
    number: int
    name: str


def border_of(given: Any) -> Border:
    kind = _KINDS[given.kind] if given.kind < len(_KINDS) else f"kind {given.kind}"
    return Border(kind, given.number, lib.text(given.name or b""))


class Guard:
    """What functions of the caller raise while the library calls them comes out of the call that called it, as it was, in its
    thread."""

    def __init__(self) -> None:
        self._raised = threading.local()

    def guarded(self, function: Callable[[], object]) -> int:
        try:
            function()
            return 0
        except BaseException as error:  # raised again by check(), never lost
            if not self.has_raised():
                self._raised.error = error
            return RAISED

    def has_raised(self) -> bool:
        return getattr(self._raised, "error", None) is not None

    def check(self, status: int) -> None:
        """What was raised, or the library's error; nothing if the status is 0."""
        error = getattr(self._raised, "error", None)
        self._raised.error = None
        if status == 0:
            return
        if error is not None:
            raise error
        raise lib.Error(status)
