"""Memory of callers: NumPy and other host memory, device arrays, and streams.

Device arrays are objects with `__cuda_array_interface__` (CuPy, Numba, torch) or `__dlpack__` for ROCm devices. Only their
address, size and shape are read, and the object is kept: no data moves, and nothing waits. Work that fills such an array on
another stream than the step's must be ordered before the run by the caller, as for a kernel launch.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple, Optional

__all__ = ["DeviceArray", "device_memory", "stream_handle"]

_CPU, _ROCM, _ROCM_HOST = 1, 10, 11  # DLDeviceType: kDLCPU, kDLROCM, kDLROCMHost
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLDataTypeCode
_LETTERS = {code: letter for letter, code in _KINDS.items()}
_BFLOAT = 4
_DEVICE_TO_HOST = 2  # hipMemcpyDeviceToHost


class _Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", _Device), ("ndim", c_int32), ("dtype", _DataType), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64),
                ("tensor", _Tensor)]


_DESTRUCTOR = ctypes.CFUNCTYPE(None, c_void_p)
_api = ctypes.pythonapi
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_capsule_valid = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(("PyCapsule_New", _api))
# As its destructor sees it: an address, because the object is being destroyed.
_dying_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_dying_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


class Memory(NamedTuple):
    """Contiguous device memory, and the object that keeps it."""

    address: int
    size_bytes: int
    shape: tuple[int, ...]
    typestr: str  # NumPy's: "<f4"
    readonly: bool
    device: int  # -1: not known
    owner: Any


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> bool:
    if 0 in shape:
        return True  # no bytes that could lie apart
    expected = item
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _made(address: int, shape: tuple[int, ...], strides: Optional[tuple[int, ...]], typestr: str, item: int, readonly: bool,
          device: int, owner: Any) -> Memory:
    if any(length < 0 for length in shape):
        raise ValueError(f"{type(owner).__name__}: shape {shape} has a negative length")
    if strides is not None and not _contiguous(shape, strides, item):
        raise ValueError(f"{type(owner).__name__}: an array of shape {shape} with strides of {strides} bytes is not "
                         "contiguous in C order; pass a contiguous copy of it")
    size = item
    for length in shape:
        size *= length
    if size != 0 and address == 0:
        raise ValueError(f"{type(owner).__name__}: an array of {size} bytes at address 0")
    return Memory(address, size, shape, typestr, readonly, device, owner)


def _from_interface(value: Any, interface: dict[str, Any]) -> Memory:
    if interface.get("mask") is not None:
        raise ValueError(f"{type(value).__name__}: masked arrays are not supported")
    typestr = str(interface["typestr"])
    try:
        item = int(typestr[2:])
    except ValueError:
        raise ValueError(f"{type(value).__name__}: type {typestr!r} has no fixed size") from None
    if typestr[0] == ">":
        raise ValueError(f"{type(value).__name__}: type {typestr!r} is big-endian, which no AMD GPU is")
    address, readonly = interface["data"]
    strides = interface.get("strides")
    return _made(int(address or 0), tuple(int(n) for n in interface["shape"]),
                 None if strides is None else tuple(int(n) for n in strides), typestr, item, bool(readonly), -1, value)


def _from_dlpack(value: Any) -> Memory:
    kind, device = value.__dlpack_device__()
    if int(kind) != _ROCM:
        raise TypeError(f"{type(value).__name__}: memory of DLPack device type {int(kind)}; a ROCm device (10) is needed")
    try:
        capsule = value.__dlpack__(stream=-1)  # as it is: whoever launches orders the work
    except TypeError:
        capsule = value.__dlpack__()
    return _of_capsule(value, capsule, int(device))


def _of_capsule(value: Any, capsule: Any, device: int) -> Memory:
    readonly = False
    if _capsule_valid(capsule, b"dltensor"):
        tensor = _Managed.from_address(_capsule_pointer(capsule, b"dltensor")).tensor
    elif _capsule_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise ValueError(f"{type(value).__name__}: DLPack {versioned.major}.{versioned.minor} is not known here")
        tensor, readonly = versioned.tensor, bool(versioned.flags & 1)
    else:
        raise TypeError(f"{type(value).__name__}: __dlpack__ gave no capsule of a tensor that is not used yet")
    dtype = tensor.dtype
    if dtype.lanes != 1 or dtype.bits % 8 != 0:
        raise ValueError(f"{type(value).__name__}: elements of {dtype.bits} bits in {dtype.lanes} lanes are not supported")
    item = dtype.bits // 8
    letter = "V" if dtype.code == _BFLOAT else _LETTERS.get(dtype.code)
    if letter is None:
        raise ValueError(f"{type(value).__name__}: DLPack type code {dtype.code} is not known")
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    strides = tuple(tensor.strides[n] * item for n in range(tensor.ndim)) if tensor.strides else None
    # The capsule owns the tensor as long as nobody takes it over.
    return _made((tensor.data or 0) + tensor.byte_offset, shape, strides, f"{'|' if item == 1 else '<'}{letter}{item}", item,
                 readonly, device, (capsule, value))


def is_device_array(value: Any) -> bool:
    if hasattr(value, "__cuda_array_interface__"):
        return True
    if not hasattr(value, "__dlpack_device__") or not hasattr(value, "__dlpack__"):
        return False
    return int(value.__dlpack_device__()[0]) == _ROCM


def device_memory(value: Any) -> Memory:
    """What a device array is made of. TypeError: not a device array; ValueError: one that is not contiguous, is masked, ..."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(value, interface)
    if hasattr(value, "__dlpack_device__") and hasattr(value, "__dlpack__"):
        return _from_dlpack(value)
    raise TypeError(f"{type(value).__name__} is no device array: it has neither __cuda_array_interface__ nor __dlpack__")


