"""Drop-in names: gfxGRAPH's and torch's graph classes, and gfxgraph.step, with values that a user of those would expect."""

import ctypes
import os
import sys
import threading
import types

from device import programs, raises, read_at

from harness import require

COLUMNS = 8


def rows(count, begin=0):
    return [begin + n for n in range(count * COLUMNS)]


def content(hip, array):
    count = array.shape[0] * (array.shape[1] if len(array.shape) > 1 else 1)
    hip.call("hipDeviceSynchronize")
    return read_at(hip, array.address, count)


class Model:
    """y = (x + 2) + 3 over memory of its own, which it lets go of; counts its calls."""

    def __init__(self, hip, gfxgraph):
        self.hip, self.gfxgraph, self.calls = hip, gfxgraph, []

    def __call__(self, x, *, stream):
        self.calls.append(x.shape[0])
        count, memory = x.shape[0] * COLUMNS, self.gfxgraph.device_memory(x)
        between, out = (self.gfxgraph.empty(x.shape, "<i4", stream) for _ in range(2))
        self.hip.copy(between.address, memory.address, 4 * count, stream)
        self.hip.add(between.address, 2, count, stream)
        self.hip.copy(out.address, between.address, 4 * count, stream)
        self.hip.add(out.address, 3, count, stream)
        return out


def decorator(hip, gfxgraph):
    """@gfxgraph.step: values of every size, new and given outputs, values of the host as steps of their own."""
    calls = []

    @gfxgraph.step(buckets=[2, 4, 9], outputs={"y": ("<i4", (COLUMNS,))})
    def layer(x, y, value=5, *, stream):
        """Adds."""
        calls.append((x.shape[0], value))
        hip.copy(y.address, x.address, 4 * COLUMNS * x.shape[0], stream)
        hip.add(y.address, value, COLUMNS * x.shape[0], stream)

    stream = hip.stream.value
    results = []
    for size in list(range(1, 10)) * 2:
        y = layer(hip.array(rows(size), COLUMNS), stream=stream)
        require(y.shape == (size, COLUMNS), f"{y}")
        results.append((size, y))
    for size, y in results:  # each has memory of its own
        require(content(hip, y) == [value + 5 for value in rows(size)], f"{size}")
    require(calls == [(2, 5), (4, 5), (9, 5)] and layer.last.way == "graph" and layer.__doc__ == "Adds.", str(calls))
    given = hip.array([0] * 24, COLUMNS)
    require(layer(hip.array(rows(3), COLUMNS), given, value=7, stream=stream) is None, "a given output is not returned")
    require(given.read() == [value + 7 for value in rows(3)] and calls[-1] == (4, 7) and len(layer.pools) == 2, str(calls))
    raises(TypeError, "needs x", lambda: layer(stream=stream))
    raises(TypeError, "value must be numbers", lambda: layer(given, value=[1], stream=stream))
    raises(TypeError, "device arrays", lambda: layer(given, 3, stream=stream))
    raises(ValueError, "one number of rows", lambda: layer(given, hip.array([0] * 16, COLUMNS), stream=stream))
    raises(gfxgraph.Error, "not found", lambda: layer(hip.array(rows(10), COLUMNS), stream=stream))
    raises(TypeError, "no parameter `stream`", lambda: gfxgraph.step(buckets=[1])(lambda x: None))

    @gfxgraph.step(buckets=[2], inout=["x"])
    def failing(x, *, stream):
        raise OSError("of the program")

    raises(OSError, "of the program", lambda: failing(given.hip.array(rows(1), COLUMNS), stream=stream))


