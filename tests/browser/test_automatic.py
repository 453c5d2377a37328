"""What `backend="auto"` takes in pages without WebNN, why, and what `probe()` tells of it."""

from __future__ import annotations

import pytest
from playwright.async_api import BrowserContext

from tests.browser.harness import PageLog, PyodidePage, hide_numpy, open_pyodide_in

CREATE = """
from webnnm import Dataset, NNModel

lines = []
rows = [[float(k % 7), 1.0] for k in range(64)]
data = Dataset(rows, [[float(k % 7)] for k in range(64)])
text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w, shape=[UNITS]), tanh(), "
text += "matmul(w, shape=[UNITS]), tanh(), matmul(w);"
async with await NNModel.create(
    source=text.replace("UNITS", str(units)), dataset=data, log=lines.append
) as model:
    history = await model.train(epochs=2)
    found = model.backend.description, model.report().splitlines()[1], lines, history.losses
"""


@pytest.fixture
async def first_visit(
    context_without_webnn: BrowserContext, page_log: PageLog, site_url: str
) -> PyodidePage:
    """A page without WebNN in a browser that has kept nothing yet."""
    return await open_pyodide_in(context_without_webnn, page_log, site_url)


@pytest.mark.usefixtures("numpy_in_pages")
async def test_a_small_model_runs_on_numpy_and_a_large_one_on_onnx_runtime(
    first_visit: PyodidePage,
) -> None:
    asked: list[str] = []
    first_visit.page.on("request", lambda request: asked.append(request.method + request.url))

    def fetch() -> bool:
        return any(entry.startswith("GET") and entry.endswith(".wasm") for entry in asked)

    on, report, lines, small = await first_visit.run_python(CREATE + "found", units=2)
    why = "this browser has no WebNN: the model runs on NumPy, because it is too small to "
    assert on.startswith("NumPy")
    assert why in report
    assert lines[0] == report
    assert not fetch()

    on, report, lines, _ = await first_visit.run_python(CREATE + "found", units=1024)
    assert on == "ONNX Runtime Web (WebAssembly)"
    assert "for which 3 MB are downloaded once: NumPy would take" in report
    assert "fetching ONNX Runtime Web: 14 MB" in lines  # unpacked
    assert fetch()

    on, report, _, again = await first_visit.run_python(CREATE + "found", units=2)
    assert on == "ONNX Runtime Web (WebAssembly)"
    assert report.endswith("model runs on ONNX Runtime (WebAssembly), which was downloaded before")
    assert again == pytest.approx(small, rel=1e-4)


PROBE = """
from webnnm import probe

found = await probe(**how)
{name: [one.available, one.reason, one.seconds] for name, one in found.devices.items()}, str(found)
"""


@pytest.mark.usefixtures("numpy_in_pages")
async def test_a_probe_fetches_nothing_unless_asked_to(first_visit: PyodidePage) -> None:
    devices, sentence = await first_visit.run_python(PROBE, how={})
    no = "this browser has no WebNN (navigator.ml)"
    assert devices == {
        "npu": [False, no, None],
        "gpu": [False, no, None],
        "cpu": [False, no, None],
        "wasm": [False, "ONNX Runtime would have to be fetched (3 MB)", None],
        "webgpu": [False, "this browser has no WebGPU", None],
        "numpy": [False, "NumPy would have to be fetched (3 MB)", None],
    }
    assert sentence == (
        f"{no}: small models run on NumPy, larger ones on ONNX Runtime, "
        "for which 3 MB are downloaded once"
    )
    devices, sentence = await first_visit.run_python(PROBE, how={"fetch": True})
    for name, runs_on in (("wasm", "ONNX Runtime Web (WebAssembly)"), ("numpy", "NumPy")):
        works, reason, seconds = devices[name]
        assert works and reason.startswith(runs_on) and seconds > 0
    kept = "models run on ONNX Runtime (WebAssembly), which was downloaded before"
    assert sentence == f"{no}: {kept}"
    again, _ = await first_visit.run_python(PROBE, how={})
    assert again == devices, "the trials are remembered"


@pytest.mark.parametrize("what", ["backend", "model"])
async def test_a_page_without_both_says_so(
    context_without_webnn: BrowserContext, page_log: PageLog, site_url: str, what: str
) -> None:
    await hide_numpy(context_without_webnn)
    await context_without_webnn.route("**/onnxruntime/**", lambda route: route.abort())
    page = await open_pyodide_in(context_without_webnn, page_log, site_url)
    program = """
from webnnm import BackendError, NNModel, backend, probe

try:
    if what == "backend":
        await backend("auto")
    else:
        await NNModel.create(source="m:input shape=[2]; m:output shape=[2]; m:layers exp();")
except BackendError as error:
    found = error.code, error.message
[found, (await probe()).sentence]
"""
    (code, message), sentence = await page.run_python(program, what=what)
    assert (code, message) == ("NNM709", "this page has neither ONNX Runtime Web nor NumPy")
    assert sentence.endswith("models cannot run: this page has neither ONNX Runtime Web nor NumPy")
