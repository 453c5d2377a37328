"""Helpers of the tests of pages that are taught by example: classes, trainings, trials."""

from __future__ import annotations

from typing import Any

from tests.browser.first_look import check_policy, open_and_look
from tools.common import playwright_config

FAKE = playwright_config().FAKE_DEVICES

# Tries to send something in other ways than the button does: ways that the policy must refuse.
SEND = """
() => {
  const address = `${location.origin}/?other`;
  new Image().src = address;
  navigator.sendBeacon(address, "an example");
  new WebSocket(address.replace("http", "ws"));
  for (const [tag, key] of [["iframe", "src"], ["script", "src"], ["link", "href"]]) {
    document.body.append(Object.assign(document.createElement(tag), {
      rel: "stylesheet", [key]: address,
    }));
  }
}
"""
WAYS = 6


async def begin(page: Any, site_url: str, name: str, button: str | None = None) -> list[str]:
    """Open a page, choose what it builds on, block network access, and return later requests."""
    await open_and_look(page, site_url, name)
    await check_policy(page)
    blocked = page.locator("#blocked[data-blocked]")
    if button:
        await page.locator(button).click()
    if button == "#download":
        blocked = page.locator("#blocked[data-blocked=wholly]")
    else:
        await page.locator("#block").click()
    await blocked.wait_for()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    return requests


def class_of(page: Any, place: int) -> Any:
    return page.locator("#classes > li").nth(place)


async def teach(page: Any, place: int, name: str, files: list[dict[str, Any]]) -> None:
    """Name a class, and give it examples."""
    shown = class_of(page, place)
    await shown.get_by_label("Name").fill(name)
    await shown.get_by_label(f"Choose files for {name}").set_input_files(files)
    await shown.locator(".thumbnails li").nth(len(files) - 1).wait_for()


async def train(page: Any) -> None:
    course = page.locator("#course-text")
    count = await course.get_attribute("data-trained") or "0"
    await page.locator("#learn").click()
    await page.locator(f"#course-text[data-trained='{int(count) + 1}']").wait_for()


async def answer(page: Any, file: dict[str, Any]) -> str:
    """Try the model on a file, and return the class that the page names."""
    count = await page.locator("#rate").get_attribute("data-count") or "0"
    await page.locator("#file").set_input_files([file])
    await page.locator(f"#rate[data-count='{int(count) + 1}']").wait_for()
    return (await page.locator("#answer").text_content()).partition(" (")[0]


async def read_shares(page: Any) -> dict[str, str]:
    """Return the probabilities that a page shows, as it writes them, by the names of classes."""
    names = await page.locator("#shares dt").all_text_contents()
    return dict(zip(names, await page.locator("#shares dd").all_text_contents(), strict=True))


async def check_that_nothing_leaves(page: Any, requests: list[str]) -> None:
    """Hold a page against what it says: nothing was asked for, and what is tried is refused."""
    counted = page.locator("#requests")
    assert await counted.get_attribute("data-requests") == "0"
    await page.locator("#send").click()
    await page.locator("#attempt", has_text="The browser blocked it").wait_for()
    await page.locator("#requests[data-refused='1']").wait_for()
    assert [each for each in requests if not each.startswith("blob:")] == []
    answers: list[str] = []
    page.on("response", lambda response: answers.append(response.url))
    await page.evaluate(SEND)
    await page.locator(f"#requests[data-refused='{1 + WAYS}']").wait_for()
    assert await counted.get_attribute("data-requests") == "0"
    assert answers == []
    await page.locator("iframe").evaluate("frame => frame.remove()")
