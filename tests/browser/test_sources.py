"""Graphs of ONNX files as trunks in pages: a new output layer on features of a trained network."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from playwright.async_api import Route

from tests.browser.harness import PyodidePage
from tests.places import DATA
from tests.unit.formats.onnx_models import constant, graph, info, model, node
from tools.models import FOLDER
from webnnm.formats.onnx.messages import ModelProto
from webnnm.formats.onnx.writer import serialize

pytestmark = pytest.mark.projects("webnn")

RECOGNISER = FOLDER / "rapidocr==3.10.0" / "rapidocr" / "models" / "PP-OCRv6_rec_small.onnx"
"""Reads lines of text, Chinese and Latin ones: its trunk makes features of strokes."""
FEATURES = "p2o.pd_op.pool2d.1.0"
"""What its convolutions come to, before it looks at them as a sequence."""

PROGRAM = """
from webnnm import Dataset, NNModel, replace_head, split_model

async def learnt():
    pixels = [[float(number) for number in row.split(",")] for row in rows]
    data = Dataset([row[:64] for row in pixels], [int(row[64]) for row in pixels],
                   split=(200, 0, len(rows) - 200))
    model = await NNModel.create(
        source=text, files={"trunk.onnx": "trunk.onnx"}, dataset=data, backend="webnn",
        log=lambda line: None)
    some = [row[:64] for row in pixels[-3:]]
    if once:  # the features do not change: they are computed once, and learnt by the head alone
        trunk, head = await split_model(model, "flatten")
        features = await trunk.predict([row[:64] for row in pixels[:200]])
        head.set_dataset(Dataset(features, [int(row[64]) for row in pixels[:200]], split=(1, 0, 0)))
        await head.train(epochs=epochs, batch_size=25, progress="off")
        replace_head(model, head)
        trunk.close()
        head.close()
    else:
        await model.train(epochs=epochs, batch_size=25, progress="off")
    accuracy = (await model.test()).accuracy
    saved = bytes(await model.save(optimizer=False))
    before = (await model.predict(some)).classes
    frozen = [p.name for p in model.params() if not p.trainable]
    model.close()
    again = await NNModel.load(saved, backend="webnn", log=lambda line: None)
    after = (await again.predict(some)).classes
    again.close()
    return {"accuracy": accuracy, "frozen": frozen, "same": before == after, "bytes": len(saved)}

await learnt()
"""


def digits(count: int) -> list[str]:
    """Return some handwritten digits: 64 numbers from 0 to 16, and the class."""
    _, *rows = gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode().split()
    return rows[:count]


def edges() -> ModelProto:
    """Return a network of one convolution whose filters are edges in eight directions."""
    filters: list[Any] = []
    for x, y in [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]:
        filters.append([[[float(x * (j - 1) + y * (i - 1)) for j in range(3)] for i in range(3)]])
    nodes = [
        node("edges = Conv(x, edges.weight)", pads=[1, 1, 1, 1]),
        node("found = Relu(edges)"),
        node("small = AveragePool(found)", kernel_shape=[2, 2], strides=[2, 2]),
        node("out = GlobalAveragePool(small)"),
    ]
    weight = constant("edges.weight", filters, "float32")
    return model(graph(nodes, [info("x", 1, 1, 8, 8)], ["out"], weight))


def text(*layers: str, at: str) -> str:
    return f"""
        digits:input shape=[64];
        digits:output shape=[10];
        digits:layers mul(0.0625), reshape({{channels:1, height:8, width:8}}),
            {", ".join(layers)}, flatten(), matmul(w), add(b), softmax();
        trunk:source "trunk.onnx" at="{at}";
    """


async def serve(page: PyodidePage, content: bytes) -> None:
    async def answer(route: Route) -> None:
        await route.fulfill(body=content, content_type="application/octet-stream")

    await page.page.route("**/trunk.onnx", answer)


async def test_a_page_trains_a_layer_on_a_graph(pyodide_page: PyodidePage) -> None:
    await serve(pyodide_page, serialize(edges()))
    found = await pyodide_page.run_python(
        PROGRAM, rows=digits(500), text=text("trunk()", at="small"), epochs=30, once=False
    )
    assert found["accuracy"] >= 0.85
    assert found["frozen"] == ["trunk.edges.weight"]
    assert found["same"]


@pytest.mark.skipif(not RECOGNISER.is_file(), reason="`make models` fetches the trained model")
async def test_a_trained_network_learns_digits(pyodide_page: PyodidePage) -> None:
    """Two hundred digits are enough for a new output layer on a network that reads text."""
    await serve(pyodide_page, RECOGNISER.read_bytes())
    layers = (
        "resample2d(sizes=[48, 48], mode=linear), mul(2), sub(1, name=gray)",
        "concat([gray, gray, gray], axis=channels)",
        "trunk()",
    )
    found = await pyodide_page.run_python(
        PROGRAM, rows=digits(500), text=text(*layers, at=FEATURES), epochs=30, once=True
    )
    assert found["accuracy"] >= 0.95
    assert found["same"]