def buckets(hip, gfxgraph):
    """ShapeBucketPool: values of every size, outputs that stay as they are, captured by default, temporaries that nobody gets."""
    from gfxgraph.hipgraph_bridge import ShapeBucketPool

    gfxgraph.enable()
    model, stream = Model(hip, gfxgraph), hip.stream.value
    pool = ShapeBucketPool(model, [8, 2, 4], warmup=2)
    outputs = []
    for turn in range(3):
        for size in range(1, 9):
            outputs.append((turn, size, pool(hip.array(rows(size, turn), COLUMNS), stream)))
            # Memory that the model let go of must not be what this gets.
            other = gfxgraph.empty((size, COLUMNS), "<i4", stream)
            hip.call("hipMemsetAsync", ctypes.c_void_p(other.address), 0x77, ctypes.c_size_t(4 * COLUMNS * size), ctypes.c_void_p(stream))
    for turn, size, output in outputs:
        require(content(hip, output) == [value + 5 for value in rows(size, turn)], f"{turn}, {size}: {content(hip, output)[:4]}")
    require(model.calls == [1, 1, 2, 4, 8], f"two direct calls, and one for each bucket: {model.calls}")
    require(pool.last.way == "graph" and pool.stats[8].runs["graph"] == 11, str(pool.stats[8]))
    counts = gfxgraph.stats()
    require((counts["capture_count"], counts["replay_count"], counts["fallback_count"]) == (3, 20, 0), str(counts))
    require(counts["avg_replay_us"] > 0 and counts["enabled_at"] is not None, str(counts))
    raises(ValueError, "was made for rows of", lambda: pool(hip.array(rows(2), 4), stream))
    output = pool(hip.array(rows(9), COLUMNS), stream)  # beyond
    require(content(hip, output) == [value + 5 for value in rows(9)] and gfxgraph.stats()["fallback_reasons"] == {"beyond": 1},
            str(gfxgraph.stats()))
    gfxgraph.disable()
    require(not gfxgraph.is_enabled() and gfxgraph.stats()["enabled_at"] is None, "disabled")


def cap(hip, gfxgraph):
    """A cap is known before a bucket is captured, the others go on; validation finds what differs; exceptions come out."""
    from gfxgraph.hipgraph_bridge import ShapeBucketPool

    model, stream = Model(hip, gfxgraph), hip.stream.value
    pool = ShapeBucketPool(model, [2, 512], vram_cap=0, max_device_bytes=4096)
    for size, way in ((1, None), (1, "capture"), (2, "graph"), (400, "work"), (2, "graph")):
        output = pool(hip.array(rows(size), COLUMNS), stream)
        require(content(hip, output) == [value + 5 for value in rows(size)], f"{size}")
        require(way is None or pool.last.way == way, f"{size}: {pool.last}")
    require(model.calls == [1, 2, 400], f"nothing of 512 rows was tried: {model.calls}")
    require(pool.last.bucket_size == 2 and pool.stats[512].falls["cap"] == 1, str(pool.stats[512]))
    gfxgraph.enable(validate=True)
    added = [5]

    def changing(x, *, stream):
        out = gfxgraph.empty(x.shape, "<i4", stream)
        hip.copy(out.address, gfxgraph.device_memory(x).address, 4 * COLUMNS * x.shape[0], stream)
        hip.add(out.address, added[0], COLUMNS * x.shape[0], stream)
        return out

    validated = ShapeBucketPool(changing, [2])
    for _ in range(3):
        validated(hip.array(rows(2), COLUMNS), stream)
    require(gfxgraph.stats()["validation_failures"] == 0 and validated.last.validation == "equal", str(validated.last))
    added[0] = 6
    output = validated(hip.array(rows(2), COLUMNS), stream)
    require(content(hip, output) == [value + 6 for value in rows(2)], "not the function's results")
    require(gfxgraph.stats()["validation_failures"] == 1, str(gfxgraph.stats()))
    gfxgraph.disable()

    def failing(x, *, stream):
        if x.shape[0] == 2:
            raise ZeroDivisionError("in the model")
        return model(x, stream=stream)

    broken = ShapeBucketPool(failing, [2, 4])
    broken(hip.array(rows(3), COLUMNS), stream)
    raises(ZeroDivisionError, "in the model", lambda: broken(hip.array(rows(1), COLUMNS), stream))
    require(content(hip, broken(hip.array(rows(4), COLUMNS), stream)) == [value + 5 for value in rows(4)], "another bucket")


