"""gfxgraph: replays recorded AMD GPU launch streams, or one step of them, from Python.

    import gfxgraph

    trace = gfxgraph.Trace("decode.gfxg")
    decode = trace.range("decode#3")
    with gfxgraph.Session(trace) as session, session.step(decode, mode="graph") as step:
        for n in range(60):
            step.advance(n)
            step.run()
        step.wait()
        history = session.read("history")

Over the installed libgfxgraph.so.0.2 by ctypes: nothing is built, no package is needed. The library is the file named by
the environment's GFXGRAPH_LIBRARY; without it, that of the installation that this module is part of
(PREFIX/lib/python3/dist-packages), else the loader's. gfxgraph/gfxgraph.h is the reference for what a call does, waits for and
refuses; a failed one raises gfxgraph.Error. Streams are hipStream_t addresses as integers, as HIP bindings and
torch.cuda.Stream.cuda_stream have them; memory of the caller is a device address as an integer, bytes on the host
are anything with the buffer protocol.
"""

from __future__ import annotations

import ctypes
import os
import sysconfig
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Iterator, NamedTuple, Optional, Union

__all__ = ["Buffer", "BufferResult", "Error", "Input", "Output", "Parameter", "Range", "Session", "Step", "Trace",
           "Verification", "version"]

MODES = ("eager", "batch", "graph", "auto", "packets")
_MEMORY = ("packed", "apart", "kept")
_PATTERNS = {1: "step", 2: "swap", 3: "free"}
_COMPARISONS = ("identical", "different", "uncompared")
_NOT_FOUND, _MISMATCH, _NOT_READY = 2, 10, 14
_RANGE_ALL = 0xFFFFFFFF
_BIND_FILL = 1


