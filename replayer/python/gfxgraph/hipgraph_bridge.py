"""gfxGRAPH's names over gfxgraph: BridgedCUDAGraph, ShapeBucketPool, ConditionalGraph.

    from gfxgraph.hipgraph_bridge import ShapeBucketPool

    pool = ShapeBucketPool(model, buckets=[8, 32])
    y = pool(x)                    # for any number of rows up to 32; y belongs to the caller

Functions take and return device arrays: of torch where torch is used on a device, gfxgraph.DeviceArray otherwise. One that has a
parameter `stream` gets the stream to work on as an integer. Captures are on by default: they need gfxgraph's hooks
(`gfxgraph run --capture --capture-api -- python3 program.py`), and what cannot be captured goes by the function, counted in
gfxgraph.stats() with its reason. Exceptions of a function come out of the call, as they were.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, Optional

from . import _enabling, _hip, arrays
from .arrays import DeviceArray
from .flow import Branch, Branches
from .pools import Call, Fall, Pool, PoolResult, Tensor
from .torch import CUDAGraph, _current_stream, _torch, call_with, graph_pool_handle, owned, private_memory

__all__ = ["BridgedCUDAGraph", "ConditionalGraph", "ShapeBucketPool"]

_LOGGER = logging.getLogger("gfxgraph")


def _as_given(array: DeviceArray, like: Any) -> Any:
    torch = _torch()
    return torch.from_dlpack(array) if torch is not None and isinstance(like, torch.Tensor) else array


class ShapeBucketPool:
    """`model_fn(input) -> output` as captured steps by the first dimension of the input, padded with zeros; outputs are copies of
    the rows of the call, which the caller owns.

    buckets: rows, ascending. warmup: how often the function runs on the first input before anything is captured, from 1: it shows
    the output's type. vram_cap: the share of the device's memory beyond which a bucket is refused before it is allocated
    (GFXGRAPH_VRAM_CAP, 0.80). A bucket that fails falls alone. `pool` is the gfxgraph.Pool below, after the first call. Other
    options: as gfxgraph.Pool. Any thread may use it.
    """

    def __init__(self, model_fn: Callable[..., Any], buckets: Sequence[int], warmup: int = 1, *, vram_cap: Optional[float] = None,
                 **options: Any) -> None:
        if warmup < 1:
            raise ValueError("warmup is 1 at least")
        self._function, self._warmup = model_fn, warmup
        self.buckets = tuple(sorted(set(buckets)))
        self._options = {"max_device_share": _enabling.vram_cap() if vram_cap is None else vram_cap, **options}
        if _enabling.validates():
            self._options.setdefault("validate_every", 1)
        self._lock = threading.Lock()
        self._keeper, self._handle = _hip.Keeper(), graph_pool_handle()
        self._like: Any = None
        self._input: Optional[Tensor] = None
        self._output: Optional[Tensor] = None
        self.pool: Optional[Pool] = None
        self.last: Optional[PoolResult] = None

    def __call__(self, input_tensor: Any, stream: Any = None) -> Any:
        """The output for the rows of the input, on the stream (torch's current one; otherwise the null stream)."""
        on = _current_stream(stream)
        memory = arrays.device_memory(input_tensor)
        with self._lock:
            if self.pool is None:
                return self._first(input_tensor, memory, on)
        assert self._output is not None and self._input is not None
        if memory.shape[1:] != self._input.shape or memory.typestr[1:] != self._input.typestr[1:]:
            raise ValueError(f"an input of shape {memory.shape} and type {memory.typestr}; this pool was made for rows of "
                             f"{self._input.shape} and {self._input.typestr}")
        result = _hip.empty((memory.shape[0], *self._output.shape), self._output.typestr, on)
        begin = time.perf_counter()
        self.last = self.pool.run([memory.address, result.address], on, size=memory.shape[0])
        self._count(self.last, (time.perf_counter() - begin) * 1e6)
        return _as_given(result, self._like)

    replay = __call__

    def warm(self, stream: Any = None) -> None:
        """Captures every bucket; after the first call."""
        if self.pool is None:
            raise RuntimeError("the first call shows the types: warm() is for later ones")
        self.pool.warm(_current_stream(stream))

    def _first(self, given: Any, memory: Any, on: int) -> Any:
        if not memory.shape:
            raise ValueError("an input without a first dimension has no rows")
        for _ in range(self._warmup):
            result = call_with(self._function, [given], on)
        shown = arrays.device_memory(result)
        if not shown.shape or shown.shape[0] != memory.shape[0]:
            raise ValueError(f"the function made an output of shape {shown.shape} of an input of shape {memory.shape}: their "
                             "first dimensions must be one number of rows")
        self._like = given
        self._input = Tensor("input", memory.typestr, memory.shape[1:], "input")
        self._output = Tensor("output", shown.typestr, shown.shape[1:], "output")
        options = {"name": getattr(self._function, "__name__", "model"), "on_fall": _fell, "beyond": "work", **self._options}
        self.pool = Pool(self.buckets, [self._input, self._output], self._work, **options)
        return owned(result, on)

    def _work(self, call: Call) -> None:
        # What the step uses is kept with it; a call that is not captured needs nothing afterwards.
        with private_memory(self._handle, self._keeper) if call.captured else contextlib.nullcontext():
            result = call_with(self._function, [_as_given(call["input"], self._like)], call.stream)
        memory = arrays.device_memory(result)
        target = call["output"]
        if memory.shape != target.shape or memory.typestr[1:] != target.typestr[1:]:
            raise ValueError(f"the function made an output of shape {memory.shape} and type {memory.typestr} for {call.size} "
                             f"rows, and of {target.shape[1:]} and {target.typestr} before")
        _hip.copy(target.address, memory, call.stream)
        if call.captured:
            self._keeper.objects.append(result)

    def _count(self, result: PoolResult, us: float) -> None:
        if result.way == "capture":
            _enabling.counts.captured()
        elif result.way == "work":
            _enabling.counts.fell(result.fall)
        else:
            _enabling.counts.replayed(us)
        if result.validation == "different":
            _enabling.counts.differed()

    @property
    def stats(self) -> dict[int, Any]:
        """gfxgraph.pools.PoolStatistics by the size of the bucket."""
        if self.pool is None:
            return {}
        return {size: self.pool.statistics(number) for number, size in enumerate(self.buckets)}


def _fell(fall: Fall) -> None:
    _LOGGER.info("bucket %s gives up %s for %s (%s): %s", fall.bucket_size or "beyond", fall.way, fall.next_way, fall.fall,
                 fall.text)


class ConditionalGraph:
    """Branches by name, each a captured step; what cannot be captured goes by its function, alone, and is in failed_branches."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._keepers: list[_hip.Keeper] = []
        self._branches: Optional[Branches] = None

    def add_branch(self, name: str, function: Callable[..., Any]) -> None:
        """`function` submits the branch's work: to `stream` if it has such a parameter, else to torch's current stream."""
        if self._branches is not None:
            raise RuntimeError("branches are added before capture() and run()")
        if name in self._functions:
            raise ValueError(f"there is a branch {name!r} already")
        self._functions[name] = function

    def capture(self, stream: Any = None) -> None:
        """Captures all branches; the work of each is done once. Without it, the first run of each captures."""
        made = self._made()
        before = sum(made.statistics(name).runs.captures for name in self._functions)
        made.warm(_current_stream(stream))
        for _ in range(sum(made.statistics(name).runs.captures for name in self._functions) - before):
            _enabling.counts.captured()

    def run(self, name: str, stream: Any = None) -> str:
        """Does the work of the branch, and of no other; the way that it went."""
        begin = time.perf_counter()
        result = self._made().run(name, _current_stream(stream))
        if result.way == "capture":
            _enabling.counts.captured()
        elif result.way == "work":
            _enabling.counts.fell(result.fall)
        else:
            _enabling.counts.replayed((time.perf_counter() - begin) * 1e6)
        return result.way

    @property
    def branches(self) -> list[str]:
        return list(self._functions)

    @property
    def failed_branches(self) -> dict[str, str]:
        """Those that go by their function, with the reason."""
        if self._branches is None:
            return {}
        made = self._branches
        return {name: made.reason(name, "graph") for name in self._functions if made.statistics(name).way == "work"}

    def _made(self) -> Branches:
        if self._branches is None:
            if not self._functions:
                raise RuntimeError("no branches: add_branch() adds them")
            self._branches = Branches([Branch(name, number, self._work(function))
                                       for number, (name, function) in enumerate(self._functions.items())])
        return self._branches

    def _work(self, function: Callable[..., Any]) -> Callable[[Call], None]:
        keeper, handle = _hip.Keeper(), graph_pool_handle()
        self._keepers.append(keeper)

        def work(call: Call) -> None:
            if not call.captured:
                call_with(function, [], call.stream)
                return
            with private_memory(handle, keeper):
                keeper.objects.append(call_with(function, [], call.stream))

        return work


class BridgedCUDAGraph(CUDAGraph):
    """torch's CUDAGraph with sizes and branches: capture_begin(), capture_end(), replay() and pool() as there, or capture()."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self.buckets: Optional[ShapeBucketPool] = None
        self.conditions: Optional[ConditionalGraph] = None

    @contextlib.contextmanager
    def capture(self, dynamic_shapes: bool = False, buckets: Optional[Sequence[int]] = None,
                conditional_branches: Optional[Mapping[str, Callable[..., Any]]] = None,
                model_fn: Optional[Callable[..., Any]] = None, *, stream: Any = None) -> Iterator[BridgedCUDAGraph]:
        """with graph.capture(stream=stream): the block's work is held, as by gfxgraph.torch.graph. With dynamic_shapes, model_fn
        is captured in buckets when replay() has an input; with conditional_branches, each by its name when replay() names it: the
        block then is done as it is."""
        if dynamic_shapes != (model_fn is not None) or dynamic_shapes != (buckets is not None):
            raise ValueError("dynamic_shapes needs buckets and model_fn, and they need it")
        if conditional_branches is not None:
            self.conditions = ConditionalGraph()
            for name, function in conditional_branches.items():
                self.conditions.add_branch(name, function)
        if model_fn is not None and buckets is not None:
            self.buckets = ShapeBucketPool(model_fn, buckets)
        if dynamic_shapes or conditional_branches is not None:
            yield self
            return
        self.capture_begin(stream=stream)
        try:
            yield self
        except BaseException:
            self.abandon()
            raise
        self.capture_end()

    def replay(self, batch_size: Optional[int] = None, branch: Optional[str] = None, input_tensor: Any = None, *,
               stream: Any = None) -> Any:
        """The graph; or with input_tensor the model in its bucket, whose output the caller owns (batch_size: only so many of its
        rows); or the branch of this name."""
        if branch is not None:
            if self.conditions is None:
                raise RuntimeError("replay(branch=...) needs capture(conditional_branches=...)")
            return self.conditions.run(branch, stream)
        if input_tensor is None:
            if batch_size is not None:
                raise TypeError("batch_size needs input_tensor")
            return super().replay(stream=stream)
        if self.buckets is None:
            raise RuntimeError("replay(input_tensor=...) needs capture(dynamic_shapes=True, ...)")
        memory = arrays.device_memory(input_tensor)
        if batch_size is not None and batch_size != memory.shape[0]:
            if not 0 < batch_size < memory.shape[0]:
                raise ValueError(f"batch_size {batch_size} of an input of {memory.shape[0]} rows")
            input_tensor = _as_given(DeviceArray(memory.address, (batch_size, *memory.shape[1:]), memory.typestr, memory.owner),
                                     input_tensor)
        return self.buckets(input_tensor, stream)

