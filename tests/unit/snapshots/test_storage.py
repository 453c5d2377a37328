"""Files that are read and removed by their paths, and what is told where that fails."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError
from webnnm.snapshots.storage import discard, fetch, store


async def refusal_message(work: Any, code: str) -> str:
    with pytest.raises(DataError) as caught:
        await work
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value.message


async def test_a_removed_file_is_gone_and_one_that_was_not_there_is_none(tmp_path: Path) -> None:
    place = tmp_path / "a.bin"
    await store(place, [b"one"])
    await discard(str(place))
    assert not place.exists()
    await discard(place)


async def test_what_cannot_be_removed_stays_and_is_named(tmp_path: Path) -> None:
    message = await refusal_message(discard(tmp_path), "NNM807")
    assert message.startswith(f"{tmp_path} cannot be removed: ")
    assert tmp_path.is_dir()


@pytest.mark.parametrize(("work", "code"), [(discard, "NNM807"), (fetch, "NNM715")])
async def test_a_name_that_no_file_has_is_refused(
    work: Callable[[str | os.PathLike[str]], Any], code: str
) -> None:
    assert "null" in await refusal_message(work("a\0b"), code)
