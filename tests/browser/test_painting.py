"""Painters: the same pictures over WebGPU and over the host, and what happens where one cannot."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.browser import painting_in_page as programs
from tests.browser.harness import PageLog, PyodidePage, new_context, open_pyodide_in
from tests.browser.interop import INTEROP
from tools.common import ROOT
from tools.docs.markup import pieces

WEBNN = {"backend": "webnn"}
GPU = {"backend": "onnxruntime", "device": "webgpu"}
WASM = {"backend": "onnxruntime", "device": "wasm"}
NUMPY = {"backend": "numpy"}
both_backends = pytest.mark.parametrize("backend", [WEBNN, GPU], ids=["webnn", "onnxruntime"])

INVERTED = {"channels first", "channels last", "from -1 to 1", "float16", "uint8"}


@pytest.fixture(scope="module")
async def sharing_page(launch: Any, site_url: str) -> AsyncIterator[PyodidePage]:
    """A page of a browser with a graphics card, whose WebNN shares tensors with it."""
    log = PageLog()
    context = await new_context(await launch("webnn-webgpu"))
    yield await open_pyodide_in(context, log, site_url, scripts=[INTEROP, "shareTensors()"])
    await context.close()
    log.check()


async def open_page(
    launch: Any, project: str, log: PageLog, site_url: str, *scripts: str
) -> PyodidePage:
    return await open_pyodide_in(
        await new_context(await launch(project)), log, site_url, scripts=scripts
    )


@both_backends
async def test_all_layouts_and_types_are_painted(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    # SwiftShader computes nothing in float16.
    dtypes = ["float32", "uint8", *(["float16"] if backend is WEBNN else [])]
    results = await sharing_page.call(programs.layouts, backend, dtypes)
    source = results.pop("source")
    assert {name: result[0] for name, result in results.items()} == dict.fromkeys(results, "WebGPU")
    furthest = {name: result[1] for name, result in results.items()}
    assert max(furthest.values()) <= 1, furthest
    for name in results.keys() & INVERTED:
        pairs = zip(source, results[name][2], strict=True)
        away = [abs(255 - a - b) for k, (a, b) in enumerate(pairs) if k % 4 < 3]
        assert max(away) <= 1, name
    grey = results["grey"][2]
    assert grey[0::4] == grey[1::4] == grey[2::4]


@both_backends
async def test_sizes_and_other_inputs(sharing_page: PyodidePage, backend: dict[str, str]) -> None:
    results = await sharing_page.call(programs.sizes, backend)
    assert results["same"] in (["WebGPU", 0], ("WebGPU", 0))
    assert results["away"] <= 1
    route, difference = results["scaled"]
    # The canvases of graphics cards scale with other roundings than those in memory.
    assert route == "WebGPU" and difference <= 8


@both_backends
async def test_parameters_are_those_of_the_moment(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    first, second = await sharing_page.call(programs.parameters, backend)
    assert first[:2] == second[:2] == ["WebGPU", True]
    assert first[2] != second[2]


async def test_everything_that_a_canvas_draws_is_painted(sharing_page: PyodidePage) -> None:
    results = await sharing_page.call(programs.sources, WEBNN)
    for kind, (route, difference, pixels) in results.items():
        assert (route, difference <= 1) == ("WebGPU", True), (kind, difference)
        assert len({*pixels[0::4]}) > 50, kind


@both_backends
async def test_nothing_leaks(sharing_page: PyodidePage, backend: dict[str, str]) -> None:
    (route, textures, left), (host, _, left_by_host) = await sharing_page.call(
        programs.leaks, backend
    )
    assert (route, textures, host) == ("WebGPU", 1, "host")
    # ONNX Runtime leaves buffers of its own to the garbage collector.
    assert left[0] <= (left_by_host[0] if backend is GPU else 0)
    assert [*left[1:]] == [0, True]


@both_backends
async def test_paintings_are_cancelled_and_wait_for_one_another(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    routes, alike = await sharing_page.call(programs.cancellations, backend)
    assert routes == ["WebGPU"] * 4 and alike


@both_backends
async def test_a_painter_is_closed_after_its_picture(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    route, (first, second), left, right = await sharing_page.call(programs.closings, backend)
    assert (route, first, right) == ("WebGPU", "None", True)
    assert "NNM709: the painter is closed" in second
    assert [*left] == [0, True]


@both_backends
async def test_images_of_other_origins_are_refused(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    url = "http://elsewhere.test/picture.svg"
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    kind = {"content-type": "image/svg+xml", "cross-origin-resource-policy": "cross-origin"}
    await sharing_page.page.route(url, lambda route: route.fulfill(body=picture, headers=kind))
    refused, route, refused_by_host, host = await sharing_page.call(programs.origins, backend, url)
    assert (route, host) == ("WebGPU", "host")
    for message in (refused, refused_by_host):
        assert message.startswith("NNM702") and "SecurityError" in message


@both_backends
async def test_refused_shaders_leave_nothing(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    results = await sharing_page.call(programs.refused_shaders, backend)
    assert results == ["host", "no such shaders", 0]


async def test_backends_of_several_models(sharing_page: PyodidePage) -> None:
    results = await sharing_page.call(programs.shared_backends)
    assert results == ["WebGPU", "the model was closed", 0, "WebGPU"]


async def test_a_lost_device_is_left_silently(
    launch: Any, site_url: str, page_log: PageLog
) -> None:
    scripts = INTEROP, "shareTensors()"
    page = await open_page(launch, "webnn-webgpu", page_log, site_url, *scripts)
    routes, right, reason, again, left = await page.call(programs.losses, WEBNN)
    await page.page.context.close()
    assert routes == ["WebGPU", "host", "host"]
    assert right and reason
    assert again == "WebGPU" and left.startswith("0 bytes")


async def test_a_lost_backend_is_told(launch: Any, site_url: str, page_log: PageLog) -> None:
    page = await open_page(launch, "webnn-webgpu", page_log, site_url, INTEROP)
    assert await page.call(programs.lost_backend, GPU) == "NNM716"
    await page.page.context.close()


@both_backends
async def test_what_cannot_be_painted_is_told(
    sharing_page: PyodidePage, backend: dict[str, str]
) -> None:
    results = await sharing_page.call(programs.refusals, backend)
    assert results.pop("after") == "WebGPU"
    codes = {name: text[:6] for name, text in results.items()}
    assert codes == {
        **dict.fromkeys(("waiting", "element", "text", "context", "numbers", "size"), "NNM702"),
        **dict.fromkeys(("std", "mean", "order"), "NNM703"),
        **dict.fromkeys(("unknown", "name"), "NNM710"),
    }
    assert "no image data yet" in results["waiting"]
    assert "HTMLDivElement" in results["element"] or "JsProxy" in results["element"]
    assert "another kind than 2d" in results["context"]
    assert "16 × 12" in results["size"]


async def test_a_trial_is_made_once_and_remembered(
    launch: Any, site_url: str, page_log: PageLog
) -> None:
    fails = (
        "changeSystem(); MLContext.prototype.createExportableTensor = async () => {"
        " throw new DOMException('Failed to create tensor', 'UnknownError') };"
        "MLContext.prototype.exportToGPU = async () => { throw new TypeError() };"
    )
    page = await open_page(launch, "webnn-webgpu", page_log, site_url, INTEROP, fails)
    opened, reason, right = await page.call(programs.trials, WEBNN)
    assert opened == [["host", 1], ["host", 0]]
    assert "trial" in reason and right <= 1
    await page.run_python("""
