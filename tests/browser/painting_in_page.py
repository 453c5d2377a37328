"""Programs of test_painting.py that run in the page."""

from __future__ import annotations

import asyncio
from typing import Any

import webnnm
from webnnm import GraphBuilder, NNModel, export_graph, load_onnx, open_painter
from webnnm.backends.pyodide_host import script_value

WIDTH, HEIGHT = 16, 12
DRAW = """
(width, height, begin, end) => {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const colours = context.createLinearGradient(0, 0, width, height);
  colours.addColorStop(0, begin);
  colours.addColorStop(0.5, "#2fa");
  colours.addColorStop(1, end);
  context.fillStyle = colours;
  context.fillRect(0, 0, width, height);
  return canvas;
}
"""
PIXELS = """
(canvas) => Array.from(
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data)
"""
CANVAS = "() => new OffscreenCanvas(1, 1)"

TEXT = """
m:input shape={channels:3, height:12, width:16}; m:output shape=[3, 12, 16];
m:layers mul(-1), add(1);
"""
CONVOLUTION = """
m:input shape={channels:3, height:12, width:16}; m:output shape=[3, 12, 16];
m:layers conv2d(w, filters=3, kernel=3, padding=same), sigmoid();
"""


def draw(width: int = WIDTH, height: int = HEIGHT, begin: str = "#f08", end: str = "#06f") -> Any:
    """Return a canvas with colours that change from corner to corner."""
    return script_value(DRAW)(width, height, begin, end)


def make_canvas() -> Any:
    """Return a canvas without a context."""
    return script_value(CANVAS)()


def pixels(canvas: Any) -> list[int]:
    """Return the pixels of a canvas, as RGBA."""
    return script_value(PIXELS)(canvas).to_py()


def count(name: str) -> int:
    """Return what tests/browser/pages/interop.js has counted."""
    return getattr(script_value("interop"), name)


async def painted(model: Any, picture: Any, *, webgpu: bool = True, **settings: Any) -> Any:
    """Return the route, the reason and the pixels of the second of two paintings of a picture."""
    inputs = settings.pop("inputs", None)
    async with await open_painter(model, webgpu=webgpu, **settings) as painter:
        canvas = make_canvas()
        await painter.paint(picture, canvas, inputs)
        await painter.paint(picture, canvas)
        return painter.route, painter.reason, pixels(canvas)


async def compared(model: Any, picture: Any, **settings: Any) -> tuple[str, int, list[int]]:
    """Return the route over WebGPU, how far it is from that over the host, and its pixels."""
    route, reason, result = await painted(model, picture, **settings)
    host, _, expected = await painted(model, picture, **settings, webgpu=False)
    assert host == "host"
    assert len(result) == len(expected)
    difference = max(abs(a - b) for a, b in zip(result, expected, strict=True))
    return route or reason, difference, result


async def make_model(backend: dict[str, str], source: str = TEXT) -> NNModel:
    return await NNModel.create(source=source, log=lambda line: None, **backend)  # type: ignore[arg-type]


async def make_onnx(backend: dict[str, str], dtype: str, shape: list[int], value: float) -> Any:
    """Return a network in ONNX that subtracts a picture from a number."""
    b = GraphBuilder()
    picture = b.cast(b.input("picture", dtype, shape), type="float32")
    result = b.cast(value - picture, type=dtype)
    content = await export_graph(b.build({"result": result}), format="onnx")
    return await load_onnx(content, **backend)  # type: ignore[arg-type]


