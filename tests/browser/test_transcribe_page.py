"""The page that transcribes: a tiny model with a file and the microphone, and Whisper tiny.en."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from tests.browser.site_pages import check_usable, needs, open_site_page
from tests.browser.taught_pages import FAKE
from tests.browser.test_model_pages import (
    SPEECH,
    in_one_browser,
    needs_speech,
    ready,
)
from tests.unit.transformers.tiny_whisper import files
from webnnm.data.sounds.wav import encode_wav

SAID = (
    "And so my fellow Americans ask not what your country can do for you "
    "ask what you can do for your country"
)
TONE = encode_wav([math.sin(place / 9) for place in range(8000)], 16_000)


@in_one_browser
async def test_a_tiny_model_writes_something(
    launch: Any, new_page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    page = await new_page(await launch(project.name, *FAKE))
    given = files()

    async def tiny(route: Any) -> None:
        name = route.request.url.rpartition("/")[2]
        await route.fulfill(status=200 if name in given else 404, body=given.get(name, b""))

    await page.route("**/models/whisper-tiny.en/*", tiny)
    await ready(page, site_url, "transcribe.html")
    tone = {"name": "tone.wav", "mimeType": "audio/wav", "buffer": TONE}
    await page.locator("#file").set_input_files([tone])
    rate = page.locator("#rate[data-done]")
    await rate.wait_for()
    assert "0.5 s of sound in" in await rate.text_content()
    assert "on WebNN" in await rate.text_content()
    await check_usable(page)
    await page.locator("#start").click()
    await page.locator("#rate", has_text="Listening: 1 s").wait_for()
    await page.locator("#stop").click()
    await rate.wait_for()
    assert "s of sound" in await rate.text_content()
    assert await page.locator("#start").is_enabled()


@in_one_browser
async def test_a_folder_that_is_not_whole_is_told(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "transcribe.html")
    one = {"name": "config.json", "mimeType": "application/json", "buffer": b"{}"}
    await page.locator("#folder").set_input_files([one])
    told = page.locator("#progress-text.warning")
    await told.wait_for()
    assert "tokenizer.json, model.bin is missing" in await told.text_content()


@in_one_browser
async def test_speech_is_written_down_word_for_word(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("whisper-tiny.en/model.bin")
    needs_speech()
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "transcribe.html")
    await page.locator("#file").set_input_files(SPEECH)
    rate = page.locator("#rate[data-done]")
    await rate.wait_for()
    print(await rate.text_content())
    lines = await page.locator("#segments li").all_text_contents()
    words = re.sub(r"\d+:\d+\.\d|[.,]", " ", " ".join(lines)).split()
    assert " ".join(words) == SAID
    assert lines[0].startswith("0:00.0")
