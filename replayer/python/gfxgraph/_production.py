"""Structures and functions of gfxgraph/production.h, decode.h, safety.h and flow.h by ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, Optional

from . import _library as lib
from . import arrays
from ._library import _structure

KINDS = 16
BUCKET_BEYOND, BUCKET_ALL, NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF
INPUT, OUTPUT = 1, 2
# By their numbers in the headers.
TYPES = ("bytes", "f16", "bf16", "f32", "f64")
WAYS = ("graph", "batch", "eager", "work", "capture", "packets")
FALLS = ("none", "capture", "prepare", "run", "cap", "allocation", "beyond", "measured", "fingerprint")
VALIDATIONS = ("none", "equal", "different", "uncompared")
SAFETIES = ("off", "identity", "fingerprint", "shadow", "strict")
CHOICES = ("none", "open", "made")
LOOP_ENDS = ("count", "flag", "limit", "failed")
BAKED = ("", "number", "address", "grid", "copy", "fill", "bytes", "sequence")


def _plain(name: str, *fields: tuple[str, Any]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


TensorInfo = _plain("TensorInfo", ("name", c_char_p), ("row_bytes", c_uint64), ("use", c_uint32), ("type", c_uint32))
StateInfo = _plain("StateInfo", ("name", c_char_p), ("memory", c_void_p), ("bytes", c_uint64), ("type", c_uint32),
                   ("reserved", c_uint32))
CallInfo = _structure("CallInfo", ("captured", c_uint32), ("size", c_uint64), ("memory", POINTER(c_void_p)),
                      ("hip_stream", c_void_p), ("max_length", c_uint64), ("lengths", c_void_p), ("block_table", c_void_p))
WORK = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(CallInfo))
BORDER = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(lib.BorderInfo), POINTER(CallInfo))
FallInfo = _structure("FallInfo", ("bucket", c_uint32), ("bucket_size", c_uint64), ("way", c_uint32), ("next_way", c_uint32),
                      ("fall", c_uint32), ("reserved", c_uint32), ("text", c_char_p))
FELL = ctypes.CFUNCTYPE(None, c_void_p, POINTER(FallInfo))
PoolOptions = _structure(
    "PoolOptions", ("size_count", c_uint32), ("sizes", POINTER(c_uint64)), ("tensors", POINTER(TensorInfo)),
    ("tensor_count", c_uint32), ("first_way", c_uint32), ("work", WORK), ("work_context", c_void_p), ("fell", FELL),
    ("fell_context", c_void_p), ("name", c_char_p), ("beyond", c_uint32), ("validate_every", c_uint32),
    ("max_device_bytes", c_uint64), ("capture_milliseconds", c_uint32), ("state_count", c_uint32),
    ("states", POINTER(StateInfo)), ("tolerance", c_double * KINDS), ("choose", c_uint32), ("measure_ways", c_uint32),
    ("measure_runs", c_uint32), ("warm_measures", c_uint32), ("max_device_share", c_double), ("safety", c_uint32),
    ("digest", c_uint32), ("fingerprint", c_char_p), ("border", BORDER), ("border_context", c_void_p))
PoolRun = _structure("PoolRun", ("timed", c_uint32), ("size", c_uint64), ("memory", POINTER(c_void_p)),
                     ("hip_stream", c_void_p))
PoolResult = _structure("PoolResult", ("way", c_uint32), ("bucket", c_uint32), ("fall", c_uint32), ("bucket_size", c_uint64),
                        ("work_status", c_int32), ("validation", c_uint32))
LatencyInfo = _plain("LatencyInfo", ("count", c_uint64), ("sum_us", c_double), ("p50_us", c_double), ("p90_us", c_double),
                     ("p99_us", c_double), ("max_us", c_double))
WayFigures = _plain("WayFigures", ("runs", c_uint64), ("submit_us", c_double), ("end_to_end_us", c_double))
BucketInfo = _structure(
    "BucketInfo", ("way", c_uint32), ("size", c_uint64), ("device_bytes", c_uint64), ("runs", c_uint64 * KINDS),
    ("falls", c_uint64 * KINDS), ("captures", c_uint64), ("work_failures", c_uint64), ("failures", c_uint64),
    ("rows", c_uint64), ("padded_rows", c_uint64), ("padded_bytes", c_uint64), ("validations", c_uint64 * KINDS),
    ("untimed", c_uint64), ("submit", LatencyInfo), ("end_to_end", LatencyInfo), ("choice", c_uint32),
    ("reserved", c_uint32), ("figures", WayFigures * KINDS), ("max_length", c_uint64))
DecodeOptions = _structure("DecodeOptions", ("max_blocks", c_uint32), ("block_tokens", c_uint32),
                           ("max_length_count", c_uint32), ("max_lengths", POINTER(c_uint64)))
DecodeRun = _structure(
    "DecodeRun", ("timed", c_uint32), ("batch", c_uint64), ("memory", POINTER(c_void_p)), ("hip_stream", c_void_p),
    ("lengths", c_void_p), ("block_table", c_void_p), ("block_columns", c_uint32), ("on_device", c_uint32),
    ("max_length", c_uint64))
BakedInfo = _plain("BakedInfo", ("kind", c_uint32), ("argument", c_uint32), ("work", c_uint64), ("offset_bytes", c_uint32),
                   ("size_bytes", c_uint32), ("first", c_int64), ("second", c_int64), ("place", c_char * 160),
                   ("text", c_char * 352))
VARY = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint32, POINTER(CallInfo))
LintOptions = _structure("LintOptions", ("bucket", c_uint32), ("hip_stream", c_void_p), ("vary", VARY),
                         ("vary_context", c_void_p))

CountsInfo = _plain("CountsInfo", ("runs", c_uint64 * KINDS), ("falls", c_uint64 * KINDS), ("captures", c_uint64),
                    ("work_failures", c_uint64), ("failures", c_uint64), ("submit", LatencyInfo))
PieceInfo = _plain("PieceInfo", ("work", WORK), ("work_context", c_void_p), ("step", c_void_p), ("advances", c_uint32),
                   ("first_way", c_uint32))
BranchInfo = _plain("BranchInfo", ("name", c_char_p), ("value", c_int64), ("piece", PieceInfo))
BranchesOptions = _structure(
    "BranchesOptions", ("branch_count", c_uint32), ("branches", POINTER(BranchInfo)), ("default_branch", c_uint32),
    ("capture_milliseconds", c_uint32), ("flag", c_void_p), ("name", c_char_p))
BranchesResult = _structure("BranchesResult", ("branch", c_uint32), ("value", c_int64), ("way", c_uint32), ("fall", c_uint32),
                            ("work_status", c_int32), ("reserved", c_uint32))
BranchesInfo = _structure("BranchesInfo", ("way", c_uint32), ("unknown", c_uint64), ("by_default", c_uint64),
                          ("flag_reads", c_uint64), ("runs", CountsInfo))
LoopOptions = _structure(
    "LoopOptions", ("capture_milliseconds", c_uint32), ("body", PieceInfo), ("flag", c_void_p), ("read_every", c_uint32),
    ("reserved", c_uint32), ("max_iterations", c_uint64), ("name", c_char_p))
LoopResult = _structure("LoopResult", ("end", c_uint32), ("iterations", c_uint64), ("flag_reads", c_uint64), ("flag", c_int32),
                        ("way", c_uint32), ("fall", c_uint32), ("work_status", c_int32))
LoopInfo = _structure("LoopInfo", ("way", c_uint32), ("runs", c_uint64 * KINDS), ("flag_reads", c_uint64),
                      ("iterations", CountsInfo))
PartInfo = _plain("PartInfo", ("step", c_void_p), ("stage", c_uint32), ("advances", c_uint32))
CompositionOptions = _structure("CompositionOptions", ("part_count", c_uint32), ("parts", POINTER(PartInfo)),
                                ("one_graph", c_uint32), ("reserved", c_uint32), ("name", c_char_p))
CompositionInfo = _structure(
    "CompositionInfo", ("one_graph", c_uint32), ("graph_runs", c_uint64), ("ordered_runs", c_uint64), ("failures", c_uint64),
    ("builds", c_uint64), ("nodes", c_uint64), ("submit", LatencyInfo))
PipelineOptions = _structure(
    "PipelineOptions", ("depth", c_uint32), ("rows", c_uint64), ("tensors", POINTER(TensorInfo)), ("tensor_count", c_uint32),
    ("first_way", c_uint32), ("work", WORK), ("work_context", c_void_p), ("max_device_bytes", c_uint64),
    ("capture_milliseconds", c_uint32), ("in_order", c_uint32), ("name", c_char_p))
PipelineRun = _structure("PipelineRun", ("no_wait", c_uint32), ("size", c_uint64), ("memory", POINTER(c_void_p)),
                         ("behind_stream", c_uint32), ("reserved", c_uint32), ("hip_stream", c_void_p))
PipelineResult = _structure("PipelineResult", ("way", c_uint32), ("number", c_uint64), ("fall", c_uint32), ("status", c_int32))
PipelineInfo = _structure(
    "PipelineInfo", ("in_flight", c_uint32), ("most_in_flight", c_uint32), ("untaken", c_uint32), ("device_bytes", c_uint64),
    ("waits", c_uint64), ("refusals", c_uint64), ("device_errors", c_uint64), ("runs", CountsInfo), ("until_seen", LatencyInfo))
FlowInfo = _structure(
    "FlowInfo", ("branches_count", c_uint32), ("branches", POINTER(c_void_p)), ("loops", POINTER(c_void_p)),
    ("compositions", POINTER(c_void_p)), ("pipelines", POINTER(c_void_p)), ("loop_count", c_uint32),
    ("composition_count", c_uint32), ("pipeline_count", c_uint32), ("reserved", c_uint32))

_HANDLE = c_void_p
_TEXT = (c_char_p, c_uint64, POINTER(c_uint64))
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "pool_create": (POINTER(PoolOptions), POINTER(_HANDLE)),
    "pool_warm": (_HANDLE, c_void_p),
    "pool_run": (_HANDLE, POINTER(PoolRun), POINTER(PoolResult)),
    "pool_recapture": (_HANDLE, c_uint32),
    "pool_info": (_HANDLE, c_uint32, POINTER(BucketInfo)),
    "pool_reason": (_HANDLE, c_uint32, c_uint32, *_TEXT),
    "pool_metrics": (POINTER(_HANDLE), c_uint32, *_TEXT),
    "pool_fingerprint": (_HANDLE, *_TEXT),
    "pool_report": (_HANDLE, *_TEXT),
    "pool_lint": (_HANDLE, POINTER(LintOptions), POINTER(BakedInfo), c_uint32, c_uint32, POINTER(c_uint32)),
    "decode_pool_create": (POINTER(PoolOptions), POINTER(DecodeOptions), POINTER(_HANDLE)),
    "decode_run": (_HANDLE, POINTER(DecodeRun), POINTER(PoolResult)),
    "branches_create": (POINTER(BranchesOptions), POINTER(_HANDLE)),
    "branches_run": (_HANDLE, c_int64, c_void_p, POINTER(BranchesResult)),
    "branches_warm": (_HANDLE, c_void_p),
    "branches_recapture": (_HANDLE, c_uint32),
    "branches_info": (_HANDLE, c_uint32, POINTER(BranchesInfo)),
    "branches_reason": (_HANDLE, c_uint32, c_uint32, *_TEXT),
    "loop_create": (POINTER(LoopOptions), POINTER(_HANDLE)),
    "loop_run": (_HANDLE, c_uint64, c_void_p, POINTER(LoopResult)),
    "loop_recapture": (_HANDLE,),
    "loop_info": (_HANDLE, POINTER(LoopInfo)),
    "loop_reason": (_HANDLE, c_uint32, *_TEXT),
    "composition_create": (POINTER(CompositionOptions), POINTER(_HANDLE)),
    "composition_run": (_HANDLE, c_void_p, POINTER(c_uint32)),
    "composition_info": (_HANDLE, POINTER(CompositionInfo)),
    "composition_reason": (_HANDLE, *_TEXT),
    "pipeline_create": (POINTER(PipelineOptions), POINTER(_HANDLE)),
    "pipeline_warm": (_HANDLE,),
    "pipeline_submit": (_HANDLE, POINTER(PipelineRun), POINTER(c_uint64)),
    "pipeline_next": (_HANDLE, POINTER(PipelineResult)),
    "pipeline_info": (_HANDLE, POINTER(PipelineInfo)),
    "pipeline_reason": (_HANDLE, c_uint32, c_uint32, *_TEXT),
    "flow_metrics": (POINTER(FlowInfo), *_TEXT),
}
DESTROYS = ("pool_destroy", "branches_destroy", "loop_destroy", "composition_destroy", "pipeline_destroy")
DEFAULTS = {"pool_options": PoolOptions, "pool_run": PoolRun, "decode_options": DecodeOptions, "decode_run": DecodeRun,
            "lint": LintOptions, "branches_options": BranchesOptions, "loop_options": LoopOptions,
            "composition_options": CompositionOptions, "pipeline_options": PipelineOptions, "pipeline_run": PipelineRun}


def _declare() -> None:
    for name, arguments in FUNCTIONS.items():
        function = getattr(lib.library, "gfxgraph_" + name)
        function.argtypes, function.restype = arguments, c_int32
    for name in DESTROYS:
        function = getattr(lib.library, "gfxgraph_" + name)
        function.argtypes, function.restype = (_HANDLE,), None
    for name, structure in DEFAULTS.items():
        function = getattr(lib.library, f"gfxgraph_{name}_default")
        function.argtypes, function.restype = (), structure


_declare()


def defaults(name: str, /, **values: Any) -> Any:
    made = getattr(lib.library, f"gfxgraph_{name}_default")()
    for field, value in values.items():
        setattr(made, field, value)
    return made


def text_of(name: str, *arguments: Any) -> str:
    """A text that the library writes to memory of the caller; it may grow between two calls."""
    capacity = 4096
    while True:
        memory, size = ctypes.create_string_buffer(capacity), c_uint64()
        status = getattr(lib.library, "gfxgraph_" + name)(*arguments, memory, capacity, byref(size))
        if status == 0:
            return memory.raw[: size.value].decode(errors="backslashreplace")
        if size.value < capacity:
            raise lib.Error(status)
        capacity = size.value + 1024


def pointers(values: list[int]) -> Any:
    return (c_void_p * max(len(values), 1))(*values)


def handles(owners: list[Any]) -> Any:
    return (c_void_p * max(len(owners), 1))(*(one._handle.value for one in owners))


def address_of_flag(flag: Any) -> tuple[int, Any]:
    """Of an int32 that the device reaches: an address, or a device array of that type."""
    if flag is None or isinstance(flag, int):
        return flag or 0, None
    memory = arrays.device_memory(flag)
    if memory.size_bytes < 4 or memory.typestr != "<i4":
        raise ValueError(f"{type(flag).__name__}: a flag is an int32, not {memory.size_bytes} bytes of type {memory.typestr}")
    return memory.address, memory.owner


def number(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise ValueError(f"{what} {name!r}: it is one of {', '.join(one for one in names if one)}")
    return names.index(name)


def optional(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else value.encode()
