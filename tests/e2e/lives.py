"""Buffers that the program freed share memory in a replay: what it needs, and that it still compares all of them.

lives.py packed|resident BUILD_TREE
"""

import json

from harness import main, require, run

ROUNDS = 48


def recorded(build, scratch, mib):
    trace = scratch / "lives.gfxg"
    run(build.record(trace, build.programs / "lives", ROUNDS, mib))
    return trace


def replayed(build, trace, *options, expect=0):
    done = run(build.replay(trace, "--json", "-", *options), expect)
    return json.loads(done.stdout), done.stderr


def packed(build, scratch):
    mib = 1
    trace = recorded(build, scratch, mib)
    compared = None
    for mode in ("eager", "batch", "graph", "packets", "auto"):
        for layout in ("same", "shift"):
            facts, text = replayed(build, trace, "--mode", mode, "--layout", layout, "--memory", "packed", "--verify",
                                   "--auto-seconds", "1")
            memory = facts["memory"]
            require(memory["packed"] and memory["device_bytes_apart"] > ROUNDS * mib << 20, f"{mode} {layout}: {memory}")
            require(memory["device_bytes"] < (mib << 20) + (1 << 20), f"{mode} {layout}: {memory}")
            sizes = [f"{memory[name] / 2**20:.1f} MiB" for name in ("device_bytes", "device_bytes_apart")]
            require(f"{sizes[0]} on the device, packed by life time; {sizes[1]} without packing" in text, text)
            counts = {name: facts["buffers"][name] for name in ("identical", "different", "uncompared")}
            compared = compared or counts
            require(counts == compared and counts["identical"] >= ROUNDS, f"{mode} {layout}: {counts}")
            require(counts["different"] == 0 and counts["uncompared"] == 0, f"{mode} {layout}: {counts}")
    apart, _ = replayed(build, trace, "--mode", "batch")
    require(not apart["memory"]["packed"] and apart["memory"]["device_bytes"] == apart["memory"]["device_bytes_apart"],
            f"{apart['memory']}")
    # The limit holds for what is needed, and says what packing would save.
    limit = ("--max-memory", str(25 << 20))
    run(build.replay(trace, "--mode", "batch", "--no-verify", *limit))
    refused = run(build.replay(trace, "--mode", "batch", *limit), expect=1)
    require("packed by life time (--memory packed) would be" in refused.stderr, refused.stderr)
    run(build.replay(trace, "--bisect", "--memory", "packed"), expect=2)


def resident(build, scratch):
    """What the process takes of this machine; the agent's device memory is that, too."""
    mib = 4
    trace = recorded(build, scratch, mib)
    kib = {}
    for memory in ("apart", "packed"):
        report = "import resource,subprocess,sys; code=subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL); " \
                 "print('rss', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
        done = run(["python3", "-c", report, *build.replay(trace, "--mode", "batch", "--no-verify", "--memory", memory)])
        kib[memory] = int(done.stdout.split()[-1])
    print(f"{kib['apart']} KiB apart, {kib['packed']} KiB packed")
    require(kib["apart"] - kib["packed"] > 3 * ROUNDS * mib * 1024 // 4, f"{kib}")


if __name__ == "__main__":
    main({"packed": packed, "resident": resident})
