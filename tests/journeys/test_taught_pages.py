"""Pages that are taught by example: pictures and sounds from files, camera and microphone."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from tests.browser.test_sounds_page import clap, record, whistle
from tests.journeys.journey import HAS, Journey

LEARNT = "#course-text[data-trained='1']"
COUNT = "(count) => Number(document.querySelector('#rate').dataset.count ?? 0) >= count"
THUMBNAILS = """(place, count) => document.querySelectorAll("#classes > li")[place]
  .querySelectorAll(".thumbnails li").length >= count"""


def write_png(path: Path, colour: tuple[int, int, int]) -> Path:
    """Write a picture of one colour."""
    side = 64
    rows = (b"\0" + bytes(colour) * side) * side

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


async def teach(journey: Journey, place: int, files: list[Path]) -> None:
    """Give a class examples from files."""
    await journey.tab.upload(f"#classes > li:nth-child({place + 1}) input[type=file]", files)
    await journey.tab.wait_until(THUMBNAILS, place, len(files))


async def learn_and_ask(journey: Journey, file: Path, kind: str) -> None:
    """Train on the examples, and let the page say of which class a file is."""
    await journey.tab.click("#learn")
    await journey.wait_for(LEARNT)
    journey.record_success("trains")
    await journey.tab.upload("#file", [file])
    await journey.wait_for_text("#answer", kind)
    journey.record_success("answers")


async def sense(journey: Journey, step: str) -> None:
    """Start the camera or the microphone, and wait for what the model says of it."""
    await journey.tab.click("#start")
    await journey.tab.wait_until(HAS, "#stop:not([hidden]), #alert pre")
    if await journey.text("#alert"):
        reason, _, _ = (await journey.text("#alert pre")).partition("\n")
        journey.record_skip(step, reason)
        return
    await journey.tab.wait_until(COUNT, 3)
    await journey.tab.click("#stop")
    journey.record_success(step)


@pytest.mark.usual()
async def test_examples(journey: Journey) -> None:
    await journey.open("examples.html")
    await journey.tab.click("#without")
    for place, colour in enumerate([(240, 60, 30), (30, 60, 240)]):
        files = []
        for number in range(5):
            shade = tuple(min(255, value + 3 * number) for value in colour)
            files.append(write_png(journey.folder / f"{place}-{number}.png", shade))
        await teach(journey, place, files)
    await learn_and_ask(journey, files[0], "Class 2")
    await sense(journey, "sees by the camera")
    await journey.download("#save", "examples.webnnm.safetensors")
    journey.record_success("saves")


@pytest.mark.usual()
async def test_sounds(journey: Journey) -> None:
    await journey.open("sounds.html")
    for place, kind in enumerate((whistle, clap)):
        files = []
        for number, sound in enumerate(record(kind, 5)):
            files.append(journey.folder / f"{place}-{number}.wav")
            files[-1].write_bytes(sound["buffer"])
        await teach(journey, place, files)
    await learn_and_ask(journey, files[0], "Class 2")
    await sense(journey, "hears by the microphone")
    await journey.download("#save", "sounds.webnnm.safetensors")
    journey.record_success("saves")
