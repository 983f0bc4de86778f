"""Much of one thing: each way runs alone and recorded, with the same output, and the trace says what was done.

scale.py few|many BUILD_TREE [WAY...]: few of each in scripts/check, as many as the documents claim in scripts/check-scale.
What memory the recorder takes is compared with the program's own: see MOST_KIB.
"""

import json
import os
import time

from harness import Failure, info, main, require, run

# name: (arguments few, arguments many, options of the recorder, replay in batch mode)
# What pinned memory holds that kernels and host functions write is kept by the recorder until they have ended.
WAYS = {
    "launches": ((20_000,), (1_000_000,), (), True),
    "allocations": ((4_000,), (100_000,), (), True),
    "copies": ((20_000,), (1_000_000,), (), True),
    "threads": ((20, 10), (200, 50), (), True),
    "memory": ((2,), (20,), ("--range", "step#1-2"), True),
    "pool": ((1024,), (8192,), (), True),
    "pinned": ((320,), (1024,), ("--compress", "0"), False),
}
# What recording may add to the largest resident size of the process. Events wait in memory only until they are written.
MOST_KIB = 256 * 1024
FEW_MOST_KIB = {"pinned": 160 * 1024}  # where less than that many bytes are written
# The largest resident size of gfxgraph-replay in batch mode in MiB, few and many, comparison included. HIP and the software
# agent take about 118 of them, each launch 180 bytes (measured: 122 to 127, and 291 to 303). What a pool holds that nobody
# wrote takes none.
REPLAY_MOST_MIB = {"launches": (135, 315), "pool": (160, 200)}
# More than the card that the agent stands for has; only what is written takes memory of this machine.
os.environ["GFXGRAPH_DEVICE_MEMORY_GIB"] = "24"


def measured(command, timeout, env=None):
    """The output, the seconds, and the largest resident size in KiB of the command's own process tree."""
    report = f"import resource,subprocess,sys; code=subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL); " \
             f"print('rss', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    start = time.monotonic()
    done = run(["python3", "-c", report, *command], timeout=timeout, env=env)
    *lines, last = done.stdout.splitlines()
    return lines, time.monotonic() - start, int(last.split()[1])


def way(build, scratch, name, most_kib, replay_most_mib, arguments, options, replay):
    program = [str(build.programs / "scale"), name, *map(str, arguments)]
    alone, seconds_alone, rss_alone = measured(build.tool("gfxgraph", "run", "--", *program), 1800)
    trace = scratch / f"{name}.gfxg"
    recorded, seconds, rss = measured(build.record(trace, *program, options=options), 3600)
    own = [line for line in recorded if not line.startswith("gfxgraph-record: ")]
    require(own == alone, f"{name}: {alone} alone, {own} recorded")
    facts = info(build, trace)
    require(facts["complete"] and facts["sealed"], f"{name}: {json.dumps(facts)[:2000]}")
    require(rss - rss_alone <= most_kib, f"{name}: {rss_alone} KiB alone, {rss} KiB recorded")
    text = f"{name} {' '.join(map(str, arguments))}: alone {seconds_alone:.1f} s, recorded {seconds:.1f} s, " \
           f"{(rss - rss_alone) / 1024:.0f} MiB more, {os.path.getsize(trace) / 1e6:.1f} MB"
    if replay:
        # The limit has room for what comgr takes (tests/comgr_cache).
        _, seconds, rss = measured(build.replay(trace, "--mode", "batch", "--verify"), 3600,
                                   env={"GFXGRAPH_TEST_COMGR_CACHE": ""} if name in REPLAY_MOST_MIB else None)
        text += f", replayed and compared in {seconds:.1f} s with {rss / 1024:.0f} MiB"
        require(rss <= 1024 * replay_most_mib, f"{text}: more than {replay_most_mib} MiB")
    if name == "launches":  # a chain, which as one graph would overflow the runtime's stack
        _, seconds, _ = measured(build.replay(trace, "--mode", "graph", "--verify"), 3600)
        text += f", as graphs in {seconds:.1f} s"
    print(text, flush=True)


def all_ways(build, scratch, number, names):
    failures = []
    for name, (*sizes, options, replay) in WAYS.items():
        if names and name not in names:
            continue
        try:
            most_kib = FEW_MOST_KIB.get(name, MOST_KIB) if number == 0 else MOST_KIB
            replay_most_mib = REPLAY_MOST_MIB.get(name, (float("inf"),) * 2)[number]
            way(build, scratch, name, most_kib, replay_most_mib, sizes[number], options, replay)
        except Failure as failure:
            failures.append(str(failure))
    require(not failures, "\n".join(failures))


def few(build, scratch, *names):
    all_ways(build, scratch, 0, names)


def many(build, scratch, *names):
    all_ways(build, scratch, 1, names)


main({"few": few, "many": many})
