"""HIP by ctypes alone, for the test of the driver: needs no package. CODE_OBJECT [wrong|differs|nan|chooses]."""

import ctypes
import os
import sys

import results

COUNT, ROUNDS = 1024, 6
kind = sys.argv[2] if len(sys.argv) > 2 else ""
hip = ctypes.CDLL("libamdhip64.so.5")


def call(name, *arguments):
    error = getattr(hip, name)(*arguments)
    if error:
        sys.exit(f"{name}: error {error}")


module, function, stream, memory = [ctypes.c_void_p() for _ in range(4)]
call("hipModuleLoad", ctypes.byref(module), sys.argv[1].encode())
call("hipModuleGetFunction", ctypes.byref(function), module, b"add")
call("hipStreamCreate", ctypes.byref(stream))
call("hipMalloc", ctypes.byref(memory), ctypes.c_size_t(4 * COUNT))
call("hipMemset", memory, 0, ctypes.c_size_t(4 * COUNT))
arguments = [memory, ctypes.c_int(3), ctypes.c_int(COUNT)]
pointers = (ctypes.c_void_p * 3)(*map(ctypes.addressof, arguments))
for _ in range(ROUNDS):
    for _ in range(4):
        if kind == "chooses":  # its device, before each launch, as tinygrad and OpenMM do
            call("hipSetDevice", 0)
        call("hipModuleLaunchKernel", function, COUNT // 256, 1, 1, 256, 1, 1, 0, stream, pointers, None)
    call("hipStreamSynchronize", stream)
data = (ctypes.c_int * COUNT)()
call("hipMemcpy", data, memory, ctypes.c_size_t(4 * COUNT), 2)
expected = 3 * 4 * ROUNDS + (kind == "wrong")
difference = float("nan") if kind == "nan" else max(abs(one - expected) for one in data)
if kind == "differs":  # as a program does whose bytes are others when it is accelerated
    data[0] += "accelerate" in os.environ.get("LD_PRELOAD", "")
results.say("sums", difference, 0, bytes(data), "Python")
sys.exit(1 if results.wrong else 0)
