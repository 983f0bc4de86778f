"""Every sample: runs, records, and replays identically in every mode and layout without its binary."""

import json
import shutil

from harness import info, main, require, run

MODES = ("eager", "batch", "graph", "packets")
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
    replays_trace(build, scratch, trace, sample)


def replays_trace(build, scratch, trace, name):
    """In every mode and layout, to the recorded buffers."""
    launches = info(build, trace)["events"].get("launch", 0)
    report_path = scratch / "report.json"
    for mode in MODES:
        for layout in LAYOUTS:
            done = run(build.replay(trace, "--mode", mode, "--layout", layout, "--verify", "--json",
                                    report_path))
            report = json.loads(report_path.read_text())
            what = f"{name} {mode} {layout}"
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
    refused = run(build.replay(trace, "--mode", "packets"), expect={1, 2, 3, 4, 5}).stderr
    require("mode packets: " in refused and "cooperative launch" in refused, refused)
    for mode in ("eager", "batch", "graph"):
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


def launch_bytes(build, scratch):
    """A launch of decode_step takes at most 96 bytes of the file, without contents."""
    sizes = {}
    for tokens in (1, 12):
        trace = scratch / f"{tokens}.gfxg"
        run(build.record(trace, build.samples / "decode_step",
                         options=("--contents", "none", "--range", f"decode#0-{tokens - 1}")))
        report = info(build, trace)
        require(report["events"]["launch"] == 108 * tokens, f"{report['events']}")
        sizes[tokens] = trace.stat().st_size
    each = (sizes[12] - sizes[1]) / (11 * 108)
    print(f"{each:.1f} bytes per launch")
    require(0 < each <= 96, f"{each:.1f} bytes per launch: {sizes}")


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


def range_parameters(build, scratch):
    """What differs between the tokens of decode_step, in a whole recording and in one of its ranges."""
    program = build.samples / "decode_step"
    for options, tokens in (((), 12), (("--range", "decode#2-5"), 4)):
        trace = scratch / "steps.gfxg"
        run(build.record(trace, program, options=("--force", *options)))
        report = json.loads(run(build.tool("gfxgraph", "info", trace, "--ranges", "--lint", "--json")).stdout)
        first = 2 if options else 0
        (steps,) = report["iterations"]
        require((steps["name"], steps["kind"], steps["works"], steps["not_compared"]) ==
                ("decode", "range", 108, ""), f"{options}: {steps}")
        require([one["ordinal"] for one in steps["iterations"]] == list(range(first, first + tokens)), f"{steps}")
        # The position goes to rope, append and attention of each layer, and to argmax; attention's LDS has a
        # float for each position so far. All pointers stay.
        position, lds = steps["parameters"]
        for parameter, step, start, places in ((position, 1, first, 25), (lds, 4, 4 * (first + 1), 8)):
            require((parameter["pattern"], parameter["step"], len(parameter["places"])) == ("step", step, places),
                    f"{options}: {parameter}")
            require(parameter["values"] == [start + step * n for n in range(tokens)], f"{options}: {parameter}")
        require({place["kind"] for place in position["places"]} == {"argument"}, f"{position}")
        require({place["kind"] for place in lds["places"]} == {"dynamic LDS"}, f"{lds}")
        require(steps["inputs"] == [] and steps["outputs"] == [] and report["periods"] == [], f"{options}: {report}")
        (lint,) = report["lint"]
        found = {line["category"]: line["count"] for line in lint["lines"]}
        expected = {"changing_argument": 25, "changing_shape": 8}
        require(found == (expected if options else expected | {"first_launch": 9}), f"{options}: {lint}")
    text = run(build.tool("gfxgraph", "info", trace, "--ranges", "--lint")).stdout
    for line in ("decode#2 to #5: 4 iterations of shape 1 with 108 works each", "parameters: 2; constant: 1535 places",
                 "step +1, used by 25 places: 2, 3, 4, 5", "inputs: none", "graph readiness", "decode: 4 iterations, 432 launches"):
        require(line in text, f"{line!r} missing:\n{text}")


