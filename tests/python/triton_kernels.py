"""Triton kernels by gfxgraph.triton: values as NumPy's, and planted faults at their Python lines. scripts/experiments/check-triton."""

import sys
from pathlib import Path

import gfxgraph.triton
import numpy
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)  # masked


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    values = tl.load(x + row * columns + i, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, 0), mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :],
                       mask=(rows[:, None] < M) & ((k + inner)[None, :] < K), other=0.0)
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :],
                        mask=((k + inner)[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def past_the_end(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2)  # past the end


@triton.jit
def racing(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.program_id(0))  # racing


@triton.jit
def accumulates(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(out + i, mask=mask) + tl.load(x + i, mask=mask), mask=mask)  # uninitialised


LINES = {text.rsplit("# ", 1)[1]: number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1)
         if "  # " in text and "tl.store" in text}
random = numpy.random.default_rng(7)


def close(got, expected, what):
    if not numpy.allclose(got, expected, rtol=1e-3, atol=1e-4):
        sys.exit(f"FAIL {what}: {numpy.abs(got - expected).max()}")
    print(f"ok {what}")


def found(done, classes, line, what):
    """Each of the classes is among the findings at the line, and no other error anywhere."""
    here = {one["class"] for one in done.findings
            if one.get("source", {}).get("line") == line and one["source"]["file"].endswith("triton_kernels.py")}
    others = {one["class"] for one in done.findings if one["severity"] == "error"} - set(classes)
    if not set(classes) <= here or others:
        sys.exit(f"FAIL {what}: {sorted(here)} at line {line}, also {sorted(others)}\n" + "\n".join(done.lines()))
    print(f"ok {what}: {', '.join(classes)} at line {line}")


def main():
    n = 1000
    x, y = random.random(n, dtype=numpy.float32), random.random(n, dtype=numpy.float32)
    out = numpy.zeros_like(x)
    done = gfxgraph.triton.run(add, lambda named: (triton.cdiv(n, named["BLOCK"]),), x, y, out, n, BLOCK=256, check=True)
    close(out, x + y, "add")
    found(done, (), 0, "add, all tools")
    rows = random.random((7, 300), dtype=numpy.float32)
    out = numpy.zeros_like(rows)
    gfxgraph.triton.run(softmax, (7,), rows, out, 300, BLOCK=512)
    powers = numpy.exp(rows - rows.max(1, keepdims=True))
    close(out, powers / powers.sum(1, keepdims=True), "softmax")
    a, b = random.random((50, 90)).astype(numpy.float16), random.random((90, 70)).astype(numpy.float16)
    c = numpy.zeros((50, 70), numpy.float32)
    gfxgraph.triton.run(matmul, (2, 3), a, b, c, 50, 70, 90, BM=32, BN=32, BK=32)
    close(c, a.astype(numpy.float32) @ b.astype(numpy.float32), "matmul")
    # Faults. 1,000 floats end within a page: masked lanes leave the buffer, but not the page.
    x, out = numpy.ones(n, numpy.float32), numpy.zeros(n, numpy.float32)
    done = gfxgraph.triton.run(add, (4,), x, x, out, n, BLOCK=256, check="--masked-lane=literal")
    if not any(one["class"] in ("W1", "W2") and one["source"]["line"] == LINES["masked"] for one in done.findings):
        sys.exit("FAIL masked lanes: " + "\n".join(done.lines()))
    print(f"ok masked lanes at line {LINES['masked']}")
    done = gfxgraph.triton.run(past_the_end, (4,), x, out, n, BLOCK=256, check=True)
    found(done, ("E2",), LINES["past the end"], "past the end")
    done = gfxgraph.triton.run(racing, (2,), x, out, n, BLOCK=256, check="--tool racecheck")
    found(done, ("R4",), LINES["racing"], "race")
    done = gfxgraph.triton.run(accumulates, (4,), x, out, n, BLOCK=256, check=True, uninitialised=("out",))
    if not any(one["class"].startswith("U") and one["source"]["line"] == LINES["uninitialised"] for one in done.findings):
        sys.exit("FAIL uninitialised: " + "\n".join(done.lines()))
    print(f"ok uninitialised at line {LINES['uninitialised']}")
    trace = Path(sys.argv[1]) / "add.gfxg"
    if gfxgraph.triton.run(add, (4,), x, x, out, n, BLOCK=256, record=trace).trace != trace or gfxgraph.Trace(trace).launches != 1:
        sys.exit("FAIL record")
    for wrong, text in ((lambda: gfxgraph.triton.run(add, (0,), x, x, out, n, BLOCK=256), "grid"),
                        (lambda: gfxgraph.triton.run(add, (4,), "x", x, out, n, BLOCK=256), "argument x: str")):
        try:
            wrong()
        except (TypeError, ValueError) as error:
            if text not in str(error):
                sys.exit(f"FAIL refused with {error}")
            continue
        sys.exit(f"FAIL not refused: {text}")
    print("triton_kernels: PASS")


if __name__ == "__main__":
    main()
