"""The programs of scripts/workloads."""

import re
import subprocess
import sys
from pathlib import Path

from workload import REPOSITORY, Broken, Workload, run

sys.path[:0] = [str(REPOSITORY / "tests/llama"), str(REPOSITORY / "tests/whisper")]

import make_model  # noqa: E402
import make_speech_model  # noqa: E402

LLAMA_REMEDY = "scripts/runtime-root forky llama.cpp libggml0-backend-hip"
LLAMA_NEEDS = ["usr/bin/llama-completion", "usr/bin/llama-quantize", "usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-hip.so"]
WHISPER_REMEDY = "scripts/runtime-root forky whisper.cpp-tools libggml0-backend-hip"
WHISPER_NEEDS = ["usr/bin/whisper-cli", "usr/bin/whisper-quantize", "usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-hip.so"]
TOKENS = 8
build = Path("build/release")  # scripts/workloads/all --build
SEED = 1


def own_judgement(text, _scratch):
    """Samples compare with the host's own computation, and end with an error when it differs."""
    lines = text.strip().splitlines()
    return f"its own comparison: {lines[-1][:60]}" if lines else "its own comparison"


def sample(name, *arguments):
    return Workload(name, "", lambda _: [build / "samples" / name, *arguments], own_judgement)


def words(text):
    return re.findall(r" t(\d+)", text)


def compared(here, there):
    """Of words from the device and from the CPU."""
    if not here or len(here) != len(there):
        raise Broken(f"{len(here)} words, {len(there)} from the CPU")
    same = next((i for i, (a, b) in enumerate(zip(here, there)) if a != b), len(here))
    return f"{same} of {len(here)} words as from the CPU" + ("" if same == len(here) else " (weights of few bits: they go apart)")


def completion(scratch, layers, attention):
    return ["/usr/bin/llama-completion", "-m", scratch / "model.gguf", "-ngl", layers, "-fa", attention, "-c", "256", "-n", TOKENS,
            "--temp", "0", "--seed", "1", "-no-cnv", "-p", "hello", "--no-warmup", "--ignore-eos", "--no-display-prompt"]


def llama(kind, attention="off", experts=0):
    """A model of random weights, of which the words come from llama.cpp's HIP backend, and beside it from its CPU backend."""

    def command(scratch):
        plain = scratch / "plain.gguf"
        plain.write_bytes(make_model.model(SEED, experts))
        model = scratch / "model.gguf"
        if kind == "q8_0":
            plain.replace(model)
        else:
            run("forky", ["/usr/bin/llama-quantize", "--allow-requantize", plain, model, kind.upper()])
        return completion(scratch, 99, attention)

    def judge(text, scratch):
        done, _ = run("forky", completion(scratch, 0, attention) + ["--device", "none"])
        return compared(words(text), words(done.stdout))

    name = f"llama-{kind}" + ("-moe" if experts else "") + ("-flash" if attention == "on" else "")
    return Workload(name, "forky", command, judge, LLAMA_NEEDS, LLAMA_REMEDY, output=words)


def transcription(scratch, *options):
    """One word after the other, each the most probable one, without a second attempt; not the times, which differ in each run."""
    return ["/usr/bin/whisper-cli", "-m", scratch / "model.bin", "-f", scratch / "sound.wav", "-np", "-nt", "-nf", "-bo", "1", "-bs", "1",
            *options]


def whisper(kind, *options):
    """A model of random weights that hears a tone: its words from whisper.cpp's HIP backend, and beside it from its CPU backend."""

    def command(scratch):
        plain, model = scratch / "plain.bin", scratch / "model.bin"
        plain.write_bytes(make_speech_model.model(SEED))
        make_speech_model.write_sound(scratch / "sound.wav")
        if kind == "f16":
            plain.replace(model)
        else:
            run("forky", ["/usr/bin/whisper-quantize", plain, model, kind])
        return transcription(scratch, *options)

    def judge(text, scratch):
        done, _ = run("forky", transcription(scratch, "-ng", *options))
        return compared(words(text), words(done.stdout))

    name = f"whisper-{kind}" + ("" if "-nfa" in options else "-flash")
    return Workload(name, "forky", command, judge, WHISPER_NEEDS, WHISPER_REMEDY, output=words)


