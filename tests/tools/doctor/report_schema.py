"""The JSON of gfxgraph doctor against its contract, docs/schemas/doctor.json: python3 report_schema.py BUILD_TREE

On the software agent with two devices, where all is well; and with a runtime that cannot be loaded. 77: python3-jsonschema is
not installed.
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

SOURCE = Path(__file__).resolve().parents[3]
MODES = ("eager", "batch", "graph", "packets")
STEP = ["record", *(f"replay-{mode}" for mode in MODES), "check",
        *(f"capture-{part}{mode}" for part in ("run", "hold") for mode in ("", *(f"-{one}" for one in MODES)))]


def require(condition, message):
    if not condition:
        sys.exit(message)


def doctor(build, schema, code, *options, **environment):
    done = subprocess.run([build / "bin/gfxgraph", "doctor", "--device", "emulated", "--json", *options], capture_output=True,
                          text=True, timeout=250, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    require(done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    report = json.loads(done.stdout)
    wrong = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in schema.iter_errors(report)]
    require(not wrong, "\n".join(wrong))
    require(report["ok"] == (code == 0), "ok")
    states = [check["state"] for check in report["checks"]]
    require(report["counts"] == {state: states.count(state) for state in report["counts"]}, "counts")
    return report


def main():
    build = Path(sys.argv[1]).resolve()
    document = json.loads((SOURCE / "docs/schemas/doctor.json").read_text())
    jsonschema.Draft7Validator.check_schema(document)
    schema = jsonschema.Draft7Validator(document)

    report = doctor(build, schema, 0, "--devices", "2", "--gpu", "0", "--gpu", "1")
    require([device["gpu"] for device in report["devices"]] == [0, 1], "devices")
    require(report["environment"]["GFXGRAPH_DEVICES"] == "2", "environment")
    for gpu in (0, 1):
        found = [(check["id"], check["state"]) for check in report["checks"] if check["gpu"] == gpu]
        require(found == [(name, "ok") for name in ("device", *STEP)], f"device {gpu}: {found}")
    loaded = {library["name"]: library for library in report["libraries"] if library["loaded"]}
    require(set(loaded) == {"libamdhip64", "libhsa-runtime64", "libamd_comgr"}, f"loaded: {loaded}")
    require(Path(loaded["libhsa-runtime64"]["file"]) == build / "lib/gfxgraph/libhsa-runtime64.so.1", "the agent")

    with tempfile.TemporaryDirectory() as folder:
        for version in (5, 6, 7):
            (Path(folder) / f"libamdhip64.so.{version}").touch()
        report = doctor(build, schema, 4, LD_LIBRARY_PATH=folder)
    failed = [check for check in report["checks"] if check["state"] == "failed"]
    require([check["id"] for check in failed] == ["hip"] and "LD_LIBRARY_PATH" in failed[0]["remedy"], f"failed: {failed}")
    require(not report["devices"] and not any(library["loaded"] for library in report["libraries"]), "nothing is loaded")
    print("2 reports")


main()
