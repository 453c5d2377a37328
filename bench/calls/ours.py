"""Calls of EfficientNet-Lite0 from a page, through arrays of Python and as values of JavaScript."""

from __future__ import annotations

from typing import Any

from pyodide.ffi import to_js

from webnnm import load_onnx
from webnnm.core.arrays import HostArray

nets: list[Any] = []


async def open() -> None:
    """Open the network."""
    nets.append(await load_onnx("/bench-models/efficientnet-lite0.onnx", backend="webnn"))


async def arrays(pixels: Any) -> Any:
    """Return the features of pixels that are copied to Python, copied to JavaScript."""
    image = HostArray("float32", (1, 3, 224, 224), pixels.to_py())
    return to_js((await nets[0].predict({"image": image}))["features"].cast("B").cast("f"))


async def values(pixels: Any) -> Any:
    """Return the features of pixels that Python does not look at."""
    return (await nets[0].predict({"image": pixels}))["features"].js
