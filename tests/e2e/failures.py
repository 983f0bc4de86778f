"""Programs that crash, fork, are killed or leave early; damaged traces; disks that are full."""

import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import time

from harness import Failure, info, main, require, run


def partial_of(trace):
    return trace.with_name(trace.name + ".partial")


def await_unlocked(path):
    """The killed program gives its lock back when the kernel has taken it down, a moment later."""
    deadline = time.monotonic() + 30
    while path.exists():
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                require(time.monotonic() < deadline, f"{path.name} stays locked after kill -9")
        time.sleep(0.02)


def readable_rest(build, scratch, trace, named=False):
    """What a dead recorder left: info describes it (exit code 3), recover makes a whole trace."""
    partial = partial_of(trace)
    require(partial.exists(), f"{partial.name} is missing; there is {list(scratch.iterdir())}")
    require(named or not trace.exists(), "an unfinished recording has the name of a finished one")
    report = info(build, partial, expect=3)
    require(not report["sealed"], "a torn trace counts as sealed")
    recovered = scratch / "recovered.gfxg"
    recovered.unlink(missing_ok=True)
    run(build.tool("gfxgraph", "recover", partial, "-o", recovered), expect={0, 3})
    after = info(build, recovered, expect={0, 3})
    require(after["events"] == report["events"], "recover lost events")
    return report


def sealed_at_exit(build, scratch, how, code):
    """The program ends in a way that lets the recorder seal; its exit code passes through."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.programs / "misbehave", how), expect=int(code))
    require(info(build, trace, expect={0, 3})["events"]["launch"] >= 3, "launches are missing")


def closed(build, trace, why, least):
    """gfxgraph-record has closed the trace of a program that died: it has its name, opens, says why it ends
    there, and what is in it replays."""
    require(not partial_of(trace).exists(), f"{partial_of(trace).name} is left")
    report = info(build, trace, expect={0, 3})
    require(report["sealed"] and not report["complete"], f"{report}")
    require(report["events"]["launch"] >= least, f"launches are missing: {report['events']}")
    text = run(build.tool("gfxgraph", "info", trace), expect={0, 3}).stdout
    require(why in " ".join(text.split()), f"nothing says why it ends:\n{text}")
    run(build.tool("gfxgraph", "verify", trace), expect={0, 3})
    run(build.replay(trace), expect=3)
    replayed = run(build.replay(trace, "--allow-incomplete", "--layout", "shift"), expect={0, 3})
    require(why in replayed.stderr, f"replay does not say what is missing:\n{replayed.stderr}")


def closed_at_death(build, scratch, how, number, least):
    """The program dies of itself; what was recorded before is a trace with its name."""
    trace = scratch / "t.gfxg"
    done = run(build.record(trace, build.programs / "misbehave", how), expect=128 + int(number))
    require(f"closed as {trace}" in done.stderr, done.stderr)
    closed(build, trace, f"the program was killed by signal {number} (", int(least))


def launches_for_ever(build, scratch, trace, options=()):
    """A recording of a program that launches until it is killed, and the program's process id."""
    process = subprocess.Popen(
        build.record(trace, build.programs / "misbehave", "hang", options=options), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = int(process.stdout.readline())
    until = time.monotonic() + 120
    seen = 0
    while seen < 6:  # handed over every 100 ms
        require(time.monotonic() < until, "no launch gets into the trace")
        done = run(build.tool("gfxgraph", "info", partial_of(trace), "--json"), expect={1, 3})
        seen = json.loads(done.stdout)["events"]["launch"] if done.returncode == 3 else 0
    return process, pid


def killed(build, scratch):
    """kill -9 and signals that nobody handles, from outside, while the program launches."""
    trace = scratch / "t.gfxg"
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGQUIT):
        process, pid = launches_for_ever(build, scratch, trace, ("--force",))
        os.kill(pid, number)
        _, errors = process.communicate(timeout=60)
        require(process.returncode == 128 + number, f"{process.returncode}: {errors}")
        closed(build, trace, f"the program was killed by signal {int(number)} (", 6)


