"""faults.py BUILD_TREE FORMS LIVES FAILING: what the capture layer does if a call that it makes of the runtime fails.

Runs modes of capture_forms with each such call failing once. The program must end by itself: with a right result, or saying
which of its calls returned an error. Never by a signal, never hanging. Then the thread that captures is cancelled in each such
call of capture_lives: the capture holds what had returned, or ends with an error, and all works afterwards.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

MODES = ("launches", "modules", "copies", "boxes", "memsets", "symbols", "forks", "children", "changed_children", "states",
         "extended", "order", "information")


def run(tree, program, failing, mode, variable, number):
    libraries = f"{tree}/lib/gfxgraph/libgfxgraph-capture.so:{failing}:{tree}/lib/gfxgraph/libgfxgraph-hip-errors.so"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{tree}/lib/gfxgraph", "LD_PRELOAD": libraries, variable: str(number)}
    return subprocess.run([program, mode, program + ".co"][:3 if variable == "FAILING_CALL" else 2], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)


def counted(done):
    return int(re.search(r"failing_runtime: (\d+) calls", done.stderr)[1])


def cancelled(tree, lives, failing, problems):
    """How many calls a thread was cancelled in."""
    calls = counted(run(tree, lives, failing, "inside", "CANCELLED_CALL", 1 << 20))
    for number in range(1, calls + 1):
        done = run(tree, lives, failing, "inside", "CANCELLED_CALL", number)
        if done.returncode != 0 or done.stdout != "inside: PASS\n":
            problems.append(f"cancelled in call {number}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return calls


def main():
    tree, forms, lives, failing = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], sys.argv[4]
    tried = told = 0
    problems = []
    for mode in MODES:
        whole = run(tree, forms, failing, mode, "FAILING_CALL", 0)
        if whole.returncode != 0:
            problems.append(f"{mode}: without a failure: {whole.stdout}{whole.stderr}")
        for number in range(1, counted(whole) + 1):
            done = run(tree, forms, failing, mode, "FAILING_CALL", number)
            tried += 1
            told += done.returncode == 1
            if done.returncode not in (0, 1) or not done.stdout.startswith(f"{mode}: "):
                problems.append(f"{mode}, call {number}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    places = cancelled(tree, lives, failing, problems)
    print("\n".join(problems[:5]))
    print(f"{tried} calls failed in turn: {told} made a call of the program fail; a thread was cancelled in {places} calls in turn; "
          f"{len(problems)} problems")
    return 1 if problems or told == 0 or places == 0 else 0


sys.exit(main())