def _structure(name: str, *fields: tuple[str, Any]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", c_uint32), *fields]})


_LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
_TraceOptions = _structure("_TraceOptions", ("allow_torn", c_uint32), ("allow_incomplete", c_uint32),
                           ("pointers", c_uint32), ("max_operations", c_uint64))
_SessionOptions = _structure(
    "_SessionOptions", ("layout", c_int32), ("device", c_int32), ("keep_ambiguous", c_uint32), ("zero_unknown", c_uint32),
    ("poison_fresh", c_uint32), ("concurrent_steps", c_uint32), ("max_load_seconds", c_uint32),
    ("max_memory_bytes", c_uint64), ("log", _LOG), ("log_context", c_void_p), ("allocate", c_void_p),
    ("release", c_void_p), ("allocator_context", c_void_p), ("memory", c_uint32), ("reserved", c_uint32),
    ("place", c_uint32), ("reserved2", c_uint32))
_StepOptions = _structure("_StepOptions", ("mode", c_int32), ("graph_max_nodes", c_uint32), ("graph_linear", c_uint32),
                          ("keep_memory", c_uint32), ("auto_milliseconds", c_uint32), ("border", c_void_p),
                          ("border_context", c_void_p))
_Environment = _structure(
    "_Environment", ("emulated", c_uint32), ("gfxgraph_version", c_char_p), ("gpu_arch", c_char_p),
    ("device_name", c_char_p), ("hip_runtime_version", c_int32), ("sealed", c_uint32), ("complete", c_uint32),
    ("launch_count", c_uint32), ("kernel_count", c_uint32), ("buffer_count", c_uint32), ("range_count", c_uint32),
    ("reserved", c_uint32))
_BufferInfo = _structure(
    "_BufferInfo", ("kind", c_uint32), ("size_bytes", c_uint64), ("extent_bytes", c_uint64), ("recorded_address", c_uint64),
    ("begin_sequence", c_uint64), ("end_sequence", c_uint64), ("post_state_known", c_uint32),
    ("initial_state_unknown", c_uint32), ("symbol", c_char_p), ("name", c_char_p), ("name_source", c_uint32),
    ("reserved", c_uint32))
_RangeInfo = _structure(
    "_RangeInfo", ("shape", c_uint32), ("name", c_char_p), ("ordinal", c_uint64), ("first_event", c_uint64),
    ("end_event", c_uint64), ("launches", c_uint64), ("copies", c_uint64), ("copy_bytes", c_uint64),
    ("memsets", c_uint64), ("host_writes", c_uint64), ("ended", c_uint32), ("reserved", c_uint32))
_ParameterInfo = _structure(
    "_ParameterInfo", ("pattern", c_uint32), ("name", c_char_p), ("step", c_int64), ("period", c_uint32),
    ("place_count", c_uint32), ("buffer", c_uint32), ("reserved", c_uint32), ("number", c_int64))
_TransferInfo = _structure("_TransferInfo", ("kind", c_uint32), ("name", c_char_p), ("size_bytes", c_uint64),
                           ("buffer", c_uint32), ("reserved", c_uint32), ("offset_bytes", c_uint64))
_SessionInfo = _structure(
    "_SessionInfo", ("loaded", c_uint32), ("device_name", c_char_p), ("gpu_arch", c_char_p), ("hip_library", c_char_p),
    ("hip_runtime_version", c_int32), ("device", c_int32), ("device_bytes", c_uint64), ("host_bytes", c_uint64),
    ("load_us", c_double), ("device_bytes_apart", c_uint64))
_StepInfo = _structure(
    "_StepInfo", ("mode", c_int32), ("mode_reason", c_char_p), ("launches", c_uint32), ("first_launch", c_uint32),
    ("graphs", c_uint32), ("reserved", c_uint32), ("graph_nodes", c_uint64), ("prepare_us", c_double),
    ("restore_us", c_double), ("build_us", c_double), ("instantiate_us", c_double))
_BufferResult = _structure(
    "_BufferResult", ("buffer", c_uint32), ("comparison", c_uint32), ("by_hash", c_uint32), ("size_bytes", c_uint64),
    ("first_difference", c_uint64), ("differing_bytes", c_uint64), ("expected", c_uint32), ("got", c_uint32))
_Verification = _structure(
    "_Verification", ("identical", c_uint32), ("different", c_uint32), ("uncompared", c_uint32),
    ("copies_identical", c_uint32), ("copies_different", c_uint32), ("copies_uncompared", c_uint32),
    ("reserved", c_uint32))

_HANDLE = c_void_p
# Every function that this module calls, with what it takes; each gives a status, unless said otherwise.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "trace_open": (c_char_p, POINTER(_TraceOptions), POINTER(_HANDLE)),
    "trace_open_descriptor": (ctypes.c_int, POINTER(_TraceOptions), POINTER(_HANDLE)),
    "trace_environment": (_HANDLE, POINTER(_Environment)),
    "trace_buffer": (_HANDLE, c_uint32, POINTER(_BufferInfo)),
    "trace_range": (_HANDLE, c_uint32, POINTER(_RangeInfo)),
    "trace_find_range": (_HANDLE, c_char_p, POINTER(c_uint32)),
    "trace_find_buffer": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "trace_parameter_count": (_HANDLE, c_uint32, POINTER(c_uint32)),
    "trace_parameter": (_HANDLE, c_uint32, c_uint32, POINTER(_ParameterInfo)),
    "trace_find_parameter": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "trace_input_count": (_HANDLE, c_uint32, POINTER(c_uint32)),
    "trace_input": (_HANDLE, c_uint32, c_uint32, POINTER(_TransferInfo)),
    "trace_find_input": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "trace_output_count": (_HANDLE, c_uint32, POINTER(c_uint32)),
    "trace_output": (_HANDLE, c_uint32, c_uint32, POINTER(_TransferInfo)),
    "trace_find_output": (_HANDLE, c_uint32, c_char_p, POINTER(c_uint32)),
    "session_create": (_HANDLE, POINTER(_SessionOptions), POINTER(_HANDLE)),
    "session_bind": (_HANDLE, c_uint32, c_void_p, c_uint64, c_uint32),
    "session_load": (_HANDLE,),
    "session_read": (_HANDLE, c_uint32, c_uint64, c_void_p, c_uint64),
    "session_write": (_HANDLE, c_uint32, c_uint64, c_void_p, c_uint64),
    "session_address": (_HANDLE, c_uint32, POINTER(c_void_p)),
    "session_info": (_HANDLE, POINTER(_SessionInfo)),
    "step_create": (_HANDLE, c_uint32, POINTER(_StepOptions), POINTER(_HANDLE)),
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
    "step_verify": (_HANDLE, POINTER(_Verification), POINTER(_BufferResult), c_uint32, c_uint32),
    "step_info": (_HANDLE, POINTER(_StepInfo)),
}
_DESTROYS = ("trace_destroy", "session_destroy", "step_destroy")
_DEFAULTS = {"trace_options_default": _TraceOptions, "session_options_default": _SessionOptions,
             "step_options_default": _StepOptions}