def conditions(hip, gfxgraph):
    """ConditionalGraph: the branch that was asked for and no other; one that cannot be captured goes by its function, alone."""
    from gfxgraph.hipgraph_bridge import BridgedCUDAGraph, ConditionalGraph

    array, other, stream = hip.array([0] * 64), hip.array([0] * 64), hip.stream.value
    calls = []

    def adds(value, waits=False):
        def branch(*, stream):
            calls.append(value)
            hip.add(array.address, value, 64, stream)
            if waits:
                hip.call("hipMemcpy", ctypes.c_void_p(other.address), ctypes.c_void_p(array.address), ctypes.c_size_t(4), 3)

        return branch

    graph = ConditionalGraph()
    graph.add_branch("one", adds(1))
    graph.add_branch("ten", adds(10))
    graph.capture(stream)
    expected = 11
    for name, value in (("ten", 10), ("one", 1), ("ten", 10)):
        require(graph.run(name, stream) == "graph", name)
        expected += value
        require(array.read() == [expected] * 64, f"{name}: {array.read()[:3]}")
    require(calls == [1, 10] and graph.branches == ["one", "ten"] and graph.failed_branches == {}, str(graph.failed_branches))
    raises(KeyError, "one, ten", lambda: graph.run("two", stream))
    raises(RuntimeError, "before", lambda: graph.add_branch("late", adds(1)))
    bridged = BridgedCUDAGraph()
    model = Model(hip, gfxgraph)
    with bridged.capture(dynamic_shapes=True, buckets=[4], model_fn=model, conditional_branches={"a": adds(100), "b": adds(1000)}):
        pass
    for name, value in (("b", 1000), ("a", 100), ("b", 1000)):
        bridged.replay(branch=name, stream=stream)
        expected += value
        require(array.read() == [expected] * 64, f"{name}: {array.read()[:3]}")
    for _ in range(3):
        output = bridged.replay(batch_size=3, input_tensor=hip.array(rows(4), COLUMNS), stream=stream)
        require(output.shape == (3, COLUMNS) and content(hip, output) == [value + 5 for value in rows(3)], str(output))
    raises(ValueError, "needs buckets and model_fn", lambda: bridged.capture(dynamic_shapes=True).__enter__())
    raises(ValueError, "batch_size 5", lambda: bridged.replay(5, input_tensor=hip.array(rows(4), COLUMNS)))


