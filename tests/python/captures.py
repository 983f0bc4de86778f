"""A Python program that captures steps of itself: with HIP by ctypes, as CuPy's and Triton's launchers call it."""

import ctypes
import struct
import sys

from device import runtime
from package import environment

from harness import Failure, main, require, run

COUNT = 1024


class Hip:
    """The calls that the tests need, of the library that the process finds."""

    def __init__(self, code_object):
        self.library = runtime()
        self.module, self.function, self.stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("hipStreamCreateWithFlags", ctypes.byref(self.stream), 1)
        self.call("hipModuleLoad", ctypes.byref(self.module), code_object.encode())
        self.call("hipModuleGetFunction", ctypes.byref(self.function), self.module, b"add")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        require(result == 0, f"{name}: {result}")

    def memory(self, count=COUNT):
        made = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(made), ctypes.c_size_t(4 * count))
        self.call("hipMemset", made, 0, ctypes.c_size_t(4 * count))
        self.call("hipDeviceSynchronize")
        return made

    def add(self, memory, value):
        """Adds to each of the integers."""
        arguments = [memory, ctypes.c_int(value), ctypes.c_int(COUNT)]
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(one) for one in arguments))
        self.call("hipModuleLaunchKernel", self.function, COUNT // 256, 1, 1, 256, 1, 1, 0, self.stream, pointers, None)

    def read(self, memory):
        self.call("hipStreamSynchronize", self.stream)
        data = (ctypes.c_int * COUNT)()
        self.call("hipMemcpy", data, memory, ctypes.c_size_t(4 * COUNT), 2)
        require(len(set(data)) == 1, "words differ")
        return data[0]


def in_place(hip, gfxgraph):
    """The work is done once by the block, and once by each run; held work by runs alone."""
    memory = hip.memory()
    expected = 0
    for mode in ("eager", "batch", "graph", "packets", "auto"):
        for hold in (False, True):
            with gfxgraph.capture(hip.stream.value, mode=mode, hold=hold) as step:
                hip.add(memory, 5)
                hip.add(memory, 2)
            expected += 0 if hold else 7
            require(hip.read(memory) == expected, f"{mode}, {hold}: the block did {hip.read(memory)}, not {expected}")
            require(step.launches == 2, "launches")
            for _ in range(3):
                step.run(hip.stream.value)
            step.wait()  # mode eager has streams of its own
            expected += 21
            require(hip.read(memory) == expected, f"{mode}, {hold}: runs gave {hip.read(memory)}, not {expected}")
            step.close()


def held_by_hip(hip, gfxgraph):
    """HIP 5.2.3 launches functions of modules at once, whatever is captured: that is no held work, and is named."""
    memory = hip.memory()
    capture = gfxgraph.Capture(hip.stream.value, hold=True)
    hip.add(memory, 5)
    try:
        capture.end()
        raise Failure("held")
    except gfxgraph.Error as error:
        require("1 of the launches were done at once" in str(error) and "--capture --capture-api" in str(error), str(error))
    with gfxgraph.capture(hip.stream.value, mode="batch") as step:
        hip.add(memory, 2)
    step.run(hip.stream.value)
    require(hip.read(memory) == 9, f"{hip.read(memory)}")


def iterations(hip, gfxgraph):
    """Two iterations have a parameter, what differs between them; and a caller can name one."""
    memory = hip.memory()
    capture = gfxgraph.Capture(hip.stream.value, name="token")
    hip.add(memory, 10)
    capture.pause()
    capture.resume()
    require(capture.launches() == 1, "launches of a capture")
    hip.add(memory, 11)
    trace = capture.end()
    step_range = trace.range("token")
    (found,) = step_range.parameters()
    require((found.pattern, found.step) == ("step", 1), str(found))
    named = step_range.name_parameter("count", [gfxgraph.Place(launch=0, argument=2)])
    require(named.name == "count" and len(step_range.parameters()) == 2, str(named))
    with gfxgraph.Session(trace) as session, session.step(step_range, "graph") as step:
        step.advance(5)
        step.run(hip.stream.value)
        require(hip.read(memory) == 21 + 15, f"advanced: {hip.read(memory)}")
        step.set_parameter(found, 100)
        step.run(hip.stream.value)
        require(hip.read(memory) == 36 + 100, f"set: {hip.read(memory)}")


def borders(hip, gfxgraph):
    """Runs call the function at a border, between the work before and after it, and raise what it raises."""
    memory = hip.memory()
    seen = []

    def border(at):
        seen.append((at, hip.read(memory)))
        if len(seen) == 3:
            raise ConnectionError("at the border")
        hip.add(memory, 100)

    with gfxgraph.capture(hip.stream.value, mode="graph", border=border) as step:
        hip.add(memory, 1)
        step.capturing.border("between")
        hip.add(memory, 10)
    require(seen == [] and hip.read(memory) == 11, f"the block: {seen}")
    step.run(hip.stream.value)
    step.run(hip.stream.value)
    require(hip.read(memory) == 11 + 2 * 111, f"runs: {hip.read(memory)}")
    place = gfxgraph.Border("break", 0, "between")
    require(seen == [(place, 12), (place, 123)], f"borders: {seen}")
    try:
        step.run(hip.stream.value)
        raise Failure("nothing came out")
    except ConnectionError as error:
        require(str(error) == "at the border", str(error))
    require(hip.read(memory) == 234, f"the rest ran: {hip.read(memory)}")
    with gfxgraph.capture(hip.stream.value, mode="graph", border=lambda at: None) as other:
        hip.add(memory, 1)
        other.capturing.border("between")
    branches = gfxgraph.Branches([gfxgraph.Branch("a", 1, step), gfxgraph.Branch("b", 2, other)])
    seen.clear()
    seen += [None, None]
    try:
        branches.run("a", hip.stream.value)
        raise Failure("nothing came out of branches")
    except ConnectionError as error:
        require(str(error) == "at the border", str(error))
    require(branches.run("b", hip.stream.value).way == "graph", "the other branch")


def exceptions(hip, gfxgraph):
    """The program's own exception passes, and the next capture works."""
    memory = hip.memory()
    try:
        with gfxgraph.capture(hip.stream.value) as step:
            hip.add(memory, 1)
            step.capturing.pause()
            raise KeyError("of the program")
    except KeyError as error:
        require(error.args == ("of the program",), str(error))
    try:
        step.capturing.resume()
        raise Failure("a capture after its end")
    except RuntimeError as error:
        require("the block is over" in str(error), str(error))
    with gfxgraph.capture(hip.stream.value, mode="batch") as step:
        hip.add(memory, 1)
    step.run(hip.stream.value)
    require(hip.read(memory) == 3, f"{hip.read(memory)}")


def freed(hip, gfxgraph):
    """A step whose memory is gone refuses, and says which."""
    memory = hip.memory()
    with gfxgraph.capture(hip.stream.value, mode="graph") as step:
        hip.add(memory, 1)
    hip.call("hipFree", memory)
    try:
        step.run(hip.stream.value)
        raise Failure("ran")
    except gfxgraph.Error as error:
        require(error.status == 2 and "does not have it any more" in str(error), str(error))


def saved(hip, gfxgraph):
    """A capture with contents is a trace for elsewhere."""
    memory = hip.memory()
    hip.add(memory, 4)
    capture = gfxgraph.Capture(hip.stream.value, contents=True)
    hip.add(memory, 3)
    trace = capture.end()
    trace.save(sys.argv[4])
    with gfxgraph.Session(gfxgraph.Trace(sys.argv[4])) as session, session.step("step", "graph") as step:
        step.run()
        step.wait()
        require(bool(step.verify()), "not as recorded")
        (buffer,) = (one for one in session.trace.buffers() if one.size_bytes == 4 * COUNT)
        require(struct.unpack(f"<{COUNT}i", session.read(buffer)) == (7,) * COUNT, "values")
    require(hip.read(memory) == 7, "the program's own memory changed")


def without_hooks(hip, gfxgraph):
    try:
        gfxgraph.capture(hip.stream.value)
        raise Failure("captured")
    except gfxgraph.Error as error:
        require("gfxgraph run --capture-api" in str(error), str(error))


PROGRAMS = {"in_place": in_place, "held_by_hip": held_by_hip, "iterations": iterations, "borders": borders, "exceptions": exceptions,
            "freed": freed, "saved": saved, "without_hooks": without_hooks}


def program(what):
    def test(build, scratch):
        hooks = {"without_hooks": [], "in_place": ["--capture", "--capture-api"]}.get(what, ["--capture-api"])
        run(build.tool("gfxgraph", "run", *hooks, "--device", "emulated", "--", sys.executable, __file__, "--program", what,
                       str(build.root / "tests" / "capture" / "capture_forms.co"), str(scratch / "saved.gfxg")),
            env=environment(build))

    test.__doc__ = PROGRAMS[what].__doc__
    return test


if __name__ == "__main__":
    if sys.argv[1] == "--program":
        import gfxgraph

        PROGRAMS[sys.argv[2]](Hip(sys.argv[3]), gfxgraph)
    else:
        main({what: program(what) for what in PROGRAMS})
