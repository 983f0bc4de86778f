"""Pools of captured steps from Python: values for every size, ways, falls, validation, safety and statistics."""

import ctypes
import os
import threading

from device import programs, raises

from harness import require

COLUMNS = 8


def rows(count, begin=0):
    return [begin + n for n in range(count * COLUMNS)]


class Adder:
    """out = in + value, by a copy and a kernel; counts its calls."""

    def __init__(self, hip, value=5):
        self.hip, self.value, self.calls = hip, value, []

    def __call__(self, call):
        self.calls.append(call.size)
        size = 4 * COLUMNS * call.size
        self.hip.copy(call["out"].address, call["in"].address, size, call.stream)
        self.hip.add(call["out"].address, self.value, COLUMNS * call.size, call.stream)


def tensors(gfxgraph):
    return [gfxgraph.Tensor("in", "<i4", (COLUMNS,), "input"), gfxgraph.Tensor("out", "<i4", (COLUMNS,), "output")]


def values(hip, gfxgraph):
    """Of every size, beside the same on the host; the work is called once for each bucket."""
    work = Adder(hip)
    pool = gfxgraph.Pool([2, 4, 9], tensors(gfxgraph), work, name="values")
    for turn in range(2):
        for size in range(1, 10):
            source = hip.array(rows(size, 100 * turn), COLUMNS)
            target = hip.array([-1] * (COLUMNS * (size + 1)))
            result = pool.run([source, target.address], hip.stream.value, size=size)
            bucket = next(n for n, most in enumerate((2, 4, 9)) if size <= most)
            captured = turn == 0 and size in (1, 3, 5)
            require(result == ("capture" if captured else "graph", bucket, (2, 4, 9)[bucket], "none", "none"), str(result))
            hip.wait()
            require(target.read() == [value + 5 for value in rows(size, 100 * turn)] + [-1] * COLUMNS, f"{size}: {target.read()}")
    require(work.calls == [2, 4, 9], str(work.calls))
    all_of = pool.statistics()
    require((all_of.runs["graph"], all_of.runs["capture"], all_of.rows, all_of.captures) == (15, 3, 90, 3), str(all_of))
    require(pool.statistics(0).padded_rows == 2 and pool.statistics(2).size == 9, str(pool.statistics(0)))
    require(all_of.submit.runs == 18 and all_of.submit.max_us > 0, str(all_of.submit))
    text = gfxgraph.metrics(pool)
    require('gfxgraph_pool_rows_total{pool="values",bucket="9"}' in text and text.count("# EOF") == 1, text)
    require(text == pool.metrics() or "gfxgraph_pool" in text, "metrics")
    nowhere = [1, 1]
    raises(gfxgraph.Error, "not found", lambda: pool.run(nowhere, size=10))


def arguments(hip, gfxgraph):
    """Arrays by their protocol, in order or by name; what does not fit is named."""
    work = Adder(hip)
    pool = gfxgraph.Pool([4], tensors(gfxgraph), work)
    source, target = hip.array(rows(3), COLUMNS), hip.array([0] * 24, COLUMNS)
    pool.run({"out": target, "in": source}, hip.stream.value)
    require(target.read() == [value + 5 for value in rows(3)], "by name")
    raises(ValueError, "tensor 'out'", lambda: pool.run([source, hip.array([0] * 16, COLUMNS)], hip.stream.value))
    raises(ValueError, "missing or unknown: other, out", lambda: pool.run({"in": source, "other": target}))
    raises(ValueError, "1 places for 2 tensors (in, out)", lambda: pool.run([source]))
    nowhere = [1, 2]
    raises(TypeError, "addresses need a size", lambda: pool.run(nowhere))
    raises(TypeError, "neither __cuda_array_interface__ nor __dlpack__", lambda: pool.run([source, [0] * 24]))
    raises(ValueError, "first_way 'fast'", lambda: gfxgraph.Pool([4], tensors(gfxgraph), work, first_way="fast"))
    raises(ValueError, "is none of input, output, both",
           lambda: gfxgraph.Pool([4], [gfxgraph.Tensor("in", "<i4", (), "in")], work))
    raises(gfxgraph.Error, "sizes begin with 1", lambda: gfxgraph.Pool([4, 4], tensors(gfxgraph), work))


