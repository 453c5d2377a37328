"""Gradients of models against central differences: what agrees, and where a wrong rule is found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from webnnm import NNModel, ops
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.model.checking_gradients import ModelGradients, check_gradients

pytest.importorskip("numpy")

MODELS = {
    "classes": """m:input shape=[4]; m:output shape=[3];
        m:layers matmul(w, shape=[5]), add(b), tanh(), matmul(w), softmax();""",
    "pictures": """m:input shape=[1, 6, 6]; m:output shape=[2];
        m:layers conv2d(w, shape=[2, 3, 3]), relu(), flatten(), matmul(w), sigmoid();""",
    "words": """m:input int32 shape=[2]; m:output shape=[1];
        m:layers embedding(w, size=5, shape=[2, 3]), flatten(), layerNormalization(scale, bias),
            matmul(w);""",
}


def check(text: str, dataset: Any = None, **settings: Any) -> ModelGradients:
    async def main() -> ModelGradients:
        async with await NNModel.create(
            source=text, backend="numpy", dataset=dataset, log=lambda _: None
        ) as model:
            return await check_gradients(model.state, **settings)

    return asyncio.run(main())


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_models_agree(name: str) -> None:
    found = check(MODELS[name])
    assert found.ok, str(found)
    assert found.parameters.worst is not None
    assert found.parameters.worst.error < 1e-5


def test_rows_of_data_are_taken() -> None:
    rows = [[k / 4, -k / 3, k % 2, 1.0] for k in range(12)]
    labels = [[float(k % 3 == at) for at in range(3)] for k in range(12)]
    data = Dataset(rows, labels, split=[1, 0, 0])
    assert check(MODELS["classes"], data, rows=5, elements=3).ok


@pytest.fixture
def wrong_tanh() -> Iterator[None]:
    """A rule for tanh that forgets the square."""
    tanh = ops.registry()["tanh"]
    right = tanh.gradient
    object.__setattr__(tanh, "gradient", lambda b, g, y, *_: [g * (1 - y)])
    yield
    object.__setattr__(tanh, "gradient", right)


@pytest.mark.usefixtures("wrong_tanh")
def test_a_wrong_rule_is_named_with_its_place_in_the_text() -> None:
    found = check(MODELS["classes"])
    assert not found.ok
    assert {each.place for each in found.operators.faults} == {"tanh1 (line 2, column 48) by input"}
    assert {each.place for each in found.parameters.faults} == {"w1", "b1"}
    assert "worst: tanh1 (line 2, column 48) by input[" in str(found)
    assert found.to_dict()["ok"] is False


def test_models_without_trainable_parameters_are_refused() -> None:
    with pytest.raises(DataError, match="no trainable parameters"):
        check("m:input shape=[4]; m:output shape=[4]; m:layers softmax();")
