"""Models of Hugging Face in a page give what `transformers` gave, without NumPy there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser.harness import PyodidePage
from tests.parity.pretrained import fixtures, in_page
from tests.parity.pretrained.outcome import WEBNN_LIMIT, difference, files
from tests.unit.transformers.folders import wide_files
from tests.work import everything

NAMES = (
    "gpt2-base-left",
    "mistral-window",
    "qwen3-plain",
    "gemma3-plain",
    "phi3-partial",
    "bert-base",
    "roberta-base",
    "deberta-base",
    "modernbert-base",
    "vit-base",
    "clip-plain",
    "smolvlm",
    "florence2",
    "blip",
    "sam-plain",
    "resnet-base",
    "swin-classes",
    "detr-objects",
    "unet-plain",
    "vae-plain",
    "t5-gated",
    "m2m-base",
    "whisper-plain",
    "wav2vec2-letters",
    "vits-plain",
)
GENERATING = ("gemma2-plain", "gptj-plain", "bloom-plain", "mixtral-plain", "lfm2-plain")


@pytest.mark.parametrize("backend", ["webnn", "onnxruntime"])
async def test_models_are_those_of_transformers(pyodide_page: PyodidePage, backend: str) -> None:
    recorded = fixtures.read()
    above: dict[str, float] = {}
    for name in recorded if everything() else NAMES:
        fixture = recorded[name]
        inputs = {each: array.tolist() for each, array in fixture.inputs.items()}
        folder = files(fixture, fixtures.SEED)
        found = await pyodide_page.call(in_page.forward, folder, inputs, backend)
        arrays = {each: np.array(values, np.float32) for each, values in found.items()}
        apart = difference(arrays, fixture)
        print(f"{name}: {apart:.1e}")
        if apart > WEBNN_LIMIT:
            above[name] = apart
    assert not above


async def test_texts_on_webnn_are_those_on_numpy(pyodide_page: PyodidePage) -> None:
    recorded = fixtures.read()
    for name in GENERATING:
        given = files(recorded[name], fixtures.SEED), [[5, 9, 12], [7, 3, 11]]
        expected = await in_page.generate(*given, "numpy")
        assert await pyodide_page.call(in_page.generate, *given, "webnn") == expected, name


async def test_packed_weights_and_float16_compute_on_webnn_as_on_numpy(
    pyodide_page: PyodidePage,
) -> None:
    packed = [{"weights": "int8"}, {"weights": "int4"}]
    forms = [*packed, *({**form, "unpacks": False} for form in packed), {"dtype": "float16"}]
    ids = [[3, 7, 30, 0], [1, 2, 5, 9]]
    given = wide_files(), ids, forms
    wanted = await in_page.in_each_form(*given, "numpy")
    found = await pyodide_page.call(in_page.in_each_form, *given, "webnn")
    types = [[each["types"].get(f"wq1{part}") for part in ("", "/whole")] for each in found]
    assert types == [
        *[["float32", None]] * 2,
        *([None, "int8"], [None, "uint4"]),
        [None, "float16"],
    ]
    for form, own, other in zip(forms, found, wanted, strict=True):
        scores = np.array(other["scores"])
        apart = np.abs(np.array(own["scores"]) - scores).max() / np.abs(scores).max()
        assert apart < (2e-3 if "dtype" in form else WEBNN_LIMIT), form
        assert own["tokens"] == other["tokens"], form
