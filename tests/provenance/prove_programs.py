#!/usr/bin/env python3
"""Records programs of generate.py and compares what gfxgraph provenance says with what they print.

prove_programs.py BUILD PROGRAM CASES           cases of a compiled program
prove_programs.py BUILD --generate N [--seed S] N cases of new programs, 10 each, all 10 in one process and one
                                                trace; where that has a wrong verdict, each alone, too

Every word that a kernel follows must be proven, and so must the bounds of ranges that it compares
with such a word; none that is data may be. No bound may be taken for data. Replays at another layout and over poisoned memory, as proven, must end with the
recorded bytes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
CASES_PER_PROGRAM = 10


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def problems_of(truth, words):
    """What is wrong with the verdicts of one trace."""
    found = []
    proven = set()
    for word in words:
        kinds = truth.get(word["value"], set())
        verdict = word["verdict"]
        if verdict == "proven":
            proven.add(word["value"])
        if "D" in kinds and len(kinds) == 1 and verdict == "proven":
            found.append(f"data is proven: {word}")
        # The program may hold the same pointer where no kernel looks.
        if kinds == {"P"} and verdict in ("data", "unclear"):
            found.append(f"a pointer is not proven: {word}")
        if kinds & set("BE") and verdict == "data":
            found.append(f"a bound of a range is data: {word}")
        if kinds == {"B"} and verdict == "unclear":
            found.append(f"a bound of a range is unclear: {word}")
        if kinds == {"U"} and verdict == "proven":
            found.append(f"a pointer that nobody follows is proven: {word}")
    for value, kinds in truth.items():
        if kinds & set("PB") and "E" not in kinds and value not in proven:
            found.append(f"no word with the pointer {value} is proven")
    return found


def prove(build, program, first, end, folder, totals):
    """The cases from the first one to the one before the end, in one process."""
    trace = folder / f"{program.name}-{first}-{end}.gfxg"
    recorded = run(
        [build / "bin/gfxgraph-record", "--device", "emulated", "--force", "-o", trace, "--", program, first, end]
    )
    if recorded.returncode != 0:
        return [f"recording: {recorded.stderr}"]
    truth = {}
    for line in recorded.stdout.splitlines():
        kind, value = line.split()
        truth.setdefault(value, set()).add(kind)
    looked = run([build / "bin/gfxgraph", "provenance", trace, "--list", "--write", "--format", "json"])
    if looked.returncode != 0:
        return [f"provenance: exit code {looked.returncode}: {looked.stdout[-2000:]}{looked.stderr}"]
    report = json.loads(looked.stdout)
    for name in ("words", "proven", "compared", "data", "never_read", "unclear"):
        totals[name] = totals.get(name, 0) + report[name]
    reasons = totals.setdefault("reasons", {})
    for reason, words in report["reasons"].items():
        reasons[reason] = reasons.get(reason, 0) + words
    found = problems_of(truth, report.get("list", []))
    if report["untraced_instructions"] != 0:
        found.append(f"{report['untraced_instructions']} instructions access memory at an address that comes from no word")
    for options in (["--layout", "shift"], ["--fresh", "poison", "--layout", "shift"]):
        replayed = run(
            [build / "bin/gfxgraph-replay", trace, "--device", "emulated", "--mode", "eager"]
            + ["--pointers", "proven", "--verify", *options]
        )
        if replayed.returncode != 0:
            found.append(f"replay {options}: exit code {replayed.returncode}: {replayed.stdout}{replayed.stderr}")
    if not found:
        trace.unlink()
    return found


def generate(seed, cases, folder):
    source = folder / f"program{seed}.hip"
    text = run([sys.executable, HERE / "generate.py", seed, cases], check=True).stdout
    source.write_text(text)
    program = folder / f"program{seed}"
    level = ("-O1", "-O2", "-O3")[seed % 3]
    made = run(
        ["hipcc", "-std=c++17", level, "--offload-arch=gfx1030", f"-I{HERE}", source, "-o", program]
    )
    if made.returncode != 0:
        sys.exit(made.stderr)
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path, nargs="?")
    parser.add_argument("cases", type=int, nargs="?", default=1)
    parser.add_argument("--generate", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ.pop("GFXGRAPH_ISA", None)
    totals, failed, done = {}, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = []
        if arguments.generate:
            count = (arguments.generate + CASES_PER_PROGRAM - 1) // CASES_PER_PROGRAM
            programs = [(None, arguments.seed + n, CASES_PER_PROGRAM) for n in range(count)]
        else:
            programs = [(arguments.program.resolve(), 0, arguments.cases)]
        for program, seed, cases in programs:
            if program is None:
                program = generate(seed, cases, folder)
            alone = not arguments.generate
            if not alone:
                found = prove(arguments.build.resolve(), program, 0, cases, folder, totals)
                for line in found[:10]:
                    print(f"{program.name}: {line}")
                done += cases
                failed += 1 if found else 0
            for case in range(cases) if alone or found else ():
                found = prove(arguments.build.resolve(), program, case, case + 1, folder, totals if alone else {})
                done += 1 if alone else 0
                failed += 1 if found and alone else 0
                for line in found[:10]:
                    print(f"{program.name} case {case}: {line}")
    print(f"{done} programs, {failed} traces with a wrong verdict; {totals}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
