"""The tasks that a model fits, those that it was made for first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.tasks.tiny_vit import vit_files
from tests.unit.tasks.words import CLASSES, QUIET, folder
from webnnm import from_pretrained, list_tasks, pipeline

pytestmark = pytest.mark.desktop


@pytest.mark.parametrize(
    ("files", "tasks"),
    [
        (lambda: folder(CLASSES), ["text-classification"]),
        (lambda: folder(CLASSES, "one"), ["text-ranking", "text-classification"]),
        (
            lambda: folder(CLASSES, "entailment", "neutral", "contradiction"),
            ["zero-shot-classification", "text-classification"],
        ),
        (lambda: folder("BertForTokenClassification"), ["token-classification"]),
        (lambda: folder("BertForMaskedLM"), ["fill-mask"]),
        (lambda: folder("BertForQuestionAnswering"), ["question-answering"]),
        (lambda: folder("BertModel"), ["sentence-similarity", "feature-extraction"]),
        (lambda: vit_files(*"abc"), ["image-classification"]),
        (vit_files, ["image-feature-extraction"]),
    ],
)
async def test_tasks_are_those_that_open(files: Any, tasks: list[str]) -> None:
    pytest.importorskip("tokenizers")
    async with await from_pretrained(files(), **QUIET) as model:
        assert list_tasks(model) == tasks
        for task in tasks:
            (await pipeline(task, model)).close()
