"""Sessions and steps: a trace on a HIP device, and what runs of it."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _library as lib
from . import arrays
from .borders import Border, Guard, border_of
from .trace import Buffer, Input, Output, Parameter, Range, Trace

MODES = ("eager", "batch", "graph", "auto", "packets")
_MEMORY = ("packed", "apart", "kept")
_COMPARISONS = ("identical", "different", "uncompared")


class Session(lib.Owner):
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
        self._log = lib.LOG() if log is None else lib.LOG(lambda _, level, text: log(level, text.decode(errors="replace")))
        options = lib.options("session", layout=int(shift), device=device, keep_ambiguous=keep_ambiguous,
                           zero_unknown=zero_unknown, poison_fresh=poison_fresh, concurrent_steps=concurrent_steps,
                           max_load_seconds=max_load_seconds, max_memory_bytes=max_memory_bytes, log=self._log,
                           memory=_MEMORY.index(memory))
        self._bound: dict[int, Any] = {}  # what the memory of callers belongs to
        handle = c_void_p()
        lib.call("session_create", trace._handle, byref(options), byref(handle))
        super().__init__(handle)

    def bind(self, buffer: Union[int, str, Buffer], memory: Any, size_bytes: Optional[int] = None, *, fill: bool = False) -> None:
        """Memory of the caller in place of a buffer: a device array, which the session keeps, or an address with its size,
        whose memory must exist as long as the session and its steps. `fill`: with the recorded content."""
        number = self._id(buffer)
        if isinstance(memory, int):
            if size_bytes is None:
                raise TypeError("an address needs size_bytes")
            address, owner = memory, None
        else:
            found = arrays.device_memory(memory)
            if found.readonly:
                raise ValueError(f"{type(memory).__name__} is read-only, and runs may write to it")
            if size_bytes is not None and size_bytes > found.size_bytes:
                raise ValueError(f"{type(memory).__name__} has {found.size_bytes} bytes, fewer than size_bytes {size_bytes}")
            address, owner = found.address, found.owner
            size_bytes = found.size_bytes if size_bytes is None else size_bytes
        lib.call("session_bind", self._handle, number, address, size_bytes, lib.BIND_FILL if fill else 0)
        self._bound[number] = owner

    def array(self, buffer: Union[int, str, Buffer], typestr: str = "|u1",
              shape: Optional[tuple[int, ...]] = None) -> arrays.DeviceArray:
        """The memory of a buffer as a device array that keeps the session; loads it. `typestr` as NumPy writes types: "<f4".
        Without a shape, all of it in one dimension."""
        found = self.trace.buffer(buffer)
        item = int(typestr[2:])
        if shape is None:
            shape = (found.size_bytes // item,)
        made = arrays.DeviceArray(self.address(found), shape, typestr, self, device=self._info().device,
                                  hip_library=self.hip_library)
        if made.size_bytes > found.size_bytes:
            raise ValueError(f"an array of shape {shape} and type {typestr} has {made.size_bytes} bytes, and buffer {found.name} "
                             f"{found.size_bytes}")
        return made

    def load(self) -> None:
        lib.call("session_load", self._handle)

    def read(self, buffer: Union[int, str, Buffer], offset_bytes: int = 0, size_bytes: Optional[int] = None) -> bytes:
        found = self.trace.buffer(buffer)
        size = found.size_bytes - offset_bytes if size_bytes is None else size_bytes
        data = ctypes.create_string_buffer(max(size, 1))
        lib.call("session_read", self._handle, found.id, offset_bytes, data, size)
        return data.raw[:size]

    def write(self, buffer: Union[int, str, Buffer], data: Any, offset_bytes: int = 0) -> None:
        kept, size = arrays.read_only(data)
        lib.call("session_write", self._handle, self._id(buffer), offset_bytes, kept, size)

    def address(self, buffer: Union[int, str, Buffer]) -> int:
        found = c_void_p()
        lib.call("session_address", self._handle, self._id(buffer), byref(found))
        return found.value or 0

    @property
    def hip_library(self) -> str:
        """The path of the HIP runtime that it uses."""
        return lib.text(self._info().hip_library)

    @property
    def device_name(self) -> str:
        return lib.text(self._info().device_name)

    @property
    def memory_bytes_apart(self) -> int:
        """Device memory that it would need with each buffer apart."""
        return int(self._info().device_bytes_apart)

    @property
    def memory_bytes(self) -> tuple[int, int]:
        """Device and host memory that it needs, before it is loaded too."""
        info = self._info()
        return info.device_bytes, info.host_bytes

    def step(self, range: Union[Range, str] = "all", mode: str = "auto", *, keep_memory: bool = False,
             graph_max_nodes: int = 0, graph_linear: bool = False,
             border: Optional[Callable[[Border], object]] = None) -> Step:
        return Step(self, range, mode, keep_memory=keep_memory, graph_max_nodes=graph_max_nodes,
                    graph_linear=graph_linear, border=border)

    def _info(self) -> Any:
        return lib.describe("session_info", lib.SessionInfo, self._handle)

    def _id(self, buffer: Union[int, str, Buffer]) -> int:
        if isinstance(buffer, str):
            buffer = self.trace.buffer(buffer)
        return buffer.id if isinstance(buffer, Buffer) else buffer


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


class Step(lib.Owner):
    """A range of a session's trace, prepared in one mode; runs as often as wanted.

    `stream` of run() is a hipStream_t as an integer, or an object of CuPy, torch or cuda.core; without one the step runs on a
    stream of its own. `border`: of a captured step, does what the program's host did at each gfxgraph.Border; all work before it
    has ended then, and what it raises comes out of run().
    """

    _destroy = "step_destroy"

    def __init__(self, session: Session, range: Union[Range, str] = "all", mode: str = "auto", *,
                 keep_memory: bool = False, graph_max_nodes: int = 0, graph_linear: bool = False,
                 border: Optional[Callable[[Border], object]] = None) -> None:
        self.session = session
        self.range = session.trace.range(range) if isinstance(range, str) else range
        options = lib.options("step", mode=MODES.index(mode), keep_memory=keep_memory, graph_max_nodes=graph_max_nodes,
                           graph_linear=graph_linear)
        self._guard = Guard()
        self._border = lib.BORDER() if border is None else lib.BORDER(
            lambda _, at: self._guard.guarded(lambda: border(border_of(at.contents))))
        options.border = self._border
        self._outputs: dict[int, Any] = {}  # memory that runs write to
        self._pointed_to: dict[tuple[int, int], Any] = {}  # by arguments: launch and offset
        handle = c_void_p()
        lib.call("step_create", session._handle, self.range.index, byref(options), byref(handle))
        super().__init__(handle)
        own = c_void_p()
        lib.call("step_stream", self._handle, byref(own))
        self._own_stream = own

    def run(self, stream: Any = None) -> None:
        """Submits the step, behind the stream's work and before what it gets afterwards, and does not wait. Mode eager waits for
        the stream and runs on streams of its own: wait() orders what follows."""
        self._guard.check(lib.library.gfxgraph_step_run(self._handle, self._stream(stream)))

    def run_unfenced(self, stream: Any = None) -> None:
        """Mode packets: neither behind the stream's work nor before what it gets afterwards; wait() orders both."""
        lib.call("step_run_unfenced", self._handle, self._stream(stream))

    def is_complete(self) -> bool:
        status = lib.library.gfxgraph_step_query(self._handle)
        if status not in (0, lib.NOT_READY):
            raise lib.Error(status)
        return bool(status == 0)

    def wait(self) -> None:
        lib.call("step_wait", self._handle)

    def restore(self) -> None:
        lib.call("step_restore", self._handle)

    def commit(self) -> None:
        lib.call("step_commit", self._handle)

    def advance(self, iterations: int) -> None:
        lib.call("step_advance", self._handle, iterations)

    def set_parameter(self, which: Union[int, str, Parameter], number: Any = 0,
                      buffer: Union[int, str, Buffer, None] = None) -> None:
        """A number, or with `buffer` the address of that byte of it, or an array of Session.array()."""
        index = self.range._index("parameter", which)
        if not isinstance(number, int) and buffer is None:
            number, buffer = self._place_of(number)
        if buffer is None:
            lib.call("step_set_parameter", self._handle, index, number)
        else:
            lib.call("step_set_parameter_address", self._handle, index, self.session._id(buffer), number)

    def set_argument(self, launch: int, offset_bytes: int, data: Any) -> None:
        """Bytes of a launch's arguments; of a device array, its address, and the step keeps the array."""
        if arrays.is_device_array(data):
            memory = arrays.device_memory(data)
            self._pointed_to[launch, offset_bytes] = memory.owner
            data = memory.address.to_bytes(8, "little")
        kept, size = arrays.read_only(data)
        lib.call("step_set_argument", self._handle, launch, offset_bytes, kept, size)

    def set_grid(self, launch: int, x: int, y: int = 1, z: int = 1) -> None:
        lib.call("step_set_grid", self._handle, launch, x, y, z)

    def set_input(self, which: Union[int, str, Input], data: Any) -> None:
        """Exactly the input's bytes, which are copied: of host memory, or of a device array, whose copy to the host waits for
        the work of the null stream."""
        if arrays.is_device_array(data):
            memory = arrays.device_memory(data)
            kept, size = arrays.copy_to_host(self.session.hip_library, memory), memory.size_bytes
        else:
            kept, size = arrays.read_only(data)
        lib.call("step_set_input", self._handle, self.range._index("input", which), kept, size)

    def set_output(self, which: Union[int, str, Output], data: Any) -> None:
        """Writable host memory that each run fills, complete when the run is; None: the library's memory again."""
        index = self.range._index("output", which)
        if data is None:
            lib.call("step_set_output", self._handle, index, None, 0)
            self._outputs.pop(index, None)
            return
        kept, size = arrays.writable(data)
        lib.call("step_set_output", self._handle, index, kept, size)
        self._outputs[index] = kept

    def read_output(self, which: Union[int, str, Output]) -> bytes:
        index = self.range._index("output", which)
        size = lib.describe("trace_output", lib.TransferInfo, self.range.trace._handle, self.range.index, index).size_bytes
        data = ctypes.create_string_buffer(size)
        lib.call("step_read_output", self._handle, index, data, size)
        return data.raw

    def verify(self) -> Verification:
        capacity = len(self.session.trace.buffers())
        results = (lib.BufferResult * max(capacity, 1))()
        sums = lib.Verification(struct_size=ctypes.sizeof(lib.Verification))
        status = lib.library.gfxgraph_step_verify(self._handle, byref(sums), results, capacity, ctypes.sizeof(lib.BufferResult))
        if status not in (0, lib.MISMATCH):
            raise lib.Error(status)
        buffers = [BufferResult(one.buffer, _COMPARISONS[one.comparison], one.size_bytes, one.first_difference,
                                one.differing_bytes) for one in results if one.struct_size != 0]
        return Verification(sums.identical, sums.different, sums.uncompared, sums.copies_identical, sums.copies_different,
                            sums.copies_uncompared, buffers)

    def _stream(self, stream: Any) -> Any:
        return self._own_stream if stream is None else arrays.stream_handle(stream)

    def _place_of(self, value: Any) -> tuple[int, int]:
        """The byte of a buffer at which a device array of the session begins."""
        memory = arrays.device_memory(value)
        if getattr(value, "owner", None) is self.session:
            for buffer in self.session.trace.buffers():
                try:
                    offset = memory.address - self.session.address(buffer)
                except lib.Error:  # it has no address of its own
                    continue
                if 0 <= offset < max(buffer.size_bytes, 1):
                    return offset, buffer.id
        raise ValueError(f"{type(value).__name__} at {memory.address:#x} is in no buffer of the session; Session.array() gives "
                         "arrays that are, Session.bind() uses other memory in place of a buffer, and Step.set_argument() takes "
                         "any")

    @property
    def mode(self) -> str:
        return MODES[self._info().mode]

    @property
    def mode_reason(self) -> str:
        return lib.text(self._info().mode_reason)

    @property
    def launches(self) -> int:
        return int(self._info().launches)

    def _info(self) -> Any:
        return lib.describe("step_info", lib.StepInfo, self._handle)