def graphs(hip, gfxgraph):
    """torch's CUDAGraph: held, replayed, its handles by methods, reset, exceptions, and nothing that waits for the device."""
    import gfxgraph.torch as cuda

    array, stream = hip.array([0] * 64), hip.stream.value
    graph = cuda.CUDAGraph(keep_graph=True)
    raises(RuntimeError, "pool() needs", graph.pool)
    graph.capture_begin(stream=stream)
    require(cuda.is_current_stream_capturing(stream), "not capturing")
    hip.add(array.address, 3, 64, stream)
    hip.add(array.address, 4, 64, stream)
    graph.capture_end()
    require(array.read() == [0] * 64 and not cuda.is_current_stream_capturing(stream), "the work was done")
    raises(RuntimeError, "raw_cuda_graph_exec() needs", graph.raw_cuda_graph_exec)
    for turn in range(3):
        graph.replay()
        require(array.read() == [7 * (turn + 1)] * 64, f"{array.read()[:3]}")
    count = ctypes.c_size_t()
    hip.call("hipGraphGetNodes", ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(count))
    require(count.value == graph.captured_nodes == 2, f"{count.value} nodes")
    hip.call("hipGraphLaunch", ctypes.c_void_p(graph.raw_cuda_graph_exec()), hip.stream)
    require(array.read() == [28] * 64, "by its handle")
    second = cuda.CUDAGraph()
    with cuda.graph(second, pool=graph.pool(), stream=stream):
        hip.add(array.address, 2, 64, stream)
    require(second.pool() == graph.pool() and second.pool() != cuda.graph_pool_handle(), "pools")
    raises(RuntimeError, "keep_graph=True", second.raw_cuda_graph)
    raises(RuntimeError, "reset() it first", lambda: second.capture_begin(stream=stream))
    second.replay()
    require(array.read() == [30] * 64, f"{array.read()[:3]}")

    def failing():
        with cuda.graph(cuda.CUDAGraph(), stream=stream):
            hip.add(array.address, 100, 64, stream)
            raise InterruptedError("of the program")

    raises(InterruptedError, "of the program", failing)
    second.reset()
    raises(RuntimeError, "no graph to replay", second.replay)
    with cuda.graph(second) as own:  # a stream of its own
        hip.add(array.address, 1, 64, own)
    second.replay(stream=stream)
    require(array.read() == [31] * 64, "another stream")
    raises(ValueError, "capture_error_mode", lambda: cuda.CUDAGraph().capture_begin(capture_error_mode="none", stream=stream))
    raises(ValueError, "check_input_liveness", lambda: cuda.CUDAGraph().capture_begin(check_input_liveness=True, stream=stream))
    raises(RuntimeError, "null stream", lambda: cuda.CUDAGraph().capture_begin())
    raises(RuntimeError, "name_parameter", lambda: second.register_generator_state(None))
    # A replay is one call of HIP and waits for nothing.
    called = []
    replayed, runtime = second._executable, sys.modules["gfxgraph._hip"].runtime()
    real, runtime.call = runtime.call, lambda name, *arguments: (called.append(name), real(name, *arguments))
    second.replay(stream=stream)
    runtime.call = real
    require(called == ["hipGraphLaunch"] and replayed, str(called))


