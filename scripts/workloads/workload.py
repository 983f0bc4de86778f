"""What is measured of one program, the same for all: it runs on the software agent, is recorded, replayed in each mode and layout, and
checked. scripts/workloads/all says which programs there are."""

import json
import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

REPOSITORY = Path(__file__).resolve().parent.parent.parent
MODES = ("eager", "batch", "graph")
LAYOUTS = ("same", "shift")
SECONDS = 1800  # for each command
RUNTIMES = {"": "5.2.3", "trixie": "5.7.1", "forky": "6.4.3", "sid": "6.4.3", "experimental": "7.2.4"}


class Skipped(Exception):
    """The program is not here: what to do about it."""


class Broken(Exception):
    """A step failed, so that nothing behind it can be said."""


@dataclass
class Workload:
    """A program. `suite`: the root it runs in, "" for this system. `command` is made when the scratch folder is there."""
    name: str
    suite: str
    command: Callable[[Path], list]
    # The program's output when it ran, and the folder: what is said of its result against an independent one. Raises Broken.
    judge: Callable[[str, Path], str]
    needs: list = field(default_factory=list)  # files in the root
    remedy: str = ""
    environment: dict = field(default_factory=dict)
    output: Callable[[str], str] = staticmethod(lambda text: text)  # of what it prints, what is the same in each run
    # Of the trace, and the folder: what is said of a program that replays it through libgfxgraph. Raises Broken.
    linked: Callable[[Path, Path], str] = None
    checked: bool = True  # the emulator runs each launch once more, which takes as long as the program
    modes: tuple = MODES
    check_options: tuple = ()


def inside(suite, command, environment=None):
    """The environment is the command's alone: not that of the programs that enter the root."""
    settings = [f"{name}={value}" for name, value in (environment or {}).items()]
    return [*(["scripts/with-runtime", suite, "--inside", "--"] if suite else []), *(["env", *settings] if settings else []),
            *map(str, command)]


def run(suite, command, environment=None, codes=(0,)):
    """Its result, and the seconds that it took."""
    begun = time.monotonic()
    done = subprocess.run(inside(suite, command, environment), cwd=REPOSITORY, capture_output=True, text=True, errors="replace",
                          check=False, timeout=SECONDS, env={**os.environ, "LC_ALL": "C"})
    if done.returncode not in codes:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or [""]
        raise Broken(f"{Path(str(command[0])).name} ended with {done.returncode}: {last[0][:160]}")
    return done, time.monotonic() - begun


def repeats(info):
    """How often the program went through what it does most often: ranges of one name, or else a period that was found."""
    named = Counter(one["name"] for one in info.get("ranges", []))
    found = [period["repeats"] for period in info.get("periods", [])]
    return max([*named.values(), *found], default=0)


def pointers(relocations):
    """How many words are addresses, by how that is known."""
    counts = {kind: relocations[kind] for kind in ("typed", "proven", "matched", "ambiguous")}
    return counts | {"by_rule": sum(site["count"] for site in relocations["sites"] if "rule (" in site["reason"])}


