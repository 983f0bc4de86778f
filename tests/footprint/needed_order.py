"""gfxgraph info --order of a program whose needed order is known, and footprints of samples and random
programs against all accesses in the emulator.

needed_order.py BUILD_TREE order|samples|random [FIRST COUNT]
"""

import json
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


def check_sound(root, traces):
    result = subprocess.run([root / "tests" / "footprint_sound", *traces], capture_output=True, text=True)
    print(result.stdout)
    return [] if result.returncode == 0 else [result.stdout + result.stderr]


def main():
    root, what = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="gfxgraph-test.") as name:
        folder = Path(name)
        traces = []
        if what == "order":
            problems = check_order(root, folder)
        elif what == "samples":
            for sample in SAMPLES:
                traces.append(folder / f"{sample}.gfxg")
                record(root, traces[-1], root / "samples" / sample)
            problems = check_sound(root, traces)
            # Planted: each write's range loses its last element, and it must be seen.
            wrong = subprocess.run([root / "tests" / "footprint_sound", "--shrink", "4", *traces], capture_output=True,
                                   text=True)
            if wrong.returncode != 1 or " 0 outside" in wrong.stdout.splitlines()[0]:
                problems.append(f"shorter ranges were not seen: {wrong.stdout}")
        else:
            first, count = int(sys.argv[3]), int(sys.argv[4])
            for seed in range(first, first + count):
                traces.append(folder / f"{seed}.gfxg")
                record(root, traces[-1], root / "tests" / "programs_random" / "random_program", str(seed))
            problems = check_sound(root, traces)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
