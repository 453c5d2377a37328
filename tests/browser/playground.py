"""Helpers of the tests of the playground."""

from __future__ import annotations

from typing import Any

from tests.browser.site_pages import open_site_page

IDLE = "#train:has-text('Train')"
"""The button while nothing is trained."""


async def open_playground(page: Any, site_url: str, fragment: str = "") -> None:
    """Open the page, and wait until both charts are drawn."""
    await open_site_page(page, site_url, f"playground.html{fragment}")
    await charts_are_drawn(page)


async def charts_are_drawn(page: Any) -> None:
    await page.locator("#plane canvas").wait_for()
    await page.locator("#chart canvas").wait_for(state="attached")