def hooks(hip, gfxgraph):
    """Of a graph and of the process: where they are called, in which order, what passes, and what ends with a graph."""
    import gfxgraph.torch as cuda

    array, stream, seen = hip.array([0] * 64), hip.stream.value, []
    graph = cuda.CUDAGraph()
    process = [getattr(cuda, f"register_graph_{place}_hook")(lambda given, place=place: seen.append(("process", place)))
               for place in ("capture_start", "capture_end", "instantiate", "replay_start", "replay_end")]

    def failing(_):
        raise ArithmeticError("of the program")

    process.append(cuda.register_graph_replay_start_hook(failing))  # keeps nothing from going on
    graph.register_capture_start_hook(lambda given: seen.append(("begun", cuda.is_current_stream_capturing(stream))))
    graph.register_capture_end_hook(lambda given: seen.append(("ended", given.raw_cuda_graph() != 0)))
    graph.register_post_instantiate_hook(lambda given: seen.append(("made", given.raw_cuda_graph_exec() != 0)))
    first = graph.register_replay_start_hook(lambda given: seen.append(("before", given is graph)))
    graph.register_replay_end_hook(lambda given: seen.append(("behind", given is graph)))
    with cuda.graph(graph, stream=stream):
        hip.add(array.address, 3, 64, stream)
    graph.replay()
    require(seen == [("process", "capture_start"), ("begun", True), ("process", "capture_end"), ("ended", True),
                     ("process", "instantiate"), ("made", True), ("process", "replay_start"), ("before", True),
                     ("process", "replay_end"), ("behind", True)], str(seen))
    raises(RuntimeError, "keep_graph=True", graph.raw_cuda_graph)
    for handle in (*process, first):
        handle.remove()
    seen.clear()
    with graph.register_replay_start_hook(failing):
        raises(ArithmeticError, "of the program", graph.replay)
    require(seen == [] and array.read() == [3] * 64, f"a refused replay was submitted: {seen}, {array.read()[:3]}")
    graph.replay()
    require(seen == [("behind", True)] and array.read() == [6] * 64, f"{seen}, {array.read()[:3]}")
    ended, kept = [], hip.array([1])
    graph.register_destroy_callback(lambda: ended.append(array.read()[0]), synchronize_before_release=True)
    graph.register_destroy_callback(lambda: failing(None))
    graph.register_destroy_callback(lambda: ended.append("gone")).remove()
    graph.retain_object(kept)
    references = sys.getrefcount(kept)
    destroyed = []
    cuda.register_graph_destroy_hook(destroyed.append)
    executable = graph.raw_cuda_graph_exec()
    graph.replay()
    graph.reset()
    require(ended == [9] and destroyed == [{executable}], f"{ended}, {destroyed}")
    require(sys.getrefcount(kept) == references - 1, "an object is kept")
    graph.reset()
    require(ended == [9], "called twice")

    def held():
        with cuda.graph(graph, stream=stream):
            hip.add(array.address, 100, 64, stream)

    with graph.register_capture_start_hook(failing):
        raises(ArithmeticError, "of the program", held)
    require(not cuda.is_current_stream_capturing(stream), "the capture goes on")
    graph.capture_begin(stream=stream)
    hip.add(array.address, 1, 64, stream)
    graph.capture_end_pre()
    require(graph.raw_cuda_graph() != 0, "between the ends")
    raises(RuntimeError, "instantiate() the graph before", graph.capture_end_post)
    graph.instantiate()
    graph.capture_end_post()
    graph.replay()
    require(array.read() == [10] * 64 and graph.pools() == [graph.pool()], f"{array.read()[:3]}")
    graph.register_destroy_callback(lambda: ended.append("end"))
    del graph
    require(ended == [9, "end"], f"{ended}")
    raises(RuntimeError, "profilers", cuda.CUDAGraph().get_graph_data)
    raises(ValueError, "enable_annotations", lambda: cuda.graph(cuda.CUDAGraph(), enable_annotations=True))


def concurrent(hip, gfxgraph):
    """Captures of several threads at once hold each their own work."""
    import gfxgraph.torch as cuda

    barrier, wrong, ended = threading.Barrier(4, timeout=60), [], []

    def use(number):
        array, stream = hip.array([0] * 64), hip.new_stream().value
        for turn in range(5):
            graph = cuda.CUDAGraph()
            barrier.wait()
            with cuda.graph(graph, stream=stream):
                hip.add(array.address, number, 64, stream)
                barrier.wait()  # all are capturing
                hip.add(array.address, 10, 64, stream)
                barrier.wait()  # nobody adds nodes while another launches: HIP 5 mixes these up
            for _ in range(2):
                graph.replay()
            hip.wait(stream)
            found = read_at(hip, array.address, 64)
            if graph.captured_nodes != 2 or found != [(turn + 1) * 2 * (number + 10)] * 64:
                wrong.append((number, turn, graph.captured_nodes, found[:2]))
        ended.append(number)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(not wrong and sorted(ended) == [0, 1, 2, 3], f"{wrong}, {ended}")


