"""The walks of docs/architecture.md: each file has the function, and an earlier file of the walk calls it."""

import pathlib
import re

import sources

PAGE = pathlib.Path("docs/architecture.md")
ROW = re.compile(r"^\| `([\w/.]+)` \| `(\w+)` \|(.*)\|$")
# Where a walk goes on without a call: what a program calls, and where a thread begins.
ENTRY = re.compile(r"gfxgraph_\w+")
BEGINS = "begins here"


def names(text, function):
    return re.search(rf"\b{function}\s*(?:<[^;<>]*>)?\(", text) is not None


def problems_of(title, rows):
    found, earlier = [], []
    for number, (file, function, remark) in enumerate(rows):
        where = f"{PAGE}: {title}: {file}"
        if not (sources.ROOT / file).is_file():
            found.append(f"{where}: no such file")
            continue
        text = (sources.ROOT / file).read_text(encoding="utf-8")
        if not names(text, function):
            found.append(f"{where}: no {function}()")
        begins = number == 0 or ENTRY.fullmatch(function) or BEGINS in remark
        if not begins and not any(names(other, function) for other in earlier):
            found.append(f"{where}: no file before it calls {function}()")
        earlier.append(text)
    return found


def main():
    walks = re.split(r"^### Walk: (.+)$", (sources.ROOT / PAGE).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    problems, checked = [], 0
    for title, text in zip(walks[::2], walks[1::2]):
        rows = []
        for line in re.split(r"^#", text, flags=re.MULTILINE)[0].splitlines():
            if match := ROW.match(line):
                rows.append(match.groups())
        checked += len(rows)
        if len(rows) < 5:
            problems.append(f"{PAGE}: {title}: {len(rows)} rows")
        problems += problems_of(title, rows)
    if len(walks) != 6:
        problems.append(f"{PAGE}: {len(walks) // 2} walks instead of 3")
    sources.finish(problems, checked)


main()
