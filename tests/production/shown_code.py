"""Each block of C++ in docs/production.md is in one of the samples that it names, as it is shown, but for its indentation."""

import re
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def lines_of(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


def main():
    shown = re.findall(r"^```cpp\n(.*?)^```$", (SOURCE / "docs" / "production.md").read_text(), re.MULTILINE | re.DOTALL)
    samples = [(SOURCE / "samples" / name / f"{name}.hip").read_text().splitlines() for name in ("buckets", "decode_pool")]
    missing = []
    for block in shown:
        wanted = lines_of(block)
        if not any(lines_of("\n".join(sample[i:i + len(wanted)])) == wanted for sample in samples for i in range(len(sample))):
            missing.append(block)
    if not shown or missing:
        print(f"{len(shown)} blocks in docs/production.md; not in the samples:", *missing, sep="\n")
    return 0 if shown and not missing else 1


sys.exit(main())
