"""A kernel that faults under replay ends the replay with an error within a second, whatever the options.
Kernels of a replay make the host call nothing."""

import re
import shlex
import signal
import subprocess
import threading
import time

from harness import Failure, main, require, run

DIAGNOSES = {
    "store": ("memory access fault: kernel _Z5store", "hipErrorIllegalAddress"),
    "load": ("memory access fault: kernel _Z4load", "hipErrorIllegalAddress"),
    "trap": ("trap: kernel _Z4trap", "hipErrorLaunchFailure"),
    "assert": ("assertion `what[512] == 0' failed", "hipErrorAssert"),
    "jump": ("illegal instruction: kernel _Z4jump", "hipErrorLaunchFailure"),
    "host_call": ("host call of service 1", "hipErrorLaunchFailure"),
}
# The buffer is out of reach, or the device sees a copy, whose packets are refused. A kernel that writes to the copy
# without a message is not looked at: nothing differs then but the input that the test changed.
SPIN = re.compile("(memory access fault: kernel _Z4spin|rejected by GFXGRAPH_HOST_CALLS=deny)"
                  "(.|\n)*hipError(IllegalAddress|LaunchFailure)"
                  "|run 1: 1 of 3 buffers and 0 of 1 copies differ")
OPTIONS = (("--repeat", "3"), ("--verify",), ("--bisect",), ("--layout", "shift"), ("--no-verify", "--repeat", "3"))
LONGEST = 1.0  # seconds from the diagnosis to the end of the process
TRIES = 3  # a busy machine may take that long to schedule it


class Ended:
    """A command that ran to its end: what it printed, and how long after the line with `text` it went on."""

    def __init__(self, command, text):
        self.line_at = None
        lines = []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace") as process:
            def read():
                for line in process.stderr:
                    if self.line_at is None and text in line:
                        self.line_at = time.monotonic()
                    lines.append(line)

            reader = threading.Thread(target=read)
            reader.start()
            ended_at = []
            waiter = threading.Thread(target=lambda: ended_at.append((process.wait(), time.monotonic())[1]))
            waiter.start()
            timer = threading.Timer(300, process.kill)
            timer.start()
            self.stdout = process.stdout.read()
            waiter.join()
            timer.cancel()
            reader.join()
        self.code = process.returncode
        self.stderr = "".join(lines)
        self.seconds = None if self.line_at is None else ended_at[0] - self.line_at


def replay(build, scratch, kind, mode):
    """All options of a mode; what comes behind the fault neither hides it nor hangs."""
    trace, wrong = scratch / "t.gfxg", scratch / "wrong.gfxg"
    run(build.record(trace, build.programs / "faults", kind))
    run(build.replay(trace, "--mode", mode, "--verify"))
    run([str(build.root / "tests" / "flip_input"), str(trace), str(wrong), "4096"])
    diagnosis, error = DIAGNOSES[kind]
    for options in OPTIONS:
        command = build.replay(wrong, "--mode", mode, *options)
        times = []
        while not times or (times[-1] >= LONGEST and len(times) < TRIES):
            done = Ended(command, diagnosis)
            if done.code != 1:
                raise Failure(f"{shlex.join(command)}\n  ended with {done.code}\n{done.stdout}\n{done.stderr}")
            at = done.stderr.find(diagnosis)
            require(at >= 0, f"{options}: no diagnosis:\n{done.stderr}")
            require(error in done.stderr[at:], f"{options}: HIP returned no error:\n{done.stderr}")
            require("times of" not in done.stdout, f"{options}: measured a fault:\n{done.stdout}")
            require("identical" not in done.stdout, f"{options}: compared after a fault:\n{done.stdout}")
            times.append(done.seconds)
        require(times[-1] < LONGEST, f"{options}: went on for {times} s after the diagnosis")
        print(f"{shlex.join(options)}: ended {times[-1]:.3f} s after the diagnosis")


def allowed(build, scratch, kind):
    """Without the denial the host does call the address that a kernel sends, which is no function."""
    trace, wrong = scratch / "t.gfxg", scratch / "wrong.gfxg"
    run(build.record(trace, build.programs / "faults", kind))
    run([str(build.root / "tests" / "flip_input"), str(trace), str(wrong), "4096"])
    done = Ended(build.replay(wrong, "--mode", "eager", "--allow-host-calls"), "device fault")
    require(done.code == -signal.SIGSEGV, f"ended with {done.code}\n{done.stdout}\n{done.stderr}")


def spin(build, scratch):
    """A kernel that waits for the buffer which HIP makes for the next one, before that is dispatched."""
    trace, wrong = scratch / "t.gfxg", scratch / "wrong.gfxg"
    run(build.record(trace, build.programs / "faults", "spin"))
    run(build.replay(trace, "--verify"))
    run([str(build.root / "tests" / "flip_input"), str(trace), str(wrong), "4096"])
    for mode in ("eager", "batch"):
        done = run(build.replay(wrong, "--mode", mode), expect=1)
        require(SPIN.search(done.stderr), f"{mode}: {done.stderr}")


main({"replay": replay, "allowed": allowed, "spin": spin})
