"""The fonts of the bundled browsers, in which screenshots show what the pages look like."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import async_playwright

from tools import chromium
from tools.common import ROOT, playwright_config

STYLES = [ROOT / name for name in ("site", "tools/docs/theme")]
SUFFIXES = (".css", ".js")
WEIGHTS = re.compile(r"(?:font-?[wW]eight|--heavy): \"?(\d+)")
WEIGHT = 4
"""The offset of the weight in the table OS/2 of a font."""
TEXTS = {
    "Odd Sans": "Odd Sans",
    'system-ui, "Segoe UI", sans-serif': "Open Sans",
    "sans-serif": "Open Sans",
}
"""Families that a page asks for, and the one in which its text is shown."""


def semibold_of_another_family(font: bytes) -> bytes:
    """Return a font with the weight 600 and another name."""
    names = [name.encode("utf-16-be") for name in ("Open Sans", "Odd Sans ")]
    changed = bytearray(font.replace(*names).replace(b"Open Sans", b"Odd Sans "))
    (tables,) = struct.unpack_from(">H", font, 4)
    for number in range(tables):
        tag, _, offset, _ = struct.unpack_from(">4s3L", font, 12 + 16 * number)
        if tag == b"OS/2":
            struct.pack_into(">H", changed, offset + WEIGHT, 600)
    return bytes(changed)


def weights() -> set[int]:
    """Return the weights that stylesheets and editors ask for."""
    files = [path for folder in STYLES for path in folder.rglob("*") if path.suffix in SUFFIXES]
    return {int(n) for path in files for n in WEIGHTS.findall(path.read_text())}


async def fonts_of_paragraphs(page: Any, name: str) -> list[str]:
    """Return a name of the font of each paragraph: that of its family, or that of its file."""
    session = await page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        await session.send(f"{domain}.enable")
    root = (await session.send("DOM.getDocument"))["root"]["nodeId"]
    query = {"nodeId": root, "selector": "p"}
    nodes = (await session.send("DOM.querySelectorAll", query))["nodeIds"]
    found = [await session.send("CSS.getPlatformFontsForNode", {"nodeId": node}) for node in nodes]
    return [font[name].strip() for each in found for font in each["fonts"]]


@pytest.mark.skipif(
    chromium.custom_path() is not None, reason="another browser has the machine's fonts"
)
@pytest.mark.parametrize("name", ["webnn", playwright_config().SECOND])
async def test_semibold_text_has_the_bundled_font_whatever_the_machine_has(
    tmp_path: Path, name: str
) -> None:
    project = playwright_config().PROJECTS[name]
    bundled = chromium.bundle(project.chromium).folder / "fonts"
    fonts = shutil.copytree(bundled, tmp_path / "fonts")
    (regular,) = fonts.rglob("OpenSans-Regular.ttf")
    (fonts / "odd.ttf").write_bytes(semibold_of_another_family(regular.read_bytes()))
    (tmp_path / "fonts.conf").write_text(chromium.FONTS.format(cache=tmp_path / "cache"))
    options = playwright_config().launch_options(project)
    options["env"] |= {"FONTCONFIG_PATH": str(tmp_path)}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**options)
        page = await browser.new_page()
        texts = [f"<p style='font: 620 16px {family}'>Text</p>" for family in TEXTS]
        await page.set_content("".join(texts))
        assert await fonts_of_paragraphs(page, "familyName") == list(TEXTS.values())
        heavy = sorted(weight for weight in weights() if weight > 500)
        texts = [f"<p style='font: {weight} 16px sans-serif'>Text</p>" for weight in (400, *heavy)]
        await page.set_content("".join(texts))
        files = await fonts_of_paragraphs(page, "postScriptName")
        assert files == ["OpenSans-Regular", *["OpenSans-Bold"] * len(heavy)]
        await browser.close()
