"""The report of a pool against its contract, docs/schemas/pool.json: python3 report_schema.py PROGRAM...

PROGRAM writes a line "report:JSON". 77: python3-jsonschema is not installed.
"""

import json
import subprocess
import sys
from pathlib import Path

try:
    import jsonschema
except ImportError:
    sys.exit(77)

SOURCE = Path(__file__).resolve().parents[2]


def require(condition, message):
    if not condition:
        sys.exit(message)


def main():
    document = json.loads((SOURCE / "docs/schemas/pool.json").read_text())
    jsonschema.Draft7Validator.check_schema(document)
    done = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=250, stdin=subprocess.DEVNULL)
    lines = [line[len("report:"):] for line in done.stdout.splitlines() if line.startswith("report:{")]
    require(done.returncode == 0 and len(lines) == 1, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    report = json.loads(lines[0])
    wrong = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
             for error in jsonschema.Draft7Validator(document).iter_errors(report)]
    require(not wrong, "\n".join(wrong))
    # What tests/production/safety.hip ran: 3, 2 and 33 rows, each compared but for the captures.
    require(report["pool"] == 'a "pool"\n' and report["safety"] == "shadow" and report["clean"], lines[0])
    small, middle, large = report["buckets"]
    require([bucket["size"] for bucket in report["buckets"]] == [4, 16, 40], "sizes")
    require(small["runs"]["capture"] == 1 and small["runs"]["graph"] == 1 and small["validations"]["equal"] == 1, lines[0])
    require(small["rows"] == 5 and small["digested_runs"] == 2 and large["digested_runs"] == 1, lines[0])
    require(middle["sequence"] is None and middle["digest"] is None and middle["way"] == "capture", lines[0])
    require(small["code"] == large["code"] and small["sequence"] != large["sequence"], lines[0])


main()
