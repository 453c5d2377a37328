"""Pictures of any size have the same pixels in pages, in exported ones, and on desktops."""

from __future__ import annotations

import base64
import io
import random
from pathlib import Path
from typing import Any

import pytest

from tests.browser.harness import PyodidePage
from webnnm import ImageDataset, NNModel
from webnnm.cli.serve import SiteServer
from webnnm.data.pictures.decoded_picture import Filter, decode_picture
from webnnm.data.pictures.fitting import PictureFormat, fit_picture
from webnnm.formats.page.exporting import export_page

Image = pytest.importorskip("PIL.Image")

FORMS = [
    PictureFormat(16, 12, 3, "crop"),
    PictureFormat(20, 20, 1, "pad"),
    PictureFormat(9, 31, 3, "stretch"),
    PictureFormat(64, 64, 3, "pad"),
]
RESIZED = """
import base64
from webnnm.data.pictures.decoded_picture import Filter, decode_picture

answers = []
for text in files:
    decoded = await decode_picture(base64.b64decode(text), "a picture")
    answers.append([
        list(bytes((await decoded.resize(height, width, filter)).data))
        for height, width in sizes for filter in Filter
    ])
    decoded.close()
answers
"""
IN_PAGE = """
import base64
from webnnm.data.pictures.fitting import PictureFormat, fit_picture, measure_picture

answers = []
for text in files:
    content = base64.b64decode(text)
    sizes = [list(await measure_picture(content, "a picture"))]
    answers.append(sizes + [
        list(bytes((await fit_picture(content, "a picture", PictureFormat(*form))).data))
        for form in forms
    ])
try:
    await fit_picture(b"no picture", "bad.png", PictureFormat(*forms[0]))
except Exception as error:
    answers.append(str(error))
answers
"""
EXPORTED = """async ([files, engine]) => {
  const { openModel } = await import("./webnnm/inference/model.js");
  const model = await openModel("./model.json", engine);
  const answers = [];
  for (const text of files) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    answers.push((await model.predict(new Blob([bytes]))).m.values);
  }
  const bad = await model.predict(new Blob(["none"])).catch(({ message }) => message);
  model.close();
  return [...answers, bad];
}"""


def make_files() -> list[bytes]:
    """Return PNG files of several sizes, modes and orientations."""
    draw = random.Random(0)
    files: list[bytes] = []
    for mode, size in (
        *(("RGB", (41, 30)), ("RGB", (7, 5)), ("L", (100, 64)), ("P", (33, 47)), ("1", (24, 40))),
        *(("RGB", (20, 20)), ("I;16", (31, 18))),
    ):
        source = "L" if mode in ("P", "1") else mode
        count = size[0] * size[1] * {"RGB": 3, "I;16": 2}.get(source, 1)
        image: Any = Image.frombytes(source, size, draw.randbytes(count))
        buffer = io.BytesIO()
        image.convert(mode).save(buffer, "PNG")
        files.append(buffer.getvalue())
    clear: Any = Image.frombytes("RGBA", (30, 20), bytes([200, 100, 50, 255, 7, 8, 9, 0]) * 300)
    buffer = io.BytesIO()
    clear.save(buffer, "PNG")
    return [*files, buffer.getvalue()]


async def test_pages_have_the_pixels_of_desktops(pyodide_page: PyodidePage) -> None:
    files = make_files()
    forms = [[form.width, form.height, form.channels, form.fit] for form in FORMS]
    texts = [base64.b64encode(content).decode() for content in files]
    answers = await pyodide_page.run_python(IN_PAGE, files=texts, forms=forms)
    for content, (size, *actual) in zip(files, answers, strict=False):
        assert tuple(size) == Image.open(io.BytesIO(content)).size
        for form, pixels in zip(FORMS, actual, strict=True):
            expected = bytes((await fit_picture(content, "a picture", form)).data)
            assert pixels == [*expected], (size, form)
    assert "NNM802: bad.png cannot be read" in answers[-1]


async def test_filters_of_pages_give_the_pixels_of_desktops(pyodide_page: PyodidePage) -> None:
    files, sizes = make_files(), [(16, 12), (64, 7), (90, 110)]
    texts = [base64.b64encode(content).decode() for content in files]
    answers = await pyodide_page.run_python(RESIZED, files=texts, sizes=sizes)
    for content, actual in zip(files, answers, strict=True):
        decoded = await decode_picture(content, "a picture")
        cases = [(*size, filter) for size in sizes for filter in Filter]
        for (height, width, filter), pixels in zip(cases, actual, strict=True):
            expected = bytes((await decoded.resize(height, width, filter)).data)
            assert pixels == [*expected], (decoded.width, decoded.height, height, width, filter)


@pytest.mark.webnn
@pytest.mark.parametrize("fit", ["crop", "pad"])
async def test_exported_pages_take_files(
    fit: Any, tmp_path: Path, webnn_context: Any, page_log: Any
) -> None:
    files = [content for content in make_files() if b"IHDR\0\0\0\x1f" not in content]
    data = await ImageDataset.from_files(
        files, [n + 0.5 for n in range(len(files))], size=(8, 6), fit=fit, split=(1, 0, 0)
    )
    model = await NNModel.create(
        source="m:input shape={channels:3, height:6, width:8}; m:output shape=[1];"
        "m:layers flatten(), matmul(w), tanh();",
        dataset=data, backend="numpy", log=lambda _: None,
    )  # fmt: skip
    await export_page(model.state, tmp_path / "page", None)
    expected = [(await model.predict(content)).tolist()[0] for content in files]
    page = await webnn_context.new_page()
    page_log.watch(page)
    texts = [base64.b64encode(content).decode() for content in files]
    with SiteServer(tmp_path / "page") as server:
        await page.goto(server.url)
        for engine in ("webnn", "script"):
            *answers, bad = await page.evaluate(EXPORTED, [texts, engine])
            for actual, right in zip(answers, expected, strict=True):
                assert actual == pytest.approx(right, rel=1e-4, abs=1e-5)
            assert bad.startswith('NNM802: input "m" is not a picture')
        field = page.locator("webnnm-model input[type=file]")
        await field.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": files[0]})
        await page.locator("webnnm-model").get_by_role("button", name="Predict").click()
        await page.locator("webnnm-model form .whole[role=status] :is(p, li)").first.wait_for()
    await page.close()
