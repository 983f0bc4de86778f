"""Calls HIP through what the arguments name: extension modules made with a binding generator, or cffi."""

import importlib
import sys


def cffi_wait():
    import cffi

    foreign = cffi.FFI()
    foreign.cdef("int hipDeviceSynchronize(void);")
    return foreign.dlopen(sys.argv[1]).hipDeviceSynchronize


def wait_of(name):
    return cffi_wait() if name == "cffi" else importlib.import_module("waits_" + name).wait


def use(wait):
    for _ in range(3):
        wait()  # here: binding


for name in sys.argv[2:]:
    use(wait_of(name))
