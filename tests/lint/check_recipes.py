"""CONTRIBUTING.md's recipes: at most five steps each, files that exist, and no more of the product's than promised."""

import fnmatch
import re
import sources

MAX_STEPS = 5
PRODUCT = {"base", "capture", "check", "codeobj", "emulator", "format", "hsa", "include", "order", "pointers", "recorder", "replayer", "tools"}
# Files of the product that a recipe may name; a pattern counts as one: it stands for the file of a family.
MAX_FILES = {"Add a HIP call": 5, "Add a record type or field": 5, "Add an instruction": 3,
             "Add a test of the command line": 0, "Add a finding of gfxgraph check": 2,
             "Let the capture layer answer another HIP call": 2}
# Placeholders, and what a build makes.
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|^build/")


def main():
    text = (sources.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = [str(path) for path in sources.files()]
    folders = {name.split("/")[0] for name in files if "/" in name}
    problems, checked = [], 0
    recipes = re.split(r"^### (.+)$", text[text.index("## Recipes"):], flags=re.MULTILINE)[1:]
    for title, body in zip(recipes[::2], recipes[1::2]):
        body = re.split(r"^## ", body, flags=re.MULTILINE)[0]
        steps = len(re.findall(r"^\d+\. ", body, re.MULTILINE))
        if steps > MAX_STEPS:
            problems.append(f"{title}: {steps} steps, at most {MAX_STEPS}")
        named, last = set(), ""
        for word in re.findall(r"`([^`\s]+)`", body):
            if "/" not in word and "." in word and last:
                word = last.rsplit("/", 1)[0] + "/" + word  # `a/b.cpp`, `c.cpp`
            if word.split("/")[0] not in folders or "/" not in word or PLACEHOLDER.search(word):
                continue
            checked += 1
            if word.endswith("/"):
                if not any(name.startswith(word) for name in files):
                    problems.append(f"{title}: no folder {word}")
                continue
            last = word
            if not fnmatch.filter(files, word):
                problems.append(f"{title}: no file {word}")
            if word.split("/")[0] in PRODUCT:
                named.add(word)
        if title not in MAX_FILES:
            problems.append(f"{title}: no row in MAX_FILES")
        elif len(named) > MAX_FILES[title]:
            problems.append(f"{title}: names {len(named)} files of the product, at most {MAX_FILES[title]}: "
                            f"{', '.join(sorted(named))}")
    problems += [f"{title}: no such recipe" for title in MAX_FILES if title not in recipes]
    sources.finish(problems, checked)


main()
