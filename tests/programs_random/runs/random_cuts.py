"""Random cuts: what memory holds at the end of a range is one thing, whoever is asked.

random_cuts.py BUILD_TREE FIRST COUNT    seeds FIRST to FIRST + COUNT - 1

Each random program marks a range, cut at random. Of what memory holds where that ends, three know:
- the program alone, which ends there, compares memory with its model and writes it into files;
- a replay of the recording of that whole program, up to there;
- a replay of the range alone, recorded from the program that goes on after it.
Addresses in memory, which differ from run to run, and what has no value are not compared.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from random_programs import by_name, ending, tail


class Wrong(Exception):
    """What went wrong with a seed, or what it was refused for."""


class Cut:
    def __init__(self, build, seed, scratch):
        self.bin, self.seed = build / "bin", seed
        self.program = [build / "tests/programs_random/random_program", seed]
        self.scratch = Path(scratch)
        self.rng = random.Random(seed)

    def run(self, *command, codes=(0,)):
        """Both outputs."""
        try:
            done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=120)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{Path(command[0]).name}: no end in time") from None
        crashed = "the worker process crashed" in done.stderr or "the sandbox forbids" in done.stderr
        if done.returncode not in codes or crashed:
            raise Wrong(f"{' '.join(map(str, command[1:]))}: {ending(done.returncode)}: {tail(done.stdout + done.stderr)}")
        return done.stdout, done.stderr

    def record(self, name, options, *words):
        trace = self.scratch / name
        _, err = self.run(self.bin / "gfxgraph-record", "--device", "emulated", "--force", *options, "-o", trace, "--",
                          *self.program, "--names", *words)
        missing = [line for line in err.splitlines() if ": incomplete: " in line or "recording stopped" in line]
        if missing or not trace.exists():
            missing.sort(key=by_name)  # first what is not expected
            raise Wrong(f"incomplete: {missing[0] if missing else tail(err)}")
        return trace

    def compare(self, what, trace, expected, options):
        """How many bytes of named memory are as they must be."""
        replay = [self.bin / "gfxgraph-replay", trace, "--device", "emulated", *options]
        listed, _ = self.run(*replay, "--list")
        # Several buffers of a name: memory of the program that was freed, and other memory that got its place.
        numbers = {}
        for number, name in re.findall(r"^  #([0-9]+) (r[0-9]+): ", listed, re.M):
            numbers.setdefault(name, []).append(number)
        names = [name for name in expected if len(numbers.get(name, ())) == 1]
        got = {name: self.scratch / f"{name}.out" for name in names}
        # Not by its name alone: an output may have that, too.
        outputs = [word for name, file in got.items()
                   for word in ("--output", f"{name}+0:{len(expected[name][0])}={file}")]
        same = 0
        for mode in ("eager", "batch", "graph", "packets"):
            way = ["--mode", mode, "--layout", self.rng.choice(("same", "shift"))]
            # What the host writes in the range, and no work of it reads, is not in a trace of that: said by name.
            said, _ = self.run(*replay, *way, *outputs, codes=(0, 3))
            unknown = re.findall(r"^  buffer #([0-9]+) .*: not compared, ", said, re.M)
            for name, file in got.items():
                if numbers[name][0] in unknown:
                    continue
                there, (bytes_, defined) = file.read_bytes(), expected[name]
                for at, (one, other, counts) in enumerate(zip(there, bytes_, defined, strict=True)):
                    if counts and one != other:
                        raise Wrong(f"{what}: {' '.join(way)}: {name} holds {one:02x} at {at}, not {other:02x}")
                same += sum(map(bool, defined))
        return same

    def agree(self):
        dump = self.scratch / "dump"
        dump.mkdir()
        self.run(self.bin / "gfxgraph", "run", "--device", "emulated", "--", *self.program, "--ends", "--dump", dump)
        expected = {file.stem: (file.read_bytes(), file.with_suffix(".defined").read_bytes()) for file in dump.glob("*.bin")}
        whole = self.record("whole.gfxg", [], "--ends")
        part = self.record("cut.gfxg", ["--range", "cut"])
        return (self.compare("whole", whole, expected, []), self.compare("range", part, expected, ["--range", "cut"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int, nargs="?", default=1)
    options = parser.parse_args()
    failed, refused, same, begun = 0, 0, [0, 0], time.monotonic()
    for seed in range(options.first, options.first + options.count):
        with tempfile.TemporaryDirectory(prefix="gfxgraph-cuts-") as scratch:
            try:
                same = [sum(both) for both in zip(same, Cut(options.build.resolve(), seed, scratch).agree())]
            except Wrong as wrong:
                if by_name(str(wrong)):
                    refused += 1
                    continue
                failed += 1
                print(f"FAIL seed {seed}: {wrong}", flush=True)
    if not all(same):
        print("nothing was compared")
        failed += 1
    print(f"{options.count - failed - refused} of {options.count} random cuts agree in {same[0]} bytes of whole traces and "
          f"{same[1]} of ranges, {refused} were refused by name, {failed} failed ({time.monotonic() - begun:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
