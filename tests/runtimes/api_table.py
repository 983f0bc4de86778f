"""api_table.py HEADER: does recorder/hooks/runtime/api_table.inc have the entries of HIP's table of functions, in its order?

HEADER: hip_api_trace.hpp of a HIP of 6.2 or newer. The table only grows at its end.
"""

import re
import sys
from pathlib import Path

ROWS = Path(__file__).parents[2] / "recorder/hooks/runtime/api_table.inc"


def main():
    ours = re.findall(r"^GFXGRAPH_HIP_ENTRY\((\w+)\)$", ROWS.read_text(), re.MULTILINE)
    table = re.search(r"struct HipDispatchTable \{(.*?)\n\};", Path(sys.argv[1]).read_text(), re.DOTALL)
    theirs = re.findall(r"\b(\w+)_fn;", table[1]) if table else []
    for number, (own, other) in enumerate(zip(ours, theirs)):
        if own != other:
            print(f"entry {number}: {own}, and {other} in {sys.argv[1]}")
            return 1
    print(f"{len(theirs)} entries in {sys.argv[1]}, {len(ours)} rows")
    return 0 if 400 < len(theirs) <= len(ours) else 1


sys.exit(main())
