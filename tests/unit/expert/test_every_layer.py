"""Every layer of the notation, its options written or left out, ends in a review, or an error."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

import pytest

from tests.unit.expert.layer_texts import texts
from webnnm import Dataset, NNModel, WebNNMError, ops, parse, plot_model, review
from webnnm.expert.reviewer import DEFAULT_LENGTH
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network

WORDS = [name for name, operator in ops.registry().items() if operator.layer is not None]
TRAINED = 2
"""Texts of each layer that are trained: in these contexts nothing is written but the operands."""


@cache
def accepted(word: str) -> list[str]:
    """Return the texts with a layer that are models."""
    kept: list[str] = []
    for _, text in texts(word):
        try:
            elaborate(parse(text))
        except WebNNMError:
            continue
        kept.append(text)
    return kept


def values(shape: tuple[int, ...], step: int) -> Any:
    """Return nested lists of small numbers, whole ones for words."""
    if not shape:
        return step % 5
    return [values(shape[1:], 3 * step + number) for number in range(shape[0])]


def rows(network: Network) -> Dataset:
    """Return four rows that fit a network."""
    (start,), (end,) = network.inputs, network.outputs
    shapes = [
        (DEFAULT_LENGTH, *features.sizes()) if features.sequence else features.sizes()
        for features in (start.features[0], end.source.features)
    ]
    inputs, targets = ([values(shape, row) for row in range(4)] for shape in shapes)
    return Dataset(inputs, targets, split=(1, 0, 0), batch_size=2)


@pytest.mark.parametrize("word", WORDS)
def test_a_review_of_a_layer_ends(word: str) -> None:
    every = accepted(word)
    assert every, "no text has this layer"
    reviewed = 0
    for text in every:
        try:
            review(text)
        except WebNNMError:  # a text that is only refused when its graph is built
            continue
        reviewed += 1
    assert reviewed


@pytest.mark.parametrize("word", WORDS)
async def test_a_layer_is_shown_and_trained(word: str) -> None:
    pytest.importorskip("numpy")
    done = 0
    for text in islice(accepted(word), TRAINED):
        network = elaborate(parse(text))
        source = f"{text} m:loss MSE;"
        model = await NNModel.create(
            source=source, dataset=rows(network), backend="numpy", log=lambda _: None
        )
        assert word in model.summary() and word in plot_model(model).mermaid()
        assert not [finding for finding in model.review() if finding.failed]
        try:
            await model.train(epochs=1, seeds=0)
        except WebNNMError as error:  # no gradient, not a number, sequences of another length
            assert error.code in ("NNM606", "NNM708", "NNM401"), text
        done += 1
        model.close()
    assert done
