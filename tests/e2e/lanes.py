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


main({"masked_tail": masked_tail, "masked_tail_json": masked_tail_json, "earlier_report": earlier_report, "clean": clean})
