"""Milliseconds of a frame from a canvas to a canvas, over WebGPU and over the host.

    .venv/bin/python -m bench.frames

Graphics card, and WebNN's tensors that are shared with it, are those of tests: SwiftShader, and
copies that a script makes. What is measured is therefore what the ways cost beside the network, and
that they paint the same pictures; only a browser with a graphics card shows what they save.
"""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import async_playwright

from tests.browser.harness import PageLog, new_context, open_pyodide_in
from tests.browser.interop import INTEROP
from tools.common import SITE, playwright_config, say
from webnnm.cli.serve import SiteServer

STYLE = "multistyle26.onnx"
SIZES = ((128, 96), (256, 192))
FRAMES = 3
SECONDS = 4.0
PROGRAM = """
import statistics, time
from pyodide.code import run_js
from webnnm import NNModel, load_onnx, open_painter

draw = run_js('''(width, height) => {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const colours = context.createLinearGradient(0, 0, width, height);
  ["#f08", "#2fa", "#06f", "#fd4"].forEach((colour, k) => colours.addColorStop(k / 3, colour));
  context.fillStyle = colours;
  context.fillRect(0, 0, width, height);
  return canvas;
}''')
new_canvas = run_js("() => new OffscreenCanvas(1, 1)")
pixels = run_js('''(canvas) => canvas.getContext("2d", { willReadFrequently: true })
  .getImageData(0, 0, canvas.width, canvas.height).data''')

width, height = size
quiet = {"log": lambda line: None, **backend}
if style:
    model, inputs = await load_onnx(style, **quiet), {"style_weights": [1.0] + [0.0] * 25}
else:
    model, inputs = await NNModel.create(source=f'''
        m:input shape={{channels:3, height:{height}, width:{width}}};
        m:output shape=[3, {height}, {width}]; m:layers mul(-1), add(1);''', **quiet), None
results = []
for webgpu in (True, False):
    painter = await open_painter(model, size=(width, height), webgpu=webgpu)
    picture, canvas, times = draw(width, height), new_canvas(), []
    await painter.paint(picture, canvas, inputs)
    while len(times) < frames or (sum(times) < seconds and len(times) < 100):
        began = time.perf_counter()
        await painter.paint(picture, canvas)
        times.append(time.perf_counter() - began)
    results.append([painter.route, 1000 * statistics.median(times), pixels(canvas).to_py()])
    painter.close()
difference = max(abs(a - b) for a, b in zip(results[0][2], results[1][2], strict=True))
where = model.backend.description
model.close()
[where, [result[:2] for result in results], difference]
"""
BACKENDS: tuple[dict[str, str], ...] = (
    {"backend": "webnn"},
    {"backend": "onnxruntime", "device": "webgpu"},
    {"backend": "onnxruntime", "device": "wasm"},
)


async def measure(page: Any, style: str | None, size: tuple[int, int], backend: Any) -> None:
    """Print a row: backend, network, size, and both ways."""
    values = {"style": style, "size": size, "backend": backend}
    values |= {"frames": FRAMES, "seconds": SECONDS}
    where, ways, difference = await page.run_python(PROGRAM, **values)
    network = "style transfer" if style else "1 − x"
    shown = ", ".join(f"{route} {milliseconds:.1f} ms" for route, milliseconds in ways)
    say(f"{where:26} {network:14} {size[0]} × {size[1]}: {shown}; {difference} of 255 apart")


async def main() -> None:
    """Measure both networks in all sizes on all backends."""
    config = playwright_config()
    style = f"/models/{STYLE}" if (SITE / "models" / STYLE).exists() else None
    with SiteServer(config.SITE_ROOT, extra_roots=config.EXTRA_ROOTS) as server:
        async with async_playwright() as playwright:
            options = config.launch_options("webnn-webgpu")
            browser = await playwright.chromium.launch(**options)
            scripts = [INTEROP, "shareTensors()"]
            page = await open_pyodide_in(
                await new_context(browser), PageLog(), server.url, scripts=scripts
            )
            for network in (None, *([server.url + style] if style else [])):
                for size in SIZES:
                    for backend in BACKENDS:
                        await measure(page, network, size, backend)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