class Measured:
    """One row of docs/results/workloads.md."""

    def __init__(self, workload, build, scratch):
        self.workload, self.build = workload, build
        self.scratch = scratch / (workload.suite or "here") / workload.name
        self.trace = self.scratch / "trace.gfxg"

    def tool(self, name, *arguments, codes=(0,)):
        return run(self.workload.suite, [self.build / "bin" / name, *arguments], self.workload.environment, codes)

    def accelerated(self, printed=None):
        """What they print bare (`printed`, if that is known) and accelerated, measured and with graphs of all that repeats: what is
        wrong, and the report of each."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        wrong, reports, path = [], {}, self.scratch / "accelerate.json"
        try:
            program = self.workload.command(self.scratch)
            if printed is None:
                printed = self.tool("gfxgraph", "run", "--device", "emulated", "--", *program)[0].stdout
            for way in ("graph", "measured"):
                path.unlink(missing_ok=True)
                words = ["--device", "emulated", "--json", path]
                done, _ = run(self.workload.suite, ["env", f"GFXGRAPH_ACCELERATE_WAY={way}", self.build / "bin/gfxgraph", "accelerate",
                                                    *words, "--", *program], self.workload.environment)
                if path.exists():  # not if it launched nothing
                    reports[way] = json.loads(path.read_text(encoding="utf-8"))
                if self.workload.output(done.stdout) != self.workload.output(printed):
                    wrong.append(f"{way}: it prints something else")
        except (Broken, subprocess.TimeoutExpired) as problem:
            wrong.append(str(problem))
        return wrong, reports

    def row(self, only_check=False):
        row = {"program": self.workload.name, "runtime": RUNTIMES[self.workload.suite]}
        try:
            if only_check:
                self.record_and_check(row)
            else:
                self.measure(row)
        except (Broken, subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
            row["broken"] = str(problem)
        return row

    def record_and_check(self, row):
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.tool("gfxgraph-record", "--device", "emulated", "--force", "-o", self.trace, "--", *self.workload.command(self.scratch))
        row["check"], row["seconds_checked"] = self.check()

    def measure(self, row):
        self.scratch.mkdir(parents=True, exist_ok=True)
        program = self.workload.command(self.scratch)
        bare, row["seconds"] = self.tool("gfxgraph", "run", "--device", "emulated", "--", *program)
        row["result"] = self.workload.judge(bare.stdout, self.scratch)
        recorded, row["seconds_recorded"] = self.tool("gfxgraph-record", "--device", "emulated", "--force", "-o", self.trace, "--",
                                                      *program)
        if self.workload.output(recorded.stdout) != self.workload.output(bare.stdout):
            raise Broken("it prints something else when it is recorded")
        info = json.loads(self.tool("gfxgraph", "info", self.trace, "--json", "--ranges", codes=(0, 3))[0].stdout)
        row |= {"launches": 0, "kernels": len(info["kernels"]),
                "complete": info["complete"], "bytes": self.trace.stat().st_size,
                "iterations": repeats(info),
                "pointers": pointers(info["relocations"]),
                "notes": sorted({finding["call"] for finding in info["findings"]})}
        row["replays"] = {f"{mode} {layout}": self.replay(row, mode, layout) for mode in self.workload.modes for layout in LAYOUTS}
        if self.workload.linked:
            row["result"] = self.workload.linked(self.trace, self.scratch)
        if self.workload.checked:
            row["check"], row["seconds_checked"] = self.check()
        return info, bare.stdout

    def replay(self, row, mode, layout):
        """"identical", or what is not."""
        said = self.scratch / "replay.json"
        said.unlink(missing_ok=True)
        try:
            self.tool("gfxgraph-replay", self.trace, "--device", "emulated", "--mode", mode, "--layout", layout, "--quiet", "--json", said,
                      *([] if row["complete"] else ["--allow-incomplete"]), codes=(0, 1, 3))
        except Broken as problem:
            return str(problem)
        if not said.exists():
            return "refused"
        found = json.loads(said.read_text(encoding="utf-8"))
        if found.get("error"):
            return str(found["error"])[:160]
        row["launches"] = found["launches"]  # with those of graphs
        buffers, copies = found["buffers"], found["copies_to_host"]
        if not found["identical"]:
            return f"{buffers['different']} buffers and {copies['different']} copies to the host differ"
        uncompared = buffers["uncompared"] + copies["uncompared"]
        return f"identical, {uncompared} not compared" if uncompared else "identical"

    def check(self):
        done, seconds = self.tool("gfxgraph", "check", self.trace, "--format", "json", *self.workload.check_options, codes=(0, 1, 3, 4))
        found = json.loads(done.stdout)
        named = sorted({f"{one['class']} {one['kernel']}: {one['summary']}" for one in found["findings"] if one["severity"] != "note"})
        return {key: found[key] for key in ("launches", "errors", "warnings", "not_checked_count")} | {"named": named}, seconds
