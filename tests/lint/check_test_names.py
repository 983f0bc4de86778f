#!/usr/bin/env python3
"""Tests that docs/security.md names exist: `Suite.Test` and `Suite.*` of GoogleTest, and tests of ctest.

check_test_names.py BUILD_TREE
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/security.md"
SUITE = re.compile(r"^(?:TEST|TEST_F|TEST_P)\((\w+), (\w+)\)", re.M)
# Words of the page that look like a test of ctest.
CTEST = re.compile(r"^(?:cli|e2e|format|hsa|out_of_memory|recorder|replayer|sandbox)_\w+\*?$")

suites = {}
for source in (ROOT / "tests").rglob("*.cpp"):
    for suite, test in SUITE.findall(source.read_text(errors="replace")):
        suites.setdefault(suite, set()).add(test)
    # A macro or clang-format may have put them on two lines.
    for suite, test in re.findall(r"^TEST\w*\((\w+),\n\s+(\w+)\)", source.read_text(errors="replace"), re.M):
        suites.setdefault(suite, set()).add(test)
listing = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], check=True, capture_output=True, text=True)
ctests = {test["name"] for test in json.loads(listing.stdout)["tests"]}
every = {test for tests in suites.values() for test in tests}

missing = []
named = 0
for line in PAGE.read_text().splitlines():
    for word in re.findall(r"`([^`\s]+)`", line):
        if match := re.fullmatch(r"([A-Z]\w+)\.(\w+|\*)", word):
            named += 1
            suite, test = match.groups()
            if suite not in suites or (test != "*" and test not in suites[suite]):
                missing.append(word)
        elif CTEST.match(word):
            named += 1
            if not any(name == word or (word.endswith("*") and name.startswith(word[:-1])) for name in ctests):
                missing.append(word)
        elif re.fullmatch(r"A?[A-Z][a-z]+(?:[A-Z][A-Za-z0-9]*){2,}", word):  # its suite stands in the table's head
            named += 1
            if word not in every:
                missing.append(word)
if missing or named < 100:
    sys.exit(f"{PAGE.name} names {named} tests, of which do not exist: {', '.join(missing)}")