def _find() -> str:
    name = "libgfxgraph.so.0.2"
    if os.environ.get("GFXGRAPH_LIBRARY"):
        return os.environ["GFXGRAPH_LIBRARY"]
    prefix = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))
    multiarch = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
    for folder in (os.path.join("lib", multiarch), "lib", "lib64"):
        path = os.path.join(prefix, folder, name)
        if os.path.exists(path):
            return path
    return name


def _open() -> ctypes.CDLL:
    path = _find()
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"gfxgraph: {path} cannot be loaded ({error}); set GFXGRAPH_LIBRARY to the path of "
                          "libgfxgraph.so.0.2") from error


def _load() -> ctypes.CDLL:
    library = _open()
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, "gfxgraph_" + name)
        function.argtypes, function.restype = arguments, c_int32
    for name in _DESTROYS:
        function = getattr(library, "gfxgraph_" + name)
        function.argtypes, function.restype = (_HANDLE,), None
    for name, structure in _DEFAULTS.items():
        function = getattr(library, "gfxgraph_" + name)
        function.argtypes, function.restype = (), structure
    for name in ("last_error", "version"):
        getattr(library, "gfxgraph_" + name).restype = c_char_p
    library.gfxgraph_status_name.argtypes, library.gfxgraph_status_name.restype = (c_int32,), c_char_p
    library.gfxgraph_last_hip_error.restype = c_int32
    return library


_library = _load()


def _text(name: bytes) -> str:
    """Names come from programs and files: they need not be UTF-8."""
    return name.decode(errors="backslashreplace")


class Error(RuntimeError):
    """A failed call: `status` is a gfxgraph_status_t, `hip_error` a hipError_t or 0."""

    def __init__(self, status: int) -> None:
        name = _library.gfxgraph_status_name(status).decode()
        super().__init__(f"{name}: {_library.gfxgraph_last_error().decode(errors='replace')}")
        self.status = status
        self.hip_error: int = _library.gfxgraph_last_hip_error()


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library, "gfxgraph_" + name)(*arguments)
    if status != 0:
        raise Error(status)


def _describe(name: str, structure: type, *arguments: Any) -> Any:
    description = structure(struct_size=ctypes.sizeof(structure))
    _call(name, *arguments, byref(description))
    return description


def _find(name: str, *arguments: Any) -> int:
    found = c_uint32()
    _call(name, *arguments, byref(found))
    return found.value


def _options(name: str, **values: Any) -> Any:
    options = getattr(_library, f"gfxgraph_{name}_options_default")()
    for field, value in values.items():
        setattr(options, field, value)
    return options


def _read_only(data: Any) -> tuple[Any, int]:
    """The address of the bytes of any object with the buffer protocol, kept alive by the first of both."""
    view = memoryview(data).cast("B")
    if view.readonly:
        kept = ctypes.create_string_buffer(view.tobytes(), max(len(view), 1))
    else:
        kept = (ctypes.c_char * len(view)).from_buffer(view)
    return kept, len(view)


def version() -> str:
    return _library.gfxgraph_version().decode()


class Buffer(NamedTuple):
    id: int
    name: str
    size_bytes: int
    extent_bytes: int  # what memory in its place must hold
    kind: int


class Parameter(NamedTuple):
    index: int
    name: str
    pattern: str  # "step", "swap" or "free"
    step: int
    places: int
    buffer: int  # of the recorded value; 0: a number
    number: int


class Input(NamedTuple):
    index: int
    name: str
    size_bytes: int
    buffer: int
    offset_bytes: int


class Output(Input):
    pass


