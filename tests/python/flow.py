"""Branches, loops, compositions and pipelines from Python: values, what chose them, and exceptions."""

import os

from device import programs, raises

from harness import require

COUNT = 64


class Work:
    """Adds a value to each of the integers of an array; counts its calls."""

    def __init__(self, hip, array, value):
        self.hip, self.array, self.value, self.calls = hip, array, value, 0

    def __call__(self, call):
        self.calls += 1
        self.hip.add(self.array.address, self.value, self.array.count, call.stream)


def branches(hip, gfxgraph):
    """Each run does the branch of its value, and no other; unknown values are refused by the names."""
    array = hip.array([0] * COUNT)
    one, ten = Work(hip, array, 1), Work(hip, array, 10)
    both = gfxgraph.Branches([gfxgraph.Branch("one", 4, one), gfxgraph.Branch("ten", -7, ten)], name="choice")
    expected = 0
    for turn, (which, value) in enumerate((("one", 1), (-7, 10), (4, 1), ("ten", 10), ("ten", 10), (4, 1))):
        result = both.run(which, hip.stream.value)
        expected += value
        require(array.read() == [expected] * COUNT, f"{turn}: {array.read()[:3]}")
        require(result == ("one" if value == 1 else "ten", 4 if value == 1 else -7, "graph" if turn > 1 else "capture", "none"),
                str(result))
    require((one.calls, ten.calls) == (1, 1), "each is captured once")
    raises(gfxgraph.Error, "ten", lambda: both.run(5, hip.stream.value))
    raises(KeyError, "one, ten", lambda: both.run("two", hip.stream.value))
    counts = both.statistics("ten")
    require((counts.runs.runs["graph"], counts.unknown) == (2, 1), str(counts))
    with gfxgraph.Branches([gfxgraph.Branch("one", 1, one), gfxgraph.Branch("ten", 2, ten)], default="one") as chosen:
        require(chosen.run(99, hip.stream.value).branch == "one", "default")
        require(chosen.statistics("one").by_default == 1, "by default")
    require(array.read() == [expected + 1] * COUNT, "default's values")
    require('gfxgraph_flow' in gfxgraph.metrics(both) and "choice" in gfxgraph.metrics(both), gfxgraph.metrics(both))


def flags(hip, gfxgraph):
    """A flag on the device chooses the branch, and ends a loop."""
    array, flag = hip.array([0] * COUNT), hip.array([0])
    chosen = gfxgraph.Branches([gfxgraph.Branch("zero", 0, Work(hip, array, 1)), gfxgraph.Branch("three", 3, Work(hip, array, 5))],
                               flag=flag)
    for value, added in ((0, 1), (3, 6), (0, 7)):
        flag.write([value])
        require(chosen.run(stream=hip.stream.value).value == value, "value")
        require(array.read() == [added] * COUNT, f"{value}: {array.read()[:3]}")
    raises(TypeError, "the flag chooses", lambda: chosen.run("zero", hip.stream.value))
    down, left = Work(hip, flag, -1), hip.array([0])
    loop = gfxgraph.Loop(down, flag=flag, max_iterations=10, name="down")
    for count in (4, 0, 2):
        flag.write([count])
        result = loop.run(stream=hip.stream.value)
        require((result.end, result.iterations, result.flag) == ("flag", count, 0), str(result))
    flag.write([11])
    raises(gfxgraph.Error, "not ready", lambda: loop.run(stream=hip.stream.value))
    require(loop.statistics().runs["limit"] == 1, str(loop.statistics()))
    raises(ValueError, "a flag is an int32", lambda: gfxgraph.Loop(down, flag=gfxgraph.DeviceArray(left.address, (1,), "<f4", left)))


def loops(hip, gfxgraph):
    """So many iterations, of a function and of a step that advances; exceptions come out."""
    array = hip.array([0] * COUNT)
    body = Work(hip, array, 2)
    loop = gfxgraph.Loop(body, max_iterations=100)
    require(loop.run(7, hip.stream.value).iterations == 7 and array.read() == [14] * COUNT, f"{array.read()[:3]}")
    require(loop.run(3, hip.stream.value).way == "graph" and array.read() == [20] * COUNT, f"{array.read()[:3]}")
    require(body.calls == 1, "captured once")
    raises(gfxgraph.Error, "100", lambda: loop.run(101, hip.stream.value))

    def failing(call):
        raise ArithmeticError("in the loop")

    broken = gfxgraph.Loop(failing)
    raises(ArithmeticError, "in the loop", lambda: broken.run(2, hip.stream.value))
    require(broken.statistics().iterations.work_failures == 1, str(broken.statistics()))
    with gfxgraph.capture(hip.stream.value, mode="graph") as step:
        hip.add(array.address, 3, COUNT, hip.stream.value)
    require(gfxgraph.Loop(step).run(5, hip.stream.value).iterations == 5, "a step's iterations")
    require(array.read() == [20 + 3 + 15] * COUNT, f"{array.read()[:3]}")


def compositions(hip, gfxgraph):
    """Steps beside and behind each other are one graph, with the values of one after the other."""
    first, second = hip.array([0] * COUNT), hip.array([0] * COUNT)
    steps = []
    for array, value in ((first, 1), (second, 2), (first, 10)):
        with gfxgraph.capture(hip.stream.value, mode="graph") as step:
            hip.add(array.address, value, COUNT, hip.stream.value)
        steps.append(step)
    whole = gfxgraph.Composition([[steps[0], steps[1]], steps[2]], one_graph=True)
    for _ in range(4):
        require(whole.run(hip.stream.value), whole.reason())
    require((first.read()[0], second.read()[0]) == (11 * 5, 2 * 5), f"{first.read()[0]}, {second.read()[0]}")
    counts = whole.statistics()
    require(counts.graph_runs == 4 and counts.nodes >= 3, str(counts))
    raises(gfxgraph.Error, "is the same step", lambda: gfxgraph.Composition([[steps[0], steps[0]]]))


def pipelines(hip, gfxgraph):
    """Runs over two sets of buffers give their own results, in their order."""
    def work(call):
        hip.copy(call["out"].address, call["in"].address, 4 * call.size, call.stream)
        hip.add(call["out"].address, 9, call.size, call.stream)

    pipeline = gfxgraph.Pipeline([gfxgraph.Tensor("in", "<i4", (), "input"), gfxgraph.Tensor("out", "<i4", (), "output")], work,
                                 rows=COUNT, depth=2, name="stages")
    pipeline.warm()
    sources = [hip.array([turn + n for n in range(COUNT - turn)]) for turn in range(6)]
    targets = [hip.array([0] * (COUNT - turn)) for turn in range(6)]
    for source, target in zip(sources, targets):
        pipeline.submit([source, target])
    for turn in range(6):
        result = pipeline.next()
        require((result.number, result.way) == (turn, "graph"), str(result))
        require(targets[turn].read() == [value + 9 for value in sources[turn].read()], f"{turn}")
    raises(gfxgraph.Error, "not found", pipeline.next)
    counts = pipeline.statistics()
    require(counts.runs.runs["graph"] == 6 and counts.untaken == 0 and counts.device_bytes == 4 * 4 * COUNT, str(counts))


PROGRAMS = {"branches": branches, "flags": flags, "loops": loops, "compositions": compositions, "pipelines": pipelines}

if __name__ == "__main__":
    programs(PROGRAMS, os.path.abspath(__file__), lambda what: ["--capture-api"])
