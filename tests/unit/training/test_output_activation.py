"""Output activations: what is looked through, and what is not one (spec D.2, D.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.training.trained import create, run
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.training.output_activation import find_activation

np = pytest.importorskip("numpy")

MOVES: dict[str, Callable[[GraphBuilder, Operand], Operand]] = {
    "transposed": lambda b, p: b.transpose(p, permutation=[0, 2, 1, 3]),
    "split": lambda b, p: b.reshape(p, new_shape=[2, 3, 2, 2, 5]),
    "joined": lambda b, p: b.reshape(p, new_shape=[24, 5]),
    "there and back": lambda b, p: b.transpose(
        b.transpose(p, permutation=[3, 0, 1, 2]), permutation=[1, 3, 2, 0]
    ),
    "cast on the way": lambda b, p: b.identity(
        b.cast(b.transpose(b.cast(p, type="float16"), permutation=[1, 0, 2, 3]), type="float32")
    ),
}
SHAPE = [2, 3, 4, 5]


@pytest.mark.parametrize("kind", ["softmax", "logSoftmax", "sigmoid"])
@pytest.mark.parametrize("move", MOVES)
def test_activations_are_seen_through_other_orders_of_their_elements(kind: str, move: str) -> None:
    b = GraphBuilder()
    z = b.input("z", "float32", SHAPE)
    made = {
        "softmax": lambda x: b.softmax(x, axis=3),
        "logSoftmax": lambda x: b.log_softmax(x, axis=3),
        "sigmoid": b.sigmoid,
    }[kind]
    found = find_activation(MOVES[move](b, made(z)))
    assert (found.kind, found.elsewhere) == (kind, False)
    assert found.logits.shape == found.output.shape
    again = b.sigmoid(found.logits) if kind == "sigmoid" else b.softmax(found.logits, axis=-1)
    output = b.exp(found.output) if kind == "logSoftmax" else found.output
    feeds = {"z": np.random.default_rng(1).normal(size=SHAPE).astype("float32").tolist()}
    numbers = run(b.build({"again": again, "output": output}), feeds)
    assert np.allclose(numbers["again"], numbers["output"], atol=2e-3)


@pytest.mark.parametrize(
    "finish",
    [
        lambda b, p: p,
        lambda b, p: b.transpose(p, permutation=[0, 2, 1, 3]),
        lambda b, p: b.reshape(p, new_shape=[2, 60]),
    ],
)
def test_a_softmax_elsewhere_is_not_a_head(
    finish: Callable[[GraphBuilder, Operand], Operand],
) -> None:
    b = GraphBuilder()
    found = find_activation(finish(b, b.softmax(b.input("z", "float32", SHAPE), axis=1)))
    assert (found.kind, found.elsewhere) == ("linear", True)


def test_classes_may_become_last() -> None:
    b = GraphBuilder()
    p = b.softmax(b.input("z", "float32", SHAPE), axis=1)
    found = find_activation(b.transpose(p, permutation=[0, 2, 3, 1]))
    assert found.kind == "softmax"
    assert found.logits.shape == (2, 4, 5, 3)


def test_classes_that_lie_flat_with_others_are_not_classes() -> None:
    b = GraphBuilder()
    p = b.softmax(b.input("z", "float32", SHAPE), axis=3)
    assert find_activation(b.reshape(p, new_shape=[2, 60])).elsewhere


PIXELS = """
m:input shape={{height:2, width:2, channels:1}};
m:output shape={output};
m:layers conv2d(w, kernel=1, filters=3, inputLayout=nhwc), {activation};
"""
LAST, FIRST = "{height:2, width:2, channels:3}", "{channels:3, height:2, width:2}"


def pixels(*, first: bool) -> Dataset:
    draw = np.random.default_rng(0)
    y = np.eye(3)[draw.integers(0, 3, size=(8, 2, 2))]
    y = y.transpose(0, 3, 1, 2) if first else y
    return Dataset(draw.normal(size=(8, 2, 2, 1)).tolist(), y.tolist(), split=(1, 0, 0))


async def choose(text: str, data: Dataset) -> Any:
    model = await create(text, data)
    try:
        return model.state.objectives()["m"]
    finally:
        model.close()


async def test_an_output_whose_classes_are_last_is_a_softmax() -> None:
    text = PIXELS.format(output=LAST, activation="softmax(axis=channels)")
    found = await choose(text, pixels(first=False))
    assert (found.activation, found.choice.loss.name) == ("softmax", "CCE")


async def test_a_transpose_at_the_end_may_put_them_last() -> None:
    activation = (
        "transpose(permutation=[2, 0, 1]), softmax(axis=0), transpose(permutation=[1, 2, 0])"
    )
    text = PIXELS.format(output="[2, 2, 3]", activation=activation)
    found = await choose(text, pixels(first=False))
    assert (found.activation, found.choice.loss.name) == ("softmax", "CCE")


async def test_no_loss_is_chosen_for_classes_elsewhere() -> None:
    activation = "softmax(axis=channels), transpose(permutation=[2, 0, 1])"
    text = PIXELS.format(output=FIRST, activation=activation)
    with pytest.raises(DataError, match=r'output "m" ends in a softmax,.*\[3, 2, 2\]') as caught:
        await choose(text, pixels(first=True))
    assert caught.value.code == "NNM604"
    assert "transpose" in caught.value.hint
    found = await choose(text + "m:loss MSE;", pixels(first=True))
    assert (found.activation, found.choice.loss.name) == ("linear", "MSE")
