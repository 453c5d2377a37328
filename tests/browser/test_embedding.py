"""The playground in frames of other sites: the line that embeds it, who may, and what it shows."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import open_site_page, skip_where_nothing_runs
from tools.page_parts import LINKS
from webnnm.cli.serve import SiteServer

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

PAGE = '<!doctype html><meta charset="utf-8"><title>A page of somebody else</title>{}'
# Storage as in frames whose browser gives them none: refused at once, or later.
NO_STORAGE = """
const refuse = () => { throw new DOMException("no storage", "SecurityError"); };
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(globalThis, name, { get: refuse });
}
IDBFactory.prototype.open = refuse;
for (const name of ["open", "match", "has", "keys", "delete"]) {
  CacheStorage.prototype[name] = async () => refuse();
}
ServiceWorkerContainer.prototype.register = async () => refuse();
StorageManager.prototype.getDirectory = async () => refuse();
"""
AROUND = ("header", "footer", ".lead", ".lessons", "#source", "#chart", "#share", "#data")


def write_page(folder: Path, html: str) -> None:
    (folder / "index.html").write_text(PAGE.format(html))


@in_one_browser
async def test_the_line_holds_what_is_set_and_is_copied(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script("""
      Object.defineProperty(navigator, "clipboard", { value: {
        writeText: async (text) => { globalThis.copied = text; },
      } });
    """)
    await open_site_page(page, site_url, "playground.html")
    await page.get_by_text("Embed", exact=True).click()
    await page.locator("#epochs").fill("7")
    await page.locator("#epochs").press("Tab")
    line = page.locator("#embed-line")
    await page.wait_for_function("document.querySelector('#embed-line').value.includes('epochs=7')")
    text = await line.input_value()
    assert text.startswith(f'<iframe src="{site_url}/playground.html?embed#data=moons&amp;')
    assert 'width="640" height="420" allow="webnn"' in text
    await page.get_by_role("button", name="Copy the line").click()
    await page.get_by_role("button", name="The line is copied").wait_for()
    assert await page.evaluate("copied") == text
    assert await page.locator("#whole-page").is_hidden()


@in_both_browsers
@pytest.mark.parametrize("stores", [True, False], ids=["stores", "no-storage"])
async def test_it_trains_in_a_frame_of_another_site(
    page: Any, site_url: str, project: Any, tmp_path: Path, stores: bool
) -> None:
    skip_where_nothing_runs(project)
    if not stores:
        await page.add_init_script(f"if (top !== self) {{ {NO_STORAGE} }}")
    address = site_url.replace("localhost", "127.0.0.1")
    for shape, *size in (("circles", 640, 420), ("circles", 360, 420), ("hills", 640, 420)):
        fragment = f"data={shape}&amp;epochs=5"
        write_page(
            tmp_path,
            f'<iframe src="{address}/playground.html?embed#{fragment}" title="webnnm playground"'
            f' width="{size[0]}" height="{size[1]}" allow="webnn" style="border:0"></iframe>',
        )
        with SiteServer(tmp_path) as server:
            await page.goto(server.url)
            frame = page.frame_locator("iframe")
            await frame.locator("html[data-ready]").wait_for(state="attached")
            await frame.locator("#plane canvas").wait_for()
            for name in AROUND:
                assert await frame.locator(name).is_hidden(), name
            inside = page.frames[1]
            assert await inside.evaluate("document.documentElement.scrollWidth") <= size[0]
            if size[0] == 640:
                assert await inside.evaluate("document.documentElement.scrollHeight") <= size[1]
            await frame.locator("#train").click()
            await frame.locator("#result[data-done]").wait_for(state="attached")
            if size[0] == 640:  # with the result, too
                assert await inside.evaluate("document.documentElement.scrollHeight") <= size[1]
            assert "Epoch 5 of 5" in await frame.locator("#progress-text").text_content()
            assert await frame.locator("#train").is_visible()
            whole = frame.get_by_role("link", name="webnnm playground")
            target = unescape(await whole.get_attribute("href"))
            assert target.startswith(f"{address}/playground.html#data={shape}&")
            assert await whole.get_attribute("target") == "_blank"
            runs = await frame.locator("#runs").text_content()
            assert runs.startswith("Runs on WebNN (" if project.webnn else "Runs on NumPy")
            assert await violations(inside) == []


@in_one_browser
async def test_without_permission_for_webnn_it_trains_without_it(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    address = site_url.replace("localhost", "127.0.0.1")
    write_page(tmp_path, f'<iframe src="{address}/playground.html?embed#epochs=3"></iframe>')
    with SiteServer(tmp_path) as server:
        await page.goto(server.url)
        frame = page.frame_locator("iframe")
        await frame.locator("#train:enabled").click()
        await frame.locator("#result[data-done]").wait_for(state="attached")
        assert "WebNN" not in await frame.locator("#runs").text_content()


@in_one_browser
async def test_other_pages_refuse_frames(
    page: Any, site_url: str, project: Any, tmp_path: Path, page_log: Any
) -> None:
    address = site_url.replace("localhost", "127.0.0.1")
    names = [name for name in LINKS if name != "playground.html"]
    for name in ("", "docs/index.html", *names):
        answer = await page.request.get(f"{address}/{name}")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], name
    write_page(tmp_path, f'<iframe src="{address}/hello.html"></iframe>')
    with SiteServer(tmp_path) as server:
        await page.goto(server.url)
        await page.wait_for_function("frames.length === 1")
        await page.frames[1].wait_for_load_state()
        assert page.frames[1].url.startswith("chrome-error:")
