"""Each HIP program is in tests/e2e/replayed_programs.txt: its recording must replay identically, or there is a reason."""

import re

import sources

LIST = sources.ROOT / "tests" / "e2e" / "replayed_programs.txt"
FOLDERS = ("samples/", "tests/capture/", "tests/e2e/", "tests/flow/", "tests/hsa/hip/", "tests/libraries/", "tests/production/", "tests/recorder/", "tests/replayer/", "tests/runtimes/")


def main():
    lines = [line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    problems = [f"{LIST.name}: {' '.join(line)}: begins with none of check, all, fromV, never, alone, faults, or gives no reason" for line in lines
                if line[0] not in ("check", "all", "never", "alone", "faults") and not re.fullmatch(r"from\d+\.\d+", line[0]) or line[0] == "never" and len(line) < 3]
    never = {line[1] for line in lines if line[0] == "never"}
    problems += [f"{LIST.name}: {' '.join(line)}: without a line of {line[1]} that says why it is never recorded" for line in lines
                 if line[0] in ("alone", "faults") and line[1] not in never]
    listed = {line[1] for line in lines}
    there = {str(path) for path in sources.files() if path.suffix == ".hip" and str(path).startswith(FOLDERS)}
    problems += [f"{name} is not in {LIST.name}: must its recording replay identically?" for name in sorted(there - listed)]
    problems += [f"{LIST.name}: there is no {name}" for name in sorted(listed - there)]
    sources.finish(problems, len(there))


main()
