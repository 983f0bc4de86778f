"""JAX's ROCm plugin beside its CPU platform. XLA makes HIP graphs of jitted functions (its command buffers)."""

import jax
import jax.numpy as jnp
import numpy
from results import compare, parts

REPEATS = 5  # the first ones make graphs
CPU = jax.devices("cpu")[0]
random = numpy.random.default_rng(0)


def floats(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def both(name, function, *arguments, tolerance=1e-5):
    function = jax.jit(function)
    for _ in range(REPEATS):
        got = function(*[jax.device_put(one) for one in arguments])
    with jax.default_device(CPU):
        expected = function(*[jax.device_put(one, CPU) for one in arguments])
    compare(name, jax.device_get(got), jax.device_get(expected), tolerance, "JAX's CPU platform")


def functions():
    both("elements and sums", lambda x, y: jnp.tanh(x) * y + x.sum(axis=1, keepdims=True), floats(33, 47), floats(33, 47))
    both("softmax", jax.nn.softmax, floats(4, 100))
    both("sorted", jnp.sort, floats(5, 100), tolerance=0)
    both("cumulated", lambda x: jnp.cumsum(x, 1), floats(5, 100))
    both("scan", lambda x: jax.lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.zeros(8), x)[1], floats(10, 8))


def libraries():
    both("product", lambda x, y: x @ y, floats(33, 47), floats(47, 29), tolerance=1e-4)
    both("Fourier", lambda x: jnp.abs(jnp.fft.fft(x)), floats(4, 60), tolerance=1e-4)


def training():
    parameters = [(floats(16, 32) * numpy.float32(0.2), floats(32)), (floats(32, 8) * numpy.float32(0.2), floats(8))]
    x, wanted = floats(12, 16), floats(12, 8)

    def loss(parameters, x, wanted):
        (w, b), (last_w, last_b) = parameters
        return ((jax.nn.relu(x @ w + b) @ last_w + last_b - wanted) ** 2).mean()

    @jax.jit
    def step(parameters, x, wanted):
        return jax.tree.map(lambda value, slope: value - 0.1 * slope, parameters, jax.grad(loss)(parameters, x, wanted))

    def trained(device):
        state, given, target = jax.device_put((parameters, x, wanted), device)
        for _ in range(REPEATS):
            state = step(state, given, target)
        return jax.tree.leaves(jax.device_get(state))

    for name, got, expected in zip(("w1", "b1", "w2", "b2"), trained(jax.devices()[0]), trained(CPU)):
        compare(name, got, expected, 1e-4, "JAX's CPU platform")


assert jax.devices()[0].platform != "cpu"
parts([functions, libraries, training])
