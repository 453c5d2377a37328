"""What `NNModel.create` is given: its settings, and the text of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.data.source import read_text
from webnnm.errors import DataError, suggestion
from webnnm.ops.naming import snake_case

SETTINGS = (
    "source",
    "url",
    "path",
    "dataset",
    "backend",
    "device_type",
    "power_preference",
    "seed",
    "batch_size",
    "sequence_length",
    "log",
    "strict",
)


def create_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in snake_case.

    >>> create_settings({"deviceType": "npu"})
    {'device_type': 'npu'}

    Raises `DataError` NNM703 for unknown or doubled ones.
    """
    found: dict[str, Any] = {}
    for word, value in given.items():
        name = snake_case(word)
        if name not in SETTINGS:
            hint = suggestion(word, SETTINGS)
            raise DataError("NNM703", f'NNModel.create has no setting "{word}"', hint=hint)
        if name in found:
            raise DataError("NNM703", f'"{name}" is given in two spellings')
        found[name] = value
    return found


async def model_text(given: Mapping[str, Any]) -> str:
    """Return the text from where it is. Raises `DataError` NNM715 unless it is in one place."""
    places: Sequence[str] = [n for n in ("source", "url", "path") if given.get(n) is not None]
    if len(places) != 1:
        listed = " and ".join(places) or "none of them"
        raise DataError("NNM715", f"give exactly one of source, url and path; {listed} given")
    if places[0] == "source":
        return given["source"]
    return await read_text(given[places[0]])
