"""Each block of C++ in docs/production.md is in samples/buckets as it is shown, but for its indentation."""

import re
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def lines_of(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


def main():
    shown = re.findall(r"^```cpp\n(.*?)^```$", (SOURCE / "docs" / "production.md").read_text(), re.MULTILINE | re.DOTALL)
    sample = (SOURCE / "samples" / "buckets" / "buckets.hip").read_text().splitlines()
    missing = []
    for block in shown:
        wanted = lines_of(block)
        if not any(lines_of("\n".join(sample[i:i + len(wanted)])) == wanted for i in range(len(sample))):
            missing.append(block)
    if not shown or missing:
        print(f"{len(shown)} blocks in docs/production.md; not in samples/buckets/buckets.hip:", *missing, sep="\n")
    return 0 if shown and not missing else 1


sys.exit(main())
