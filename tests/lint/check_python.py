"""The Python package passes mypy --strict and ruff, in the versions below. Exit 77: they cannot be had from PyPI."""

import subprocess
import sys
import venv
from pathlib import Path

TOOLS = ["mypy==1.13.0", "ruff==0.8.0", "pytest==8.3.4", "pytest-xdist==3.6.1"]
ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77


def environment():
    folder = ROOT / "build" / "python-lint"
    made = folder / "tools"
    if not made.exists() or made.read_text() != " ".join(TOOLS):
        venv.create(folder, clear=True, with_pip=True)
        done = subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS],
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            print(f"skipped: {' '.join(TOOLS)} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
            sys.exit(SKIPPED)
        made.write_text(" ".join(TOOLS))
    return folder / "bin"


def main():
    tools = environment()
    failed = False
    for command in ([tools / "mypy"], [tools / "ruff", "check", "replayer/python"]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
