"""Boxes that exported pages find are those of Python, in pixels of pictures of any size."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest

from webnnm import DetectionDataset, NNModel
from webnnm.cli.serve import SiteServer
from webnnm.formats.page.exporting import build_page, export_page
from webnnm.model.serving import answer

Image = pytest.importorskip("PIL.Image")

SIZES = [(24, 16), (60, 20), (13, 37)]
SOURCE = """
m:input shape={channels:3, height:16, width:24};
m:output shape=[4, 6, 6];
m:param start shape=[6] init=constant(1.5);
m:layers
  conv2d(f, filters=6, kernel=4, strides=4, bias=start),
  transpose(permutation=[1, 2, 0]);
"""
FIND = """async ([files, engine]) => {
  const { openModel } = await import("./webnnm/inference/model.js");
  const model = await openModel("./model.json", engine);
  const pictures = files.map((text) => (
    new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))])));
  const answers = [];
  for (const row of [...pictures, { m: pictures[1] }]) {
    answers.push((await model.predict(row)).m.boxes);
  }
  model.close();
  return answers;
}"""


def make_files() -> list[bytes]:
    """Return pictures of several sizes, with a gradient and a bright square."""
    files: list[bytes] = []
    for width, height in SIZES:
        image = Image.new("RGB", (width, height))
        for x in range(width):
            for y in range(height):
                square = 200 * (width // 3 <= x < width // 2 and y < height // 2)
                image.putpixel((x, y), (x * 3, y * 5, 40 + square))
        target = io.BytesIO()
        image.save(target, "PNG")
        files.append(target.getvalue())
    return files


async def open_model(fit: Any, files: list[bytes]) -> NNModel:
    boxes = [[(1, 2, 8, 9, "cat")], [(5, 5, 20, 8, "dog")], []]
    data = await DetectionDataset.from_files(
        files, boxes, size=(24, 16), fit=fit, split=(1, 0, 0), mode="rgb"
    )
    return await NNModel.create(
        source=SOURCE, dataset=data, backend="numpy", seed=2, log=lambda _: None
    )


@pytest.mark.webnn
@pytest.mark.parametrize("fit", ["crop", "pad", "stretch"])
async def test_boxes_are_those_of_python(
    fit: Any, tmp_path: Path, webnn_context: Any, page_log: Any
) -> None:
    files = make_files()
    model = await open_model(fit, files)
    await export_page(model.state, tmp_path / "page", None)
    expected = [[box._asdict() for box in (await model.predict(content))[0]] for content in files]
    assert min(map(len, expected)) > 1
    page = await webnn_context.new_page()
    page_log.watch(page)
    texts = [base64.b64encode(content).decode() for content in files]
    with SiteServer(tmp_path / "page") as server:
        await page.goto(server.url)
        for engine in ("webnn", "script"):
            answers = await page.evaluate(FIND, [texts, engine])
            for actual, right in zip(answers, [*expected, expected[1]], strict=True):
                assert [box["label"] for box in actual] == [box["label"] for box in right]
                for mine, theirs in zip(actual, right, strict=True):
                    numbers = {name: theirs[name] for name in theirs if name != "label"}
                    del mine["label"]
                    assert mine == pytest.approx(numbers, rel=1e-3, abs=1e-3)
        field = page.locator("webnnm-model input[type=file]")
        await field.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": files[0]})
        await page.locator("webnnm-model").get_by_role("button", name="Predict").click()
        lines = page.locator("webnnm-model form .whole[role=status] li")
        await lines.first.wait_for()
        first = expected[0][0]
        assert await lines.count() == len(expected[0])
        text = await lines.first.inner_text()
        assert first["label"] in text and f"{100 * first['score']:.1f}%" in text
        assert f"at ({first['x']:.0f}, {first['y']:.0f})" in text
    await page.close()


async def test_only_pages_with_boxes_have_their_script() -> None:
    files = make_files()
    with_boxes = build_page((await open_model("pad", files)).state)
    assert "webnnm/inference/boxes.js" in with_boxes
    other = await NNModel.create(
        source="m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);", log=lambda _: None
    )
    assert "webnnm/inference/boxes.js" not in build_page(other.state)


async def test_servers_and_elements_get_boxes() -> None:
    """What <webnnm-model> gets of a snapshot, in a worker with Python, is the same."""
    import json

    files = make_files()
    model = await open_model("pad", files)
    content = json.loads(await answer(model, files[0]))
    assert content["m"]["boxes"][0].keys() == {"x", "y", "width", "height", "label", "score"}
