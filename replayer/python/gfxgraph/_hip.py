"""HIP's runtime by ctypes, for what the package itself does beside a step: memory that callers own, copies, and graphs."""

from __future__ import annotations

import contextlib
import ctypes
import math
import threading
from collections import deque
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any, Optional

from .arrays import DeviceArray, Memory, stream_handle

DEVICE_TO_DEVICE = 3
_MOST_FREE = 16  # blocks of one size that wait to be used again

_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "hipMalloc": (c_void_p, c_size_t),
    "hipFree": (c_void_p,),
    "hipMemcpyAsync": (c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "hipMemcpy": (c_void_p, c_void_p, c_size_t, c_int),
    "hipMemsetAsync": (c_void_p, c_int, c_size_t, c_void_p),
    "hipMemGetInfo": (c_void_p, c_void_p),
    "hipGetDeviceCount": (c_void_p,),
    "hipGetDevice": (c_void_p,),
    "hipDeviceGetName": (c_char_p, c_int, c_int),
    "hipRuntimeGetVersion": (c_void_p,),
    "hipStreamCreateWithFlags": (c_void_p, c_uint),
    "hipStreamDestroy": (c_void_p,),
    "hipStreamSynchronize": (c_void_p,),
    "hipStreamIsCapturing": (c_void_p, c_void_p),
    "hipStreamBeginCapture": (c_void_p, c_int),
    "hipStreamEndCapture": (c_void_p, c_void_p),
    "hipGraphInstantiate": (c_void_p, c_void_p, c_void_p, c_char_p, c_size_t),
    "hipGraphLaunch": (c_void_p, c_void_p),
    "hipGraphDestroy": (c_void_p,),
    "hipGraphExecDestroy": (c_void_p,),
    "hipGraphDebugDotPrint": (c_void_p, c_char_p, c_uint),
    "hipGraphGetNodes": (c_void_p, c_void_p, c_void_p),
}


class HipError(RuntimeError):
    """A HIP call failed; `code` is its hipError_t."""

    def __init__(self, name: str, code: int, text: str) -> None:
        super().__init__(f"{name}: {text} (hipError_t {code})")
        self.code = code