def waits(hip, gfxgraph):
    """No replay waits for the device: another stream, which waits for the host, holds none of them up."""
    import gfxgraph.torch as cuda
    from gfxgraph.hipgraph_bridge import ConditionalGraph, ShapeBucketPool

    stream, other, array, added = hip.stream.value, hip.new_stream(), hip.array([0] * 64), hip.array([0] * 64)
    inputs = [hip.array(rows(size), COLUMNS) for size in (1, 2, 3, 4)]
    pool, conditional, graph = ShapeBucketPool(Model(hip, gfxgraph), [2, 4]), ConditionalGraph(), cuda.CUDAGraph()
    conditional.add_branch("one", lambda *, stream: hip.add(array.address, 1, 64, stream))
    conditional.capture(stream)
    graphed = cuda.make_graphed_callables(Model(hip, gfxgraph), (inputs[1],), stream=stream)
    with cuda.graph(graph, stream=stream):
        hip.add(added.address, 1, 64, stream)
    for x in inputs:
        pool(x, stream)
    hip.call("hipDeviceSynchronize")
    release, held = threading.Event(), threading.Event()

    def hold(*_):
        held.set()
        release.wait(60)

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(hold)
    hip.call("hipStreamAddCallback", other, function, None, 0)
    require(held.wait(60), "the function was not called")
    try:
        outputs = [pool(x, stream) for x in inputs] + [graphed(inputs[1], stream=stream)]
        conditional.run("one", stream)
        graph.replay(stream=stream)
        hip.wait(stream)
        not_ready = 600
        require(hip.library.hipStreamQuery(other) == not_ready, "the other stream is done")
        for output in outputs:
            size = output.shape[0]
            require(read_at(hip, output.address, size * COLUMNS) == [value + 5 for value in rows(size)], f"{size}")
        require(read_at(hip, array.address, 1) == [2] and read_at(hip, added.address, 1) == [1], "values")
        require(hip.library.hipStreamQuery(other) == not_ready and pool.last.way == "graph", "something waited")
    finally:
        release.set()
    hip.call("hipDeviceSynchronize")


def callables(hip, gfxgraph):
    """make_graphed_callables: outputs that the caller owns, for one function and several."""
    import gfxgraph.torch as cuda

    model, stream = Model(hip, gfxgraph), hip.stream.value
    sample = hip.array(rows(2), COLUMNS)
    graphed = cuda.make_graphed_callables(model, (sample,), num_warmup_iters=2, stream=stream)
    require(model.calls == [2, 2, 2], str(model.calls))
    outputs = [graphed(hip.array(rows(2, turn), COLUMNS)) for turn in range(4)]
    for turn, output in enumerate(outputs):
        require(content(hip, output) == [value + 5 for value in rows(2, turn)], f"{turn}: {content(hip, output)}")
    require(model.calls == [2, 2, 2], "called again")
    raises(ValueError, "argument 0: shape (3, 8)", lambda: graphed(hip.array(rows(3), COLUMNS)))
    both = cuda.make_graphed_callables((model, model), ((hip.array(rows(1), COLUMNS),), (hip.array(rows(3), COLUMNS),)), stream=stream)
    for function, size in zip(both, (1, 3)):
        require(content(hip, function(hip.array(rows(size, 9), COLUMNS))) == [value + 5 for value in rows(size, 9)], f"{size}")

    def failing(x, *, stream):
        raise EOFError("of the program")

    raises(EOFError, "of the program", lambda: cuda.make_graphed_callables(failing, (sample,), stream=stream))


