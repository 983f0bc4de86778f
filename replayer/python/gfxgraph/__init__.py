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

In a program that has gfxgraph's hooks (started by `gfxgraph run --capture-api -- python3 program.py`) a step can be captured
where it stands and run over the program's own memory:

    with gfxgraph.capture(stream) as step:
        model(x)                 # the work is done once, and captured
    step.run(stream)             # and again, as one graph

Functions over any number of rows are steps in buckets, and return memory that the caller owns:

    @gfxgraph.step(buckets=[8, 32, 128], outputs={"y": ("<f4", (256,))})
    def layer(x, y, *, stream): ...

    y = layer(x, stream=stream)

What that is made of: Pool and DecodePool (gfxgraph.pools), Branches, Loop, Composition and Pipeline (gfxgraph.flow), metrics().
gfxgraph.torch has torch.cuda's graph classes, gfxgraph.hipgraph_bridge gfxGRAPH's.

Over libgfxgraph.so.0.2 by ctypes: no package is needed, and it is the same for every version of CPython from 3.9. The library is
the file named by the environment's GFXGRAPH_LIBRARY; without it, that of the wheel or installation that this package is
part of, else the loader's. gfxgraph/gfxgraph.h is the reference for what a call does, waits for and refuses; a failed one raises
gfxgraph.Error. Sizes and offsets are bytes, times seconds unless their names say otherwise. Streams are hipStream_t addresses
as integers, or objects of CuPy and torch; device memory is an address or any object with `__cuda_array_interface__` or
`__dlpack__`; bytes on the host are anything with the buffer protocol, NumPy's arrays for example.
"""

from __future__ import annotations

from . import _enabling, _library
from ._enabling import disable, enable, health_check, is_enabled, stats
from ._hip import HipError, empty
from ._library import Error
from .arrays import DeviceArray, device_memory, stream_handle
from .borders import Border
from .capturing import Capture, Captured, capture
from .flow import Branch, Branches, Composition, Loop, Pipeline, metrics
from .pools import Call, DecodePool, Pool, State, Tensor
from .session import MODES, BufferResult, Session, Step, Verification
from .stepping import step
from .trace import Buffer, Input, Output, Parameter, Place, Range, Trace

__all__ = ["MODES", "Border", "Branch", "Branches", "Buffer", "BufferResult", "Call", "Capture", "Captured", "Composition",
           "DecodePool", "DeviceArray", "Error", "HipError", "Input", "Loop", "Output", "Parameter", "Pipeline", "Place",
           "Pool", "Range", "Session", "State", "Step", "Tensor", "Trace", "Verification", "capture", "device_memory",
           "disable", "empty", "enable", "health_check", "is_enabled", "metrics", "stats", "step", "stream_handle",
           "version"]


def version() -> str:
    """Of the library."""
    return str(_library.library.gfxgraph_version().decode())


_enabling._from_environment()