import asyncio
from webnnm.backends import verdicts
await asyncio.gather(*verdicts.writing)
None""")
    await page.start_anew(site_url)
    opened, _, right = await page.call(programs.trials, WEBNN)
    assert opened == [["host", 0], ["host", 0]] and right <= 1
    await page.page.context.close()


async def test_an_interrupted_trial_is_no_verdict(
    launch: Any, site_url: str, page_log: PageLog
) -> None:
    refuses = """
      const { createContext } = ML.prototype;
      ML.prototype.createContext = function refuse(...args) {
        if (interop.refuses) return Promise.reject(new DOMException("no more", "QuotaExceeded"));
        return createContext.apply(this, args);
      };
    """
    scripts = INTEROP, "shareTensors()", refuses
    page = await open_page(launch, "webnn-webgpu", page_log, site_url, *scripts)
    refused, cancelled, after = await page.call(programs.interrupted_trials, WEBNN)
    await page.page.context.close()
    assert [*refused] == ["host", "no more"]
    assert cancelled
    assert after == ["WebGPU", 1]


async def test_browsers_that_cannot_share_are_not_tried(
    launch: Any, site_url: str, page_log: PageLog
) -> None:
    page = await open_page(launch, "webnn-webgpu", page_log, site_url)
    ways, furthest = await page.call(programs.ways, [WEBNN, GPU, WASM])
    assert ways == [
        ["host", "browsers on Linux share no tensors with WebGPU"],
        ["host", "WebGPU has no graphics card here"],
        ["host", "WebGPU cannot share the tensors of this backend"],
    ]
    assert furthest <= 1
    await page.page.context.close()


async def test_without_webgpu(launch: Any, site_url: str, page_log: PageLog) -> None:
    page = await open_page(
        launch, "webnn", page_log, site_url,
        "Object.defineProperty(NavigatorUAData.prototype, 'platform', { get: () => 'macOS' });",
    )  # fmt: skip
    ((route, reason), _), furthest = await page.call(programs.ways, [WEBNN, WASM])
    assert (route, reason) == ("host", "this browser has no WebGPU") and furthest <= 1
    await page.page.context.close()


async def test_numpy_paints(numpy_in_pages: None, pyodide_page: PyodidePage) -> None:
    (numpy, webnn), furthest = await pyodide_page.call(programs.ways, [NUMPY, WEBNN])
    assert numpy[0] == "host" and "NumPy" in numpy[1] and webnn[0] == "host"
    assert furthest <= 1


async def test_the_examples_of_the_documents(pyodide_page: PyodidePage) -> None:
    blocks = [*pieces((ROOT / "docs" / "predictions.md").read_text())]
    places = [number for number, block in enumerate(blocks) if block.mark == "pages"]
    assert len(places) == 2
    for place in places:
        program, output = blocks[place], blocks[place + 1]
        assert output.is_output
        printed = await pyodide_page.run_python(
            "import contextlib, io\nprinted = io.StringIO()\n"
            "output = contextlib.redirect_stdout(printed)\noutput.__enter__()\n"
            f"{program.text}\noutput.__exit__(None, None, None)\nprinted.getvalue()"
        )
        assert re.fullmatch(re.escape(output.text).replace(r"\.\.\.", ".*"), printed)