def serving(hip, gfxgraph):
    """vLLM's wrapper by batch descriptors and SGLang's backend by shapes: modes, values, moved inputs, failures alone."""
    from gfxgraph.serving import CUDAGraphWrapper, GraphBackend

    stream, calls = hip.stream.value, []
    context = types.SimpleNamespace(batch_descriptor=None, cudagraph_runtime_mode="NONE")

    def model(x, waits=False):
        calls.append(x.shape[0])
        y = gfxgraph.empty(x.shape, "<i4", stream)
        hip.copy(y.address, x.address, 4 * COLUMNS * x.shape[0], stream)
        hip.add(y.address, 5, COLUMNS * x.shape[0], stream)
        return y

    model.layers = 7
    wrapper = CUDAGraphWrapper(model, None, "FULL", forward_context=lambda: context, stream=stream)
    require(wrapper.layers == 7 and wrapper.unwrap() is model and not hasattr(wrapper, "nothing"), "attributes")
    inputs = {size: hip.array(rows(size), COLUMNS) for size in (2, 4)}
    for mode in ("NONE", "PIECEWISE"):  # another's
        context.cudagraph_runtime_mode = mode
        require(content(hip, wrapper(inputs[2])) == [value + 5 for value in rows(2)], mode)
    require(calls == [2, 2] and not wrapper.concrete_cudagraph_entries, str(calls))
    context.cudagraph_runtime_mode = "FULL"
    raises(ValueError, "without a batch descriptor", lambda: wrapper(inputs[2]))
    for turn in range(3):
        for size, x in inputs.items():
            x.write(rows(size, 10 * turn))
            context.batch_descriptor = ("tokens", size)
            require(content(hip, wrapper(x)) == [value + 5 for value in rows(size, 10 * turn)], f"{turn}, {size}")
    require(calls == [2, 2, 2, 4] and len(wrapper.concrete_cudagraph_entries) == 2, str(calls))
    raises(ValueError, "device array 0", lambda: wrapper(hip.array(rows(4), COLUMNS)))
    wrapper.clear_graphs()
    wrapper(inputs[4])
    require(calls == [2, 2, 2, 4, 4], "cleared")
    raises(RuntimeError, "vLLM is not loaded", lambda: CUDAGraphWrapper(model)(inputs[2]))
    raises(ValueError, "NONE", lambda: CUDAGraphWrapper(model, runtime_mode="NONE"))

    backend, hooks = GraphBackend(warmup=2), []
    raises(RuntimeError, "within capture_session", lambda: backend.capture_one(2, lambda: model(inputs[2])))
    calls.clear()

    def invalid():
        hip.library.hipStreamSynchronize(hip.stream)  # which a capture cannot hold

    def failing():
        raise BufferError("of the program")

    before = gfxgraph.stats()["fallback_count"]
    with backend.capture_session(stream):
        for size, x in inputs.items():
            backend.capture_one(size, lambda x=x: model(x), x, lambda: hooks.append(1))
        backend.capture_one("invalid", invalid)
        raises(BufferError, "of the program", lambda: backend.capture_one("failing", failing))
    require(calls == [2, 2, 2, 4, 4, 4] and len(hooks) == 4, f"{calls}, {hooks}")
    require([backend.can_run(None, key) for key in (2, 4, 8, "invalid", "failing")] == [True, True, False, False, False], "can_run")
    require(list(backend.failures()) == ["invalid"] and gfxgraph.stats()["fallback_count"] == before + 1, str(backend.failures()))
    for turn in range(3):
        for size, x in inputs.items():
            x.write(rows(size, 100 * turn))
            with backend.replay_session():
                output = backend.replay(size, None, stream=stream)
            require(content(hip, output) == [value + 5 for value in rows(size, 100 * turn)], f"{turn}, {size}")
    require(calls == [2, 2, 2, 4, 4, 4], "called again")
    raises(KeyError, "was not captured", lambda: backend.replay(8, None))
    raises(KeyError, "could not be captured: hipStreamEndCapture", lambda: backend.replay("invalid", None))
    backend.cleanup()
    require(not backend.can_run(None, 2), "cleaned up")


def memory(hip, gfxgraph):
    """empty(): an array's memory is used again by the same size and stream only, and not while a step keeps it."""
    from gfxgraph import _hip

    stream = hip.stream.value
    first = gfxgraph.empty((4, 2), "<f4", stream)
    require(first.shape == (4, 2) and first.size_bytes == 32 and first.__dlpack_device__() == (10, 0), str(first))
    place = first.address
    for other in (gfxgraph.empty((8,), "<f4", stream), gfxgraph.empty((8,), "<f4", None)):
        require(other.address != place, "memory that is in use")
    del first
    require(gfxgraph.empty((8,), "<i4", None).address != place, "another stream")
    require(gfxgraph.empty((9,), "<i4", stream).address != place, "another size")
    again = gfxgraph.empty((8,), "<i4", stream)
    require(again.address == place, "not used again")
    keeper = _hip.Keeper()
    with _hip.keeping(keeper):
        kept = gfxgraph.empty((8,), "<i4", stream)
    place = kept.address
    del kept
    require(keeper.addresses == [place] and gfxgraph.empty((8,), "<i4", stream).address != place, "memory of a step")
    error = raises(gfxgraph.HipError, "hipMalloc", lambda: gfxgraph.empty((1 << 50,), "<i4", stream))
    require(error.code == 2, str(error.code))
    require(gfxgraph.empty((0, 3), "<i4").size_bytes == 0, "without bytes")


