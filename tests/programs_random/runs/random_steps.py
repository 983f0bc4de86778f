"""Random steps: recorded for a few iterations, replayed for later ones and with other inputs, equal to the bare program.

random_steps.py BUILD_TREE FIRST COUNT    seeds FIRST to FIRST + COUNT - 1

A program runs a step again and again (steps.cpp). Its first RECORDED iterations are recorded: the whole program, or the
ranges alone. Then gfxgraph-replay continues with it:
- from the last recorded iteration to the last one of all, numbers, offsets and buffers going on by their rules;
- that iteration alone, with inputs and numbers that the recording does not have.
What memory holds after each is compared with what it holds in the bare program that does the same.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECORDED = 6   # two turns of three
ITERATIONS = 12
# No addresses in memory, which differ from run to run, nothing that the host computes in the middle of a step, and no
# pointers whose buffer cannot be known.
FEATURES = "default,-pointers,-pointers_back,-biased,-callbacks"
LATER = ("--range", f"step#{RECORDED - 1}", "--iterations", str(ITERATIONS - RECORDED + 1))
ALONE = ("--range", f"step#{RECORDED - 1}")


class Wrong(Exception):
    """What went wrong with a seed."""


class Steps:
    def __init__(self, build, seed, scratch):
        self.bin, self.seed = build / "bin", seed
        self.program = build / "tests/programs_random/random_program"
        self.scratch = Path(scratch)
        self.trace = self.scratch / "steps.gfxg"
        self.rng = random.Random(seed)

    def run(self, *command):
        """Its stdout."""
        try:
            done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=120)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{Path(command[0]).name}: no end in time") from None
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise Wrong(f"{' '.join(map(str, command))}: exit code {done.returncode}: {' | '.join(lines[-3:])}")
        return done.stdout

    def words(self, iterations, *options):
        return [self.program, self.seed, "--features", FEATURES, "--steps", iterations, *options]

    def bare(self, name, iterations, *options):
        """What memory holds at the end, by name, and what the program said."""
        folder = self.scratch / name
        folder.mkdir()
        said = self.run(self.bin / "gfxgraph", "run", "--device", "emulated", "--", *self.words(iterations, *options),
                        "--dump", folder)
        return {file.stem: file for file in folder.glob("*.bin")}, {file.stem: file for file in folder.glob("*.input")}, said

    def replay(self, what, expected, *options):
        """One replay, compared."""
        got = {name: self.scratch / f"{name}.out" for name in expected}
        outputs = [word for name, file in got.items() for word in ("--output", f"{name}={file}")]
        self.run(self.bin / "gfxgraph-replay", self.trace, "--device", "emulated", "--no-verify", "--quiet", *options, *outputs)
        wrong = [name for name, file in got.items() if file.read_bytes() != expected[name].read_bytes()]
        if wrong:
            raise Wrong(f"{what}: {' '.join(map(str, options))}: other bytes in {' '.join(wrong)}")

    def compare(self):
        later, _, _ = self.bare("later", ITERATIONS)
        other, inputs, said = self.bare("other", RECORDED, "--fresh")
        for cut in ((), ("--range", f"step#0-{RECORDED - 1}")):
            self.run(self.bin / "gfxgraph-record", "--device", "emulated", "--force", *cut, "-o", self.trace, "--",
                     *self.words(RECORDED))
            listed = self.run(self.bin / "gfxgraph-replay", self.trace, *ALONE, "--list")
            used = set(re.findall(r"^  #\d+ (r\d+): ", listed, re.M))
            fresh = [word for name, file in inputs.items() if name in used for word in ("--input", f"{name}={file}")]
            for now, usual in re.findall(r"^number (\d+) instead of (\d+)$", said, re.M):
                numbers = re.findall(r"^  #(\d+) .*, (-?\d+) here, ", listed, re.M)
                found = [number for number, value in numbers if int(value) % 2**32 == int(usual)]
                if len(found) != 1:
                    raise Wrong(f"{len(found)} parameters are {usual}:\n{listed}")
                fresh += ["--set", f"#{found[0]}={now}"]
            for mode in ("eager", "batch", "graph", "packets"):
                way = ("--mode", mode, "--layout", self.rng.choice(("same", "shift")))
                self.replay("later", {name: later[name] for name in later if name in used}, *LATER, *way)
                self.replay("other", {name: other[name] for name in other if name in used}, *ALONE, *way, *fresh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int, nargs="?", default=1)
    options = parser.parse_args()
    failed, begun = 0, time.monotonic()
    for seed in range(options.first, options.first + options.count):
        with tempfile.TemporaryDirectory(prefix="gfxgraph-steps-") as scratch:
            try:
                Steps(options.build.resolve(), seed, scratch).compare()
            except Wrong as wrong:
                failed += 1
                print(f"FAIL seed {seed}: {wrong}", flush=True)
    print(f"{options.count - failed} of {options.count} random steps agree, {failed} failed ({time.monotonic() - begun:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
