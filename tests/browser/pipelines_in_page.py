"""Runs in a page: pipelines of texts and of pictures."""

from __future__ import annotations

from typing import Any

from tests.unit.tasks.tiny_vit import vit_files
from tests.unit.tasks.words import CLASSES, folder
from webnnm import pipeline
from webnnm.core.arrays import HostArray
from webnnm.data.pictures.decoded_picture import Filter


async def run_tasks(backend: str) -> dict[str, Any]:
    """Return what pipelines find in a few texts and a picture."""
    settings: dict[str, Any] = {"backend": backend, "log": lambda line: None}
    results: dict[str, Any] = {}
    files = folder("BertForTokenClassification", "O", "B-X", "I-X")
    async with await pipeline("ner", files, **settings) as recognize:
        results["tokens"] = await recognize("What  a badly day.", ignore_labels=[])
        results["words"] = await recognize("badly Xylo", aggregation_strategy="first")
    async with await pipeline("text-classification", folder(CLASSES), **settings) as classify:
        pair = {"text": "so good", "text_pair": "bad"}
        results["classes"] = await classify([pair, {"text": "day"}], top_k=None, batch_size=2)
    files = folder("BertForQuestionAnswering")
    async with await pipeline("question-answering", files, **settings) as answer:
        results["answer"] = await answer(question="what", context="so good, a day.")
    async with await pipeline("fill-mask", folder("BertForMaskedLM"), **settings) as fill:
        results["gaps"] = await fill("so [MASK] [MASK]", top_k=2)
    pixels = HostArray("uint8", (9, 12, 3), bytes(range(256)) + bytes(range(68)))
    for number in Filter:
        files = vit_files(*"abc", resample=int(number))
        async with await pipeline("image-classification", files, **settings) as classify:
            results[number.name] = await classify([pixels, pixels], function_to_apply="none")
    async with await pipeline("image-feature-extraction", vit_files(), **settings) as extract:
        results["vector"] = HostArray.of(await extract(pixels, pool=True)).tolist()
    return results