def enabling(hip, gfxgraph):
    """enable() puts the classes in place of torch's, disable() back; the environment; and the health check."""
    import gfxgraph.torch as cuda

    # Stands in for a CPU torch: the names that enable() changes, and no device.
    torch = types.ModuleType("torch")
    theirs = type("CUDAGraph", (), {})
    torch.cuda = types.SimpleNamespace(CUDAGraph=theirs, graph=None, is_available=lambda: False)
    sys.modules["torch"] = torch
    gfxgraph.enable()
    require(torch.cuda.CUDAGraph is cuda.CUDAGraph and torch.cuda.graph is cuda.graph, "enable")
    require(not hasattr(torch.cuda, "make_graphed_callables"), "a name that it does not have")
    gfxgraph.disable()
    require(torch.cuda.CUDAGraph is theirs and torch.cuda.graph is None, "disable")
    del sys.modules["torch"]
    health = gfxgraph.health_check()
    require(health["ok"] and health["native_bridge"] and health["vram_total_mb"] > 0 and health["gpu"], str(health))
    require(set(health) == {"ok", "gpu", "rocm", "native_bridge", "vram_total_mb", "vram_free_mb", "details"}, str(health))
    from gfxgraph import _enabling

    os.environ["GFXGRAPH_VRAM_CAP"] = "0.5"
    require(_enabling.vram_cap() == 0.5, "cap")
    os.environ["GFXGRAPH_VRAM_CAP"] = "80"
    raises(ValueError, "a share from 0 to 1", _enabling.vram_cap)
    os.environ["GFXGRAPH"] = "validate"
    _enabling._from_environment()
    require(gfxgraph.is_enabled() and _enabling.validates(), "environment")


def without_hooks(hip, gfxgraph):
    """Named: the health check is not ok, graphs of HIP 5 are refused, pools go by the function."""
    import gfxgraph.torch as cuda
    from gfxgraph.hipgraph_bridge import ShapeBucketPool

    health = gfxgraph.health_check()
    require(not health["ok"] and "--capture-api" in health["details"][0] and not health["native_bridge"], str(health))
    array = hip.array([0] * 64)
    if "libamdhip64.so.5" in hip.library._name:
        raises(RuntimeError, "gfxgraph run --capture", lambda: cuda.CUDAGraph().capture_begin(stream=hip.stream.value))
    pool = ShapeBucketPool(Model(hip, gfxgraph), [4])
    for _ in range(2):
        require(content(hip, pool(hip.array(rows(3), COLUMNS), hip.stream.value)) == [value + 5 for value in rows(3)], "values")
    require(pool.last.way == "work" and gfxgraph.stats()["fallback_reasons"] == {"capture": 1}, str(gfxgraph.stats()))
    require(array.read() == [0] * 64, "nothing was done")


PROGRAMS = {"decorator": decorator, "buckets": buckets, "cap": cap, "conditions": conditions, "graphs": graphs, "hooks": hooks,
            "concurrent": concurrent, "waits": waits, "callables": callables, "serving": serving, "memory": memory,
            "enabling": enabling, "without_hooks": without_hooks}

if __name__ == "__main__":
    programs(PROGRAMS, os.path.abspath(__file__), lambda what: [] if what == "without_hooks" else ["--capture", "--capture-api"])
