"""Models of Hugging Face in a page: their folders are written there, and loaded."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
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
        found = await model.forward(**inputs)
    return {name: HostArray.of(array).tolist() for name, array in found.items()}
