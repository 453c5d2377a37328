"""Pipelines of pictures read streams of them: videos, cameras, long lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.tiny_vit import vit_files
from tests.unit.tasks.words import QUIET
from webnnm import DataError
from webnnm.core.arrays import HostArray

pytestmark = pytest.mark.desktop
Image = pytest.importorskip("PIL.Image")
ImageSequence = pytest.importorskip("PIL.ImageSequence")
SIZE = (9, 12, 3)


def draw_frame(number: int) -> HostArray:
    """Return a picture that no other number has."""
    return HostArray("uint8", SIZE, bytes((k * (number + 3)) % 251 for k in range(9 * 12 * 3)))


FRAMES = [draw_frame(number) for number in range(4)]


async def open_classifier() -> Any:
    return await webnnm.pipeline("image-classification", vit_files(*"abc"), **QUIET)


async def test_each_frame_has_its_result_in_order() -> None:
    async def film() -> AsyncIterator[HostArray]:
        for frame in FRAMES:
            yield frame

    joined = HostArray("uint8", (len(FRAMES), *SIZE), b"".join(bytes(f.data) for f in FRAMES))
    async with await open_classifier() as classify:
        expected = [await classify(frame, top_k=2) for frame in FRAMES]
        assert expected[0] != expected[1]
        for frames in (film(), FRAMES, iter(FRAMES), joined.public()):
            assert [result async for result in classify.stream(frames, top_k=2)] == expected
        assert [result async for result in classify.stream([])] == []


async def test_films_of_pillow_are_streams(tmp_path: Path) -> None:
    first, *others = (Image.new("RGB", (12, 9), colour) for colour in ("red", "lime", "blue"))
    first.save(tmp_path / "film.gif", save_all=True, append_images=others)
    async with await open_classifier() as classify:
        expected = [await classify(picture) for picture in (first, *others)]
        assert expected[0] != expected[1]
        with Image.open(tmp_path / "film.gif") as film:
            results = classify.stream(ImageSequence.Iterator(film))
            assert [result async for result in results] == expected


async def test_a_picture_may_change_between_frames() -> None:
    shown = Image.new("RGB", (12, 9))

    def play() -> Iterator[Any]:
        for frame in FRAMES:
            shown.frombytes(bytes(frame.data))
            yield shown

    async with await open_classifier() as classify:
        expected = [await classify(frame) for frame in FRAMES]
        assert [result async for result in classify.stream(play())] == expected


async def test_sources_are_asked_for_one_frame_at_a_time_and_closed() -> None:
    events: list[str] = []

    def record() -> Iterator[HostArray]:
        try:
            for number, frame in enumerate(FRAMES):
                events.append(f"frame {number}")
                yield frame
        finally:
            events.append("closed")

    async with await open_classifier() as classify, aclosing(classify.stream(record())) as results:
        async for _ in results:
            events.append("result")
            if len(events) == 4:
                break
    assert events == ["frame 0", "result", "frame 1", "result", "closed"]


async def test_errors_have_the_number_of_their_frame() -> None:
    results: list[Any] = []
    async with await open_classifier() as classify:
        with pytest.raises(DataError, match="NNM802: frame 2: the picture is no picture"):
            async for result in classify.stream([*FRAMES[:2], b"none", FRAMES[3]]):
                results.append(result)
        assert len(results) == 2


async def test_errors_of_sources_are_their_own() -> None:
    def fail() -> Iterator[HostArray]:
        yield FRAMES[0]
        raise OSError("the camera is gone")

    async with await open_classifier() as classify:
        with pytest.raises(OSError, match=r"^the camera is gone$"):
            _ = [result async for result in classify.stream(fail())]


@pytest.mark.parametrize("frames", ["film.mp4", b"\0", 3, Image.new("RGB", (12, 9))])
async def test_what_is_no_stream_is_refused(frames: Any) -> None:
    async with await open_classifier() as classify:
        with pytest.raises(DataError, match=f"NNM702: a {type(frames).__name__} is no stream"):
            await anext(classify.stream(frames))


async def test_streams_have_no_batches() -> None:
    async with await open_classifier() as classify:
        with pytest.raises(DataError, match="NNM704: batch_size: streams compute one by one"):
            await anext(classify.stream(FRAMES, batch_size=2))
