"""Every command that reads traces is stopped when the process that opens the trace attacks:
python3 sandbox_commands.py BUILD_TREE ATTACK_LIBRARY"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "info": "info attack.gfxg",
    "info_lint": "info attack.gfxg --ranges --lint",
    "dag": "info attack.gfxg --dag json",
    "check": "check attack.gfxg --tool all -o check.json --json",
    "shard": "check attack.gfxg --shard 1/1 -o attack.part",
    "provenance": "provenance attack.gfxg --write -o proven.gfxg",
    "extract": "extract attack.gfxg --launches 0:1 -o part.gfxg",
    "standalone": "extract attack.gfxg --kernel * --standalone folder",
    "export": "export attack.gfxg --format jsonl -o lines.jsonl",
    "code": "export attack.gfxg --format code -o code/objects",
    "report": "report attack.gfxg -o page.html",
    "diff": "diff attack.gfxg other.gfxg",
    "verify": "verify attack.gfxg",
    "recover": "recover attack.gfxg -o recovered.gfxg",
    "coverage": "coverage attack.gfxg",
    "waits": "coverage attack.gfxg --waits",
}
# By the attack: what the line on stderr says.
ATTACKS = {
    "write": "stopped opening pwned for writing",
    "socket": "stopped the system call socket",
    "connect": "stopped the system call connect",
    "execve": "stopped the system call execve",
    "ptrace": "stopped the system call ptrace",
    "kill": "stopped the system call kill",
    "fork": "stopped the system call clone",
    "crash": "the worker process crashed",
}


def main():
    build, library = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="gfxgraph-sandbox-") as scratch:
        folder = Path(scratch)

        def run(words, attack=None):
            work = folder / "work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            for name in ("attack.gfxg", "other.gfxg"):
                shutil.copy(folder / "trace", work / name)
            environment = dict(os.environ, **({"LD_PRELOAD": str(library), "ATTACK": attack} if attack else {}))
            done = subprocess.run([build / "bin/gfxgraph", *words.split()], cwd=work, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=120, check=False)
            # Of all outputs, only what is complete.
            return done.returncode, done.stderr, sorted(path.name for path in work.iterdir())

        subprocess.run([build / "tests/attack_file", "none", folder / "trace"], check=True)
        _, notes, _ = run("verify attack.gfxg")
        if "no sandbox" in notes:
            print(f"skipped: {notes}")
            return 77
        usage = subprocess.run([build / "bin/gfxgraph", "--help"], capture_output=True, text=True, check=True,
                               env={**os.environ, "COLUMNS": "200"}).stdout
        if "built without D3" in usage:  # cmake/GfxgraphD3.cmake
            print("without report, which this build refuses: it has no D3")
            del COMMANDS["report"]
        for name, words in COMMANDS.items():
            allowed, ended, names = run(words)
            if allowed not in (0, 1) or ended:
                wrong.append(f"{name}: exit code {allowed} without an attack: {ended}")
            for attack, text in ATTACKS.items():
                code, errors, files = run(words, attack)
                if code != 3 or text.replace("pwned", "") not in errors.replace(str(folder / "work/pwned"), "") \
                        or "went on" in errors or not set(files) <= set(names) | {"folder"}:
                    wrong.append(f"{name}, {attack}: exit code {code}, files {files}: {errors}")
        # The library does attack where nothing stops it.
        code, errors, files = run("verify attack.gfxg --no-sandbox", "write")
        if code != 0 or "went on" not in errors or "pwned" not in files:
            wrong.append(f"without the sandbox: exit code {code}, files {files}: {errors}")
    print("\n".join(wrong) or f"{len(COMMANDS)} commands, {len(ATTACKS)} attacks: all stopped")
    return 1 if wrong else 0


sys.exit(main())
