#!/usr/bin/env python3
"""continue_step.py JOB.json: goes on with recorded decode steps of llama.cpp where llama.cpp was when they were recorded.

Runs in a runtime's root, below `gfxgraph run`, with the Python module gfxgraph. JOB names the model's seed, mode and layout, the
steps (trace, inputs and output of each), the position where to end, and kinds of inputs that stay as they were recorded
("hold"). Prints JSON: the first position, the token that was recorded there and those that were decided on, and what each
input was taken for.
"""

import json
import sys
from pathlib import Path

import gfxgraph
import llama_inputs
import make_model


class Step:
    """A recorded decode step, which decides on a token after another."""

    def __init__(self, job, recorded, embeddings):
        trace = gfxgraph.Trace(recorded["trace"])
        self.buffers = {buffer.name: buffer for buffer in trace.buffers()}
        self.session = gfxgraph.Session(trace, shift=job["layout"] == "shift")
        self.step = self.session.step("all", job["mode"])
        self.hold, self.output, self.embeddings = job["hold"], recorded["output"], embeddings
        self.inputs = [(place, self.read(*place)) for place in recorded["inputs"]]
        contents = [content for _, content in self.inputs]
        self.position = llama_inputs.position_of(contents)
        self.kinds = [llama_inputs.kind_of(content, self.position, embeddings) for content in contents]
        self.token = embeddings.index(contents[self.kinds.index("embedding")])
        self.columns = len(contents[self.kinds.index("mask")]) // 2

    def read(self, buffer, offset, size):
        return self.session.read(self.buffers[buffer], offset, size)

    def decide(self, token, position):
        for ((buffer, offset, size), recorded), kind in zip(self.inputs, self.kinds):
            content = None if kind in self.hold else llama_inputs.given(kind, size, token, position, self.embeddings)
            self.session.write(self.buffers[buffer], recorded if content is None else content, offset)
        self.step.run()
        return llama_inputs.decide(self.read(*self.output))

    def take_over(self, before):
        """The memory of the step before: weights, and the keys and values of all tokens so far."""
        for name, buffer in self.buffers.items():
            if name in before.buffers and before.buffers[name].size_bytes == buffer.size_bytes:
                self.session.write(buffer, before.read(name, 0, buffer.size_bytes))


def main():
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    embeddings = make_model.embeddings(job["seed"])
    steps = [Step(job, recorded, embeddings) for recorded in job["steps"]]
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