def library(name, suite, *link):
    """tests/libraries/NAME.hip, compiled in the root with the library of that suite."""

    def command(scratch):
        program = scratch / "program"
        run(suite, ["hipcc", "--offload-arch=gfx1030", "-std=c++17", "-O2", "-Wno-unused-result", "-I", "tests/libraries", "-o", program,
                    f"tests/libraries/{name}.hip", *link])
        return [program]

    package = f"lib{name.partition('_')[0]}-dev"
    return Workload(f"{name}", suite, command, own_judgement, [f"usr/include/{name.partition('_')[0]}"],
                    f"scripts/runtime-root {suite} {package}")


def last_line(text):
    return text.splitlines()[-1:]


def verdict(text):
    """The driver's last word: the rest has times and addresses."""
    return [line for line in text.splitlines() if "verification" in line]


# For MIOpen of Debian's package, which lacks an assembler and a compiler for OpenCL (docs/results/workloads.md): the one solver for convolutions that
# needs neither. MIOpen compiles it from HIP with "-isystem /usr/include", which hides math.h from C++; clang's variable takes that out.
MIOPEN = {"MIOPEN_DEBUG_FIND_ONLY_SOLVER": "ConvDirectNaiveConvFwd", "CCC_OVERRIDE_OPTIONS": "#s/^.usr.include$/./",
          "MIOPEN_CUSTOM_CACHE_DIR": str(REPOSITORY / "build/workloads/miopen"),
          "MIOPEN_USER_DB_PATH": str(REPOSITORY / "build/workloads/miopen")}


def migraphx(kind, half=False, environment=None):
    """A model of random weights (tests/migraphx), compiled for the device, run there, and compared with MIGraphX's reference for the CPU."""

    def command(scratch):
        model = scratch / "model.onnx"
        subprocess.run([sys.executable, "tests/migraphx/make_onnx.py", kind, model, *(["--half"] if half else [])], check=True)
        return ["/usr/bin/migraphx-driver", "verify", "--onnx", model, "--gpu"]

    def judge(text, _scratch):
        said = verdict(text)
        if not said or "passed" not in said[-1]:
            raise Broken(f"MIGraphX: {said[-1] if said else 'no verdict'}")
        return "MIGraphX's reference for the CPU: passed"

    return Workload(f"migraphx-{kind}" + ("-half" if half else ""), "sid", command, judge, ["usr/bin/migraphx-driver"],
                    "scripts/runtime-root sid migraphx", environment=environment or {}, output=verdict)


def compiled(scratch, source, *options):
    """A program in the root with MIGraphX."""
    # Debian's package lacks this header, which says how functions are exported.
    header = scratch / "include/migraphx/api/export.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("#define MIGRAPHX_C_EXPORT\n", encoding="utf-8")
    program = scratch / Path(source).stem
    run("sid", ["hipcc", "--offload-arch=gfx1030", "-std=c++20", "-O1", "-I", scratch / "include", "-o", program, source, *options])
    return program


def gfxgraph_library():
    libraries = (REPOSITORY / build / "lib").resolve()
    return ["-I", "include", "-L", libraries, "-lgfxgraph", f"-Wl,-rpath,{libraries}"]


LINKED_NEEDS = ["usr/bin/migraphx-driver", "usr/include/migraphx/migraphx.h"]
LINKED_REMEDY = "scripts/runtime-root sid migraphx libmigraphx-c-dev"
MODES = {"eager": 0, "batch": 1, "graph": 2, "auto": 3}  # gfxgraph_mode_t
INPUTS = (1, 2, 3)  # seeds; the first one's inference is recorded


