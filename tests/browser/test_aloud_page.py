"""The page that reads aloud: voices of letters and of phonemes, from files of the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.site_pages import check_usable, open_site_page
from tests.browser.test_hub_page import as_files, open_model, run
from tests.browser.test_model_pages import in_one_browser
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from tests.unit.transformers.tiny_piper import voice
from webnnm.data.sounds.wav import read

pytest.importorskip("numpy")

LETTERS = {character: number for number, character in enumerate("_abcdefghijklmnop ")}
"""The letters of a tiny voice: others are not spoken."""


def letters_voice() -> dict[str, bytes]:
    """Return the files of a tiny voice that reads letters, with three speakers."""
    fixture = fixtures.read()["vits-speakers"]
    return {
        **files(fixture, fixtures.SEED),
        "vocab.json": json.dumps(LETTERS).encode(),
        "tokenizer_config.json": b'{"phonemize": false}',
    }


async def read_aloud(page: Any, text: str) -> list[str]:
    """Let the page read a text, and return the sentences that it has read."""
    await page.locator("#text").fill(text)
    await page.locator("#speak:enabled").click()
    await page.locator("#rate[data-done]").wait_for()
    return await page.locator("#sentences li").all_text_contents()


@in_one_browser
async def test_a_voice_of_letters_reads_and_is_saved(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    await open_site_page(page, site_url, "aloud.html")
    await page.locator("#folder").set_input_files(as_files(letters_voice()))
    await page.locator("#work:enabled").wait_for()
    assert await page.locator("#speaker:visible").get_attribute("max") == "2"
    assert await read_aloud(page, "A bad cab. I feed a pig!") == ["A bad cab.", "I feed a pig!"]
    assert "s of speech in" in await page.locator("#rate").text_content()
    async with page.expect_download() as waiting:
        await page.locator("#save:enabled").click()
    download = await waiting.value
    await download.save_as(tmp_path / download.suggested_filename)
    sound = read((tmp_path / "aloud.wav").read_bytes())
    assert (sound.rate, sound.channels) == (16_000, 1)
    assert len(sound.samples) > 100 and max(sound.samples) > 0.01
    await check_usable(page)


@in_one_browser
async def test_a_voice_of_phonemes_needs_a_dictionary(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "aloud.html")
    words = {"cmudict.dict": b"a AH0\ncab B AE1 B\n"}
    await page.locator("#folder").set_input_files(as_files({**voice(), **words}))
    await page.locator("#work:enabled").wait_for()
    assert await page.locator("#speaker").is_hidden()
    assert await read_aloud(page, "A cab.") == ["A cab."]
    await page.locator("#speak:enabled").wait_for()
    await page.locator("#text").fill("…")
    await page.locator("#speak").click()
    await page.locator("#alert pre").wait_for()
    assert "NNM711" in await page.locator("#alert").text_content()


@in_one_browser
async def test_files_that_are_no_voice_are_named(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "aloud.html")
    incomplete = {name: data for name, data in letters_voice().items() if name != "vocab.json"}
    await page.locator("#folder").set_input_files(as_files(incomplete))
    await page.locator("#alert pre").wait_for()
    assert "NNM718" in await page.locator("#alert").text_content()
    assert await page.locator("#work:disabled").count() == 1


@in_one_browser
async def test_the_page_of_any_model_speaks(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "hub.html")
    await open_model(page, letters_voice(), "text-to-speech")
    await page.locator("#text").fill("a bad cab")
    sound = await run(page, "text-to-speech")
    assert sound["sampling_rate"] == 16_000 and len(sound["audio"]) > 5
    assert "s of speech" in await page.locator("#answer").text_content()
