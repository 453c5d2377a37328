"""Runs in a page: models whose networks are ONNX files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import webnnm
from webnnm.core.arrays import HostArray


async def run_folder(
    files: Mapping[str, bytes],
    dtype: Any,
    inputs: Mapping[str, Any] | None,
    texts: Sequence[Mapping[str, Any]],
    backend: str,
) -> dict[str, Any]:
    """Return the outputs for some inputs, and the tokens that arguments of `generate_ids` give."""
    settings: dict[str, Any] = {"backend": backend, "log": lambda line: None}
    async with await webnnm.from_pretrained(dict(files), dtype=dtype, **settings) as model:
        outputs: dict[str, Any] = {}
        if inputs is not None:
            results = await model.predict(**inputs)
            outputs = {name: HostArray.of(array).tolist() for name, array in results.items()}
        tokens = [await model.generate_ids(**arguments) for arguments in texts]
    return {"outputs": outputs, "tokens": tokens}
