"""Arrays of other packages as inputs, arguments and buffers, and the package's own arrays in theirs."""

import ctypes
import gc
import struct
import sys
import weakref

from package import environment, load

from harness import Failure, main, require, run

COUNT = 64


class Interface:
    """A device array as CuPy and Numba show theirs."""

    def __init__(self, address=0x1000, shape=(4, 8), typestr="<f4", strides=None, readonly=False, **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (address, readonly), "strides": strides,
                                         "version": 3, **more}


class Exchanged:
    """A device array that has DLPack alone, with the strides that it is given, in elements."""

    def __init__(self, gfxgraph, array, device=10, strides=None, lanes=1, bits=None, versioned=False):
        self.module, self.array, self.device, self.strides = gfxgraph.arrays, array, device, strides
        self.lanes, self.bits, self.versioned = lanes, bits, versioned

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None):
        capsule = self.array.__dlpack__(stream=stream)
        managed = self.module._Managed.from_address(self.module._capsule_pointer(capsule, b"dltensor"))
        if self.strides is not None:
            self.kept = (ctypes.c_int64 * len(self.strides))(*self.strides)
            managed.tensor.strides = self.kept
        managed.tensor.dtype.lanes = self.lanes
        if self.bits is not None:
            managed.tensor.dtype.bits = self.bits
        return capsule


def raises(kind, call, *texts):
    try:
        call()
    except kind as error:
        require(all(text in str(error) for text in texts), f"{error}: not {texts}")
        return
    raise Failure(f"not refused: {texts}")


def interfaces(build, scratch):
    """What __cuda_array_interface__ says is what is used; what is not contiguous, is refused with its strides."""
    gfxgraph = load(build)
    array = Interface()
    memory = gfxgraph.device_memory(array)
    require((memory.address, memory.size_bytes, memory.shape, memory.typestr, memory.owner) ==
            (0x1000, 128, (4, 8), "<f4", array), str(memory))
    require(gfxgraph.device_memory(Interface(strides=(32, 4))).size_bytes == 128, "strides of a contiguous array")
    require(gfxgraph.device_memory(Interface(shape=(1, 8), strides=(999, 4))).size_bytes == 32, "a length of 1 has no stride")
    require(gfxgraph.device_memory(Interface(address=0, shape=(0, 8), strides=(7, 7))).size_bytes == 0, "an empty array")
    require(gfxgraph.device_memory(Interface(shape=(), typestr="<i8")).size_bytes == 8, "a scalar")
    raises(ValueError, lambda: gfxgraph.device_memory(Interface(strides=(4, 16))), "(4, 8)", "(4, 16)", "contiguous")
    raises(ValueError, lambda: gfxgraph.device_memory(Interface(strides=(64, 4))), "contiguous")
    raises(ValueError, lambda: gfxgraph.device_memory(Interface(typestr=">f4")), "big-endian")
    raises(ValueError, lambda: gfxgraph.device_memory(Interface(mask=Interface())), "masked")
    raises(ValueError, lambda: gfxgraph.device_memory(Interface(address=0)), "address 0")
    raises(TypeError, lambda: gfxgraph.device_memory(bytearray(4)), "bytearray", "__cuda_array_interface__")


