"""ONNX Runtime's ROCm provider beside its provider for the CPU: layers, a convolution, and layers as a graph (enable_hip_graph).

LayerNormalization and Softmax are left out: their kernels take it for granted that a wave has 64 lanes, which is wrong on gfx1030.
"""

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from results import compare, parts

RUNS = 4
random = numpy.random.default_rng(1)


def floats(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def model(nodes, constants, given, result):
    graph = helper.make_graph(nodes, "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
                              [numpy_helper.from_array(array, label) for label, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def run(name, made, given, result, graph=False):
    device = onnxruntime.InferenceSession(made, providers=[("ROCMExecutionProvider", {"enable_hip_graph": "1"} if graph else {})])
    assert device.get_providers()[0] == "ROCMExecutionProvider", device.get_providers()
    host = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    if graph:
        there = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(given, numpy.float32), "cuda", 0)
        back = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(result, numpy.float32), "cuda", 0)
        binding = device.io_binding()
        binding.bind_ortvalue_input("x", there)
        binding.bind_ortvalue_output("y", back)
    for number in range(RUNS):
        x = floats(*given)
        if graph:
            there.update_inplace(x)
            device.run_with_iobinding(binding)
            got = back.numpy()
        else:
            got = device.run(None, {"x": x})[0]
        compare(f"{name}, run {number}", got, host.run(None, {"x": x})[0], 1e-5, "its provider for the CPU")


def layers_of(shape=(4, 16)):
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["g"]), helper.make_node("Relu", ["g"], ["r"]),
             helper.make_node("MatMul", ["r", "w2"], ["m"]), helper.make_node("Add", ["m", "b2"], ["a"]), helper.make_node("Tanh", ["a"], ["y"])]
    constants = {"w1": floats(16, 32) * numpy.float32(0.2), "b1": floats(32), "w2": floats(32, 8) * numpy.float32(0.2), "b2": floats(8)}
    return model(nodes, constants, list(shape), [4, 8]), shape, (4, 8)


def layers():
    run("layers", *layers_of())


def graph():
    run("layers as a graph", *layers_of(), graph=True)


def convolution():
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    run("convolution", model(nodes, {"w": floats(4, 3, 3, 3), "b": floats(4)}, [1, 3, 8, 8], [1, 4, 8, 8]), (1, 3, 8, 8), (1, 4, 8, 8))


parts([layers, graph, convolution])
