"""What the end-to-end tests share: the programs of a build tree, runs with time limits, checks."""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path


class Failure(Exception):
    """A check that did not hold."""


class Build:
    """The programs of one build tree, and a scratch folder."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.bin = self.root / "bin"
        self.samples = self.root / "samples"
        self.programs = self.root / "tests" / "e2e"

    def tool(self, name, *arguments):
        return [str(self.bin / name), *map(str, arguments)]

    def record(self, trace, program, *arguments, options=()):
        return self.tool("gfxgraph-record", "--device", "emulated", *options, "-o", trace, "--",
                         program, *arguments)

    def replay(self, trace, *options):
        return self.tool("gfxgraph-replay", trace, "--device", "emulated", *options)


def run(command, expect=0, timeout=300, env=None, preexec=None):
    """Runs a command to its end. `expect`: the exit code, a set of them, or None for any that is no
    signal. A failure prints the command, so that it can be repeated by hand."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=timeout, preexec_fn=preexec,
                              env={**os.environ, **(env or {})})
    except subprocess.TimeoutExpired:
        raise Failure(f"no end after {timeout} s: {shlex.join(command)}") from None
    expected = {expect} if isinstance(expect, int) else expect
    wrong = done.returncode < 0 if expected is None else done.returncode not in expected
    # A crash of a command that reads a trace in its worker process.
    wrong = wrong or "the worker process crashed" in done.stderr or "the sandbox forbids" in done.stderr
    if wrong:
        code = done.returncode
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        raise Failure(f"{shlex.join(command)}\n  ended with {ended}, expected {expect}\n"
                      f"--- stdout\n{done.stdout[-4000:]}\n--- stderr\n{done.stderr[-4000:]}")
    return done


def require(condition, message):
    if not condition:
        raise Failure(message)


def info(build, trace, expect=0):
    return json.loads(run(build.tool("gfxgraph", "info", trace, "--json"), expect).stdout)


def main(tests):
    """harness.main({name: function}): argv is NAME BUILD_TREE [arguments...]."""
    name, root, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="gfxgraph-e2e-") as scratch:
        try:
            tests[name](Build(root), Path(scratch), *arguments)
        except Failure as failure:
            print(f"FAIL {name}: {failure}")
            sys.exit(1)
    print(f"ok {name}")