def dlpack(build, scratch):
    """There and back; a tensor lives as long as whoever took it, and its array as long as the tensor."""
    gfxgraph = load(build)
    for typestr, item in (("<f4", 4), ("<i8", 8), ("|u1", 1), ("<f2", 2), ("<c8", 8), ("|b1", 1)):
        array = gfxgraph.DeviceArray(0x2000, (3, 5), typestr, None)
        memory = gfxgraph.device_memory(Exchanged(gfxgraph, array))
        require((memory.address, memory.size_bytes, memory.shape, memory.typestr) == (0x2000, 15 * item, (3, 5), typestr),
                str(memory))
    require(gfxgraph.device_memory(Exchanged(gfxgraph, array, strides=(5, 1))).size_bytes == 15, "strides")
    raises(ValueError, lambda: gfxgraph.device_memory(Exchanged(gfxgraph, array, strides=(1, 3))), "contiguous")
    raises(ValueError, lambda: gfxgraph.device_memory(Exchanged(gfxgraph, array, lanes=4)), "lanes")
    raises(ValueError, lambda: gfxgraph.device_memory(Exchanged(gfxgraph, array, bits=4)), "4 bits")
    raises(TypeError, lambda: gfxgraph.device_memory(Exchanged(gfxgraph, array, device=1)), "device type 1", "ROCm")
    raises(BufferError, lambda: gfxgraph.DeviceArray(0x2000, (3,), "|V2", None).__dlpack__(), "|V2")

    class Owner:
        pass

    owner = Owner()
    gone = weakref.ref(owner)
    memory = gfxgraph.device_memory(Exchanged(gfxgraph, gfxgraph.DeviceArray(0x2000, (3,), "<f4", owner)))
    del owner
    gc.collect()
    require(gone() is not None, "the owner went before the tensor")
    del memory
    gc.collect()
    require(gone() is None and not gfxgraph.arrays._given, "the tensor stays")


def streams(build, scratch):
    gfxgraph = load(build)

    class CuPy:
        ptr = 0x30

    class Torch:
        cuda_stream = 0x40

    class Core:
        def __cuda_stream__(self):
            return 0, 0x50

    class Newer:
        def __cuda_stream__(self):
            return 7, 0x50

    found = [gfxgraph.stream_handle(one) for one in (None, 0x20, CuPy(), Torch(), Core(), ctypes.c_void_p(0x60).value)]
    require(found == [0, 0x20, 0x30, 0x40, 0x50, 0x60], str(found))
    raises(ValueError, lambda: gfxgraph.stream_handle(Newer()), "version 7")
    raises(TypeError, lambda: gfxgraph.stream_handle("stream"), "str is no stream")


def refused(build, scratch):
    """Host memory where a device's is needed, and the reverse; host arrays that are not contiguous."""
    gfxgraph = load(build)
    read_only, writable = gfxgraph.arrays.read_only, gfxgraph.arrays.writable
    require(read_only(struct.pack("<2i", 1, 2))[1] == 8 and writable(bytearray(5))[1] == 5, "host memory")
    raises(TypeError, lambda: read_only(Interface()), "device memory", "bind")
    raises(ValueError, lambda: writable(b"1234"), "read-only")
    raises(ValueError, lambda: read_only(memoryview(bytearray(8))[::2]), "contiguous")
    try:
        import numpy
    except ImportError:
        return
    raises(ValueError, lambda: read_only(numpy.zeros((4, 4), "f4").T), "(4, 4)", "(4, 16)", "contiguous")
    array = numpy.arange(6, dtype="i4").reshape(2, 3)
    require(bytes(read_only(array)[0]) == array.tobytes(), "NumPy's bytes")


def host(build, scratch):
    """Tensors of the host that have DLPack alone, as torch's: read and written in place, kept, and refused as NumPy's arrays are."""
    gfxgraph = load(build)
    read_only, writable = gfxgraph.arrays.read_only, gfxgraph.arrays.writable
    memory = (ctypes.c_int32 * 6)(*range(6))
    array = gfxgraph.DeviceArray(ctypes.addressof(memory), (2, 3), "<i4", memory)
    for device in (1, 11):
        tensor = Exchanged(gfxgraph, array, device)
        kept, size = read_only(tensor)
        require(size == 24 and bytes(kept) == bytes(memory), f"device type {device}")
        gone = weakref.ref(tensor)
        del tensor
        gc.collect()
        require(gone() is not None, "the tensor is kept")
        del kept
        gc.collect()
        require(gone() is None, "the tensor is let go of")
    kept, size = writable(Exchanged(gfxgraph, array, 1))
    kept[4:8] = struct.pack("<i", 77)
    require(memory[1] == 77, "written in place")
    nothing = gfxgraph.DeviceArray(0, (0, 3), "<i4", None)
    require(read_only(Exchanged(gfxgraph, nothing, 1))[1] == 0, "without elements")
    raises(ValueError, lambda: read_only(Exchanged(gfxgraph, array, 1, strides=(1, 2))), "(2, 3)", "(4, 8)", "contiguous")
    raises(TypeError, lambda: read_only(Exchanged(gfxgraph, array)), "device memory", "bind")
    raises(TypeError, lambda: read_only(Exchanged(gfxgraph, array, 2)), "bytes-like")
    raises(TypeError, lambda: gfxgraph.device_memory(Exchanged(gfxgraph, array, 1)), "device type 1", "ROCm")


