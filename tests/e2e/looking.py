"""What gfxgraph shows of a trace: gfxgraph diff and gfxgraph export, against what was recorded.

looking.py diff|export|tables|run_check BUILD_TREE
"""

import csv
import io
import json
import re
import subprocess
from pathlib import Path

from harness import main, require, run


def recorded(build, scratch, name, tokens):
    trace = scratch / f"{name}.gfxg"
    run(build.record(trace, build.samples / "decode_step", "--tokens", tokens))
    return trace


def difference(build, first, second, expect):
    return json.loads(run(build.tool("gfxgraph", "diff", first, second, "--json"), expect).stdout)


def diff(build, scratch):
    """Two recordings of one program are the same; one with a token more has its launches more, and other results."""
    first, again, longer = (recorded(build, scratch, *one) for one in (("a", 3), ("b", 3), ("c", 4)))
    same = difference(build, first, again, 0)
    require(same["same"] and same["launches"]["aligned"] == same["launches"]["first"] > 0, f"{same}")
    require(same["buffers"]["compared"] > 0, f"{same['buffers']}")
    require("no difference" in run(build.tool("gfxgraph", "diff", first, again)).stdout, "no text for no difference")

    more = difference(build, first, longer, 1)
    launches = more["launches"]
    added = sum(stretch["count"] for stretch in launches["added"])
    require(launches["second"] - launches["first"] == added > 0 and not launches["gone"], f"{launches}")
    require(launches["aligned"] == launches["first"] and not launches["given_up"], f"{launches}")
    require(more["buffers"]["changed"], f"{more['buffers']}")
    less = difference(build, longer, first, 1)
    require(less["launches"]["gone"] == launches["added"], f"{less['launches']}")

    # A kernel of the same name with other code: by how much.
    versions = [scratch / f"{name}.gfxg" for name in ("sites", "cooperative")]
    for trace in versions:
        run(build.record(trace, build.root / "tests" / "recorder_programs" / f"program_{trace.stem}"))
    changed = {kernel["name"]: kernel["what"] for kernel in difference(build, *versions, 1)["kernels"]["changed"]}
    require(re.fullmatch(r"code \d+ -> \d+ bytes", changed["_Z3addPii"][0]), f"{changed}")

    other = scratch / "saxpy.gfxg"
    run(build.record(other, build.samples / "saxpy"))
    foreign = difference(build, first, other, 1)
    require(foreign["kernels"]["gone"] and foreign["kernels"]["added"], f"{foreign['kernels']}")
    require(foreign["launches"]["aligned"] == 0, f"{foreign['launches']}")


