"""scripts/workloads/wheels measures what it says: one case, with a program that needs HIP alone. CASE BUILD."""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/workloads"), str(ROOT / "scripts/workloads/wheels"), str(ROOT / "tests/e2e")]

import environments  # noqa: E402
import python_document as document  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402
import without_a_gpu  # noqa: E402
from workload import Broken, Skipped, Workload  # noqa: E402

from harness import Failure, require  # noqa: E402


def row(build, *arguments):
    command = [sys.executable, "tests/workloads/python/ctypes_launches.py", build / "tests/capture/capture_forms.co", *arguments]
    with tempfile.TemporaryDirectory() as scratch:
        made = Workload("ctypes", "", lambda _: command, rows.judge, modes=rows.MODES, check_options=("--tool", "all"))
        return rows.Row(made, build, Path(scratch)).row()


def right(build):
    """Recorded, replayed eight times, checked, and held when it is accelerated."""
    found = row(build)
    require("broken" not in found, str(found))
    require(document.is_good(found), document.line(found))
    require(found["launches"] == 24 and len(found["replays"]) == 8, str(found))
    require(found["held"]["graph"] > 0 and found["check"]["launches"] == 24, str(found))
    require(found["result"] == "1 as Python, difference at most 0", found["result"])


def chooses(build):
    """A device that is chosen again before each launch keeps nothing from being held."""
    found = row(build, "chooses")
    require(document.is_good(found), str(found))
    require(found["held"]["graph"] > 0, str(found["held"]))


def wrong(build):
    """A value that is not its reference's, and one that is no number, are no rows."""
    for kind in ("wrong", "nan"):
        found = row(build, kind)
        require("broken" in found and not document.is_good(found), str(found))


def differs(build):
    """Other bytes under gfxgraph accelerate."""
    found = row(build, "differs")
    require("prints something else" in found["accelerated"] and not document.is_good(found), str(found))


def judged(_build):
    """What is no good row."""
    good = {"program": "cupy-kernels", "complete": True, "replays": {"eager same": "identical"}, "accelerated": "the same",
            "check": {"not_checked_count": 0, "named": ["S7 cupy_sum: it is explained"]}}
    require(document.is_good(good), "a row that is good")
    for change in ({"complete": False}, {"replays": {"eager same": "1 buffers differ"}}, {"accelerated": "graph: it ended with 1"},
                   {"check": {"not_checked_count": 1, "named": []}}, {"check": {"not_checked_count": 0, "named": ["E1 cupy_sum: new"]}},
                   {"program": "jax-training"}, {"broken": "it ended with 1"}):
        require(not document.is_good(good | change), str(change))
    lacking = table.ENVIRONMENTS["pennylane"]
    broken = {"program": "pennylane", "runtime": "7.2.4", "broken": "ended with 139"}
    require(document.is_good(rows.left_out(broken, lacking)), "a program that does not run is left out")
    require(not document.is_good(rows.left_out(good, lacking)), "one that runs, although it is said not to, is found")
    try:
        rows.judge("nothing compared\n", None)
    except Broken:
        return
    require(False, "a program that compares nothing is taken")


def refused(_build):
    """Who cannot make a root is told so."""
    here = table.ENVIRONMENTS["openmm"]
    allowed = os.geteuid
    try:
        os.geteuid = lambda: 1000
        here.make()
    except Skipped as reason:
        require("root's rights" in str(reason), str(reason))
    else:
        require(False, "nothing was skipped")
    finally:
        os.geteuid = allowed
    os.environ["GFXGRAPH_ROOTS"] = "/dev/null/roots"
    try:
        environments.called(["scripts/runtime-root", "forky"], "Debian's packages for forky")
    except Broken as problem:
        require("Debian's packages for forky: " in str(problem), str(problem))
    else:
        require(False, "a root was made in /dev/null")


def tables(_build):
    """Each program has its environment and file, each environment its versions and a program."""
    for program in table.PROGRAMS:
        require((ROOT / f"tests/workloads/python/{program.file}.py").exists(), program.file)
    require({program.environment for program in table.PROGRAMS} == set(table.ENVIRONMENTS), "environments without programs")
    for environment in table.ENVIRONMENTS.values():
        require(all("==" in wheel for wheel in environment.wheels), f"{environment.name}: a wheel without its version")
        for source in environment.stubs.values():
            require(source.startswith("/") or (environments.STUBS / source).exists(), source)
        if not environment.lacks:
            require(len(without_a_gpu.lines(environment.name)) == 5, environment.name)


def main():
    cases = {case.__name__: case for case in (right, chooses, wrong, differs, judged, refused, tables)}
    os.chdir(ROOT)
    try:
        cases[sys.argv[1]](Path(sys.argv[2]).resolve())
    except Failure as failure:
        sys.exit(f"FAIL {sys.argv[1]}: {failure}")
    print(f"ok {sys.argv[1]}")


main()
