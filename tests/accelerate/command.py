"""command.py BUILD_TREE FORMS: gfxgraph accelerate as a command, its report against docs/schemas/accelerate.json, and GFXGRAPH.

77: python3-jsonschema is not installed.
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


def require(condition, message):
    if not condition:
        sys.exit(str(message))


def main():
    build, forms = Path(sys.argv[1]).resolve(), sys.argv[2]

    def accelerate(*words, code=0, **environment):
        done = subprocess.run([build / "bin/gfxgraph", "accelerate", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=250, env={**os.environ, **environment}, check=False)
        require(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
        return done

    def program(mode):
        return ("--device", "emulated", "--", forms, mode, forms + ".co")

    document = json.loads((SOURCE / "docs/schemas/accelerate.json").read_text())
    jsonschema.Draft7Validator.check_schema(document)
    schema = jsonschema.Draft7Validator(document)
    graph = {"GFXGRAPH_ACCELERATE_WAY": "graph"}

    # The program's output and exit code, and a report.
    done = accelerate(*program("repeated"), **graph)
    require(done.stdout == "repeated: PASS\n", done.stdout)
    require("gfxgraph accelerate: 1440 launches looked at" in done.stderr, done.stderr)
    done = accelerate(*program("end_by_exit"), code=21, **graph)
    require("submits as graphs" in done.stderr, done.stderr)
    done = accelerate("--quiet", *program("repeated"), **graph)
    require(done.stderr == "", done.stderr)

    with tempfile.TemporaryDirectory() as folder:
        for mode, way in (("repeated", "graph"), ("repeated", "measured"), ("mismatches", "graph"), ("end_by_exec", "graph")):
            path = Path(folder) / f"{mode}-{way}.json"
            accelerate("--json", path, "--quiet", *program(mode), code=24 if mode == "end_by_exec" else 0, GFXGRAPH_ACCELERATE_WAY=way)
            report = json.loads(path.read_text())
            wrong = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in schema.iter_errors(report)]
            require(not wrong, "\n".join(wrong))
            require(report["program"] == str(Path(forms).resolve()) and report["held"] > 0 and report["sequences"], report)
            require(report["sequences"][0]["first_kernel"] == "step", report["sequences"][0])
            require(way == "measured" or report["submits"] > 10, report)
        # A report that cannot be written is told, and changes nothing.
        done = accelerate("--json", Path(folder) / "none/report.json", *program("repeated"))
        require("cannot be written: No such file or directory" in done.stderr, done.stderr)

    # GFXGRAPH.
    done = accelerate(*program("repeated"), GFXGRAPH="0", **graph)
    require(done.stderr == "", done.stderr)
    done = accelerate(*program("repeated"), GFXGRAPH="1", **graph)
    require("submits as graphs" in done.stderr, done.stderr)
    done = accelerate(*program("repeated"), GFXGRAPH="debug", **graph)
    require("sequence 1 of 24 launches: graph: as asked" in done.stderr, done.stderr)
    done = accelerate(*program("repeated"), GFXGRAPH="validate", **graph)
    require("GFXGRAPH=validate: not supported" in done.stderr and "launches" not in done.stderr, done.stderr)
    done = accelerate(*program("repeated"), GFXGRAPH_ACCELERATE_WAY="batch")
    require("GFXGRAPH_ACCELERATE_WAY=batch: not known" in done.stderr, done.stderr)

    # With the other layers: stream capture is answered below; a recorded process is refused, or left alone.
    done = accelerate("--capture", *program("captured"), **graph)
    require(done.stdout == "captured: PASS\n" and "submits as graphs" in done.stderr, done.stdout + done.stderr)
    recorder = str(build / "lib/gfxgraph/libgfxgraph-recorder.so")
    done = accelerate(*program("repeated"), code=2, LD_PRELOAD=recorder)
    require("this process is recorded" in done.stderr, done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([build / "bin/gfxgraph-record", "--device", "emulated", "-o", Path(folder) / "t.gfxg", "--", forms, "repeated"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250, check=False,
                              env={**os.environ, "LD_PRELOAD": str(build / "lib/gfxgraph/libgfxgraph-accelerate.so"), **graph})
        require(done.returncode == 0 and "the recorder is loaded" in done.stderr, done.stdout + done.stderr)

    # Usage.
    require("no program given" in accelerate("--quiet", code=2).stderr, "no program")


main()
