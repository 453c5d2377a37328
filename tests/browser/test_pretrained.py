"""Models of Hugging Face on WebNN give what `transformers` gave, without NumPy in the page."""

from __future__ import annotations

import numpy as np

from tests.browser.harness import PyodidePage
from tests.parity.pretrained import fixtures, in_page
from tests.parity.pretrained.outcome import WEBNN_LIMIT, difference, files

NAMES = (
    "gpt2-base-left",
    "mistral-window",
    "qwen3-plain",
    "bert-base",
    "vit-base",
    "clip-plain",
    "sam-plain",
    "unet-plain",
    "vae-plain",
    "t5-gated",
    "m2m-base",
    "whisper-plain",
)


async def test_models_are_those_of_transformers_on_webnn(pyodide_page: PyodidePage) -> None:
    recorded = fixtures.read()
    above: dict[str, float] = {}
    for name in NAMES:
        fixture = recorded[name]
        inputs = {each: array.tolist() for each, array in fixture.inputs.items()}
        folder = files(fixture, fixtures.SEED)
        found = await pyodide_page.call(in_page.forward, folder, inputs, "webnn")
        arrays = {each: np.array(values, np.float32) for each, values in found.items()}
        apart = difference(arrays, fixture)
        print(f"{name}: {apart:.1e}")
        if apart > WEBNN_LIMIT:
            above[name] = apart
    assert not above
