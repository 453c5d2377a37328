"""Results as pictures to share: what a card shows, how it is taken away, and what is not on it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import (
    WATCH_POLICY,
    fill,
    open_site_page,
    result_of,
    skip_where_nothing_runs,
    train_on,
)

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

SHARE = "#share-result"
CARD = ".result-card canvas"
# The colour at the edge of the card, which is its ground, and how many pixels differ from it in the
# places of the title, the numbers, the charts and the address.
INK = """
(canvas) => {
  const context = canvas.getContext("2d");
  const ground = [...context.getImageData(2, 2, 1, 1).data.slice(0, 3)];
  const ink = ([left, top, right, bottom]) => {
    const { data } = context.getImageData(left, top, right - left, bottom - top);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (ground.some((value, k) => Math.abs(data[at + k] - value) > 24)) count += 1;
    }
    return count;
  };
  const places = { title: [48, 48, 1152, 110], numbers: [48, 190, 318, 540],
                   charts: [350, 190, 1152, 550], address: [48, 560, 1152, 590] };
  const edges = { left: [0, 0, 40, 630], right: [1160, 0, 1200, 630],
                  top: [0, 0, 1200, 40], bottom: [0, 592, 1200, 630] };
  const count = (boxes) => Object.fromEntries(
    Object.entries(boxes).map(([name, box]) => [name, ink(box)]));
  return { size: [canvas.width, canvas.height], ground, ...count(places), edges: count(edges) };
}
"""
# A clipboard and a system that take what they are given.
TAKE = """
globalThis.taken = [];
Object.defineProperty(navigator, "clipboard", { value: {
  write: async ([item]) => {
    if (globalThis.refuse) throw new DOMException("no", "NotAllowedError");
    taken.push((await item.getType("image/png")).size);
  },
} });
navigator.canShare = ({ files: [file] }) => file.type === "image/png" && file.size > 10_000;
navigator.share = async ({ files: [file], title, url }) => { taken.push([file.name, title, url]); };
"""
# The texts that are drawn on a canvas, with their ends and the height of their line.
WRITTEN = """
globalThis.written = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
  const { a, d, e, f } = this.getTransform();
  const width = a * this.measureText(text).width;
  const left = a * x + e - ({ center: width / 2, right: width }[this.textAlign] ?? 0);
  written.push([text, left, left + width, Math.round(d * y + f)]);
  return fillText.call(this, text, x, y, ...more);
};
"""
LONG = "a name that is much too long for the title of any picture " * 4


async def look(page: Any) -> dict[str, Any]:
    """Check that a card has something in each of its places, and nothing at its edges."""
    found = await page.locator(CARD).evaluate(INK)
    assert found["size"] == [1200, 630]
    assert min(found[name] for name in ("title", "numbers", "charts", "address")) > 400, found
    assert set(found["edges"].values()) == {0}, found
    return found


async def words(page: Any) -> str:
    return await page.locator(CARD).get_attribute("aria-label")


@in_both_browsers
async def test_the_card_of_a_training_is_copied_saved_and_shared(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    for script in (WATCH_POLICY, TAKE):
        await page.add_init_script(script)
    await open_site_page(page, site_url, "iris.html")
    assert await page.locator(SHARE).is_hidden()
    await train_on(page, epochs=30)
    await page.locator(SHARE).focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Share the result")
    await dialog.wait_for()
    await look(page)
    text = await words(page)
    accuracy = await page.locator("#accuracy").text_content()
    assert text.startswith("Iris flowers. A network of 27 parameters tells 3 classes of flowers")
    assert "It learnt 105 flowers" in text
    assert f"{await page.locator('#samples').text_content()}: {accuracy}" in text
    assert " s" in text and "30 epochs on " in text and "training loss at the end: " in text
    assert text.endswith("/iris.html")
    assert await violations(page) == []
    status = dialog.get_by_role("status")
    await page.keyboard.press("Enter")
    await status.filter(has_text="The picture is copied.").wait_for()
    await dialog.get_by_role("button", name="Share …").click()
    await page.wait_for_function("taken.length === 2")
    size, shared = await page.evaluate("taken")
    assert size > 10_000
    assert shared == ["iris-result.png", "Iris flowers", page.url]
    async with page.expect_download() as download:
        await dialog.get_by_role("button", name="Save the picture").click()
    file = await download.value
    assert file.suggested_filename == "iris-result.png"
    assert Path(await file.path()).read_bytes().startswith(b"\x89PNG")
    await page.evaluate("globalThis.refuse = true")
    await dialog.get_by_role("button", name="Copy the picture").click()
    await status.filter(has_text="does not let this page copy").wait_for()
    await page.keyboard.press("Escape")
    await dialog.wait_for(state="detached")
    assert await page.evaluate("document.activeElement.id") == "share-result"
    # A result that is gone is not shared.
    await fill(page, epochs="100000")
    await page.locator("#train:enabled").click()
    await page.locator(SHARE).wait_for(state="hidden")
    await page.locator("#stop:enabled").click()
    await page.locator(SHARE).wait_for()
    assert await page.evaluate("refused") == []


@in_one_browser
async def test_a_card_has_the_colours_of_the_page(page: Any, site_url: str, project: Any) -> None:
    await page.emulate_media(color_scheme="dark")
    await open_site_page(page, site_url, "iris.html")
    await train_on(page, epochs=10)
    await page.locator(SHARE).click()
    dark = await look(page)
    assert max(dark["ground"]) < 64
    await page.emulate_media(color_scheme="light")
    await page.wait_for_function(f"({INK})(document.querySelector('{CARD}')).ground[0] > 200")
    await look(page)


@in_one_browser
async def test_long_names_of_a_table_stay_on_the_card_and_rows_off_it(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(WRITTEN)
    await open_site_page(page, site_url, "table.html")
    lines = [f"size,{LONG}", *(f"{row},{LONG}{'abc'[row // 30]}" for row in range(90))]
    table = "\n".join(lines).encode()
    file = {"name": f"Results of {LONG}.csv", "mimeType": "text/csv", "buffer": table}
    await page.locator("#file").set_input_files(file)
    await page.locator("#sources", has_text="3 classes").wait_for()
    await fill(page, epochs="10")
    await page.locator("#train").click()
    await result_of(page)
    await page.evaluate("written.length = 0")
    await page.locator(SHARE).click()
    # The names leave room for the matrix: the cells of its diagonal are filled.
    assert (await look(page))["charts"] > 20_000
    assert "from 1 column. It learnt 63 rows in the browser." in await words(page)
    assert (await words(page)).startswith("Results of a name t…: a name that is much too")
    written = await page.evaluate("written")
    columns = [each for each in written if each[0] in {f"a na…e {end}" for end in "abc"}]
    last = max(line for *_, line in columns)
    columns = sorted((left, right) for _, left, right, line in columns if line == last)
    assert len(columns) == 3, written
    gaps = [after[0] - before[1] for before, after in pairwise(columns)]
    assert min(gaps) > 0, "names of columns stand side by side"
    assert await page.get_by_text("none of your rows").is_visible()
    # Another table: there is nothing to share.
    await page.get_by_role("button", name="Close").click()
    await page.get_by_label("Missing cells").select_option("drop")
    await page.locator(SHARE).wait_for(state="hidden")


@in_one_browser
@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("digits.html", "Digits. A network of "),
        ("forecast.html", "visitors. A network of "),
        ("sentences.html", "messages: "),
    ],
)
async def test_other_pages_that_train_have_a_card(
    page: Any, site_url: str, project: Any, name: str, beginning: str
) -> None:
    await open_site_page(page, site_url, name)
    if await page.locator("#example").count():
        await page.locator("#example").click()
    await train_on(page, epochs=2)
    await page.locator(SHARE).click()
    await look(page)
    text = await words(page)
    assert text.startswith(beginning) and "2 epochs on WebNN (cpu" in text


@in_one_browser
@pytest.mark.parametrize(
    ("name", "title"),
    [("examples.html", "Sun, Leaf"), ("sounds.html", "Background noise, Whistle, Clap")],
)
async def test_examples_are_on_a_card_only_where_the_reader_says_so(
    page: Any, site_url: str, project: Any, name: str, title: str
) -> None:
    for script in (WATCH_POLICY, WRITTEN):
        await page.add_init_script(script)
    await open_site_page(page, site_url, name)
    await page.locator("#ready").click()
    await page.locator("#learn:visible").click()
    # By now network access is blocked: nothing can be fetched.
    await page.locator(SHARE).click()
    before = await look(page)
    assert (await words(page)).startswith(title)
    own = page.locator(".result-card").get_by_role("checkbox")
    assert not await own.is_checked()
    noun = "picture" if name == "examples.html" else "sound"
    holds = page.locator(".result-card p", has_text="holds the")
    only = f"The picture holds the names of the classes and how many {noun}s they have."
    assert await holds.text_content() == only
    await own.check()
    await holds.filter(has_text=f"What you share holds the {noun} of the preview").wait_for()
    await page.wait_for_function(
        f"(before) => ({INK})(document.querySelector('{CARD}')).charts !== before",
        arg=before["charts"],
    )
    await look(page)
    await own.uncheck()
    await holds.filter(has_text=only).wait_for()
    assert await page.evaluate("refused") == []
    await page.get_by_role("button", name="Close").click()
    # The card has the names that the page has now, and none of those before.
    old = title.partition(",")[0]
    await page.locator("#classes").get_by_label("Name").first.fill("Renamed")
    await page.locator("#shares dt", has_text="Renamed").wait_for()
    await page.evaluate("written.length = 0")
    await page.locator(SHARE).click()
    await look(page)
    assert (await words(page)).startswith(title.replace(old, "Renamed"))
    await own.check()
    await holds.filter(has_text="What you share holds").wait_for()
    drawn = [text for text, *_ in await page.evaluate("written")]
    assert drawn.count("Renamed") == 2, "with and without the preview"
    assert not any(old in text for text in drawn)
    await page.get_by_role("button", name="Close").click()
    await page.locator("#classes .remove").first.click()
    await page.locator(SHARE).wait_for(state="hidden")


@in_both_browsers
async def test_the_playground_shares_the_network_and_the_plane(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_site_page(page, site_url, "playground.html#data=circles&epochs=20")
    await page.locator("#plane canvas").wait_for()
    assert await page.locator(SHARE).is_hidden()
    await page.locator("#train").click()
    await result_of(page)
    await page.locator(SHARE).click()
    await look(page)
    text = await words(page)
    assert text.startswith("Circles. A network of 114 parameters learns to tell 200 points")
    assert "training loss, validation " in text and "20 epochs on " in text
    await page.get_by_role("button", name="Close").click()
    await page.locator("#again").click()
    await page.locator(SHARE).wait_for(state="hidden")


@in_one_browser
async def test_a_result_is_shared_without_a_connection_or_once_there_is_one_again(
    page: Any, site_url: str, project: Any
) -> None:
    component = "**/result_card.js"
    async with page.expect_response(component):
        await open_site_page(page, site_url, "playground.html#epochs=3")
        await page.locator("#train").click()
        await result_of(page)
    await page.evaluate("navigator.serviceWorker.getRegistrations()")
    await page.context.set_offline(True)
    await page.locator(SHARE).click()
    await page.locator(CARD).wait_for()
    await page.context.set_offline(False)

    await page.goto("about:blank")
    await page.route(component, lambda route: route.abort())
    await open_site_page(page, site_url, "playground.html#epochs=3")
    await page.locator("#train").click()
    await result_of(page)
    await page.locator(SHARE).click()
    error = "What draws the picture could not be fetched. Check your connection, then try again."
    assert await page.locator("#alert pre").text_content() == error
    await page.unroute(component)
    await page.locator(SHARE).click()
    await page.locator(CARD).wait_for()
    assert await page.locator("#alert pre").count() == 0