def stream_handle(stream: Any) -> int:
    """A hipStream_t as an integer: of an integer, of None (the null stream), or of an object as CuPy (`ptr`), torch
    (`cuda_stream`) and cuda.core (`__cuda_stream__`) have them."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ValueError(f"{type(stream).__name__}: version {version} of __cuda_stream__ is not known here")
        return int(handle)
    for name in ("ptr", "cuda_stream", "hip_stream"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(handle)
    try:
        return int(stream)
    except (TypeError, ValueError):
        raise TypeError(f"{type(stream).__name__} is no stream: an integer, or an object with ptr, cuda_stream or "
                        "__cuda_stream__ is needed") from None


def read_only(data: Any) -> tuple[Any, int]:
    """The address of the bytes of any object with the buffer protocol, kept alive by the first of both."""
    view = _bytes(data)
    if view.readonly:
        return ctypes.create_string_buffer(view.tobytes(), max(len(view), 1)), len(view)
    return (ctypes.c_char * len(view)).from_buffer(view), len(view)


def writable(data: Any) -> tuple[Any, int]:
    view = _bytes(data)
    if view.readonly:
        raise ValueError(f"{type(data).__name__} is read-only, and a run would write to it")
    return (ctypes.c_char * len(view)).from_buffer(view), len(view)


def _bytes(data: Any) -> memoryview:
    if is_device_array(data):
        raise TypeError(f"{type(data).__name__} is device memory, and this takes host memory; gfxgraph.Session.bind() uses "
                        "device memory in place of a buffer")
    view = _view(data)
    if not view.c_contiguous:
        raise ValueError(f"{type(data).__name__}: an array of shape {view.shape} with strides of {view.strides} bytes is not "
                         "contiguous in C order; pass a contiguous copy of it")
    return view.cast("B")


def _view(data: Any) -> memoryview:
    try:
        return memoryview(data)
    except TypeError:
        # torch's tensors of the host have no buffer protocol.
        if not hasattr(data, "__dlpack_device__") or int(data.__dlpack_device__()[0]) not in (_CPU, _ROCM_HOST):
            raise
    memory = _of_capsule(data, data.__dlpack__(), -1)
    made: Any = type("HostBytes", (ctypes.c_char * memory.size_bytes,), {})
    place = made.from_address(memory.address) if memory.size_bytes else made()
    place.owner = memory.owner
    view = memoryview(place).cast("B")
    return view.toreadonly() if memory.readonly else view


def copy_to_host(hip_library: str, memory: Memory) -> Any:
    """The bytes of device memory, by hipMemcpy: waits for the null stream's work."""
    data = ctypes.create_string_buffer(max(memory.size_bytes, 1))
    copy = ctypes.CDLL(hip_library).hipMemcpy
    copy.argtypes = (c_void_p, c_void_p, c_size_t, c_int)
    result = copy(data, memory.address, memory.size_bytes, _DEVICE_TO_HOST)
    if result != 0:
        raise RuntimeError(f"hipMemcpy of {memory.size_bytes} bytes at {memory.address:#x} to the host: hipError_t {result}")
    return data


# Tensors that others took over: what they need until their deleter is called.
_given: dict[int, Any] = {}


def _forget(managed: int) -> None:
    _given.pop(managed, None)


def _end(capsule: int) -> None:
    if _dying_valid(capsule, b"dltensor"):  # nobody took it over
        _forget(_dying_pointer(capsule, b"dltensor"))


_delete, _destroy = _DELETER(_forget), _DESTRUCTOR(_end)


class DeviceArray:
    """Device memory with a shape and a type, as CuPy, torch, Numba and NumPy-like libraries take it without a copy.

    `owner` is kept as long as the array: the session whose memory it is. Work of a step that fills the memory must be ordered
    before its use: by the stream, or by gfxgraph.Step.wait().
    """

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str, owner: Any, *, device: int = 0,
                 hip_library: str = "") -> None:
        self.address, self.shape, self.typestr, self.owner, self.device = address, tuple(shape), typestr, owner, device
        self._hip_library = hip_library

    @property
    def size_bytes(self) -> int:
        size = int(self.typestr[2:])
        for length in self.shape:
            size *= length
        return size

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.address, False), "strides": None, "version": 3,
                "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        return _ROCM, self.device

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """The memory as it is: whoever uses it orders its work behind the step's."""
        kind = _KINDS.get(self.typestr[1])
        if kind is None:
            raise BufferError(f"DLPack has no type for {self.typestr!r}")
        shape = (c_int64 * max(len(self.shape), 1))(*self.shape)
        managed = _Managed()
        managed.tensor = _Tensor(self.address, _Device(_ROCM, self.device), len(self.shape),
                                 _DataType(kind, 8 * int(self.typestr[2:]), 1), shape, None, 0)
        managed.deleter = _delete
        address = ctypes.addressof(managed)
        _given[address] = (managed, shape, self)
        return _capsule_new(address, b"dltensor", ctypes.cast(_destroy, c_void_p))

    def to_host(self) -> bytes:
        """A copy of its bytes. Waits for the work of the null stream and of the streams that wait for it."""
        data = copy_to_host(self._hip_library, device_memory(self))
        return bytes(data.raw[: self.size_bytes])

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, typestr={self.typestr!r}, address={self.address:#x})"
