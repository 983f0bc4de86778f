"""A test of a Triton kernel whose masked lanes leave its buffers: what pytest --gfxgraph says of it (scripts/experiments/check-triton)."""

import gfxgraph.triton
import numpy
import triton
import triton.language as tl


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n)  # lanes from n on are masked
    tl.store(out + i, values * 2, mask=i < n)


def test_double():
    x = numpy.ones(1000, numpy.float32)
    out = numpy.zeros_like(x)
    gfxgraph.triton.run(double, (1,), x, out, 1000, BLOCK=4096)
    assert (out == 2).all()
