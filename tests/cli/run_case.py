"""Runs one command-line test: a shell script beside files with what it must print.

    case.sh             the script; it runs in a scratch folder; $BUILD is the build tree, $SOURCE the
                        repository
    case.exit           exit code (default 0)
    case.stdout.exact   what stdout must be
    case.stdout.glob    or: lines, each a shell pattern; "..." stands for any number of lines
    case.stderr.*       the same for stderr

Without an expectation a stream must stay empty. --update rewrites the .exact and .exit files.
"""

import difflib
import fnmatch
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def matches(lines, patterns):
    """Whether the lines match the patterns, "..." standing for any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(matches(lines[i:], patterns[1:]) for i in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], patterns[0]) and \
        matches(lines[1:], patterns[1:])


def compare(case, stream, text, update):
    exact, glob = (case.with_suffix(f".{stream}.{kind}") for kind in ("exact", "glob"))
    if glob.exists():
        if matches(text.splitlines(), glob.read_text().splitlines()):
            return []
        return [f"{stream} does not match {glob.name}:", glob.read_text(), "--- got", text]
    expected = exact.read_text() if exact.exists() else ""
    if text == expected:
        return []
    if update:
        exact.write_text(text)
        return []
    return [f"{stream} differs:", *difflib.unified_diff(expected.splitlines(), text.splitlines(),
                                                        "expected", "got", lineterm="")]


def main():
    update = "--update" in sys.argv
    case, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    environment = {
        "BUILD": str(build), "PATH": f"{build / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C",
        "SOURCE": str(SOURCE), "HOME": "/nonexistent"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    with tempfile.TemporaryDirectory(prefix="gfxgraph-cli-") as scratch:
        done = subprocess.run(["/bin/bash", "-eu", str(case)], cwd=scratch, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=120)
        code = case.with_suffix(".exit")
        expected = int(code.read_text()) if code.exists() else 0
        problems = []
        if done.returncode != expected:
            if update:
                code.write_text(f"{done.returncode}\n")
            else:
                problems.append(f"exit code {done.returncode}, expected {expected}")
        for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
            text = text.replace(scratch, "$SCRATCH").replace(str(build), "$BUILD")
            text = text.replace(str(SOURCE), "$SOURCE")
            problems += compare(case, stream, text, update)
    if problems:
        print(f"FAIL {case.name}", *problems, sep="\n")
        print(f"--- stdout\n{done.stdout}--- stderr\n{done.stderr}")
        sys.exit(1)
    print(f"ok {case.name}")


main()
