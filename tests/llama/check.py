"""check.py BUILD_TREE [--capture]: a decode step of llama.cpp, recorded without touching llama.cpp, goes on with its tokens.

llama.cpp is Debian forky's, with its HIP backend, on a model of random weights (make_model.py). Its tokens are those that the
program prints when it runs without recorder. --capture: only that its graphs, captured by gfxgraph's layer, give its tokens. scripts/experiments/check-llama says what it needs, and calls this from the root of the
repository.
"""

import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import llama_inputs  # noqa: E402
import make_model  # noqa: E402
from harness import Failure, require, run  # noqa: E402

SEED = 1
CONTEXT = 512  # positions; llama.cpp computes attention over 256 of them, then over all
TOKENS = 300   # so that there are steps of both kinds
FEW = 48
ROUND = 2      # the repetition of a period that is recorded, from 0
BY_FILES = 3   # tokens that gfxgraph-replay decides on, in a process each
WAYS = [(mode, layout) for mode in ("eager", "batch", "graph") for layout in ("same", "shift")]
WITHOUT_GRAPHS = {"GGML_CUDA_DISABLE_GRAPHS": "1"}


class Llama:
    """llama.cpp in forky's root, and gfxgraph with it. Paths are relative to the repository, which the root sees."""

    def __init__(self, build, scratch, environment):
        self.build, self.scratch, self.environment = build, scratch, environment

    def inside(self, *command, **more):
        return run(["scripts/with-runtime", "forky", "--inside", "--", *map(str, command)], env=self.environment, **more)

    def gfxgraph(self, tool, *arguments, **more):
        return self.inside(self.build / "bin" / tool, *arguments, **more)

    def program(self, tokens):
        return ["/usr/bin/llama-completion", "-m", self.scratch / "model.gguf", "-ngl", "99", "-c", CONTEXT, "-n", tokens, "--temp", "0",
                "--seed", "1", "-no-cnv", "-p", "hello", "--no-warmup", "--ignore-eos", "--no-display-prompt"]

    def start(self, tokens, *options):
        return self.gfxgraph("gfxgraph", "run", *options, "--device", "emulated", "--", *self.program(tokens))

    def run(self, tokens, *options):
        """Its tokens, and how many the prompt has."""
        done = self.start(tokens, *options)
        return words(done.stdout), int(re.search(r"prompt eval time = .* / +(\d+) tokens", done.stderr).group(1))

    def record(self, trace, tokens, *options):
        done = self.gfxgraph("gfxgraph-record", "--device", "emulated", "--force", *options, "-o", self.scratch / trace, "--",
                             *self.program(tokens))
        return words(done.stdout)

    def info(self, trace, *options):
        tool = self.build / "bin/gfxgraph"
        return json.loads(run([str(tool), "info", str(self.scratch / trace), "--json", *options]).stdout)


def words(text):
    return [int(word) for word in re.findall(r" t(\d+)", text)]


class Step:
    """A period of a recording: its trace, and where its inputs and its output are."""

    def __init__(self, llama, whole, number, name):
        period, compared = whole["periods"][number], whole["iterations"][number]
        names = {buffer["id"]: buffer["name"] for buffer in whole["buffers"]}

        def place(transfer):
            return [names[transfer["device"]["allocation"]], transfer["device"]["offset_bytes"], transfer["size_bytes"]]

        self.llama, self.trace = llama, name
        first = period["first_kernel"] + ROUND * period["kernels"]
        self.launches = f"{first}:{first + period['kernels']}"
        llama.record(name, TOKENS, "--launches", self.launches)
        self.inputs = [place(transfer) for transfer in compared["inputs"] if transfer["kind"] == "copy"]
        (output,) = compared["outputs"]
        self.output = place(output)

    def job(self):
        return {"trace": str(self.llama.scratch / self.trace), "inputs": self.inputs, "output": self.output}


