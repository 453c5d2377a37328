"""The digits page: it learns to read digits, drawn ones as well."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.browser.first_look import check_policy, open_and_look
from tests.browser.saved_pages import ask, open_saved_page, save_page
from tests.browser.site_pages import (
    SHARES_DIFFER,
    backend_of,
    check_usable,
    live_while_it_trains,
    look_closer,
    open_site_page,
    says_that_numpy_will_train,
    skip_where_nothing_runs,
    train_on,
)

Points = list[tuple[float, float]]

CIRCLE: Points = [
    (0.5 + 0.22 * math.sin(turn * math.pi / 10), 0.5 - 0.35 * math.cos(turn * math.pi / 10))
    for turn in range(21)
]
DRAWINGS: dict[str, Points] = {
    "0": CIRCLE,
    "1": [(0.5, 0.15), (0.5, 0.85)],
    "7": [(0.25, 0.2), (0.75, 0.2), (0.45, 0.85)],
}


async def draw(page: Any, points: Points) -> None:
    """Draw a stroke with the mouse; points are shares of the pad."""
    pad = page.locator("#pad")
    if await page.locator("#clear").is_visible():
        await page.locator("#clear").click()
    await pad.scroll_into_view_if_needed()
    box = await pad.bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    await page.mouse.move(*at[0])
    await page.mouse.down()
    for x, y in at[1:]:
        await page.mouse.move(x, y, steps=4)
    await page.mouse.up()


# How light a canvas is, from 0 to 1: what is behind it, and the pixel that differs most from that.
LIGHT = """
async (canvas) => {
  await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
  const context = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  const area = [0, 0, canvas.width, canvas.height];
  const paint = (element) => {
    context.fillStyle = getComputedStyle(element).backgroundColor;
    context.fillRect(...area);
  };
  [canvas.closest("button") ?? canvas, canvas].forEach(paint);
  const read = () => [...context.getImageData(...area).data].filter((_, at) => at % 4 === 1);
  const [ground] = read();
  context.drawImage(canvas, 0, 0);
  const distance = (value) => Math.abs(value - ground);
  const ink = read().reduce((a, b) => (distance(a) > distance(b) ? a : b));
  return [ground / 255, ink / 255];
}
"""

LOOKS = (
    "Learning rate",
    "Gradient norm",
    "ROC",
    "Calibration",
    "Filters of conv2d1",
    "Feature maps of conv2d1",
    "Feature maps of conv2d2",
    "Weights",
    "Activations",
    "Gradients",
)


async def see_more(page: Any) -> None:
    """Open the charts of a closer look, and check what they say."""
    words = await look_closer(page, *LOOKS)
    assert words["Learning rate"].startswith("Learning rate over 4 epochs.")
    assert "norm: " in words["Gradient norm"]
    assert words["ROC"].count("area 0.9") + words["ROC"].count("area 1.0") == 10
    assert words["Calibration"].startswith("Calibration of 539 rows:")
    start = "8 filters of 3 × 3 weights for 1 input channel"
    assert words["Filters of conv2d1"].startswith(start)
    assert words["Feature maps of conv2d1"].startswith("8 channels of ")
    for name in ("f1", "f2", "w1", "b1"):
        assert f"Distribution of {name}:" in words["Weights"]
        assert f"Distribution of {name}:" in words["Gradients"]
    assert "Distribution of softmax1: from " in words["Activations"]


async def see_mistakes(page: Any) -> None:
    """Go from a cell of the confusion matrix to the digits that it counts."""
    cell = page.locator(".confusion button").first
    count = int(await cell.text_content())
    words = await cell.get_attribute("aria-label")
    await cell.press("Enter")
    await page.locator("#mistakes canvas").first.wait_for()
    assert await page.locator("#mistakes canvas").count() == min(count, 24)
    wrong = words.partition("taken for ")[2].removesuffix(": show")
    captions = await page.locator("#mistakes figcaption").all_text_contents()
    assert all(caption.startswith(f"{wrong} ") for caption in captions)


async def read_examples(page: Any) -> None:
    """Choose digits of the testing part by keyboard: the page reads them."""
    examples = page.locator("#examples button")
    assert await examples.count() == 10
    read = 0
    for digit in range(10):
        before = "".join(await page.locator("#shares dd").all_text_contents())
        await page.get_by_role("button", name=f"A {digit} of the testing part").press("Enter")
        await page.wait_for_function(SHARES_DIFFER, arg=before)
        read += (await page.locator("#answer").text_content()).startswith(f"{digit} ")
    assert read >= 9


@pytest.mark.projects("webnn", "no-webnn")
async def test_digits_are_learnt_and_drawings_are_read(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    skip_where_nothing_runs(project)
    await open_and_look(page, site_url, "digits.html")
    if not project.webnn:
        await says_that_numpy_will_train(page)
    assert await page.locator("#clear").is_disabled()
    style = "pad => getComputedStyle(pad).touchAction"
    assert await page.locator("#pad").evaluate(style) == "none", "a finger draws"
    result = await train_on(page, epochs=4)
    assert float(await result.get_attribute("data-accuracy")) > 0.9
    assert (await result.get_attribute("data-backend")).startswith(backend_of(project, much=True))
    counts = await page.locator(".confusion td").all_text_contents()
    assert sum(map(int, counts)) == 539
    caption = await page.locator(".confusion caption").text_content()
    assert caption.startswith("Confusion matrix:") and caption.endswith(
        "Click a mistake to see it."
    )
    await see_mistakes(page)
    assert await page.locator("#closer-charts figure").count() == 0, "nothing is drawn unasked"
    await see_more(page)
    for digit, points in DRAWINGS.items():
        await draw(page, points)
        await page.locator("#answer", has_text=f"{digit} (").wait_for()
    assert await page.locator("#shares dd").count() == 10
    async with open_saved_page(page, tmp_path) as tab:
        drawing = await page.locator("#seen").screenshot()
        file = {"name": "a.png", "mimeType": "image/png", "buffer": drawing}
        assert len(await ask(tab, file)) == 5  # the likeliest ones
    await page.locator("#clear").click()
    await page.wait_for_function("!document.querySelector('#answer').textContent")
    await check_policy(page)
    await check_usable(page)
    await read_examples(page)
    if not project.webnn:
        # ONNX Runtime Web computes in the thread of the page itself.
        await live_while_it_trains(page, epochs="10000")


@pytest.mark.projects("webnn")
async def test_digits_are_dark_on_light_pages_and_light_on_dark_ones(
    page: Any, site_url: str, project: Any
) -> None:
    await page.emulate_media(color_scheme="dark")
    await open_site_page(page, site_url, "digits.html")
    await train_on(page, epochs=2)
    await draw(page, DRAWINGS["7"])
    await page.locator("#eyes").wait_for()
    await page.locator(".confusion button").first.press("Enter")
    await page.locator("#mistakes canvas").first.wait_for()
    for selector in ("#pad", "#seen", "#examples canvas", "#mistakes canvas"):
        canvas = page.locator(selector).first
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            is_drawn = False
            while not is_drawn:  # the page draws it anew when it is told of the scheme
                ground, ink = await canvas.evaluate(LIGHT)
                dark, light = (ground, ink) if scheme == "dark" else (ink, ground)
                is_drawn = dark < 0.2 and light > 0.8


@pytest.mark.projects("worker")
async def test_a_worker_learns_digits_too(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    await open_site_page(page, site_url, "digits.html?worker")
    result = await train_on(page, epochs=4)
    assert float(await result.get_attribute("data-accuracy")) > 0.9
    await draw(page, DRAWINGS["1"])
    await page.locator("#answer", has_text="1 (").wait_for()
    await save_page(page, tmp_path)
    assert (tmp_path / "page" / "model.json").is_file()
    await see_more(page)
