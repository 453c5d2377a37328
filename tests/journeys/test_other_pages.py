"""Pages that compute without a training, documents, visits without a network."""

from __future__ import annotations

import pytest

from tests.browser.test_arrays_page import COLOURS
from tests.journeys.journey import Journey
from tools.common import SITE
from webnnm.cli.serve import SiteServer

OUTPUT = "(output) => document.querySelector('#result').dataset.output === output"
RUNS_ON = """() =>
  document.querySelector("#runs").textContent.match(/odels run on ([^.,:;(]*)/)?.[1].trim()"""
ENDED = """(number) => [...document.querySelectorAll(".example-bar")][number - 1]
  .textContent.includes("Done")"""
FACILITIES = """async () => {
  const refusal = (error) => `refused: ${error.message}`;
  const webnn = navigator.ml
    ? await navigator.ml.createContext().then(() => "yes", refusal) : "no";
  const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
  const folder = await navigator.storage?.getDirectory?.().catch(() => null);
  const file = await folder?.getFileHandle("probe", { create: true });
  const writable = file && "createWritable" in file;
  await folder?.removeEntry("probe");
  return {
    "WebNN": webnn,
    "WebGPU": adapter ? "yes" : navigator.gpu ? "no adapter" : "no",
    "JSPI (Python waits inside WebAssembly)": "Suspending" in WebAssembly ? "yes" : "no",
    "Files of the origin (OPFS)": folder ? writable ? "yes" : "only in workers" : "no",
    "Service worker (visits without a network)": navigator.serviceWorker ? "yes" : "no",
  };
}"""


@pytest.mark.usual()
async def test_what_the_browser_has(journey: Journey) -> None:
    await journey.open("index.html")
    journey.record.facilities.update(await journey.tab.evaluate(FACILITIES))
    where = await journey.tab.wait_until(RUNS_ON)
    journey.record.facilities["What runs small models"] = where
    journey.record_success("says what models run on")
    await journey.tab.click("#copy")
    await journey.wait_for_text("#copy", "Copied")
    journey.record_success("copies the lines for one's own page")


@pytest.mark.usual()
async def test_hello(journey: Journey) -> None:
    await journey.open("hello.html")
    await journey.tab.wait_until(OUTPUT, "4, 9, 16, 25, 36")
    await journey.fill(numbers="0 1 2 3 4")
    await journey.tab.click("#run")
    await journey.tab.wait_until(OUTPUT, "1, 4, 9, 16, 25")
    journey.record_success("computes")


@pytest.mark.usual()
async def test_one_training_step(journey: Journey) -> None:
    await journey.open("step.html")
    await journey.wait_for_text("#at-y", "0.28")
    for phase in ("Loss", "Backward", "Update"):
        await journey.tab.click("#next")
        await journey.wait_for_text("#phase", phase)
    journey.record_success("goes through a step")
    for _ in range(3):
        await journey.tab.click("#many")
    await journey.wait_for_text("#learnt", "it has learnt all four")
    journey.record_success("trains")


@pytest.mark.usual()
async def test_inside(journey: Journey) -> None:
    await journey.open("inside.html")
    await journey.wait_for("#figures[data-done]")
    assert "builder.conv2d" in await journey.text("#calls")
    journey.record_success("follows a model to the device")


@pytest.mark.usual()
async def test_arrays(journey: Journey) -> None:
    await journey.open("arrays.html")
    for program in ("descent", "life"):
        await journey.fill(program=program)
        await journey.tab.click("#run")
        if program == "life":
            await journey.wait_for_text("#figures", "alive")
            await journey.tab.click("#stop")
            await journey.wait_for_text("#figures", "was stopped")
        else:
            await journey.wait_for_text("#figures", "has ended")
            assert await journey.tab.evaluate(COLOURS) > 2
    journey.record_success("runs programs and stops them")


@pytest.mark.usual()
async def test_notation(journey: Journey) -> None:
    await journey.open("notation.html", python=False)
    await journey.wait_for("main h2")


@pytest.mark.usual()
async def test_a_document_runs_its_examples(journey: Journey) -> None:
    await journey.open("docs/tutorial.html", page="docs/tutorial.html", python=False)
    for number in (1, 2):
        await journey.tab.wait_until(MARK, number)
        await journey.tab.click("#run-now")
        await journey.tab.wait_until(ENDED, number)
    journey.record_success("runs its examples")
    await journey.tab.goto(f"{journey.site_url}/docs/operators.html")
    await journey.tab.go(-1)
    await journey.wait_for_text("h1", "")


# Gives the button of an example a name, by which it is clicked.
MARK = """(number) => {
  document.querySelector("#run-now")?.removeAttribute("id");
  const bar = document.querySelectorAll(".example-bar")[number - 1];
  const button = [...bar?.querySelectorAll("button") ?? []]
    .find(({ textContent }) => textContent.includes("Run"));
  if (button) button.id = "run-now";
  return Boolean(button);
}"""


@pytest.mark.usual()
async def test_iris_without_a_network(journey: Journey) -> None:
    with SiteServer(SITE) as server:
        journey.site_url = server.url
        await journey.open("iris.html")
        await journey.train(epochs="20")
        await journey.wait_for("html[data-offline]")
    # The server is gone.
    await journey.tab.set_offline(True)
    try:
        await journey.tab.reload()
        await journey.wait_until_ready()
        await journey.train(epochs="20")
        await journey.tab.click("#classify")
        await journey.wait_for_text("#species", "%")
        journey.record_success("trains without a network")
    finally:
        await journey.tab.set_offline(False)
