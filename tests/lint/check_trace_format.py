"""docs/format.md has a heading for each event of format/trace.fbs, and for nothing else."""

import re
import sources

UNION = re.compile(r"^union Action \{(.*?)\}", re.DOTALL | re.MULTILINE)
EVENTS = re.compile(r"^## Events$(.*?)^## ", re.DOTALL | re.MULTILINE)


def main():
    schema = (sources.ROOT / "format/trace.fbs").read_text(encoding="utf-8")
    page = (sources.ROOT / "docs/format.md").read_text(encoding="utf-8")
    members = [name.strip() for name in UNION.search(schema)[1].split(",")]
    headings = [name for line in re.findall(r"^### (.+)$", EVENTS.search(page)[1], re.MULTILINE)
                for name in line.split(" and ")]
    problems = [f"docs/format.md: {name}: no heading under Events" for name in members if name not in headings]
    problems += [f"docs/format.md: {name}: no event of format/trace.fbs" for name in headings if name not in members]
    sources.finish(problems, len(members))


main()
