"""What tests/browser/test_adapters.py does with a model of Hugging Face, in a page or beside it."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import webnnm
from webnnm import PretrainedModel

TEXTS = [[1, 2, 3, 4, 5, 6], [7, 8, 9], [2, 4, 6, 8], [1, 3, 5, 7, 9, 11, 13]]
IDS = [[3, 7, 30, 0], [1, 2, 5, 9]]


async def train_adapter(files: dict[str, bytes], backend: str) -> dict[str, Any]:
    """Train the adapter of a tiny model, and return what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        model = await webnnm.from_pretrained(folder, backend=backend, log=lambda _: None)
    async with model:
        plain, before = await logits(model), await digest(model)
        await model.add_lora(rank=2)
        same = await logits(model) == plain
        settings: dict[str, Any] = {"epochs": 6, "progress": "off", "recompute": True}
        history = await model.train_on(TEXTS, packing=True, length=7, held_back=0.34, **settings)
        told, trained = await model.generate_ids(IDS, max_new_tokens=6), await logits(model)
        unchanged = await digest(model) == before
        data = await model.save_lora()
        await model.merge_lora()
        merged = await logits(model)
        return {
            "losses": [record.loss for record in history.epochs],
            "held_back": [record.val_loss for record in history.epochs],
            "told": told,
            "trained": trained,
            "merged": merged,
            "same": same,
            "unchanged": unchanged,
            "size": len(data),
        }


async def logits(model: PretrainedModel) -> list[float]:
    """Return all scores for some tokens."""
    found = (await model.predict(input_ids=IDS))["logits"]
    return [score for row in found.tolist() for scores in row for score in scores]


async def digest(model: PretrainedModel) -> str:
    """Return a digest of the parameters on the device, adapters left out."""
    found = hashlib.sha256()
    for name, tensor in model.state.parameters.tensors.items():
        if "_lora_" not in name:
            (array,) = await model.backend.read(tensor)
            found.update(name.encode() + bytes(array.data))
    return found.hexdigest()


async def train_style(url: str, texts: list[str], held_back: list[str]) -> dict[str, Any]:
    """Teach SmolLM2 a style, and return how the loss of sentences that it never saw fell."""
    async with await webnnm.from_pretrained(url, backend="webnn", log=lambda _: None) as model:
        before = await digest(model)
        await model.add_lora(rank=8)

        async def loss() -> float:
            model.set_dataset(model.texts(held_back))
            return (await model.test("training")).loss

        usages: list[str] = []
        first = await loss()
        history = await model.train_on(
            texts,
            epochs=3,
            progress="off",
            on_epoch=lambda record: usages.append(str(model.memory())),
        )
        return {
            "first": first,
            "last": await loss(),
            "seconds": history.seconds,
            "usages": usages,
            "unchanged": await digest(model) == before,
            "adapter": list(await model.save_lora()),
        }
