"""What pages show of a model before it is downloaded is what the model gives."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import needs, open_site_page
from tests.browser.test_model_pages import in_one_browser
from tests.work import everything
from tools.common import ROOT, SITE
from tools.page_offers import OFFERS
from tools.recorded import FOLDER, PICTURE_BYTES, RECORDERS, open_with_model
from webnnm.data.sounds import wav

SHOWN = ROOT / "site" / "shown"
PICTURE = re.compile(r'src="\./shown/([\w.-]+)"')
DRAWING = re.compile(r"<svg.*?</svg>")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
SLOW = ("teach.html",)
# Notes how long the sounds are that are played.
WATCH_PLAYER = """
globalThis.played = [];
const { start } = AudioBufferSourceNode.prototype;
AudioBufferSourceNode.prototype.start = function noted(...times) {
  played.push(this.buffer.duration);
  return start.apply(this, times);
};
"""
# How much two pictures differ, as the mean of all their numbers from 0 to 255.
DIFFERENCE = """
async (addresses) => {
  const [one, other] = await Promise.all(addresses.map(async (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  }));
  const sum = one.reduce((total, value, at) => total + Math.abs(value - other[at]), 0);
  return sum / one.length;
}
"""


def read(name: str) -> str:
    """Return what was recorded for a page."""
    return (FOLDER / name).read_text(encoding="utf-8").strip()


def numbers(text: str) -> list[float]:
    """Return the numbers in a text."""
    return [float(number) for number in NUMBER.findall(text)]


def test_pages_show_a_result_of_few_bytes() -> None:
    assert {*OFFERS, "table.html", "forecast.html"} == {*RECORDERS}
    assert {*RECORDERS} == {file.name for file in FOLDER.glob("*.html")}
    pictures = {name for page in RECORDERS for name in PICTURE.findall(read(page))}
    assert pictures
    assert pictures == {file.name for file in SHOWN.glob("*.webp")}
    for name in pictures:
        assert (SHOWN / name).stat().st_size <= PICTURE_BYTES, name
    for page in RECORDERS:
        assert "Recorded." in read(page)
        assert "style=" not in read(page), "the policy of the pages refuses it"


@pytest.mark.parametrize("name", OFFERS)
def test_an_offer_names_the_size_of_its_download(name: str) -> None:
    model = OFFERS[name].model
    needs(*model.files)
    size = sum((SITE / "models" / file).stat().st_size for file in model.files)
    assert f"{size / 1e6:.{len(model.megabytes.partition('.')[2])}f}" == model.megabytes


@in_one_browser
@pytest.mark.parametrize("name", RECORDERS)
async def test_a_recorded_result_is_what_the_model_gives(
    launch: Any, new_page: Any, site_url: str, project: Any, name: str
) -> None:
    if name in OFFERS:
        needs(*OFFERS[name].model.files)
    if name in SLOW and not everything():
        pytest.skip("it trains for minutes; WEBNNM_TESTS=all runs it")
    page = await new_page(await launch(project.name))
    await open_with_model(page, site_url, name)
    assert await page.locator("#recorded").is_hidden() == (name in OFFERS)
    result = await RECORDERS[name](page)
    assert await page.locator("#recorded").is_hidden()
    figure, recorded = result.figure, read(name)
    drawings = [DRAWING.findall(text) for text in (figure, recorded)]
    for drawing, other in zip(*drawings, strict=True):
        assert numbers(drawing) == pytest.approx(numbers(other), abs=5)
    figure, recorded = DRAWING.sub("", figure), DRAWING.sub("", recorded)
    assert NUMBER.sub("#", figure) == NUMBER.sub("#", recorded)
    assert numbers(figure) == pytest.approx(numbers(recorded), rel=0.02, abs=0.02)
    for file, content in result.files.items():
        both = content, (SHOWN / file).read_bytes()
        if file.endswith(".wav"):
            one, other = (wav.read(each).samples for each in both)
            assert list(one) == pytest.approx(list(other), abs=0.02)
        else:
            encoded = [base64.b64encode(each).decode() for each in both]
            assert await page.evaluate(DIFFERENCE, encoded) < 4, file


@in_one_browser
async def test_a_recorded_voice_can_be_heard(page: Any, site_url: str, project: Any) -> None:
    await page.add_init_script(WATCH_PLAYER)
    await open_site_page(page, site_url, "aloud.html")
    await page.locator("#listen").click()
    await page.wait_for_function("played.length > 0")
    sound = wav.read((SHOWN / "aloud.wav").read_bytes())
    assert sound.rate == 22_050
    assert await page.evaluate("played") == [pytest.approx(len(sound.samples) / sound.rate)]
    assert await page.locator("#alert").text_content() == ""


@in_one_browser
@pytest.mark.parametrize("name", OFFERS)
async def test_a_download_that_fails_is_told_to_a_visitor(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await page.route("**/models/**", lambda route: route.abort())
    await open_site_page(page, site_url, name)
    assert await page.locator("#recorded").is_visible()
    assert await violations(page) == []
    warning = page.locator("#progress-text.warning")
    await page.locator("#download").click()
    await warning.wait_for()
    assert "The download was interrupted" in await warning.text_content()
    await page.unroute("**/models/**")
    await page.route("**/models/**", lambda route: route.fulfill(status=404))
    await page.locator("#download:enabled").click()
    await page.locator("#progress-text.warning a").wait_for()
    assert "to download" in await warning.text_content()
    assert await page.locator("#alert").text_content() == ""
    assert await page.locator("#work:enabled").count() == 0
    assert await page.locator("#recorded").is_visible()
    address = await warning.locator("a").get_attribute("href")
    assert (SITE / address).is_file()
