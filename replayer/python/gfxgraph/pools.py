"""Captured steps by size: buckets, decode pools, safety and statistics (gfxgraph/production.h, decode.h, safety.h).

    def work(call):                                  # submits the work for call.size rows
        add_sums(call["in"], call["out"], call.size, call.stream)

    tensors = [gfxgraph.Tensor("in", "<f4", (256,), "input"), gfxgraph.Tensor("out", "<f4", (), "output")]
    pool = gfxgraph.Pool([8, 32], tensors, work)
    pool.run([x, y], stream)                         # any number of rows up to 32; asynchronous, as a launch
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_int32, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _library as lib
from . import _production as native
from . import arrays
from .borders import Border, Guard, border_of

__all__ = ["Baked", "Call", "DecodePool", "Fall", "Latency", "Pool", "PoolResult", "PoolStatistics", "State", "Tensor",
           "WayFigures"]

_FLOATS = {"f2": "f16", "f4": "f32", "f8": "f64"}
_USES = {"input": native.INPUT, "output": native.OUTPUT, "both": native.INPUT | native.OUTPUT}


class Tensor(NamedTuple):
    """One argument of the work: rows without gaps, as many as the size of the run.

    `typestr` is the type of an element as NumPy writes it ("<f4"), `shape` that of one row, `use` "input", "output" or "both" in
    one buffer. `type` says what validation compares: by default what typestr says, "bytes" for integers; "bf16" must be named.
    """

    name: str
    typestr: str
    shape: tuple[int, ...] = ()
    use: str = "input"
    type: Optional[str] = None

    @property
    def row_bytes(self) -> int:
        return int(self.typestr[2:]) * math.prod(self.shape)

    def _info(self) -> Any:
        if self.use not in _USES:
            raise ValueError(f"tensor {self.name!r}: use {self.use!r} is none of {', '.join(_USES)}")
        kind = self.type or _FLOATS.get(self.typestr[1:], "bytes")
        return native.TensorInfo(self.name.encode(), self.row_bytes, _USES[self.use], native.number(native.TYPES, kind, "type"))

    def _address(self, value: Any, size: int) -> int:
        """Of memory with `size` rows: a device array, which is checked, or an address."""
        if isinstance(value, int):
            return value
        memory = arrays.device_memory(value)
        expected = (size, *self.shape)
        known = memory.typestr[1] != "V" and self.typestr[1] != "V"
        if (known and memory.typestr[1:] != self.typestr[1:]) or memory.size_bytes != size * self.row_bytes or (
                known and memory.shape != expected):
            raise ValueError(f"tensor {self.name!r}: {type(value).__name__} of shape {memory.shape} and type {memory.typestr}; a "
                             f"run of {size} rows needs shape {expected} and type {self.typestr}")
        if memory.readonly and self.use != "input":
            raise ValueError(f"tensor {self.name!r}: {type(value).__name__} is read-only, and runs write to it")
        return memory.address


class State(NamedTuple):
    """Device memory beside the tensors that the work changes from run to run: a device array, which the pool keeps."""

    name: str
    memory: Any
    type: Optional[str] = None

    def _info(self) -> Any:
        found = arrays.device_memory(self.memory)
        kind = self.type or _FLOATS.get(found.typestr[1:], "bytes")
        return native.StateInfo(self.name.encode(), found.address, found.size_bytes, native.number(native.TYPES, kind, "type"), 0)


class Call:
    """What the work is called with, valid during the call: `size` rows, padding included; `stream`, a hipStream_t as an integer;
    `captured`, whether the call becomes a step; and the bucket's memory by the tensors' names, `call["x"]`.

    Of a decode pool also `max_length` of the bucket, and the addresses `lengths` (int32[size]) and `block_table`
    (int32[size][max_blocks]) in device memory.
    """

    def __init__(self, given: Any, tensors: Sequence[Tensor] = ()) -> None:
        self.size: int = given.size
        self.stream: int = given.hip_stream or 0
        self.captured = bool(given.captured)
        self.max_length: int = given.max_length
        self.lengths: int = given.lengths or 0
        self.block_table: int = given.block_table or 0
        self.tensors = {tensor.name: arrays.DeviceArray(given.memory[n] or 0, (self.size, *tensor.shape), tensor.typestr, None)
                        for n, tensor in enumerate(tensors)}

    def __getitem__(self, name: str) -> arrays.DeviceArray:
        return self.tensors[name]


class Function(Guard):
    """A function of the caller as the library calls it."""

    def __init__(self, function: Callable[[Call], object], tensors: Sequence[Tensor] = ()) -> None:
        super().__init__()
        self._function, self._tensors = function, tuple(tensors)
        self.native = native.WORK(lambda _, call: self.guarded(lambda: self._function(Call(call.contents, self._tensors))))


class Latency(NamedTuple):
    """Microseconds; percentiles are at most 6.25 % above the true ones."""

    runs: int
    sum_us: float
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float


def latency(given: Any) -> Latency:
    return Latency(given.count, given.sum_us, given.p50_us, given.p90_us, given.p99_us, given.max_us)


def by_name(names: tuple[str, ...], values: Any) -> dict[str, int]:
    return {name: int(values[n]) for n, name in enumerate(names)}


class WayFigures(NamedTuple):
    """Medians of a measured way."""

    runs: int
    submit_us: float
    end_to_end_us: float


class PoolResult(NamedTuple):
    """How a run went: by which way ("graph", "batch", "eager", "work", "capture", "packets"), in the bucket of which number and
    size (None, 0: beyond the largest), why not by the first way ("none": it was), and what validation found."""

    way: str
    bucket: Optional[int]
    bucket_size: int
    fall: str
    validation: str


class Fall(NamedTuple):
    """A way that a bucket gave up, and why. `bucket` None: runs beyond the largest one."""

    bucket: Optional[int]
    bucket_size: int
    way: str
    next_way: str
    fall: str
    text: str


class PoolStatistics(NamedTuple):
    """Of a bucket or a pool; gfxgraph_bucket_info_t has the meaning of each. `runs`, `falls` and `validations` by name."""

    way: str
    size: int
    device_bytes: int
    runs: dict[str, int]
    falls: dict[str, int]
    captures: int
    work_failures: int
    failures: int
    rows: int
    padded_rows: int
    padded_bytes: int
    validations: dict[str, int]
    untimed: int
    submit: Latency
    end_to_end: Latency
    choice: str
    figures: dict[str, WayFigures]
    max_length: int


class Baked(NamedTuple):
    """What a capture of the work bakes in: differs between two captures. `text` has all of it, and what to do."""

    kind: str
    work: int
    argument: Optional[int]
    offset_bytes: int
    size_bytes: int
    first: int
    second: int
    place: str
    text: str


class Pool(lib.Owner):
    """Captured steps in buckets of `sizes` rows. A run of n rows takes the smallest bucket that is large enough: inputs are
    copied into its buffers and padded with zeros, its step runs, and the rows of the run are copied to the caller's outputs, all
    on the stream; nothing waits for the device. The caller's memory belongs to a run until the stream has done its work.

    `work(call)` submits the work for call.size rows to call.stream over call["name"]. It is called to capture a bucket, and for
    each run only where there is no step of it; an exception comes out of the run. Without gfxgraph's hooks in the process
    (`gfxgraph run --capture-api`) every run goes by it, and is counted so.

    first_way, choose ("first", "measured"): which way is taken. beyond: "refuse" or "work" for more rows than the largest bucket
    has. max_device_bytes, max_device_share (0.8: of the device's memory): caps that a bucket is checked against before it is
    allocated. validate_every: every n-th run is compared with the work, numbers by `tolerance` ({"f32": 1e-5}). safety: "off",
    "identity", "fingerprint", "shadow", "strict". on_fall: called with a Fall when a way is given up. border(border, call): does
    what the work's host does where it waits, reads what the device computed or has a function called, at each gfxgraph.Border of
    a step; all work before it has ended, and what it raises comes out of the run. Without it such work goes by `work`
    ("prepare"). Any thread may use a pool. Errors: gfxgraph.Error, as gfxgraph/production.h has them.
    """

    _destroy = "pool_destroy"

    def __init__(self, sizes: Sequence[int], tensors: Sequence[Tensor], work: Callable[[Call], object], *, name: str = "pool",
                 first_way: str = "graph", choose: str = "first", beyond: str = "refuse", validate_every: int = 0,
                 tolerance: Optional[Mapping[str, float]] = None, states: Sequence[State] = (), max_device_bytes: int = 0,
                 max_device_share: float = 0, capture_seconds: float = 10, measure_ways: Sequence[str] = (),
                 measure_runs: int = 0, warm_measures: bool = False,
                 safety: str = "off", digest: bool = False, fingerprint: Optional[str] = None,
                 on_fall: Optional[Callable[[Fall], None]] = None,
                 border: Optional[Callable[[Border, Call], object]] = None) -> None:
        self.tensors = tuple(tensors)
        if len({tensor.name for tensor in self.tensors}) != len(self.tensors):
            raise ValueError("two tensors have one name")
        self.sizes = tuple(sizes)
        self._function = Function(work, self.tensors)
        self._fell = native.FELL() if on_fall is None else native.FELL(lambda _, fall: on_fall(_fall(fall.contents)))
        self._border = native.BORDER() if border is None else native.BORDER(
            lambda _, at, call: self._function.guarded(
                lambda: border(border_of(at.contents), Call(call.contents, self.tensors))))
        self._states = tuple(states)
        options = native.defaults(
            "pool_options", size_count=len(self.sizes), sizes=(c_uint64 * max(len(self.sizes), 1))(*self.sizes),
            tensors=_infos(native.TensorInfo, self.tensors), tensor_count=len(self.tensors),
            first_way=native.number(native.WAYS, first_way, "first_way"), work=self._function.native, fell=self._fell,
            name=name.encode(), beyond=native.number(("refuse", "work"), beyond, "beyond"), validate_every=validate_every,
            max_device_bytes=max_device_bytes, capture_milliseconds=int(capture_seconds * 1000), state_count=len(self._states),
            states=_infos(native.StateInfo, self._states), choose=native.number(("first", "measured"), choose, "choose"),
            measure_ways=sum(1 << native.number(native.WAYS, way, "way") for way in set(measure_ways)), measure_runs=measure_runs,
            warm_measures=warm_measures, max_device_share=max_device_share,
            safety=native.number(native.SAFETIES, safety, "safety"), digest=digest, fingerprint=native.optional(fingerprint),
            border=self._border)
        for kind, value in (tolerance or {}).items():
            options.tolerance[native.number(native.TYPES, kind, "type")] = value
        handle = c_void_p()
        self._create(options, handle)
        super().__init__(handle)

    def _create(self, options: Any, handle: c_void_p) -> None:
        lib.call("pool_create", byref(options), byref(handle))

    def warm(self, stream: Any = None) -> None:
        """Captures every bucket that has no step yet: the work is done once for each, over zeros."""
        self._function.check(lib.library.gfxgraph_pool_warm(self._handle, arrays.stream_handle(stream)))

    def run(self, memory: Union[Sequence[Any], Mapping[str, Any]], stream: Any = None, *, size: Optional[int] = None,
            timed: bool = False) -> PoolResult:
        """One run behind what the stream holds; asynchronous in the ways graph and batch. `memory`: a device array of `size`
        rows, or an address, for each tensor, in their order or by name. Without `size` the first array has the number of rows.
        `timed`: measures the time end to end, with two events."""
        size, places = self._memory(memory, size)
        run = native.defaults("pool_run", timed=timed, size=size, memory=places, hip_stream=arrays.stream_handle(stream))
        return self._finish("pool_run", run)

    def _finish(self, name: str, run: Any) -> PoolResult:
        result = native.PoolResult(struct_size=ctypes.sizeof(native.PoolResult))
        self._function.check(getattr(lib.library, "gfxgraph_" + name)(self._handle, byref(run), byref(result)))
        beyond = result.bucket == native.BUCKET_BEYOND
        return PoolResult(native.WAYS[result.way], None if beyond else result.bucket, result.bucket_size,
                          native.FALLS[result.fall], native.VALIDATIONS[result.validation])

    def _memory(self, memory: Union[Sequence[Any], Mapping[str, Any]], size: Optional[int]) -> tuple[int, Any]:
        return memory_of(self.tensors, memory, size)

    def recapture(self, bucket: int) -> None:
        """Gives up what the bucket has captured; its next run begins anew. Waits for its runs."""
        lib.call("pool_recapture", self._handle, bucket)

    def statistics(self, bucket: Optional[int] = None, *, beyond: bool = False) -> PoolStatistics:
        """Of a bucket by its number, of runs beyond the largest, or of all. Any thread, waits for no run."""
        number = native.BUCKET_BEYOND if beyond else native.BUCKET_ALL if bucket is None else bucket
        info = lib.describe("pool_info", native.BucketInfo, self._handle, number)
        figures = {way: WayFigures(info.figures[n].runs, info.figures[n].submit_us, info.figures[n].end_to_end_us)
                   for n, way in enumerate(native.WAYS) if info.figures[n].runs != 0}
        return PoolStatistics(
            native.WAYS[info.way], info.size, info.device_bytes, by_name(native.WAYS, info.runs),
            by_name(native.FALLS, info.falls), info.captures, info.work_failures, info.failures, info.rows, info.padded_rows,
            info.padded_bytes, by_name(native.VALIDATIONS, info.validations), info.untimed, latency(info.submit),
            latency(info.end_to_end), native.CHOICES[info.choice], figures, info.max_length)

    def reason(self, bucket: int, way: str) -> str:
        """Why the bucket gave up the way, or the measurement that it lost; "" if it did not."""
        return native.text_of("pool_reason", self._handle, bucket, native.number(native.WAYS, way, "way"))

    def metrics(self) -> str:
        """The statistics as OpenMetrics text; gfxgraph.metrics() has those of several."""
        return native.text_of("pool_metrics", native.handles([self]), 1)

    def fingerprint(self) -> str:
        """Device, runtime, code and sequences as a text that later pools compare: Pool(safety="fingerprint", fingerprint=...)."""
        return native.text_of("pool_fingerprint", self._handle)

    def report(self) -> dict[str, Any]:
        """What ran, as docs/schemas/pool.json describes it: runs, falls, validations, hashes, and whether all of it is clean."""
        return dict(json.loads(native.text_of("pool_report", self._handle)))

    def lint(self, bucket: int, vary: Optional[Callable[[int, Call], object]] = None, stream: Any = None, *,
             most: int = 64) -> list[Baked]:
        """Captures the work of a bucket twice and compares both word by word: what differs is baked in, and wrong in a step.
        `vary(which, call)` makes the program's values differ before capture 0 and 1. At most `most` findings. The work is done
        twice; waits for the stream."""
        function = self._function
        kept = native.VARY() if vary is None else native.VARY(
            lambda _, which, call: function.guarded(lambda: vary(which, Call(call.contents, self.tensors))))
        lint = native.defaults("lint", bucket=bucket, hip_stream=arrays.stream_handle(stream), vary=kept)
        found, count = (native.BakedInfo * most)(), c_uint32()
        status = lib.library.gfxgraph_pool_lint(self._handle, byref(lint), found, most, ctypes.sizeof(native.BakedInfo),
                                                byref(count))
        function.check(0 if status == lib.MISMATCH and count.value != 0 else status)
        return [Baked(native.BAKED[one.kind], one.work, None if one.argument == native.NONE else one.argument, one.offset_bytes,
                      one.size_bytes, one.first, one.second, lib.text(one.place), lib.text(one.text))
                for one in found[: min(count.value, most)]]


class DecodePool(Pool):
    """A pool of decode steps: buckets by batch and, with `max_lengths`, by the longest sequence; the length of each sequence and
    the table of its cache blocks stand at fixed addresses, call.lengths and call.block_table, where kernels read them. Rows of
    padding have the length 0.

    max_blocks: of one sequence, the columns of the table. block_tokens: lengths from the host beyond max_blocks * block_tokens
    are refused; 0: not checked.
    """

    def __init__(self, sizes: Sequence[int], tensors: Sequence[Tensor], work: Callable[[Call], object], *, max_blocks: int,
                 block_tokens: int = 0, max_lengths: Sequence[int] = (), **options: Any) -> None:
        lengths = (c_uint64 * max(len(max_lengths), 1))(*max_lengths)
        self._decode = native.defaults("decode_options", max_blocks=max_blocks, block_tokens=block_tokens,
                                       max_length_count=len(max_lengths), max_lengths=lengths if max_lengths else None)
        super().__init__(sizes, tensors, work, **options)

    def _create(self, options: Any, handle: c_void_p) -> None:
        lib.call("decode_pool_create", byref(options), byref(self._decode), byref(handle))

    def run(self, memory: Union[Sequence[Any], Mapping[str, Any]], stream: Any = None, *, size: Optional[int] = None,
            timed: bool = False) -> PoolResult:
        """Refused: a run of a decode pool needs lengths and blocks. See decode()."""
        raise TypeError("a decode pool runs by decode(memory, lengths, block_table, stream)")

    def decode(self, memory: Union[Sequence[Any], Mapping[str, Any]], lengths: Any, block_table: Any, stream: Any = None, *,
               max_length: int = 0, timed: bool = False) -> PoolResult:
        """One step for the sequences of `lengths`. Lengths and block table are both of the host (lists, NumPy int32), checked and
        free when this returns; or both device arrays of int32, which are not checked and belong to the run. `max_length`: at
        least the longest sequence; needed with device arrays and max_lengths."""
        on_device = arrays.is_device_array(lengths)
        if on_device != arrays.is_device_array(block_table):
            raise TypeError("lengths and block_table are both of the host or both in device memory")
        (batch,), length_data = _integers(lengths, 1, "lengths", on_device)
        (rows, columns), table_data = _integers(block_table, 2, "block_table", on_device)
        if rows != batch:
            raise ValueError(f"block_table has {rows} rows and lengths {batch} sequences")
        _, places = self._memory(memory, batch)
        run = native.defaults(
            "decode_run", timed=timed, batch=batch, memory=places if self.tensors else None,
            hip_stream=arrays.stream_handle(stream), lengths=_pointer(length_data), block_table=_pointer(table_data),
            block_columns=columns, on_device=on_device, max_length=max_length)
        return self._finish("decode_run", run)


def memory_of(tensors: Sequence[Tensor], memory: Union[Sequence[Any], Mapping[str, Any]],
              size: Optional[int]) -> tuple[int, Any]:
    """The rows of a run, and the addresses of its tensors."""
    if isinstance(memory, Mapping):
        unknown = set(memory) ^ {tensor.name for tensor in tensors}
        if unknown:
            raise ValueError(f"tensors that are missing or unknown: {', '.join(sorted(unknown))}")
        memory = [memory[tensor.name] for tensor in tensors]
    if len(memory) != len(tensors):
        raise ValueError(f"{len(memory)} places for {len(tensors)} tensors ({', '.join(tensor.name for tensor in tensors)})")
    if size is None:
        shapes = [arrays.device_memory(one).shape for one in memory if not isinstance(one, int)]
        if not shapes or not shapes[0]:
            raise TypeError("addresses need a size in rows")
        size = shapes[0][0]
    return size, native.pointers([tensor._address(one, size) for tensor, one in zip(tensors, memory)])


def _infos(structure: Any, values: Sequence[Any]) -> Any:
    return (structure * max(len(values), 1))(*(value._info() for value in values))


def _fall(given: Any) -> Fall:
    bucket = None if given.bucket == native.BUCKET_BEYOND else given.bucket
    return Fall(bucket, given.bucket_size, native.WAYS[given.way], native.WAYS[given.next_way], native.FALLS[given.fall],
                lib.text(given.text))


def _flat(values: Any) -> Iterator[int]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        elif -(1 << 31) <= int(value) < 1 << 31:
            yield int(value)
        else:
            raise ValueError(f"{value} is no int32")


def _integers(values: Any, dimensions: int, what: str, on_device: bool) -> tuple[tuple[int, ...], Any]:
    """The shape of int32 values, and their address or memory."""
    data: Any
    shape: tuple[int, ...]
    if on_device:
        memory = arrays.device_memory(values)
        shape, kind, data = memory.shape, memory.typestr[1:], memory.address
    elif isinstance(values, (list, tuple)):
        columns = len(values[0]) if dimensions == 2 and values else 0
        shape = (len(values),) if dimensions == 1 else (len(values), columns)
        if dimensions == 2 and any(len(row) != columns for row in values):
            raise ValueError(f"{what}: rows of different lengths")
        kind, data = "i4", (c_int32 * max(math.prod(shape), 1))(*_flat(values))
    else:
        view = memoryview(values)
        shape, kind = tuple(view.shape or ()), f"{'i' if view.format in ('i', '<i', '=i', 'l') else '?'}{view.itemsize}"
        data = arrays.read_only(values)[0]
    if kind != "i4" or len(shape) != dimensions:
        raise ValueError(f"{what}: {type(values).__name__} of shape {shape}; int32 in {dimensions} dimension(s) is needed")
    return shape, data


def _pointer(data: Any) -> Any:
    return data if isinstance(data, int) else ctypes.cast(data, c_void_p)
