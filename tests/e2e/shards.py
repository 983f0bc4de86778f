"""gfxgraph check --shard, gfxgraph merge, and gfxgraph extract --pieces.

shards.py merged|killed|pieces|recipes BUILD_TREE
"""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from harness import main, require, run

SOURCE = Path(__file__).resolve().parents[2]
PROGRAMS = ("saxpy", "masked_tail", "reduce", "struct_args", "graph_capture", "streams_events")


def record_all(build, folder):
    for program in PROGRAMS:
        run(build.record(folder / f"{program}.gfxg", build.samples / program))
    return sorted(str(path) for path in folder.glob("*.gfxg"))


def merged(build, scratch):
    """In any order of the parts, the bytes and the exit code of one process."""
    traces = record_all(build, scratch)
    for options, shards in ((("--tool", "all", "--masked-lane", "error"), 3), (("--tool", "perf"), 4), (("--tool", "leakcheck,apicheck"), 2),
                            (("--coverage",), 2)):
        parts = [scratch / f"{number}.part" for number in range(1, shards + 1)]
        for number, part in enumerate(parts, 1):
            run(build.tool("gfxgraph", "check", "--shard", f"{number}/{shards}", *options, *traces, "-o", part))
        for form in ("json", "sarif", "text"):
            one, joined = scratch / "one", scratch / "joined"
            code = run(build.tool("gfxgraph", "check", *options, "--format", form, *traces, "-o", one), None).returncode
            for order in itertools.islice(itertools.permutations(parts), 0, None, 5):
                run(build.tool("gfxgraph", "merge", *order, "--format", form, "-o", joined), code)
                require(joined.read_bytes() == one.read_bytes(), f"{options}, {form}: another report")
    require(b"masked_tail" in one.read_bytes(), "nothing was checked")


def killed(build, scratch):
    """A shard that is killed leaves no part, and merge says which it was until it ran again."""
    trace = scratch / "decode.gfxg"
    run(build.record(trace, build.samples / "decode_step", "--tokens", 16))
    traces = [trace, trace, trace, trace]

    def shard(number):
        return build.tool("gfxgraph", "check", "--shard", f"{number}/2", "--tool", "all", "--quiet", *traces, "-o",
                          scratch / "parts" / f"{number}.part")

    (scratch / "parts").mkdir()
    run(shard(1))
    stopped = 0
    for wait in (0.02, 0.1, 0.2, 0.4):
        # Its worker is a process of its own.
        process = subprocess.Popen(shard(2), start_new_session=True)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGKILL)
        left = [path for path in (scratch / "parts").glob("*.part") if path.name != "1.part"]
        if process.wait() == -signal.SIGKILL:
            stopped += 1
            require(not left, f"a shard that was killed after {wait} s left {left}")
        for path in left:
            path.unlink()
    require(stopped, "no shard was killed before its end")
    parts = sorted((scratch / "parts").glob("*.part"))
    failed = run(build.tool("gfxgraph", "merge", *parts, "-o", scratch / "merged"), 3)
    require("shard 2 of 2 is missing, with 2 of 4 traces" in failed.stderr and "--shard 2/2" in failed.stderr, failed.stderr)
    require(not (scratch / "merged").exists(), "a report of half of the traces")
    run(shard(2))
    run(build.tool("gfxgraph", "merge", scratch / "parts" / "2.part", scratch / "parts" / "1.part", "-o", scratch / "merged"))
    run(build.tool("gfxgraph", "check", "--tool", "all", *traces, "-o", scratch / "one"))
    require((scratch / "one").read_bytes() == (scratch / "merged").read_bytes(), "another report")


