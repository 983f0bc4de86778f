"""pytest --gfxgraph: checks the GPU work of each test, on the software agent where there is no GPU.

pytest is started again with gfxgraph's hooks, before anything loads HIP. What a test's function gives to the device is captured
with its contents, and `gfxgraph check` executes it: a finding fails the test. Fixtures run as they do, and are not captured.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, Optional

import pytest

from . import checking
from .checking import Findings

_STARTED = "GFXGRAPH_PYTEST"  # the folder of the traces, in a process that has the hooks


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gfxgraph", "GPU work of tests, checked by gfxgraph")
    group.addoption("--gfxgraph", action="store_true", help="check the GPU work of each test")
    group.addoption("--gfxgraph-keep", metavar="FOLDER",
                    help="keep the traces in this folder, by the tests' names, and what was found in them as JSON")
    group.addoption("--gfxgraph-sarif", metavar="FILE",
                    help="write the findings of all tests to this file, as SARIF 2.1.0")
    group.addoption("--gfxgraph-device", default="auto", choices=("auto", "emulated", "real"),
                    help="where tests run: the software agent, a GPU, or the agent where there is no GPU (default)")
    parser.addini("gfxgraph_check", "options of `gfxgraph check` for all tests", default="--tool all")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "gfxgraph(check='--tool memcheck', expect=('E1',), off=False): options of `gfxgraph check` for a test, the "
                   "classes of findings that it must have and no others, or that it is not checked")
    if not config.getoption("--gfxgraph"):
        return
    if _STARTED in os.environ:
        config.pluginmanager.register(_Checks(config, Path(os.environ[_STARTED])), "gfxgraph-checks")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Optional[int]:
    """Starts pytest again with the hooks, and takes its exit code."""
    if not config.getoption("--gfxgraph") or _STARTED in os.environ:
        return None
    kept = config.getoption("--gfxgraph-keep")
    sarif = config.getoption("--gfxgraph-sarif")
    folder = Path(kept).resolve() if kept else Path(tempfile.mkdtemp(prefix="gfxgraph-pytest-"))
    folder.mkdir(parents=True, exist_ok=True)
    device = config.getoption("--gfxgraph-device")
    command = [checking.program("gfxgraph"), "run", "--capture", "--capture-api", "--device", device, "--", sys.executable, "-m",
               "pytest", *config.invocation_params.args]
    try:
        code = subprocess.run(command, env={**os.environ, _STARTED: str(folder)}, cwd=config.invocation_params.dir,
                              check=False).returncode
        traces = sorted(folder.glob("*.gfxg"))
        if sarif and traces:
            options = shlex.split(config.getini("gfxgraph_check"))
            done = subprocess.run([checking.program("gfxgraph"), "check", *options, "--format", "sarif", "--quiet", "-o", sarif,
                                   *map(str, traces)], check=False)
            if done.returncode not in (0, checking.FOUND):
                print(f"--gfxgraph-sarif {sarif}: gfxgraph check ended with exit code {done.returncode}", file=sys.stderr)
                code = code or done.returncode
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    return code


class _Checks:
    """In the process that runs the tests, or in each of pytest-xdist's."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._options = shlex.split(config.getini("gfxgraph_check"))
        self._folder = folder

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for marker in item.iter_markers("gfxgraph"):
                unknown = set(marker.kwargs) - {"check", "expect", "off"}
                if unknown or marker.args:
                    raise pytest.UsageError(f"{item.nodeid}: the marker gfxgraph has check=, expect= and off=, and not "
                                            f"{', '.join([*map(str, marker.args), *sorted(unknown)])}")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        import gfxgraph

        marker = item.get_closest_marker("gfxgraph")
        wanted: dict[str, Any] = dict(marker.kwargs) if marker else {}
        if wanted.get("off"):
            yield
            return
        capture = gfxgraph.Capture(contents=True, name="test")
        outcome = yield
        if outcome.excinfo is not None:
            capture.abandon()
            return
        try:
            self._check(item, capture, wanted)
        except Exception as error:  # of the test: a plugin's own would end the session
            outcome.force_exception(error)

    def _check(self, item: pytest.Item, capture: Any, wanted: dict[str, Any]) -> None:
        __tracebackhide__ = True
        trace = capture.end()
        expected = set(wanted.get("expect", ()))
        if trace.launches == 0:
            if expected:
                raise Findings(f"expected {', '.join(sorted(expected))}, and the test launched no kernel")
            return
        path = self._folder / (re.sub(r"[^A-Za-z0-9_.-]+", "_", item.nodeid)[-200:] + ".gfxg")
        path.unlink(missing_ok=True)
        trace.save(path)
        options = shlex.split(wanted["check"]) if "check" in wanted else self._options
        report, failed = checking.check(path, options)
        path.with_suffix(".json").write_text(json.dumps(report), encoding="utf-8")  # for `gfxgraph report`
        for one in report["not_checked"]:
            item.add_report_section("call", "gfxgraph", f"not checked: {json.dumps(one)}")
        self._judge(report["findings"], expected, failed, item)

    @staticmethod
    def _judge(findings: list[dict[str, Any]], expected: set[str], failed: bool, item: pytest.Item) -> None:
        __tracebackhide__ = True
        lines = list(checking.lines(findings))
        if expected:
            found = {one["class"] for one in findings}
            missing, more = expected - found, {one["class"] for one in findings if one["severity"] == "error"} - expected
            if missing or more:
                said = f"expected {', '.join(sorted(expected))}, found {', '.join(sorted(found)) or 'nothing'}"
                raise Findings("\n".join([said, *lines]))
        elif failed:
            raise Findings("\n".join([f"{len(lines)} findings of gfxgraph check", *lines]))
        if lines:
            item.add_report_section("call", "gfxgraph", "\n".join(lines))