def work(trace):
    """Step 2 of tests/e2e/programs/steps.hip over memory that other objects own."""
    import gfxgraph

    step_range = gfxgraph.Trace(trace).range("step#2")
    (place,) = (one for one in step_range.parameters() if one.pattern == "step" and one.buffer != 0)
    size = 6 * 4 * COUNT
    floats = struct.Struct(f"<{COUNT}f")
    for mode in ("eager", "batch", "graph", "packets"):
        with gfxgraph.Session(step_range.trace) as session:
            hip = ctypes.CDLL(session.hip_library)
            mine = ctypes.c_void_p()
            require(hip.hipMalloc(ctypes.byref(mine), ctypes.c_size_t(size)) == 0, "hipMalloc")
            mine = mine.value
            raises(gfxgraph.Error, lambda: session.bind(place.buffer, Interface(mine, (size - 1,), "|u1")),
                   f"needs {size} bytes, not {size - 1}")
            raises(ValueError, lambda: session.bind(place.buffer, Interface(mine, (6, COUNT), readonly=True)), "read-only")
            raises(ValueError, lambda: session.bind(place.buffer, Interface(mine, (6, COUNT)), size + 1), str(size))
            raises(TypeError, lambda: session.bind(place.buffer, mine), "size_bytes")
            raises(TypeError, lambda: session.bind(place.buffer, bytearray(size)), "bytearray")
            with session.step(step_range, mode) as step:
                owner = gfxgraph.DeviceArray(mine, (6, COUNT), "<f4", None)
                session.bind(place.buffer, Exchanged(gfxgraph, owner) if mode == "batch" else owner)
                require(session.address(place.buffer) == mine, "bound elsewhere")
                given, _ = step_range.inputs()
                inputs = session.array(given.buffer, "<f4")  # of the device, filled by the session
                session.write(given.buffer, floats.pack(*range(COUNT)))
                step.set_input(given, gfxgraph.DeviceArray(inputs.address, (COUNT,), "<f4", session,
                                                           hip_library=session.hip_library))
                raises(TypeError, lambda: step.set_output(0, inputs), "device memory")
                whole = session.array(place.buffer, "<f4", (6, COUNT))
                # The parameter's place by an array that begins there.
                row = gfxgraph.DeviceArray(whole.address + 5 * 4 * COUNT, (COUNT,), "<f4", session, hip_library=session.hip_library)
                step.set_parameter(place, row)
                raises(ValueError, lambda: step.set_parameter(place, Interface(16, (COUNT,))), "in no buffer")
                raises(ValueError, lambda: session.array(place.buffer, "<f4", (7, COUNT)), "bytes")
                step.run()
                step.wait()
                values = struct.unpack(f"<{6 * COUNT}f", whole.to_host())
                # 0.5 of what the recorded program had before this step.
                state = 0.0
                for n in range(2):
                    state = n + 0.5 * state + 11 * n
                require(list(values[5 * COUNT :]) == [n + 0.5 * state for n in range(COUNT)], f"{mode}: {values[5 * COUNT:][:4]}")
                interface = whole.__cuda_array_interface__
                require((interface["data"], interface["shape"]) == ((mine, False), (6, COUNT)), str(interface))
            require(hip.hipFree(ctypes.c_void_p(mine)) == 0, "hipFree")


def session(build, scratch):
    trace = scratch / "steps.gfxg"
    run(build.record(trace, build.programs / "steps", options=("--range", "step#0-5")))
    run(build.tool("gfxgraph", "run", "--device", "emulated", "--", sys.executable, __file__, "--work", trace),
        env=environment(build))


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(sys.argv[2])
    else:
        main({"interfaces": interfaces, "dlpack": dlpack, "streams": streams, "refused": refused, "host": host, "session": session})