class Range(NamedTuple):
    """A named stretch of a trace."""

    trace: Trace
    index: int
    name: str
    ordinal: int
    launches: int

    def parameters(self) -> list[Parameter]:
        return [Parameter(i, _text(one.name), _PATTERNS[one.pattern], one.step, one.place_count, one.buffer, one.number)
                for i, one in self._all("parameter", _ParameterInfo)]

    def inputs(self) -> list[Input]:
        return [Input(i, _text(one.name), one.size_bytes, one.buffer, one.offset_bytes)
                for i, one in self._all("input", _TransferInfo)]

    def outputs(self) -> list[Output]:
        return [Output(i, _text(one.name), one.size_bytes, one.buffer, one.offset_bytes)
                for i, one in self._all("output", _TransferInfo)]

    def _all(self, what: str, structure: type) -> Iterator[tuple[int, Any]]:
        for i in range(_find(f"trace_{what}_count", self.trace._handle, self.index)):
            yield i, _describe(f"trace_{what}", structure, self.trace._handle, self.index, i)

    def _index(self, what: str, which: Union[int, str, NamedTuple]) -> int:
        if isinstance(which, str):
            return _find(f"trace_find_{what}", self.trace._handle, self.index, which.encode())
        return which if isinstance(which, int) else which.index  # type: ignore[attr-defined]


class _Owner:
    """A handle that is destroyed with the object, or at the end of a with block."""

    _destroy = ""

    def __init__(self, handle: c_void_p) -> None:
        self._handle = handle

    def close(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), c_void_p()
        if handle:
            getattr(_library, "gfxgraph_" + self._destroy)(handle)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Trace(_Owner):
    """A trace file; `source` is a path or an open descriptor. `pointers`: which words that look like
    addresses are relocated, GFXGRAPH_POINTERS_... of gfxgraph.h."""

    _destroy = "trace_destroy"

    def __init__(self, source: Union[str, os.PathLike[str], int], *, allow_torn: bool = False,
                 allow_incomplete: bool = False, pointers: int = 0, max_operations: int = 0) -> None:
        options = _options("trace", allow_torn=allow_torn, allow_incomplete=allow_incomplete, pointers=pointers,
                           max_operations=max_operations)
        handle = c_void_p()
        if isinstance(source, int):
            _call("trace_open_descriptor", source, byref(options), byref(handle))
        else:
            _call("trace_open", os.fsencode(source), byref(options), byref(handle))
        super().__init__(handle)

    @property
    def gpu_arch(self) -> str:
        return _text(self._environment().gpu_arch)

    @property
    def complete(self) -> bool:
        return bool(self._environment().complete)

    @property
    def launches(self) -> int:
        return self._environment().launch_count

    def ranges(self) -> list[Range]:
        return [self._range(i) for i in range(self._environment().range_count)]

    def range(self, name: str) -> Range:
        """"decode#3", "decode" for the first one of this name, "all"."""
        return self._range(_find("trace_find_range", self._handle, name.encode()))

    def buffers(self) -> list[Buffer]:
        found = []
        for i in range(1, self._environment().buffer_count + 1):
            try:
                found.append(self.buffer(i))
            except Error as error:
                if error.status != _NOT_FOUND:  # an id without a buffer
                    raise
        return found

    def buffer(self, which: Union[int, str, Buffer]) -> Buffer:
        """By id or by name."""
        if isinstance(which, str):
            which = _find("trace_find_buffer", self._handle, _RANGE_ALL, which.encode())
        number = which.id if isinstance(which, Buffer) else which
        info = _describe("trace_buffer", _BufferInfo, self._handle, number)
        return Buffer(number, _text(info.name), info.size_bytes, info.extent_bytes, info.kind)

    def _environment(self) -> Any:
        return _describe("trace_environment", _Environment, self._handle)

    def _range(self, index: int) -> Range:
        info = _describe("trace_range", _RangeInfo, self._handle, index)
        return Range(self, index, _text(info.name), info.ordinal, info.launches)


