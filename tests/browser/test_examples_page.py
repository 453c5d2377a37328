"""The page that learns from examples: a person teaches it classes, and nothing leaves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.saved_pages import ask, open_saved_page
from tests.browser.site_pages import check_usable, needs, skip_where_nothing_runs, write_model
from tests.browser.taught_pages import (
    FAKE,
    answer,
    begin,
    check_that_nothing_leaves,
    class_of,
    read_shares,
    teach,
    train,
)

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

# Draws pictures of a kind, each a little different, and returns them as files of PNG.
DRAW = """
async ({ kind, count, first }) => {
  const files = [];
  for (let number = first; number < first + count; number++) {
    const canvas = new OffscreenCanvas(160, 120);
    const context = canvas.getContext("2d");
    const turn = (scale) => (Math.sin(12.9898 * (number + 1) * scale) + 1) / 2;
    context.fillStyle = `hsl(${360 * turn(1)} 12% ${80 + 15 * turn(2)}%)`;
    context.fillRect(0, 0, 160, 120);
    context.fillStyle = { sun: "#f2b100", sea: "#0a5bd6", leaf: "#1c8a2e" }[kind];
    context.translate(80 + 16 * (turn(3) - 0.5), 60 + 16 * (turn(4) - 0.5));
    const size = 30 + 12 * turn(5);
    context.beginPath();
    if (kind === "sun") context.arc(0, 0, size, 0, 2 * Math.PI);
    else if (kind === "sea") context.rect(-size * 1.4, -size / 2, size * 2.8, size);
    else { context.moveTo(0, -size); context.lineTo(size, size); context.lineTo(-size, size); }
    context.fill();
    const blob = await canvas.convertToBlob();
    files.push(Array.from(new Uint8Array(await blob.arrayBuffer())));
  }
  return files;
}
"""


async def draw(page: Any, kind: str, count: int, first: int = 0) -> list[dict[str, Any]]:
    """Return files of pictures that the page draws."""
    found = await page.evaluate(DRAW, {"kind": kind, "count": count, "first": first})
    return [
        {"name": f"{kind}{n}.png", "mimeType": "image/png", "buffer": bytes(map(int, each))}
        for n, each in enumerate(found)
    ]


@in_both_browsers
@pytest.mark.usual("no-webnn")
async def test_a_class_is_learnt_and_nothing_leaves(
    page: Any, site_url: str, project: Any, tmp_path: Any
) -> None:
    skip_where_nothing_runs(project)
    page.set_default_timeout(30_000)
    requests = await begin(page, site_url, "examples.html", "#without")
    new = {kind: (await draw(page, kind, 1, 50))[0] for kind in ("sun", "sea", "leaf")}
    await teach(page, 0, "Sun", await draw(page, "sun", 6))
    await teach(page, 1, "Sea", await draw(page, "sea", 6))
    # By keyboard: a third class, its name is selected; one picture too many goes again.
    await page.locator("#add").press("Enter")
    await page.keyboard.type("Leaf")
    await page.locator("#learn").click()
    told = page.locator("#alert pre")
    assert "“Leaf” has no examples" in await told.text_content()
    await teach(page, 2, "Leaf", await draw(page, "leaf", 7))
    await class_of(page, 2).get_by_role("button", name="Remove picture 7 of Leaf").press("Enter")
    await class_of(page, 2).get_by_text("6 pictures").wait_for()
    assert await page.evaluate("document.activeElement.ariaLabel") == "Remove picture 6 of Leaf"
    await train(page)
    assert "18 pictures of 3 classes learnt" in await page.locator("#course-text").text_content()
    assert "shape=[3]" in await page.locator("#source").input_value()
    for kind, file in new.items():
        assert (await answer(page, file)).lower() == kind
    assert await page.locator("#shares dt").all_text_contents() == ["Sun", "Sea", "Leaf"]
    # What is saved says the same when it is opened again, and goes to other programs.
    async with page.expect_download() as saved:
        await page.locator("#save").click()
    file = tmp_path / "examples.webnnm.safetensors"
    await (await saved.value).save_as(file)
    async with page.expect_download() as exported:
        await page.locator("#export").click()
    assert (await exported.value).suggested_filename == "examples.onnx"
    shares = await page.locator("#shares").text_content()
    # And a page of its own says the same without Python.
    async with open_saved_page(page, tmp_path) as tab:
        for picture in new.values():
            await answer(page, picture)
            assert await ask(tab, picture) == await read_shares(page)
    await class_of(page, 2).get_by_role("button", name="Remove class Leaf").click()
    await train(page)
    assert await answer(page, new["sun"]) == "Sun"
    assert await page.locator("#shares dt").all_text_contents() == ["Sun", "Sea"]
    await page.locator("#open").set_input_files(file)
    await page.get_by_text("is opened: Sun, Sea, Leaf").wait_for()
    assert await answer(page, new["leaf"]) == "Leaf"
    assert await page.locator("#shares").text_content() == shares
    # Another model text is trained as it is; a wrong one is told with its place.
    text = await page.locator("#source").input_value()
    await page.get_by_text("The model as text").click()
    await write_model(page, text.replace("softmax()", "softmx()"))
    await page.locator("#learn").click()
    await told.get_by_text("softmax").wait_for()
    await write_model(page, text)
    await check_that_nothing_leaves(page, requests)
    assert await violations(page) == []
    await check_usable(page)  # which leaves it narrow and dark
    assert await violations(page) == []


@in_one_browser
async def test_a_class_is_learnt_from_the_camera(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    page = await new_page(await launch(project.name, *FAKE))
    page.set_default_timeout(30_000)
    requests = await begin(page, site_url, "examples.html", "#without")
    # A click takes one picture, a button that is held down more, and a key one.
    take = class_of(page, 0).get_by_role("button", name="Take a picture of Class 1")
    await take.click()
    await class_of(page, 0).get_by_text("1 picture", exact=True).wait_for()
    await page.locator("#stop:enabled").wait_for()
    await take.press("Space")
    await class_of(page, 0).get_by_text("2 pictures").wait_for()
    await take.hover()
    await page.mouse.down()
    await class_of(page, 0).locator(".thumbnails li").nth(4).wait_for()
    await page.mouse.up()
    await teach(page, 1, "Sun", await draw(page, "sun", 5))
    await train(page)
    # The camera goes on, and what it shows is recognised picture by picture.
    await page.wait_for_function("Number(document.querySelector('#rate').dataset.count) >= 3")
    assert (await page.locator("#answer").text_content()).startswith("Class 1")
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    assert await answer(page, (await draw(page, "sun", 1, 50))[0]) == "Sun"
    assert requests == []


@in_both_browsers
async def test_the_backbone_tells_apart_what_pixels_do_not(
    page: Any, site_url: str, project: Any, tmp_path: Any
) -> None:
    needs("efficientnet-lite0.onnx")
    page.set_default_timeout(60_000)
    requests = await begin(page, site_url, "examples.html", "#download")
    await teach(page, 0, "Sun", await draw(page, "sun", 5))
    await teach(page, 1, "Leaf", await draw(page, "leaf", 5))
    await train(page)
    new = {kind: (await draw(page, kind, 1, 50))[0] for kind in ("sun", "leaf")}
    for kind, file in new.items():
        assert (await answer(page, file)).lower() == kind
    shares = await page.locator("#shares").text_content()
    # Backbone and head are one model in the file.
    async with page.expect_download() as saved:
        await page.locator("#save").click()
    file = tmp_path / "examples.webnnm.safetensors"
    await (await saved.value).save_as(file)
    assert file.stat().st_size > 13_000_000
    async with page.expect_download() as exported:
        await page.locator("#export").click()
    await (await exported.value).save_as(tmp_path / "examples.onnx")
    await page.locator("#open").set_input_files(file)
    await page.get_by_text("is opened: Sun, Leaf").wait_for()
    assert await answer(page, new["leaf"]) == "Leaf"
    assert await page.locator("#shares").text_content() == shares
    async with open_saved_page(page, tmp_path) as tab:
        assert await ask(tab, new["leaf"]) == await read_shares(page)
    assert [each for each in requests if not each.startswith("blob:")] == []
