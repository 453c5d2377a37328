"""Runs in a page: a pipeline of pictures, with the files of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm import pipeline
from webnnm.backends.pyodide_host import script_value
from webnnm.core.arrays import HostArray

FILM = """
(colours, asVideoFrames) => (async function* () {
  const canvas = new OffscreenCanvas(12, 9);
  const context = canvas.getContext("2d");
  for (const colour of colours.split(" ")) {
    context.fillStyle = colour;
    context.fillRect(0, 0, 8, 9);
    const frame = asVideoFrames ? new VideoFrame(canvas, { timestamp: 0 }) : canvas;
    yield frame;
    if (asVideoFrames) frame.close();
  }
})()
"""


async def run_calls(
    backend: str,
    task: str,
    files: Mapping[str, bytes],
    opening: Mapping[str, Any],
    calls: list[tuple[Any, Mapping[str, Any]]],
) -> list[Any]:
    """Return the results of calls; pictures are their width, height and bytes."""
    settings: dict[str, Any] = {"backend": backend, "log": lambda line: None, **opening}
    async with await pipeline(task, files, **settings) as run:
        return [_to_lists(await run(_draw(given), **keywords)) for given, keywords in calls]


async def stream_film(
    backend: str, task: str, files: Mapping[str, bytes], colours: str, video: bool
) -> list[Any]:
    """Return the results of the frames of a film that the page paints: one canvas, or frames."""
    film = script_value(FILM)(colours, video)
    async with await pipeline(task, files, backend=backend, log=lambda line: None) as run:
        return [_to_lists(result) async for result in run.stream(film)]


def _draw(given: Any) -> Any:
    if isinstance(given, list):
        return [_draw(one) for one in given]
    width, height, pixels = given
    return HostArray("uint8", (height, width, 3), pixels)


def _to_lists(result: Any) -> Any:
    """Return a result whose arrays are their shape and numbers."""
    if isinstance(result, dict):
        return {name: _to_lists(value) for name, value in result.items()}
    if isinstance(result, list):
        return [_to_lists(value) for value in result]
    if hasattr(result, "shape"):
        array = HostArray.of(result, "float32")
        return {"shape": [*array.shape], "values": [*array.values()]}
    return result
