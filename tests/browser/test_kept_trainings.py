"""Trainings that a reload ends and the page goes on with; models that are saved and opened."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.harness import PageLog
from tests.browser.site_pages import (
    ACCESSIBILITY,
    CLICK_ON_THE_WAY,
    check_contrast,
    open_site_page,
    result_of,
    skip_where_nothing_runs,
    train_on,
    write_model,
)
from webnnm import IrisDataset, NNModel

in_one_browser = pytest.mark.projects("webnn")

# A browser hides a page before it goes; a test has no other page to turn to.
HIDE = """
() => {
  Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""
KEPT = """
async (name) => {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("webnnm", { create: true });
  const file = await folder.getFileHandle(name).then((handle) => handle.getFile(), () => null);
  return file?.size ?? 0;
}
"""
# A file that is being written for the first time is empty.
MODIFIED = KEPT.replace("file?.size", "(file?.size && file.lastModified)")
OFFER = re.compile(r"A training of \d+ \w+ \d{4} at \d\d:\d\d stopped in epoch (\d+) of (\d+)\.")
PATIENT = {"iris": 2000, "digits": 40}
"""Epochs of trainings on WebNN that are still under way when they are interrupted."""
SLOWLY = {"iris": "0.0002", "digits": ""}
"""Their learning rates: the loss still falls then, and patience does not end them."""
ON_NUMPY = {"iris": 150, "digits": 6}
"""The same of trainings without WebNN."""


async def interrupt(
    page: Any, site_url: str, address: str, epochs: int, *, slowly: bool = True
) -> tuple[int, int]:
    """Begin a training, hide its page, open it again, and return the epochs that are offered."""
    name = address.partition(".")[0]
    await open_site_page(page, site_url, address)
    await page.locator("#epochs").fill(str(epochs))
    await page.locator("#seed").fill("3")
    await page.locator("#lr").fill(SLOWLY[name] if slowly else "")
    # A training that is held cannot end meanwhile.
    await page.evaluate(CLICK_ON_THE_WAY, "#pause")
    await page.locator("#train").click()
    await page.locator("#pause", has_text="Resume").wait_for()
    # Hiding the page has it saved at once; a first saving would come after two seconds.
    before = await page.evaluate(MODIFIED, name)
    await page.evaluate(HIDE)
    while await page.evaluate(MODIFIED, name) == before:
        await asyncio.sleep(0)
    await page.reload()
    await page.locator("#continue").wait_for()
    found = OFFER.fullmatch(await page.locator("#offer-text").text_content())
    assert found, "the offer says when, and in which epoch"
    return int(found[1]), int(found[2])


# What is kept depends on the data, and how it is kept on where the page trains.
@pytest.mark.usual("no-webnn-iris", "worker-digits")
@pytest.mark.parametrize("name", ["iris", "digits"])
@pytest.mark.projects("webnn", "no-webnn", "worker")
async def test_a_training_goes_on_after_a_reload(
    page: Any, page_log: PageLog, site_url: str, project: Any, name: str
) -> None:
    skip_where_nothing_runs(project)
    epochs = PATIENT[name] if project.webnn else ON_NUMPY[name]
    address = f"{name}.html" + ("?worker" if project.worker else "")
    reached, total = await interrupt(page, site_url, address, epochs, slowly=project.webnn)
    assert 0 < reached < total == epochs
    await page.locator("#epochs").fill("7")
    page_log.console.clear()
    await page.locator("#continue").press("Enter")
    result = await result_of(page)
    assert float(await result.get_attribute("data-accuracy")) > 0.8
    text = await page.locator("#progress-text").text_content()
    done = int(re.match(rf"Epoch (\d+) of {epochs} ", text)[1])
    assert done > reached
    told = [line for line in page_log.console if line.startswith("webnnm:progress ")]
    first = int(re.search(r'"epoch": (\d+)', told[0])[1])
    assert reached <= first <= done, "epochs are counted on"
    trained = re.match(r"Trained (\d+) epochs", await page.locator("#backend").text_content())
    assert done - int(trained[1]) in (reached - 1, reached)
    assert f"in {done} epochs" in await page.locator("#chart").get_attribute("aria-label")
    # The form is that of the training, and what has ended is offered no more.
    assert await page.locator("#epochs").input_value() == str(epochs)
    assert await page.locator("#seed").input_value() == "3"
    assert await page.locator("#offer-text").text_content() == ""
    assert await page.evaluate(KEPT, name) == 0
    await page.reload()
    await page.locator("html[data-ready]").wait_for(state="attached")
    assert await page.locator("#continue").is_hidden()


@in_one_browser
async def test_the_offer_is_usable_by_all_and_can_be_declined(
    page: Any, site_url: str, project: Any
) -> None:
    await interrupt(page, site_url, "iris.html", PATIENT["iris"])
    assert await page.locator("#offer-text").get_attribute("role") == "status"
    assert await page.evaluate(ACCESSIBILITY) == []
    await check_contrast(page)
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await page.locator("#discard").press("Enter")
    await page.locator("#status", has_text="discarded").wait_for()
    assert await page.locator("#continue").is_hidden()
    assert await page.evaluate("document.activeElement.id") == "train"
    assert await page.evaluate(KEPT, "iris") == 0
    await page.reload()
    await page.locator("html[data-ready]").wait_for(state="attached")
    assert await page.evaluate("localStorage.length") == 0


@in_one_browser
async def test_a_training_that_was_stopped_can_go_on_at_once(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    await page.locator("#epochs").fill("100000")
    await page.locator("#lr").fill(SLOWLY["iris"])
    await page.evaluate(CLICK_ON_THE_WAY, "#stop")
    await page.locator("#train").click()
    await result_of(page)
    await page.locator("#continue").click()
    await page.locator("#continue").wait_for(state="hidden")
    await page.evaluate(CLICK_ON_THE_WAY, "#stop")
    await page.locator("#continue").wait_for()
    # Another training takes the place of the one that is kept.
    await train_on(page, epochs=5)
    assert await page.locator("#continue").is_hidden()
    assert await page.evaluate(KEPT, "iris") == 0


@in_one_browser
async def test_a_kept_training_that_is_damaged_is_told_and_removed(
    page: Any, site_url: str, project: Any
) -> None:
    await interrupt(page, site_url, "iris.html", PATIENT["iris"])
    damage = """
    async () => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle("webnnm");
      const stream = await (await folder.getFileHandle("iris")).createWritable();
      await stream.write("no snapshot");
      await stream.close();
    }
    """
    await page.evaluate(damage)
    await page.reload()
    await page.locator("#alert", has_text="NNM80").wait_for()
    await page.wait_for_function("localStorage.length === 0")
    assert await page.locator("#continue").is_hidden()
    await train_on(page, epochs=5)
    assert await page.locator("#alert").text_content() == ""


@pytest.mark.projects("webnn", "worker")
async def test_a_model_is_saved_and_opened(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    address = "iris.html?worker" if project.worker else "iris.html"
    await open_site_page(page, site_url, address)
    assert await page.locator("#save").is_disabled()
    source = page.locator("#source")
    text = await source.input_value()
    await write_model(page, text.replace("shape=[3], activation=relu", "shape=[5]"))
    result = await train_on(page, epochs=100)
    accuracy = await result.get_attribute("data-accuracy")
    async with page.expect_download() as download:
        await page.locator("#save").click()
    file = tmp_path / "iris.webnnm.safetensors"
    saved = await download.value
    assert saved.suggested_filename == file.name
    await saved.save_as(file)
    # It is what a desktop reads, too.
    iris = await IrisDataset.create(standardize=True)
    async with await NNModel.load(file, dataset=iris, log=lambda _: None) as model:
        assert f"{(await model.test()).accuracy:.4f}" == accuracy
    await page.reload()
    await page.locator("html[data-ready]").wait_for(state="attached")
    await page.locator("#open").set_input_files(file)
    result = await result_of(page)
    assert await result.get_attribute("data-accuracy") == accuracy
    assert "shape=[5]" in await source.input_value()
    assert f"{file.name} is opened" in await page.locator("#progress-text").text_content()
    await page.locator("#classify").click()
    await page.locator("#species", has_text="%").wait_for()


@in_one_browser
async def test_a_file_that_is_not_a_model_is_refused_and_the_model_stays(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    await open_site_page(page, site_url, "iris.html")
    await train_on(page, epochs=5)
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"no model")
    await page.locator("#open").set_input_files(wrong)
    await page.locator("#alert", has_text="NNM80").wait_for()
    await page.locator("#classify").click()
    await page.locator("#species", has_text="%").wait_for()


# What browsers do where a site's storage is full.
NO_ROOM_FOR_NOTES = """
Storage.prototype.setItem = () => { throw new DOMException("no room", "QuotaExceededError"); };
"""
NO_DOWNLOAD = """
URL.createObjectURL = () => { throw new DOMException("no room", "QuotaExceededError"); };
"""


@in_one_browser
async def test_a_full_storage_is_told_where_the_training_was_begun(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(NO_ROOM_FOR_NOTES)
    await open_site_page(page, site_url, "iris.html")
    await train_on(page, epochs=20)
    told = await page.locator("#kept.warning").text_content()
    assert told == (
        "This training is not kept: a reload loses it. The browser's storage for this site is "
        "full: delete data of this site, or free disk space."
    )


@in_one_browser
async def test_a_model_that_cannot_be_saved_is_told_in_the_page(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    await train_on(page, epochs=5)
    await page.evaluate(f"() => {{ {NO_DOWNLOAD} }}")
    await page.locator("#save").click()
    told = page.locator("#alert", has_text="NNM807")
    await told.wait_for()
    assert "storage quota is full" in await told.text_content()