def killed_beside_another(build, scratch):
    """The trace of a program that died replaces no other one, unless --force lets it."""
    trace = scratch / "t.gfxg"
    process, pid = launches_for_ever(build, scratch, trace)
    trace.write_text("of somebody else")
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    require(trace.read_text() == "of somebody else", "a file was replaced")
    require(f"{trace} exists by now" in errors, errors)
    require(f"next: gfxgraph recover {partial_of(trace)} -o NEW.gfxg" in errors, errors)
    readable_rest(build, scratch, trace, named=True)
    partial_of(trace).unlink()
    # Nothing was recorded: --force leaves no other run's trace behind.
    run(build.record(trace, build.programs / "misbehave", "early", options=("--force",)), expect=137)
    require(not trace.exists(), "an old trace looks like this run's")
    run(build.record(trace, build.programs / "misbehave", "kill_busy", options=("--force",)), expect=137)
    closed(build, trace, "killed by signal 9 (", 3)


def any_end(build, scratch, how, code):
    """The program leaves behind the recorder's back; there is a sealed trace."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.programs / "misbehave", how), expect=int(code))
    info(build, trace, expect={0, 3})


def kill_at_random(build, scratch, rounds):
    """kill -9 at random points: whatever is left can be read, from nothing to everything."""
    dice = random.Random(20260101)
    seen = 0
    for _ in range(int(rounds)):
        trace = scratch / "t.gfxg"
        for path in (trace, partial_of(trace)):
            path.unlink(missing_ok=True)
        process = subprocess.Popen(
            build.record(trace, build.programs / "misbehave", "hang"), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(dice.uniform(0.02, 1.2))
        # The recorder and the recorded program are one process group of their own.
        subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=True)
        process.wait()
        await_unlocked(partial_of(trace))
        if partial_of(trace).exists() and partial_of(trace).stat().st_size > 0:
            done = run(build.tool("gfxgraph", "info", partial_of(trace)), expect={1, 3})
            if done.returncode == 3:
                readable_rest(build, scratch, trace)
                seen += 1
    require(seen > 0, "no recording got as far as its first record; the test shows nothing")


def flipped(build, scratch, flips):
    """One flipped bit anywhere: an error or a correct answer, never a crash, never other contents."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "saxpy"))
    data = trace.read_bytes()
    dice = random.Random(20260102)
    bad = scratch / "bad.gfxg"
    caught = 0
    for _ in range(int(flips)):
        position, bit = dice.randrange(len(data)), dice.randrange(8)
        bad.write_bytes(data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1:])
        for command in (build.tool("gfxgraph", "info", bad), build.tool("gfxgraph", "verify", bad),
                        build.replay(bad, "--verify")):
            done = run(command, expect=None)
            caught += done.returncode != 0
            if done.returncode != 0 and not done.stderr.strip() and "truncated" not in done.stdout:
                raise Failure(f"bit {bit} of byte {position}: no message from {command}")
    require(caught > 0, "no flip was noticed")


