"""faults.py BUILD_TREE FORMS FAILING: what the capture layer does if a call that it makes of the runtime fails.

Runs modes of capture_forms with each such call failing once. The program must end by itself: with a right result, or saying
which of its calls returned an error. Never by a signal, never hanging.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

MODES = ("launches", "modules", "copies", "boxes", "memsets", "symbols", "forks", "children", "changed_children", "states")


def run(tree, forms, failing, mode, number):
    libraries = f"{tree}/lib/gfxgraph/libgfxgraph-capture.so:{failing}:{tree}/lib/gfxgraph/libgfxgraph-hip-errors.so"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{tree}/lib/gfxgraph", "LD_PRELOAD": libraries, "FAILING_CALL": str(number)}
    return subprocess.run([forms, mode, forms + ".co"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)


def main():
    tree, forms, failing = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
    tried = told = 0
    problems = []
    for mode in MODES:
        whole = run(tree, forms, failing, mode, 0)
        calls = int(re.search(r"failing_runtime: (\d+) calls", whole.stderr)[1])
        if whole.returncode != 0:
            problems.append(f"{mode}: without a failure: {whole.stdout}{whole.stderr}")
        for number in range(1, calls + 1):
            done = run(tree, forms, failing, mode, number)
            tried += 1
            told += done.returncode == 1
            if done.returncode not in (0, 1) or not done.stdout.startswith(f"{mode}: "):
                problems.append(f"{mode}, call {number}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    print("\n".join(problems[:5]))
    print(f"{tried} calls failed in turn: {told} made a call of the program fail, {len(problems)} problems")
    return 1 if problems or told == 0 else 0


sys.exit(main())
