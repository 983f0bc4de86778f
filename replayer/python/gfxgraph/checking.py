"""`gfxgraph check` for Python: the programs beside the package, and their reports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Union

FOUND = 4  # the exit code of `gfxgraph check` with findings that fail
_LOST = 3  # a budget is spent, or the trace is incomplete


class Findings(AssertionError):
    """Kernels have findings, or not those that they must have, or could not be checked."""


def program(name: str) -> str:
    """The path of a program of the wheel, or of the installation on PATH."""
    own = Path(__file__).resolve().parent / "_files" / "bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"gfxgraph: there is no program {name} in the wheel or on PATH")
    return found


def check(trace: Union[str, os.PathLike[str]], options: Sequence[str] = ()) -> tuple[dict[str, Any], bool]:
    """The report of `gfxgraph check --format json` (docs/schemas/check.json), and whether it has findings that fail.
    Findings is raised if the trace could not be checked."""
    # The check is no HIP program, and is not preloaded into.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([program("gfxgraph"), "check", *options, "--format", "json", "--quiet", os.fspath(trace)],
                          capture_output=True, text=True, errors="replace", env=environment, check=False)
    if done.returncode == _LOST or not done.stdout.startswith("{"):
        raise Findings(f"gfxgraph check {os.fspath(trace)}: exit code {done.returncode}\n{done.stderr.strip()}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report, done.returncode == FOUND


def lines(findings: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Findings of a report for people: where, what, in which kernel, and who launched it."""
    for one in findings:
        source = one.get("source")
        place = f"{source['file']}:{source['line']}" if source else one["pc"]
        yield f"{place}: {one['severity']}: {one['class']} {one['name']} in {one['kernel']}: {one['summary']}"
        launched = one["first"].get("launched_by")
        if launched:
            yield f"    launched by {launched}"
