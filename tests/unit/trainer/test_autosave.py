"""When trainings are saved by themselves, and what is told of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel
from webnnm.snapshots import storage
from webnnm.trainer import autosave

SOURCE = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);"
ROWS = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]]


async def create(lines: list[str]) -> NNModel:
    dataset = Dataset(ROWS, [[sum(row)] for row in ROWS], split=(1, 0, 0))
    return await NNModel.create(source=SOURCE, dataset=dataset, backend="numpy", log=lines.append)


def train(model: NNModel, place: Any, told: list[Exception | None], **settings: Any) -> Any:
    return model.train(
        epochs=100_000,
        patience=100_000,
        seeds=0,
        progress="off",
        lr=1e-6,
        autosave=place,
        on_autosave=told.append,
        **settings,
    )


async def test_the_first_saving_comes_soon_whatever_the_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    enough = asyncio.Event()

    async def turn(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            enough.set()
        await asyncio.sleep(0)

    monkeypatch.setattr(autosave, "wait_for_next_save", turn)
    for given, wanted in ((30.0, [2.0, 30.0, 30.0]), (0.5, [0.5, 0.5, 0.5])):
        model, told = await create([]), list[Exception | None]()
        waits.clear()
        enough.clear()
        training = train(model, tmp_path / "a", told, autosave_seconds=given)
        await enough.wait()
        await training.stop()
        model.close()
        assert waits[:3] == wanted
        assert told and set(told) == {None}


async def test_a_place_that_another_page_has_costs_a_warning_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back: list[Any] = []
    refusal = DataError("NNM807", "another tab has it")

    async def claim(place: Any) -> None:
        raise refusal

    async def release(place: Any) -> None:
        given_back.append(place)

    monkeypatch.setattr(autosave, "claim", claim)
    monkeypatch.setattr(autosave, "release", release)
    lines, told = list[str](), list[Exception | None]()
    model = await create(lines)
    training = train(model, tmp_path / "a", told, autosave_seconds=0.001)
    async for record in training:
        if record.epoch == 20:
            break
    history = await training.stop()
    model.close()
    assert history.stopped == "stop"
    assert told == [refusal]
    assert any("another tab has it" in line for line in lines)
    assert not given_back
    assert not list(tmp_path.iterdir())


async def test_what_is_claimed_is_given_back_however_the_training_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: list[str] = []
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def claim(place: Any) -> None:
        begun.set()
        await may_go_on.wait()
        claims.append("claimed")

    async def release(place: Any) -> None:
        claims.append("released")

    monkeypatch.setattr(autosave, "claim", claim)
    monkeypatch.setattr(autosave, "release", release)
    model = await create([])
    training = train(model, tmp_path / "a", [])
    await begun.wait()
    ending = asyncio.ensure_future(training.stop())
    for _ in range(200):
        await asyncio.sleep(0)
    may_go_on.set()
    await ending
    model.close()
    assert claims == ["claimed", "released"]


@pytest.mark.desktop  # in a page the name is one in its storage
async def test_a_path_can_be_claimed_by_everybody(tmp_path: Path) -> None:
    for _ in range(2):
        await storage.claim(tmp_path / "a")
    await storage.release(tmp_path / "a")
    with pytest.raises(DataError, match=r"NNM807.*needs a browser"):
        await storage.claim("browser:a")
