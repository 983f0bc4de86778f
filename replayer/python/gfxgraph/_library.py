"""libgfxgraph.so.0.2 by ctypes: its structures, its functions, and failed calls as exceptions."""

from __future__ import annotations

import ctypes
import os
import sysconfig
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from types import TracebackType
from typing import Any, Optional

NOT_FOUND, MISMATCH, NOT_READY = 2, 10, 14
RANGE_ALL = 0xFFFFFFFF
BIND_FILL = 1


def _structure(name: str, *fields: tuple[str, Any]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", c_uint32), *fields]})


BorderInfo = _structure("BorderInfo", ("kind", c_uint32), ("number", c_uint32), ("reserved", c_uint32), ("name", c_char_p))
BORDER = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(BorderInfo))
LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
TraceOptions = _structure("TraceOptions", ("allow_torn", c_uint32), ("allow_incomplete", c_uint32),
                           ("pointers", c_uint32), ("max_operations", c_uint64))
SessionOptions = _structure(
    "SessionOptions", ("layout", c_int32), ("device", c_int32), ("keep_ambiguous", c_uint32), ("zero_unknown", c_uint32),
    ("poison_fresh", c_uint32), ("concurrent_steps", c_uint32), ("max_load_seconds", c_uint32),
    ("max_memory_bytes", c_uint64), ("log", LOG), ("log_context", c_void_p), ("allocate", c_void_p),
    ("release", c_void_p), ("allocator_context", c_void_p), ("memory", c_uint32), ("reserved", c_uint32),
    ("place", c_uint32), ("reserved2", c_uint32))
StepOptions = _structure("StepOptions", ("mode", c_int32), ("graph_max_nodes", c_uint32), ("graph_linear", c_uint32),
                          ("keep_memory", c_uint32), ("auto_milliseconds", c_uint32), ("border", BORDER),
                          ("border_context", c_void_p))
Environment = _structure(
    "Environment", ("emulated", c_uint32), ("gfxgraph_version", c_char_p), ("gpu_arch", c_char_p),
    ("device_name", c_char_p), ("hip_runtime_version", c_int32), ("sealed", c_uint32), ("complete", c_uint32),
    ("launch_count", c_uint32), ("kernel_count", c_uint32), ("buffer_count", c_uint32), ("range_count", c_uint32),
    ("reserved", c_uint32))
BufferInfo = _structure(
    "BufferInfo", ("kind", c_uint32), ("size_bytes", c_uint64), ("extent_bytes", c_uint64), ("recorded_address", c_uint64),
    ("begin_sequence", c_uint64), ("end_sequence", c_uint64), ("post_state_known", c_uint32),
    ("initial_state_unknown", c_uint32), ("symbol", c_char_p), ("name", c_char_p), ("name_source", c_uint32),
    ("reserved", c_uint32))
RangeInfo = _structure(
    "RangeInfo", ("shape", c_uint32), ("name", c_char_p), ("ordinal", c_uint64), ("first_event", c_uint64),
    ("end_event", c_uint64), ("launches", c_uint64), ("copies", c_uint64), ("copy_bytes", c_uint64),
    ("memsets", c_uint64), ("host_writes", c_uint64), ("ended", c_uint32), ("reserved", c_uint32))
ParameterInfo = _structure(
    "ParameterInfo", ("pattern", c_uint32), ("name", c_char_p), ("step", c_int64), ("period", c_uint32),
    ("place_count", c_uint32), ("buffer", c_uint32), ("reserved", c_uint32), ("number", c_int64))
TransferInfo = _structure("TransferInfo", ("kind", c_uint32), ("name", c_char_p), ("size_bytes", c_uint64),
                           ("buffer", c_uint32), ("reserved", c_uint32), ("offset_bytes", c_uint64))
SessionInfo = _structure(
    "SessionInfo", ("loaded", c_uint32), ("device_name", c_char_p), ("gpu_arch", c_char_p), ("hip_library", c_char_p),
    ("hip_runtime_version", c_int32), ("device", c_int32), ("device_bytes", c_uint64), ("host_bytes", c_uint64),
    ("load_us", c_double), ("device_bytes_apart", c_uint64))
StepInfo = _structure(
    "StepInfo", ("mode", c_int32), ("mode_reason", c_char_p), ("launches", c_uint32), ("first_launch", c_uint32),
    ("graphs", c_uint32), ("submits", c_uint32), ("graph_nodes", c_uint64), ("prepare_us", c_double),
    ("restore_us", c_double), ("build_us", c_double), ("instantiate_us", c_double))
