"""Control flow over captured steps: branches, loops, compositions and pipelines (gfxgraph/flow.h).

A piece of work is a function, which is called with a gfxgraph.Call (its stream; no tensors but in pipelines) and captured when it
runs first; or a gfxgraph.Step of the caller in a mode other than packets. What cannot be captured goes by the function, and is
counted with the reason. An exception of a function comes out of the run that called it. Streams: None is HIP's null stream.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _library as lib
from . import _production as native
from . import arrays
from .borders import Guard
from .pools import Call, Function, Latency, Pool, Tensor, by_name, latency, memory_of
from .session import Step

__all__ = ["Branch", "BranchResult", "BranchStatistics", "Branches", "Composition", "CompositionStatistics", "Counts", "Loop",
           "LoopResult", "LoopStatistics", "Pipeline", "PipelineResult", "PipelineStatistics", "metrics"]

Work = Union[Callable[[Call], object], Step]


class _Piece:
    """A piece of work, and what it keeps."""

    def __init__(self, work: Optional[Work], step: Optional[Step], advances: bool, first_way: str) -> None:
        if isinstance(work, Step):
            if step is not None:
                raise TypeError("two steps for one piece of work")
            work, step = None, work
        if work is None and step is None:
            raise TypeError("a piece of work is a function, a step, or a step with the function that does the same")
        self.function = None if work is None else Function(work)
        self.step = step
        self.info = native.PieceInfo(native.WORK() if self.function is None else self.function.native, None,
                                     None if step is None else step._handle, advances,
                                     native.number(native.WAYS, first_way, "first_way"))

    def guards(self) -> list[Guard]:
        of_step = None if self.step is None else self.step._guard
        return [one for one in (self.function, of_step) if one is not None]


def _check(pieces: Sequence[_Piece], status: int) -> None:
    """Raises what one of the functions raised in this thread, else the library's error."""
    failed: Optional[BaseException] = None
    for guard in [one for piece in pieces for one in piece.guards()]:
        try:
            guard.check(1 if guard.has_raised() else 0)
        except BaseException as error:
            failed = failed or error
    if status == 0:
        return
    raise failed or lib.Error(status)


class Counts(NamedTuple):
    """What a piece of work has done: runs by way, falls by reason; `submit` is the call on the host."""

    runs: dict[str, int]
    falls: dict[str, int]
    captures: int
    work_failures: int
    failures: int
    submit: Latency


def _counts(given: Any) -> Counts:
    return Counts(by_name(native.WAYS, given.runs), by_name(native.FALLS, given.falls), given.captures, given.work_failures,
                  given.failures, latency(given.submit))


# ---- branches --------------------------------------------------------------------------------------------------------


class Branch(NamedTuple):
    """One of several pieces of work, chosen by `value`. `advances`, with a step: step.advance(n) before its n-th run."""

    name: str
    value: int
    work: Optional[Work] = None
    step: Optional[Step] = None
    advances: bool = False
    first_way: str = "graph"


class BranchResult(NamedTuple):
    """The branch that ran, by name, the value that chose it, its way and why not by the first one."""

    branch: str
    value: int
    way: str
    fall: str


class BranchStatistics(NamedTuple):
    way: str
    unknown: int  # runs that found no branch, of all
    by_default: int  # runs that took the default one for a value that none has, of all
    flag_reads: int  # of all
    runs: Counts