def migraphx_linked(kind):
    """A program that computes a model with MIGraphX, and one that replays its inference through libgfxgraph with buffers of its own."""

    def inference(scratch, seed):
        return [scratch / "inference", scratch / "model.onnx", scratch / f"result.{seed}", seed]

    def command(scratch):
        subprocess.run([sys.executable, "tests/migraphx/make_onnx.py", kind, scratch / "model.onnx"], check=True)
        compiled(scratch, "tests/migraphx/inference.cpp", "-lmigraphx_c")
        return inference(scratch, INPUTS[0])

    def judge(_text, scratch):
        for seed in INPUTS[1:]:
            run("sid", [build / "bin/gfxgraph", "run", "--device", "emulated", "--", *inference(scratch, seed)])
        if len({(scratch / f"result.{seed}").read_bytes() for seed in INPUTS}) != len(INPUTS):
            raise Broken("MIGraphX gives the same for different inputs")
        return ""  # linked() compares

    def linked(trace, scratch):
        program = compiled(scratch, "tests/migraphx/linked.cpp", *gfxgraph_library())
        results = [one for seed in INPUTS for one in (seed, scratch / f"result.{seed}")]
        for number in MODES.values():
            run("sid", [build / "bin/gfxgraph", "run", "--device", "emulated", "--", program, trace, number, *results])
        return (f"linked to libgfxgraph with buffers of its own, {', '.join(MODES)}: "
                f"{len(INPUTS)} inputs give the bytes that MIGraphX gives")

    return Workload(f"migraphx-{kind}-linked", "sid", command, judge, LINKED_NEEDS, LINKED_REMEDY, linked=linked)


def migraphx_step():
    """samples/migraphx_step, which captures steps of itself where it can: here without them, in judge() with them, and recorded as a whole."""

    def command(scratch):
        return [compiled(scratch, "samples/migraphx_step/migraphx_step.cpp", "-lmigraphx_c", *gfxgraph_library())]

    def slow_graphs(scratch):
        fake = (REPOSITORY / build / "tests/production").resolve()
        program = compiled(scratch, "tests/migraphx/slow_graphs.cpp", "samples/migraphx_step/migraphx_step.cpp", "-lmigraphx_c", "-I", "include", "-L", fake,
                           "-lproduction_slow_graphs", "-L", (REPOSITORY / build / "lib").resolve(), "-l:libgfxgraph.a", "-l:libzstd.so.1")
        done, _ = run("sid", [build / "bin/gfxgraph", "run", "--device", "emulated", "--capture-api", "--", program])
        return done.stdout

    def judge(_text, scratch):
        done, _ = run("sid", [build / "bin/gfxgraph", "run", "--device", "emulated", "--capture-api", "--", scratch / "migraphx_step"])
        if "no steps" in done.stdout:
            raise Broken("no steps are captured")
        graphs = sum(int(count) for count in re.findall(r"layers: bucket .* (\d+) graph,", done.stdout))
        slow = slow_graphs(scratch)
        chosen = [re.findall(r"^int4: measured: .* chosen: (\w+)$", text, re.M) for text in (done.stdout, slow)]
        if chosen != [["graph"], ["eager"]]:
            raise Broken(f"the int4 program should end as a graph, and in eager where graphs are slow: {chosen}")
        return (f"bytes as from MIGraphX's own runs, numbers as from its reference for the CPU; with steps of its own the same, {graphs} runs by graphs; "
                "the int4 program ends as a graph by measurement, and in eager where a fake makes launches of graphs slow")

    return Workload("migraphx-step", "sid", command, judge, LINKED_NEEDS, LINKED_REMEDY, output=last_line)


GROUPS = {
    "samples": [sample("saxpy"), sample("reduce"), sample("matmul_tiled"), sample("streams_events"), sample("graph_capture"),
                sample("decode_step", "--tokens", "4"), sample("masked_tail")],
    "libraries": [library("rocblas", "forky", "-lrocblas"), library("rocfft", "forky", "-lrocfft"),
                  library("rocsparse", "forky", "-lrocsparse"), library("rocprim", "forky"),
                  library("rocrand_numbers", "experimental", "-lrocrand"), library("rocblas", "experimental", "-lrocblas"),
                  library("rocfft", "experimental", "-lrocfft"), library("rocsparse", "experimental", "-lrocsparse"),
                  library("rocprim", "experimental")],
    "migraphx": [migraphx(kind, half) for kind in ("mlp", "block", "blocks") for half in (False, True)]
                + [migraphx("conv", half, MIOPEN) for half in (False, True)] + [migraphx_linked(kind) for kind in ("mlp", "block")]
                + [migraphx_step()],
    "llama": [llama("f16"), llama("q8_0"), llama("q8_0", "on"), llama("q8_0", experts=4), llama("q4_0"), llama("q4_k_m")],
    "whisper": [whisper("f16", "-nfa"), whisper("f16"), whisper("q5_0", "-nfa"), whisper("q8_0")],
}


def root(suite):
    return Path(run("", ["scripts/runtime-root", suite])[0].stdout.strip())
