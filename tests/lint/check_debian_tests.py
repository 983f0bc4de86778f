#!/usr/bin/env python3
"""docs/results/debian-tests.md is what scripts/experiments/debian-tests --document writes from the records beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/experiments"))
import debian_tests_document as document

if document.DOCUMENT.read_text() != document.text(document.stored()):
    sys.exit(f"{document.DOCUMENT.name} is stale: scripts/experiments/debian-tests --document writes it anew")
