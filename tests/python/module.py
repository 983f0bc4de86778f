"""The Python module says the same as the C header: structures, functions, values."""

import ctypes
import os
import re

from package import SOURCE, load

from harness import main, require, run


# The module's name of each structure of the header that it uses.
STRUCTURES = {
    "TraceOptions": "trace_options_t", "SessionOptions": "session_options_t", "StepOptions": "step_options_t",
    "Environment": "environment_t", "BufferInfo": "buffer_t", "RangeInfo": "range_info_t",
    "ParameterInfo": "parameter_t", "TransferInfo": "transfer_t", "SessionInfo": "session_info_t",
    "StepInfo": "step_info_t", "BufferResult": "buffer_result_t", "Verification": "verification_t",
    "CaptureOptions": "capture_options_t", "BorderInfo": "border_t"}
# The same of production.h and what is built on it.
PRODUCTION = {
    "TensorInfo": "tensor_t", "StateInfo": "state_t", "CallInfo": "call_t", "FallInfo": "fall_t", "PoolOptions": "pool_options_t",
    "PoolRun": "pool_run_t", "PoolResult": "pool_result_t", "LatencyInfo": "latency_t", "WayFigures": "way_figures_t",
    "BucketInfo": "bucket_info_t", "DecodeOptions": "decode_options_t", "DecodeRun": "decode_run_t", "BakedInfo": "baked_t",
    "LintOptions": "lint_t", "CountsInfo": "counts_t", "PieceInfo": "piece_t", "BranchInfo": "branch_t",
    "BranchesOptions": "branches_options_t", "BranchesResult": "branches_result_t", "BranchesInfo": "branches_info_t",
    "LoopOptions": "loop_options_t", "LoopResult": "loop_result_t", "LoopInfo": "loop_info_t", "PartInfo": "part_t",
    "CompositionOptions": "composition_options_t", "CompositionInfo": "composition_info_t",
    "PipelineOptions": "pipeline_options_t", "PipelineRun": "pipeline_run_t", "PipelineResult": "pipeline_result_t",
    "PipelineInfo": "pipeline_info_t", "FlowInfo": "flow_t"}
# The module's names of the headers' numbers, and how those begin.
NAMES = {"TYPES": "TYPE", "WAYS": "WAY", "FALLS": "FALL", "VALIDATIONS": "VALIDATION", "SAFETIES": "SAFETY", "CHOICES": "CHOICE",
         "LOOP_ENDS": "LOOP"}


def structures(build, scratch):
    """Size of each structure, offset and size of each of its fields, as the C compiler has them."""
    module = load(build)
    lines = []
    expected = []
    for ours, theirs in {**STRUCTURES, **PRODUCTION}.items():
        structure = getattr(module._production if ours in PRODUCTION else module._library, ours)
        lines.append(f'printf("{ours} %zu\\n", sizeof(gfxgraph_{theirs}));')
        expected.append(f"{ours} {ctypes.sizeof(structure)}")
        for name, _ in structure._fields_:
            field = getattr(structure, name)
            lines.append(f'printf("{ours}.{name} %zu %zu\\n", offsetof(gfxgraph_{theirs}, {name}), '
                         f'sizeof(((gfxgraph_{theirs}*)0)->{name}));')
            expected.append(f"{ours}.{name} {field.offset} {field.size}")
    source = scratch / "layout.c"
    source.write_text("#include <gfxgraph/capture.h>\n#include <gfxgraph/decode.h>\n#include <gfxgraph/flow.h>\n#include <gfxgraph/safety.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) +
                      "\nreturn 0;\n}\n")
    run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(SOURCE, "include"), "-o",
         str(scratch / "layout"), str(source)])
    require(run([str(scratch / "layout")]).stdout.split("\n")[:-1] == expected, "structures differ from the header")


def headers(*names):
    text = ""
    for name in names:
        with open(os.path.join(SOURCE, "include", "gfxgraph", name), encoding="utf-8") as header:
            text += header.read()
    return text