def export(build, scratch):
    trace = scratch / "streams.gfxg"
    run(build.record(trace, build.samples / "streams_events"))
    info = json.loads(run(build.tool("gfxgraph", "info", trace, "--json")).stdout)

    lines = [json.loads(line) for line in
             run(build.tool("gfxgraph", "export", trace, "--format", "jsonl")).stdout.splitlines()]
    require(lines[0]["type"] == "trace" and lines[0]["schema"] == "gfxgraph-export/1", f"{lines[0]}")
    events = [line for line in lines if "event" in line]
    require([event["event"] for event in events] == list(range(len(events))), "events out of order")
    for kind, count in info["events"].items():
        require(sum(event["type"] == kind for event in events) == count, f"{kind}: not {count}")
    require(sum(line["type"] == "kernel" for line in lines) == len(info["kernels"]), "kernels")

    images = scratch / "images.gfxg"
    run(build.record(images, build.root / "tests" / "recorder_programs" / "program_images", "textures"))
    begun = [line for line in map(json.loads, run(build.tool("gfxgraph", "export", images, "--format", "jsonl"))
                                  .stdout.splitlines()) if line.get("type") == "allocation_begin"]
    shapes = [(one["array"]["width"], one["array"]["height"], one["array"]["texels"]) for one in begun if "array" in one]
    require(shapes == [(13, 6, {"bits": [32, 0, 0, 0], "kind": "float"})] * 2, f"{shapes}")
    made_of = [(one["kind"], one["image"].get("size_bytes")) for one in begun if "image" in one]
    require(made_of == [("texture", None)] * 2 + [("texture", 256), ("texture", None)], f"{made_of}")

    timeline = scratch / "timeline.json"
    run(build.tool("gfxgraph", "export", trace, "--format", "perfetto", "-o", timeline))
    shown = json.loads(timeline.read_text())["traceEvents"]
    work = [event for event in shown if event["ph"] in ("i", "X") and event["pid"] == 2]
    slices = [event for event in shown if event["ph"] == "X"]
    work_with_width = sum(info["events"].get(kind, 0) for kind in ("launch", "copy", "memset"))
    require(info["events"]["copy"] > 0 and {event["cat"] for event in slices} <= {"launch", "copy", "memset"} and
            len(slices) == 2 * work_with_width, "launches, copies and memsets have a width")
    require(all(event["dur"] >= 0 and "until" in event["args"]["width"] for event in slices), f"{slices[0]}")
    require(all(event["args"]["arguments"] and "kernarg" not in event["args"] for event in slices if event["cat"] == "launch"), f"{slices[0]}")
    ends = {}
    for event in slices:
        track = (event["pid"], event["tid"])
        require(event["ts"] >= ends.get(track, 0) - 0.001, f"slices overlap on {track}")
        ends[track] = event["ts"] + event["dur"]
    require(sum(event["cat"] == "launch" for event in work) == info["events"]["launch"], "launches in streams")
    require({event["tid"] for event in work} <= set(range(info["streams"] + 1)), "streams")
    begun = {event["id"]: event["ts"] for event in shown if event["ph"] == "s"}
    ended = {event["id"]: event["ts"] for event in shown if event["ph"] == "f"}
    require(len(begun) == info["events"].get("stream_wait", 0) > 0 and begun.keys() == ended.keys(), "arrows")
    require(all(begun[arrow] <= ended[arrow] for arrow in begun), "arrows back in time")
    named = {(event["pid"], event["tid"]) for event in shown if event["name"] == "thread_name"}
    require({(event["pid"], event["tid"]) for event in shown if event["ph"] == "i"} <= named, "tracks without a name")

    code = scratch / "code"
    run(build.tool("gfxgraph", "export", trace, "--format", "code", "-o", code))
    files = sorted(code.iterdir())
    require(files and all(file.read_bytes()[:4] == b"\x7fELF" for file in files), f"{files}")

    listing = run(build.tool("gfxgraph", "export", trace, "--format", "disassembly")).stdout
    names = {line["name"] for line in lines if line["type"] == "kernel"}
    require(names <= set(re.findall(r"^[0-9a-f]{16} <(.*)>:", listing, re.MULTILINE)), f"{names} in {listing}")
    require(re.search(r"^; \S*streams_events\.hip:\d+:\d+ in ", listing, re.MULTILINE), listing)
    require(re.search(r"^ +[0-9a-f]+  s_endpgm", listing, re.MULTILINE) and ".long" not in listing, listing)

    graphs = scratch / "graphs.gfxg"
    run(build.record(graphs, build.samples / "graph_capture"))
    dot = run(build.tool("gfxgraph", "export", graphs, "--format", "dot")).stdout
    nodes = json.loads(run(build.tool("gfxgraph", "info", graphs, "--json")).stdout)["graphs"]
    require(dot.count("digraph") == len(nodes) > 0, dot)
    require(dot.count("[label=") == sum(graph["nodes"] for graph in nodes), dot)

    # A file that cannot be written whole is an error, and is not left behind.
    lost = scratch / "lost.json"
    script = f"ulimit -f 4; trap '' XFSZ; exec {build.bin}/gfxgraph export {trace} --format perfetto -o {lost}"
    failed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    require(failed.returncode == 1 and "cannot write" in failed.stderr and not lost.exists(), f"{failed}")
    run(build.tool("gfxgraph", "export", graphs, "--format", "dot", "--graph", 99), 1)
    run(build.tool("gfxgraph", "export", graphs, "--format", "code"), 2)


