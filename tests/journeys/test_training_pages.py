"""Pages that train: a training, its answers, what is saved, and what interrupts it."""

from __future__ import annotations

import pytest

from tests.journeys.journey import Journey

ACCURACY = "() => document.querySelector('#result').dataset.accuracy"
EPOCH = "() => document.querySelector('#progress').value"
LATER = "(epoch) => document.querySelector('#progress').value > epoch"
LATER_AND_HIDDEN = """(epoch) => document.visibilityState === "hidden"
  && document.querySelector("#progress").value > epoch"""
IS_HIDDEN = "() => document.visibilityState === 'hidden'"
# A page that somebody comes back to offers to go on, or has never stopped.
IS_WHOLE = """() => {
  const shown = (selector) => document.querySelector(selector)?.checkVisibility();
  return "ready" in document.documentElement.dataset
    && (shown("#continue") || shown("#stop:enabled"));
}"""
LONG = {"epochs": "100000", "lr": "0.0002"}
"""A training that neither ends nor loses its patience meanwhile."""


@pytest.mark.usual("firefox", "webkit")
async def test_iris_is_trained_asked_saved_and_opened(journey: Journey) -> None:
    await journey.open("iris.html")
    await journey.train(epochs="60")
    assert float(await journey.tab.evaluate(ACCURACY)) > 0.8
    journey.record_success("trains")
    await journey.tab.click("#classify")
    await journey.wait_for_text("#species", "%")
    journey.record_success("answers")
    file = await journey.download("#save", "iris.webnnm.safetensors")
    await journey.tab.reload()
    await journey.wait_until_ready()
    await journey.tab.upload("#open", [file])
    await journey.wait_for_text("#progress-text", "is opened")
    await journey.tab.click("#classify")
    await journey.wait_for_text("#species", "%")
    journey.record_success("saves and opens")


@pytest.mark.usual()
async def test_iris_trains_in_a_worker(journey: Journey) -> None:
    await journey.open("iris.html?worker")
    await journey.train(epochs="60")
    assert "in a worker" in await journey.text("#backend")
    journey.record_success("trains in a worker")


async def begin(journey: Journey, address: str) -> int:
    """Begin a training that lasts, and return the epoch it has come to when it is kept."""
    await journey.open(address)
    await journey.fill(**LONG)
    await journey.tab.click("#train")
    await journey.tab.wait_until(LATER, 0)
    return await journey.tab.evaluate(EPOCH)


async def stop(journey: Journey) -> None:
    """Stop the training, and forget what is kept of it."""
    await journey.tab.click("#stop")
    await journey.wait_for_text("#progress-text", "stopped")
    await journey.tab.click("#discard")
    await journey.wait_for_text("#status", "discarded")


@pytest.mark.usual()
@pytest.mark.parametrize("address", ["iris.html", "iris.html?worker"], ids=["page", "worker"])
async def test_iris_goes_on_in_a_hidden_tab(journey: Journey, address: str) -> None:
    epoch = await begin(journey, address)
    step = "trains in a hidden tab" + (" (worker)" if "worker" in address else "")
    await journey.open_tab_in_front()
    if await journey.tab.evaluate(IS_HIDDEN):
        await journey.tab.wait_until(LATER_AND_HIDDEN, epoch + 1)
        journey.record_success(step)
    else:
        journey.record_skip(step, "without a window, this browser hides no tab")
    await journey.close_tabs_in_front()
    await stop(journey)


@pytest.mark.usual()
async def test_iris_goes_on_after_a_reload(journey: Journey) -> None:
    await begin(journey, "iris.html")
    await journey.wait_for_text("#kept", "Kept by the browser")
    await journey.tab.reload()
    await journey.wait_until_ready()
    await journey.tab.click("#continue")
    await journey.tab.wait_until(LATER, 1)
    journey.record_success("goes on after a reload")
    await stop(journey)


@pytest.mark.usual()
async def test_back_and_forward_find_iris_whole(journey: Journey) -> None:
    await begin(journey, "iris.html")
    await journey.wait_for_text("#kept", "Kept by the browser")
    await journey.tab.goto(f"{journey.site_url}/notation.html")
    await journey.tab.go(-1)
    await journey.tab.wait_until(IS_WHOLE)
    await journey.tab.go(1)
    await journey.wait_for_text("h1", "")
    await journey.tab.go(-1)
    await journey.tab.wait_until(IS_WHOLE)
    journey.record_success("is whole after back and forward")


@pytest.mark.usual()
async def test_digits(journey: Journey) -> None:
    await journey.open("digits.html")
    await journey.train(epochs="3")
    assert float(await journey.tab.evaluate(ACCURACY)) > 0.8
    journey.record_success("trains")
    await journey.tab.click("#examples button")
    await journey.wait_for_text("#answer", "%")
    journey.record_success("answers")
    await journey.download("#save", "digits.webnnm.safetensors")
    journey.record_success("saves")


@pytest.mark.usual()
async def test_playground(journey: Journey) -> None:
    await journey.open("playground.html")
    await journey.wait_for("#plane canvas")
    await journey.tab.click("#step")
    await journey.wait_for_text("#progress-text", "Epoch 1 of")
    await journey.fill(epochs="30")
    await journey.train()
    journey.record_success("trains")


@pytest.mark.usual()
async def test_table(journey: Journey) -> None:
    await journey.open("table.html")
    await journey.tab.click("#example")
    await journey.wait_for_text("#about", "344 rows")
    await journey.train(epochs="40")
    journey.record_success("trains")
    await journey.wait_for("#what-if input[type=range]")
    assert await journey.text("#answer")
    journey.record_success("answers")
    for button, ending in (("#save", "webnnm.safetensors"), ("#onnx", "onnx"), ("#page", "zip")):
        await journey.download(button, f"penguins.{ending}")
    journey.record_success("saves")


@pytest.mark.usual()
async def test_forecast(journey: Journey) -> None:
    await journey.open("forecast.html")
    await journey.tab.click("#example")
    await journey.wait_for_text("#sources", "a season of 12")
    await journey.train(epochs="30")
    journey.record_success("trains")
    await journey.wait_for("#next canvas")
    assert "best simple forecast" in await journey.text("#baseline")
    journey.record_success("answers")
    for button, ending in (("#save", "webnnm.safetensors"), ("#page", "zip")):
        await journey.download(button, f"visitors.{ending}")
    journey.record_success("saves")


@pytest.mark.usual()
async def test_sentences(journey: Journey) -> None:
    await journey.open("sentences.html")
    await journey.tab.click("#example")
    await journey.wait_for_text("#about", "168 rows")
    await journey.train(epochs="40")
    journey.record_success("trains")
    await journey.fill(sentence="When will it arrive?")
    await journey.wait_for_text("#answer", "question")
    journey.record_success("answers")
    for button, ending in (("#save", "webnnm.safetensors"), ("#page", "zip")):
        await journey.download(button, f"messages.{ending}")
    journey.record_success("saves")


@pytest.mark.usual()
async def test_worker(journey: Journey) -> None:
    await journey.open("worker.html")
    await journey.train()
    assert "in a worker" in await journey.text("#answer")
    journey.record_success("trains in a worker")


@pytest.mark.usual()
async def test_gpt(journey: Journey) -> None:
    await journey.open("gpt.html")
    text = "the cat sat on the mat. " * 60
    await journey.fill(text=text, width="64", layers="1", epochs="2", prompt="the")
    await journey.tab.click("#learn")
    await journey.wait_for("#written[data-done]")
    journey.record_success("trains")
    await journey.tab.click("#write")
    await journey.wait_for_text("#speed", "letters written per second")
    journey.record_success("writes")
