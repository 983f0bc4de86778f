"""Random programs: each seed runs alone, is recorded, and replays identically in every mode and layout.

random_programs.py BUILD_TREE FIRST COUNT    seeds FIRST to FIRST + COUNT - 1
random_programs.py BUILD_TREE SEED --shrink  the smallest set of actions that still fails, in words
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH = 20


# What is refused by name: which buffer a pointer outside of all buffers was made from is not always known, and
# buffers of different kinds cannot keep their distance; who wrote memory that a host function and the program write
# side by side; which bytes work read that was given memory while a kernel ran that has its address, too; plain host memory of which copy nodes of a graph in flight write a part that another one reads; and such memory
# of which copy nodes and other copies write parts that overlap is not compared; and rows with bytes between them that nodes copy from
# or to arrays, which HIP 5.2.3 takes for packed ones.
NAMED = re.compile("outside every buffer|ignores the pitch|what that work read is unknown|wrote memory concurrently|concurrently wrote memory|of an earlier graph may still write"
                   "| 0 different [0-9]+ uncompared, copies [0-9]+ 0 0$")


def by_name(line):
    return NAMED.search(line) is not None


class Runner:
    def __init__(self, root, scratch, options):
        self.root = Path(root).resolve()
        self.scratch = Path(scratch)
        self.options = options
        # As many as the program wants; a replay has one.
        self.devices = ["--devices", "3"] if "+devices" in options.features else []
        self.capture = ["--capture"] if options.capture else []
        self.wrong_alone = []  # seeds whose programs are wrong without gfxgraph, with --bare-may-fail
        self.held = 0  # launches, with --accelerate
        self.packets = [0, 0]  # replays, and those that were refused by name
        self.folder = self.root / "tests" / "programs_random"
        self.program = str(self.folder / "random_program")
        agent = str(self.root / "lib" / "gfxgraph")
        inherited = os.environ.get("LD_LIBRARY_PATH")
        self.agent = {"LD_LIBRARY_PATH": agent + (":" + inherited if inherited else "")}
        if options.capture:
            self.agent["LD_PRELOAD"] = agent + "/libgfxgraph-capture.so"

    def run(self, command, env=None, timeout=None):
        """Exit code (negative: signal, None: no end in time) and both outputs."""
        with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", start_new_session=True,
                              env={**os.environ, **(env or {})}) as child:
            try:
                out, err = child.communicate(timeout=timeout or self.options.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                out, err = child.communicate()
                return None, out, err
        return child.returncode, out, err

    def arguments(self, seed, drop=()):
        words = [seed, "--size", self.options.size, "--features", self.options.features]
        return words + (["--drop", ",".join(drop)] if drop else [])

    def bare(self, seed, last=None, drop=()):
        """Hash by seed, and what went wrong."""
        command = [self.program, *self.arguments(seed, drop)]
        code, out, err = self.run(command + (["--to", last] if last else []), self.agent)
        hashes = {int(m[1]): m[2] for m in re.finditer(r"^seed (\d+): ok (\w+)$", out, re.M)}
        return hashes, "" if code == 0 else f"bare run: {ending(code)}: {tail(out + err)}"

    def accelerated(self, seeds):
        """Of programs that are only run by gfxgraph accelerate, as graphs of all that repeats: what went wrong, by seed."""
        wrong = {}
        hashes, problem = self.bare(seeds[0], seeds[-1])
        library = str(self.root / "lib" / "gfxgraph" / "libgfxgraph-accelerate.so")
        front = {**self.agent, "LD_PRELOAD": f"{library}:{self.agent.get('LD_PRELOAD', '')}", "GFXGRAPH_ACCELERATE_WAY": "graph"}
        for seed in seeds:
            alone = "" if seed in hashes else self.bare(seed)[1] or problem
            code, out, err = self.run([self.program, *self.arguments(seed)], front)
            self.held += sum(map(int, re.findall(r"looked at, (\d+) held", err)))
            found = re.search(r"^seed \d+: ok (\w+)$", out, re.M)
            if alone:
                wrong[seed] = [alone]
            elif code != 0 or not found or found[1] != hashes[seed]:
                wrong[seed] = [f"accelerated run: {ending(code)}: {tail(out + err)}"]
        return wrong

    def trace(self, seed):
        return self.scratch / f"{seed}.gfxg"

    def record(self, seed, expected, drop=()):
        """What went wrong."""
        cut = ["--range", "cut"] if self.options.range else []
        if self.options.flight:
            cut = ["--flight-recorder", str(random.Random(seed).choice((1, 1, 2, 3, 7, 20)))]
        if not self.options.launches:
            return self.record_cut(seed, expected, drop, cut)
        # Where to cut is random, and the same for each run of a seed.
        rng = random.Random(seed)
        problem = self.record_cut(seed, expected, drop, cut + random_launches(rng, 30))
        found = re.search("the program made ([0-9]+) launches|of the program's ([0-9]+) launches|matched ([0-9]+) launch", problem)
        if not found:
            return problem
        made = max(int(number) for number in found.groups() if number)
        # Of a program without launches nothing can be selected by them.
        return self.record_cut(seed, expected, drop, cut + (random_launches(rng, made) if made else []))

    def record_cut(self, seed, expected, drop, cut):
        trace = self.trace(seed)
        code, out, err = self.run([self.root / "bin" / "gfxgraph-record", "--device", "emulated", *self.devices, *self.capture, "--force",
                                   *cut, "-o", trace, "--", self.program, *self.arguments(seed, drop)],
                                  {"GFXGRAPH_RECORD_KEEP_SEGMENTS": "1"} if self.options.flight else None)
        # A selection that matched nothing is an error of its own; the trace is there all the same.
        nothing = self.options.launches and code == 1 and re.search("never entered|matched [0-9]+ launch", err)
        if code != 0 and not nothing:
            own = [line for line in (out + err).splitlines() if not line.startswith("gfxgraph-record: ")]
            return f"recorded run: {ending(code)}: {tail(chr(10).join(own) or err)}"
        found = re.search(r"^seed \d+: ok (\w+)$", out, re.M)
        if not found or expected and found[1] != expected:
            return f"recorded run: another result: {tail(out)}"
        missing = [line for line in err.splitlines() if ": incomplete: " in line or "recording stopped" in line]
        if missing or not trace.exists():
            missing.sort(key=by_name)  # first what is not expected
            return f"incomplete: {missing[0] if missing else tail(err)}"
        return ""

    def segments(self, seed):
        """All traces of a flight recorder but the last one."""
        return sorted(self.scratch.glob(f"{seed}.kept-*.gfxg"), key=lambda path: int(re.findall("[0-9]+", path.name)[-1]))

    def replay_segments(self, seed):
        """What went wrong."""
        traces = [*self.segments(seed), self.trace(seed)]
        packed = ["--packed"] if self.options.packed else []
        code, out, err = self.run([self.folder / "replay_many", *packed, *traces], self.agent, self.options.timeout + 2 * len(traces))
        good = set(re.findall(r"/([^/]+) ok$", out, re.M))
        out = self.without_packets(out)
        wrong = [line.rsplit("/", 1)[-1] for line in out.splitlines() if not line.endswith(" ok")]
        if len(good) + len({line.split(" ")[0] for line in wrong}) != len(traces):
            wrong.append(f"replay: {ending(code)}: {tail(err)}")
        return wrong

    def without_packets(self, out):
        """What replay_many printed, but for the line that is counted here."""
        for replayed, refused in re.findall(r"^packets: (\d+) replayed, (\d+) refused$", out, re.M):
            self.packets[0] += int(replayed)
            self.packets[1] += int(refused)
        return re.sub(r"^packets: .*\n", "", out, flags=re.M)

    def replay(self, seeds, automatic=False):
        """What went wrong, by seed."""
        if self.options.flight:
            return {seed: wrong for seed in seeds if (wrong := self.replay_segments(seed))}
        command = [self.folder / "replay_many", *(["--auto"] if automatic else []),
                   *(["--packed"] if self.options.packed else []), *map(self.trace, seeds)]
        code, out, err = self.run(command, self.agent, self.options.timeout + 2 * len(seeds))
        out = self.without_packets(out)
        wrong = {}
        good = set(re.findall(r"(\d+)\.gfxg ok$", out, re.M))
        for line in re.findall(r"^.*\.gfxg (?!ok$).*$", out, re.M):
            seed = int(re.search(r"(\d+)\.gfxg ", line)[1])
            wrong.setdefault(seed, []).append(line.split(".gfxg ", 1)[1])
        rest = [seed for seed in seeds if str(seed) not in good and seed not in wrong]
        if code == 0 and not rest:
            return {}
        if len(seeds) == 1 and code == 1 and not rest:
            return wrong
        if len(seeds) == 1:
            return {seeds[0]: wrong.get(seeds[0], []) + [f"replay: {ending(code)}: {tail(err)}"]}
        # A process that ended early, or whose device faulted, says nothing about the later ones.
        alone = {}
        for seed in seeds:
            if str(seed) not in good:
                alone.update(self.replay([seed], automatic))
        return alone

    def check(self, seed):
        for command in (("verify",), ("info",), ("check",)):
            code, out, err = self.run([self.root / "bin" / "gfxgraph", *command, self.trace(seed)])
            if code != 0:
                return f"gfxgraph {command[0]}: {ending(code)}: {tail(out + err, 6)}"
        return ""

    def batch(self, seeds):
        """What went wrong, by seed."""
        if self.options.accelerate:
            return self.accelerated(seeds)
        wrong = {}
        hashes, problem = self.bare(seeds[0], seeds[-1])
        for seed in seeds if problem else ():
            if seed not in hashes:
                alone, problem = self.bare(seed)
                hashes.update(alone)
                if problem:
                    wrong[seed] = [problem]
        recorded = []
        for seed in seeds:
            if seed in wrong:
                continue
            problem = self.record(seed, hashes[seed])
            if problem:
                wrong[seed] = [problem]
            else:
                recorded.append(seed)
        if recorded:
            rare = [seed for seed in recorded if seed % self.options.rarely == 0]
            usual = [seed for seed in recorded if seed not in rare]
            for group in (usual, rare):
                if group:
                    for seed, lines in self.replay(group, group is rare).items():
                        wrong.setdefault(seed, []).extend(lines)
            for seed in rare:
                problem = self.check(seed)
                if problem:
                    wrong.setdefault(seed, []).append(problem)
        for seed in recorded:
            if self.options.failed and not all(map(by_name, wrong.get(seed, []))):
                self.options.failed.mkdir(parents=True, exist_ok=True)
                for trace in [*self.segments(seed), self.trace(seed)]:
                    shutil.copy(trace, self.options.failed)
            if not self.options.keep:
                for trace in [*self.segments(seed), self.trace(seed)]:
                    trace.unlink(missing_ok=True)
        return wrong

    def fails(self, seed, drop, times):
        for _ in range(times):
            hashes, problem = self.bare(seed, None, drop)
            problem = problem or self.record(seed, hashes[seed], drop)
            if problem:
                return problem
            lines = self.replay([seed]).get(seed)
            if lines:
                return lines[0]
        return ""

    def shrink(self, seed):
        times = self.options.times
        first = self.fails(seed, (), times)
        if not first:
            print(f"seed {seed} does not fail")
            return
        def kind(problem):
            return problem.split(":")[0], by_name(problem)

        places = [str(i) for i in range(self.options.size)]
        drop = []
        for keys in (places, None):
            if keys is None:
                keys = [f"{i}.{part}" for i in places if i not in drop for part in range(7)]
            chunk = max(len(keys) // 2, 1)
            while chunk:
                left = [key for key in keys if key not in drop]
                for i in range(0, len(left), chunk):
                    trial = drop + left[i:i + chunk]
                    if kind(self.fails(seed, trial, times)) == kind(first):
                        drop = trial
                chunk //= 2
        problem = self.fails(seed, drop, times) or first
        command = [self.program, *map(str, self.arguments(seed, drop))]
        print(" ".join(command))
        print(self.run(command + ["--list"])[1], end="")
        print(f"seed {seed}: {problem}", flush=True)


def random_launches(rng, count):
    """Options that select some of the first `count` launches."""
    options = []
    for _ in range(rng.choice((1, 1, 2))):
        first = rng.randrange(count)
        last = first + rng.choice((0, 0, 1, 3, 10))
        kind = rng.randrange(5)
        if kind == 0:
            options += ["--kernel", f"*#{first}-{last}"]
        elif kind == 1:
            options += ["--launches", rng.choice((f"{first}:", f":{last + 1}"))]
        else:
            options += ["--launches", f"{first}:{last + 1}"]
    return options


def ending(code):
    return "no end in time" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"


def tail(text, lines=3):
    return " | ".join(text.strip().splitlines()[-lines:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--times", type=int, default=2, help="attempts for each trial of --shrink")
    parser.add_argument("--size", type=int, default=40, help="actions of a program")
    parser.add_argument("--features", default="default")
    parser.add_argument("--range", action="store_true", help="record a part of each program only, cut at random")
    parser.add_argument("--launches", action="store_true", help="record some launches of each program only, cut at random")
    parser.add_argument("--flight", action="store_true", help="record with a flight recorder of short segments, and replay all of them")
    parser.add_argument("--capture", action="store_true", help="with the capture layer, alone and recorded")
    parser.add_argument("--accelerate", action="store_true", help="by gfxgraph accelerate instead: not recorded, the result is compared")
    parser.add_argument("--packed", action="store_true", help="replay with freed buffers in one arena always, not in half of the ways only")
    parser.add_argument("--rarely", type=int, default=10, help="every N-th seed also: auto, check, verify, info")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one process")
    parser.add_argument("--keep", action="store_true", help="keep the traces")
    parser.add_argument("--failed", type=Path, help="folder for the traces of seeds that fail")
    parser.add_argument("--scratch", help="folder of the traces")
    parser.add_argument("--report", type=Path, help="append results here; what it holds already is not run again")
    parser.add_argument("--bare-may-fail", action="store_true",
                        help="programs that are wrong without gfxgraph, by defects of the HIP runtime, are no failures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gfxgraph-random-") as scratch:
        runner = Runner(options.build, options.scratch or scratch, options)
        if options.shrink:
            runner.shrink(options.first)
            return 0
        failed, refused = run_all(runner, options)
    print(f"{options.count - failed - refused - len(runner.wrong_alone)} of {options.count} random programs agree, "
          f"{refused} were refused by name, {failed} failed")
    if options.bare_may_fail:
        print(f"{len(runner.wrong_alone)} are wrong without gfxgraph: seeds {', '.join(map(str, runner.wrong_alone)) or 'none'}")
    if options.accelerate:
        print(f"{runner.held} launches were held")
    else:
        print("mode packets: {} replays, {} refused by name".format(*runner.packets))
    return 1 if failed else 0


def run_all(runner, options):
    """How many seeds failed, and how many were refused by name."""
    start = time.monotonic()
    failed = refused = 0
    before = options.report.read_text() if options.report and options.report.exists() else ""
    done = {int(m[1]): (int(m[2]), int(m[3]), int(m[4])) for m in
            re.finditer(r"^seeds (\d+) to \d+: (\d+) of (\d+) agree, (\d+) refused", before, re.M)}
    end = options.first + options.count
    for first in range(options.first, end, BATCH):
        seeds = list(range(first, min(first + BATCH, end)))
        if first in done:
            agree, counted, named = done[first]
            failed += counted - agree - named
            refused += named
            continue
        wrong = runner.batch(seeds)
        alone = []
        if options.bare_may_fail:
            alone = [seed for seed in sorted(wrong) if any(line.startswith("bare run: ") for line in wrong[seed])]
            runner.wrong_alone += alone
            for seed in alone:
                del wrong[seed]
        named = [seed for seed in wrong if all(map(by_name, wrong[seed]))]
        lines = [f"refused by name: seed {seed}: {wrong.pop(seed)[0]}" for seed in sorted(named)]
        lines += [f"FAIL seed {seed}: {line}" for seed in sorted(wrong) for line in wrong[seed]]
        failed += len(wrong)
        refused += len(named)
        counted = len(seeds) - len(alone)
        agree = counted - len(wrong) - len(named)
        lines.append(f"seeds {seeds[0]} to {seeds[-1]}: {agree} of {counted} agree, {len(named)} refused by name, "
                     f"{time.monotonic() - start:.0f} s")
        print("\n".join(lines), flush=True)
        if options.report:
            with options.report.open("a") as report:
                report.write("\n".join(lines) + "\n")
    return failed, refused


if __name__ == "__main__":
    sys.exit(main())
