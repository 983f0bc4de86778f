"""cyllama, which has llama.cpp with a HIP backend inside: a model of random weights on the device, beside its CPU backend."""

import sys
import tempfile
from pathlib import Path

import cyllama
import numpy
from results import compare, parts

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "llama"))
import make_model  # noqa: E402


def words():
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.gguf"
        model.write_bytes(make_model.model(1))
        texts = []
        for layers in (99, 0):
            with cyllama.LLM(str(model), config=cyllama.GenerationConfig(n_gpu_layers=layers, max_tokens=8, temperature=0.0, n_ctx=256)) as made:
                texts.append(str(made("hello")))
    on_device, on_cpu = [numpy.frombuffer(text.encode(), numpy.uint8) for text in texts]
    compare("words", on_device, on_cpu, 0, "its CPU backend")


parts([words])
