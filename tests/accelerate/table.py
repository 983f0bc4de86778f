"""Does accelerate/hooks/calls.inc have a rule for every function of HIP? A call without one would overtake held work.

table.py            the rows are those of the recorder's table, and every stored export of every runtime has one
table.py LIBRARY    the same for what LIBRARY, a libamdhip64, exports, and hooks exist: table.py LIBRARY PRELOAD
"""

import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def rows(file, macro):
    return re.findall(rf"^{macro}\((\w+), (\w+)", (SOURCE / file).read_text(), re.MULTILINE)


def exports(library):
    listed = subprocess.run(["nm", "--dynamic", "--defined-only", library], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines() if line.split()[-2] in "TW"}


def main():
    own = rows("accelerate/hooks/calls.inc", "GFXGRAPH_ACCELERATE_CALL")
    names = [name for _, name in own]
    problems = []
    if names != sorted(set(names)):
        problems.append("the rows are not in the order of their names, each once")
    stored = {line.split()[0] for line in (SOURCE / "tests/runtimes/hip_exports.txt").read_text().splitlines() if line[:1] != "#"}
    recorders = {name for _, name in rows("recorder/hooks/calls/hip_calls.inc", "GFXGRAPH_HIP_CALL")}
    if len(own) < 500 or len(stored) < 500 or len(recorders) < 500:
        sys.exit("a list is missing")
    for what, expected in (("stored exports", stored), ("the recorder's table", recorders)):
        problems += [f"{name} of {what} has no row" for name in sorted(expected - set(names))]
    problems += [f"{name} is no function of HIP" for name in sorted(set(names) - stored - recorders)]
    if len(sys.argv) > 1:
        problems += [f"{name} of {sys.argv[1]} has no row" for name in sorted(exports(sys.argv[1]) - set(names))]
    if len(sys.argv) > 2:
        hooked = exports(sys.argv[2])
        problems += [f"{name}: {'no hook' if rule != 'PASS' else 'a hook'}" for rule, name in own if (rule != "PASS") != (name in hooked)]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
