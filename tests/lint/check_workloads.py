#!/usr/bin/env python3
"""docs/results/workloads.md and python.md are what scripts/workloads/all and wheels/all --document write from the records beside them, and explain
each finding of the check; docs/production/without-a-gpu.md is what the latter writes from its tables."""

import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts/workloads"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "wheels")]
import document
import python_document
import without_a_gpu

if document.DOCUMENT.read_text() != document.text(document.stored()):
    sys.exit(f"{document.DOCUMENT.name} is stale: scripts/workloads/all --document writes it anew")
for row in document.stored().values():
    for complaint in document.complaints(row):
        sys.exit(f"{document.RECORDS.name}: {row['program']} ({row['runtime']}): not explained: {complaint}")

for page, text in ((python_document.DOCUMENT, python_document.text(python_document.stored())), (without_a_gpu.DOCUMENT, without_a_gpu.text())):
    if page.read_text() != text:
        sys.exit(f"{page.name} is stale: scripts/workloads/wheels/all --document writes it anew")
for row in python_document.stored().values():
    if not python_document.is_good(row):
        sys.exit(f"{python_document.RECORDS.name}: {row['program']}: {python_document.line(row)}")
