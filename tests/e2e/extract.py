"""gfxgraph extract: parts of traces that replay alone, and one kernel as a HIP program of its own.

extract.py range|launches|kernel|standalone|images|plugins|refused BUILD_TREE
"""

import json
import os
import re

from harness import main, require, run

EACH = [(mode, layout) for mode in ("eager", "batch", "graph", "packets") for layout in ("same", "shift")]
SOME = [("eager", "same"), ("graph", "shift"), ("packets", "shift")]


def extract(build, trace, output, *options, expect=0):
    return run(build.tool("gfxgraph", "extract", trace, "-o", output, *options), expect)


def replays(build, trace, ways=SOME):
    for mode, layout in ways:
        run(build.replay(trace, "--mode", mode, "--layout", layout, "--quiet", "--verify", "--repeat", 2))


def ends(build, trace):
    """What each buffer holds at its end, in an order that does not depend on addresses."""
    lines = [json.loads(line) for line in
             run(build.tool("gfxgraph", "export", trace, "--format", "jsonl"), None).stdout.splitlines()]
    sizes = {line["allocation"]: line["size_bytes"] for line in lines if line.get("type") == "allocation_begin"}
    return sorted((sizes[line["allocation"]], line["post"]["hash"] or line["post"]["fill"]) for line in lines
                  if line.get("type") == "allocation_end" and not line["post"]["relocations"])


def counts(build, trace):
    return json.loads(run(build.tool("gfxgraph", "info", trace, "--json"), None).stdout)["events"]


def range_(build, scratch):
    """A range in the middle ends with the bytes that a recording of that range alone has."""
    whole, part, recorded = (scratch / f"{name}.gfxg" for name in ("whole", "part", "recorded"))
    program = (build.samples / "decode_step", "--tokens", 4)
    run(build.record(whole, *program))
    run(build.record(recorded, *program, options=("--range", "decode#2")))
    said = extract(build, whole, part, "--range", "decode#2").stdout
    require("as the emulator computed them" in said and "none to compare" in said, said)
    replays(build, part, EACH)
    require(counts(build, part)["launch"] == counts(build, recorded)["launch"] > 0, f"{counts(build, part)}")
    require(set(ends(build, recorded)) <= set(ends(build, part)), f"{ends(build, recorded)}\n{ends(build, part)}")
    # A part of a part, and all of it.
    again = scratch / "again.gfxg"
    extract(build, part, again, "--range", "decode#2")
    require(ends(build, again) == ends(build, part), "a second extraction differs")
    replays(build, again)
    # A recording of ranges is a trace, too.
    extract(build, recorded, again, "--launches", "5:20")
    require(counts(build, again)["launch"] == 15, f"{counts(build, again)}")
    replays(build, again)


def launches(build, scratch):
    """Streams, events, graphs and pointers in memory."""
    for program, interval, kernels in (("streams_events", "5:19", 14), ("graph_capture", "0:", None),
                                       ("struct_args", "0:", None), ("reduce", "1:", 1)):
        whole, part = scratch / f"{program}.gfxg", scratch / f"{program}_part.gfxg"
        run(build.record(whole, build.samples / program))
        extract(build, whole, part, "--launches", interval)
        replays(build, part)
        if kernels is not None:
            require(counts(build, part)["launch"] == kernels, f"{program}: {counts(build, part)}")
    for name in ("recycled_pinned", "variable", "sentinels", "packed", "tagged"):
        whole, part = scratch / f"{name}.gfxg", scratch / f"{name}_part.gfxg"
        run(build.record(whole, build.programs / "addresses", name))
        extract(build, whole, part, "--launches", "0:")
        replays(build, part)
    # The launches of one graph stay together.
    whole = scratch / "graph_capture.gfxg"
    graph = next(i for i, row in enumerate(json.loads(run(build.tool(
        "gfxgraph", "info", whole, "--launches", "--format", "json")).stdout)) if row["graph"])
    failed = extract(build, whole, scratch / "cut.gfxg", "--launches", f"{graph + 1}:", expect=1)
    require("belong to one graph launch" in failed.stderr, failed.stderr)


