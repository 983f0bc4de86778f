"""What a replay says of programs that are not the same twice, of wrong traces, and of its limits."""

import json
import os
import signal
import subprocess
import sys
import time

from harness import info, main, require, run

THREADS = "GFXGRAPH_THREADS"


def report_of(build, scratch, trace, expect, *options, env=None):
    path = scratch / "report.json"
    done = run(build.replay(trace, "--json", path, *options), expect=expect, env=env)
    return json.loads(path.read_text()), done


def unordered(build, scratch, what):
    """Atomics or a race: a replay that differs is the program's own doing, named, and exit code 3."""
    kernel, cause = {"sum": ("_Z3sum", "atomics"), "race": ("_Z12racing_count", "a data race")}[what]
    trace = scratch / "t.gfxg"
    for _ in range(12):
        run(build.record(trace, build.programs / "unordered_sum", what, options=("--force",)),
            env={THREADS: "4"})
        report, done = report_of(build, scratch, trace, {0, 3}, "--mode", "batch", env={THREADS: "1"})
        if report["buffers"]["different"] != 0:
            break
    require(report["buffers"]["different"] != 0, "four threads came in the order of one, 12 times")
    schedule = report["nondeterminism"]
    require(schedule["explains_difference"], f"{schedule}")
    require(f"kernel {kernel}" in schedule["at"], f"the wrong launch: {schedule}")
    require(schedule["cause"] == cause, f"{schedule}")
    require(f"the order of its workgroups shows: {cause};" in " ".join(done.stdout.split()), done.stdout)
    require(report["buffers"]["different"] <= len(schedule["varying_buffers"]) < 4, f"{schedule}")
    require("own nondeterminism" in done.stderr, done.stderr)
    require("times of" not in done.stdout, done.stdout)

    # The same trace with one input byte changed is wrong: no schedule makes the squares come out.
    wrong = scratch / "wrong.gfxg"
    run([str(build.root / "tests" / "flip_input"), str(trace), str(wrong), "65536"])
    report, done = report_of(build, scratch, wrong, 1, "--mode", "batch", env={THREADS: "1"})
    require(not report["nondeterminism"]["explains_difference"], f"{report['nondeterminism']}")


def flipped_input(build, scratch):
    """A wrong input byte in a program that is the same each time: wrong, and no excuse is found."""
    trace, wrong = scratch / "t.gfxg", scratch / "wrong.gfxg"
    run(build.record(trace, build.samples / "saxpy"))
    run([str(build.root / "tests" / "flip_input"), str(trace), str(wrong), "64"])
    report, done = report_of(build, scratch, wrong, 1, "--bisect")
    require(report["nondeterminism"]["checked"], f"{report['nondeterminism']}")
    require(report["nondeterminism"]["varying_buffers"] == [], f"{report['nondeterminism']}")
    require("does not come from the order of workgroups" in " ".join(done.stdout.split()), done.stdout)


def limits(build, scratch):
    """Limits are looked at before the work, and the time limit ends whatever is going on."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "saxpy"))
    for option, value, message in (("--max-operations", 2, "more than 2 operations"),
                                   ("--max-memory", 4096, "nothing was allocated"),
                                   ("--max-seconds", 0.01, "--max-seconds")):
        done = run(build.replay(trace, option, value, "--mode", "batch", "--repeat", "100000"),
                   expect=1, timeout=120)
        require(message in done.stderr, f"{option}: {done.stderr}")


def interrupted_early(build, scratch):
    """Ctrl-C in the first run, which nothing times: the process ends by it, and says that there is no result."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "decode_step", "--tokens", 2))
    command = [str(word) for word in build.replay(trace, "--mode", "batch", "--repeat", "3")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "GFXGRAPH_DELAYS": "300000"}) as replay:
        said = ""
        while "device: " not in said:  # the last line before that run
            line = replay.stderr.readline()
            require(line != "", f"it ended before: {said}")
            said += line
        replay.send_signal(signal.SIGINT)
        said += replay.stderr.read()
        code = replay.wait(60)
    require(code == -signal.SIGINT and "nothing was measured" in said, f"{code}: {said}")


def interrupted_iterations(build, scratch):
    """Ctrl-C in --iterations: those that were made are reported, and the file of --output holds them."""
    trace, output, report = (scratch / name for name in ("t.gfxg", "history", "report.json"))
    run(build.record(trace, build.samples / "decode_step", "--tokens", 1))
    command = build.replay(trace, "--mode", "batch", "--range", "decode#0", "--iterations", 10**9, "--output", f"history={output}",
                           "--json", report)
    parent, child = os.openpty()  # progress is shown on terminals only
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=child,
                          text=True) as replay:
        os.close(child)
        said = b""
        while b"iteration " not in said:
            chunk = os.read(parent, 4096)
            require(chunk, f"it ended before: {said}")
            said += chunk
        replay.send_signal(signal.SIGINT)
        text = replay.stdout.read()
        code = replay.wait(60)
    os.close(parent)
    made = json.loads(report.read_text())
    require(code == 130 and 0 < made["iterations"] < made["iterations_asked"] == 10**9, f"{code}: {made}")
    require(f"iterations: {made['iterations']}, interrupted, of 1000000000" in text, text)
    require(output.stat().st_size == 256, "the output is not written")


def long_program(build, scratch):
    """20,000 launches in graph mode: split by default, and a signal ends the replay at any time."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.programs / "misbehave", "many"))
    report, _ = report_of(build, scratch, trace, 0, "--mode", "graph", "--verify")
    require(report["graph"]["graphs"] > 1, f"{report['graph']}")
    for mode in ("graph", "eager"):
        for delay in (0.05, 0.4, 1.0):
            process = subprocess.Popen(build.replay(trace, "--mode", mode, "--repeat", "1000"),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            require(process.wait(timeout=60) == -signal.SIGTERM, f"{mode}: {process.returncode}")


def recorded(build, scratch):
    """A replay is a HIP program, too, and so is one that links the library, which finds HIP by itself."""
    first = scratch / "first.gfxg"
    run(build.record(first, build.samples / "decode_step", "--tokens", 2))
    replay = build.replay(first, "--verify")
    script = ("import sys, gfxgraph; trace = gfxgraph.Trace(sys.argv[1]); session = gfxgraph.Session(trace); "
              "step = session.step('all', 'batch'); step.run(); step.wait(); assert step.verify()")
    library = {"GFXGRAPH_LIBRARY": str(build.root / "lib" / "libgfxgraph.so.0.2"),
               "PYTHONPATH": os.path.join(os.path.dirname(__file__), "..", "..", "replayer", "python")}
    def launches(report):
        return sum(kernel["launches"] + kernel["graph_nodes"] for kernel in report["kernels"])

    recorded_launches = launches(info(build, first))
    programs = {mode: (*replay, "--mode", mode) for mode in ("eager", "batch", "graph")}
    programs["python"] = (sys.executable, "-c", script, first)
    for name, program in programs.items():
        second = scratch / f"{name}.gfxg"
        run(build.record(second, *program), env=library)
        report = info(build, second)
        require(report["complete"] and launches(report) >= recorded_launches, f"{name}: {report['findings']}")
        run(build.replay(second, "--mode", "batch", "--layout", "shift", "--verify"))


main({"unordered": unordered, "recorded": recorded, "flipped_input": flipped_input, "limits": limits,
      "interrupted_early": interrupted_early, "interrupted_iterations": interrupted_iterations, "long_program": long_program})
