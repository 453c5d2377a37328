"""Snapshots in the page: written on WebNN, read there and on the desktop."""

from __future__ import annotations

import base64

import pytest

from tests.browser.harness import PyodidePage
from webnnm import NNModel

PROGRAM = """
import base64
from webnnm import IrisDataset, NNModel

source = '''
model:input shape=[4]; model:output shape=[3];
model:layers matmul(w, shape=[8]), add(b), tanh(), matmul(w), add(b), softmax();
'''
rows = [[5.0, 3.4, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]]
quiet = {"backend": "webnn", "log": lambda _: None}
model = await NNModel.create(
    source=source, dataset=await IrisDataset.create(standardize=True), **quiet
)
await model.train(epochs=4, seeds=0)
data = await model.save()
path = await model.save("/tmp/iris.webnnm.safetensors")
expected = (await model.predict(rows)).tolist()
model.close()
found = []
for place in (data, path):
    again = await NNModel.load(place, **quiet)
    found.append((await again.predict(rows)).tolist())
    again.close()
[expected, found, base64.b64encode(data).decode(), rows]
"""


async def test_a_model_of_the_page_goes_on_there_and_elsewhere(pyodide_page: PyodidePage) -> None:
    expected, found, data, rows = await pyodide_page.run_python(PROGRAM)
    for answer in found:
        assert answer == [pytest.approx(row, rel=1e-5) for row in expected]
    snapshot = base64.b64decode(data)
    assert len(snapshot) < 8000
    model = await NNModel.load(snapshot, backend="numpy", log=lambda _: None)
    assert (await model.predict(rows)).tolist() == [
        pytest.approx(row, rel=1e-4) for row in expected
    ]
