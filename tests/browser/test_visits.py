"""Tests that share a browser context find nothing in it of the test before."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Error

from tests.browser.conftest import Visit

pytestmark = pytest.mark.projects("webnn", "no-webnn")

LEAVE = """
async () => {
  localStorage.setItem("left", "1");
  document.cookie = "left=1; max-age=1000";
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("webnnm", { create: true });
  const stream = await (await folder.getFileHandle("left", { create: true })).createWritable();
  await stream.write("1");
  await stream.close();
  await (await caches.open("left")).put("/left", new Response("1"));
  await new Promise((resolve) => {
    const opening = indexedDB.open("left", 1);
    opening.onupgradeneeded = () => { opening.result.createObjectStore("left"); };
    opening.onsuccess = () => { opening.result.close(); resolve(); };
  });
  navigator.locks.request("left", () => new Promise(() => {}));
}
"""
FIND = """
async () => {
  const databases = await indexedDB.databases();
  const root = await navigator.storage.getDirectory();
  const files = [];
  for await (const name of root.keys()) files.push(name);
  const { held } = await navigator.locks.query();
  const cookies = document.cookie.split(";").filter((cookie) => cookie);
  return [localStorage.length, cookies.length, files.length, databases.length,
    (await caches.keys()).length, held.length];
}
"""


async def test_nothing_is_left_for_the_next_visit(
    project: Any, browser: Browser, visit: Visit, site_url: str
) -> None:
    address = f"{site_url}/tests/empty.html"
    visits = await visit(browser)
    await visits.context.route("**/left.html", lambda route: route.fulfill(body="left"))
    for page in [await visits.context.new_page() for _ in range(2)]:
        await page.goto(address)
    assert await page.evaluate(FIND) == [0] * 6
    await page.evaluate(LEAVE)
    assert await page.evaluate(FIND) == [1] * 6
    assert (await page.goto(f"{site_url}/left.html")).ok
    await page.goto(address)
    again = await visit(browser)
    assert again is visits, "the context is the same"
    assert visits.context.pages == [visits.keeper]
    page = await visits.context.new_page()
    await page.goto(address)
    assert await page.evaluate(FIND) == [0] * 6
    assert (await page.goto(f"{site_url}/left.html")).status == 404


async def test_a_process_that_died_is_replaced(
    project: Any, browser: Browser, visit: Visit, site_url: str
) -> None:
    visits = await visit(browser)
    async with visits.keeper.expect_event("crash"):
        with pytest.raises(Error):
            await visits.keeper.goto("chrome://crash")
    again = await visit(browser)
    assert again is not visits
    page = await again.context.new_page()
    assert (await page.goto(f"{site_url}/tests/empty.html")).ok
