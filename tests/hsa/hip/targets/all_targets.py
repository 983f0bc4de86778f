"""A trace with the code for all targets of a program replays on each of them, and nowhere else.

all_targets.py [--suite SUITE] [--partial BUNDLE] [--different BUNDLE] BIN PROGRAM BUNDLE TRACE LACKING TARGET...

On the null device of the software agent, which executes nothing (docs/production/targets.md): PROGRAM (fat.hip) is recorded on the first
TARGET with --all-targets, replayed on each TARGET in each mode at other addresses, and its memory compared. A replay on LACKING, for
which there is no code, and one of a trace without --all-targets on another TARGET are refused by name. --partial: a bundle for the
first TARGET only, --different: one whose kernel takes other arguments on the others; the last TARGET refuses both. SUITE: with that
suite's HIP (scripts/with-runtime).
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
MODES = ("eager", "batch", "graph", "packets")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--suite", "--partial", "--different"):
        parser.add_argument(name)
    for name in ("bin", "program", "bundle", "trace", "lacking"):
        parser.add_argument(name)
    parser.add_argument("targets", nargs="+")
    given = parser.parse_args()
    runtime = ["scripts/with-runtime", given.suite, "--hip-alone", "--"] if given.suite else []
    problems = []

    def run(device, tool, *arguments):
        done = subprocess.run([*runtime, f"{given.bin}/{tool}", *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300, check=False,
                              env=dict(os.environ, GFXGRAPH_NULL_DEVICE=device))
        return done.returncode, done.stdout

    def record(*options, bundle=given.bundle, incomplete=""):
        code, text = run(given.targets[0], "gfxgraph-record", "--device", "emulated", "--force", *options, "-o", given.trace, "--", given.program,
                         bundle)
        expected = incomplete in text if incomplete else "incomplete" not in text
        if code or not re.search(r"^ok$", text, re.M) or not expected:
            sys.exit(f"record {options} {bundle}: ended with {code}\n{text}")

    def replay(device, mode):
        return run(device, "gfxgraph-replay", given.trace, "--device", "emulated", "--mode", mode, "--layout", "shift", "--verify",
                   "--allow-incomplete")

    def refused(device, *parts):
        code, text = replay(device, "eager")
        missing = [part for part in parts if part not in text]
        if code == 0 or missing:
            problems.append(f"{device}: not refused, or without {missing}: {text.strip()}")

    def plain(target):
        return target.partition(":")[0]

    record("--all-targets")
    for target in given.targets:
        for mode in MODES:
            code, text = replay(target, mode)
            if code or not re.search(r"^buffers: (\d+) of \1 identical", text, re.M):
                problems.append(f"{target} {mode}: ended with {code}: {text.strip()}")
    refused(given.lacking, "do not run there", f"is {plain(given.lacking)}", *(plain(target) for target in given.targets))
    if given.partial:
        record("--all-targets", bundle=given.partial)
        refused(given.targets[-1], f"(fat_step) is in the trace for {plain(given.targets[0])} only", "the device is " + plain(given.targets[-1]))
    if given.different:
        record("--all-targets", bundle=given.different,
               incomplete=f"--all-targets: kernel fat_step has other arguments in the code for {plain(given.targets[-1])}")
        refused(given.targets[-1], "kernel fat_step takes ", f"in the code for {plain(given.targets[-1])}")
    record()
    if len(given.targets) > 1:
        refused(given.targets[-1], "do not run there, they are for " + plain(given.targets[0]), "--all-targets")
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


sys.exit(main())
