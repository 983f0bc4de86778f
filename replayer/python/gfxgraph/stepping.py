"""`@gfxgraph.step(buckets=[...])`: a function over device arrays as captured steps by size."""

from __future__ import annotations

import contextlib
import inspect
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

from . import _hip, arrays
from .pools import Call, Pool, PoolResult, Tensor

__all__ = ["SteppedFunction", "step"]

_MOST_POOLS = 16

Outputs = Union[Sequence[str], Mapping[str, tuple[str, tuple[int, ...]]]]


class SteppedFunction:
    """What gfxgraph.step() makes of a function. `pools` are its pools of steps, `last` how the last run of this thread went."""

    def __init__(self, function: Callable[..., object], buckets: Sequence[int], outputs: Outputs, inout: Sequence[str],
                 options: dict[str, Any]) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "step")
        self.__doc__ = function.__doc__
        self._buckets, self._options = tuple(buckets), options
        self._made = dict(outputs) if isinstance(outputs, Mapping) else {}
        self._outputs, self._inout = set(outputs), set(inout)
        parameters = inspect.signature(function).parameters
        if "stream" not in parameters:
            raise TypeError(f"{self.__name__} has no parameter `stream`: it must submit its work there")
        self._names = [name for name in parameters if name != "stream"]
        unknown = (self._outputs | self._inout) - set(self._names)
        if unknown:
            raise TypeError(f"{self.__name__} has no parameter {', '.join(sorted(unknown))}")
        self._signature = inspect.Signature([parameters[name] for name in self._names])
        self._pools: dict[Any, Pool] = {}
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    @property
    def pools(self) -> list[Pool]:
        return list(self._pools.values())

    @property
    def last(self) -> Optional[PoolResult]:
        return getattr(self._of_thread, "result", None)

    def __call__(self, *arguments: Any, stream: Any = None, **named: Any) -> Any:
        bound = self._signature.bind_partial(*arguments, **named)
        bound.apply_defaults()
        given = {name: value for name, value in bound.arguments.items() if value is not None or name not in self._made}
        missing = [name for name in self._names if name not in given and name not in self._made]
        if missing:
            raise TypeError(f"{self.__name__} needs {', '.join(missing)}")
        memory = {name: value for name, value in given.items() if arrays.is_device_array(value)}
        values = {name: value for name, value in given.items() if name not in memory}
        if not memory or any(name in values for name in self._outputs | self._inout):
            raise TypeError(f"{self.__name__}: inputs and outputs are device arrays")
        found = {name: arrays.device_memory(value) for name, value in memory.items()}
        size = _rows(self.__name__, {name: one.shape for name, one in found.items()})
        fresh = [name for name in self._made if name not in memory]
        for name in fresh:
            typestr, shape = self._made[name]
            memory[name] = _hip.empty((size, *shape), typestr, stream)
            found[name] = arrays.device_memory(memory[name])
        ordered = [name for name in self._names if name in memory]
        tensors = tuple(Tensor(name, found[name].typestr, found[name].shape[1:], self._use(name)) for name in ordered)
        pool = self._pool(tensors, values)
        self._of_thread.result = pool.run([memory[name] for name in ordered], stream, size=size)
        results = tuple(memory[name] for name in fresh)
        return None if not results else results[0] if len(results) == 1 else results

    def _use(self, name: str) -> str:
        return "both" if name in self._inout else "output" if name in self._outputs else "input"

    def _pool(self, tensors: tuple[Tensor, ...], values: dict[str, Any]) -> Pool:
        """Values of the host are fixed by a capture, so each combination of them has steps of its own."""
        try:
            key = (tensors, tuple(sorted(values.items())))
            hash(key)
        except TypeError:
            raise TypeError(f"{self.__name__}: {', '.join(sorted(values))} must be numbers, texts or other hashable values, "
                            "because steps repeat them; pass what changes as a device array") from None
        with self._lock:
            pool = self._pools.get(key)
            if pool is None:
                if len(self._pools) == _MOST_POOLS:
                    raise RuntimeError(f"{self.__name__} was called with more than {_MOST_POOLS} combinations of types and "
                                       f"values ({', '.join(sorted(values)) or 'types'}); pass what changes as a device array")
                pool = Pool(self._buckets, tensors, self._work(values), **{"name": self.__name__, **self._options})
                self._pools[key] = pool
            return pool

    def _work(self, values: dict[str, Any]) -> Callable[[Call], object]:
        kept = _hip.Keeper()  # lives as long as the pool

        def work(call: Call) -> None:
            # What a step uses is kept with it; a call that is not captured needs nothing afterwards.
            with _hip.keeping(kept) if call.captured else contextlib.nullcontext():
                result = self.__wrapped__(**values, **call.tensors, stream=call.stream)
            if result is not None:
                raise TypeError(f"{self.__name__} returned {type(result).__name__}; results are written to its outputs")

        return work


def _rows(name: str, shapes: dict[str, tuple[int, ...]]) -> int:
    if any(not shape for shape in shapes.values()) or len({shape[0] for shape in shapes.values()}) != 1:
        raise ValueError(f"{name}: arrays of one number of rows are needed, not "
                         + ", ".join(f"{one} of shape {shape}" for one, shape in shapes.items()))
    size = next(iter(shapes.values()))[0]
    if size == 0 or any(math.prod(shape) == 0 for shape in shapes.values()):
        raise ValueError(f"{name}: arrays without elements")
    return size


def step(function: Optional[Callable[..., object]] = None, *, buckets: Sequence[int], outputs: Outputs = (),
         inout: Sequence[str] = (), **options: Any) -> Any:
    """Runs a function as captured steps, in buckets of so many rows.

        @gfxgraph.step(buckets=[8, 32, 128], outputs={"y": ("<f4", (256,))})
        def layer(x, y, *, stream):
            launch(x, y, len_of(x), stream)        # any work on the stream

        y = layer(x, stream=stream)                # any number of rows up to 128; y belongs to the caller

    Parameters that get device arrays have one number of rows, their first dimension; the function is called with the bucket's
    arrays to capture it, and otherwise not again. `outputs`: parameters that it writes; with types and shapes of a row they may
    be left out of a call, which then returns new arrays. `inout`: parameters that it reads and writes. Other values are part of
    the step: each combination is captured apart. Other options, and what falls when a step is impossible, as gfxgraph.Pool.
    """
    if function is not None:
        raise TypeError("write @gfxgraph.step(buckets=[...])")
    return lambda decorated: SteppedFunction(decorated, buckets, outputs, inout, options)