BufferResult = _structure(
    "BufferResult", ("buffer", c_uint32), ("comparison", c_uint32), ("by_hash", c_uint32), ("size_bytes", c_uint64),
    ("first_difference", c_uint64), ("differing_bytes", c_uint64), ("expected", c_uint32), ("got", c_uint32))
Verification = _structure(
    "Verification", ("identical", c_uint32), ("different", c_uint32), ("uncompared", c_uint32),
    ("copies_identical", c_uint32), ("copies_different", c_uint32), ("copies_uncompared", c_uint32),
    ("reserved", c_uint32))

CaptureOptions = _structure("CaptureOptions", ("mode", c_uint32), ("contents", c_uint32), ("wait_milliseconds", c_uint32),
                            ("name", c_char_p))


class Place(ctypes.Structure):
    _fields_ = [("launch", c_uint32), ("argument", c_uint32), ("offset_bytes", c_uint32), ("size_bytes", c_uint32)]


_HANDLE = c_void_p
# Every function that this module calls, with what it takes; each gives a status, unless said otherwise.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "trace_open": (c_char_p, POINTER(TraceOptions), POINTER(_HANDLE)),
    "trace_open_descriptor": (ctypes.c_int, POINTER(TraceOptions), POINTER(_HANDLE)),
    "trace_environment": (_HANDLE, POINTER(Environment)),
    "trace_buffer": (_HANDLE, c_uint32, POINTER(BufferInfo)),
    "trace_range": (_HANDLE, c_uint32, POINTER(RangeInfo)),
    "trace_find_range": (_HANDLE, c_char_p, POINTER(c_uint32)),
    "trace_find_buffer": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "trace_parameter_count": (_HANDLE, c_uint32, POINTER(c_uint32)),
    "trace_parameter": (_HANDLE, c_uint32, c_uint32, POINTER(ParameterInfo)),
    "trace_find_parameter": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "trace_input_count": (_HANDLE, c_uint32, POINTER(c_uint32)),
    "trace_input": (_HANDLE, c_uint32, c_uint32, POINTER(TransferInfo)),
    "trace_find_input": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "trace_output_count": (_HANDLE, c_uint32, POINTER(c_uint32)),
    "trace_output": (_HANDLE, c_uint32, c_uint32, POINTER(TransferInfo)),
    "trace_find_output": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "session_create": (_HANDLE, POINTER(SessionOptions), POINTER(_HANDLE)),
    "session_bind": (_HANDLE, c_uint32, c_void_p, c_uint64, c_uint32),
    "session_load": (_HANDLE,),
    "session_read": (_HANDLE, c_uint32, c_uint64, c_void_p, c_uint64),
    "session_write": (_HANDLE, c_uint32, c_uint64, c_void_p, c_uint64),
    "session_address": (_HANDLE, c_uint32, POINTER(c_void_p)),
    "session_info": (_HANDLE, POINTER(SessionInfo)),
    "step_create": (_HANDLE, c_uint32, POINTER(StepOptions), POINTER(_HANDLE)),
    "step_stream": (_HANDLE, POINTER(c_void_p)),
    "step_run": (_HANDLE, c_void_p),
    "step_run_unfenced": (_HANDLE, c_void_p),
    "step_query": (_HANDLE,),
    "step_wait": (_HANDLE,),
    "step_restore": (_HANDLE,),
    "step_set_parameter": (_HANDLE, c_uint32, c_int64),
    "step_set_parameter_address": (_HANDLE, c_uint32, c_uint32, c_uint64),
    "step_advance": (_HANDLE, c_uint64),
    "step_set_argument": (_HANDLE, c_uint32, c_uint32, c_void_p, c_uint32),
    "step_set_grid": (_HANDLE, c_uint32, c_uint32, c_uint32, c_uint32),
    "step_set_input": (_HANDLE, c_uint32, c_void_p, c_uint64),
    "step_set_output": (_HANDLE, c_uint32, c_void_p, c_uint64),
    "step_read_output": (_HANDLE, c_uint32, c_void_p, c_uint64),
    "step_commit": (_HANDLE,),
    "step_verify": (_HANDLE, POINTER(Verification), POINTER(BufferResult), c_uint32, c_uint32),
    "step_info": (_HANDLE, POINTER(StepInfo)),
    "capture_begin": (c_void_p, POINTER(CaptureOptions), POINTER(_HANDLE)),
    "capture_pause": (_HANDLE,),
    "capture_resume": (_HANDLE,),
    "capture_break": (_HANDLE, c_char_p),
    "capture_launches": (_HANDLE, POINTER(c_uint32)),
    "capture_end": (_HANDLE, POINTER(_HANDLE)),
    "trace_save": (_HANDLE, c_char_p),
    "trace_name_parameter": (_HANDLE, c_uint32, c_char_p, c_int64, POINTER(Place), c_uint32, POINTER(c_uint32)),
}
_DESTROYS = ("trace_destroy", "session_destroy", "step_destroy", "capture_abandon")
_DEFAULTS = {"trace_options_default": TraceOptions, "session_options_default": SessionOptions,
             "step_options_default": StepOptions, "capture_options_default": CaptureOptions}


