"""Networks that read pictures of any size have a graph for each, and the same parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from webnnm import DataError
from webnnm.transformers.any_size import MAX_SIZES

pytestmark = pytest.mark.desktop
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
NAMES = (
    *("detr-objects", "detr-masks", "maskformer", "yolos-objects", "depth-anything"),
    "dinov2-stretched",
)


def draw(height: int, width: int) -> Any:
    return np.random.default_rng(height * width).random((2, 3, height, width), np.float32)


async def predict(model: Any, pixels: Any) -> dict[str, Any]:
    outputs = await model.predict(pixel_values=pixels)
    return {name: np.asarray(values) for name, values in outputs.items()}


@pytest.mark.parametrize("name", NAMES)
async def test_results_are_those_of_a_model_for_that_size(name: str) -> None:
    contents = files(fixtures.read()[name], fixtures.SEED)
    pixels = draw(16, 20)
    async with await webnnm.from_pretrained(contents, **QUIET) as model:
        actual = await predict(model, pixels)
        assert model.picture_size() is None
    sized = contents
    if name != "yolos-objects":  # its table has a size of its own
        async with await webnnm.from_pretrained(sized, image_size=(16, 20), **QUIET) as model:
            assert model.picture_size() == (16, 20)
            expected = await predict(model, pixels)
            for output, values in expected.items():
                np.testing.assert_allclose(actual[output], values, rtol=1e-5, atol=1e-6)
            with pytest.raises(DataError, match="NNM702"):
                await predict(model, draw(20, 16))


async def test_packed_weights_and_changes_count_for_all_sizes() -> None:
    contents = files(fixtures.read()["detr-objects"], fixtures.SEED)
    pixels = draw(16, 20)
    async with await webnnm.from_pretrained(contents, **QUIET) as model:
        before = await predict(model, pixels)
        value = next(p.value for p in model.params() if p.name == "query_positions")
        model.state.parameters.set("query_positions", 2 * np.asarray(value))
        changed = await predict(model, pixels)
        assert not np.allclose(before["logits"], changed["logits"])
        await webnnm.quantize(model, "float16")
        packed = await predict(model, pixels)
        np.testing.assert_allclose(packed["logits"], changed["logits"], atol=2e-2)


async def test_graphs_of_the_latest_sizes_are_kept() -> None:
    contents = files(fixtures.read()["detr-objects"], fixtures.SEED)
    async with await webnnm.from_pretrained(contents, **QUIET) as model:
        nothing = model.backend.memory()
        first = await predict(model, draw(16, 16))
        for width in range(17, 17 + 2 * MAX_SIZES):
            await predict(model, draw(16, width))
        assert model.backend.memory().graphs == MAX_SIZES
        again = await predict(model, draw(16, 16))
        np.testing.assert_array_equal(first["logits"], again["logits"])
        model._forget_network()
        assert model.backend.memory() == nothing


async def test_adapters_belong_to_one_size() -> None:
    fixture = fixtures.read()["yolos-objects"]
    async with await webnnm.from_pretrained(files(fixture, 0), **QUIET) as model:
        size = fixture.inputs["pixel_values"].shape[2:]
        await model.add_lora("up*", rank=1)
        assert model.picture_size() == size
        await predict(model, draw(*size))
        with pytest.raises(DataError, match="NNM702"):
            await predict(model, draw(16, 20))
