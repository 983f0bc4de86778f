"""ONNX Runtime's `enable_hip_graph`, which captures a run of a model and launches the graph in later ones.

Each run has other inputs; its outputs must be those of the provider for the CPU. Prints "MODEL: right" or what is not.
Exit code 1: something was wrong. LayerNormalization and Softmax are left out: their kernels take it for granted that a wave has
64 lanes, which is wrong on gfx1030 with and without graphs.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RUNS = 5
random = np.random.default_rng(1)


def numbers(*shape):
    return random.standard_normal(shape).astype(np.float32)


def model(name, nodes, constants, given, result):
    def value(label, shape):
        return helper.make_tensor_value_info(label, TensorProto.FLOAT, shape)

    graph = helper.make_graph(nodes, name, [value("x", given)], [value("y", result)],
                              [numpy_helper.from_array(array, label) for label, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def layers():
    """Two products, as rocBLAS computes them, and kernels of ONNX Runtime between them."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["g"]),
        helper.make_node("Relu", ["g"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["m"]),
        helper.make_node("Add", ["m", "b2"], ["a"]),
        helper.make_node("Tanh", ["a"], ["y"]),
    ]
    constants = {"w1": numbers(16, 32), "b1": numbers(32), "w2": numbers(32, 8), "b2": numbers(8)}
    return model("layers", nodes, constants, [4, 16], [4, 8]), (4, 16), (4, 8)


def elements():
    """Kernels alone."""
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["g"]),
        helper.make_node("Mul", ["x", "g"], ["m"]),
        helper.make_node("Transpose", ["m"], ["t"], perm=[1, 0]),
        helper.make_node("Add", ["t", "bias"], ["y"]),
    ]
    constants = {"scale": numbers(1), "bias": numbers(8)}
    return model("elements", nodes, constants, [8, 32], [32, 8]), (8, 32), (32, 8)


def difference(made, given, result):
    """The largest one of all runs."""
    captured = onnxruntime.InferenceSession(made, providers=[("ROCMExecutionProvider", {"enable_hip_graph": "1"})])
    if captured.get_providers()[0] != "ROCMExecutionProvider":
        raise SystemExit("the provider for AMD GPUs cannot be used")
    on_cpu = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    there = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(given, np.float32), "cuda", 0)
    back = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(result, np.float32), "cuda", 0)
    binding = captured.io_binding()
    binding.bind_ortvalue_input("x", there)
    binding.bind_ortvalue_output("y", back)
    largest = 0.0
    for _ in range(RUNS):
        x = numbers(*given)
        there.update_inplace(x)
        captured.run_with_iobinding(binding)
        largest = max(largest, float(np.abs(back.numpy() - on_cpu.run(None, {"x": x})[0]).max()))
    return largest


def main():
    wrong = 0
    for make in (layers, elements):
        largest = difference(*make())
        right = largest < 1e-4
        wrong += not right
        print(f"{make.__name__}: " + ("right" if right else f"differs by {largest:.3g}"), flush=True)
    return 1 if wrong else 0


sys.exit(main())
