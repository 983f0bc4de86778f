"""Triton kernels for RDNA2 without a GPU: compiled for gfx1030, launched on the software agent with NumPy arrays.

    import gfxgraph.triton

    x = numpy.arange(1000, dtype=numpy.float32)
    out = numpy.zeros_like(x)
    gfxgraph.triton.run(add_kernel, (4,), x, x, out, 1000, BLOCK=256)
    done = gfxgraph.triton.run(add_kernel, (4,), x, x, out, 1000, BLOCK=256, check="--tool all --masked-lane=error")
    for line in done.lines():
        print(line)

Triton makes code that HIP 6 and newer load, not 5. 3.9 refuses gfx1030; 3.6.0 was tested.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from ctypes import byref, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Union

from . import checking

__all__ = ["Done", "compile", "run"]

_LAST_VERSION = "3.6.0"  # that was seen to compile for gfx1030
_EXTRA_POINTERS = 4  # Triton's own, behind the kernel's arguments; HIP reads as many as the kernel has
_TYPES = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
          "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1"}
_SIZES = {"i32": 4, "i64": 8, "u64": 8, "fp32": 4, "i1": 1}


class Compiled(NamedTuple):
    """A kernel's code, and what a launch of it needs."""

    name: str
    code: bytes
    shared_bytes: int
    threads: int
    # Type and value; "*" before the type of an array, "?" before that if the device's memory keeps what it held.
    arguments: list[tuple[str, Any]]


class Done(NamedTuple):
    """What a run was found to be. `report`: of gfxgraph check, if it was asked for; `trace`: if it was recorded."""

    report: Optional[dict[str, Any]] = None
    trace: Optional[Path] = None

    @property
    def findings(self) -> list[dict[str, Any]]:
        return list(self.report["findings"]) if self.report else []

    def lines(self) -> list[str]:
        return list(checking.lines(self.findings))


def _argument(name: str, value: Any) -> tuple[str, Any]:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "shape", ()) != ():
        if str(dtype) not in _TYPES:
            raise TypeError(f"argument {name}: arrays of type {dtype} are not supported")
        return "*" + _TYPES[str(dtype)], value
    if dtype is not None:
        value = value.item()  # a NumPy scalar
    if isinstance(value, bool):
        return "i1", value
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32", value
        if -(2**63) <= value < 2**64:
            return ("i64" if value < 2**63 else "u64"), value
        raise ValueError(f"argument {name}: {value} has more than 64 bits")
    if isinstance(value, float):
        return "fp32", value
    raise TypeError(f"argument {name}: {type(value).__name__} is no NumPy array, number or constexpr")