def exceptions(hip, gfxgraph):
    """What the work raises comes out of the run, as it was, in the thread that ran; and the next run captures."""
    add = Adder(hip)
    failing = {}

    def work(call):
        if threading.get_ident() in failing:
            raise failing[threading.get_ident()]
        add(call)

    pool = gfxgraph.Pool([1, 2], tensors(gfxgraph), work)
    source, target = hip.array(rows(1), COLUMNS), hip.array([0] * 8, COLUMNS)
    error = failing[threading.get_ident()] = KeyboardInterrupt("of the program")
    require(raises(KeyboardInterrupt, "of the program", lambda: pool.run([source, target], hip.stream.value)) is error, "another")
    require(raises(KeyboardInterrupt, "of the program", lambda: pool.warm(hip.stream.value)) is error, "another")
    ended = []
    thread = threading.Thread(target=lambda: ended.append(pool.run([source, target], hip.stream.value)))
    thread.start()
    thread.join()
    require(ended[0].way == "capture", str(ended))
    failing.clear()
    require(pool.run([source, target], hip.stream.value).way == "graph", "way")
    require(target.read() == [value + 5 for value in rows(1)], "values")
    require(pool.statistics(0).work_failures == 2, str(pool.statistics(0)))


def falls(hip, gfxgraph):
    """A bucket that cannot be had falls alone, by its reason, and the cap is known before it is captured."""
    work = Adder(hip)
    told = []
    pool = gfxgraph.Pool([2, 64], tensors(gfxgraph), work, max_device_bytes=1024, beyond="work", on_fall=told.append)
    for size, way, fall in ((2, "capture", "none"), (2, "graph", "none"), (40, "work", "cap"), (70, "work", "beyond")):
        source, target = hip.array(rows(size), COLUMNS), hip.array([0] * (COLUMNS * size), COLUMNS)
        result = pool.run([source, target], hip.stream.value)
        require((result.way, result.fall) == (way, fall), f"{size}: {result}")
        require(target.read() == [value + 5 for value in rows(size)], f"values of {size}")
    require(work.calls == [2, 40, 70], f"the bucket of 64 was not captured: {work.calls}")
    require([(one.bucket, one.way, one.next_way, one.fall) for one in told] ==
            [(1, "graph", "batch", "cap"), (1, "batch", "eager", "cap"), (1, "eager", "work", "cap"), (None, "graph", "work", "beyond")],
            str(told))
    require("1024" in pool.reason(1, "graph") and pool.reason(0, "graph") == "", pool.reason(1, "graph"))
    require(pool.statistics(beyond=True).runs["work"] == 1 and pool.statistics(0).falls["cap"] == 0, "statistics")


def validation(hip, gfxgraph):
    """A step that no longer does what the work does is found, and the run has the work's results."""
    work = Adder(hip)
    state = hip.array([0] * 8)
    pool = gfxgraph.Pool([2], tensors(gfxgraph), work, validate_every=2, states=[gfxgraph.State("cache", state)])
    source, target = hip.array(rows(2), COLUMNS), hip.array([0] * 16, COLUMNS)
    seen = [pool.run([source, target], hip.stream.value).validation for _ in range(4)]
    work.value = 7
    seen += [pool.run([source, target], hip.stream.value).validation for _ in range(2)]
    require(seen == ["none", "equal", "none", "equal", "none", "different"], str(seen))
    require(target.read() == [value + 7 for value in rows(2)], "not the work's results")
    require(pool.statistics().validations["different"] == 1, "counts")
    pool.recapture(0)
    require(pool.run([source, target], hip.stream.value).way == "capture", "recapture")


