"""Helpers of the tests of pages that are saved: an archive from a button, served and asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tests.browser.site_pages import WATCH_POLICY
from webnnm.cli.serve import SiteServer

BUTTON = "Save a page that runs it"
PREDICT = """async (element) => {
  const told = new Promise((resolve) => {
    element.addEventListener("prediction", resolve, { once: true });
    element.addEventListener("error", resolve, { once: true });
  });
  element.shadowRoot.querySelector("form > button:last-of-type").click();
  await told;
  await new Promise(requestAnimationFrame); // it is shown
  const lines = [...element.shadowRoot.querySelectorAll("li")];
  return lines.map((line) => line.innerText.split("\\n"));
}"""


async def save_page(page: Any, folder: Path) -> Path:
    """Save the page of a model, unpack it, and return the archive."""
    async with page.expect_download() as saved:
        await page.get_by_role("button", name=BUTTON).click()
    download = await saved.value
    archive = folder / download.suggested_filename
    await download.save_as(archive)
    with ZipFile(archive) as files:
        files.extractall(folder / "page")
    return archive


@asynccontextmanager
async def open_saved_page(page: Any, folder: Path) -> AsyncIterator[Any]:
    """Save the page of a model, and open it in a tab of its own, whose policy nothing offends."""
    await save_page(page, folder)
    tab = await page.context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    await tab.add_init_script(WATCH_POLICY)
    with SiteServer(folder / "page") as server:
        await tab.goto(server.url)
        await tab.locator("webnnm-model form").wait_for()
        yield tab
        assert await tab.evaluate("refused") == []
        assert errors == []
    await tab.close()
    await page.bring_to_front()


async def ask(tab: Any, file: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:
    """Fill in the form of a saved page, and return the shares of classes that it shows."""
    element = tab.locator("webnnm-model")
    if file is not None:
        await element.locator("input[type=file]").set_input_files([file])
    for label, value in fields.items():
        await element.get_by_label(label).fill(str(value))
    lines = await element.evaluate(PREDICT)
    return {label: share for label, share, *_ in lines}
