"""Links that strangers send: a short message, and the page goes on with what it had."""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.site_pages import fill, open_site_page, result_of

in_one_browser = pytest.mark.projects("webnn")
NAME = "<img src=x onerror=globalThis.canary=1>"


def pack(content: str | bytes) -> str:
    """Return a link with a content as the pages pack it."""
    data = content.encode() if isinstance(content, str) else content
    return "#model=" + urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


def model(text: Any, **fields: Any) -> str:
    """Return a link to a model with settings."""
    return pack(json.dumps({"text": text, "fields": fields}))


LAYERS = "m:input shape=[2]; m:output shape=[2]; m:layers " + ", ".join(["relu()"] * 20_000) + ";"
REPEATED = "m:input shape=[2]; m:output shape=[2]; m:layers relu(repeat=99999);"
POINTS = ";".join(["0.1,0.1,1"] * 100_000)
EDITOR = {
    "nested brackets": pack("[" * 100_000),
    "nested objects": pack('{"a":' * 100_000),
    "brackets in the fields": pack('{"text": "", "fields": ' + "[" * 50_000 + "]" * 50_000 + "}"),
    "unpacks to gigabytes": pack(b"a" * 2**27),
    "a long text": model("#" * 200_000),
    "many layers": model(LAYERS),
    "many copies": model(REPEATED),
    "no text": model({"a": 1}),
    "a number": pack("1"),
    "not JSON": pack("{"),
    "NaN": pack('{"text": NaN, "fields": {}}'),
    "no UTF-8": pack(b"\xff\xfe"),
    "not packed": "#model=AAAA",
    "no base64": "#model=%00%ff!",
    "empty": "#model=",
    "a wrong choice": model("", optimizer="__class__"),
    "no number": model("", epochs="1e999"),
}
PLAYGROUND = {
    "a name of Python": urlencode({"data": "__class__"}),
    "no such shape": urlencode({"data": NAME}),
    "no numbers": urlencode({"data": "drawn", "points": "nan,nan,1;inf,0,0;1e400,0,1"}),
    "many points": urlencode({"data": "drawn", "points": POINTS}),
    "no rows": urlencode({"rows": "1e9"}),
    "many epochs": urlencode({"epochs": "99999999999"}),
    "no seed": urlencode({"seed": "-1"}),
    "an optimizer": urlencode({"optimizer": "__init__"}),
    "many layers": urlencode({"model": LAYERS}),
    "many copies": urlencode({"model": REPEATED}),
    "a long text": "model=" + "x" * 300_000,
}


async def is_alive(page: Any) -> None:
    """Check that a page told what is wrong in a few words, and that it still trains."""
    text = await page.locator("#alert pre").text_content()
    assert 20 < len(text) < 400
    assert "Traceback" not in text
    assert await page.evaluate("globalThis.canary ?? null") is None


@in_one_browser
async def test_hostile_links_to_a_model_are_refused(page: Any, site_url: str, project: Any) -> None:
    first, *others = EDITOR.values()
    await open_site_page(page, site_url, f"iris.html{first}")
    await page.locator("#alert pre").wait_for()
    await is_alive(page)
    good = await page.locator("#source").input_value()
    for link in others:
        await page.evaluate("document.querySelector('#alert').replaceChildren()")
        await page.evaluate("link => { location.hash = link; }", link)
        await page.locator("#alert pre").wait_for()
        await is_alive(page)
        assert await page.locator("#source").input_value() == good
    await fill(page, epochs="3")
    await page.locator("#train:enabled").click()
    await result_of(page)


@in_one_browser
async def test_hostile_links_to_the_playground_are_refused(
    page: Any, site_url: str, project: Any
) -> None:
    first, *others = PLAYGROUND.values()
    await open_site_page(page, site_url, f"playground.html#{first}")
    await page.locator("#alert pre").wait_for()
    await is_alive(page)
    for link in others:
        await page.evaluate("document.querySelector('#alert').replaceChildren()")
        await page.evaluate("link => { location.hash = link; }", link)
        await page.locator("#alert pre").wait_for()
        await is_alive(page)
    await page.evaluate("location.hash = 'data=moons&epochs=3'")
    await page.wait_for_function("document.querySelector('#epochs').value === '3'")
    # Train by the keyboard: the focus stays where Pause is now, and the beginning is announced.
    await page.evaluate("""() => { globalThis.said = new Promise((resolve) => {
      const status = document.querySelector("#status");
      new MutationObserver((_changes, observer) => {
        observer.disconnect();
        resolve([status.textContent, document.activeElement.textContent]);
      }).observe(status, { childList: true });
    }); }""")
    await page.locator("#train:enabled").focus()
    await page.keyboard.press("Enter")
    text, focused = await page.evaluate("said")
    assert text.startswith("Training has begun")
    assert focused == "Pause"
    await result_of(page)
    await page.wait_for_function("document.activeElement.textContent === 'Train'")
