"""Runs in a page: a pipeline of pictures, with the files of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm import pipeline
from webnnm.core.arrays import HostArray


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
