"""A kernel that faults under replay ends the replay with an error, whatever the options."""

from harness import main, require, run

DIAGNOSES = {
    "store": ("memory access fault: kernel _Z5store", "hipErrorIllegalAddress"),
    "load": ("memory access fault: kernel _Z4load", "hipErrorIllegalAddress"),
    "trap": ("trap: kernel _Z4trap", "hipErrorLaunchFailure"),
    "assert": ("assertion `what[512] == 0' failed", "hipErrorAssert"),
    "jump": ("illegal instruction: kernel _Z4jump", "hipErrorLaunchFailure"),
    "host_call": ("host", "hipError"),
}
OPTIONS = (("--repeat", "3"), ("--verify",), ("--bisect",), ("--layout", "shift"), ("--no-verify", "--repeat", "3"))


def replay(build, scratch, kind, mode):
    """All options of a mode; what comes behind the fault neither hides it nor hangs."""
    trace, wrong = scratch / "t.gfxg", scratch / "wrong.gfxg"
    run(build.record(trace, build.programs / "faults", kind))
    run(build.replay(trace, "--mode", mode, "--verify"))
    run([str(build.root / "tests" / "flip_input"), str(trace), str(wrong), "4096"])
    diagnosis, error = DIAGNOSES[kind]
    for options in OPTIONS:
        done = run(build.replay(wrong, "--mode", mode, *options), expect=1)
        at = done.stderr.find(diagnosis)
        require(at >= 0, f"{options}: no diagnosis:\n{done.stderr}")
        require(error in done.stderr[at:], f"{options}: HIP returned no error:\n{done.stderr}")
        require("times of" not in done.stdout, f"{options}: measured a fault:\n{done.stdout}")
        require("identical" not in done.stdout, f"{options}: compared after a fault:\n{done.stdout}")


main({"replay": replay})
