"""Programs of test_page_values.py that run in the page."""

from __future__ import annotations

from typing import Any

from tests.browser.painting_in_page import HEIGHT, WIDTH, draw, pixels
from webnnm import GraphBuilder, NNModel, WebNNMError, export_graph, load_onnx
from webnnm.backends.pyodide_host import script_value
from webnnm.core.arrays import HostArray

NUMBERS = "(count) => Float32Array.from({ length: count }, (_, k) => Math.sin(k))"
RESIZABLE = """
(array) => {
  const buffer = new ArrayBuffer(array.byteLength, { maxByteLength: 2 * array.byteLength });
  const resizable = new Float32Array(buffer);
  resizable.set(array);
  return resizable;
}
"""
INTEGERS = "(count) => Int32Array.from({ length: count }, (_, k) => k * k)"
SOUND = """
(channels) => {
  const sound = new AudioBuffer({ length: 64, sampleRate: 16000, numberOfChannels: channels });
  for (let k = 0; k < channels; k += 1) sound.getChannelData(k).set([0.5, -0.25, 0.125], k);
  return sound;
}
"""
CLASS = "(value) => value.constructor.name"
PICTURES = {
    "canvas": "(canvas) => canvas",
    "ImageData": "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height)",
    "ImageBitmap": "(canvas) => createImageBitmap(canvas)",
    "VideoFrame": "(canvas) => new VideoFrame(canvas, { timestamp: 0 })",
}


async def _open(backend: str, **inputs: tuple[str, list[int]]) -> Any:
    """Open a network that returns its inputs, doubled."""
    b = GraphBuilder()
    operands = {name: b.input(name, *type) for name, type in inputs.items()}
    graph = b.build({f"double_{name}": x + x for name, x in operands.items()})
    return await load_onnx(await export_graph(graph, format="onnx"), backend=backend)


async def typed_arrays(backend: str) -> dict[str, Any]:
    """Predict with typed arrays, and with the same numbers in Python."""
    net = await _open(backend, x=("float32", [1, 2, 5]), ids=("int32", [3]))
    x, ids = script_value(NUMBERS)(10), script_value(INTEGERS)(3)
    results = await net.predict({"x": x, "ids": ids})
    mixed = await net.predict({"x": x, "ids": [0, 1, 4]})
    rows = HostArray("float32", (1, 2, 5), x.to_py())
    expected = await net.predict({"x": rows, "ids": [0, 1, 4]})
    again = await net.predict({"x": script_value(RESIZABLE)(x), "ids": ids})
    found = {
        "kinds": [type(result).__name__ for result in results.values()],
        "classes": [script_value(CLASS)(result.js) for result in results.values()]
        if backend == "webnn"
        else [],
        "same": [
            {name: values.tolist() for name, values in result.items()}
            == {name: values.tolist() for name, values in expected.items()}
            for result in (results, mixed, again)
        ],
        "shape": memoryview(results["double_x"]).shape,
        "printed": [repr(result) for result in (results["double_ids"], expected["double_ids"])],
        "element": results["double_x"][0, 1, 2] == expected["double_x"][0, 1, 2],
    }
    net.close()
    return found


async def pictures(backend: str) -> dict[str, bool]:
    """Predict with pictures, and with their pixels in Python."""
    shapes = {
        "float32 first": ("float32", [1, 3, HEIGHT, WIDTH]),
        "float32 last": ("float32", [1, HEIGHT, WIDTH, 3]),
        "uint8 first": ("uint8", [1, 3, HEIGHT, WIDTH]),
    }
    flat = pixels(draw())
    planes = [flat[channel::4] for channel in range(3)]
    found: dict[str, bool] = {}
    for name, (dtype, shape) in shapes.items():
        b = GraphBuilder()
        x = b.input("x", dtype, shape)
        graph = b.build({"y": x.max(x)})
        net = await load_onnx(await export_graph(graph, format="onnx"), backend=backend)
        order = (
            [value for plane in planes for value in plane]
            if shape[1] == 3
            else [v for rgb in zip(*planes, strict=True) for v in rgb]
        )
        numbers = order if dtype == "uint8" else [value / 255 for value in order]
        expected = HostArray.of(numbers, dtype).tolist()
        for kind, script in PICTURES.items():
            picture = script_value(script)(draw())
            picture = await picture if kind == "ImageBitmap" else picture
            result = (await net.predict({"x": picture}))["y"]
            away = max(
                abs(a - b) for a, b in zip([*HostArray.of(result).values()], expected, strict=True)
            )
            found[f"{name}, {kind}"] = away <= 1e-6
        net.close()
    return found


async def sounds(backend: str) -> list[Any]:
    """Predict with sounds of one channel and of two."""
    net = await _open(backend, x=("float32", [1, 64]))
    (heard,) = (await net.predict({"x": script_value(SOUND)(1)}))["double_x"].tolist()
    refused = await _refusal(net, script_value(SOUND)(2))
    silent = await _refusal(net, draw())
    net.close()
    return [heard, refused, silent]


async def _refusal(net: Any, value: Any) -> str:
    try:
        await net.predict({"x": value})
    except WebNNMError as error:
        return str(error)
    return ""


async def rows(backend: str) -> dict[str, Any]:
    """Predict rows of a model with a text, in several batches and after other rows."""
    source = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    model = await NNModel.create(source=source, backend=backend, log=lambda _: None)
    found: dict[str, Any] = {}
    for count in (1, 3, 200):
        values = script_value(NUMBERS)(4 * count)
        result = await model.predict(values)
        expected = await model.predict(HostArray("float32", (count, 4), values.to_py()))
        found[str(count)] = result.tolist() == expected.tolist()
    model.close()
    return found
