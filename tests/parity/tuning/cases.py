"""What is learnt from texts of tokens, and adapters: in this package and in Hugging Face's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import webnnm
from tests.parity.pretrained import fixtures, generated
from tests.parity.pretrained.fixtures import SEED, Fixture
from tests.parity.pretrained.outcome import files
from webnnm import PretrainedModel

FILE = Path(__file__).with_name("fixtures.json")
LIMIT = 1e-5
"""How far losses, gradients and logits may be apart, relative to the largest number."""

ROWS = ([1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11], [5, 6, 7, 3, 2])
CAUSAL = ("gpt2-plain", "llama-biases", "qwen3-plain", "gemma-plain")
"""Models of `tests.parity.pretrained`: with tied and separate embeddings, of odd norms."""
PAIRS = (
    ([5, 6, 7, 8, 9], [10, 11]),
    ([12, 5], [6, 13, 14, 15]),
    ([9, 8, 7], [16]),
)
PAIRED = ("t5", "bart", "m2m")
"""Models of `tests.parity.pretrained.generated` with an encoder.

Marian's decoders begin with the token of padding, of whose row PyTorch has no gradient.
"""
ADAPTED = {
    "gpt2-plain": ("attend", ("c_attn", "c_fc")),
    "llama-biases": ("attend", ("q_proj", "up_proj")),
    "t5-gated": ("attend", ("q", "v", "wo")),
}
"""Models that have an adapter: its targets here, and those of one that `peft` makes."""


class Learnt(NamedTuple):
    """A loss, and the length of its gradient with respect to every parameter."""

    loss: float
    gradients: dict[str, float]

    def apart(self, other: Learnt) -> float:
        """Return the largest difference, relative to the loss or to the longest gradient."""
        assert self.gradients.keys() == other.gradients.keys()
        longest = max(other.gradients.values())
        found = [abs(self.gradients[n] - v) / longest for n, v in other.gradients.items()]
        return max(abs(self.loss - other.loss) / other.loss, *found)


async def open_model(fixture: Fixture, folder: str | Path) -> PretrainedModel:
    """Write a model into a folder, and return it on NumPy."""
    for name, data in files(fixture, SEED).items():
        Path(folder, name).write_bytes(data)
    return await webnnm.from_pretrained(folder, backend="numpy", log=lambda line: None)


async def learnt(fixture: Fixture, folder: str | Path) -> Learnt:
    """Return what one step of gradient descent with rate 1 tells."""
    async with await open_model(fixture, folder) as model:
        before = arrays(model)
        history = await model.train_on(
            PAIRS if model.config.get("is_encoder_decoder") else ROWS,
            batch_size=len(ROWS),
            epochs=1,
            optimizer="sgdm",
            momentum=0.0,
            lr=1.0,
            weight_decay=0.0,
            schedule="constant",
            clipping="off",
            restore_best=False,
            progress="off",
        )
        return Learnt(history.epochs[0].loss, lengths(before, arrays(model)))


def arrays(model: PretrainedModel) -> dict[str, Any]:
    """Return the parameters of a model in float64."""
    values = model.state.parameters.values()
    return {name: np.array(array.values(), np.float64) for name, array in values.items()}


def lengths(before: dict[str, Any], after: dict[str, Any]) -> dict[str, float]:
    """Return how far every parameter has moved."""
    return {name: float(np.linalg.norm(after[name] - each)) for name, each in before.items()}


async def draw_adapter(model: PretrainedModel, targets: str) -> None:
    """Add an adapter to a model that changes something."""
    await model.add_lora(targets, rank=3, alpha=5)
    random = np.random.default_rng(SEED)
    for parameter in model.params():
        if "_lora_b" in parameter.name:
            drawn = random.normal(size=parameter.shape).astype(np.float32) * 0.1
            model.state.parameters.set(parameter.name, drawn)


def scores_apart(found: Any, wanted: Any, mask: Any) -> float:
    """Return how far logits are apart where tokens count, relative to the largest."""
    counted = np.asarray(mask)[..., None]
    difference = np.abs(np.asarray(found, np.float64) - wanted) * counted
    return float(difference.max() / np.abs(wanted * counted).max())


def target_mask(fixture: Fixture) -> Any:
    """Return which of the tokens count that there are logits for."""
    given = fixture.inputs
    return given.get("decoder_attention_mask", given["attention_mask"])


def models() -> dict[str, Fixture]:
    """Return the models of all cases by name."""
    texts = {name: fixture for name, (fixture, _) in generated.read().items()}
    return fixtures.read() | texts


def read() -> dict[str, Any]:
    """Return the committed fixtures: "learnt" by case, and "adapters" of `peft` by case."""
    return json.loads(FILE.read_text())