def periods(build, scratch):
    """A program that marks nothing: its four rounds of seven launches on three streams are found, with their seeds."""
    trace = record_sample(build, scratch, "streams_events")
    report = json.loads(run(build.tool("gfxgraph", "info", trace, "--ranges", "--lint", "--json")).stdout)
    (period,) = report["periods"]
    keys = ("repeats", "launches", "first_launch", "last_launch", "kernels", "first_kernel")
    require([period[key] for key in keys] == [4, 7, 0, 27, 7, 0], f"{period}")
    (rounds,) = report["iterations"]
    require((rounds["name"], rounds["kind"], len(rounds["iterations"])) == ("period 1", "period", 4), f"{rounds}")
    seeds = [parameter["values"] for parameter in rounds["parameters"]]
    require(seeds == [[start + n for n in range(4)] for start in (0, 77, 0x5A5A5A5A)], f"{seeds}")
    require([one["kind"] for one in report["lint"]] == ["period", "trace"], f"{report['lint']}")
    whole = {line["category"] for line in report["lint"][1]["lines"]}
    require({"allocation", "free", "synchronization"} <= whole, f"{whole}")


def steps(build, scratch):
    """A loop with every kind of parameter, input and output: marked, unmarked, and as a recording of some ranges."""
    for arguments, options, first, count in (((), (), 0, 6), (("--unmarked",), (), 0, 6), ((), ("--range", "step#2-5"), 2, 4)):
        trace = scratch / "steps.gfxg"
        done = run(build.record(trace, build.programs / "steps", *arguments, options=("--force", *options)))
        require("steps: PASS" in done.stdout, done.stdout)
        report = json.loads(run(build.tool("gfxgraph", "info", trace, "--ranges", "--lint", "--json")).stdout)
        what = f"{arguments} {options}"
        (loop,) = report["iterations"]
        require((loop["kind"], loop["works"], len(loop["iterations"])) ==
                ("period" if arguments else "range", 3, count), f"{what}: {loop}")
        # The buffer that is written and copied out, the one that is read, two fields of a struct. The scratch memory
        # that each step makes and frees is none of them.
        written, read, position, cache = loop["parameters"]
        require([(one["pattern"], one["period"], len(one["places"])) for one in (written, read)] ==
                [("swap", 2, 2), ("swap", 2, 1)], f"{what}: {written} {read}")
        require(written["values"] == read["values"][1:] + read["values"][:1], f"{what}: {written} {read}")
        require([place["kind"] for place in written["places"]] == ["argument", "source"], f"{what}: {written}")
        require((position["step"], position["values"]) == (1, list(range(first, first + count))), f"{what}: {position}")
        require(cache["step"] == 256 and [value["offset_bytes"] for value in cache["values"]] ==
                [256 * n for n in range(first, first + count)], f"{what}: {cache}")
        given, offset = loop["inputs"]
        require([given[key] for key in ("kind", "host_memory", "size_bytes", "bytes", "iterations")] ==
                ["copy", "pageable", 256, "change", count], f"{what}: {given}")
        require([offset[key] for key in ("kind", "size_bytes", "bytes")] == ["host_write", 4, "change"], f"{what}: {offset}")
        (result,) = loop["outputs"]
        require((result["size_bytes"], result["bytes"], result["device"]["pattern"]) == (256, "change", "swap"),
                f"{what}: {result}")
        # All that the program does in a step; the last waits of a period stand behind it.
        lint = {(line["severity"], line["category"]): line["count"] for line in report["lint"][0]["lines"]}
        require(lint["breaks capture", "allocation"] == count and lint["spoils reuse", "pageable_copy"] == count and
                lint["spoils reuse", "changing_argument"] == 4 and lint["spoils reuse", "changing_copy"] == 1 and
                lint["breaks capture", "synchronization"] >= count - 1 and ("breaks capture", "blocking_copy") not in lint,
                f"{what}: {report['lint']}")
        replays_trace(build, scratch, trace, what)


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
            (("--kernel", "no_such*"), "'no_such*' matched no launch; the program made 1296 launches"),
            (("--kernel", "*argmax#99"), "'*argmax#99' matched 12 launches"),
            (("--profiler-range",), "'hipProfiler' was never entered: there were 0 ranges of that name")):
        missed = record(*options, expect=3)
        require(text in missed.stderr, missed.stderr)
        missed = run(build.record(trace, program, options=("--force", *options)), expect=1)
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
            require("without contents in the trace" in said.stdout and "were not compared" in said.stderr, said.stdout + said.stderr)
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


main({"launches": launches, "structure": structure, "ranges": ranges, "range_parameters": range_parameters, "periods": periods, "steps": steps, "cooperative": cooperative, "runs": runs, "replays": replays, "lookalike": lookalike, "decode_shape": decode_shape, "launch_bytes": launch_bytes})
