"""gfxgraph check over recorded samples: the faulty kernel is named, everything else is clean."""

import json

from harness import main, require, run


def check(build, trace, *options, expect):
    return run(build.tool("gfxgraph", "check", trace, *options), expect)


def masked_tail(build, scratch):
    trace = scratch / "tail.gfxg"
    run(build.record(trace, build.samples / "masked_tail"))
    text = check(build, trace, "--masked-lane=error", expect=4).stdout
    require("add_unclamped" in text, f"the kernel is not named:\n{text}")
    require("masked_tail.hip:" in text, f"no source line:\n{text}")
    require("add_clamped" not in text, f"the clamped twin is accused:\n{text}")
    # As a warning it is reported without failing; switched off it is not reported.
    text = check(build, trace, "--masked-lane=warn", expect=0).stdout
    require("add_unclamped" in text, f"no warning:\n{text}")
    text = check(build, trace, "--masked-lane=off", expect=0).stdout
    require("add_unclamped" not in text, f"reported although off:\n{text}")


def earlier_report(build, scratch):
    """--fail-on counts warnings, and --baseline takes away those that an earlier report lists."""
    trace, report = scratch / "tail.gfxg", scratch / "earlier.json"
    run(build.record(trace, build.samples / "masked_tail"))
    check(build, trace, "--fail-on", "warning", expect=4)
    check(build, trace, "--format", "json", "-o", report, expect=0)
    text = check(build, trace, "--fail-on", "warning", "--baseline", report, expect=0).stdout
    require("add_unclamped" not in text and "suppressed" in text, f"the baseline does not count:\n{text}")
    listed = json.loads(report.read_text(encoding="utf-8"))
    listed["findings"].pop(0)
    report.write_text(json.dumps(listed), encoding="utf-8")
    check(build, trace, "--fail-on", "warning", "--baseline", report, expect=4)


def masked_tail_json(build, scratch):
    trace = scratch / "tail.gfxg"
    run(build.record(trace, build.samples / "masked_tail"))
    done = check(build, trace, "--masked-lane=error", "--format", "json", expect=4)
    text = json.dumps(json.loads(done.stdout))
    require("add_unclamped" in text and "masked_tail.hip" in text, text)


def clean(build, scratch, sample, *arguments):
    trace = scratch / f"{sample}.gfxg"
    run(build.record(trace, build.samples / sample, *arguments))
    check(build, trace, "--masked-lane=error", expect=0)


# Mode of api_faults: the tool, its findings and the call that they name, a part of the text, and whether the trace lacks what
# HIP accepted.
API_FAULTS = {
    "copy_past": ("apicheck", {"A1": "hipMemcpy"}, "launch 0 had the buffer without it", False),
    "rows_past": ("apicheck", {"A1": "hipMemset2DAsync"}, "HIP accepted the call", True),
    "variable_past": ("apicheck", {"A1": "hipMemcpyToSymbol"}, "table", False),
    "freed": ("apicheck", {"A2": "hipMemcpy"}, "after it was freed", False),
    "freed_in_order": ("apicheck", {"A2": "hipMemsetAsync"}, "HIP accepted the call", True),
    "twice": ("apicheck", {"A3": "hipFree"}, "hipErrorInvalidValue", False),
    "inside": ("apicheck", {"A3": "hipFree"}, "HIP accepted the call", False),
    "launch_fails": ("apicheck", {"A4": "hipLaunchKernel"}, "the program went on with launch 0", False),
    "other_call": ("apicheck", {"A5": "hipEventElapsedTime"}, "hipErrorInvalidHandle", False),
    "early_use": ("racecheck", {"R10": None}, "the allocation of event", False),
    "early_free": ("racecheck", {"R11": None}, "before the free of event", False),
    "leaks": ("leakcheck", {"L1": None, "L2": None, "L3": None, "L4": None}, "memory of 1000 bytes", False),
}


def api_faults(build, scratch, mode):
    """Calls of HIP that are wrong, with their lines, also where HIP accepts them; and the twin without the fault."""
    tool, found, text, incomplete = API_FAULTS[mode]
    trace = scratch / "calls.gfxg"
    run(build.record(trace, build.programs / "api_faults", mode), {0, 3})

    def checked(*options):
        return check(build, trace, "--tool", tool, *options, expect={0, 3, 4}).stdout

    report = json.loads(checked("--format", "json"))
    require({finding["class"] for finding in report["findings"]} == set(found), f"{report['findings']}")
    for finding in report["findings"]:
        require(found[finding["class"]] in (None, finding["mnemonic"]), f"{finding}")
        require(finding["source"]["file"].endswith("api_faults.hip") if "source" in finding else finding["kernel"] == "(none)", f"{finding}")
    printed = checked()
    require(text in printed and "api_faults.hip:" in printed, printed)
    require(tool == "racecheck" or "(none)" not in printed, printed)
    results = json.loads(checked("--format", "sarif"))["runs"][0]["results"]
    require({result["ruleId"] for result in results} == set(found), f"{results}")
    require(("incomplete" in printed) == incomplete, f"whether HIP did more than the trace has:\n{printed}")
    run(build.record(trace, build.programs / "api_faults", mode, "right", options=("--force",)))
    clean_text = check(build, trace, "--tool", f"memcheck,synccheck,{tool}", "--fail-on", "note", expect=0).stdout
    require("0 errors, 0 warnings, 0 notes" in clean_text, f"the right twin is accused:\n{clean_text}")


main({"api_faults": api_faults, "masked_tail": masked_tail, "masked_tail_json": masked_tail_json, "earlier_report": earlier_report, "clean": clean})