def compile(kernel: Any, *args: Any, target: str = "gfx1030", num_warps: int = 4, uninitialised: Sequence[str] = (),
            **kwargs: Any) -> Compiled:
    """A @triton.jit function's code for its arguments' types and its constexprs' values."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    options = {"num_warps": num_warps}
    if "num_stages" in kwargs:
        options["num_stages"] = kwargs.pop("num_stages")
    bound = inspect.signature(kernel.fn).bind(*args, **kwargs)
    bound.apply_defaults()
    constexprs = {one.name for one in kernel.params if one.is_constexpr}
    constexprs |= {name for name, value in bound.arguments.items() if value is None}
    arguments = {name: _argument(name, value) for name, value in bound.arguments.items() if name not in constexprs}
    signature = {name: arguments[name][0] if name in arguments else "constexpr" for name in bound.arguments}
    source = ASTSource(fn=kernel, signature=signature, constexprs={name: bound.arguments[name] for name in constexprs})
    try:
        made = triton.compile(source, target=GPUTarget("hip", target, 32), options=options)
    except Exception as error:
        if target in str(error) or "gfx" in str(error) or "Unsupported" in str(error):
            raise RuntimeError(f"Triton {triton.__version__} does not compile for {target} ({error}); {_LAST_VERSION} does: "
                               f"pip install triton=={_LAST_VERSION}") from error
        raise
    metadata = made.metadata
    for name in uninitialised:
        if arguments.get(name, ("", None))[0][:1] != "*":
            raise ValueError(f"uninitialised: {name} is no array among the arguments")
        arguments[name] = ("?" + arguments[name][0], arguments[name][1])
    return Compiled(str(metadata.name), bytes(made.asm["hsaco"]), int(metadata.shared), 32 * int(metadata.num_warps),
                    [arguments[name] for name in bound.arguments if name in arguments])


def _is_array(kind: str) -> bool:
    return "*" in kind


class _Hip:
    """The calls that a launch needs, of the HIP runtime that the loader finds."""

    def __init__(self) -> None:
        for version in (7, 6, 5):
            try:
                self._library = ctypes.CDLL(f"libamdhip64.so.{version}")
                return
            except OSError:
                continue
        raise RuntimeError("gfxgraph.triton: there is no HIP runtime (libamdhip64.so.7 or .6); Debian: libamdhip64-6")

    def has_device(self) -> bool:
        count = ctypes.c_int()
        return bool(self._library.hipGetDeviceCount(byref(count)) == 0 and count.value > 0)

    def call(self, name: str, *arguments: Any) -> None:
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            self._library.hipGetErrorString.restype = ctypes.c_char_p
            text = self._library.hipGetErrorString(result).decode(errors="replace")
            raise RuntimeError(f"{name}: {text}" + (" (HIP 5 does not load Triton's code: use HIP 6 or newer)"
                                                    if name == "hipModuleLoadData" else ""))


def _launch(hip: _Hip, compiled: Compiled, grid: tuple[int, ...]) -> None:
    """Arrays are copied to the device before and back after it."""
    module, function = c_void_p(), c_void_p()
    hip.call("hipModuleLoadData", byref(module), compiled.code)
    hip.call("hipModuleGetFunction", byref(function), module, compiled.name.encode())
    cells: list[Any] = []
    arrays: list[tuple[c_void_p, Any]] = []
    try:
        for kind, value in compiled.arguments:
            if _is_array(kind):
                if not value.flags["C_CONTIGUOUS"]:
                    raise ValueError(f"an array of shape {value.shape} with strides of {value.strides} bytes is not "
                                     "contiguous in C order; pass a contiguous copy of it")
                memory = c_void_p()
                hip.call("hipMalloc", byref(memory), c_size_t(max(value.nbytes, 1)))
                arrays.append((memory, value))
                if kind[0] != "?":
                    hip.call("hipMemcpy", memory, c_void_p(value.ctypes.data), c_size_t(value.nbytes), 1)
                cells.append(memory)
            elif kind == "fp32":
                cells.append(ctypes.c_float(value))
            else:
                cells.append((ctypes.c_char * _SIZES[kind]).from_buffer_copy(
                    int(value).to_bytes(_SIZES[kind], "little", signed=int(value) < 0)))
        cells += [c_void_p() for _ in range(_EXTRA_POINTERS)]
        pointers = (c_void_p * len(cells))(*map(ctypes.addressof, cells))
        hip.call("hipModuleLaunchKernel", function, *grid, compiled.threads, 1, 1, compiled.shared_bytes, None, pointers, None)
        hip.call("hipDeviceSynchronize")
        for memory, value in arrays:
            if value.flags["WRITEABLE"]:
                hip.call("hipMemcpy", c_void_p(value.ctypes.data), memory, c_size_t(value.nbytes), 2)
    finally:
        for memory, _ in arrays:
            hip.call("hipFree", memory)
        hip.call("hipModuleUnload", module)


def run(kernel: Any, grid: Union[tuple[int, ...], Callable[[dict[str, Any]], tuple[int, ...]]], *args: Any,
        target: str = "gfx1030", num_warps: int = 4, record: Union[str, os.PathLike[str], None] = None,
        check: Union[str, bool] = False, uninitialised: Sequence[str] = (), **kwargs: Any) -> Done:
    """Launches `kernel` once and waits for it. Arrays are NumPy's: they are copied to the device, and back if they are writable.

    `grid`: one to three numbers of programs, or a function of the arguments by name, as Triton's. `record`: the path of a trace
    of the launch. `check`: options of gfxgraph check, or True; what it found is in the result. The launch takes place in this
    process if it has a device (a GPU, or the agent by `gfxgraph run`), and else, or if it is recorded or checked, in one of its
    own on the agent. `uninitialised`: arrays, by the names of their parameters, that are not copied to the device:
    a kernel that reads them before it writes is found by initcheck.
    """
    compiled = compile(kernel, *args, target=target, num_warps=num_warps, uninitialised=uninitialised, **kwargs)
    if callable(grid):
        bound = inspect.signature(kernel.fn).bind(*args, **{k: v for k, v in kwargs.items() if k != "num_stages"})
        bound.apply_defaults()
        grid = grid(dict(bound.arguments))
    size = tuple(int(one) for one in grid) + (1,) * (3 - len(grid))
    if len(size) != 3 or min(size) < 1:
        raise ValueError(f"grid {grid}: one to three numbers of at least 1 are needed")
    if record is None and not check:
        hip = _Hip()
        if hip.has_device():
            _launch(hip, compiled, size)
            return Done()
    return _run_apart(compiled, size, record, check)


def _run_apart(compiled: Compiled, grid: tuple[int, ...], record: Union[str, os.PathLike[str], None],
               check: Union[str, bool]) -> Done:
    with tempfile.TemporaryDirectory(prefix="gfxgraph-triton-") as name:
        folder = Path(name)
        (folder / "code").write_bytes(compiled.code)
        arguments: list[tuple[str, Any]] = []
        for number, (kind, value) in enumerate(compiled.arguments):
            if _is_array(kind):
                (folder / f"{number}").write_bytes(value.tobytes())
                arguments.append((kind, [str(value.dtype), list(value.shape), bool(value.flags["WRITEABLE"])]))
            else:
                arguments.append((kind, value))
        (folder / "launch.json").write_text(json.dumps({"name": compiled.name, "shared": compiled.shared_bytes,
                                                        "threads": compiled.threads, "grid": grid, "arguments": arguments}))
        trace = Path(record) if record is not None else folder / "trace.gfxg"
        recorded = record is not None or bool(check)
        command = [checking.program("gfxgraph-record"), "--device", "emulated", "--force", "-o", str(trace)] if recorded else [
            checking.program("gfxgraph"), "run", "--device", "emulated"]
        path = os.pathsep.join([str(Path(__file__).resolve().parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run([*command, "--", sys.executable, "-m", "gfxgraph.triton", name], capture_output=True, text=True,
                              errors="replace", env={**os.environ, "PYTHONPATH": path}, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the launch of {compiled.name} on the agent: exit code {done.returncode}\n{done.stderr.strip()}")
        for number, (kind, value) in enumerate(compiled.arguments):
            if _is_array(kind) and value.flags["WRITEABLE"]:
                import numpy

                value[...] = numpy.frombuffer((folder / f"{number}").read_bytes(), value.dtype).reshape(value.shape)
        report = None
        if check:
            report, _ = checking.check(trace, shlex.split(check) if isinstance(check, str) else ["--tool", "all"])
        return Done(report, Path(record) if record is not None else None)


def _main(folder: Path) -> None:
    """The process of its own."""
    import numpy

    launch = json.loads((folder / "launch.json").read_text())
    arguments: list[tuple[str, Any]] = []
    for number, (kind, value) in enumerate(launch["arguments"]):
        if _is_array(kind):
            dtype, shape, writable = value
            array = numpy.frombuffer(bytearray((folder / f"{number}").read_bytes()), dtype).reshape(shape)
            array.flags.writeable = writable
            arguments.append((kind, array))
        else:
            arguments.append((kind, value))
    _launch(_Hip(), Compiled(launch["name"], (folder / "code").read_bytes(), launch["shared"], launch["threads"], arguments),
            tuple(launch["grid"]))
    for number, (kind, value) in enumerate(arguments):
        if _is_array(kind) and value.flags["WRITEABLE"]:
            (folder / f"{number}").write_bytes(value.tobytes())


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
