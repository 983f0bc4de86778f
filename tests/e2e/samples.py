"""Every sample: runs, records, and replays identically in every mode and layout without its binary."""

import json
import shutil

from harness import info, main, require, run

MODES = ("eager", "batch", "graph")
LAYOUTS = ("same", "shift")


def record_sample(build, scratch, sample, *arguments):
    """Records a copy of the sample, takes the copy away and returns the trace."""
    program = scratch / sample
    shutil.copy(build.samples / sample, program)
    trace = scratch / f"{sample}.gfxg"
    done = run(build.record(trace, program, *arguments))
    require(f"{sample}: PASS" in done.stdout, f"the recorded program failed:\n{done.stdout}")
    program.unlink()
    return trace


def runs(build, scratch, sample, *arguments):
    done = run(build.tool("gfxgraph", "run", "--device", "emulated", "--", build.samples / sample,
                          *arguments))
    require(done.stdout.rstrip().endswith(f"{sample}: PASS"), f"unexpected output:\n{done.stdout}")


def replays(build, scratch, sample, *arguments):
    trace = record_sample(build, scratch, sample, *arguments)
    run(build.tool("gfxgraph", "verify", trace))
    launches = info(build, trace)["events"].get("launch", 0)
    report_path = scratch / "report.json"
    for mode in MODES:
        for layout in LAYOUTS:
            done = run(build.replay(trace, "--mode", mode, "--layout", layout, "--verify", "--json",
                                    report_path))
            report = json.loads(report_path.read_text())
            what = f"{sample} {mode} {layout}"
            require(report["buffers"]["identical"] > 0, f"{what}: nothing compared\n{done.stdout}")
            require(report["buffers"]["different"] == 0, f"{what}: differs\n{done.stdout}")
            require(report["buffers"]["uncompared"] == 0, f"{what}: uncompared\n{done.stdout}")
            moved, movable = report["layout"]["moved"], report["layout"]["movable"]
            require(layout == "same" or 0 < moved == movable, f"{what}: {moved} of {movable} moved")
            require(report["launches"] >= launches, f"{what}: {report['launches']} launches")


def cooperative(build, scratch):
    """Grid barriers: recorded, checked, and replayed in every mode and layout."""
    program = build.root / "tests" / "hsa" / "hip" / "hip_cooperative"
    trace = scratch / "cooperative.gfxg"
    run(build.record(trace, program))
    checked = run(build.tool("gfxgraph", "check", trace)).stdout
    require("8 launches checked, 0 not" in checked, checked)
    require("0 errors" in checked and "16 of 16 buffers end as recorded" in checked, checked)
    report_path = scratch / "report.json"
    for mode in MODES:
        for layout in LAYOUTS:
            run(build.replay(trace, "--mode", mode, "--layout", layout, "--verify", "--json",
                             report_path))
            report = json.loads(report_path.read_text())
            what = f"cooperative {mode} {layout}: {report['buffers']}"
            require(report["buffers"]["identical"] > 0 and report["buffers"]["different"] == 0, what)
            require(report["launches"] == 8, f"{what}: {report['launches']} launches")


def lookalike(build, scratch):
    """A scalar that looks like an address is relocated, but reported as ambiguous."""
    trace = record_sample(build, scratch, "struct_args", "--lookalike")
    relocations = info(build, trace)["relocations"]
    require(relocations["ambiguous"] > 0, f"no ambiguous relocation: {relocations}")
    places = [site["place"] for site in relocations["sites"] if site["ambiguous"]]
    require(any("stir" in place for place in places), f"stir is not named: {places}")


def decode_shape(build, scratch):
    """decode_step is what the demo says it is: many launches a token, no ambiguity."""
    report = info(build, record_sample(build, scratch, "decode_step"))
    require(report["complete"] and report["sealed"], "incomplete or torn")
    require(report["events"]["launch"] >= 60 * 12, f"{report['events']}")
    require(report["relocations"]["ambiguous"] == 0, f"{report['relocations']}")
    steps = report["ranges"]
    require([(step["name"], step["ordinal"]) for step in steps] == [("decode", n) for n in range(12)], f"{steps}")
    require({step["shape"] for step in steps} == {1}, f"{steps}")
    require({step["launches"] for step in steps} == {108}, f"{steps}")


def ranges(build, scratch):
    """Two tokens of decode_step, recorded alone, replay and check without what came before them."""
    program = build.samples / "decode_step"
    trace = scratch / "range.gfxg"
    done = run(build.record(trace, program, options=("--force", "--range", "decode#2-3")))
    require("incomplete" not in done.stderr, done.stderr)
    report = info(build, trace)
    require(report["complete"] and report["sealed"], "incomplete or torn")
    require([(one["name"], one["ordinal"], one["launches"]) for one in report["ranges"]] ==
            [("decode", 2, 108), ("decode", 3, 108)], f"{report['ranges']}")
    require(report["events"]["launch"] == 216, f"{report['events']}")
    run(build.tool("gfxgraph", "verify", trace))
    checked = run(build.tool("gfxgraph", "check", trace)).stdout
    require("216 launches checked, 0 not" in checked and "0 errors" in checked, checked)
    report_path = scratch / "report.json"
    for mode in MODES:
        for layout in LAYOUTS:
            run(build.replay(trace, "--mode", mode, "--layout", layout, "--verify", "--json", report_path))
            buffers = json.loads(report_path.read_text())["buffers"]
            require(buffers["identical"] > 0 and buffers["different"] == 0 and buffers["uncompared"] == 0,
                    f"{mode} {layout}: {buffers}")
    missed = run(build.record(trace, program, options=("--force", "--strict", "--range", "decode#99")), expect=3)
    require("'decode#99' was never entered: there were 12 ranges of that name" in missed.stderr, missed.stderr)
    wrong = run(build.record(trace, program, options=("--range", "decode#3-2")), expect=2)
    require("expected NAME, NAME#N or NAME#N-M" in wrong.stderr, wrong.stderr)