class Session(_Owner):
    """A trace on a HIP device: modules and memory once, for all of its steps.

    `log`, if given, is called with a level (0 information, 1 warning) and a line. `memory`: "packed" gives buffers whose
    lives cannot meet the same memory, "kept" keeps what they held for verification, "apart" does neither.
    """

    _destroy = "session_destroy"

    def __init__(self, trace: Trace, *, device: int = -1, shift: bool = False, keep_ambiguous: bool = False,
                 zero_unknown: bool = False, poison_fresh: bool = False, concurrent_steps: bool = False,
                 max_load_seconds: int = 0, max_memory_bytes: int = 0, memory: str = "packed",
                 log: Optional[Callable[[int, str], None]] = None) -> None:
        self.trace = trace
        self._log = _LOG() if log is None else _LOG(lambda _, level, text: log(level, text.decode(errors="replace")))
        options = _options("session", layout=int(shift), device=device, keep_ambiguous=keep_ambiguous,
                           zero_unknown=zero_unknown, poison_fresh=poison_fresh, concurrent_steps=concurrent_steps,
                           max_load_seconds=max_load_seconds, max_memory_bytes=max_memory_bytes, log=self._log,
                           memory=_MEMORY.index(memory))
        handle = c_void_p()
        _call("session_create", trace._handle, byref(options), byref(handle))
        super().__init__(handle)

    def bind(self, buffer: Union[int, str, Buffer], address: int, size_bytes: int, *, fill: bool = False) -> None:
        """Memory of the caller in place of a buffer; it must exist as long as the session and its steps."""
        _call("session_bind", self._handle, self._id(buffer), address, size_bytes, _BIND_FILL if fill else 0)

    def load(self) -> None:
        _call("session_load", self._handle)

    def read(self, buffer: Union[int, str, Buffer], offset_bytes: int = 0, size_bytes: Optional[int] = None) -> bytes:
        found = self.trace.buffer(buffer)
        size = found.size_bytes - offset_bytes if size_bytes is None else size_bytes
        data = ctypes.create_string_buffer(max(size, 1))
        _call("session_read", self._handle, found.id, offset_bytes, data, size)
        return data.raw[:size]

    def write(self, buffer: Union[int, str, Buffer], data: Any, offset_bytes: int = 0) -> None:
        kept, size = _read_only(data)
        _call("session_write", self._handle, self._id(buffer), offset_bytes, kept, size)

    def address(self, buffer: Union[int, str, Buffer]) -> int:
        found = c_void_p()
        _call("session_address", self._handle, self._id(buffer), byref(found))
        return found.value or 0

    @property
    def device_name(self) -> str:
        return _text(self._info().device_name)

    @property
    def memory_bytes_apart(self) -> int:
        """Device memory that it would need with each buffer apart."""
        return self._info().device_bytes_apart

    @property
    def memory_bytes(self) -> tuple[int, int]:
        """Device and host memory that it needs, before it is loaded too."""
        info = self._info()
        return info.device_bytes, info.host_bytes

    def step(self, range: Union[Range, str] = "all", mode: str = "auto", *, keep_memory: bool = False,
             graph_max_nodes: int = 0, graph_linear: bool = False) -> Step:
        return Step(self, range, mode, keep_memory=keep_memory, graph_max_nodes=graph_max_nodes,
                    graph_linear=graph_linear)

    def _info(self) -> Any:
        return _describe("session_info", _SessionInfo, self._handle)

    def _id(self, buffer: Union[int, str, Buffer]) -> int:
        return self.trace.buffer(buffer).id if isinstance(buffer, str) else getattr(buffer, "id", buffer)


class BufferResult(NamedTuple):
    buffer: int
    comparison: str  # "identical", "different", "uncompared"
    size_bytes: int
    first_difference: int
    differing_bytes: int


class Verification(NamedTuple):
    identical: int
    different: int
    uncompared: int
    copies_identical: int
    copies_different: int
    copies_uncompared: int
    buffers: list[BufferResult]

    def __bool__(self) -> bool:
        return self.different == 0 and self.copies_different == 0