def borders(hip, gfxgraph):
    """What the host does between the parts of a step is done for each run, with its values; what it raises comes out."""
    pinned = ctypes.c_void_p()
    hip.call("hipHostMalloc", ctypes.byref(pinned), ctypes.c_size_t(4), ctypes.c_uint(0))
    shared = ctypes.c_int.from_address(pinned.value)
    calls, seen, failing = [], [], []

    def act(call):
        first = ctypes.c_int()
        hip.call("hipMemcpyWithStream", ctypes.byref(first), ctypes.c_void_p(call["out"].address), ctypes.c_size_t(4), 2,
                 ctypes.c_void_p(call.stream))
        shared.value = 2 * first.value

    def work(call):
        calls.append(call.size)
        add(call)
        act(call)
        hip.call("hipMemcpyAsync", ctypes.c_void_p(call["out"].address), pinned, ctypes.c_size_t(4), 1, ctypes.c_void_p(call.stream))

    def border(at, call):
        seen.append((at.kind, at.number, at.name, call.size, call.captured))
        if failing:
            raise failing[0]
        act(call)

    add = Adder(hip)
    pool = gfxgraph.Pool([2, 4], tensors(gfxgraph), work, border=border)
    for turn, (size, way) in enumerate(((1, "capture"), (3, "capture"), (1, "graph"), (2, "graph"), (4, "graph"), (3, "graph"))):
        source, target = hip.array(rows(size, 100 * turn), COLUMNS), hip.array([-1] * (COLUMNS * size), COLUMNS)
        result = pool.run([source, target], hip.stream.value)
        expected = [value + 5 for value in rows(size, 100 * turn)]
        require(result.way == way and target.read() == [2 * expected[0], *expected[1:]], f"{turn}: {result}, {target.read()}")
    require(calls == [2, 4], str(calls))
    require(seen == [("result", 0, "a copy to the host", size, False) for size in (2, 2, 4, 4)], str(seen))
    failing.append(StopIteration("at the border"))
    error = raises(StopIteration, "at the border", lambda: pool.run([source, target], hip.stream.value))
    require(error is failing.pop(), "another error")
    require(pool.run([source, target], hip.stream.value).way == "graph", "the bucket has lost its way")
    alone = gfxgraph.Pool([2], tensors(gfxgraph), work)
    source = hip.array(rows(2), COLUMNS)
    target = hip.array([0] * 16, COLUMNS)
    found = [alone.run([source, target], hip.stream.value) for _ in range(2)][1]
    require((found.way, found.fall) == ("work", "prepare"), f"without border: {found}")


def safety(hip, gfxgraph):
    """Identity, fingerprint, strict mode, the report, and the lint of what is baked in."""
    work = Adder(hip)
    pool = gfxgraph.Pool([2], tensors(gfxgraph), work, safety="identity", digest=True, name="safe")
    source, target = hip.array(rows(2), COLUMNS), hip.array([0] * 16, COLUMNS)
    for _ in range(3):
        pool.run([source, target], hip.stream.value)
    report = pool.report()
    require(report["clean"] is True and report["buckets"][0]["runs"]["graph"] == 2, str(report))
    saved = pool.fingerprint()
    again = gfxgraph.Pool([2], tensors(gfxgraph), work, safety="strict", fingerprint=saved)
    again.run([source, target], hip.stream.value)
    work.value = 6

    def vary(which, call):
        work.value = 10 + which

    (found,) = pool.lint(0, vary, hip.stream.value)
    require((found.kind, found.argument, found.first, found.second) == ("number", 1, 10, 11) and "add" in found.place, str(found))
    require(pool.lint(0, None, hip.stream.value) == [], "nothing differs")

    def failing(which, call):
        raise LookupError("while it varies")

    raises(LookupError, "while it varies", lambda: pool.lint(0, failing, hip.stream.value))
    strict = gfxgraph.Pool([2], tensors(gfxgraph), work, safety="strict", max_device_bytes=8)
    raises(gfxgraph.Error, "strict: bucket 2 cannot go by graph (cap)", lambda: strict.run([source, target], hip.stream.value))
    raises(gfxgraph.Error, "mismatch", lambda: gfxgraph.Pool([2], tensors(gfxgraph), work, safety="fingerprint",
                                                             fingerprint=saved.replace("gfx1030", "gfx1031")))