def truncated(build, scratch, cuts):
    """A trace cut anywhere: every command says so and fails with exit code 1 or 3."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "saxpy"))
    data = trace.read_bytes()
    dice = random.Random(20260103)
    cut = scratch / "cut.gfxg"
    for _ in range(int(cuts)):
        cut.write_bytes(data[:dice.randrange(len(data))])
        for command in (build.tool("gfxgraph", "info", cut), build.tool("gfxgraph", "verify", cut),
                        build.replay(cut, "--verify"), build.tool("gfxgraph", "check", cut)):
            run(command, expect={1, 3})


def full_disk(build, scratch):
    """Writing the trace fails in the middle: the program does not notice; the user is told what failed, where,
    and what to do, and has a trace of what was recorded before."""
    trace = scratch / "t.gfxg"

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        # Enough for the files of the runtime's own compiler, too little for the trace.
        resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))

    done = run(build.record(trace, build.programs / "misbehave", "big"), expect=3, preexec=limit)
    require("big: done" in done.stdout, f"the program was disturbed:\n{done.stdout}")
    for text in (f"recording stopped: write {partial_of(trace)}: File too large", "next: make room for the trace",
                 f"the earlier recording is closed as {trace}",
                 f"next: gfxgraph-replay {trace} --allow-incomplete"):
        require(f"gfxgraph-record: {text}" in done.stderr, f"not said: {text}\n{done.stderr}")
    closed(build, trace, "recording stopped: write", 3)
    require(trace.stat().st_size > 8 << 20, "what was written before is lost")


def no_permission(build, scratch):
    """The trace cannot be created: said before the program starts."""
    trace = scratch / "missing-folder" / "t.gfxg"
    done = run(build.record(trace, build.samples / "saxpy"), expect={1, 2})
    require("missing-folder" in done.stderr, f"the path is not named:\n{done.stderr}")
    require("PASS" not in done.stdout, "the program ran although nothing could be recorded")


def not_hip(build, scratch):
    """A program without HIP runs as always; its trace is empty or absent, and that is said."""
    trace = scratch / "t.gfxg"
    done = run(build.record(trace, "/bin/echo", "hello"))
    require("hello" in done.stdout, f"the program did not run:\n{done.stdout}")
    require(done.stderr.strip(), "nothing says that no HIP call was seen")


def other_gpu(build, scratch):
    """A program compiled for other GPUs: HIP refuses it; what it lacks is said, with the remedy."""
    program = build.programs / "other_gpu"
    trace = scratch / "t.gfxg"
    what = "has code for gfx906, gfx90a only, the device is gfx1030"
    for command in (build.tool("gfxgraph", "run", "--", program), build.record(trace, program)):
        done = run(command, expect={1, 134, -6})
        require(what in done.stderr, f"the targets are not named:\n{done.stderr}")
        require("--offload-arch=gfx1030" in done.stderr, f"no remedy:\n{done.stderr}")
        require("check that it uses HIP" not in done.stderr, f"a wrong guess:\n{done.stderr}")
    require(not trace.exists(), "a trace of nothing")


def ends_by_its_own_check(done):
    """The agent's diagnosis, then what the program says of HIP's error; it ends by itself."""
    require("write_to" in done.stderr, f"the kernel is not named:\n{done.stderr}")
    require("misbehave.hip:" in done.stderr, f"the line is not named:\n{done.stderr}")
    lines = done.stderr.splitlines()
    faults = [n for n, line in enumerate(lines) if "gfxgraph: device fault: launch 4: memory" in line]
    errors = [n for n, line in enumerate(lines) if line == "hipErrorIllegalAddress"]
    require(len(faults) == 1 and len(errors) == 1 and faults[0] < errors[0],
            f"not one diagnosis and then one error of HIP:\n{done.stderr}")


def device_fault(build, scratch):
    """A kernel that writes to nowhere: named by the agent, then an error of HIP, which the program handles."""
    command = build.tool("gfxgraph", "run", "--", build.programs / "misbehave", "fault")
    ends_by_its_own_check(run(command, expect=5))
    # The loader splits LD_PRELOAD at spaces; what the user preloads stays, and an own exit code as well.
    spaced = scratch / "a folder"
    spaced.symlink_to(build.root / "lib" / "gfxgraph")
    elsewhere = {"GFXGRAPH_LIBDIR": str(spaced), "LD_PRELOAD": "libm.so.6"}
    ends_by_its_own_check(run(command, expect=5, env=elsewhere))
    recorded = build.record(scratch / "t.gfxg", build.programs / "misbehave", "fault")
    ends_by_its_own_check(run(recorded, expect=5, env=elsewhere))
    aborted = run(command, expect={134, -6}, env={"GFXGRAPH_ON_FAULT": "abort"})
    require("device fault: launch 4" in aborted.stderr, f"no diagnosis:\n{aborted.stderr}")
    require("hipErrorIllegalAddress" not in aborted.stderr, "HIP did not end the process")


def recorded_fault(build, scratch):
    """While recording as without; the trace holds the launch that faulted, and check says why."""
    trace = scratch / "t.gfxg"
    done = run(build.record(trace, build.programs / "misbehave", "fault"), expect=5)
    ends_by_its_own_check(done)
    summary = info(build, trace, expect=3)  # the address that faults lies in no buffer
    require(summary["events"]["launch"] == 4, "the launch that faulted is missing")
    require("failed or did not become idle" in done.stderr, f"no note on the end:\n{done.stderr}")
    checked = run(build.tool("gfxgraph", "check", trace), expect=4)
    require("error E1: kernel write_to" in checked.stdout, f"not found:\n{checked.stdout}")
    for mode in ("eager", "batch", "graph"):
        replayed = run(build.replay(trace, "--mode", mode, "--allow-incomplete"), expect=1)
        fault = replayed.stderr.find("device fault: launch 4: memory access fault: kernel _Z8write_to")
        error = replayed.stderr.find(": hipErrorIllegalAddress")
        require(0 <= fault < error,
                f"{mode}: no diagnosis, or no error of HIP after it:\n{replayed.stderr}")
        require("times of" not in replayed.stdout, f"{mode}: measured a fault:\n{replayed.stdout}")


main({name: value for name, value in list(globals().items()) if callable(value)})
