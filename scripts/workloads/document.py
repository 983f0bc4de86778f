"""docs/workloads.md from docs/workloads.json, one row for each program and runtime."""

import json

from workload import REPOSITORY

DOCUMENT = REPOSITORY / "docs/workloads.md"
RECORDS = DOCUMENT.with_suffix(".json")

HEAD = """# Programs, recorded and replayed

Written by `scripts/workloads/all --document` from its own runs (`workloads.json`); do not edit. No AMD GPU was used: the programs run on
Debian's HIP runtime of the version in the second column, on the software agent. Seconds are those of the host.

*Result* compares the program, while it is not recorded, with something independent: the CPU backend of llama.cpp, or the host's own
computation in a sample. *Replays* are in eager, batch and graph mode, each at the recorded and at shifted addresses; all buffers and all
copies to the host are compared. *Check* is `gfxgraph check` (errors, warnings, launches that were not checked). A *period* is a stretch that
the program repeats, found without markers; what a trace takes for each is its size divided by them.

"""

# Of findings that were looked at, by class and a part of the kernel's name.
EXPLAINED = {
    ("S2", "topk_moe_cuda"): "waves whose rows lie past the last one end before a barrier that the others pass. RDNA2 counts only the waves that are "
                             "left, so the result is right there. No other GPU was looked at.",
}

COLUMNS = ("program", "HIP", "launches", "kernels", "result", "complete", "replays", "check", "s bare", "s recorded", "trace", "per period")


def is_good(row):
    return "broken" not in row and row["complete"] and all(text == "identical" for text in row["replays"].values())


def size(count):
    return f"{count / 1024:.0f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def replays(row):
    other = {name: text for name, text in row["replays"].items() if text != "identical"}
    if not other:
        return "6 identical"
    return "; ".join(f"{name}: {text}" for name, text in other.items())


def check(row):
    found = row.get("check")
    return "not run" if found is None else "{errors}, {warnings}, {not_checked_count}".format(**found)


def cells(row):
    if "broken" in row:
        return [row["program"], row["runtime"], "", "", row["broken"], *[""] * (len(COLUMNS) - 5)]
    complete = "yes" if row["complete"] else "no: " + ", ".join(row["notes"])
    period = size(row["bytes"] / row["iterations"]) if row["iterations"] else ""
    return [row["program"], row["runtime"], f"{row['launches']}", f"{row['kernels']}", row["result"], complete, replays(row), check(row),
            f"{row['seconds']:.1f}", f"{row['seconds_recorded']:.1f}", size(row["bytes"]), period]


def line(row):
    return " | ".join(cell for cell in cells(row) if cell)


def stored():
    """By program and runtime."""
    if not RECORDS.exists():
        return {}
    return {(row["program"], row["runtime"]): row for row in map(json.loads, RECORDS.read_text(encoding="utf-8").splitlines())}


def text(records):
    table = [COLUMNS, ["---"] * len(COLUMNS), *(cells(row) for row in ordered(records))]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in table]
    found = [f"- {row['program']} ({row['runtime']}): {one}: {explained(one)}\n" for row in ordered(records)
             for one in (row.get("check") or {}).get("named", [])]
    return HEAD + "".join(lines) + ("\n## What the check found\n\n" + "".join(found) if found else "")


def explained(finding):
    return next((why for (kind, kernel), why in EXPLAINED.items() if finding.startswith(kind) and kernel in finding), "not looked at")


def ordered(records):
    return sorted(records.values(), key=lambda row: (row["group"], row["program"], row["runtime"]))


def take(rows):
    """Into the records: what was there of other programs stays."""
    records = stored() | {(row["program"], row["runtime"]): row for row in rows}
    RECORDS.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in ordered(records)), encoding="utf-8")
    DOCUMENT.write_text(text(records), encoding="utf-8")
