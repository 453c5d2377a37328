"""The page that learns sounds: a person teaches it classes, and nothing leaves."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.saved_pages import ask, open_saved_page
from tests.browser.site_pages import check_usable, skip_where_nothing_runs
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
from webnnm import NNModel
from webnnm.data.sounds.wav import encode_wav

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")
RATE = 16_000


def whistle(rng: random.Random) -> list[float]:
    """Return a second with a tone that rises, at a time and in a height of its own."""
    low, first = rng.uniform(900, 1300), rng.randrange(RATE // 3)
    tones = [0.0] * RATE
    for place in range(RATE // 2):
        pitch = low * (1 + place / RATE)
        tones[first + place] = 0.3 * math.sin(2 * math.pi * pitch * place / RATE)
    return tones


def clap(rng: random.Random) -> list[float]:
    """Return a second with three bursts of noise."""
    tones = [0.0] * RATE
    for _ in range(3):
        first = rng.randrange(RATE - 2000)
        for place in range(2000):
            tones[first + place] += rng.uniform(-0.6, 0.6) * math.exp(-place / 400)
    return tones


def hum(rng: random.Random) -> list[float]:
    """Return a second of a low voice."""
    pitch, phase = rng.uniform(110, 150), rng.uniform(0, 6)
    return [
        sum(0.2 / n * math.sin(n * (2 * math.pi * pitch * at / RATE + phase)) for n in (1, 2, 3, 4))
        for at in range(RATE)
    ]


def second(kind: Callable[[random.Random], list[float]], seed: int) -> list[float]:
    """Return a second of a kind of sound, in a room that is not quite silent."""
    rng = random.Random(f"{kind.__name__} {seed}")
    return [sample + rng.gauss(0, 0.002) for sample in kind(rng)]


def wav(samples: list[float], name: str = "sound.wav") -> dict[str, Any]:
    return {"name": name, "mimeType": "audio/wav", "buffer": encode_wav(samples, RATE)}


def record(kind: Any, count: int, first: int = 0) -> list[dict[str, Any]]:
    """Return files of a second each."""
    return [wav(second(kind, seed), f"{seed}.wav") for seed in range(first, first + count)]


@in_both_browsers
@pytest.mark.usual("no-webnn")
async def test_sounds_are_learnt_and_nothing_leaves(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    skip_where_nothing_runs(project)
    page.set_default_timeout(60_000)
    requests = await begin(page, site_url, "sounds.html")
    assert await class_of(page, 0).get_by_label("Name").input_value() == "Background noise"
    await teach(page, 0, "Hum", record(hum, 5))
    # A file of several seconds has as many examples.
    long = [sample for seed in range(5) for sample in second(whistle, seed)]
    await class_of(page, 1).get_by_label("Name").fill("Whistle")
    await class_of(page, 1).get_by_label("Choose files").set_input_files([wav(long)])
    await class_of(page, 1).get_by_text("5 sounds").wait_for()
    await page.locator("#add").press("Enter")
    await page.keyboard.type("Clap")
    await teach(page, 2, "Clap", record(clap, 6))
    await class_of(page, 2).get_by_role("button", name="Play sound 6 of Clap").press("Enter")
    await class_of(page, 2).get_by_role("button", name="Remove sound 6 of Clap").press("Enter")
    await class_of(page, 2).get_by_text("5 sounds").wait_for()
    assert await page.evaluate("document.activeElement.ariaLabel") == "Remove sound 5 of Clap"
    await train(page)
    assert "15 sounds of 3 classes learnt" in await page.locator("#course-text").text_content()

    for kind, name in ((hum, "Hum"), (whistle, "Whistle"), (clap, "Clap")):
        for file in record(kind, 3, 50):
            assert await answer(page, file) == name
    # Of a longer file each second is told.
    both = second(hum, 60) + second(whistle, 61) + second(clap, 62)
    await answer(page, wav(both))
    parts = await page.locator("#parts li").all_text_contents()
    assert [part.split()[2] for part in parts] == ["Hum", "Whistle", "Clap"]
    assert await answer(page, record(clap, 1, 70)[0]) == "Clap"
    assert await page.locator("#parts li").count() == 0
    found = await read_shares(page)

    text = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"no sound"}
    await page.locator("#file").set_input_files([text])
    await page.locator("#alert", has_text="a.txt is not a sound that this browser reads").wait_for()

    # What is saved takes samples, here and elsewhere.
    async with page.expect_download() as saved:
        await page.locator("#save").click()
    file = tmp_path / "sounds.webnnm.safetensors"
    await (await saved.value).save_as(file)
    async with page.expect_download() as exported:
        await page.locator("#export").click()
    assert (await exported.value).suggested_filename == "sounds.onnx"
    heard = array("f", [round(each * 32767) / 32768 for each in second(clap, 70)])
    async with await NNModel.load(file, backend="numpy", log=lambda _: None) as model:
        ((*elsewhere,),) = (
            await model.predict(memoryview(heard).cast("B").cast("f", [1, RATE]))
        ).tolist()
    told = [float(share.removesuffix("%")) / 100 for share in found.values()]
    assert told == pytest.approx(elsewhere, abs=0.02)
    await page.locator("#open").set_input_files(file)
    await page.get_by_text("is opened: Hum, Whistle, Clap").wait_for()
    assert await answer(page, record(clap, 1, 70)[0]) == "Clap"
    assert await read_shares(page) == found
    async with open_saved_page(page, tmp_path) as tab:
        assert await ask(tab, record(clap, 1, 70)[0]) == found
        # Of a longer sound the loudest second counts.
        quiet = [0.1 * sample for sample in second(hum, 60)]
        long = wav(quiet + second(whistle, 61) + quiet)
        assert next(iter(await ask(tab, long))) == "Whistle"

    await check_that_nothing_leaves(page, requests)
    assert await violations(page) == []
    await check_usable(page)  # which leaves it narrow and dark
    assert await violations(page) == []


@in_one_browser
async def test_sounds_are_learnt_from_the_microphone(
    launch: Any, new_page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    # The microphone hears a whistle, again and again.
    (tmp_path / "heard.wav").write_bytes(encode_wav(second(whistle, 0), RATE))
    played = f"--use-file-for-fake-audio-capture={tmp_path / 'heard.wav'}"
    page = await new_page(await launch(project.name, *FAKE, played))
    page.set_default_timeout(60_000)
    requests = await begin(page, site_url, "sounds.html")
    await class_of(page, 1).get_by_label("Name").fill("Whistle")
    take = class_of(page, 1).get_by_role("button", name="Hold to record sounds of Whistle")
    await take.press("Space")
    await class_of(page, 1).get_by_text("Recording").wait_for()
    await class_of(page, 1).get_by_text("1 sound", exact=True).wait_for()
    await page.locator("#stop:enabled").wait_for()
    await class_of(page, 1).get_by_role("button", name="Record 5 sounds of Whistle").click()
    await class_of(page, 1).get_by_text("6 sounds").wait_for()
    # What is being recorded ends with the microphone, which can be opened anew.
    await take.press("Space")
    await class_of(page, 1).get_by_text("Recording").wait_for()
    await page.locator("#stop").click()
    await page.locator("#alert", has_text="Record the sound again").wait_for()
    await class_of(page, 1).get_by_text("6 sounds").wait_for()
    await teach(page, 0, "Hum", record(hum, 6))
    await train(page)
    await page.locator("#start").click()
    await page.wait_for_function("Number(document.querySelector('#rate').dataset.count) >= 4")
    assert (await page.locator("#answer").text_content()).startswith("Whistle")
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    assert await answer(page, record(hum, 1, 50)[0]) == "Hum"
    assert [each for each in requests if not each.startswith("blob:")] == []


# Firefox waits for ever where no device plays sound; here the wait of the page ends at once.
NO_SOUND_DEVICE = """() => {
  AudioContext.prototype.resume = () => new Promise(() => {});
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (work, wait, ...rest) => later(work, wait === 8000 ? 0 : wait, ...rest);
}"""


@in_one_browser
async def test_sound_that_does_not_start_is_told(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    page = await new_page(await launch(project.name, *FAKE))
    await begin(page, site_url, "sounds.html")
    await page.evaluate(NO_SOUND_DEVICE)
    await class_of(page, 1).get_by_role("button", name="Hold to record").first.press("Space")
    alert = page.locator("#alert pre")
    await alert.wait_for()
    assert "is there a device that plays it?" in await alert.text_content()
