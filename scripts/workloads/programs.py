"""The programs of scripts/workloads."""

import re
import subprocess
import sys
from pathlib import Path

from workload import REPOSITORY, Broken, Workload, run

sys.path.insert(0, str(REPOSITORY / "tests/llama"))

import make_model  # noqa: E402

LLAMA_REMEDY = "scripts/runtime-root forky llama.cpp libggml0-backend-hip"
LLAMA_NEEDS = ["usr/bin/llama-completion", "usr/bin/llama-quantize", "usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-hip.so"]
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
        here = words(text)
        done, _ = run("forky", completion(scratch, 0, attention) + ["--device", "none"])
        there = words(done.stdout)
        if not here or len(here) != len(there):
            raise Broken(f"{len(here)} words, {len(there)} from the CPU")
        same = next((i for i, (a, b) in enumerate(zip(here, there)) if a != b), len(here))
        return f"{same} of {len(here)} words as from the CPU" + ("" if same == len(here) else " (weights of few bits: they go apart)")

    name = f"llama-{kind}" + ("-moe" if experts else "") + ("-flash" if attention == "on" else "")
    return Workload(name, "forky", command, judge, LLAMA_NEEDS, LLAMA_REMEDY, output=words)


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


def verdict(text):
    """The driver's last word: the rest has times and addresses."""
    return [line for line in text.splitlines() if "verification" in line]


def migraphx(kind, half=False):
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
                    "scripts/runtime-root sid migraphx", output=verdict)


GROUPS = {
    "samples": [sample("saxpy"), sample("reduce"), sample("matmul_tiled"), sample("streams_events"), sample("graph_capture"),
                sample("decode_step", "--tokens", "4")],
    "libraries": [library("rocblas", "forky", "-lrocblas"), library("rocfft", "forky", "-lrocfft"),
                  library("rocsparse", "forky", "-lrocsparse"), library("rocprim", "forky"),
                  library("rocrand_numbers", "experimental", "-lrocrand"), library("rocblas", "experimental", "-lrocblas"),
                  library("rocfft", "experimental", "-lrocfft"), library("rocsparse", "experimental", "-lrocsparse"),
                  library("rocprim", "experimental")],
    "migraphx": [migraphx(kind, half) for kind in ("mlp", "block", "blocks") for half in (False, True)],
    "llama": [llama("f16"), llama("q8_0"), llama("q8_0", "on"), llama("q8_0", experts=4), llama("q4_0"), llama("q4_k_m")],
}


def root(suite):
    return Path(run("", ["scripts/runtime-root", suite])[0].stdout.strip())
