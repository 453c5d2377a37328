"""Downloads of models that fail: what a visitor reads, and that another try is possible."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site_pages import open_site_page

in_one_browser = pytest.mark.projects("webnn")

# Files of models come as they do when a connection ends in the middle, once that is switched on.
END_CONNECTIONS = """
const real = globalThis.fetch;
globalThis.fetch = (address, options) => {
  if (!globalThis.ends || !String(address.url ?? address).includes("/models/")) {
    return real(address, options);
  }
  let begun = false;
  const body = new ReadableStream({
    pull(controller) {
      if (begun) controller.error(new TypeError("network error"));
      else controller.enqueue(new Uint8Array(100));
      begun = true;
    },
  });
  return Promise.resolve(new Response(body, { headers: { "content-length": "1300000" } }));
};
"""
LOGIN = "<!doctype html><title>Log in</title><p>Welcome to this network."


@in_one_browser
@pytest.mark.parametrize(
    "name",
    [
        *("aloud", "camera", "chat", "hub", "ocr"),
        *("search", "speech", "teach", "transcribe", "writes"),
    ],
)
async def test_a_failed_download_is_explained_and_can_be_tried_again(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await page.add_init_script(END_CONNECTIONS)
    await open_site_page(page, site_url, f"{name}.html")
    shown, alert = page.locator("#progress-text.warning"), page.locator("#alert")
    await page.route(
        "**/models/**",
        lambda route: route.fulfill(content_type="text/html; charset=utf-8", body=LOGIN),
    )
    await page.locator("#download").click()
    await shown.filter(has_text="such as the login page of a network").wait_for()
    assert await alert.inner_text() == ""
    await page.unroute("**/models/**")
    await page.evaluate("globalThis.ends = true")
    await page.locator("#download:enabled").click()
    await shown.filter(has_text="The download was interrupted. Check your connection").wait_for()
    assert await alert.inner_text() == ""
    assert await page.locator("#download").is_enabled()
