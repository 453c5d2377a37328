"""Pipelines of pictures give on WebNN what those of `transformers` gave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import picture_tasks_in_page
from tests.browser.harness import PyodidePage
from tests.parity.tasks.pictures import (
    LIMIT,
    draw,
    find_difference,
    make_files,
    read_fixtures,
    summarize,
)
from tests.unit.tasks.test_background_removal import make_folder
from tests.unit.tasks.tiny_vit import vit_files
from webnnm.core.arrays import HostArray

CALLS = 2
"""The calls of each case that run in a page."""


def send(pictures: Any) -> Any:
    """Return pictures as a page takes them: width, height and bytes."""
    if isinstance(pictures, list):
        return [send(picture) for picture in pictures]
    height, width, _ = pictures.shape
    return width, height, bytes(pictures.data)


def receive(result: Any) -> Any:
    """Return a result with its arrays."""
    if isinstance(result, dict) and result.keys() == {"shape", "values"}:
        return HostArray.of(result["values"], "float32", result["shape"])
    if isinstance(result, dict):
        return {name: receive(value) for name, value in result.items()}
    return [receive(value) for value in result] if isinstance(result, list) else result


async def test_results_are_those_of_transformers(pyodide_page: PyodidePage) -> None:
    pytest.importorskip("tokenizers")
    for fixture in read_fixtures():
        calls = fixture["calls"][-CALLS:]
        sent = [(send(draw(sizes)), keywords) for sizes, keywords, _ in calls]
        arguments = fixture["task"], make_files(fixture), fixture["opening"], sent
        results = await pyodide_page.call(picture_tasks_in_page.run_calls, "webnn", *arguments)
        for (sizes, keywords, expected), result in zip(calls, results, strict=True):
            difference = find_difference(expected, summarize(receive(result)), LIMIT)
            assert not difference, (fixture["task"], sizes, keywords)


async def test_backgrounds_become_transparent_as_on_desktops(pyodide_page: PyodidePage) -> None:
    for scale in (1.0, 8.0):
        calls = [(send(draw(size)), {}) for size in ((41, 30), (60, 140))]
        arguments = "background-removal", make_folder("input.1", scale=scale), {}, calls
        results = await pyodide_page.call(picture_tasks_in_page.run_calls, "webnn", *arguments)
        expected = await picture_tasks_in_page.run_calls("numpy", *arguments)
        for one, other in zip(results, expected, strict=True):
            assert one["shape"] == other["shape"]
            pairs = zip(one["values"], other["values"], strict=True)
            assert max(abs(a - b) for a, b in pairs) <= 1


@pytest.mark.parametrize("video", [False, True], ids=["canvas", "VideoFrames"])
async def test_frames_are_streamed_in_order(pyodide_page: PyodidePage, video: bool) -> None:
    colours = {"red": b"\xff\0\0", "lime": b"\0\xff\0", "blue": b"\0\0\xff"}
    task, files = "image-classification", vit_files(*"abc")
    results = await pyodide_page.call(
        picture_tasks_in_page.stream_film, "webnn", task, files, " ".join(colours), video
    )
    frames = [(12, 9, (colour * 8 + b"\xff" * 12) * 9) for colour in colours.values()]
    calls = [(frame, {}) for frame in frames]
    expected = await picture_tasks_in_page.run_calls("numpy", task, files, {}, calls)
    assert expected[0] != expected[1] != expected[2]
    assert not find_difference(expected, results, LIMIT)
