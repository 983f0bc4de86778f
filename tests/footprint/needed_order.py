"""gfxgraph info --order of a program whose needed order is known, footprints of samples and random programs against
all accesses in the emulator, and replays that keep only the needed order.

needed_order.py BUILD_TREE order|samples|random|replay|replay_random|faults [FIRST COUNT]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# For each launch of order_forms.hip: the launches that it needs, reduced.
NEEDED = {0: [], 1: [], 2: [0, 1], 3: [2], 4: [], 5: [4], 6: [], 7: [], 8: [3, 5, 6, 7], 9: [8], 10: [8], 11: [10],
          12: [9, 11], 13: [9, 11]}
SAMPLES = ("saxpy", "matmul_tiled", "reduce", "streams_events", "struct_args", "graph_capture")


def record(root, trace, *program):
    result = subprocess.run([root / "bin" / "gfxgraph-record", "--device", "emulated", "--force", "-o", trace, "--", *program],
                            capture_output=True, text=True)
    if not trace.exists():
        sys.exit(f"{program[0]}: no trace: {result.stdout}{result.stderr}")


def check_order(root, folder):
    trace = folder / "order.gfxg"
    record(root, trace, root / "tests" / "footprint" / "order_forms")
    out = subprocess.run([root / "bin" / "gfxgraph", "info", trace, "--order", "--json"], capture_output=True, text=True,
                         check=True).stdout
    report = json.loads(out)
    work = report["work"]
    numbers = {n: one["launch"] for n, one in enumerate(work) if one["kind"] == "launch"}
    problems = []
    for n, launch in numbers.items():
        needed = [numbers[before] for before in work[n]["needed"] if before in numbers]
        if needed != NEEDED[launch]:
            problems.append(f"launch {launch} needs {needed}, not {NEEDED[launch]}")
    if report["launches"] != len(NEEDED):
        problems.append(f"{report['launches']} launches, not {len(NEEDED)}")
    # 2, 3, 8, 10, 11 and 12 behind 0.
    if report["longest_chain"] != 7 or report["longest_chain_recorded"] != 13:
        problems.append(f"chains of {report['longest_chain']} and {report['longest_chain_recorded']}")
    if [one["kernel"] for one in report["unknown"]] != ["follow"]:
        problems.append(f"unknown: {report['unknown']}")
    text = subprocess.run([root / "bin" / "gfxgraph", "info", trace, "--order"], capture_output=True, text=True,
                          check=True).stdout
    if "longest chain: 13 launches recorded, 7 needed" not in text:
        problems.append(f"text: {text}")
    return problems


def record_all(root, folder):
    """The samples, and the program whose order is known."""
    programs = {sample: root / "samples" / sample for sample in SAMPLES}
    programs["order"] = root / "tests" / "footprint" / "order_forms"
    for name, program in programs.items():
        record(root, folder / f"{name}.gfxg", program)
    return [folder / f"{name}.gfxg" for name in programs]


def record_random(root, folder, first, count):
    traces = [folder / f"{seed}.gfxg" for seed in range(first, first + count)]
    for seed, trace in enumerate(traces, first):
        record(root, trace, root / "tests" / "programs_random" / "random_program", str(seed))
    return traces


def order_replay(root, *words):
    agent = str(root / "lib" / "gfxgraph")
    inherited = os.environ.get("LD_LIBRARY_PATH")
    paths = {"LD_LIBRARY_PATH": agent + (":" + inherited if inherited else "")}
    return subprocess.run([root / "tests" / "order_replay", *words], capture_output=True, text=True, env={**os.environ, **paths})


def check_replays(root, traces):
    result = order_replay(root, *traces)
    print(result.stdout)
    return [] if result.returncode == 0 else [result.stdout + result.stderr]


def check_random_replays(root, folder, first, count):
    """A few at a time: traces are large."""
    problems = []
    for seed in range(first, first + count, 20):
        traces = record_random(root, folder, seed, min(20, first + count - seed))
        problems += check_replays(root, traces)
        for trace in traces:
            trace.unlink()
    return problems


def check_tool(root, folder):
    """What gfxgraph-replay says of the order that it keeps, and what it refuses."""
    trace = folder / "order.gfxg"
    replay = [root / "bin" / "gfxgraph-replay", trace, "--device", "emulated", "--quiet"]
    problems = []
    found = {}
    for mode, order in (("graph", "recorded"), ("graph", "proven"), ("packets", "proven")):
        done = subprocess.run([*replay, "--mode", mode, "--order", order, "--json", "--verify"], capture_output=True, text=True,
                              env={**os.environ, "GFXGRAPH_PACKET_ORDER": "reversed"})
        if done.returncode != 0:
            problems.append(f"{mode} {order}: {done.stdout}{done.stderr}")
            continue
        found[mode, order] = json.loads(done.stdout)
    if problems:
        return problems
    if "order" in found["graph", "recorded"]:
        problems.append("the recorded order was not asked for, and is named")
    for mode in ("graph", "packets"):
        order = found[mode, "proven"]["order"]
        if not order["proven"] or order["reason"]:
            problems.append(f"{mode}: {order}")
    packets = found["packets", "proven"]["order"]
    # Of 14 launches: the first, 2, 3, 5, 8, 9, 11 and 12; and what the copies before them need.
    if not 8 <= packets["barriers"] <= 10 or packets["packets"] < 14:
        problems.append(f"packets: {packets}")
    edges = found["graph", "proven"]["order"]
    if (edges["edges_recorded"], edges["edges_needed"]) != (14, 20):
        problems.append(f"graph: {edges}")
    for words, code, text in ((("--mode", "batch"), 2, "keeps the recorded order"),
                              (("--mode", "graph", "--memory", "packed"), 2, "omit --memory packed"),
                              (("--mode", "graph", "--pointers", "typed"), 1, "that of another trace")):
        done = subprocess.run([*replay, *words, "--order", "proven"], capture_output=True, text=True)
        if done.returncode != code or text not in done.stderr:
            problems.append(f"{words}: {done.returncode}: {done.stderr}")
    linear = subprocess.run([*replay, "--mode", "graph", "--graph-linear", "--order", "proven", "--json"], capture_output=True,
                            text=True, check=True).stdout
    if "--graph-linear" not in json.loads(linear)["order"]["reason"]:
        problems.append(f"linear: {linear}")
    # Iterations with other values of the parameters: the proof holds for any.
    step = folder / "decode.gfxg"
    record(root, step, root / "samples" / "decode_step")
    for mode in ("graph", "packets"):
        done = subprocess.run([replay[0], step, *replay[2:], "--range", "decode#1", "--mode", mode, "--order", "proven",
                               "--iterations", "4", "--json"], capture_output=True, text=True)
        if done.returncode != 0 or not json.loads(done.stdout)["order"]["proven"]:
            problems.append(f"iterations, {mode}: {done.stdout}{done.stderr}")
    file = folder / "order.order"
    subprocess.run([root / "bin" / "gfxgraph", "info", trace, "--order", "-o", file, "--quiet"], capture_output=True, check=True)
    piped = subprocess.run([root / "bin" / "gfxgraph", "info", trace, "--order", "-o", "-"], capture_output=True, check=True).stdout
    if file.read_bytes() != piped or not piped.startswith(b"gfxgordr"):
        problems.append("the file and standard output are not the same")
    return problems


FAULTS = ("write-as-read", "short", "alias", "unknown")


def check_faults(root, traces):
    problems = []
    for kind in FAULTS:
        result = order_replay(root, "--fault", kind, *traces)
        print(result.stdout)
        found = re.search(r"^\S+: (\d+) planted, (\d+) seen", result.stdout, re.M)
        if result.returncode != 0 or not found or int(found[1]) == 0 or found[1] != found[2]:
            problems.append(f"{kind}: {result.stdout}{result.stderr}")
    return problems


def check_sound(root, traces):
    result = subprocess.run([root / "tests" / "footprint_sound", *traces], capture_output=True, text=True)
    print(result.stdout)
    return [] if result.returncode == 0 else [result.stdout + result.stderr]


def main():
    root, what = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="gfxgraph-test.") as name:
        folder = Path(name)
        if what == "order":
            problems = check_order(root, folder)
        elif what == "replay":
            traces = record_all(root, folder)
            problems = check_replays(root, traces) + check_tool(root, folder)
        elif what == "replay_random":
            problems = check_random_replays(root, folder, int(sys.argv[3]), int(sys.argv[4]))
        elif what == "faults":
            problems = check_faults(root, record_all(root, folder))
        elif what == "samples":
            traces = record_all(root, folder)
            problems = check_sound(root, traces)
            # Planted: each write's range loses its last element, and it must be seen.
            wrong = subprocess.run([root / "tests" / "footprint_sound", "--shrink", "4", *traces], capture_output=True,
                                   text=True)
            if wrong.returncode != 1 or " 0 outside" in wrong.stdout.splitlines()[0]:
                problems.append(f"shorter ranges were not seen: {wrong.stdout}")
        else:
            problems = check_sound(root, record_random(root, folder, int(sys.argv[3]), int(sys.argv[4])))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
