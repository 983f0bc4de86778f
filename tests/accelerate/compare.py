"""Programs bare and with gfxgraph accelerate: what they print and how they end must be the same.

compare.py BUILD_TREE [--holds] [--runs N] [--random FIRST COUNT] -- PROGRAM ARGS...

Each program runs once bare and once for each way: measured, and graph, which makes a graph of everything that repeats.
--holds: with the way graph something must have been held. --random: PROGRAM with each of these seeds as its argument.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = ("graph", "measured")


def run(tree, command, way=None, report=None):
    """Exit status and output; with a way also the report, if there is one."""
    library = f"{tree}/lib/gfxgraph"
    environment = {**os.environ, "LD_LIBRARY_PATH": library, "LD_PRELOAD": f"{library}/libgfxgraph-hip-errors.so"}
    if way is not None:
        environment["LD_PRELOAD"] = f"{library}/libgfxgraph-accelerate.so:" + environment["LD_PRELOAD"]
        environment |= {"GFXGRAPH_ACCELERATE_WAY": way, "GFXGRAPH_ACCELERATE_QUIET": "1", "GFXGRAPH_ACCELERATE_JSON": report}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def compare(tree, command, holds=False):
    """Problems as text, and how many launches were held."""
    problems, held = [], 0
    bare = run(tree, command)
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            report = Path(folder) / f"{way}.json"
            done = run(tree, command, way, str(report))
            if done[:2] != bare[:2]:
                problems.append(f"{' '.join(command)}: {way}: ended with {done[0]} instead of {bare[0]}\n"
                                f"bare: {bare[1][-600:]!r}\n{way}: {done[1][-600:]!r} {done[2][-600:]!r}")
            counted = json.loads(report.read_text())["held"] if report.exists() else 0
            held += counted
            if holds and way == "graph" and counted == 0:
                problems.append(f"{' '.join(command)}: nothing was held: {done[2][-600:]!r}")
    return problems, held


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree")
    parser.add_argument("--holds", action="store_true")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--random", nargs=2, type=int, metavar=("FIRST", "COUNT"))
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    tree = Path(options.tree).resolve()
    commands = [options.command] * options.runs
    if options.random:
        first, count = options.random
        commands = [[*options.command, str(seed)] for seed in range(first, first + count)]
    problems, held = [], 0
    for command in commands:
        found, more = compare(tree, command, options.holds)
        problems += found
        held += more
    print("\n".join(problems[:5]))
    print(f"{len(commands)} programs, {held} launches held, {len(problems)} problems")
    sys.exit(1 if problems or (options.random and held == 0) else 0)


if __name__ == "__main__":
    main()
