"""gfxgraph-replay --bench: what it measures, and how two results compare.

bench.py measures|compared BUILD_TREE
"""

import copy
import json

from harness import main, require, run

ROUNDS = 6


def measured(build, scratch, trace, *options, expect=0):
    file = scratch / "bench.json"
    done = run(build.replay(trace, "--bench", "--repeat", ROUNDS, "--json", file, *options), expect)
    require("gfxgraph-replay: device: emulated " in done.stderr, f"no line names the device: {done.stderr}")
    return json.loads(file.read_text()), done.stdout


def measures(build, scratch):
    """Every mode has compared outputs and a raw sample of each kind per round."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "decode_step", "--tokens", 2))
    result, text = measured(build, scratch, trace)
    require(result["schema"] == "gfxgraph-bench/1" and result["rounds"] == ROUNDS and result["device"]["emulated"], f"{result}")
    variants = {variant["mode"]: variant for variant in result["variants"]}
    require(set(variants) == {"batch", "graph", "packets", "eager"}, f"{set(variants)}")
    for mode, variant in variants.items():
        require(variant["outputs"] == "identical" and variant["buffers"]["different"] == 0, f"{mode}: {variant}")
        times = variant["times_us"]
        for kind in ("submit", "end_to_end", "device"):
            if kind == "device" and mode == "eager":
                require(times[kind] is None, "eager mode has no stream whose device time it is")
                continue
            timing = times[kind]
            require(len(timing["samples"]) == ROUNDS and min(timing["samples"]) >= 0, f"{mode} {kind}: {timing}")
            require(timing["p10"] <= timing["median"] <= timing["p90"], f"{mode} {kind}: {timing}")
            require({"median_forward", "median_reversed"} <= set(timing), f"{timing}")
        require(all(a <= b for a, b in zip(times["submit"]["samples"], times["end_to_end"]["samples"])), f"{mode}: {times}")
        require(mode in text, text)
    require(variants["graph"]["times_us"]["build"] > 0, f"{variants['graph']}")
    saved = {one["against"]: one["runs"] for one in result["graph_break_even"]}
    require(set(saved) == {"eager", "batch", "packets"}, f"{saved}")
    require("building the graph took" in text and "no GPU times" in text, text)
    table = text.splitlines()[text.splitlines().index(next(x for x in text.splitlines() if x.startswith("mode "))):]
    require(all(len(line) <= 80 for line in table if "building" not in line), text)
    require(table[0].split() == ["mode", "outputs", "time", "median", "p10", "p90", "/", "batch"], text)

    # One range, one mode; a trace whose outputs differ has no times.
    result, _ = measured(build, scratch, trace, "--range", "decode#0", "--mode", "batch")
    require([variant["mode"] for variant in result["variants"]] == ["batch"] and result["range"] == "decode#0", f"{result}")
    require("times_us" in result["variants"][0] and result["variants"][0]["buffers"]["compared_with_replay"] > 0, f"{result}")
    right, wrong = scratch / "right.gfxg", scratch / "wrong.gfxg"
    run(build.record(right, build.samples / "saxpy"))
    run([str(build.root / "tests" / "flip_input"), str(right), str(wrong), "64"])
    result, text = measured(build, scratch, wrong, expect=1)
    require(all(variant["outputs"] == "different" and "times_us" not in variant for variant in result["variants"]), f"{result}")
    require("no times" in text, text)
    for other in ("--no-verify", "--bisect"):
        run(build.replay(trace, "--bench", other), 2)
    # The samples of a plain replay are in its JSON, too.
    plain = scratch / "plain.json"
    run(build.replay(right, "--mode", "batch", "--repeat", 5, "--json", plain))
    require(len(json.loads(plain.read_text())["times_us"]["submit"]["samples"]) == 5, plain.read_text())


def compared(build, scratch):
    """gfxgraph diff says which times differ beyond their spread."""
    trace, first, second = scratch / "t.gfxg", scratch / "first.json", scratch / "second.json"
    run(build.record(trace, build.samples / "saxpy"))
    result, _ = measured(build, scratch, trace)
    first.write_text(json.dumps(result))
    require("no difference beyond the spread" in run(build.tool("gfxgraph", "diff", first, first)).stdout, "itself")

    slower = copy.deepcopy(result)
    for variant in slower["variants"]:
        if variant["mode"] == "graph":
            for number in ("median", "p10", "p90"):
                variant["times_us"]["submit"][number] = 2 * result["variants"][1]["times_us"]["submit"]["p90"] + 1
    second.write_text(json.dumps(slower))
    for names, verdict in (((first, second), "slower"), ((second, first), "faster")):
        said = json.loads(run(build.tool("gfxgraph", "diff", *names, "--json"), 1).stdout)
        found = [change for change in said["times"] if change["verdict"] != "within the spread"]
        require(said["schema"] == "gfxgraph-bench-diff/1" and not said["same"], f"{said}")
        require([(one["mode"], one["kind"], one["verdict"]) for one in found] == [("graph", "submit", verdict)], f"{found}")
        require(verdict in run(build.tool("gfxgraph", "diff", *names), 1).stdout, "text")
        for percent, code in ((1, 1 if verdict == "slower" else 0), (1e9, 0)):
            run(build.tool("gfxgraph", "diff", *names, "--fail-if-slower", percent), code)

    other = copy.deepcopy(result)
    other["variants"][0]["outputs"] = "different"
    del other["variants"][0]["times_us"], other["variants"][-1]
    other["device"]["name"] = "another"
    second.write_text(json.dumps(other))
    said = json.loads(run(build.tool("gfxgraph", "diff", first, second, "--json"), 1).stdout)
    require(len(said["outputs"]) == 2 and len(said["environment"]) == 1, f"{said}")
    for text in ('{"schema": "gfxgraph-bench/1"}', "{}", '{"schema": "gfxgraph-bench/1", "variants": [1, {"mode": 2, "times_us": 3}]}'):
        second.write_text(text)
        done = run(build.tool("gfxgraph", "diff", first, second), {1})
        require("Traceback" not in done.stderr and "type_error" not in done.stderr, done.stderr)
    run(build.tool("gfxgraph", "diff", first, trace), {1, 3})


if __name__ == "__main__":
    main({"measures": measures, "compared": compared})
