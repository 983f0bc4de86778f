"""The repository's own files, for the lints beside this file."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = {".h", ".hpp", ".cpp", ".c", ".hip", ".inl"}


def files():
    """Every file of the repository that git does not ignore, relative to its root."""
    try:
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True).stdout.decode()
        names = [name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # a source archive
        names = []
        for folder, folders, found in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in (".git", "build", ".cache")]
            names += [str((Path(folder) / name).relative_to(ROOT)) for name in found]
    return sorted(Path(name) for name in set(names) if (ROOT / name).is_file())


def text(path):
    """The file's text, or None for a binary file."""
    data = (ROOT / path).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def is_shell(path):
    content = text(path)
    return content is not None and (path.suffix == ".sh" or content.startswith(("#!/bin/bash", "#!/bin/sh")))


def finish(problems, checked):
    """Prints the problems and leaves with the lint's exit code."""
    for problem in problems:
        print(problem)
    if checked == 0:
        print("nothing was checked: the file list is empty")
    print(f"{checked} checked, {len(problems)} problems")
    sys.exit(1 if problems or checked == 0 else 0)
