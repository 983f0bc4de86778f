"""JAX programs that XLA turns into HIP graphs (its command buffers), against NumPy or JAX on the CPU: fusions, products by
rocBLAS, a loop, a step of training.

Prints a line for each and ends with 1 when one differs. With an argument only the part of that name. Started by
scripts/experiments/capture-jax.
"""
import sys

import jax
import jax.numpy as jnp
import numpy

RANDOM = numpy.random.default_rng(0)
REPEATS = 5  # the first makes the graph; XLA updates it when a buffer is elsewhere


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(numpy.float32)


def repeated(function, *arguments):
    """The last of several results, each of which has the one before as its first argument."""
    first, *others = [jax.device_put(argument) for argument in arguments]
    for _ in range(REPEATS):
        first = function(first, *others)
    return jax.device_get(first)


def fusions():
    """Kernels that depend on each other: a sum over rows lies between two maps."""
    x, y = floats(33, 47), floats(33, 47)
    step = jax.jit(lambda x, y: jnp.tanh(x / (1 + jnp.abs(x).sum(axis=1, keepdims=True)) + y))
    expected = x
    for _ in range(REPEATS):
        expected = numpy.tanh(expected / (1 + numpy.abs(expected).sum(axis=1, keepdims=True)) + y)
    return repeated(step, x, y), expected


def products():
    x, w = floats(24, 16), floats(16, 16) * numpy.float32(0.25)
    step = jax.jit(lambda x, w: jnp.maximum(x @ w, 0) @ w.T)
    expected = x
    for _ in range(REPEATS):
        expected = numpy.maximum(expected @ w, 0) @ w.T
    return repeated(step, x, w), expected


def loops():
    x, y = floats(8), floats(10, 8)
    step = jax.jit(lambda x, y: jax.lax.scan(lambda c, v: (c * 0.5 + jnp.sin(v), None), x, y)[0])
    expected = x
    for _ in range(REPEATS):
        for row in y:
            expected = expected * numpy.float32(0.5) + numpy.sin(row)
    return repeated(step, x, y), expected


def training():
    """Steps of gradient descent of a network of two layers; the CPU's JAX is the model."""
    parameters = [(floats(16, 32) * numpy.float32(0.2), floats(32)), (floats(32, 8) * numpy.float32(0.2), floats(8))]
    x, wanted = floats(12, 16), floats(12, 8)

    def loss(parameters, x, wanted):
        (w, b), (last_w, last_b) = parameters
        return ((jax.nn.relu(x @ w + b) @ last_w + last_b - wanted) ** 2).mean()

    def descend(parameters, x, wanted):
        return jax.tree.map(lambda value, slope: value - 0.1 * slope, parameters, jax.grad(loss)(parameters, x, wanted))

    got = repeated(jax.jit(descend), parameters, x, wanted)
    with jax.default_device(jax.devices("cpu")[0]):
        expected = repeated(jax.jit(descend), parameters, x, wanted)
    return got, expected


def main():
    wrong = 0
    for part in (fusions, products, loops, training):
        if sys.argv[1:] not in ([], [part.__name__]):
            continue
        try:
            got, expected = part()
            pairs = list(zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True))
            right = all(numpy.allclose(g, e, rtol=1e-4, atol=1e-4) for g, e in pairs)
            print(f"{part.__name__}: {'right' if right else 'WRONG'}", flush=True)
        except Exception as error:  # of the runtime, each of which is a result here
            right = False
            print(f"{part.__name__}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        wrong += not right
    return 1 if wrong else 0


sys.exit(main())
