"""compare_captures.py BUILD_TREE PROGRAM FIRST COUNT [SUITE]: are the graphs of the capture layer those of HIP's own capture?

Runs capture_random for each seed as it is and under `gfxgraph run --capture`. The layer must give a graph for every seed, whose
two launches do all work twice and in order; node by node it must be HIP's own wherever that succeeds. SUITE: with the HIP of its root.
"""

import subprocess
import sys
from pathlib import Path


def wrong(text):
    return "is not done twice" in text or "is out of order" in text


def outcome(tree, options, program, seed):
    root = ["scripts/with-runtime", sys.argv[5], "--inside", "--"] if len(sys.argv) > 5 else []
    done = subprocess.run([*root, str(tree / "bin" / "gfxgraph"), "run", *options, "--", program, str(seed)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=120)
    return done.returncode, done.stdout, done.stderr


def main():
    tree, program, first, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    same = failed = 0
    problems = []
    for seed in range(first, first + count):
        # HIP 5 loses work of graphs that threads launch beside each other, without the layer too (docs/capture.md, "Limits"):
        # what the layer does wrong is wrong each time.
        for _ in range(4):
            code, layer, err = outcome(tree, ["--capture"], program, seed)
            if code != 0 or not wrong(layer):
                break
        if code != 0 or wrong(layer):
            problems.append(f"seed {seed}: the layer ended with {code}:\n{layer}{err}")
            continue
        code, own, _ = outcome(tree, [], program, seed)
        if code != 0 or wrong(own):
            failed += 1  # HIP's own
        elif own == layer:
            same += 1
        else:
            problems.append(f"seed {seed}: HIP's own capture:\n{own}\nthe layer:\n{layer}")
    for problem in problems[:5]:
        print(problem)
    print(f"{count} random captures: {same} are HIP's own node by node, {failed} fail with HIP's own, {len(problems)} are wrong")
    return 1 if problems or same == 0 else 0


sys.exit(main())
