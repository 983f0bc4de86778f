#!/usr/bin/env python3
"""docs/results/workloads.md is what scripts/workloads/all --document writes from the records beside it, and explains each finding of the check."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/workloads"))
import document

if document.DOCUMENT.read_text() != document.text(document.stored()):
    sys.exit(f"{document.DOCUMENT.name} is stale: scripts/workloads/all --document writes it anew")
for row in document.stored().values():
    for complaint in document.complaints(row):
        sys.exit(f"{document.RECORDS.name}: {row['program']} ({row['runtime']}): not explained: {complaint}")
