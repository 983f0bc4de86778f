#!/usr/bin/env python3
"""continue_step.py JOB.json: goes on with recorded decode steps of llama.cpp where llama.cpp was when they were recorded.

Runs in a runtime's root, below `gfxgraph run`, and calls libgfxgraph by its C interface. JOB names the library, the model's
seed, mode and layout, the steps (trace, inputs and output of each), the position where to end, and kinds of inputs that stay
as they were recorded ("hold"). Prints JSON: the first position, the token that was recorded there and those that were decided
on, and what each input was taken for.
"""

import ctypes
import json
import sys
from pathlib import Path

import llama_inputs
import make_model

MODES = {"eager": 0, "batch": 1, "graph": 2}
LAYOUTS = {"same": 0, "shift": 1}


class Environment(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("emulated", ctypes.c_uint32), ("gfxgraph_version", ctypes.c_char_p),
                ("gpu_arch", ctypes.c_char_p), ("device_name", ctypes.c_char_p),
                ("hip_runtime_version", ctypes.c_int32), ("sealed", ctypes.c_uint32), ("complete", ctypes.c_uint32),
                ("launch_count", ctypes.c_uint32), ("kernel_count", ctypes.c_uint32),
                ("allocation_count", ctypes.c_uint32)]


class Allocation(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("kind", ctypes.c_uint32), ("size_bytes", ctypes.c_uint64),
                ("recorded_address", ctypes.c_uint64), ("begin_sequence", ctypes.c_uint64),
                ("end_sequence", ctypes.c_uint64), ("post_state_known", ctypes.c_uint32),
                ("initial_state_unknown", ctypes.c_uint32), ("symbol", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("name_source", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class ReplayOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("mode", ctypes.c_int32), ("layout", ctypes.c_int32),
                ("device", ctypes.c_int32)]  # the first ones: what a library does not get keeps its default


def sized(structure, **fields):
    return structure(struct_size=ctypes.sizeof(structure), **fields)


class Replay:
    """A loaded trace, whose buffers go by their names."""

    def __init__(self, library, trace, mode, layout):
        self.library = library
        self.handle = ctypes.c_void_p()
        opened, plan = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("trace_open", str(trace).encode(), None, ctypes.byref(opened))
        environment = sized(Environment)
        self.call("trace_environment", opened, ctypes.byref(environment))
        self.buffers = {}
        for number in range(1, environment.allocation_count + 1):
            allocation = sized(Allocation)
            self.call("trace_allocation", opened, ctypes.c_uint32(number), ctypes.byref(allocation))
            self.buffers[allocation.name.decode()] = (number, allocation.size_bytes)
        self.call("plan_create", opened, None, ctypes.byref(plan))
        options = sized(ReplayOptions, mode=MODES[mode], layout=LAYOUTS[layout], device=-1)
        self.call("replay_create", plan, ctypes.byref(options), ctypes.byref(self.handle))
        self.call("replay_restore", self.handle)

    def call(self, function, *arguments):
        if getattr(self.library, "gfxgraph_" + function)(*arguments) != 0:
            self.library.gfxgraph_last_error.restype = ctypes.c_char_p
            sys.exit(f"gfxgraph_{function}: {self.library.gfxgraph_last_error().decode()}")

    def run(self):
        self.call("replay_run", self.handle)
        self.call("replay_wait", self.handle)

    def read(self, buffer, offset, size):
        content = ctypes.create_string_buffer(size)
        self.call("replay_read", self.handle, ctypes.c_uint32(self.buffers[buffer][0]), ctypes.c_uint64(offset), content,
                  ctypes.c_uint64(size))
        return content.raw

    def write(self, buffer, offset, content):
        self.call("replay_write", self.handle, ctypes.c_uint32(self.buffers[buffer][0]), ctypes.c_uint64(offset), content,
                  ctypes.c_uint64(len(content)))


class Step:
    """A recorded decode step, which decides on a token after another."""

    def __init__(self, library, job, recorded, embeddings):
        self.replay = Replay(library, recorded["trace"], job["mode"], job["layout"])
        self.hold, self.output, self.embeddings = job["hold"], recorded["output"], embeddings
        self.inputs = [(place, self.replay.read(*place)) for place in recorded["inputs"]]
        contents = [content for _, content in self.inputs]
        self.position = llama_inputs.position_of(contents)
        self.kinds = [llama_inputs.kind_of(content, self.position, embeddings) for content in contents]
        self.token = embeddings.index(contents[self.kinds.index("embedding")])
        self.columns = len(contents[self.kinds.index("mask")]) // 2

    def decide(self, token, position):
        for ((buffer, offset, size), recorded), kind in zip(self.inputs, self.kinds):
            content = None if kind in self.hold else llama_inputs.given(kind, size, token, position, self.embeddings)
            self.replay.write(buffer, offset, recorded if content is None else content)
        self.replay.run()
        return llama_inputs.decide(self.replay.read(*self.output))

    def take_over(self, before):
        """The memory of the step before: weights, and the keys and values of all tokens so far."""
        for name, (_, size) in self.replay.buffers.items():
            if before.replay.buffers.get(name, (0, 0))[1] == size:
                self.replay.write(name, 0, before.replay.read(name, 0, size))


def main():
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    library = ctypes.CDLL(job["library"])
    embeddings = make_model.embeddings(job["seed"])
    steps = [Step(library, job, recorded, embeddings) for recorded in job["steps"]]
    steps.sort(key=lambda step: step.columns)
    current, position, tokens = steps[0], steps[0].position, [steps[0].token]
    while position < job["end"]:
        if position >= current.columns:
            larger = next((step for step in steps if position < step.columns), None)
            if larger is None:
                sys.exit(f"no step is recorded for position {position}")
            larger.take_over(current)
            current = larger
        tokens.append(current.decide(tokens[-1], position))
        position += 1
    print(json.dumps({"position": steps[0].position, "tokens": tokens,
                      "steps": [{"columns": step.columns, "kinds": step.kinds} for step in steps]}))


if __name__ == "__main__":
    main()
