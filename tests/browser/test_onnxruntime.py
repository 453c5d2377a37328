"""ONNX Runtime Web in pages without WebNN: trainings as on NumPy, without NumPy, and no leaks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.harness import PyodidePage, PythonError, open_pyodide
from webnnm import IrisDataset, NNModel

np = pytest.importorskip("numpy")

SOURCE = """
iris:input shape=[4]; iris:output shape=[3];
iris:layers matmul(w, shape=[8]), add(b), relu(), dropout(0.2), matmul(w), add(b), softmax();
"""
TRAIN = """
import sys
from webnnm import IrisDataset, NNModel, backend

data = await IrisDataset.create()
runtime = await backend("onnxruntime", device=device)
empty = str(runtime.memory())
async with await NNModel.create(
    source=source, dataset=data, backend=runtime, seed=3, log=lambda line: None
) as model:
    history = await model.train(epochs=epochs, optimizer="adam", seeds=0)
    result = await model.test()
    held = runtime.memory().tensors
left = str(runtime.memory())
runtime.close()
{
    "device": runtime.description, "losses": history.losses, "accuracy": result.accuracy,
    "held": held, "empty": empty, "left": left, "numpy": "numpy" in sys.modules,
}
"""


async def train_on_numpy(epochs: int) -> tuple[list[float], float]:
    """Return the losses and the accuracy of the same training on NumPy."""
    data = await IrisDataset.create()
    async with await NNModel.create(
        source=SOURCE, dataset=data, backend="numpy", seed=3, log=lambda line: None
    ) as model:
        history = await model.train(epochs=epochs, optimizer="adam", seeds=0)
        return history.losses, (await model.test()).accuracy or 0.0


async def check_training(page: PyodidePage, device: str, runs_on: str, epochs: int) -> None:
    found = await page.run_python(TRAIN, source=SOURCE, epochs=epochs, device=device)
    assert found["device"] == f"ONNX Runtime Web ({runs_on})"
    assert not found["numpy"]
    assert found["held"] > 0
    assert found["left"] == found["empty"]
    losses, accuracy = await train_on_numpy(epochs)
    np.testing.assert_allclose(found["losses"], losses, rtol=1e-3, atol=1e-3)
    assert found["accuracy"] == pytest.approx(accuracy, abs=0.07)


async def test_iris_is_trained_and_tested_without_webnn_and_numpy(
    pyodide_page_bare: PyodidePage,
) -> None:
    await check_training(pyodide_page_bare, "wasm", "WebAssembly", epochs=30)


async def test_iris_is_trained_and_tested_on_webgpu(launch: Any, site_url: str) -> None:
    page = await open_pyodide(await launch("webgpu"), site_url, numpy=False)
    await check_training(page, "webgpu", "WebGPU", epochs=8)  # in software
    await page.page.context.close()
    page.log.check()


TYPES = """
from webnnm import GraphBuilder, backend
from webnnm.core.arrays import HostArray

runtime = await backend("onnxruntime")
found = {}
for dtype in dtypes:
    b = GraphBuilder()
    x = b.input("x", dtype, [4])
    graph = b.build({"y": b.concat([x, b.constant([1, 2], dtype)], axis=0)})
    given = HostArray.of([1, 0, 7, 5], dtype)
    found[dtype] = [float(v) for v in (await runtime.compute_async(graph, {"x": given}))["y"]]
held = runtime.memory().tensors, runtime.memory().graphs
runtime.close()
found, held
"""


async def test_tensors_of_every_type(pyodide_page_bare: PyodidePage) -> None:
    dtypes = ["float32", "float16", "int64", "uint64", "int32", "uint32", "int8", "uint8"]
    found, held = await pyodide_page_bare.run_python(TYPES, dtypes=dtypes)
    assert found == {dtype: [1, 0, 7, 5, 1, 2] for dtype in dtypes}
    assert held == [0, 0]


ODD = """
from webnnm import GraphBuilder, backend

runtime = await backend("onnxruntime")
try:
    b = GraphBuilder()
    await runtime.compile(b.build({"y": b.reverse(b.input("x", "int4", [3]))}))
finally:
    runtime.close()
"""


async def test_what_it_computes_wrongly_is_refused(pyodide_page_bare: PyodidePage) -> None:
    with pytest.raises(PythonError, match="NNM505: ONNX Runtime Web computes wrong"):
        await pyodide_page_bare.run_python(ODD)


MISSING = """
from webnnm import backend
from webnnm.backends import onnxruntime_web

onnxruntime_web.FOLDER = "nowhere"
try:
    await backend("onnxruntime")
finally:
    onnxruntime_web.FOLDER = "onnxruntime"
"""


async def test_a_page_without_it_is_told_what_to_serve(pyodide_page_bare: PyodidePage) -> None:
    with pytest.raises(PythonError, match="NNM709: no ONNX Runtime Web at") as caught:
        await pyodide_page_bare.run_python(MISSING)
    assert "deploying.md" in str(caught.value)