def kernel(build, scratch):
    """One kernel of a graph, as a launch of its own."""
    whole, part = scratch / "graph.gfxg", scratch / "kernel.gfxg"
    run(build.record(whole, build.samples / "graph_capture"))
    rows = json.loads(run(build.tool("gfxgraph", "info", whole, "--launches", "--format", "json")).stdout)
    name = next(row["kernel"] for row in rows if row["graph"])
    for number in (0, 1):
        extract(build, whole, part, "--kernel", f"{name.split('(')[0]}#{number}")
        events = counts(build, part)
        require(events["launch"] == 1 and "graph_launch" not in events, f"{events}")
        replays(build, part)


def standalone(build, scratch):
    """The folder is compiled by CMake's C++ compiler or hipcc, and its program needs nothing of gfxgraph."""
    for program, glob in (("saxpy", "saxpy*"), ("decode_step", "*attention*#9"), ("struct_args", "*#0")):
        whole, folder = scratch / f"{program}.gfxg", scratch / f"{program}_kernel"
        run(build.record(whole, build.samples / program))
        run(build.tool("gfxgraph", "extract", whole, "--kernel", glob, "--standalone", folder))
        run(["cmake", "-S", folder, "-B", folder / "build"])
        run(["cmake", "--build", folder / "build"])
        command = build.tool("gfxgraph", "run", "--device", "emulated", "--", folder / "build" / "launch")
        require(", 0 differ" in run(command).stdout, "it differs")
        run(["hipcc", "-std=c++17", f'-DGFXGRAPH_FOLDER="{folder}"', folder / "launch.cpp", "-o", folder / "build" / "by_hipcc"])
        require(", 0 differ" in run(build.tool("gfxgraph", "run", "--", folder / "build" / "by_hipcc")).stdout, "hipcc: it differs")
        # It does compare.
        changed = next(file for file in sorted(folder.glob("*.after")) if file.stat().st_size)
        changed.write_bytes(bytes([changed.read_bytes()[0] ^ 1]) + changed.read_bytes()[1:])
        require(", 1 differ" in run(command, 1).stdout, "a changed byte is not found")
    run(build.tool("gfxgraph", "extract", whole, "--launches", "0:1", "--standalone", folder), 2)
    # An earlier extraction is replaced; files of others are not.
    again = ("gfxgraph", "extract", whole, "--kernel", "*#0", "--standalone")
    run(build.tool(*again, folder))
    others = scratch / "others"
    others.mkdir()
    (others / "CMakeLists.txt").write_text("project(other)\n")
    failed = run(build.tool(*again, others), 1)
    require("did not write" in failed.stderr and [file.name for file in others.iterdir()] == ["CMakeLists.txt"], failed.stderr)


def images(build, scratch):
    """Arrays, textures and surfaces that began before the part, and within it."""
    program = build.root / "tests" / "recorder_programs" / "program_images"
    ways = [way for way in EACH if way[0] != "packets"]
    part, again = scratch / "part.gfxg", scratch / "again.gfxg"
    wholes = {mode: scratch / f"{mode}.gfxg" for mode in ("arrays", "textures", "surfaces", "graph", "ranges")}
    for mode, whole in wholes.items():
        run(build.record(whole, program, mode))
        extract(build, whole, part, "--launches", "0:")
        replays(build, part, ways)
    # Where the array has what earlier launches wrote; a table of handles; a part of a part.
    for mode, interval in (("surfaces", "1:2"), ("surfaces", "2:4"), ("textures", "2:4"), ("textures", "4:")):
        extract(build, wholes[mode], part, "--launches", interval)
        replays(build, part, ways)
        run(build.tool("gfxgraph", "check", part))
        extract(build, part, again, "--launches", "0:")
        require(ends(build, again) == ends(build, part), f"{mode} {interval}: a second extraction differs")
    extract(build, wholes["ranges"], part, "--range", "step#1")
    replays(build, part, ways)
    for mode, glob in (("surfaces", "*double_surface*#2"), ("textures", "*fetch_by_table*"), ("graph", "*fetch_2d*#1")):
        extract(build, wholes[mode], part, "--kernel", glob)
        replays(build, part)
        folder = scratch / "folder"  # what a refusal leaves there is replaced
        said = run(build.tool("gfxgraph", "extract", wholes[mode], "--kernel", glob, "--standalone", folder), 1).stderr
        require("no standalone program: the launch uses a" in said and f"replay {folder}/kernel.gfxg" in said, said)
        replays(build, folder / "kernel.gfxg")


