"""The page of any model: it finds the task of a folder, and shows what its pipeline returns."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.browser.site_pages import check_usable, open_site_page
from tests.browser.test_model_pages import in_one_browser
from tests.unit.tasks.tiny_vit import vit_files
from tests.unit.tasks.words import CLASSES, folder

pytest.importorskip("numpy")


def as_files(contents: dict[str, bytes]) -> list[dict[str, Any]]:
    """Return files as a field for files takes them."""
    return [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in contents.items()
    ]


def draw_picture() -> list[dict[str, Any]]:
    """Return a small picture, as a field for files takes it."""
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGB", (12, 9), (200, 80, 40)).save(data, "PNG")
    return [{"name": "one.png", "mimeType": "image/png", "buffer": data.getvalue()}]


async def open_model(page: Any, files: dict[str, bytes], task: str) -> None:
    """Choose the files of a model, and wait until its task is offered."""
    await page.locator("#folder").set_input_files(as_files(files))
    await page.locator(f'#task option[value="{task}"]').first.wait_for(state="attached")
    await page.locator("#work:enabled").wait_for()
    assert await page.locator("#recorded").is_hidden()


async def run(page: Any, task: str) -> Any:
    """Run the pipeline, and return what the page says that it returned."""
    await page.locator("#rate").evaluate("node => node.removeAttribute('data-task')")
    await page.locator("#run:enabled").click()
    await page.locator(f'#rate[data-task="{task}"]').wait_for(state="attached")
    return json.loads(await page.locator("#returned").text_content())


@in_one_browser
async def test_a_folder_is_tried(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "hub.html")
    await open_model(page, folder(CLASSES, "sad", "glad"), "text-classification")
    assert "BertForSequenceClassification" in await page.locator("#about").text_content()
    await page.locator("#text").fill("so good")
    (best,) = await run(page, "text-classification")
    assert best["label"] in ("sad", "glad") and best["score"] >= 0.5
    assert best["label"] in await page.locator("#answer").text_content()

    await open_model(page, folder("BertForTokenClassification", "O", "B-X"), "token-classification")
    await page.locator("#text").fill("what a good day")
    for entry in await run(page, "token-classification"):
        assert entry["word"] in await page.locator("#marked").text_content()

    await open_model(page, folder("BertModel"), "sentence-similarity")
    assert await page.locator("label[for=lines]").text_content() == "Others, one in each line"
    await page.locator("#text").fill("so good")
    await page.locator("#lines").fill("a bad day\nso good")
    scores = await run(page, "sentence-similarity")
    assert scores[1] == pytest.approx(1) and scores[0] < 1
    assert await page.locator("#answer").text_content() == "so good"

    await open_model(page, vit_files(*"abc"), "image-classification")
    await page.locator("#picture").set_input_files(draw_picture())
    classes = await run(page, "image-classification")
    assert sorted(entry["label"] for entry in classes) == ["a", "b", "c"]
    assert await page.locator("#canvas").get_attribute("width") == "12"
    assert 'pipeline("image-classification"' in await page.locator("#program").text_content()
    await check_usable(page)


@in_one_browser
async def test_what_cannot_be_opened_is_named(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "hub.html")
    await page.locator("#folder").set_input_files(as_files({"config.json": b'{"model_type": "x"}'}))
    await page.locator("#alert pre").wait_for()
    assert "NNM817" in await page.locator("#alert").text_content()
    await open_model(page, vit_files(*"abc"), "image-classification")
    await page.locator("#run").click()
    await page.locator("#alert pre").wait_for()
    assert "there is no picture" in await page.locator("#alert").text_content()
