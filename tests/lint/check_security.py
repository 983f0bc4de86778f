#!/usr/bin/env python3
"""Each sentence of docs/security.md has a test, and each test that the page, the list and docs/testing.md name exists.

check_security.py BUILD_TREE

security_claims.txt has one line for each claim: a quote from a sentence, "|", and the tests that fail if it is not
true, or "none: " and why there is nothing to test. A sentence may have several lines; a row of a table is one sentence.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import sources

PAGE = Path("docs/security.md")
TESTING = Path("docs/testing.md")
LIST = Path("tests/lint/security_claims.txt")
BEGINS = "## Threat model"
GTEST = re.compile(r"^TEST\w*\(\s*(\w+),\s*(\w+)\)", re.M)
NAMED = re.compile(r"([A-Z]\w+)\.(\w+|\*)")
# Words of a page that look like a test of ctest.
CTEST = re.compile(r"(?:cli|e2e|format|hsa|lint|out_of_memory|recorder|replayer|sandbox)_\w+\*?")
SENTENCE_ENDS = re.compile(r"(?<=\.) (?=[A-Z`*])")
REASONS = ("advice", "definition", "limit")  # a limit: what is not guaranteed


class Tests:
    def __init__(self, build_tree):
        self.suites = {}
        for path in sources.files():
            if path.parts[0] == "tests" and path.suffix == ".cpp":
                for suite, test in GTEST.findall(sources.text(path) or ""):
                    self.suites.setdefault(suite, set()).add(test)
        listing = subprocess.run(["ctest", "--test-dir", build_tree, "--show-only=json-v1"], check=True,
                                 capture_output=True, text=True)
        self.ctests = {test["name"] for test in json.loads(listing.stdout)["tests"]}

    def has(self, name):
        if match := NAMED.fullmatch(name):
            suite, test = match.groups()
            return suite in self.suites and (test == "*" or test in self.suites[suite])
        if name.endswith("*"):
            return any(test.startswith(name[:-1]) for test in self.ctests)
        return name in self.ctests


def sentences(text):
    """Of the part that makes claims: sentences, and whole rows of tables without their heads."""
    found, words = [], []

    def end():
        found.extend(SENTENCE_ENDS.split(" ".join(words)) if words else [])
        words.clear()

    lines = text[text.index(BEGINS):].splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("|"):
            end()
            if not line.startswith("|---") and not following.startswith("|---"):
                found.append(line)
            continue
        if not line.strip() or line.startswith("#") or re.match(r"(?:-|\d+\.) ", line):
            end()
        if not line.startswith("#"):
            words += re.sub(r"^(?:-|\d+\.) ", "", line).split()
    end()
    return found


def claims(problems):
    for number, line in enumerate((sources.ROOT / LIST).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        quote, bar, tests = (part.strip() for part in line.rpartition(" | "))
        if not bar or not quote or not tests:
            problems.append(f"{LIST}:{number}: not a quote, '|' and tests")
            continue
        yield f"{LIST}:{number}", quote, tests


def main():
    tests = Tests(sys.argv[1])
    problems = []
    text = (sources.ROOT / PAGE).read_text(encoding="utf-8")
    all_sentences = sentences(text)
    covered = set()
    for where, quote, named in claims(problems):
        places = [number for number, sentence in enumerate(all_sentences) if quote in sentence]
        if len(places) != 1:
            problems.append(f"{where}: {len(places)} sentences of {PAGE} have '{quote}'")
        covered.update(places)
        if named.startswith("none: "):
            reason = named.removeprefix("none: ")
            if reason.split(",")[0] not in REASONS:
                problems.append(f"{where}: '{reason}' is none of {', '.join(REASONS)}")
            continue
        problems += [f"{where}: there is no test {name}" for name in re.split(r",\s*", named) if not tests.has(name)]
    problems += [f"{PAGE}: no line of {LIST} is about: {sentence}" for number, sentence in enumerate(all_sentences)
                 if number not in covered]
    named = 0
    for page in (PAGE, TESTING):
        for word in re.findall(r"`([^`\s]+)`", (sources.ROOT / page).read_text(encoding="utf-8")):
            if NAMED.fullmatch(word) and word.partition(".")[0] in tests.suites or CTEST.fullmatch(word):
                named += 1
                if not tests.has(word):
                    problems.append(f"{page}: there is no test {word}")
    if named < 100:
        problems.append(f"{PAGE}, {TESTING}: {named} tests were found")
    sources.finish(problems, len(all_sentences) + named)


main()
