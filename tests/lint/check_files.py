"""Length of source files, files in a folder, white space, notes to self and paths of the machine at hand."""

import collections
import re
import sources

MAX_LINES = 700
MAX_FILES = 25  # beside its subfolders
MORE_FILES = {"tests/golden"}  # pairs of a trace and its text
# Generated or tabular files may be longer; a text of others is left as it is.
LENGTH_EXEMPT = {".inc", ".md", ".csv", ".fbs", ".json", ".txt"}
FOREIGN_TEXT = {"LICENSE"}
PATHS = re.compile(r"(?<![\w.])/(?:work|home|Users)/\w")
NOTE = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")


def main():
    problems, checked = [], 0
    folders = collections.Counter(str(path.parent) for path in sources.files())
    for folder, count in sorted(folders.items()):
        if count > MAX_FILES and folder not in MORE_FILES:
            problems.append(f"{folder}/: {count} files, at most {MAX_FILES}: make rooms")
    for path in sources.files():
        text = sources.text(path)
        if text is None or path.name in FOREIGN_TEXT or "corpus" in path.parts:
            continue
        checked += 1
        lines = text.split("\n")
        if len(lines) > MAX_LINES and path.suffix not in LENGTH_EXEMPT:
            problems.append(f"{path}: {len(lines)} lines, at most {MAX_LINES}: split it by topic")
        if text and not text.endswith("\n") and ".exact" not in path.suffixes:
            problems.append(f"{path}: no newline at the end")
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}"
            if line != line.rstrip():
                problems.append(f"{where}: white space at the end of the line")
            if path.suffix in sources.CODE and "\t" in line:
                problems.append(f"{where}: tab")
            if PATHS.search(line):
                problems.append(f"{where}: path of a particular machine")
            if NOTE.search(line) and path.parts[:2] != ("tests", "lint"):
                problems.append(f"{where}: a note to self belongs in the issue tracker")
    sources.finish(problems, checked)


main()
