"""pytest --gfxgraph: findings fail the test that has them, and no other one. Exit 77: pytest cannot be had from PyPI."""

import json
import os
import sys

from package import SOURCE, environment

from harness import Failure, main, require, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "lint"))
TESTS = """
import sys
sys.path[:0] = [{python!r}, {e2e!r}]
import pytest
from captures import COUNT, Hip

@pytest.fixture(scope="module")
def hip():
    made = Hip({code!r})
    made.add(made.memory(), 3)  # of the fixture: not checked
    return made

def test_right(hip):
    memory = hip.memory()
    hip.add(memory, 5)
    assert hip.read(memory) == 5

def test_past_the_end(hip):
    hip.add(hip.memory(count=COUNT - 100), 5)
    hip.read(hip.memory())

@pytest.mark.gfxgraph(expect=("E2",))
def test_expected(hip):
    hip.add(hip.memory(count=COUNT - 100), 5)
    hip.read(hip.memory())

@pytest.mark.gfxgraph(expect=("R1",))
def test_expected_and_absent(hip):
    memory = hip.memory()
    hip.add(memory, 5)
    hip.read(memory)

@pytest.mark.gfxgraph(off=True)
def test_off(hip):
    hip.add(hip.memory(count=COUNT - 100), 5)
    hip.read(hip.memory())

@pytest.mark.gfxgraph(check="--tool synccheck")
def test_other_tool(hip):
    hip.add(hip.memory(count=COUNT - 100), 5)
    hip.read(hip.memory())

def test_fails_by_itself(hip):
    hip.add(hip.memory(), 5)
    assert False, "of the test"

def test_without_work():
    assert True
"""
EXPECTED = {"test_right": True, "test_past_the_end": False, "test_expected": True, "test_expected_and_absent": False,
            "test_off": True, "test_other_tool": True, "test_fails_by_itself": False, "test_without_work": True}


def run_pytest(build, scratch, *options, plugin=True):
    from check_python import environment as tools  # with pytest of its version

    tests = scratch / "test_work.py"
    tests.write_text(TESTS.format(python=os.path.join(SOURCE, "tests", "python"), e2e=os.path.join(SOURCE, "tests", "e2e"),
                                  code=str(build.root / "tests" / "capture" / "capture_forms.co")))
    more = {**environment(build), "PATH": f"{build.bin}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    named = ["-p", "gfxgraph.pytest_plugin", "--gfxgraph"] if plugin else []
    hooks = [] if plugin else build.tool("gfxgraph", "run", "--")
    return run([*hooks, str(tools() / "python"), "-m", "pytest", "-rA", "-p", "no:cacheprovider", *named, *options, str(tests)], env=more,
               expect={0, 1})


def outcomes(text):
    found = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind in ("PASSED", "FAILED"):
            found[rest.split("::")[1].split(" ")[0]] = kind == "PASSED"
    return found


def findings(build, scratch):
    """Alone, kept with SARIF, and by two processes of pytest-xdist: the same tests fail."""
    bare = outcomes(run_pytest(build, scratch, plugin=False).stdout)
    require(bare == {name: name != "test_fails_by_itself" for name in EXPECTED}, f"without the plugin: {bare}")
    done = run_pytest(build, scratch)
    require(outcomes(done.stdout) == EXPECTED, f"{outcomes(done.stdout)}\n{done.stdout[-3000:]}")
    require("error: E2 past-the-end in add" in done.stdout and "launched by captures.py:" in done.stdout, done.stdout[-3000:])
    require("expected R1, found nothing" in done.stdout and "of the test" in done.stdout, done.stdout[-3000:])
    kept, sarif = scratch / "kept", scratch / "all.sarif"
    done = run_pytest(build, scratch, "--gfxgraph-keep", str(kept), "--gfxgraph-sarif", str(sarif), "-n", "2")
    require(outcomes(done.stdout) == EXPECTED, f"xdist: {outcomes(done.stdout)}\n{done.stdout[-3000:]}")
    traces = sorted(one.name for one in kept.glob("*.gfxg"))
    require(len(traces) == 5 and all("test_work.py_test_" in one for one in traces), str(traces))
    past = kept / next(one for one in traces if one.endswith("test_past_the_end.gfxg"))
    page = run(build.tool("gfxgraph", "report", past, past.with_suffix(".json"))).stdout
    require("past-the-end" in page and "captures.py" in page, "the page has no finding")
    run(build.replay(kept / next(one for one in traces if one.endswith("test_right.gfxg")), "--mode", "graph", "--verify"))
    results = [one for part in json.loads(sarif.read_text())["runs"] for one in part["results"]]
    require(len([one for one in results if one["ruleId"] == "E2"]) >= 2, str(results)[:2000])
    wrong = scratch / "test_wrong.py"
    wrong.write_text("import pytest\n@pytest.mark.gfxgraph(expects=1)\ndef test_it(): pass\n")
    try:
        done = run_pytest(build, scratch, str(wrong))
    except Failure as failure:
        require("expects" in str(failure), str(failure))
    else:
        require("expects" in done.stdout + done.stderr, done.stdout[-2000:])


if __name__ == "__main__":
    main({"findings": findings})