def go_on(llama, steps, way, end, hold=()):
    """continue_step.py: the tokens, and what it said."""
    job = llama.scratch / "job.json"
    mode, layout = way
    job.write_text(json.dumps({"seed": SEED, "mode": mode, "layout": layout,
                               "steps": [step.job() for step in steps], "end": end, "hold": hold}),
                   encoding="utf-8")
    done = llama.gfxgraph("gfxgraph", "run", "--device", "emulated", "--", "/usr/bin/env",
                          f"GFXGRAPH_LIBRARY={llama.build}/lib/libgfxgraph.so.0.2", "PYTHONPATH=replayer/python",
                          "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "tests/llama/continue_step.py", job)
    said = json.loads(done.stdout)
    return said["tokens"], said


def by_files(llama, step, kinds, way, tokens, position):
    """gfxgraph-replay in a process for each token; the keys and values go from one to the next in a file."""
    embeddings = make_model.embeddings(SEED)
    logits, cache, left = (llama.scratch / name for name in ("logits.bin", "cache.bin", "left.bin"))
    cache_bytes = make_model.LAYERS * 2 * CONTEXT * make_model.KEYS * 2
    buffers = llama.info(step.trace)["buffers"]
    (cache_name,) = (buffer["name"] for buffer in buffers if buffer["size_bytes"] == cache_bytes)
    decided = []
    for n in range(BY_FILES):
        options = []
        for i, (name, offset, size) in enumerate(step.inputs):
            content = llama_inputs.given(kinds[i], size, tokens[n], position + n, embeddings)
            if n == 0 or content is None:
                continue  # the first token is the recorded one
            file = llama.scratch / f"input{i}.bin"
            file.write_bytes(content)
            options += ["--input", f"{name}+{offset}={file}"]
        if n != 0:
            options += ["--input", f"{cache_name}={cache}"]
        name, offset, size = step.output
        llama.gfxgraph("gfxgraph-replay", llama.scratch / step.trace, "--device", "emulated", "--mode", way[0], "--layout",
                       way[1], *options, "--output", f"{name}+{offset}:{size}={logits}", "--output",
                       f"{cache_name}={left}")
        left.replace(cache)
        decided.append(llama_inputs.decide(logits.read_bytes()))
    return decided


def expect(what, got, expected):
    require(got == expected, f"{what}: {got}, not {expected}")


def check_graphs(llama):
    """As llama.cpp is: it captures a graph, and another one when attention gets wider."""
    expected, prompt = llama.run(TOKENS)
    expect("recorded", llama.record("whole.gfxg", TOKENS), expected)
    whole = llama.info("whole.gfxg", "--ranges")
    require(len(whole["periods"]) == 2, f"{whole['periods']}")
    steps = [Step(llama, whole, number, f"step{number}.gfxg") for number in range(2)]
    end = prompt + TOKENS - 1
    for way in WAYS:
        got, said = go_on(llama, steps, way, end)
        position, columns = said["position"], [step["columns"] for step in said["steps"]]
        expect(f"{way}", got, expected[position - prompt:])
        expect(f"{way}: by gfxgraph-replay", by_files(llama, steps[0], said["steps"][0]["kinds"], way, got, position),
               got[1:1 + BY_FILES])
    # The comparison can fail: one input that stays as recorded changes what comes after.
    for kind in ("embedding", "position", "mask"):
        held, _ = go_on(llama, steps, WAYS[2], position + FEW, hold=[kind])
        require(held[1:] != got[1:len(held)], f"the same tokens without {kind}")
    repeats = [period["repeats"] for period in whole["periods"]]
    return (f"{len(got) - 1}, positions {position} to {end - 1}, in {len(WAYS)} ways; steps: launches {steps[0].launches} "
            f"(attention over {columns[0]}, found {repeats[0]} times), {steps[1].launches} (over {columns[1]}, "
            f"{repeats[1]} times)")


def check_launches(llama):
    """The same kernels, launched one by one: a step is 44 launches instead of one of a graph."""
    expected, prompt = llama.run(FEW)
    expect("recorded", llama.record("launches.gfxg", FEW), expected)
    whole = llama.info("launches.gfxg", "--ranges")
    require(len(whole["periods"]) == 1 and whole["periods"][0]["launches"] == whole["periods"][0]["kernels"],
            f"{whole['periods']}")
    step = Step(llama, whole, 0, "launch_step.gfxg")
    for way in WAYS:
        got, said = go_on(llama, [step], way, prompt + FEW - 1)
        expect(f"{way}", got, expected[said["position"] - prompt:])
    return f"{len(got) - 1} from a step of {whole['periods'][0]['kernels']} launches"


def check_capture(llama, without_graphs):
    """Its graphs are captured by gfxgraph's layer, which tells each, and recorded as the program sees them."""
    expected, _ = llama.run(TOKENS)
    layered = llama.start(TOKENS, "--capture")
    expect("with the capture layer", words(layered.stdout), expected)
    nodes = captured_nodes(layered.stderr)
    require(nodes, "the layer captured nothing")
    # The comparison can fail: who captures nothing tells nothing.
    expect("captured without graphs", captured_nodes(without_graphs.start(FEW, "--capture").stderr), [])
    expect("recorded with it", llama.record("capture.gfxg", TOKENS, "--capture"), expected)
    launched = llama.info("capture.gfxg")["events"].get("graph_launch", 0)
    require(launched > 0, "no graph was launched")
    return f"{len(expected)} tokens from {launched} launches of graphs, captured {len(nodes)} times ({min(nodes)} to {max(nodes)} nodes)"


def captured_nodes(text):
    """How many nodes the graph of each capture has, as the layer tells with GFXGRAPH_CAPTURE_LOG=1."""
    return [int(count) for count in re.findall(r"^gfxgraph-capture: capture \d+: (\d+) nodes$", text, re.MULTILINE)]


def main():
    begun = time.monotonic()
    build = Path(sys.argv[1])
    scratch = Path("build/llama")
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "model.gguf").write_bytes(make_model.model(SEED))
    log = {"GFXGRAPH_CAPTURE_LOG": "1"}
    parts = []
    try:
        if "--capture" not in sys.argv[2:]:
            parts.append(check_graphs(Llama(build, scratch, {})))
        captured = check_capture(Llama(build, scratch, log), Llama(build, scratch, {**log, **WITHOUT_GRAPHS}))
        parts.append("with the capture layer: " + captured)
        if "--capture" not in sys.argv[2:]:
            parts.append("without graphs: " + check_launches(Llama(build, scratch, WITHOUT_GRAPHS)))
    except Failure as failure:
        print(f"check-llama: {failure}", file=sys.stderr)
        return 1
    print(f"llama.cpp's own tokens: {'; '.join(parts)}; {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