def loaded(name: str) -> Optional[str]:
    """The path of a library that the process has, whose file's name begins so."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").split(maxsplit=5)[5:]
            if path and "/" + name in path[0]:
                return path[0]
    return None


def _file() -> str:
    """That of the runtime which the process has, else the newest that the loader finds."""
    found = loaded("libamdhip64.so")
    if found is not None:
        return found
    for version in (7, 6, 5):
        with contextlib.suppress(OSError):
            ctypes.CDLL(f"libamdhip64.so.{version}")
            return f"libamdhip64.so.{version}"
    raise RuntimeError("gfxgraph: there is no HIP runtime (libamdhip64.so.7, .6 or .5)")


class Runtime:
    def __init__(self) -> None:
        self.path = _file()
        self.library = ctypes.CDLL(self.path)
        self.library.hipGetErrorString.argtypes, self.library.hipGetErrorString.restype = (c_int,), c_char_p
        for name, arguments in _ARGUMENTS.items():
            function = getattr(self.library, name, None)
            if function is not None:
                function.argtypes, function.restype = arguments, c_int
        # Two threads that launch graphs at once with HIP 5 mix up the arguments of kernels (kGraphKernelsMix).
        self._one_graph: contextlib.AbstractContextManager[Any] = (
            threading.Lock() if self.version()[0] < 6 else contextlib.nullcontext())

    def graph_call(self, name: str, *arguments: Any) -> None:
        """call() of a function that makes a graph executable or launches one."""
        with self._one_graph:
            self.call(name, *arguments)

    def call(self, name: str, *arguments: Any) -> None:
        """HipError if it fails; RuntimeError: this runtime does not have it."""
        function = getattr(self.library, name, None)
        if function is None:
            raise RuntimeError(f"{name}: {self.path} does not have it")
        code = function(*arguments)
        if code != 0:
            raise HipError(name, code, self.library.hipGetErrorString(code).decode(errors="replace"))

    def version(self) -> tuple[int, int]:
        number = c_int()
        self.call("hipRuntimeGetVersion", byref(number))
        return number.value // 10_000_000, number.value // 100_000 % 100


_lock = threading.Lock()
_runtime: Optional[Runtime] = None


def runtime() -> Runtime:
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


# ---- memory ----------------------------------------------------------------------------------------------------------


class Keeper:
    """Memory that a captured step uses although the program let go of it: it is given back with the step, not before."""

    def __init__(self) -> None:
        self.addresses: list[int] = []
        self.objects: list[Any] = []

    def __del__(self) -> None:
        if self.addresses and _runtime is not None:
            for address in self.addresses:
                _runtime.library.hipFree(address)


_keeping = threading.local()
_free: dict[tuple[int, int, int], deque[int]] = {}
_OUT_OF_MEMORY = 2


def release_free() -> None:
    """Gives back what waits to be used again."""
    for waiting in list(_free.values()):
        with contextlib.suppress(IndexError):
            while True:
                runtime().library.hipFree(waiting.pop())


class _Block:
    """Device memory with one owner. It is used again by later arrays of the same stream only, so that their work is behind its
    last use; whoever uses it on another stream must order that before it lets go."""

    address = 0

    def __init__(self, size_bytes: int, stream: int) -> None:
        device = c_int()
        runtime().call("hipGetDevice", byref(device))
        self.key = (size_bytes, stream, device.value)
        self.keeper: Optional[Keeper] = getattr(_keeping, "keeper", None)
        if self.keeper is None:
            with contextlib.suppress(KeyError, IndexError):
                self.address = _free[self.key].pop()
                return
        made = c_void_p()
        try:
            runtime().call("hipMalloc", byref(made), max(size_bytes, 4))
        except HipError as error:
            if error.code != _OUT_OF_MEMORY:
                raise
            release_free()
            runtime().call("hipMalloc", byref(made), max(size_bytes, 4))
        self.address = made.value or 0

    def __del__(self) -> None:
        if self.address == 0 or _runtime is None:
            return
        if self.keeper is not None:
            self.keeper.addresses.append(self.address)
            return
        waiting = _free.setdefault(self.key, deque())
        if len(waiting) < _MOST_FREE:
            waiting.append(self.address)
        else:
            _runtime.library.hipFree(self.address)


@contextlib.contextmanager
def keeping(keeper: Keeper) -> Iterator[None]:
    """What empty() makes in this thread meanwhile is not used again before the keeper ends."""
    before = getattr(_keeping, "keeper", None)
    _keeping.keeper = keeper
    try:
        yield
    finally:
        _keeping.keeper = before


def empty(shape: tuple[int, ...], typestr: str, stream: Any = None) -> DeviceArray:
    """Device memory that the array owns, with any content. It may be used again by later arrays for `stream` once the array is
    gone: use it on this stream, or order other uses before."""
    item = int(typestr[2:])
    block = _Block(item * math.prod(shape), stream_handle(stream))
    return DeviceArray(block.address, shape, typestr, block, device=block.key[2], hip_library=runtime().path)


def copy(to: int, memory: Memory, stream: int) -> None:
    """On the stream, all of the memory."""
    if memory.size_bytes != 0:
        runtime().call("hipMemcpyAsync", to, memory.address, memory.size_bytes, DEVICE_TO_DEVICE, stream)


@contextlib.contextmanager
def own_stream() -> Iterator[int]:
    """A stream that does not wait for the null stream."""
    made = c_void_p()
    runtime().call("hipStreamCreateWithFlags", byref(made), 1)
    try:
        yield made.value or 0
    finally:
        runtime().library.hipStreamDestroy(made)
