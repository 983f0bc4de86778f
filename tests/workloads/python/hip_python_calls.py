"""AMD's bindings of HIP and HIPRTC for Python (rocm-bindings-hip, once hip-python): compile, launch, capture, beside NumPy."""

import ctypes

import numpy
from results import compare, parts
from rocm.bindings import hip, hiprtc

SOURCE = b"""extern "C" __global__ void scale(float* x, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= s;
}"""


def ok(result):
    error, *values = result if isinstance(result, tuple) else (result,)
    if int(error) != 0:
        raise SystemExit(str(error))
    return values[0] if len(values) == 1 else values


def calls():
    program = ok(hiprtc.hiprtcCreateProgram(SOURCE, b"scale", 0, None, None))
    ok(hiprtc.hiprtcCompileProgram(program, 1, [b"--offload-arch=gfx1030"]))
    code = bytearray(ok(hiprtc.hiprtcGetCodeSize(program)))
    ok(hiprtc.hiprtcGetCode(program, code))
    kernel = ok(hip.hipModuleGetFunction(ok(hip.hipModuleLoadData(code)), b"scale"))
    x = numpy.arange(1000, dtype=numpy.float32)
    there = ok(hip.hipMalloc(x.nbytes))
    ok(hip.hipMemcpy(there, x, x.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    stream = ok(hip.hipStreamCreate())

    def launch():
        ok(hip.hipModuleLaunchKernel(kernel, *hip.dim3(4, 1, 1), *hip.dim3(256, 1, 1), sharedMemBytes=0, stream=stream, kernelParams=None,
                                     extra=(there, ctypes.c_float(2), ctypes.c_int(1000))))

    def read():
        values = numpy.zeros_like(x)
        ok(hip.hipMemcpy(values, there, x.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
        return values

    for _ in range(2):
        launch()
    ok(hip.hipStreamSynchronize(stream))
    compare("launched twice", read(), x * 4, 0)
    ok(hip.hipStreamBeginCapture(stream, hip.hipStreamCaptureMode.hipStreamCaptureModeGlobal))
    launch()
    launch()
    graph = ok(hip.hipGraphInstantiateWithFlags(ok(hip.hipStreamEndCapture(stream)), 0))
    for _ in range(2):
        ok(hip.hipGraphLaunch(graph, stream))
    ok(hip.hipStreamSynchronize(stream))
    compare("and captured", read(), x * 64, 0)


parts([calls])
