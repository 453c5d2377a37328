"""Models of Hugging Face in a page: their folders are written there, and loaded."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import webnnm
from webnnm.core.arrays import HostArray


async def forward(
    files: Mapping[str, bytes], inputs: Mapping[str, Any], backend: str
) -> dict[str, Any]:
    """Return the outputs of a model as nested lists."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        model = await webnnm.from_pretrained(folder, backend=backend, log=lambda line: None)
    async with model:
        found = await model.predict(**inputs)
    return {name: HostArray.of(array).tolist() for name, array in found.items()}


async def generate(
    files: Mapping[str, bytes], ids: list[list[int]], backend: str
) -> list[list[int]]:
    """Return rows of tokens as a model continues them, and as it continues those."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        model = await webnnm.from_pretrained(folder, backend=backend, log=lambda line: None)
    async with model:
        first = await model.generate_ids(ids, max_new_tokens=8)
        return [*first, *await model.generate_ids(first, max_new_tokens=8)]


async def in_each_form(
    files: Mapping[str, bytes], ids: Any, forms: Sequence[Mapping[str, Any]], backend: str
) -> list[dict[str, Any]]:
    """Return scores, tokens and types of a model whose numbers are stored in several ways.

    `unpacks` of a form is whether the device holds float32 of what is packed.
    """
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        for form in forms:
            settings = dict(form)
            device = await webnnm.backend(backend)
            device.unpacks = settings.pop("unpacks", None)
            model = await webnnm.from_pretrained(
                folder, backend=device, log=lambda line: None, **settings
            )
            async with model:
                scores = HostArray.of((await model.predict(input_ids=ids))["logits"])
                types = {n: t.type.dtype for n, t in model.state.parameters.tensors.items()}
                text = await model.generate_ids(ids, max_new_tokens=5)
            results.append({"scores": [*scores.values()], "tokens": text, "types": types})
    return results