def launches(build, scratch):
    """Launches of decode_step by number and by kernel; wrong options are refused."""
    program = build.samples / "decode_step"
    trace = scratch / "launches.gfxg"

    def record(*options, expect=0):
        return run(build.record(trace, program, options=("--force", "--strict", *options)), expect=expect)

    def check(launches, buffers):
        report = info(build, trace)
        require(report["complete"] and report["sealed"], "incomplete or torn")
        require(report["events"]["launch"] == launches, f"{report['events']}")
        report_path = scratch / "report.json"
        for mode in MODES:
            run(build.replay(trace, "--mode", mode, "--verify", "--json", report_path))
            found = json.loads(report_path.read_text())["buffers"]
            require(found["identical"] == buffers and found["different"] == found["uncompared"] == 0, f"{mode}: {found}")

    record("--launches", "216:220")  # the first of the third token: embed, rms_norm and two of gemv
    kernels = [one["demangled"] for one in info(build, trace)["kernels"] if one["launches"]]
    require(len(kernels) == 3, f"{kernels}")
    require(any("embed" in one for one in kernels) and any("rms_norm" in one for one in kernels), f"{kernels}")
    check(4, len(info(build, trace)["buffers"]))
    # Of each token one launch, of three buffers: two stretches.
    record("--kernel", "*argmax#3-4")
    check(2, 6)
    require("argmax" in info(build, trace)["kernels"][0]["name"], "another kernel")
    record("--kernel", "*::argmax#3", "--launches", "431:433", "--range", "decode#3")
    check(109, len(info(build, trace)["buffers"]))
    for options, text in (
            (("--launches", "9999:"), "'9999:' was never entered: the program made 1296 launches"),
            (("--kernel", "no_such*"), "'no_such*' matched none of the program's 1296 launches"),
            (("--kernel", "*argmax#99"), "'*argmax#99' matched 12 launches"),
            (("--profiler-range",), "'hipProfiler' was never entered: there were 0 ranges of that name")):
        missed = record(*options, expect=3)
        require(text in missed.stderr, missed.stderr)
    for options, text in (
            (("--launches", "5:5"), "the first one must be less than the end"),
            (("--launches", "5-7"), "expected N:M, N: or :M"),
            (("--launches", ":"), "expected N:M, N: or :M"),
            (("--launches", "-1:4"), "expected N:M, N: or :M"),
            (("--kernel", "#2"), "the glob is empty"),
            (("--kernel", "a#3-2"), "expected GLOB, GLOB#N or GLOB#N-M"),
            (("--contents", "some"), "expected touched, all or none"),
            (("--contents", "none", "--checkpoints"), "exclude each other"),
            (("--contents", "none", "--hash-only"), "exclude each other")):
        wrong = record(*options, expect=2)
        require(text in wrong.stderr, wrong.stderr)


def structure(build, scratch):
    """What decode_step's buffers are called, and two tokens of it without what its buffers held."""
    program = build.samples / "decode_step"
    whole = record_sample(build, scratch, "decode_step")
    names = [one["name"] for one in info(build, whole)["buffers"]]
    require({"logits", "embedding", "layer 7 key cache", "token"} <= set(names), f"{names}")
    trace = scratch / "structure.gfxg"
    run(build.record(trace, program, options=("--force", "--range", "decode#2-3", "--contents", "none")))
    require(10 * trace.stat().st_size <= whole.stat().st_size,
            f"{trace.stat().st_size} bytes, of the whole program {whole.stat().st_size}")
    report = info(build, trace)
    require(report["complete"] and report["events"]["launch"] == 216, f"{report['events']}")
    require({"logits", "embedding", "layer 7 key cache", "token"} <= {one["name"] for one in report["buffers"]},
            f"{report['buffers']}")
    require("buffers: " in run(build.tool("gfxgraph", "info", trace, "--buffers")).stdout, "no list of buffers")
    run(build.tool("gfxgraph", "verify", trace))
    run(build.tool("gfxgraph", "check", trace))
    report_path = scratch / "report.json"
    for mode in MODES:
        for layout in LAYOUTS:
            run(build.replay(trace, "--mode", mode, "--layout", layout, "--no-verify"))
            said = run(build.replay(trace, "--mode", mode, "--layout", layout, "--verify", "--json", report_path), expect=3)
            require("is not in the trace" in said.stdout and "were not compared" in said.stderr, said.stdout + said.stderr)
            found = json.loads(report_path.read_text())
            require(not found["identical"], f"{mode}: identical")
            require(found["buffers"]["identical"] == found["buffers"]["different"] == 0, f"{mode}: {found['buffers']}")
            require(found["buffers_without_content"] > 0, f"{mode}")
    touched = run(build.record(trace, program, options=("--force", "--range", "decode#2-3")))
    require("incomplete" not in touched.stderr, touched.stderr)
    count = len(info(build, trace)["buffers"])
    run(build.record(trace, program, options=("--force", "--launches", "0:1", "--contents", "all")))
    require(len(info(build, trace)["buffers"]) >= count, "not all buffers")
    run(build.replay(trace, "--mode", "eager", "--verify"))


main({"launches": launches, "structure": structure, "ranges": ranges, "cooperative": cooperative, "runs": runs, "replays": replays, "lookalike": lookalike, "decode_shape": decode_shape})