def production(build, scratch):
    """The same of pools and flow, and the names of numbers."""
    native = load(build)._production
    text = headers("production.h", "decode.h", "safety.h", "flow.h")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    declared = set(re.findall(r"\bgfxgraph_(\w+)\(", text))
    known = set(native.FUNCTIONS) | set(native.DESTROYS) | {name + "_default" for name in native.DEFAULTS}
    # Their results stand in the module.
    left_out = {"way_name", "fall_name", "loop_end_name"}
    require(declared == known | left_out, f"differ: {sorted(declared ^ (known | left_out))}")
    values = {name: int(value) for name, value in re.findall(r"\bGFXGRAPH_(\w+) = (\d+)", text)}
    for ours, begin in NAMES.items():
        names = getattr(native, ours)
        found = [values[f"{begin}_{name.upper()}"] for name in names]
        require(found == list(range(len(names))), f"{ours}: {found}")
        require(f"{begin}S" not in values or values[f"{begin}S"] == len(names), ours)
    require([values["BAKED_" + name.upper()] for name in native.BAKED[1:]] == list(range(1, values["BAKED_KINDS"])), "baked")
    for name, number in (("KINDS", 16), ("TENSOR_INPUT", 1), ("TENSOR_OUTPUT", 2)):
        require(re.search(rf"#define GFXGRAPH_{name} {number}u?\b", text) is not None, name)


def functions(build, scratch):
    """Every function of the header is called by the module, or left out for a reason."""
    module = load(build)
    native = module._library
    text = headers("gfxgraph.h", "capture.h")
    declared = set(re.findall(r"\bgfxgraph_(\w+)\(", text))
    known = set(native._FUNCTIONS) | set(native._DESTROYS) | set(native._DEFAULTS) | {
        "last_error", "last_hip_error", "status_name", "version"}
    # Bytes in place need an address that Python does not promise to keep; the rest looks at single launches.
    left_out = {"trace_open_memory", "trace_kernel", "trace_argument", "trace_launch", "trace_relocation"}
    require(declared == known | left_out, f"differ: {sorted(declared ^ (known | left_out))}")
    values = dict(re.findall(r"\bGFXGRAPH_(\w+) = (\d+)", text))
    require([module.MODES[int(values["MODE_" + mode.upper()])] for mode in module.MODES] == list(module.MODES), "modes")
    require(all(getattr(native, name) == int(values[name]) for name in ("NOT_FOUND", "MISMATCH", "NOT_READY")),
            "statuses")
    require(all(module.trace._PATTERNS[int(values["PATTERN_" + name.upper()])] == name for name in ("step", "swap", "free")),
            "patterns")


def errors(build, scratch):
    """Wrong files, names and sizes raise, and nothing else happens."""
    module = load(build)
    missing = scratch / "missing.gfxg"
    try:
        module.Trace(missing)
        require(False, "opened")
    except module.Error as error:
        require(error.status == 2 and "missing.gfxg" in str(error), str(error))
    trace = scratch / "decode.gfxg"
    run(build.record(trace, build.samples / "decode_step", "--tokens", "3"))
    with open(trace, "rb") as file:
        opened = module.Trace(file.fileno())
    require(opened.launches == 324 and opened.complete and opened.gpu_arch == "gfx1030", "environment")
    decode = opened.range("decode#1")
    require([one.name for one in opened.ranges()] == ["decode"] * 3 and decode.launches == 108, "ranges")
    pattern = decode.parameters()[0]
    require((pattern.pattern, pattern.step, pattern.number) == ("step", 1, 1), str(pattern))
    require(opened.buffer("history").size_bytes == 256 and opened.range("all").name == "all", "buffers")
    require(decode.inputs() == [] and len(opened.range("all").inputs()) > 10, "inputs")
    # Names need not be UTF-8.
    damaged = scratch / "damaged.gfxg"
    run([str(build.root / "tests" / "attack_file"), "directions", str(damaged)])
    with module.Trace(damaged, allow_incomplete=True) as strange:
        require(any(buffer.name.startswith("\\xff\x7f") for buffer in strange.buffers()), str(strange.buffers()))
        for one in strange.ranges():
            require(one.name.encode() and one.parameters() is not None and one.inputs() is not None, str(one))
    for call in (lambda: opened.range("encode"), lambda: opened.buffer("nothing"), lambda: opened.buffer(100000)):
        try:
            call()
            require(False, "found")
        except module.Error as error:
            require(error.status == 2, str(error))


if __name__ == "__main__":
    main({"structures": structures, "functions": functions, "production": production, "errors": errors})
