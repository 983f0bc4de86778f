"""The reports of gfxgraph check against their schemas.

report_schemas.py CHECK_TEST

Runs the tests that find errors in kernels, and validates the JSON and the SARIF of each report: docs/schemas/check.json is the
contract of the JSON; sarif.schema.json is written from the text of SARIF 2.1.0, because no Debian package has the schema that
OASIS publishes. 77: python3-jsonschema is not installed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import jsonschema
except ImportError:
    sys.exit(77)

SOURCE = Path(__file__).resolve().parents[2]
FEWEST_REPORTS = 100


def validator(path):
    schema = json.loads((SOURCE / path).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def problems(schema, document):
    for error in schema.iter_errors(document):
        best = jsonschema.exceptions.best_match([error])
        yield f"{'/'.join(str(part) for part in best.absolute_path)}: {best.message[:300]}"


def check_rules(document):
    """What no schema can express: each result has the rule that it points to."""
    for run in document["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            if rules[result["ruleIndex"]] != result["ruleId"]:
                yield f"rule {result['ruleIndex']} is not {result['ruleId']}"


def main():
    report = validator("docs/schemas/check.json")
    sarif = validator("tests/check/sarif.schema.json")
    seen = set()
    count = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "--gtest_filter=*Truth*:Report.*:MaskedLane*:Executed.*", "--gtest_brief=1"], check=True,
                       env={**os.environ, "GFXGRAPH_REPORT_FOLDER": folder}, stdout=subprocess.DEVNULL)
        for path in sorted(Path(folder).iterdir()):
            document = json.loads(path.read_text())
            count += 1
            if path.suffix == ".sarif":
                found = [*problems(sarif, document), *check_rules(document)]
                seen |= {name for run in document["runs"] for result in run["results"] for name in result}
            else:
                found = list(problems(report, document))
                for one in document.get("traces", [document]):
                    seen |= {name for finding in one.get("findings", []) for name in finding}
                    seen |= {line["role"] for finding in one.get("findings", []) for line in finding["disassembly"] if "role" in line}
            wrong += [f"{path.name}: {problem}" for problem in found]
    if wrong:
        sys.exit("\n".join(wrong[:20]))
    if count < 2 * FEWEST_REPORTS:
        sys.exit(f"only {count} files")
    # A schema allows optional members; that they are ever written is checked here.
    missing = {"source", "inline_stack", "disassembly", "nearest", "suppressed_by", "stacks", "suppressions", "finding", "address"} - seen
    if missing:
        sys.exit(f"no report has {sorted(missing)}")
    print(f"{count} files")


if __name__ == "__main__":
    main()
