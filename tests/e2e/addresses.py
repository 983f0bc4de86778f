"""Law of addresses: every pointer is relocated, nothing else is changed in silence."""

import json

from harness import info, main, require, run

MODES = ("eager", "batch", "graph", "packets")
LAYOUTS = ("same", "shift")


def record(build, scratch, mode):
    trace = scratch / f"{mode}.gfxg"
    done = run(build.record(trace, build.programs / "addresses", mode))
    require(f"addresses {mode}: PASS" in done.stdout, done.stdout)
    return trace, done.stderr


def replay_identically(build, trace, *options):
    for mode in MODES:
        for layout in LAYOUTS:
            if mode == "packets" and "functions" in trace.name:
                refused = run(build.replay(trace, "--mode", mode, "--layout", layout), expect={1, 2, 3, 4, 5}).stderr
                require("calls the host (printf, assert, device malloc)" in refused, refused)
                continue
            run(build.replay(trace, "--mode", mode, "--layout", layout, "--verify", *options))


def replays(build, scratch, mode):
    trace, _ = record(build, scratch, mode)
    report = info(build, trace)
    require(report["complete"], report)
    replay_identically(build, trace)


def outside(build, scratch):
    """x - 2048 and its like keep their buffer at any layout."""
    trace, _ = record(build, scratch, "outside")
    report = info(build, trace)
    require(report["complete"], report)
    places = [s for s in report["relocations"]["sites"] if s["source"] == "typed" and s["outside"]]
    require(sum(s["count"] for s in places) == 5, report["relocations"])
    replay_identically(build, trace)


def unknown(build, scratch):
    """An address whose buffer cannot be known makes the trace incomplete, by name and value."""
    trace, _ = record(build, scratch, "far_outside")
    report = info(build, trace, expect={0, 3})
    require(not report["complete"], report)
    text = json.dumps(report["findings"])
    require("unused" in text and "argument 0" in text and "0x" in text, text)
    run(build.replay(trace, "--verify"), expect=3)


def host_number(build, scratch):
    """A kernel that computes with the address of memory which HIP was not given: named as that, not as a missed call."""
    trace, message = record(build, scratch, "host_number")
    require("HIP was not given that memory, so a kernel can only use the address as a number" in message, message)
    refused = run(build.replay(trace), expect=3).stderr
    require("kernels were passed what the trace does not describe" in refused and "low_half" in refused, refused)
    require("missed calls" not in refused and "with the recorded values" in refused, refused)
    replay_identically(build, trace, "--allow-incomplete")
    said = run(build.tool("gfxgraph", "check", trace), expect=3)
    require("the trace is incomplete" in said.stdout + said.stderr, said.stdout + said.stderr)
    require("calls" not in said.stdout + said.stderr, said.stdout + said.stderr)


def lookalike(build, scratch):
    """Two ids that spell an address are named, counted, and left alone if asked."""
    trace, message = record(build, scratch, "lookalike")
    require("ambiguous" in message and "copy to buffer" in message, message)
    relocations = info(build, trace)["relocations"]
    require(relocations["ambiguous"] > 0, relocations)
    require(any(s["ambiguous"] and "allocation" in s["place"] for s in relocations["sites"]),
            relocations)
    moved = run(build.replay(trace, "--layout", "shift", "--verify"), expect=1)
    require("try --ambiguous keep" in moved.stderr, moved.stderr)
    require("ambiguous: " in moved.stderr and "copy to buffer #" in moved.stderr, moved.stderr)
    replay_identically(build, trace, "--ambiguous", "keep")


def registered_numbers(build, scratch):
    """Numbers that equal host addresses of registered memory: a difference, unless it is known that they are numbers."""
    trace, _ = record(build, scratch, "registered_numbers")
    report = info(build, trace)
    require(report["complete"] and report["relocations"]["ambiguous"] >= 8, report["relocations"])
    # The addresses differ from process to process.
    moved = run(build.replay(trace, "--layout", "shift", "--verify"), expect={1, 3})
    require("ambiguous: initial content of buffer #" in moved.stderr, moved.stderr)
    replay_identically(build, trace, "--ambiguous", "keep")
    said = run(build.tool("gfxgraph", "provenance", trace, "--write")).stdout
    require("8 data, 0 never read, 0 unclear" in said, said)
    replay_identically(build, trace)
    # And pointers are proven, by either address.
    for mode in ("registered_list", "registered_end"):
        trace, _ = record(build, scratch, mode)
        said = run(build.tool("gfxgraph", "provenance", trace, "--write")).stdout
        require(" 0 data, 0 never read, 0 unclear" in said, said)
        replay_identically(build, trace)


def found_by_value(build, scratch, mode):
    """Packed and tagged pointers are relocated, and named as found by value only."""
    trace, _ = record(build, scratch, mode)
    report = info(build, trace)
    require(report["complete"] and report["relocations"]["ambiguous"] > 0, report)
    replay_identically(build, trace)


main({"replays": replays, "outside": outside, "unknown": unknown, "host_number": host_number, "lookalike": lookalike,
      "registered_numbers": registered_numbers, "found_by_value": found_by_value})
