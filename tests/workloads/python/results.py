"""What programs of scripts/workloads/wheels say of their results: a line for each, with a checksum of its bytes, which runs compare."""

import sys
import zlib

wrong = 0  # results so far


def say(name, difference, tolerance, data, reference):
    global wrong
    right = difference <= tolerance  # not so for NaN
    wrong += not right
    print(f"{name}: {'as' if right else 'NOT as'} {reference}, difference {difference:.2g} of {tolerance:g}, bytes {zlib.crc32(data):08x}",
          flush=True)


def compare(name, got, expected, tolerance, reference="NumPy"):
    """Arrays. Differences are absolute for values below one, otherwise relative."""
    import numpy

    got, expected = numpy.atleast_1d(got), numpy.atleast_1d(expected)
    difference = float("inf")
    if got.shape == expected.shape:
        wide = expected.astype(numpy.float64)
        difference = float((numpy.abs(got.astype(numpy.float64) - wide) / numpy.maximum(1, numpy.abs(wide))).max(initial=0))
    say(name, difference, tolerance, got.tobytes(), reference)


def parts(functions):
    """Runs those of the command line, else all, and ends the process: 1 if a value is wrong."""
    known = {function.__name__: function for function in functions}
    for name in sys.argv[1:] or known:
        known[name]()
    sys.exit(1 if wrong else 0)