def plugins(build, scratch):
    """Code that is loaded where other code was, with variables at the same addresses."""
    whole, part, again = (scratch / f"{name}.gfxg" for name in ("whole", "part", "again"))
    run(build.record(whole, build.programs / "plugins", *(build.programs / f"plugin{n}.so" for n in (2, 3))))
    lines = [json.loads(line) for line in
             run(build.tool("gfxgraph", "export", whole, "--format", "jsonl"), None).stdout.splitlines()]
    places = [line["address"] for line in lines if line.get("symbol") == "calls"]
    require(len(places) == 4 and len(set(places)) < 4, f"no code was loaded where other code was: {places}")
    for interval, number in (("0:", 12), ("1:2", 1), ("4:8", 4), ("7:", 5)):
        extract(build, whole, part, "--launches", interval)
        require(counts(build, part)["launch"] == number, f"{interval}: {counts(build, part)}")
        replays(build, part)
        extract(build, part, again, "--launches", "0:")
        require(ends(build, again) == ends(build, part), f"{interval}: a second extraction differs")
    extract(build, whole, part, "--kernel", "*work<3>*#1")
    replays(build, part)
    said = run(build.tool("gfxgraph", "check", whole)).stdout
    require("12 launches checked, 0 not" in said and "0 errors, 0 warnings" in said, said)
    equal, buffers = re.search(r"(\d+) of (\d+) buffers end as recorded", said).groups()
    require(equal == buffers, said)
    said = run(build.tool("gfxgraph", "provenance", whole)).stdout
    require("0 data, 0 never read, 0 unclear" in said, said)


def refused(build, scratch):
    whole, output = scratch / "whole.gfxg", scratch / "part.gfxg"
    run(build.record(whole, build.samples / "decode_step", "--tokens", 2))
    for options, code, words in ((("--range", "decode#7"), 1, "decode#7"), (("--range", "nothing"), 1, "nothing"),
                                 (("--launches", "100000:"), 1, "does not exist"),
                                 (("--kernel", "nothing*"), 1, "match"), (("--launches", "x"), 1, "x"),
                                 ((), 2, "part"), (("--range", "decode", "--launches", "0:1"), 2, "")):
        failed = extract(build, whole, output, *options, expect=code)
        require(words in failed.stderr, f"{options}: {failed.stderr}")
        require(not list(scratch.glob("part.gfxg*")), f"{options}: a file is left")
    require("same file" in extract(build, whole, whole, "--range", "decode", expect=1).stderr, "its own input")
    # Contents that the part depends on and that the trace does not hold.
    hashes = scratch / "hashes.gfxg"
    run(build.record(hashes, build.samples / "decode_step", "--tokens", 2,
                     options=("--contents", "none", "--range", "decode#0-1")))
    failed = extract(build, hashes, output, "--range", "decode#1", expect=1)
    require("the trace lacks contents" in failed.stderr, failed.stderr)
    # Memory that does not come out as recorded: an input byte is another one.
    right, wrong = scratch / "right.gfxg", scratch / "wrong.gfxg"
    run(build.record(right, build.samples / "saxpy"))
    run([str(build.root / "tests" / "flip_input"), str(right), str(wrong), "64"])
    failed = extract(build, wrong, output, "--launches", "0:", expect=1)
    require("differ from what the emulator computed" in failed.stderr, failed.stderr)
    require(not list(scratch.glob("part.gfxg*")), "a file is left")
    extract(build, wrong, output, "--launches", "0:", "--allow-diverged")
    replays(build, output)
    output.unlink()
    # A trace that lacks calls.
    torn = scratch / "torn.gfxg"
    torn.write_bytes(whole.read_bytes()[:os.path.getsize(whole) // 2])
    extract(build, torn, output, "--range", "decode", expect=3)


if __name__ == "__main__":
    main({"range": range_, "launches": launches, "kernel": kernel, "standalone": standalone, "images": images,
          "plugins": plugins, "refused": refused})