async def layouts(backend: dict[str, str], dtypes: list[str]) -> dict[str, Any]:
    """Paint in all layouts, and in some types of tensors."""
    results: dict[str, Any] = {"source": pixels(draw())}
    cases: dict[str, tuple[str, list[int], float, dict[str, Any]]] = {
        "channels first": ("float32", [1, 3, HEIGHT, WIDTH], 1, {}),
        "channels last": ("float32", [1, HEIGHT, WIDTH, 3], 1, {}),
        "from -1 to 1": (
            *("float32", [1, 3, HEIGHT, WIDTH], 0),
            {"mean": 0.5, "std": 0.5, "output_mean": 0.5, "output_std": 0.5, "order": "bgr"},
        ),
        "a mean for each channel": (
            *("float32", [1, 3, HEIGHT, WIDTH], 0),
            {"mean": [0.1, 0.2, 0.3], "std": [0.5, 1, 2], "output_mean": [0.9, 0.8, 0.7],
             "output_std": [0.5, 1, 2]},
        ),
        "float16": ("float16", [1, 3, HEIGHT, WIDTH], 1, {}),
        "uint8": ("uint8", [1, HEIGHT, WIDTH, 3], 255, {"std": 1 / 255, "output_std": 1 / 255}),
        "grey": ("float32", [1, 1, HEIGHT, WIDTH], 1, {}),
    }  # fmt: skip
    for name, (dtype, shape, value, settings) in cases.items():
        if dtype not in dtypes:
            continue
        model = await make_onnx(backend, dtype, shape, value)
        before = model.backend.memory()
        results[name] = await compared(model, draw(), **settings)
        assert model.backend.memory() == before, name
        model.close()
    return results


async def sizes(backend: dict[str, str]) -> dict[str, Any]:
    """Paint with a network whose sizes are free, pictures of other sizes."""
    b = GraphBuilder()
    picture = b.input("picture", "float32", [1, 3, 20, 32])
    shift = b.input("shift", "float32", [1, 3, 1, 1])
    graph = b.build({"sum": b.reduce_sum(picture), "result": picture + shift})
    net = await load_onnx(await export_graph(graph, format="onnx"), **backend)  # type: ignore[arg-type]
    shift_by = {"shift": [0.25, 0, 0]}
    same = await compared(net, draw(32, 20), size=(32, 20), inputs=shift_by)
    scaled = await compared(net, draw(200, 150), inputs=shift_by)
    source = pixels(draw(32, 20))
    expected = [min(value + 64 * (k % 4 == 0), 255) for k, value in enumerate(source)]
    away = max(abs(a - b) for a, b in zip(same[2], expected, strict=True))
    net.close()
    return {"same": same[:2], "scaled": scaled[:2], "away": away}


async def parameters(backend: dict[str, str]) -> list[Any]:
    """Paint with parameters, and with others."""
    model = await make_model(backend, CONVOLUTION)
    results: list[Any] = []
    async with await open_painter(model) as painter:
        for factor in (1.0, -3.0):
            weights = [[[[factor * (k + 1)] * 3] * 3] * 3 for k in range(3)]
            model.state.parameters.set("w1", weights)
            canvas = make_canvas()
            await painter.paint(draw(), canvas)
            expected = await painted(model, draw(), webgpu=False)
            results.append([painter.route, pixels(canvas) == expected[2], pixels(canvas)[:3]])
    model.close()
    return results


async def sources(backend: dict[str, str]) -> dict[str, Any]:
    """Paint everything that a canvas can draw."""
    make = script_value("""async (kind, canvas) => {
      if (kind === "ImageBitmap") return createImageBitmap(canvas);
      if (kind === "VideoFrame") return new VideoFrame(canvas, { timestamp: 0 });
      if (kind === "ImageData") return canvas.getContext("2d").getImageData(0, 0, 16, 12);
      const element = document.createElement(kind === "image" ? "img" : "canvas");
      if (kind === "image") {
        element.src = URL.createObjectURL(await canvas.convertToBlob());
        await element.decode();
        return element;
      }
      [element.width, element.height] = [16, 12];
      const context = element.getContext("2d");
      context.drawImage(canvas, 0, 0);
      if (kind === "canvas") return element;
      const video = document.createElement("video");
      video.muted = true;
      video.srcObject = element.captureStream(30);
      const playing = video.play();
      while (video.readyState < 2) {
        context.drawImage(canvas, 0, 0);
        await new Promise(requestAnimationFrame);
      }
      await playing;
      return video;
    }""")
    model = await make_model(backend)
    kinds = ("canvas", "image", "video", "ImageBitmap", "VideoFrame", "ImageData")
    results = {kind: await compared(model, await make(kind, draw())) for kind in kinds}
    model.close()
    return results


