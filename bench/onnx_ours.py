"""An ONNX model as users of webnnm run it, for the page of the contest."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyodide.http import pyfetch

import webnnm

Given = tuple[bytes, dict[str, Any]]
"""The bytes of a file, and data for its input."""


async def take(url: str, name: str, pixels: Any, shape: Any) -> Given:
    """Return the settings with which a model is opened."""
    content = await (await pyfetch(url)).bytes()
    return content, {name: np.reshape(np.asarray(pixels.to_py()), shape)}


class Net:
    """A model on WebNN with data for its input."""

    def __init__(self, model: webnnm.OnnxModel, feeds: dict[str, Any]) -> None:
        self._model, self._feeds = model, feeds

    @classmethod
    async def open(cls, given: Given, sizes: Any) -> Net:
        """Load a model from the bytes of its file, for some sizes."""
        content, feeds = given
        return cls(await webnnm.load_onnx(content, shapes=sizes, backend="webnn"), feeds)

    async def run(self) -> Any:
        """Return the first output."""
        return np.ravel(next(iter((await self._model.predict(self._feeds)).values())))

    def close(self) -> None:
        """Free the memory of the device."""
        self._model.close()
