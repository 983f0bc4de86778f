"""Flight recorders: what stays of a long run, at its end, when it is killed, and when somebody asks for it."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from harness import Failure, info, main, require, run

RECORDER = ("--flight-recorder",)
KEEP = {"GFXGRAPH_RECORD_KEEP_SEGMENTS": "1"}
# As by_name() of random_programs.py, and copies of nodes of launched graphs, of which nothing is recorded.
NAMED = re.compile("outside every buffer| 0 different [0-9]+ uncompared, copies [0-9]+ 0 [0-9]+$"
                   "|reads uninitialised memory")


def replay_all(build, traces):
    """Each of them, in every mode and layout, in one process."""
    inherited = os.environ.get("LD_LIBRARY_PATH")
    agent = str(build.root / "lib" / "gfxgraph") + (f":{inherited}" if inherited else "")
    done = run([str(build.root / "tests" / "programs_random" / "replay_many"), *map(str, traces)], expect={0, 1},
               env={"LD_LIBRARY_PATH": agent, "GPU_MAX_HW_QUEUES": "1"})  # some print: kHostCallsOfOneQueue
    lines = [line for line in done.stdout.splitlines() if ".gfxg " in line]  # kernels print, too
    wrong = [line for line in lines if not line.endswith(" ok") and not NAMED.search(line)]
    require(not wrong, "\n".join(wrong[:5]))
    told = {line.split(".gfxg ")[0] for line in lines}
    require(len(told) == len(traces), f"{len(told)} of {len(traces)} traces were replayed: {done.stderr[-2000:]}")


def launches(build, trace, expect=0):
    return info(build, trace, expect)["events"].get("launch", 0)


def record(build, trace, size, program, *arguments, env=None, **options):
    return run(build.record(trace, program, *arguments, options=(*RECORDER, size)), env=env, **options)


def segments(trace):
    def number(path):
        return int(re.search(r"kept-(\d+)", path.name)[1])
    return [*sorted(trace.parent.glob(f"{trace.stem}.kept-*.gfxg"), key=number), trace]


def programs(build, scratch, which):
    """Programs that must replay identically do so in pieces, too."""
    objects = {"@module": build.root / "tests" / "recorder_programs" / "module.co"}
    lines = [["samples/streams_events.hip"], ["samples/graph_capture.hip"], ["samples/struct_args.hip"],
             ["tests/recorder/programs/program_graphs.hip", "updates"], ["tests/recorder/programs/program_order.hip", "callbacks"],
             ["tests/recorder/programs/program_bytes.hip", "callback_pinned"],
             ["tests/recorder/programs/program_bytes.hip", "callback_while_read"]]
    if which != "few":
        lines = [line.split()[1:] for line in Path(which).read_text().splitlines() if re.match("(check|all) ", line)]
    pieces = ran = 0
    for source, *words in lines:
        arguments = [str(objects.get(word, word)) for word in words]
        name = source.removesuffix(".hip").rsplit("/", 1)[1]
        folders = {"samples/": build.samples / name,
                   "tests/recorder/": build.root / "tests" / "recorder_programs" / name,
                   "tests/hsa/hip/": build.root / "tests" / "hsa" / "hip" / f"hip_{name}"}
        program = next((path for folder, path in folders.items() if source.startswith(folder)), None)
        if program is None or not program.exists() or any(word.startswith("@") for word in arguments):
            continue
        for size in ("1", "7"):
            trace = scratch / f"{name}_{'_'.join(words).replace('@', '')}_{size}.gfxg"
            done = record(build, trace, size, program, *arguments, env=KEEP)
            if not trace.exists():
                require("no HIP calls" in done.stderr, f"{trace.name}: {done.stderr}")
                continue
            require("recording stopped" not in done.stderr, f"{trace.name}: {done.stderr}")
            traces = segments(trace)
            pieces += len(traces)
            try:
                replay_all(build, traces)
            except Failure as failure:
                raise Failure(f"{source} {words} in pieces of {size}: {failure}") from None
            for path in traces:
                path.unlink()
        ran += 1
    require(ran >= 7 and pieces > 10 * ran, f"{ran} programs in {pieces} pieces")


def bounded(build, scratch):
    """20,000 launches: two files, of which the older one is full."""
    trace, before = scratch / "t.gfxg", scratch / "t.previous.gfxg"
    done = record(build, trace, "3000", build.programs / "misbehave", "many")
    require(sorted(path.name for path in scratch.iterdir()) == [trace.name, before.name], os.listdir(scratch))
    require(str(before) in done.stderr, done.stderr)
    require(launches(build, before) == 3000, launches(build, before))
    require(0 < launches(build, trace) < 3000, launches(build, trace))
    replay_all(build, [before, trace])
    # Files that are there are not replaced, unless that was asked for.
    trace.unlink()
    done = record(build, trace, "3000", build.programs / "misbehave", "many", expect=1)
    require("t.previous.gfxg exists" in done.stderr, done.stderr)
    run(build.record(trace, build.programs / "misbehave", "many", options=(*RECORDER, "40KiB", "--force")))
    size = max(path.stat().st_size for path in (trace, before))
    require(size < 4 << 20, f"{size} bytes, of 40 KiB and what is on its way")


class Driven:
    """A program that launches as often as it is told to."""

    def __init__(self, build, trace, size, *options):
        command = build.record(trace, build.programs / "flight", "go_on", options=(*RECORDER, size, *options))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True)
        self.pid = int(self.process.stdout.readline().split()[1])
        self.sum = 0

    def go(self, count):
        self.process.stdin.write(f"go {count}\n")
        self.process.stdin.flush()
        self.sum += count
        line = self.process.stdout.readline()
        require(line == f"sum {self.sum}\n", f"{line!r}, not {self.sum}")

    def end(self):
        _, errors = self.process.communicate(timeout=60)
        require(self.process.returncode == 0, errors)
        return errors


def until(holds, what):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise Failure(f"{what} did not come")


def appears(path):
    until(path.exists, path)


def asked(build, scratch):
    """SIGUSR2: what is there stays, also while the program does nothing, and the recording goes on."""
    trace = scratch / "t.gfxg"
    program = Driven(build, trace, "10")
    program.go(25)  # 20 are in two files, of which one is left
    os.kill(program.pid, signal.SIGUSR2)
    appears(scratch / "t.kept-2.gfxg")
    program.go(35)
    program.process.send_signal(signal.SIGUSR2)  # to gfxgraph-record
    appears(scratch / "t.kept-4.gfxg")
    program.go(3)
    errors = program.end()
    traces = segments(trace)
    require([launches(build, path) for path in traces] == [10, 5, 10, 5, 3], [launches(build, p) for p in traces])
    for path in traces:
        require(str(path) in errors, errors)
    require(not (scratch / "t.previous.gfxg").exists(), os.listdir(scratch))
    replay_all(build, traces)


def killed(build, scratch):
    """kill -9: the file before the last is sealed; the last one is closed with what was handed over."""
    trace = scratch / "t.gfxg"
    program = Driven(build, trace, "10")
    program.go(34)
    until(lambda: launches(build, f"{trace}.partial", 3) == 4, "what is handed over every 100 ms")
    os.kill(program.pid, signal.SIGKILL)
    _, errors = program.process.communicate(timeout=60)
    require("t.previous.gfxg" in errors and f"closed as {trace}" in errors, errors)
    require(launches(build, scratch / "t.previous.gfxg") == 10, "the sealed one")
    require(launches(build, trace, {0, 3}) == 4, "of the last one")
    replay_all(build, [scratch / "t.previous.gfxg"])


def ended(build, scratch):
    """SIGTERM: both are sealed."""
    trace = scratch / "t.gfxg"
    program = Driven(build, trace, "10")
    program.go(34)
    os.kill(program.pid, signal.SIGTERM)
    program.process.communicate(timeout=60)
    require([launches(build, path) for path in (scratch / "t.previous.gfxg", trace)] == [10, 4], "launches")
    replay_all(build, [scratch / "t.previous.gfxg", trace])


def handlers(build, scratch):
    """A handler that the program has for SIGUSR2 gets it, as if nobody recorded."""
    for mode in ("handler_before", "handler_after"):
        trace = scratch / f"{mode}.gfxg"
        done = record(build, trace, "2", build.programs / "flight", mode)
        require(done.stdout == "seen 5\n", f"{mode}: {done.stdout}")
        require(not list(scratch.glob("*.kept-*")), os.listdir(scratch))


def threads(build, scratch):
    """Eight threads launch while files end and begin."""
    trace = scratch / "t.gfxg"
    done = record(build, trace, "100", build.programs / "flight", "threads", env=KEEP)
    require(done.stdout == "ok\n", done.stdout)
    traces = segments(trace)
    require(len(traces) > 2, f"{len(traces)} files")
    require(sum(launches(build, path) for path in traces) == 1600, [launches(build, path) for path in traces])
    replay_all(build, traces)


def processes(build, scratch):
    """A file name with %p: the manifest lists what came before each trace."""
    program = build.programs / "misbehave"
    run(build.record(scratch / "run-%p.gfxg", program, "many", options=(*RECORDER, "6000")))
    manifest = json.loads((scratch / "run.manifest.json").read_text())
    require(len(manifest["traces"]) == 1, manifest)
    entry = manifest["traces"][0]
    require(entry["earlier"] == [entry["file"].replace(".gfxg", ".previous.gfxg")], entry)
    require(launches(build, scratch / entry["earlier"][0]) == 6000, "the one before")
    shown = run(build.tool("gfxgraph", "info", scratch / "run.manifest.json")).stdout
    require("before it: " + entry["earlier"][0] in shown, shown)


def refused(build, scratch):
    program = build.programs / "flight"
    for options in (("0",), ("64MB",), ("5", "--range", "x"), ("5", "--launches", "1:2"), ("5", "--kernel", "x"),
                    ("5", "--profiler-range"), ("5", "--checkpoints")):
        done = run(build.record(scratch / "t.gfxg", program, options=(*RECORDER, *options)), expect=2)
        require("--flight-recorder" in done.stderr.splitlines()[0], f"{options}: {done.stderr}")


main({"programs": programs, "bounded": bounded, "asked": asked, "killed": killed, "ended": ended,
      "handlers": handlers, "threads": threads, "processes": processes, "refused": refused})