class Step(_Owner):
    """A range of a session's trace, prepared in one mode; runs as often as wanted.

    `stream` of run() is a hipStream_t as an integer; without one the step runs on a stream of its own.
    """

    _destroy = "step_destroy"

    def __init__(self, session: Session, range: Union[Range, str] = "all", mode: str = "auto", *,
                 keep_memory: bool = False, graph_max_nodes: int = 0, graph_linear: bool = False) -> None:
        self.session = session
        self.range = session.trace.range(range) if isinstance(range, str) else range
        options = _options("step", mode=MODES.index(mode), keep_memory=keep_memory, graph_max_nodes=graph_max_nodes,
                           graph_linear=graph_linear)
        self._outputs: dict[int, Any] = {}  # memory that runs write to
        handle = c_void_p()
        _call("step_create", session._handle, self.range.index, byref(options), byref(handle))
        super().__init__(handle)
        own = c_void_p()
        _call("step_stream", self._handle, byref(own))
        self._own_stream = own

    def run(self, stream: Optional[int] = None) -> None:
        _call("step_run", self._handle, self._own_stream if stream is None else stream)

    def run_unfenced(self, stream: Optional[int] = None) -> None:
        """Mode packets: neither behind the stream's work nor before what it gets afterwards; wait() orders both."""
        _call("step_run_unfenced", self._handle, self._own_stream if stream is None else stream)

    def is_complete(self) -> bool:
        status = _library.gfxgraph_step_query(self._handle)
        if status not in (0, _NOT_READY):
            raise Error(status)
        return status == 0

    def wait(self) -> None:
        _call("step_wait", self._handle)

    def restore(self) -> None:
        _call("step_restore", self._handle)

    def commit(self) -> None:
        _call("step_commit", self._handle)

    def advance(self, iterations: int) -> None:
        _call("step_advance", self._handle, iterations)

    def set_parameter(self, which: Union[int, str, Parameter], number: int,
                      buffer: Union[int, str, Buffer, None] = None) -> None:
        """A number, or with `buffer` the address of that byte of it."""
        index = self.range._index("parameter", which)
        if buffer is None:
            _call("step_set_parameter", self._handle, index, number)
        else:
            _call("step_set_parameter_address", self._handle, index, self.session._id(buffer), number)

    def set_argument(self, launch: int, offset_bytes: int, data: Any) -> None:
        kept, size = _read_only(data)
        _call("step_set_argument", self._handle, launch, offset_bytes, kept, size)

    def set_grid(self, launch: int, x: int, y: int = 1, z: int = 1) -> None:
        _call("step_set_grid", self._handle, launch, x, y, z)

    def set_input(self, which: Union[int, str, Input], data: Any) -> None:
        kept, size = _read_only(data)
        _call("step_set_input", self._handle, self.range._index("input", which), kept, size)

    def set_output(self, which: Union[int, str, Output], data: Any) -> None:
        """A writable object that each run fills; None: the library's memory again."""
        index = self.range._index("output", which)
        if data is None:
            _call("step_set_output", self._handle, index, None, 0)
            self._outputs.pop(index, None)
            return
        view = memoryview(data).cast("B")
        kept = (ctypes.c_char * len(view)).from_buffer(view)
        _call("step_set_output", self._handle, index, kept, len(view))
        self._outputs[index] = kept

    def read_output(self, which: Union[int, str, Output]) -> bytes:
        index = self.range._index("output", which)
        size = _describe("trace_output", _TransferInfo, self.range.trace._handle, self.range.index, index).size_bytes
        data = ctypes.create_string_buffer(size)
        _call("step_read_output", self._handle, index, data, size)
        return data.raw

    def verify(self) -> Verification:
        capacity = len(self.session.trace.buffers())
        results = (_BufferResult * max(capacity, 1))()
        sums = _Verification(struct_size=ctypes.sizeof(_Verification))
        status = _library.gfxgraph_step_verify(self._handle, byref(sums), results, capacity, ctypes.sizeof(_BufferResult))
        if status not in (0, _MISMATCH):
            raise Error(status)
        buffers = [BufferResult(one.buffer, _COMPARISONS[one.comparison], one.size_bytes, one.first_difference,
                                one.differing_bytes) for one in results if one.struct_size != 0]
        return Verification(sums.identical, sums.different, sums.uncompared, sums.copies_identical, sums.copies_different,
                            sums.copies_uncompared, buffers)

    @property
    def mode(self) -> str:
        return MODES[self._info().mode]

    @property
    def mode_reason(self) -> str:
        return _text(self._info().mode_reason)

    @property
    def launches(self) -> int:
        return self._info().launches

    def _info(self) -> Any:
        return _describe("step_info", _StepInfo, self._handle)
