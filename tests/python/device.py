"""HIP by ctypes and arrays on the device, for programs of the tests: as CuPy's and Triton's launchers call it."""

import ctypes
import struct
import sys

from package import environment

from harness import Failure, main, require, run


def runtime():
    for version in (5, 6, 7):
        try:
            return ctypes.CDLL(f"libamdhip64.so.{version}")
        except OSError:
            continue
    raise Failure("no HIP runtime")


class Hip:
    """The calls that the tests need, of the library that the process finds; kernels of tests/capture/capture_forms.co."""

    def __init__(self, code_object):
        self.library = runtime()
        self.module, self.function, self.stream = ctypes.c_void_p(), ctypes.c_void_p(), self.new_stream()
        self.call("hipModuleLoad", ctypes.byref(self.module), code_object.encode())
        self.call("hipModuleGetFunction", ctypes.byref(self.function), self.module, b"add")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        require(result == 0, f"{name}: {result}")

    def new_stream(self):
        made = ctypes.c_void_p()
        self.call("hipStreamCreateWithFlags", ctypes.byref(made), 1)
        return made

    def wait(self, stream=None):
        self.call("hipStreamSynchronize", self.stream if stream is None else ctypes.c_void_p(stream))

    def array(self, values, columns=None):
        return Array(self, values, columns)

    def add(self, address, value, count, stream):
        """Adds to each of the integers."""
        arguments = [ctypes.c_void_p(address), ctypes.c_int(value), ctypes.c_int(count)]
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(one) for one in arguments))
        self.call("hipModuleLaunchKernel", self.function, max(1, -(-count // 256)), 1, 1, 256, 1, 1, 0, ctypes.c_void_p(stream),
                  pointers, None)

    def copy(self, to, source, size_bytes, stream):
        self.call("hipMemcpyAsync", ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size_bytes), 3,
                  ctypes.c_void_p(stream))


class Array:
    """int32 values on the device, in one dimension or in rows of `columns`."""

    def __init__(self, hip, values, columns=None):
        self.hip, self.count = hip, len(values)
        self.shape = (self.count,) if columns is None else (self.count // columns, columns)
        self.memory = ctypes.c_void_p()
        hip.call("hipMalloc", ctypes.byref(self.memory), ctypes.c_size_t(max(4 * self.count, 4)))
        self.write(values)

    @property
    def address(self):
        return self.memory.value

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<i4", "data": (self.address, False), "strides": None, "version": 3}

    def write(self, values):
        self.hip.call("hipMemcpy", self.memory, struct.pack(f"<{self.count}i", *values), ctypes.c_size_t(4 * self.count), 1)

    def read(self):
        """Behind the stream's work."""
        self.hip.call("hipDeviceSynchronize")
        return read_at(self.hip, self.address, self.count)

    def free(self):
        self.hip.call("hipFree", self.memory)


def raises(kind, text, function):
    """The error that the function raises, whose text has `text`."""
    try:
        function()
    except kind as error:
        require(text in str(error), f"{error}")
        return error
    raise Failure(f"nothing raised {kind.__name__}: {text}")


def read_at(hip, address, count):
    data = (ctypes.c_int * count)()
    hip.call("hipMemcpy", data, ctypes.c_void_p(address), ctypes.c_size_t(4 * count), 2)
    return list(data)


def programs(all_of, file, hooks):
    """A test for each: the program in a process with gfxgraph's hooks, on the software agent."""
    def test_of(what):
        def test(build, scratch):
            run(build.tool("gfxgraph", "run", *hooks(what), "--device", "emulated", "--", sys.executable, file, "--program", what,
                           str(build.root / "tests" / "capture" / "capture_forms.co"), str(scratch)),
                env={**environment(build), "PYTHONDONTWRITEBYTECODE": "1"})

        test.__doc__ = all_of[what].__doc__
        return test

    if sys.argv[1] == "--program":
        import gfxgraph

        all_of[sys.argv[2]](Hip(sys.argv[3]), gfxgraph)
    else:
        main({what: test_of(what) for what in all_of})
