"""A step with inputs of the caller's, on the real runtime: copies from and to the host, memory that the host writes,
buffers that take turns, a pointer that moves on. Called by itself within `gfxgraph run`."""

import ctypes
import os
import struct
import sys
import threading

from harness import main, require, run

SOURCE = os.path.join(os.path.dirname(__file__), "..", "..")
COUNT = 64
MODES = ("eager", "batch", "graph", "packets")


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


def refused(call, *texts):
    import gfxgraph

    try:
        call()
    except gfxgraph.Error as error:
        require(error.status == 1 and all(text in str(error) for text in texts), str(error))
        return
    require(False, f"not refused: {texts}")


def set_values(trace_path, mode):
    """Step 2 with another position, place, factor and grid, into memory of the caller."""
    import gfxgraph

    step_range = gfxgraph.Trace(trace_path).range("step#2")
    rising = [one for one in step_range.parameters() if one.pattern == "step"]
    (position,) = (one for one in rising if one.buffer == 0)
    (place,) = (one for one in rising if one.buffer != 0)
    state = 0.0  # what the recorded program had before this step
    for n in range(2):
        state = n + 0.5 * state + 11 * n
    size = 6 * 4 * COUNT
    mine = ctypes.c_void_p()
    with gfxgraph.Session(step_range.trace) as session:
        hip = ctypes.CDLL(session._info().hip_library.decode())
        require(hip.hipMalloc(ctypes.byref(mine), ctypes.c_size_t(size)) == 0, "hipMalloc")
        refused(lambda: session.bind(place.buffer, mine.value, size - 1), f"needs {size} bytes, not {size - 1}")
        with session.step(step_range, mode) as step:
            session.bind(place.buffer, mine.value, size)
            launch = step._info().first_launch
            step.set_parameter(position, 40)
            step.set_parameter(place, 5 * 4 * COUNT, place.buffer)
            step.set_argument(launch, 44, struct.pack("<f", 0.25))
            step.set_grid(launch, 2)  # both workgroups write the same
            step.run()
            scratch = 2.0 + 0.25 * state
            require(session.read(place.buffer, 5 * 4 * COUNT, 4 * COUNT) == floats([scratch] * COUNT), f"{mode}: cache")
            (result,) = step_range.outputs()
            require(step.read_output(result) == floats([scratch + 20 + 40] * COUNT), f"{mode}: result")
            require(session.address(place.buffer) == mine.value, "bound elsewhere")
            refused(lambda: step.set_parameter(place, size + 1, place.buffer), place.name, "advance")
            refused(lambda: step.set_argument(launch, 1000, b"1234"), "outside")
            refused(lambda: step.set_grid(launch, 0), "empty grid")
    require(hip.hipFree(mine) == 0, "hipFree")


def iterate_all(trace):
    for mode in MODES:
        for shift in (False, True):
            for first in (1, 2, 5):  # step 0 writes the 0 that stood there
                iterate(trace, mode, shift, first)
        set_values(trace, mode)


def iterate_at_once(trace):
    """A session for each of four threads, which share nothing but the runtime; ctypes lets them run side by side."""
    errors = []

    def work(number):
        try:
            for n in range(6):
                iterate(trace, MODES[(number + n) % len(MODES)], number % 2 == 1, (1, 2, 5)[n % 3])
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
        env={"GFXGRAPH_LIBRARY": str(build.root / "lib" / "libgfxgraph.so.0.2"),
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
