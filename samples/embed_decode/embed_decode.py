"""embed_decode in Python: everything comes from the trace.

embed_decode.py TRACE.gfxg TOKENS [eager|batch|graph|packets|auto]
"""

import struct
import sys

import gfxgraph


def decode(path: str, tokens: int, mode: str) -> list[int]:
    trace = gfxgraph.Trace(path)
    last = [one for one in trace.ranges() if one.name == "decode"][-1]
    with gfxgraph.Session(trace) as session, session.step(last, mode) as step:
        for n in range(tokens - last.ordinal):
            step.advance(n)
            step.run()
        step.wait()
        return list(struct.unpack(f"<{tokens}i", session.read("history", 0, 4 * tokens)))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or not 1 <= int(sys.argv[2]) <= 64:
        sys.exit(__doc__)
    print("tokens:", *decode(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "auto"))
