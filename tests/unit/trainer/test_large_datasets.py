"""Training rows that are too many for the device go there block by block, with the same result."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.unit.trainer.budgets import USUAL
from webnnm import Dataset, History, NNModel
from webnnm.backends.budget import Budget

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(
    sys.platform == "emscripten", reason="minutes inside a page, which has tests of its own"
)

SOURCE = """
m:input shape=[3]; m:output shape=[2];
m:layers matmul(w, shape=[5]), add(b), tanh(), dropout(0.2), matmul(w), add(b), softmax();
"""
WORDS = """
m:input shape=[2] sequence=words; m:output shape=[3]; m:loss CCE;
m:layers lstm(k, r, hiddenSize=4), matmul(w, shape=[3]), softmax();
"""
ROWS = 203


def rows() -> Dataset:
    draw = np.random.default_rng(5)
    x = draw.normal(size=(ROWS, 3))
    return Dataset(x.tolist(), (x[:, 0] > x[:, 1]).astype("int32"), split=(0.9, 0.1, 0))


def changing() -> Dataset:
    def double(inputs: Any, outputs: Any, _stream: Any, epoch: int) -> Any:
        return {n: [[v * epoch for v in row] for row in x.tolist()] for n, x in inputs.items()}, (
            outputs
        )

    return rows().augment(double)


def make_ragged() -> Dataset:
    draw = np.random.default_rng(5)
    x = [draw.normal(size=(n, 2)).tolist() for n in draw.integers(1, 6, 90)]
    return Dataset(x, np.eye(3)[draw.integers(0, 3, 90)].tolist(), split=(1, 0, 0), length="max")


async def train(
    source: str, dataset: Dataset, budget: Budget = USUAL, **settings: Any
) -> tuple[NNModel, History, int]:
    """Train; returned is also how many bytes of data were on the device."""
    model = await NNModel.create(
        source=source, dataset=dataset, backend="numpy", log=lambda _: None
    )
    model.backend.budget = budget
    held: list[int] = []
    given = {"epochs": 3, "batch_size": 4, "seeds": 0, "restore_best": False, **settings}
    history = await model.train(
        on_epoch=lambda _: held.append(model.memory().kinds["training data"]), **given
    )
    return model, history, max(held)


@pytest.mark.usual("1-plain", "7-plain", "7-augmented", "1-ragged", "32-ragged")
@pytest.mark.parametrize(
    ("source", "make"),
    [(SOURCE, rows), (SOURCE, changing), (WORDS, make_ragged)],
    ids=["plain", "augmented", "ragged"],
)
@pytest.mark.parametrize("steps", [1, 7, 32])
async def test_blocks_of_rows_train_as_all_rows_do(source: str, make: Any, steps: int) -> None:
    expected, history, everything = await train(source, make())
    small = Budget(resident_bytes=100, block_steps=steps)
    model, found, held = await train(source, make(), small)
    assert found.losses == history.losses
    for one, other in zip(model.params(), expected.params(), strict=True):
        assert one.value.tolist() == other.value.tolist()
    assert steps > 7 or held < everything


async def test_what_fits_stays() -> None:
    size = int(0.9 * ROWS + 0.5) * 4 * (3 + 2)
    written: list[int] = []
    model = await NNModel.create(source=SOURCE, dataset=rows(), backend="numpy", log=lambda _: None)
    model.backend.budget = Budget(resident_bytes=size)
    write = model.backend.write

    def note_call(tensor: Any, array: Any) -> None:
        written.append(array.data.nbytes)
        write(tensor, array)

    model.backend.write = note_call  # type: ignore[method-assign]
    await model.train(epochs=4, batch_size=4, seeds=0)
    uploads = sum(n > ROWS * 4 * 2 for n in written)
    assert uploads <= 2, "inputs are uploaded once, and once for what is measured at the end"