async def left_by(model: Any, *, webgpu: bool) -> list[Any]:
    """Return the route of a painter, and what it leaves: buffers, textures, memory."""
    before = count("buffers"), count("textures"), model.memory()
    painter = await open_painter(model, webgpu=webgpu)
    await painter.paint(draw(), make_canvas())
    held = count("textures") - before[1]
    painter.close()
    painter.close()
    for _ in range(9):  # work that is queued
        await asyncio.sleep(0)
    left = count("buffers") - before[0], count("textures") - before[1], model.memory() == before[2]
    return [painter.route, held, left]


async def leaks(backend: dict[str, str]) -> list[Any]:
    """Return what painters over WebGPU and over the host leave."""
    model = await make_model(backend)
    await painted(model, draw())  # what is kept for later painters is made with the first one
    results = [await left_by(model, webgpu=webgpu) for webgpu in (True, False)]
    model.close()
    return results


async def losses(backend: dict[str, str]) -> list[Any]:
    """Lose the device between two paintings."""
    model = await make_model(backend)
    painter = await open_painter(model)
    canvas = make_canvas()
    await painter.paint(draw(), canvas)
    routes = [painter.route]
    expected = pixels(canvas)
    script_value("() => interop.devices[0].destroy()")()
    canvas = make_canvas()
    for _ in range(2):
        await painter.paint(draw(), canvas)
        routes.append(painter.route)
    right = pixels(canvas) == expected
    reason = painter.reason
    painter.close()
    again = (await painted(model, draw()))[0]
    left = str(model.memory())
    model.close()
    return [routes, right, reason, again, left]


async def lost_backend(backend: dict[str, str]) -> str:
    """Lose the device that is also the backend's."""
    model = await make_model(backend)
    async with await open_painter(model) as painter:
        await painter.paint(draw(), make_canvas())
        script_value("() => interop.devices[0].destroy()")()
        try:
            await painter.paint(draw(), make_canvas())
        except webnnm.ContextLost as error:
            return error.code
    return "no error"


async def cancellations(backend: dict[str, str]) -> list[Any]:
    """Cancel a painting, and paint again."""
    model = await make_model(backend)
    routes: list[str] = []
    async with await open_painter(model) as painter:
        for _ in range(3):
            task = asyncio.ensure_future(painter.paint(draw(), make_canvas()))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            canvas = make_canvas()
            await painter.paint(draw(), canvas)
            routes.append(painter.route)
        several = [make_canvas() for _ in range(4)]
        await asyncio.gather(*(painter.paint(draw(), each) for each in several))
        routes.append(painter.route)
        alike = all(pixels(each) == pixels(canvas) for each in several)
    model.close()
    return [routes, alike]


async def closings(backend: dict[str, str]) -> list[Any]:
    """Close a painter while it paints a picture, and while another one waits for its turn."""
    model = await make_model(backend)
    await painted(model, draw())  # what is kept for later painters is made with the first one
    before = count("textures"), model.memory()
    painter = await open_painter(model)
    canvas = make_canvas()
    tasks = [asyncio.ensure_future(painter.paint(draw(), each)) for each in (canvas, make_canvas())]
    await asyncio.sleep(0)
    painter.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    left = count("textures") - before[0], model.memory() == before[1]
    right = pixels(canvas) == (await painted(model, draw()))[2]
    model.close()
    return [painter.route, [str(result) for result in results], left, right]


async def origins(backend: dict[str, str], url: str) -> list[Any]:
    """Paint an image of another origin, then one of the page."""
    image = await script_value("""async (url) => {
      const image = document.createElement("img");
      image.src = url;
      await image.decode();
      return image;
    }""")(url)
    model = await make_model(backend)
    results: list[Any] = []
    for webgpu in (True, False):
        async with await open_painter(model, webgpu=webgpu) as painter:
            try:
                await painter.paint(image, make_canvas())
            except webnnm.DataError as error:
                results.append(f"{error.code} {error.message}")
            await painter.paint(draw(), make_canvas())
            results.append(painter.route)
    model.close()
    return results


async def refused_shaders(backend: dict[str, str]) -> list[Any]:
    """Open a painter whose shaders the browser refuses; return what it leaves."""
    model = await make_model(backend)
    script_value("""() => {
      const { prototype } = GPUDevice;
      const { createRenderPipelineAsync } = prototype;
      prototype.createRenderPipelineAsync = async function refuse() {
        prototype.createRenderPipelineAsync = createRenderPipelineAsync;
        throw new TypeError("no such shaders");
      };
    }""")()
    before = count("textures")
    async with await open_painter(model) as painter:
        result = [painter.route, painter.reason, count("textures") - before]
    model.close()
    return result


