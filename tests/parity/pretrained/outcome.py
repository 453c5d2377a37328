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
from webnnm.snapshots.safetensors import chunks
from webnnm.transformers.architectures import CLASS, SIZED_BY_PROCESSOR
from webnnm.transformers.pretrained import OF_DIFFUSERS, WEIGHTS
from webnnm.transformers.processors.picture_settings import FILE as PROCESSOR

LIMIT = 1e-5
"""How far an output may be from that of `transformers` on NumPy, relatively."""
WEBNN_LIMIT = 1e-4


def files(fixture: Fixture, seed: int) -> dict[str, bytes]:
    """Return the files of the folder of a model, by name."""
    processor = {}
    pixels, config = fixture.inputs.get("pixel_values"), fixture.config
    if pixels is not None and config.get("model_type") in SIZED_BY_PROCESSOR:
        height, width = pixels.shape[2:]
        sizes = {"image_processor_type": "ViTImageProcessor", "size": [height, width]}
        processor = {PROCESSOR: json.dumps(sizes).encode()}
    drawn = draw_weights(fixture.shapes, seed, fixture.scale)
    arrays = {name: HostArray.of(array) for name, array in drawn.items()}
    return {
        "config.json": json.dumps(config).encode(),
        **processor,
        OF_DIFFUSERS if CLASS in config else WEIGHTS: b"".join(chunks(arrays, {"format": "pt"})),
    }


def outputs(fixture: Fixture, seed: int, **settings: Any) -> Arrays:
    """Return the outputs of a case; `settings` are those of `from_pretrained`."""
    settings = {"backend": "numpy", "log": lambda line: None, **settings}

    async def compute(folder: str) -> Arrays:
        model = await webnnm.from_pretrained(folder, **settings)
        async with model:
            return await model.predict(**fixture.inputs)

    with tempfile.TemporaryDirectory() as folder:
        for name, data in files(fixture, seed).items():
            Path(folder, name).write_bytes(data)
        return asyncio.run(compute(folder))


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
        ratio = float(apart.max() / np.abs(wanted).max())
        assert not np.isnan(ratio), f"{name} has no number but 0, or some that are none"
        largest = max(largest, ratio)
    return largest
