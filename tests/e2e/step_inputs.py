"""A step with inputs of the caller's, on the real runtime: copies from and to the host, memory that the host writes,
buffers that take turns, a pointer that moves on. Called by itself within `gfxgraph run`."""

import os
import struct
import sys
import threading

from harness import main, require, run

SOURCE = os.path.join(os.path.dirname(__file__), "..", "..")
COUNT = 64
MODES = ("eager", "batch", "graph")


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def iterate(trace_path, mode, shift, first):
    """Goes on from the step `first` to the last one with other numbers than the program had, all in flight at once."""
    import gfxgraph

    trace = gfxgraph.Trace(trace_path)
    step_range = trace.range(f"step#{first}")
    given, offset = step_range.inputs()
    (result,) = step_range.outputs()
    require((given.size_bytes, offset.size_bytes, result.size_bytes) == (4 * COUNT, 4, 4 * COUNT), "transfers")
    require(sorted(one.pattern for one in step_range.parameters()) == ["step", "step", "swap", "swap"],
            f"{step_range.parameters()}")
    # What the recorded program had before this step.
    state = [0.0] * COUNT
    for n in range(first):
        state = [n + 0.5 * value + 11 * n for value in state]
    with gfxgraph.Session(trace, shift=shift) as session, session.step(step_range, mode) as step:
        outputs, expected = [], []
        for n in range(6 - first):
            inputs = [(i * (n + 3)) % 32 for i in range(COUNT)]
            step.advance(n)
            step.set_input(given, floats(inputs))
            step.set_input(offset, struct.pack("<i", 7 * n - 2))
            outputs.append(bytearray(4 * COUNT))
            step.set_output(result, outputs[-1])
            step.run()
            state = [own + 0.5 * before + 7 * n - 2 + first + n for own, before in zip(inputs, state)]
            expected.append(floats(state))
        step.wait()
        require(outputs == expected, f"{mode}, shift {shift}, from step {first}: "
                f"{[one == other for one, other in zip(outputs, expected)]}")
        # And as recorded, from the recorded state.
        step.restore()
        step.advance(0)
        for one in (given, offset):
            require(one.buffer != 0, "no buffer")
        step.set_input(given, floats([float(first)] * COUNT))
        step.set_input(offset, struct.pack("<i", 10 * first))
        step.run()
        report = step.verify()
        require(bool(report) and report.copies_identical == 1, f"{report}")


def iterate_all(trace):
    for mode in MODES:
        for shift in (False, True):
            for first in (1, 2, 5):  # step 0 writes the 0 that stood there
                iterate(trace, mode, shift, first)


def iterate_at_once(trace):
    """A session for each of four threads, which share nothing but the runtime; ctypes lets them run side by side."""
    errors = []

    def work(number):
        try:
            for n in range(6):
                iterate(trace, MODES[(number + n) % 3], number % 2 == 1, (1, 2, 5)[n % 3])
        except BaseException as error:  # shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def call_itself(build, trace, what):
    run(build.tool("gfxgraph", "run", "--device", "emulated", "--", sys.executable, __file__, what, trace),
        env={"GFXGRAPH_LIBRARY": str(build.root / "lib" / "libgfxgraph.so.0"),
             "PYTHONPATH": os.path.join(SOURCE, "replayer", "python")})


def threads(build, scratch):
    trace = scratch / "steps.gfxg"
    run(build.record(trace, build.programs / "steps", options=("--range", "step#0-5")))
    call_itself(build, trace, "--at-once")


def inputs(build, scratch):
    """From an early, a middle and the last recorded step, of a recording of all of them and of the program."""
    for options in ((), ("--range", "step#0-5")):
        trace = scratch / "steps.gfxg"
        run(build.record(trace, build.programs / "steps", options=("--force", *options)))
        call_itself(build, trace, "--iterate")


if __name__ == "__main__":
    if sys.argv[1] == "--iterate":
        iterate_all(sys.argv[2])
    elif sys.argv[1] == "--at-once":
        iterate_at_once(sys.argv[2])
    else:
        main({"inputs": inputs, "threads": threads})
