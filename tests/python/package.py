"""The Python package, of the source tree, over the library of a build tree."""

import importlib
import os
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e"))


def environment(build):
    return {"GFXGRAPH_LIBRARY": str(build.root / "lib" / "libgfxgraph.so.0.2"),
            "PYTHONPATH": os.path.join(SOURCE, "replayer", "python")}


def load(build):
    os.environ["GFXGRAPH_LIBRARY"] = environment(build)["GFXGRAPH_LIBRARY"]
    sys.path.insert(0, os.path.join(SOURCE, "replayer", "python"))
    return importlib.import_module("gfxgraph")
