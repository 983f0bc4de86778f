"""The commands of a wheel: each becomes the program of its name, which stands beside this file."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def _become(name: str) -> NoReturn:
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "_files", "bin", name)
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {program}: {error.strerror}")


def gfxgraph() -> NoReturn:
    _become("gfxgraph")


def record() -> NoReturn:
    _become("gfxgraph-record")


def replay() -> NoReturn:
    _become("gfxgraph-replay")
