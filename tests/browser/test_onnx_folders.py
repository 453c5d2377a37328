"""Models in ONNX files in a page give what they give on a desktop."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import onnx_folders_in_page
from tests.browser.harness import PyodidePage
from tests.browser.test_pipelines import check
from tests.unit.transformers import test_onnx_folders as folders
from tests.unit.transformers.onnx_folders import classifier, config, decoder

IDS = [[2, 5, 7], [4, 6, 0]]
CASES: dict[str, tuple[dict[str, bytes], dict[str, Any] | None, list[dict[str, Any]]]] = {
    "classifier": (
        folders.classifier_files(model=classifier()),
        {"input_ids": IDS, "attention_mask": [[1, 1, 1], [1, 1, 0]]},
        [],
    ),
    **{
        kind: (
            {
                "config.json": config(
                    "TinyForCausalLM", max_position_embeddings=64, **folders.ENDS
                ),
                "onnx/model.onnx": decoder(**folders.DECODERS[kind]),
            },
            {"input_ids": IDS},
            [
                {"input_ids": [2, 5, 6, 8, 9], "max_new_tokens": 12},
                {"input_ids": [[2, 5, 6], [7]], "max_new_tokens": 12},
            ],
        )
        for kind in ("branches", "rotated", "distances")
    },
    **{
        f"answers, {kind}": (
            folders.answerer_files(kind, max_position_embeddings=64),
            {"input_ids": IDS, "decoder_input_ids": [[2], [2]]},
            [
                {"input_ids": [5, 8, 9], "max_new_tokens": 12},
                {"input_ids": [[5, 8, 9], [7, 4]], "max_new_tokens": 6, "num_beams": 2},
            ],
        )
        for kind in ("gathered", "distances")
    },
}


@pytest.mark.parametrize("backend", ["webnn", "onnxruntime"])
async def test_results_are_those_of_desktops(pyodide_page: PyodidePage, backend: str) -> None:
    for files, inputs, texts in CASES.values():
        arguments = files, "fp32", inputs, texts
        results = await pyodide_page.call(onnx_folders_in_page.run_folder, *arguments, backend)
        check(results, await onnx_folders_in_page.run_folder(*arguments, "numpy"))