def pieces(build, scratch):
    """The pieces of a trace are checked to what the trace is checked to, and replay one after another."""
    for program, arguments, number in (("decode_step", ("--tokens", 8), 11), ("masked_tail", (), 2), ("graph_capture", (), 3),
                                       ("streams_events", (), 4)):
        whole = scratch / f"{program}.gfxg"
        run(build.record(whole, build.samples / program, *arguments))
        said = run(build.tool("gfxgraph", "extract", whole, "--pieces", number, "-o", scratch / f"{program}_piece.gfxg")).stdout
        require(", 0 differ" in said, said)
        parts = sorted(scratch.glob(f"{program}_piece-*.gfxg"))
        require(len(parts) == number, f"{parts}")

        def checked(*traces):
            done = run(build.tool("gfxgraph", "check", *traces, "--format", "json"))
            report = json.loads(done.stdout)
            reports = report.get("traces", [report])
            sums = [sum(one[name] for one in reports) for name in ("launches", "wave_instructions", "errors", "warnings")]
            require(all(one["buffers"]["compared"] == one["buffers"]["equal"] for one in reports), f"{program}: {done.stdout}")
            require(all(one["launches"] for one in reports), f"{program}: a piece without a launch")
            return sums, sorted({(finding["class"], finding["kernel"], finding["pc"]) for one in reports for finding in one["findings"]})

        require(checked(*parts) == checked(whole), f"{program}: {checked(*parts)}, not {checked(whole)}")
        for part in parts:
            run(build.replay(part, "--mode", "graph", "--layout", "shift", "--quiet", "--verify"))
    # More than launches; a file is left neither by that nor by contents that differ.
    require("can be cut into 1 to 2" in run(build.tool("gfxgraph", "extract", scratch / "masked_tail.gfxg", "--pieces", 3, "-o",
                                                       scratch / "many.gfxg"), 1).stderr, "3 pieces of 2 launches")
    run([str(build.root / "tests" / "flip_input"), str(scratch / "masked_tail.gfxg"), str(scratch / "wrong.gfxg"), "64"])
    failed = run(build.tool("gfxgraph", "extract", scratch / "wrong.gfxg", "--pieces", 2, "-o", scratch / "many.gfxg"), 1)
    require("differ from what the emulator computed" in failed.stderr, failed.stderr)
    require(not list(scratch.glob("many*")), "a file is left")
    text = run(build.tool("gfxgraph", "extract", scratch / "masked_tail.gfxg", "--pieces", 2, "-o", scratch / "many.gfxg", "--json")).stdout
    require([piece["launches"] for piece in json.loads(text)["pieces"]] == [1, 1], text)


def recipes(build, scratch):
    """The commands of docs/production/shards.md, as they stand there."""
    page = (SOURCE / "docs" / "production" / "shards.md").read_text()
    blocks = [block for block in re.findall(r"^```\n([^`]*)^```$", page, re.MULTILINE) if "xargs" in block or "make " in block]
    require(len(blocks) == 2, f"{len(blocks)} recipes")
    environment = {"PATH": f"{build.bin}:{os.environ['PATH']}"}
    (scratch / "traces").mkdir()
    record_all(build, scratch / "traces")
    for number, block in enumerate(blocks):
        folder = scratch / str(number)
        shutil.copytree(scratch / "traces", folder)
        (folder / "samples").symlink_to(SOURCE / "samples")
        done = run(["bash", "-c", f"cd {folder}\n{block}"], 0, env=environment)
        run(["bash", "-c", f"cd {folder}; gfxgraph check --tool all --format json *.gfxg -o one.json"], 0, env=environment)
        require((folder / "report.json").read_bytes() == (folder / "one.json").read_bytes(), f"another report: {block}\n{done.stdout}")
        # Only what is missing runs again.
        if "make" in block:
            (folder / "parts" / "3.part").unlink()
            again = run(["bash", "-c", f"cd {folder}\n{block}"], 0, env=environment).stdout
            require(re.findall(r"--shard (\S+)", again) == ["3/8"], again)


if __name__ == "__main__":
    main({"merged": merged, "killed": killed, "pieces": pieces, "recipes": recipes})