def tables(build, scratch):
    trace = recorded(build, scratch, "a", 2)
    info = json.loads(run(build.tool("gfxgraph", "info", trace, "--json")).stdout)

    def rows(what):
        return list(csv.DictReader(io.StringIO(
            run(build.tool("gfxgraph", "info", trace, what, "--format", "csv")).stdout)))

    kernels = rows("--kernels")
    launched = {kernel["demangled"]: kernel["launches"] for kernel in info["kernels"] if kernel["launches"]}
    require({row["kernel"]: int(row["launches"]) for row in kernels} == launched, f"{kernels}")
    require(all(int(row["vgprs"]) > 0 and int(row["sgprs"]) > 0 for row in kernels), f"{kernels}")
    shares = sum(float(row["work_item_share"]) for row in kernels)
    require(abs(shares - 1) < 0.01, f"{shares}")
    # What the waves executed, by another command.
    counted = json.loads(run(build.tool("gfxgraph", "info", trace, "--kernels", "--count", "--format", "json")).stdout)
    checked = json.loads(run(build.tool("gfxgraph", "check", trace, "--json")).stdout)
    instructions = {kernel["kernel"]: kernel["wave_instructions"] for kernel in checked["kernels"]}
    require(len(counted) == len(kernels), f"{counted}")
    require(sorted(row["wave_instructions"] for row in counted) == sorted(instructions.values()), f"{counted}, {checked['kernels']}")
    require(counted[0]["wave_instructions"] > 0 and "wave_instructions" not in kernels[0], f"{counted[0]}")
    for row in counted:
        share = row["wave_instructions"] / sum(instructions.values())
        require(abs(row["wave_instruction_share"] - share) < 0.0001, f"{row}")
    run(build.tool("gfxgraph", "info", trace, "--launches", "--count"), 2)
    counts = [int(row["launches"]) for row in kernels]
    launches = rows("--launches")
    require(len(launches) == sum(counts), f"{len(launches)} launches, {sum(counts)} in the table of kernels")
    require([int(row["launch"]) for row in launches] == list(range(len(launches))), "launches out of order")
    buffers = rows("--buffers")
    require(len(buffers) == len(info["buffers"]), f"{len(buffers)} buffers")
    require([int(row["size_bytes"]) for row in buffers] == [buffer["size_bytes"] for buffer in info["buffers"]],
            "sizes of buffers")

    for what in ("--kernels", "--launches", "--buffers"):
        as_json = json.loads(run(build.tool("gfxgraph", "info", trace, what, "--format", "json")).stdout)
        require(len(as_json) == len(rows(what)), f"{what}: {len(as_json)} as JSON")
        table = run(build.tool("gfxgraph", "info", trace, what, "--format", "table")).stdout.splitlines()
        require(len(table) == len(as_json) + 1, f"{what}: {len(table)} lines")
    # A code object that cannot be parsed is named in the rows of its kernels.
    broken = Path(__file__).resolve().parents[1] / "golden" / "everything.gfxg"
    rows_of_it = json.loads(run(build.tool("gfxgraph", "info", broken, "--kernels", "--format", "json"), {0, 3}).stdout)
    require(rows_of_it and all(row["vgprs"] is None and "code object" in row["problem"] for row in rows_of_it), f"{rows_of_it}")
    require("code object" in run(build.tool("gfxgraph", "info", broken, "--kernels", "--format", "table"), {0, 3}).stdout, "no text")
    require(all(row["problem"] == "" for row in kernels), f"{kernels}")
    run(build.tool("gfxgraph", "info", trace, "--format", "csv"), 2)
    run(build.tool("gfxgraph", "info", trace, "--kernels", "--launches", "--format", "csv"), 2)


