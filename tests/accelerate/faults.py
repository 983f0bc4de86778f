"""faults.py BUILD_TREE FORMS FAILING: what gfxgraph accelerate does if a call that it makes of the runtime fails.

A call that makes or launches a graph: the program never notices. A launch: the program gets the error, if not by the call
itself then by a later one; it never ends as if all were well. Never a signal, never hanging.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

MODES = ("repeated", "mismatches", "queries", "growing", "growing_without_waits", "copies")
MOST = 6  # calls of a mode that fail, spread over all


def run(tree, forms, failing, mode, kind, number):
    library = f"{tree}/lib/gfxgraph"
    libraries = f"{library}/libgfxgraph-accelerate.so:{failing}:{library}/libgfxgraph-hip-errors.so"
    environment = {**os.environ, "LD_LIBRARY_PATH": library, "LD_PRELOAD": libraries, "FAILING_CALL": str(number),
                   "FAILING_KIND": kind, "GFXGRAPH_ACCELERATE_WAY": "graph"}
    program = forms.replace("_forms", "_work") if mode.startswith(("growing", "copies")) else forms
    return subprocess.run([program, mode, forms + ".co"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=120)


def main():
    tree, forms, failing = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
    tried = later = 0
    problems = []
    for mode in MODES:
        for kind, code in (("graph", 0), ("launch", 1)):
            whole = run(tree, forms, failing, mode, kind, 0)
            calls = int(re.search(r"failing_runtime: (\d+) calls", whole.stderr)[1])
            if whole.returncode != 0 or calls == 0:
                problems.append(f"{mode}: without a failure, {calls} calls: {whole.stdout}{whole.stderr}")
                continue
            for number in range(1, calls + 1, 1 + calls // MOST):
                done = run(tree, forms, failing, mode, kind, number)
                # How many there are depends on the time: what is held goes out after 100 us.
                if int(re.search(r"failing_runtime: (\d+) calls", done.stderr)[1]) < number:
                    continue
                tried += 1
                held = "which a later call returns" in done.stderr
                later += held
                if done.returncode != code or (held and "error 2" not in done.stdout):
                    problems.append(f"{mode}, {kind} call {number}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    print("\n".join(problems[:5]))
    print(f"{tried} calls failed in turn: {later} launches that had returned; {len(problems)} problems")
    return 1 if problems or later == 0 else 0


sys.exit(main())