class Branches(lib.Owner):
    """One of several pieces of work per run, chosen by a value of the host, or by `flag`: an int32 in device memory (a device
    array or an address), which each run reads on its stream and waits for. `default`: the branch, by name, for values that none
    has; without one such a run raises gfxgraph.Error with the branches by name."""

    _destroy = "branches_destroy"

    def __init__(self, branches: Sequence[Branch], *, default: Optional[str] = None, flag: Any = None, name: str = "branches",
                 capture_seconds: float = 10) -> None:
        self._names = [branch.name for branch in branches]
        self._values = {branch.name: branch.value for branch in branches}
        self._pieces = [_Piece(branch.work, branch.step, branch.advances, branch.first_way) for branch in branches]
        infos = (native.BranchInfo * max(len(branches), 1))(*(
            native.BranchInfo(branch.name.encode(), branch.value, piece.info) for branch, piece in zip(branches, self._pieces)))
        address, self._flag = native.address_of_flag(flag)
        options = native.defaults("branches_options", branch_count=len(branches), branches=infos, flag=address or None,
                                  capture_milliseconds=int(capture_seconds * 1000), name=name.encode())
        if default is not None:
            options.default_branch = self._number(default)
        self._has_flag = bool(address)
        handle = c_void_p()
        lib.call("branches_create", byref(options), byref(handle))
        super().__init__(handle)

    def run(self, which: Union[int, str] = 0, stream: Any = None) -> BranchResult:
        """The branch of a value, or of this name; with a flag neither is given."""
        if isinstance(which, str):
            if self._has_flag:
                raise TypeError("the flag chooses the branch")
            self._number(which)
            which = self._values[which]
        result = native.BranchesResult(struct_size=ctypes.sizeof(native.BranchesResult))
        _check(self._pieces, lib.library.gfxgraph_branches_run(self._handle, which, arrays.stream_handle(stream), byref(result)))
        return BranchResult(self._names[result.branch], result.value, native.WAYS[result.way], native.FALLS[result.fall])

    def warm(self, stream: Any = None) -> None:
        """Captures each branch that is not captured yet: the work of each is done once."""
        _check(self._pieces, lib.library.gfxgraph_branches_warm(self._handle, arrays.stream_handle(stream)))

    def recapture(self, branch: str) -> None:
        lib.call("branches_recapture", self._handle, self._number(branch))

    def statistics(self, branch: str) -> BranchStatistics:
        info = lib.describe("branches_info", native.BranchesInfo, self._handle, self._number(branch))
        return BranchStatistics(native.WAYS[info.way], info.unknown, info.by_default, info.flag_reads, _counts(info.runs))

    def reason(self, branch: str, way: str) -> str:
        """Why the branch gave up the way; "" if it did not."""
        return native.text_of("branches_reason", self._handle, self._number(branch), native.number(native.WAYS, way, "way"))

    def _number(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(f"no branch {name!r}: there are {', '.join(self._names)}")
        return self._names.index(name)


# ---- loops -----------------------------------------------------------------------------------------------------------


class LoopResult(NamedTuple):
    """How a run of a loop ended ("count", "flag"), after how many iterations, and the flag as it was read last."""

    end: str
    iterations: int
    flag_reads: int
    flag: int
    way: str
    fall: str


class LoopStatistics(NamedTuple):
    way: str
    runs: dict[str, int]  # by their end
    flag_reads: int
    iterations: Counts


class Loop(lib.Owner):
    """One piece of work so often as run() says, or while `flag`, an int32 in device memory, is not zero. The flag is read before
    the first iteration and after each `read_every`; each read waits for the stream. A flag that is still not zero after
    max_iterations raises gfxgraph.Error with the status of GFXGRAPH_NOT_READY."""

    _destroy = "loop_destroy"

    def __init__(self, body: Work, *, flag: Any = None, read_every: int = 1, max_iterations: int = 1_000_000,
                 step: Optional[Step] = None, advances: bool = False, first_way: str = "graph", name: str = "loop",
                 capture_seconds: float = 10) -> None:
        self._piece = _Piece(body, step, advances, first_way)
        address, self._flag = native.address_of_flag(flag)
        options = native.defaults("loop_options", body=self._piece.info, flag=address or None, read_every=read_every,
                                  max_iterations=max_iterations, name=name.encode(),
                                  capture_milliseconds=int(capture_seconds * 1000))
        handle = c_void_p()
        lib.call("loop_create", byref(options), byref(handle))
        super().__init__(handle)

    def run(self, count: int = 0, stream: Any = None) -> LoopResult:
        """`count` iterations; with a flag `count` is 0."""
        result = native.LoopResult(struct_size=ctypes.sizeof(native.LoopResult))
        _check([self._piece], lib.library.gfxgraph_loop_run(self._handle, count, arrays.stream_handle(stream), byref(result)))
        return LoopResult(native.LOOP_ENDS[result.end], result.iterations, result.flag_reads, result.flag,
                          native.WAYS[result.way], native.FALLS[result.fall])

    def recapture(self) -> None:
        lib.call("loop_recapture", self._handle)

    def statistics(self) -> LoopStatistics:
        info = lib.describe("loop_info", native.LoopInfo, self._handle)
        return LoopStatistics(native.WAYS[info.way], by_name(native.LOOP_ENDS, info.runs), info.flag_reads,
                              _counts(info.iterations))

    def reason(self, way: str) -> str:
        return native.text_of("loop_reason", self._handle, native.number(native.WAYS, way, "way"))


# ---- compositions ----------------------------------------------------------------------------------------------------


class CompositionStatistics(NamedTuple):
    one_graph: bool
    graph_runs: int
    ordered_runs: int
    failures: int
    builds: int
    nodes: int
    submit: Latency


class Composition(lib.Owner):
    """Steps of the caller as one graph: one launch for all. `stages`: those of one stage run beside each other, and are done
    before the next one begins. Steps are in place and in mode graph. `one_graph`: gfxgraph.Error if they cannot be one graph;
    otherwise they then run one after the other, and reason() says why."""

    _destroy = "composition_destroy"

    def __init__(self, stages: Sequence[Union[Step, Sequence[Step]]], *, one_graph: bool = False,
                 name: str = "composition") -> None:
        listed = [[stage] if isinstance(stage, Step) else list(stage) for stage in stages]
        parts = [native.PartInfo(step._handle, number, 0) for number, stage in enumerate(listed) for step in stage]
        self._steps = [step for stage in listed for step in stage]
        options = native.defaults("composition_options", part_count=len(parts), one_graph=one_graph, name=name.encode(),
                                  parts=(native.PartInfo * max(len(parts), 1))(*parts))
        handle = c_void_p()
        lib.call("composition_create", byref(options), byref(handle))
        super().__init__(handle)

    def run(self, stream: Any = None) -> bool:
        """Submits all parts, asynchronous as Step.run(); whether as one graph."""
        whole = c_uint32()
        lib.call("composition_run", self._handle, arrays.stream_handle(stream), byref(whole))
        return bool(whole.value)

    def statistics(self) -> CompositionStatistics:
        info = lib.describe("composition_info", native.CompositionInfo, self._handle)
        return CompositionStatistics(bool(info.one_graph), info.graph_runs, info.ordered_runs, info.failures, info.builds,
                                     info.nodes, latency(info.submit))

    def reason(self) -> str:
        """Why it is not one graph; "" if it is."""
        return native.text_of("composition_reason", self._handle)


# ---- pipelines -------------------------------------------------------------------------------------------------------


class PipelineResult(NamedTuple):
    number: int  # of the run, from 0
    way: str
    fall: str


class PipelineStatistics(NamedTuple):
    in_flight: int
    most_in_flight: int
    untaken: int
    device_bytes: int
    waits: int
    refusals: int
    device_errors: int
    runs: Counts
    until_seen: Latency


class Pipeline(lib.Owner):
    """One piece of work over `depth` sets of buffers of `rows` rows, each with a stream of its own, by turns: while one run
    computes, inputs of the next are copied in and outputs of the one before out. `in_order`: the work of a run begins when that
    of the run before has ended, for work that changes memory beside the tensors."""

    _destroy = "pipeline_destroy"

    def __init__(self, tensors: Sequence[Tensor], work: Callable[[Call], object], *, rows: int = 1, depth: int = 2,
                 first_way: str = "graph", in_order: bool = False, max_device_bytes: int = 0, capture_seconds: float = 10,
                 name: str = "pipeline") -> None:
        self.tensors = tuple(tensors)
        self._function = Function(work, self.tensors)
        self._kept: dict[int, Any] = {}  # memory of runs whose results were not taken
        options = native.defaults(
            "pipeline_options", depth=depth, rows=rows, tensor_count=len(self.tensors),
            tensors=(native.TensorInfo * max(len(self.tensors), 1))(*(tensor._info() for tensor in self.tensors)),
            first_way=native.number(native.WAYS, first_way, "first_way"), work=self._function.native, in_order=in_order,
            max_device_bytes=max_device_bytes, capture_milliseconds=int(capture_seconds * 1000), name=name.encode())
        handle = c_void_p()
        lib.call("pipeline_create", byref(options), byref(handle))
        super().__init__(handle)

    def warm(self) -> None:
        """Captures the work over each set of buffers, over zeros, and waits for it."""
        self._function.check(lib.library.gfxgraph_pipeline_warm(self._handle))

    def submit(self, memory: Union[Sequence[Any], Mapping[str, Any]], *, size: Optional[int] = None, behind: Any = None,
               wait: bool = True) -> int:
        """Submits a run and returns its number. `memory` as of Pool.run(); the pipeline keeps it until next() gives the run.
        `behind`: a stream whose present work the run waits for. Without `wait` it raises gfxgraph.Error with the status of
        GFXGRAPH_NOT_READY if every set of buffers is in use."""
        size, places = memory_of(self.tensors, memory, size)
        run = native.defaults("pipeline_run", no_wait=not wait, size=size, memory=places, behind_stream=behind is not None,
                              hip_stream=arrays.stream_handle(behind))
        number = c_uint64()
        self._function.check(lib.library.gfxgraph_pipeline_submit(self._handle, byref(run), byref(number)))
        self._kept[number.value] = memory
        return number.value

    def next(self) -> PipelineResult:
        """Waits for the oldest run whose result was not taken; its outputs are complete then. gfxgraph.Error: the run failed on
        the device, or all results were taken (GFXGRAPH_NOT_FOUND)."""
        result = native.PipelineResult(struct_size=ctypes.sizeof(native.PipelineResult))
        status = lib.library.gfxgraph_pipeline_next(self._handle, byref(result))
        self._kept.pop(result.number, None)
        if status != 0:
            raise lib.Error(status)
        return PipelineResult(result.number, native.WAYS[result.way], native.FALLS[result.fall])

    def statistics(self) -> PipelineStatistics:
        info = lib.describe("pipeline_info", native.PipelineInfo, self._handle)
        return PipelineStatistics(info.in_flight, info.most_in_flight, info.untaken, info.device_bytes, info.waits, info.refusals,
                                  info.device_errors, _counts(info.runs), latency(info.until_seen))

    def reason(self, set_number: int, way: str) -> str:
        """Why a set of buffers gave up the way; "" if it did not."""
        return native.text_of("pipeline_reason", self._handle, set_number, native.number(native.WAYS, way, "way"))


# ---- metrics ---------------------------------------------------------------------------------------------------------


def metrics(*parts: Union[Pool, Branches, Loop, Composition, Pipeline]) -> str:
    """The statistics of all of them as one OpenMetrics text; of one kind no two have one name."""
    pools = [one for one in parts if isinstance(one, Pool)]
    groups = [[one for one in parts if isinstance(one, kind)] for kind in (Branches, Loop, Composition, Pipeline)]
    if len(pools) + sum(map(len, groups)) != len(parts):
        raise TypeError("metrics() takes pools, branches, loops, compositions and pipelines")
    texts = []
    if pools or not parts:
        texts.append(native.text_of("pool_metrics", native.handles(pools), len(pools)))
    if any(groups):
        branches, loops, compositions, pipelines = groups
        flow = native.FlowInfo(
            ctypes.sizeof(native.FlowInfo), len(branches), native.handles(branches), native.handles(loops),
            native.handles(compositions), native.handles(pipelines), len(loops), len(compositions), len(pipelines), 0)
        texts.append(native.text_of("flow_metrics", byref(flow)))
    end = "# EOF\n"
    return "".join(text[: -len(end)] if text.endswith(end) else text for text in texts) + end
