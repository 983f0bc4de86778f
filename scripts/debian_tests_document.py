"""docs/debian-tests.md from docs/debian-tests.json, the records of scripts/debian-tests, one per line."""

import json
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / "docs/debian-tests.md"
RECORDS = DOCUMENT.with_suffix(".json")
BAD = ("failed", "faulted", "crashed", "timeout")

HEAD = """# Debian's GPU test programs on the software agent

Written by `scripts/debian-tests --document` from its records in `debian-tests.json`; do not edit. Each
program is what Debian built for gfx1030 and ships, run with its suite's own HIP runtime (trixie 5.7.1,
forky 6.4.3) on the software agent.
`scripts/debian-tests --package PACKAGE --only PROGRAM --again` repeats a row; with `--filter CASES` it shows
what single cases print. The limits are those of `scripts/debian-tests.tsv`: large programs run with an
even sample of their cases, rocBLAS and rocSPARSE with a sample of their test data as well; cases that are
large by their name are left out. rocFFT's and hipFFT's cases are those of up to 16384 points; they compile
their kernels when they run, which takes seconds for each, so most of their kernels were from earlier runs (the
script keeps them). Times were taken with the emulator on one core while the machine did other work too.

`timeout`: a case exceeded its limit (15 to 150 s); `not reached`: the program's time was over; neither is a
verdict. ggml's lines are operations and shapes compared with its CPU backend; `skipped` ones are not
supported by that backend. rocThrust's programs run with inputs of up to 65536 elements, their default, and
without the cases that are made for more than 2^31; `skipped` are those that the programs call known failures.

"""

TAIL = """
## Cases with wrong results

- Kernels of these libraries lack barriers: a wave overwrites a word in LDS that other waves of its workgroup may
  not have read yet. On a device they presumably have, as waves go on from a barrier at the same time; the agent's waves
  take turns accordingly (`GFXGRAPH_TIME_SLICE` in [software-agent.md](software-agent.md)), and the cases pass. When each wave
  runs 4000 instructions at a time, they fail. A detector of conflicting accesses between barriers named:
  - rocSOLVER `syevj_small_kernel` (`GESVDJ`): all waves add up the words of `cosines_res`, then the first one stores
    cosines there;
  - rocSOLVER `stebz_splitting_kernel` and `stein_kernel` (`GESVDX`, `SYEVX`, `SYEVDX`, and hipSOLVER's `GESVDA_COMPAT`): `sidx` is
    summed and then assigned, `sval1[0]` is read and then written by the next `iamax`, `work` is read for its sign and
    then scaled. Newer rocSOLVER has a barrier at the last of these. Waves that read different values leave
    loops at different times and meet at different barriers, which the agent warns of;
  - rocPRIM (forky) `adjacent_find`: one word holds the tile's number and then what was found so far. A wave that reads
    the second for the first goes on with a wrong tile, up to waiting for ever.
- rocSPARSE `bsrgemm` with block dimension 7, column-major: two waves of 32 share a block and both read and write
  `workspace_B` without a barrier; it passes for the same reason.
- hipSPARSE `csrgemm_float/930`, with k = 0: the program allocates 100 integers for the row pointers of a matrix of 1799
  rows and asks for all 1800; rocSPARSE's kernel, told 1800, writes them. The agent leaves a gap between
  allocations and so notices; a device may have other buffers there. The same in the other types' cases 929 and
  930, and, with no columns, in `csrgeam_float/693` and `csrgeam2_double_complex/684`.
- rocSPARSE (forky) `csr2csr_compress.conversion/f64_c_10_623_1b_1_rand`: the program keeps what has a magnitude above 1 of
  complex numbers that were made with magnitude 1. Rounding decides: of the matrix' 124 numbers, 8 are above 1
  by 2^-52 when the host computes them with a multiplication and an addition, and 6 with the fused
  instruction that the kernel uses; the case reports 8 and 6. It should fail on a device too.
- rocSPARSE (forky) `csrgemm` and `csrgemm_reuse` with matrix `zero`: the program's host reference makes vectors of nnz = 0 elements,
  and its code fills them without a test for 0, past the heap, before the first kernel of rocSPARSE's csrgemm runs.
  They crash with `GFXGRAPH_NULL_DEVICE=1` too.
- hipCUB `TestTexRef` and `TestTexObj` need textures, which the agent refuses.
- rocThrust `TestCopyIfNonTrivial` fails because of rocThrust: its `copy_if` assigns to objects in LDS that were never
  constructed, which is what the case looks for; rocThrust's changelog lists it as fixed in its version of ROCm 6.3.
- rocPRIM `test_texture_cache_iterator` needs textures too; its cases end the program.
- rocRAND and hipRAND time out where an MT19937 generator is made (its jump-ahead is some 10^11 instructions), in
  Poisson kernels with a large mean, and in LFSR113's (a scalar loop in each of many waves, which do end).
- rocPRIM's other time-outs are long kernels; none of those looked at hangs. `test_intrinsics_atomic` passes with more
  time (7.6, 7.6 and 16.7 10^9 wave-instructions, in three launches each), and all 18 cases of
  `test_lookback_reproducibility` do (operators sleep up to 63 times while later workgroups poll). A case of
  `test_block_sort_bitonic` takes up to 3 10^9. `GraphReduceByKey` reduces 2^30 elements: 9.4 10^9 in its first launch;
  it was not run to its end.
"""


def row(record):
    bad = ", ".join(f"{record[name]} {name}" for name in BAD if record[name]) or "none"
    run = f"{record['chosen']} of {record['cases']}"
    if record["not_reached"]:
        bad += f"; {record['not_reached']} not reached"
    return (f"| {record['suite']} | `{record['package']}` | `{record['program']}` | {run} | {record['passed']} | "
            f"{record['skipped']} | {bad} | {record['seconds']:.0f} |\n")


def stored():
    """The records in RECORDS, {(suite, package, program): record}."""
    old = json.loads(RECORDS.read_text()) if RECORDS.exists() else []
    return {(r["suite"], r["package"], r["program"]): r for r in old}


def text(records):
    lines = [row(records[name]) for name in sorted(records) if records[name]["cases"]]
    passed = sum(record["passed"] for record in records.values())
    table = ("| suite | package | program | cases run | passed | skipped | not passed | seconds |\n"
             "|---|---|---|---|---|---|---|---|\n" + "".join(lines))
    return f"{HEAD}{passed} cases passed in {len(lines)} programs.\n\n{table}{TAIL}"


def write(new):
    """Takes over new records and writes the document of all."""
    records = stored() | new
    rows = ",\n".join(json.dumps(records[name]) for name in sorted(records))
    RECORDS.write_text(f"[\n{rows}\n]\n")
    DOCUMENT.write_text(text(records))
    return 0
