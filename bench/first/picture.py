"""The first result of EfficientNet-Lite0 as a page of webnnm computes it."""

from __future__ import annotations

from typing import Any

from webnnm import load_onnx
from webnnm.core.arrays import HostArray


async def first_features(pixels: Any) -> list[float]:
    """Return the features of a picture in planes of red, green and blue."""
    net = await load_onnx("/bench-models/efficientnet-lite0.onnx", backend="webnn")
    output = await net.predict({"image": HostArray("float32", (1, 3, 224, 224), pixels.to_py())})
    (features,) = output["features"].tolist()
    return features
