"""gfxGRAPH's switches and numbers: enable(), disable(), stats(), health_check()."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t
from typing import Any, Optional

_LOGGER = logging.getLogger("gfxgraph")


class _Counts:
    """Of all drop-in names of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        with self._lock:
            self.captures = self.replays = self.fallbacks = self.failures = 0
            self.replay_us = 0.0
            self.reasons: dict[str, int] = {}

    def captured(self) -> None:
        with self._lock:
            self.captures += 1

    @contextlib.contextmanager
    def replaying(self) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.replayed((time.perf_counter() - begin) * 1e6)

    def replayed(self, us: float) -> None:
        with self._lock:
            self.replays += 1
            self.replay_us += us

    def fell(self, reason: str) -> None:
        with self._lock:
            self.fallbacks += 1
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def differed(self) -> None:
        with self._lock:
            self.failures += 1


counts = _Counts()
_enabled_at: Optional[float] = None
_validate = False
_before: list[tuple[Any, str, Any]] = []


def enable(*, debug: bool = False, validate: bool = False) -> None:
    """Makes torch.cuda's graph classes those of gfxgraph.torch, if torch is loaded, and begins to count. debug: logs falls and
    captures to the logger "gfxgraph". validate: pools of gfxgraph.hipgraph_bridge compare each run with the function."""
    global _enabled_at, _validate
    if debug:
        logging.basicConfig()
        _LOGGER.setLevel(logging.DEBUG)
    _validate = validate
    if _enabled_at is not None:
        return
    counts.clear()
    _enabled_at = time.time()
    torch = sys.modules.get("torch")
    if torch is not None:
        from . import torch as graphs

        for module in (torch.cuda, getattr(torch.cuda, "graphs", None)):
            for name in graphs.__all__:
                if hasattr(module, name):
                    _before.append((module, name, getattr(module, name)))
                    setattr(module, name, getattr(graphs, name))


def disable() -> None:
    """Torch's own classes again. Graphs that exist go on."""
    global _enabled_at, _validate
    for module, name, value in _before:
        setattr(module, name, value)
    _before.clear()
    _enabled_at, _validate = None, False


def is_enabled() -> bool:
    return _enabled_at is not None


def validates() -> bool:
    return _validate


def stats() -> dict[str, Any]:
    """What the drop-in names did since enable(): enabled_at (seconds since 1970, None: not enabled), capture_count, replay_count,
    fallback_count, fallback_reasons by name, validation_failures, avg_replay_us (the call on the host, not the work)."""
    return {"enabled_at": _enabled_at, "capture_count": counts.captures, "replay_count": counts.replays,
            "fallback_count": counts.fallbacks, "fallback_reasons": dict(counts.reasons),
            "validation_failures": counts.failures,
            "avg_replay_us": counts.replay_us / counts.replays if counts.replays else 0.0}


def vram_cap() -> float:
    """GFXGRAPH_VRAM_CAP, the share of the device's memory that pools stay below: 0.80 by default, 0: no cap."""
    text = os.environ.get("GFXGRAPH_VRAM_CAP", "0.80")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"GFXGRAPH_VRAM_CAP is {text!r}: a share from 0 to 1 is needed")
    return value


def health_check() -> dict[str, Any]:
    """Captures, repeats and compares a trivial step. Never raises. Keys: ok; gpu, the device's name; rocm, the version of HIP's
    runtime; native_bridge, whether the process has gfxgraph's hooks; vram_total_mb and vram_free_mb; details, what is wrong."""
    found: dict[str, Any] = {"ok": False, "gpu": None, "rocm": None, "native_bridge": False, "vram_total_mb": 0,
                             "vram_free_mb": 0, "details": []}
    try:
        _look(found)
    except Exception as error:  # by contract
        found["details"].append(f"{type(error).__name__}: {error}")
    found["ok"] = not found["details"]
    return found


def _look(found: dict[str, Any]) -> None:
    from . import _hip
    from .capturing import capture

    hip = _hip.runtime()
    found["rocm"] = "{}.{}".format(*hip.version())
    count = c_int()
    hip.call("hipGetDeviceCount", byref(count))
    name = ctypes.create_string_buffer(256)
    hip.call("hipDeviceGetName", name, len(name), 0)
    found["gpu"] = name.value.decode(errors="replace")
    free, total = c_size_t(), c_size_t()
    hip.call("hipMemGetInfo", byref(free), byref(total))
    found["vram_total_mb"], found["vram_free_mb"] = total.value >> 20, free.value >> 20
    with _hip.own_stream() as stream:
        first, second = (_hip.empty((256,), "|u1", stream) for _ in range(2))
        with capture(stream) as step:
            hip.call("hipMemsetAsync", first.address, 0x5a, 256, stream)
            hip.call("hipMemcpyAsync", second.address, first.address, 256, _hip.DEVICE_TO_DEVICE, stream)
        found["native_bridge"] = True
        hip.call("hipMemsetAsync", first.address, 0, 256, stream)
        hip.call("hipMemsetAsync", second.address, 0, 256, stream)
        step.run(stream)
        hip.call("hipStreamSynchronize", stream)
        if first.to_host() != b"\x5a" * 256 or second.to_host() != b"\x5a" * 256:
            found["details"].append("a step of a fill and a copy, repeated, gave other bytes")
        step.close()


def _from_environment() -> None:
    value = os.environ.get("GFXGRAPH", "")
    level = os.environ.get("HGB_LOG_LEVEL")
    if level:
        with contextlib.suppress(ValueError):
            _LOGGER.setLevel(level.upper())
    if value in ("1", "debug", "validate"):
        enable(debug=value == "debug", validate=value == "validate")
    elif value not in ("", "0"):
        _LOGGER.warning("GFXGRAPH is %r: 1, debug or validate is known", value)
