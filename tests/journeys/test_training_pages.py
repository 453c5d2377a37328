"""Pages that train: a training, its answers, what is saved, and what interrupts it."""

from __future__ import annotations

import pytest

from tests.journeys.journey import Journey

ACCURACY = "() => document.querySelector('#result').dataset.accuracy"


@pytest.mark.usual("firefox", "webkit")
async def test_iris(journey: Journey) -> None:
    await journey.open("iris.html")
    await journey.train(epochs="60")
    assert float(await journey.tab.evaluate(ACCURACY)) > 0.8
    journey.earn("trains")
    await journey.tab.click("#classify")
    await journey.shows("#species", "%")
    journey.earn("answers")
    file = await journey.download("#save", "iris.webnnm.safetensors")
    await journey.tab.reload()
    await journey.is_ready()
    await journey.tab.upload("#open", [file])
    await journey.shows("#progress-text", "is opened")
    await journey.tab.click("#classify")
    await journey.shows("#species", "%")
    journey.earn("saves and opens")