def run_check(build, scratch):
    """gfxgraph run --check reports on the program: no file and no next step that are gone afterwards."""
    temporary = scratch / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}

    def checked(program, *arguments, options=(), expect=0):
        done = run(build.tool("gfxgraph", "run", "--check", *options, "--", program, *arguments), expect, env=environment)
        require(str(temporary) not in done.stdout + done.stderr, f"a path that is gone: {done.stdout}{done.stderr}")
        require("next:" not in done.stderr and "gfxgraph-replay" not in done.stderr, f"a step for nothing: {done.stderr}")
        require(not list(temporary.iterdir()), "a file is left")
        return done

    saxpy, tail, faults = build.samples / "saxpy", build.samples / "masked_tail", build.programs / "faults"
    done = checked(saxpy)
    require(f"{saxpy}: " in done.stdout and done.stderr == "", f"{done.stdout}{done.stderr}")
    done = checked(tail, options=("--masked-lane=error", "--json"), expect=4)
    report = json.loads(done.stdout[done.stdout.index("{\n"):])
    require(report["trace"] == str(tail) and report["findings"], f"{report}")
    done = checked(tail, options=("--masked-lane=error", "-o", scratch / "report.txt"), expect=4)
    require(f"{tail}: " in (scratch / "report.txt").read_text(), "the report names another file")
    # All tools, unless some are named: only racecheck finds this. A fault does not keep the report from being written.
    require("R4" in checked(build.programs / "unordered_sum", "race", expect=4).stdout, "no race was found")
    checked(build.programs / "unordered_sum", "race", options=("--tool", "memcheck"))
    checked(build.programs / "misbehave", "fault", options=("--format", "sarif", "-o", scratch / "report.sarif"), expect=4)
    require("E1" in (scratch / "report.sarif").read_text(), "the report lacks the fault")
    # A program that is killed: what it did until then is checked. One without HIP: nothing is.
    done = checked(build.programs / "misbehave", "abort", expect=None)
    require("the program was" in done.stderr, done.stderr)
    done = checked("/bin/true", expect=1)
    require("no HIP calls" in done.stderr and "nothing was checked" in done.stderr, done.stderr)


def run_check_equals(build, scratch, kind):
    """gfxgraph run --check of a program whose kernels call the host finds what gfxgraph check finds in its recording."""
    program, trace, report = build.programs / "device_calls", scratch / "calls.gfxg", scratch / "report.json"
    found = {"print": [], "heap": [], "overflow": ["E10"], "after_free": ["E11"], "twice": ["E12"], "assert": ["F1", "A5"]}[kind]
    # The agent makes a status of 0 a 1 if a kernel has failed.
    run(build.record(trace, program, kind), 1 if kind == "assert" else 0)
    run(build.tool("gfxgraph", "check", trace, "--tool", "all", "--format", "json", "-o", report), 4 if found else 0)
    of_trace = json.loads(report.read_text())
    run(build.tool("gfxgraph", "run", "--check", "--format", "json", "-o", report, "--", program, kind), 4 if found else 0)
    of_run = json.loads(report.read_text())

    def without_addresses(findings):
        """HIP and the heap of malloc choose them anew in each process."""
        for finding in findings:
            finding["first"].pop("address")
            if "nearest" in finding:
                finding["nearest"].pop("address")
        return findings

    ended = 1 if kind == "assert" else 0
    for one in of_trace, of_run:
        require([finding["class"] for finding in one["findings"]] == found, f"{one['findings']}")
        require(one["not_checked_count"] == ended, f"{one['not_checked']}")
        require(kind in ("assert", "twice") or one["buffers"]["equal"] == one["buffers"]["compared"], f"{one['buffers']} {one['notes']}")
    if kind == "assert":
        detail = of_run["findings"][0]["detail"]
        require("threadIdx.x" in detail and "device_calls.hip:" in detail, f"no text of the assertion: {detail}")
    a, b = without_addresses(of_trace["findings"]), without_addresses(of_run["findings"])
    require(a == b, f"of the trace: {a}\nof the run: {b}")


if __name__ == "__main__":
    main({"diff": diff, "export": export, "tables": tables, "run_check": run_check, "run_check_equals": run_check_equals})
