"""tinygrad on its HIP device: a network of two layers, trained by a jitted step. It has no graphs for HIP (0.14): its jit repeats launches."""

import numpy
import tinygrad.runtime.support.compiler_amd as compiler
from results import compare, parts

# It gives comgr an option that is empty, which comgr 3 refuses. No options are meant.
with_options = compiler.set_options
compiler.set_options = lambda action, options: with_options(action, options or b"-O3")

from tinygrad import Device, Tensor, TinyJit  # noqa: E402

STEPS, RATE = 16, 0.05
random = numpy.random.default_rng(5)


def floats(*shape):
    return random.standard_normal(shape).astype(numpy.float32) * numpy.float32(0.3)


def training():
    assert Device.DEFAULT == "HIP", Device.DEFAULT
    x, wanted = floats(12, 16), floats(12, 8)
    start = [floats(16, 32), floats(32), floats(32, 8), floats(8)]
    parameters = [Tensor(one).realize() for one in start]
    there, target = Tensor(x).realize(), Tensor(wanted).realize()

    @TinyJit
    def step(given):
        w1, b1, w2, b2 = parameters
        loss = (((given @ w1 + b1).relu() @ w2 + b2 - target) ** 2).mean()
        slopes = loss.gradient(*parameters)
        for parameter, slope in zip(parameters, slopes):
            parameter.assign(parameter - RATE * slope)
        return loss.realize(*parameters)

    for _ in range(STEPS):
        loss = float(step(there).numpy())

    w1, b1, w2, b2 = [one.astype(numpy.float64) for one in start]
    for _ in range(STEPS):
        hidden = x @ w1 + b1
        apart = numpy.maximum(hidden, 0) @ w2 + b2 - wanted
        expected = (apart**2).mean()
        slope = 2 * apart / apart.size
        back = slope @ w2.T * (hidden > 0)
        w2, b2 = w2 - RATE * numpy.maximum(hidden, 0).T @ slope, b2 - RATE * slope.sum(0)
        w1, b1 = w1 - RATE * x.T @ back, b1 - RATE * back.sum(0)
    compare("loss", numpy.float32(loss), expected, 1e-5)
    for name, parameter, model in zip(("w1", "b1", "w2", "b2"), parameters, (w1, b1, w2, b2)):
        compare(name, parameter.numpy(), model, 1e-5)


def operations():
    a, b = floats(33, 47), floats(47, 29)
    product = numpy.maximum(a @ b, 0)
    powers = numpy.exp(product - product.max(-1, keepdims=True))
    compare("softmax", (Tensor(a) @ Tensor(b)).relu().softmax().numpy(), powers / powers.sum(-1, keepdims=True), 1e-5)
    image, filters = floats(1, 3, 8, 8), floats(4, 3, 3, 3)
    padded = numpy.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    compare("convolution", Tensor(image).conv2d(Tensor(filters), padding=1).numpy(), numpy.einsum("nchwij,fcij->nfhw", windows, filters), 1e-5)


parts([training, operations])
