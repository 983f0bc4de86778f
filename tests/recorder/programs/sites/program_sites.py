"""Calls HIP from Python: in functions, a thread, a module that is executed again and again, a callback."""

import ctypes
import sys
import threading

hip = ctypes.CDLL("libamdhip64.so.5")
hip.hipMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def allocate(size):
    pointer = ctypes.c_void_p()
    if hip.hipMalloc(ctypes.byref(pointer), size):  # here: allocate
        sys.exit("hipMalloc fails")
    return pointer


class Model:
    def __init__(self):
        self.memory = allocate(1 << 12)

    def step(self):
        hip.hipMemset(
            self.memory,  # an argument has a line of its own
            1, 1 << 12)
        hip.hipDeviceSynchronize()  # here: step


def in_thread():
    hip.hipStreamSynchronize(None)  # here: thread


def called_back():
    hip.hipDeviceSynchronize()  # here: callback


model = Model()
allocate(256)
for _ in range(3):
    model.step()
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
# Memory of the code and of its names is used again by the next round.
for i in range(64):
    exec(compile("\n" * i + "hip.hipDeviceSynchronize()", f"made_{i % 8}.py", "exec"))
ctypes.CFUNCTYPE(None)(called_back)()
ctypes.PyDLL("libamdhip64.so.5").hipDeviceSynchronize()  # here: with the interpreter's lock
hip.hipFree(model.memory)  # here: free
