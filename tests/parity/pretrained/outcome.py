"""A case computed by this package, from a folder as Hugging Face writes them."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import webnnm
from tests.parity.pretrained.fixtures import Arrays, Fixture, draw_weights
from webnnm.core.arrays import HostArray
from webnnm.formats.safetensors import chunks

LIMIT = 1e-5


def write_folder(folder: Path, config: Any, weights: Arrays) -> None:
    """Write a config and weights as a folder of Hugging Face has them."""
    (folder / "config.json").write_text(json.dumps(config))
    arrays = {name: HostArray.of(array) for name, array in weights.items()}
    (folder / "model.safetensors").write_bytes(b"".join(chunks(arrays, {"format": "pt"})))


def outputs(fixture: Fixture, seed: int, backend: str = "numpy") -> Arrays:
    """Return the outputs of a case."""

    async def computed(folder: str) -> Arrays:
        model = await webnnm.from_pretrained(folder, backend=backend, log=lambda line: None)
        async with model:
            return await model.forward(**fixture.inputs)

    with tempfile.TemporaryDirectory() as folder:
        write_folder(Path(folder), fixture.config, draw_weights(fixture.shapes, seed))
        return asyncio.run(computed(folder))


def difference(found: Arrays, fixture: Fixture) -> float:
    """Return the largest difference of an output, relative to its largest number.

    What padding in front of a row attends to is nothing, and its results mean nothing.
    """
    assert found.keys() == fixture.outputs.keys(), f"{[*found]} and {[*fixture.outputs]}"
    largest = 0.0
    for name, wanted in fixture.outputs.items():
        given = np.asarray(found[name])
        assert given.shape == wanted.shape, f"{name}: {given.shape} and {wanted.shape}"
        apart = np.abs(given.astype(np.float64) - wanted)
        of_target = "decoder_input_ids" in fixture.inputs and not name.startswith("encoder")
        mask = fixture.inputs.get(f"{'decoder_' if of_target else ''}attention_mask")
        if mask is not None and wanted.shape[:2] == mask.shape and not mask[:, 0].all():
            apart = apart[mask.astype(bool)]
        largest = max(largest, float(apart.max() / np.abs(wanted).max()))
    return largest