async def interrupted_trials(backend: dict[str, str]) -> list[Any]:
    """Open painters while the browser opens no context, until the trial, and after it."""
    model = await make_model(backend)
    results: list[Any] = []
    script_value("() => { interop.refuses = true }")()
    results.append((await painted(model, draw()))[:2])
    script_value("() => { interop.refuses = false }")()
    before = count("contexts")
    opening = asyncio.ensure_future(open_painter(model))
    while count("contexts") == before and not opening.done():
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    results.append(opening.cancelled())
    route, _, _ = await painted(model, draw())
    results.append([route, count("contexts") - before])
    model.close()
    return results


async def trials(backend: dict[str, str]) -> list[Any]:
    """Return how many contexts two painters open, and that the model's goes on."""
    model = await make_model(backend)
    opened: list[Any] = []
    for _ in range(2):
        before = count("contexts")
        route, reason, result = await painted(model, draw())
        opened.append([route, count("contexts") - before])
    expected = [*pixels(draw())]
    right = max(
        abs(255 - a - b) for k, (a, b) in enumerate(zip(expected, result, strict=True)) if k % 4 < 3
    )
    model.close()
    return [opened, reason, right]


async def ways(backends: list[dict[str, str]]) -> list[Any]:
    """Return the route and the reason of each backend, and whether all paint alike."""
    results: list[Any] = []
    shown: list[list[int]] = []
    for backend in backends:
        model = await make_model(backend)
        route, reason, result = await painted(model, draw())
        results.append([route, reason])
        shown.append(result)
        model.close()
    furthest = max(abs(a - b) for one in shown for a, b in zip(one, shown[0], strict=True))
    return [results, furthest]


async def shared_backends() -> list[Any]:
    """Paint on a backend that several models use, and on one that "auto" chose."""
    results: list[Any] = []
    device = await webnnm.backend("webnn")
    model = await make_model({"backend": device})  # type: ignore[dict-item]
    results.append((await painted(model, draw()))[0])
    painter = await open_painter(model)
    model.close()
    try:
        await painter.paint(draw(), make_canvas())
    except webnnm.BackendError as error:
        results.append(error.message)
    painter.close()
    results.append(device.memory().tensors)
    device.close()
    model = await make_model({"backend": "auto"})
    results.append((await painted(model, draw()))[0])
    model.close()
    return results


async def refusals(backend: dict[str, str]) -> dict[str, str]:
    """Return the codes and messages of errors."""
    model = await make_model(backend)
    net = await make_onnx(backend, "float32", [1, 3, HEIGHT, WIDTH], 1)
    numbers = await make_model(backend, "m:input shape=[4]; m:output shape=[4]; m:layers mul(2);")
    painter = await open_painter(model)
    canvas = make_canvas()
    new = script_value("""(kind) => {
      if (kind === "video" || kind === "div") return document.createElement(kind);
      const canvas = new OffscreenCanvas(4, 4);
      canvas.getContext("webgl2");
      return canvas;
    }""")
    calls: dict[str, Any] = {
        "waiting": lambda: painter.paint(new("video"), canvas),
        "element": lambda: painter.paint(new("div"), canvas),
        "text": lambda: painter.paint("picture.png", canvas),
        "context": lambda: painter.paint(draw(), new("webgl")),
        "unknown": lambda: painter.paint(draw(), canvas, {"stile": [1]}),
        "numbers": lambda: open_painter(numbers),
        "name": lambda: open_painter(net, input="pictures"),
        "size": lambda: open_painter(model, size=(32, 24)),
        "std": lambda: open_painter(model, std=0),
        "mean": lambda: open_painter(model, mean=[0.5, 0.5]),
        "order": lambda: open_painter(model, order="rbg"),  # type: ignore[arg-type]
    }
    results: dict[str, str] = {}
    for name, call in calls.items():
        try:
            await call()
        except webnnm.WebNNMError as error:
            results[name] = f"{error.code} {error.message}"
    await painter.paint(draw(), canvas)
    results["after"] = painter.route
    painter.close()
    for one in (model, net, numbers):
        one.close()
    return results
