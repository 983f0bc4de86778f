"""Runs command-line tests: scripts, and what they must print.

    run_case.py FILE.cases NAME BUILD_TREE [--update]   one case
    run_case.py FOLDER BUILD_TREE [--update]            all cases of all files in it

A file has the cases of one command. A case is

    === name
    $ lines of a bash script; it runs in a scratch folder; $BUILD is the build tree, $SOURCE the repository
    | lines of stdout        ~ or: lines, each a shell pattern; "..." stands for any number of lines
    ! lines of stderr        ? the same for stderr
    exit 3                   the exit code, without the line 0

and ends with an empty line. A stream without lines must stay empty. --update rewrites lines with | and !, and the exit code.
"""

import difflib
import fnmatch
import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


class Case:
    def __init__(self, text):
        lines = text.rstrip("\n").split("\n")
        self.name = lines[0].removeprefix("=== ")
        self.lines = {kind: [] for kind in "$|~!?"}
        self.code = 0
        for line in lines[1:]:
            if found := re.fullmatch(r"exit (\d+)", line):
                self.code = int(found[1])
            elif line[:1] in self.lines and line[1:2] in ("", " "):
                self.lines[line[0]].append(line[2:])
            else:
                sys.exit(f"{self.name}: {line!r}: neither script nor expectation")

    def text(self):
        parts = [f"=== {self.name}"]
        for kind in "$|~!?":
            parts += [f"{kind} {line}".rstrip() if not line else f"{kind} {line}" for line in self.lines[kind]]
        return "\n".join(parts + ([f"exit {self.code}"] if self.code else [])) + "\n"


def read(file):
    return [Case("=== " + part) for part in re.split(r"^=== ", file.read_text(), flags=re.MULTILINE)[1:]]


def matches(lines, patterns):
    """Whether the lines match the patterns, "..." standing for any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(matches(lines[i:], patterns[1:]) for i in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], patterns[0]) and \
        matches(lines[1:], patterns[1:])


def compare(case, stream, text, update):
    exact, glob = ("|", "~") if stream == "stdout" else ("!", "?")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif not case.lines[glob]:
        return [f"{stream} does not end with a newline"]
    if case.lines[glob]:
        if matches(lines, case.lines[glob]):
            return []
        return [f"{stream} does not match:", *case.lines[glob], "--- got", text]
    if lines == case.lines[exact]:
        return []
    if update:
        case.lines[exact] = lines
        return []
    return [f"{stream} differs:", *difflib.unified_diff(case.lines[exact], lines, "expected", "got", lineterm="")]


def run(case, build, update):
    """What is wrong; with `update`, the case gets what the script printed instead."""
    environment = {
        "BUILD": str(build), "PATH": f"{build / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C",
        "SOURCE": str(SOURCE), "HOME": "/nonexistent"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    with tempfile.TemporaryDirectory(prefix="gfxgraph-cli-") as scratch:
        script = "\n".join(case.lines["$"]) + "\n"
        done = subprocess.run(["/bin/bash", "-euc", script], cwd=scratch, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=120)
    problems = []
    if done.returncode != case.code and not update:
        problems.append(f"exit code {done.returncode}, expected {case.code}")
    case.code = done.returncode if update else case.code
    for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        text = text.replace(scratch, "$SCRATCH").replace(str(build), "$BUILD")
        text = text.replace(str(SOURCE), "$SOURCE")
        problems += compare(case, stream, text, update)
    if problems:
        problems.append(f"--- stdout\n{done.stdout}--- stderr\n{done.stderr}")
    return problems


def needs_pages(case):
    return any(re.search(r"(?<!-)gfxgraph report|attack\.bash", line) for line in case.lines["$"])


@functools.cache
def without_pages(build):
    """cmake/GfxgraphD3.cmake"""
    return "built without D3" in subprocess.run([build / "bin/gfxgraph", "--help"], capture_output=True, text=True,
                                                check=True, env={**os.environ, "COLUMNS": "200"}).stdout


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--update"]
    update = "--update" in sys.argv
    place, build = Path(arguments[0]).resolve(), Path(arguments[-1]).resolve()
    files = sorted(place.glob("*.cases")) if place.is_dir() else [place]
    only = arguments[1] if len(arguments) == 3 else None
    failed, count, skipped = 0, 0, 0
    for file in files:
        cases = read(file)
        for case in cases:
            if only not in (None, case.name):
                continue
            count += 1
            if needs_pages(case) and without_pages(build):
                print(f"skipped {file.stem} {case.name}: it runs gfxgraph report, and {build} is built without D3")
                skipped += 1
                continue
            problems = run(case, build, update)
            failed += bool(problems)
            print(*([f"FAIL {file.stem} {case.name}"] + problems if problems else [f"ok {file.stem} {case.name}"]), sep="\n")
        if update:
            file.write_text("\n".join(case.text() for case in cases))
    if only and skipped:
        sys.exit(77)
    sys.exit("no such case" if count == 0 else failed != 0)


main()