def decode(hip, gfxgraph):
    """Lengths and blocks of each run, from the host and from the device; padding has the length 0."""
    def work(call):
        hip.copy(call["lengths"].address, call.lengths, 4 * call.size, call.stream)
        hip.copy(call["blocks"].address, call.block_table, 8 * call.size, call.stream)
        hip.add(call["lengths"].address, 1, call.size, call.stream)

    outputs = [gfxgraph.Tensor("lengths", "<i4", (), "output"), gfxgraph.Tensor("blocks", "<i4", (2,), "output")]
    pool = gfxgraph.DecodePool([2, 4], outputs, work, max_blocks=2, block_tokens=16, max_lengths=[8, 32])
    lengths, blocks = hip.array([0] * 3), hip.array([0] * 6, 2)
    for turn in range(3):
        given = [3 + turn, 0, 7]
        table = [[1 + turn, 2], [3, 4], [5, 6]]
        result = pool.decode([lengths, blocks], given, table, hip.stream.value)
        require((result.way, result.bucket_size) == ("graph" if turn else "capture", 4), str(result))
        require(lengths.read() == [value + 1 for value in given], f"{lengths.read()}")
        require(blocks.read() == [value for row in table for value in row], f"{blocks.read()}")
    result = pool.decode([lengths, blocks], hip.array([20, 1, 2]), hip.array([1, 2, 3, 4, 5, 6], 2), hip.stream.value, max_length=20)
    require(result.bucket == 3 and lengths.read() == [21, 2, 3], str(result))
    require(pool.statistics(3).max_length == 32, "statistics")
    both = [lengths, blocks]
    raises(gfxgraph.Error, "lengths[1] is 40", lambda: pool.decode(both, [1, 40, 2], [[1, 2]] * 3))
    raises(ValueError, "is no int32", lambda: pool.decode(both, [1, 1 << 40, 2], [[1, 2]] * 3))
    raises(ValueError, "2 rows and lengths 3", lambda: pool.decode(both, [1, 2, 3], [[1, 2]] * 2))
    raises(ValueError, "different lengths", lambda: pool.decode(both, [1, 2, 3], [[1, 2], [1], [1, 2]]))
    raises(TypeError, "both of the host", lambda: pool.decode(both, hip.array([1, 1, 1]), [[1, 2]] * 3))
    raises(TypeError, "decode(", lambda: pool.run(both))


def threads(hip, gfxgraph):
    """Threads that run and capture the same buckets at once get each their own results."""
    work = Adder(hip)
    pool = gfxgraph.Pool([1, 2, 3, 4], tensors(gfxgraph), work)
    wrong, ended = [], []

    def use(number):
        stream = hip.new_stream().value
        for turn in range(12):
            size = 1 + (turn + number) % 4
            source, target = hip.array(rows(size, number), COLUMNS), hip.array([0] * (COLUMNS * size), COLUMNS)
            pool.run([source, target], stream)
            hip.wait(stream)
            if target.read() != [value + 5 for value in rows(size, number)]:
                wrong.append((number, turn))
        ended.append(number)

    made = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()
    require(not wrong and len(ended) == 4 and sorted(work.calls) == [1, 2, 3, 4], f"{wrong}, {ended}, {work.calls}")


def without_hooks(hip, gfxgraph):
    """By the work alone, and counted so."""
    work = Adder(hip)
    pool = gfxgraph.Pool([2], tensors(gfxgraph), work)
    source, target = hip.array(rows(1), COLUMNS), hip.array([0] * 8, COLUMNS)
    for _ in range(2):
        result = pool.run([source, target], hip.stream.value)
        require((result.way, result.fall) == ("work", "capture"), str(result))
        require(target.read() == [value + 5 for value in rows(1)], "values")
    require("--capture-api" in pool.reason(0, "graph"), pool.reason(0, "graph"))


PROGRAMS = {"values": values, "arguments": arguments, "exceptions": exceptions, "falls": falls, "validation": validation,
            "borders": borders, "safety": safety, "decode": decode, "threads": threads, "without_hooks": without_hooks}


if __name__ == "__main__":
    programs(PROGRAMS, os.path.abspath(__file__), lambda what: [] if what == "without_hooks" else ["--capture-api"])
