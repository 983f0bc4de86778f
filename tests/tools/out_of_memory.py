"""Every command that reads traces ends with exit code 3 and one sentence where it has too little memory, and
leaves no file: python3 out_of_memory.py BUILD_TREE FAILING_MEMORY_LIBRARY [POINTS]

Allocations fail one by one and with all later ones (failing_memory.cpp) at POINTS places of each command,
without the sandbox, whose library does not bear that; with the sandbox, under limits of data (RLIMIT_DATA)."""

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = [
    "info T", "info T --json", "info T --relocations", "info T --ranges --lint --json", "info T --dag json",
    "info T --kernels --count", "verify T", "verify T --json", "diff T T", "diff T T --json",
    "export T --format perfetto -o OUT", "export T --format jsonl -o OUT", "export T --format dot -o OUT",
    "export T --format code -o OUT", "export T --format disassembly -o OUT", "report T -o OUT",
    "extract T --launches 0:1 -o OUT", "extract T --launches 0:1 -o OUT --json",
    "extract T --kernel * --standalone OUT", "recover T -o OUT", "recover T -o OUT --json", "coverage T",
    "coverage T --json", "coverage T --waits", "coverage T --waits --json", "check T", "check T --json", "check T --tool all --format sarif -o OUT",
    "provenance T", "provenance T --json", "provenance T --write -o OUT",
]
# Of the sandboxed commands: from less than a process has, to more than any of them needs. The dynamic linker
# itself fails below.
LIMITS = [kib << 10 for kib in (1024, 1536, 2048, 4096, 8192, 12288, 20480)]


def main():
    build, library = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    points = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    numbers = random.Random(1)
    wrong, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="gfxgraph-memory-") as scratch:
        work, trace = Path(scratch) / "work", Path(scratch) / "t.gfxg"
        subprocess.run([build / "tests/attack_file", "none", trace], check=True)

        def run(words, environment=None, limit=None):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            command = [build / "bin/gfxgraph", *(str(trace) if word == "T" else word for word in words)]
            begin = None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
            done = subprocess.run(command, cwd=work, env={**os.environ, **(environment or {})}, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False,
                                  preexec_fn=begin)  # noqa: PLW1509
            # A folder for outputs may have been made, but no file in it.
            return done, sorted(path.name for path in work.rglob("*") if not path.is_dir())

        def judge(what, good, done, files):
            nonlocal failed
            if done.returncode == good[0].returncode and done.stdout == good[0].stdout and files == good[1]:
                return
            failed += 1
            lines = done.stderr.splitlines()
            expected = done.returncode == 3 and len(lines) == 1 and "memory" in lines[0] and \
                ("--max-memory" in lines[0] or "ulimit -d" in lines[0])
            if not expected or (files and files != good[1]):
                wrong.append(f"{what}: exit code {done.returncode}, files {files}: {done.stderr}")

        for text in COMMANDS:
            words = text.split()
            alone = [*words, "--no-sandbox"]
            good = run(alone)
            counted, _ = run(alone, {"LD_PRELOAD": str(library), "FAILING_COUNT": "2"})
            total = int(counted.stderr.split()[-1])
            for number in sorted(numbers.sample(range(1, total + 1), min(points, total))):
                for once in ({}, {"FAILING_ONCE": "1"}):
                    environment = {"LD_PRELOAD": str(library), "FAILING_ALLOCATION": str(number), **once}
                    judge(f"{text}: allocation {number} {once}", good, *run(alone, environment))
            for limit in numbers.sample(LIMITS, min(points, 3)):
                judge(f"{text}: {limit} bytes of data", good, *run(words, limit=limit))
    print("\n".join(wrong) or f"{len(COMMANDS)} commands, {failed} times without memory: exit code 3")
    return 1 if wrong or failed == 0 else 0


sys.exit(main())