def prefix() -> str:
    """Where gfxgraph is installed: its bin, lib and include are beneath. A wheel has them in the package's own folder."""
    package = os.path.dirname(os.path.realpath(__file__))
    own = os.path.join(package, "_files")
    # PREFIX/lib/python3/dist-packages/gfxgraph
    return own if os.path.isdir(own) else os.path.abspath(os.path.join(package, "..", "..", "..", ".."))


def _file() -> str:
    name = "libgfxgraph.so.0.2"
    if os.environ.get("GFXGRAPH_LIBRARY"):
        return os.environ["GFXGRAPH_LIBRARY"]
    multiarch = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
    for folder in (os.path.join("lib", multiarch), "lib", "lib64"):
        path = os.path.join(prefix(), folder, name)
        if os.path.exists(path):
            return path
    return name


def _open() -> ctypes.CDLL:
    path = _file()
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"gfxgraph: {path} cannot be loaded ({error}); set GFXGRAPH_LIBRARY to the path of "
                          "libgfxgraph.so.0.2") from error


def _load() -> ctypes.CDLL:
    opened = _open()
    for name, arguments in _FUNCTIONS.items():
        function = getattr(opened, "gfxgraph_" + name)
        function.argtypes, function.restype = arguments, c_int32
    for name in _DESTROYS:
        function = getattr(opened, "gfxgraph_" + name)
        function.argtypes, function.restype = (_HANDLE,), None
    for name, structure in _DEFAULTS.items():
        function = getattr(opened, "gfxgraph_" + name)
        function.argtypes, function.restype = (), structure
    for name in ("last_error", "version"):
        getattr(opened, "gfxgraph_" + name).restype = c_char_p
    opened.gfxgraph_status_name.argtypes, opened.gfxgraph_status_name.restype = (c_int32,), c_char_p
    opened.gfxgraph_last_hip_error.restype = c_int32
    return opened


library = _load()


def text(name: bytes) -> str:
    """Names come from programs and files: they need not be UTF-8."""
    return name.decode(errors="backslashreplace")


class Error(RuntimeError):
    """A failed call: `status` is a gfxgraph_status_t, `hip_error` a hipError_t or 0."""

    def __init__(self, status: int) -> None:
        name = library.gfxgraph_status_name(status).decode()
        super().__init__(f"{name}: {library.gfxgraph_last_error().decode(errors='replace')}")
        self.status = status
        self.hip_error: int = library.gfxgraph_last_hip_error()


def call(name: str, *arguments: Any) -> None:
    status = getattr(library, "gfxgraph_" + name)(*arguments)
    if status != 0:
        raise Error(status)


def describe(name: str, structure: type, *arguments: Any) -> Any:
    description = structure(struct_size=ctypes.sizeof(structure))
    call(name, *arguments, byref(description))
    return description


def find(name: str, *arguments: Any) -> int:
    found = c_uint32()
    call(name, *arguments, byref(found))
    return found.value


def options(structure: str, /, **values: Any) -> Any:
    made = getattr(library, f"gfxgraph_{structure}_options_default")()
    for field, value in values.items():
        setattr(made, field, value)
    return made


class Owner:
    """A handle that is destroyed with the object, or at the end of a with block."""

    _destroy = ""

    def __init__(self, handle: c_void_p) -> None:
        self._handle = handle

    def close(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), c_void_p()
        if handle:
            getattr(library, "gfxgraph_" + self._destroy)(handle)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
