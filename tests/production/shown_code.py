"""shown_code.py [PAGE SAMPLE...]: each block of C++ of the page is in one of the samples as it is shown, but for its indentation.

Without arguments: docs/production.md and its samples.
"""

import re
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def lines_of(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


def main():
    page, *names = sys.argv[1:] or ("docs/production.md", "buckets", "decode_pool")
    shown = re.findall(r"^```cpp\n(.*?)^```$", (SOURCE / page).read_text(), re.MULTILINE | re.DOTALL)
    samples = [(SOURCE / "samples" / name / f"{name}.hip").read_text().splitlines() for name in names]
    missing = []
    for block in shown:
        wanted = lines_of(block)
        if not any(lines_of("\n".join(sample[i:i + len(wanted)])) == wanted for sample in samples for i in range(len(sample))):
            missing.append(block)
    if not shown or missing:
        print(f"{len(shown)} blocks in {page}; not in the samples:", *missing, sep="\n")
    return 0 if shown and not missing else 1


sys.exit(main())
