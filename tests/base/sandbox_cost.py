"""What the worker process costs: python3 sandbox_cost.py GFXGRAPH [FILE [ROUNDS]]

The median time of `gfxgraph info FILE` with and without the sandbox, alternating, and the median of
the differences. Without FILE, a file that is rejected at its first bytes: only the start counts."""

import statistics
import subprocess
import sys
import tempfile
import time


def milliseconds(command):
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return (time.perf_counter() - begin) * 1e3


def main():
    gfxgraph = sys.argv[1]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with tempfile.NamedTemporaryFile() as empty:
        command = [gfxgraph, "info", sys.argv[2] if len(sys.argv) > 2 else empty.name]
        times = [(milliseconds(command), milliseconds([*command, "--no-sandbox"]))
                 for _ in range(rounds)]
    inside = statistics.median(t[0] for t in times)
    outside = statistics.median(t[1] for t in times)
    cost = statistics.median(t[0] - t[1] for t in times)
    print(f"with {inside:.2f} ms, without {outside:.2f} ms, difference {cost:.2f} ms "
          f"(medians of {rounds})")
    return 0 if cost < 5 else 1


sys.exit(main())
