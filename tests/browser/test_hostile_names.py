"""Names from data in everything that makes HTML and SVG: in a browser, no script of theirs runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.markup import HARMLESS
from tests.fuzz.markup_producers import (
    HTML,
    SVG,
    chart_pages,
    chart_svgs,
    chart_texts,
)
from webnnm.cli.serve import SiteServer
from webnnm.core.markup import page as whole_page

in_one_browser = pytest.mark.projects("webnn")
CALL = "globalThis.canary=1"
NAMES = (
    f"</script><script>{CALL}</script><x-foreign>",
    f"<!--<script>{CALL}//",
    f"\"><img src=x onerror='{CALL}'><x-foreign>",
    f"'><svg onload={CALL}><x-foreign>",
    f"</title></style></textarea></svg><script>{CALL}</script>",
    f"]]><script>{CALL}</script><![CDATA[",
    f"javascript:{CALL}",
    f"\u2028{CALL}\u2029\n{CALL}\n",
    f"\\u003cscript\\u003e{CALL}&lt;script&gt;&#60;script&#62;",
    f"${{{CALL}}}`;{CALL};`",
    f"\";{CALL};\"';{CALL};'",
    "<b>\ud800\0\x1b\uffff</b>",
    f"datum['{CALL}']\\",
)
COUNTED = """() => {
  const all = [...document.querySelectorAll("*")];
  const own = (element) => [...element.attributes].map(({ name }) => name).sort().join(" ");
  return {
    canary: globalThis.canary ?? 0,
    foreign: document.querySelectorAll("x-foreign, img, iframe, object, embed").length,
    handlers: all.filter((element) => own(element).match(/(^| )on/)).length,
    scripts: document.scripts.length,
    drawn: document.querySelectorAll("#chart svg").length,
  };
}"""
NOTHING = {"canary": 0, "foreign": 0, "handlers": 0, "scripts": 0, "drawn": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address of a server that lets its pages do everything."""
    with SiteServer(tmp_path) as server:
        yield tmp_path, server.url


@in_one_browser
@pytest.mark.parametrize("name", NAMES)
async def test_notebooks_and_pictures_show_names_as_text(
    page: Any, folder: tuple[Path, str], name: str, project: Any
) -> None:
    root, url = folder
    parts = {kind: make(name) for kind, make in HTML.items() if kind != "folder"}
    parts |= {kind: make(name) for kind, make in SVG.items()}
    parts |= chart_svgs(name)
    document = whole_page("all").replace("</body>", "\n".join(parts.values()) + "</body>")
    (root / "all.html").write_text(document)
    (root / "folder.html").write_text(HTML["folder"](name))
    for address in ("all.html", "folder.html"):
        await page.goto(f"{url}/{address}", wait_until="load")
        assert await page.evaluate(COUNTED) == NOTHING, address
    # As documents of their own, scripts in pictures could run.
    for kind in ("plot", "diagram"):
        (root / f"{kind}.svg").write_text(parts[kind])
        await page.goto(f"{url}/{kind}.svg", wait_until="load")
        assert await page.evaluate("document.documentElement.localName") == "svg"
        assert (
            await page.evaluate("document.querySelector('parsererror, x-foreign, script')") is None
        )
        assert await page.evaluate("globalThis.canary") is None


@in_one_browser
@pytest.mark.parametrize("name", [HARMLESS, *NAMES[:2], "".join(NAMES), "".join(NAMES[::-1])])
async def test_saved_charts_draw_names_as_text(
    page: Any, folder: tuple[Path, str], name: str, project: Any
) -> None:
    root, url = folder
    for kind, text in chart_pages(name).items():
        (root / "chart.html").write_text(text)
        await page.goto(f"{url}/chart.html")
        await page.locator("#chart svg").first.wait_for()
        assert await page.evaluate(COUNTED) == {**NOTHING, "scripts": 2, "drawn": 1}, kind
        await page.locator("#chart svg").first.hover()  # tooltips are HTML
        assert await page.evaluate("globalThis.canary") is None, kind


@in_one_browser
async def test_pages_draw_names_in_charts_as_text(page: Any, site_url: str, project: Any) -> None:
    await page.goto(f"{site_url}/tests/empty.html")
    for name in NAMES:
        for text in chart_texts(name):
            count = """async (text) => {
              const { show } = await import("/components/charts.js");
              const holder = document.createElement("div");
              document.body.append(holder);
              const chart = show(holder, text);
              await chart.settle();
              const elements = [...holder.querySelectorAll("*")].map((each) => each.localName);
              chart.close();
              holder.remove();
              const foreign = elements.filter((each) => !["div", "canvas", "form"].includes(each));
              return [foreign, globalThis.canary];
            }"""
            assert await page.evaluate(count, text) == [[], None]
