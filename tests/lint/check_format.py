"""clang-format over all sources. --fix rewrites them."""

import shutil
import subprocess
import sys

import sources


def main():
    program = shutil.which("clang-format-19") or shutil.which("clang-format")
    if program is None:
        sys.exit("clang-format-19 is not installed: run scripts/setup")
    # Line numbers of kernels are part of what some tests expect: those files stay as they are.
    names = [str(path) for path in sources.files() if path.suffix in sources.CODE
             and not (path.suffix == ".hip" and path.parts[0] == "tests")]
    if "--fix" in sys.argv:
        subprocess.run([program, "-i", *names], cwd=sources.ROOT, check=True)
        return
    run = subprocess.run([program, "--dry-run", "-Werror", *names], cwd=sources.ROOT,
                         capture_output=True, text=True)
    bad = {line.split(":")[0] for line in run.stderr.splitlines() if "-Wclang-format" in line}
    problems = [f"{name}: not formatted (tests/lint/check_format.py --fix)" for name in sorted(bad)]
    if run.returncode != 0 and not problems:
        problems = [run.stderr]
    sources.finish(problems, len(names))


main()
