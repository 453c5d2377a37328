"""The page of arrays: its programs reach their goals, stop, and show where they are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.first_look import check_policy, open_and_look
from tests.browser.site_pages import (
    backend_of,
    check_usable,
    open_site_page,
    skip_where_nothing_runs,
)
from tools.common import ROOT

PROGRAMS = ROOT / "site" / "programs"

in_both_browsers = pytest.mark.projects("webnn", "no-webnn")
in_one_browser = pytest.mark.projects("webnn")

# Which cells of a board of 64 × 64 are drawn, as [row, column].
CELLS = """
() => {
  const canvas = document.querySelector("#drawing");
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const at = (place) => Math.floor((place + 0.5) * width / 64);
  const found = [];
  for (let row = 0; row < 64; row++) {
    for (let column = 0; column < 64; column++) {
      if (data[4 * (at(row) * width + at(column)) + 3] > 128) found.push([row, column]);
    }
  }
  return found;
}
"""
COLOURS = """
() => {
  const canvas = document.querySelector("#drawing");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 3).join());
  return colours.size;
}
"""

# A camera that sees nothing but blue.
FILM = """
const canvas = document.createElement("canvas");
const context = canvas.getContext("2d");
const paint = () => {
  context.fillStyle = "#0000ff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  requestAnimationFrame(paint);
};
navigator.mediaDevices.getUserMedia = async () => {
  paint();
  return canvas.captureStream(30);
};
"""
# Drops a picture that is red.
DROP = """
async () => {
  const canvas = new OffscreenCanvas(20, 10);
  const context = canvas.getContext("2d");
  context.fillStyle = "#ff0000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([await canvas.convertToBlob()], "red.png"));
  const drop = new DragEvent("drop", { dataTransfer, cancelable: true });
  return document.querySelector("#choice").dispatchEvent(drop);
}
"""


async def run(page: Any, text: str) -> None:
    """Run a program, and wait until it has ended."""
    await page.locator("#source").fill(text)
    status = page.locator("#status")
    await status.evaluate("status => { status.textContent = ''; }")
    await page.locator("#run:enabled").click()
    await page.locator("#status", has_text="The program").wait_for()


async def ran(page: Any, name: str, *changes: tuple[str, str]) -> dict[str, float]:
    """Run a program of the page with changes of its text, and return its last figures."""
    await page.locator("#program").select_option(name)
    text = await page.locator("#source").input_value()
    assert text == (PROGRAMS / f"{name}.py").read_text().rstrip()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    await run(page, text)
    shown = await page.locator("#figures").text_content()
    assert shown.endswith("has ended"), await page.locator("#diagnostics").text_content()
    figures = (each.split(" ") for each in shown.partition(" · ")[0].split(", "))
    return {word: float(value) for word, value in figures}


@in_both_browsers
async def test_every_program_reaches_its_goal_and_leaves_nothing(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_and_look(page, site_url, "arrays.html")
    await page.get_by_text(f"Arrays run on {backend_of(project)}").wait_for()
    memory = page.locator("#memory")

    figures = await ran(page, "descent")
    assert figures["step"] == 120
    assert figures["height"] < 0.01
    told = await memory.text_content()
    assert backend_of(project) in told
    assert int(told.rpartition(", ")[2].removesuffix(" graphs")) > 0

    figures = await ran(page, "field", ("range(600)", "range(60)"))
    assert figures["loss"] < 0.01
    assert await page.evaluate(COLOURS) > 100

    figures = await ran(page, "boundary", ("range(150)", "range(60)"))
    assert figures["right"] > 0.9

    await ran(page, "cartpole", ("range(20)", "range(5)"), ("BLOCK = 5", "BLOCK = 20"))
    told = (await page.locator("#printed").text_content()).splitlines()
    balanced = [int(line.partition("for ")[2].partition(" ")[0]) for line in told]
    assert len(balanced) == 5
    assert balanced[-1] > 2 * balanced[0]

    # Alone, a glider moves one cell on in four generations. Memory stays as it is.
    grow = ("board = after(board)", "board = after(board)\n    print(xp.memory().bytes)")
    figures = await ran(
        page, "life", ("SOUP = 0.2", "SOUP = 0"), ("range(1000)", "range(41)"), grow
    )
    assert figures == {"generation": 40, "alive": 5}
    glider = [[0, 1], [1, 2], [2, 0], [2, 1], [2, 2]]
    cells = [[row + 14, column + 14] for row, column in glider]
    assert await page.evaluate(CELLS) == cells
    held = (await page.locator("#printed").text_content()).splitlines()
    assert len(set(held[5:])) == 1

    assert await memory.get_attribute("data-arrays") == "0"
    assert await memory.get_attribute("data-bytes") == "0"
    await check_policy(page)
    await check_usable(page)


@in_one_browser
async def test_a_browser_that_cannot_hold_up_python_runs_them(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script("delete WebAssembly.Suspending; delete WebAssembly.promising;")
    await open_site_page(page, site_url, "arrays.html")
    figures = await ran(page, "boundary", ("range(150)", "range(60)"))
    assert figures["right"] > 0.9
    figures = await ran(page, "life", ("range(1000)", "range(20)"))
    assert figures["alive"] > 5
    assert await page.locator("#memory").get_attribute("data-arrays") == "0"


@in_one_browser
async def test_errors_mark_the_line_and_lead_there(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "arrays.html")
    diagnostics, source = page.locator("#diagnostics"), page.locator("#source")
    frame = page.locator(".frame")

    text = "from webnnm import xp\ndef f(x):\n    return x @ xp.ones((4, 2))\n\nf(xp.ones((2, 3)))"
    await run(page, text)
    assert "Line 3:12 [2, 3] and [4, 2] have no matrix product" in await diagnostics.text_content()
    assert await source.get_attribute("aria-invalid") == "true"
    mark = "getComputedStyle(document.querySelector('.frame')).getPropertyValue('--wrong-line')"
    assert await page.evaluate(mark) == "3"
    await diagnostics.locator("button").press("Enter")
    place = "[document.activeElement.id, document.activeElement.selectionStart]"
    assert await page.evaluate(place) == ["source", text.index("x @")]
    await page.keyboard.press("ArrowRight")
    await page.keyboard.type(" ")
    assert "wrong" not in await frame.get_attribute("class")

    await run(page, "x = 1\nif x\n    y = 2")
    told = await diagnostics.text_content()
    assert told.startswith("Line 2:")
    assert "SyntaxError: expected ':'" in told
    await run(page, "from drawing import frame\nfor k in range(3):\n    frame(k=k)")
    assert "Line 3:5" in await diagnostics.text_content()
    assert "await frame(…)" in await diagnostics.text_content()
    assert await page.locator("#alert").text_content() == ""

    # Nothing is left of it, and the next run is as if it were the first.
    await page.locator("#restore").click()
    assert await diagnostics.text_content() == ""
    assert await source.get_attribute("aria-invalid") == "false"
    await source.press("Control+Enter")
    await page.get_by_text("has ended").first.wait_for()


@in_one_browser
async def test_stop_ends_loops_with_frames_without_and_waits(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "arrays.html")
    # Before there is a device, stopping ends a program that has not begun.
    await page.get_by_text("Arrays run on").wait_for()
    begin = "import asyncio\nfrom drawing import frame\nfrom webnnm import xp\nx = xp.ones(1000)\n"
    for loop in (
        "while True:\n    x = x + 1\n    await frame(x=x[0])",
        "while True:\n    x = x + 1",
        "await asyncio.sleep(1000)",
    ):
        await page.locator("#source").fill(begin + loop)
        await page.locator("#run").click()
        # The page answers while it runs.
        await page.locator("#program:disabled").wait_for()
        await page.locator("#stop:enabled").click()
        await page.locator("#run:enabled").wait_for()
        assert "was stopped" in await page.locator("#figures").text_content()
        assert "was stopped" in await page.locator("#status").text_content()
        assert await page.locator("#memory").get_attribute("data-arrays") == "0"
        assert await page.evaluate("document.activeElement.id") == "run"


@in_one_browser
async def test_programs_see_the_picture_that_is_chosen_dropped_or_filmed(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(FILM)
    await open_site_page(page, site_url, "arrays.html")
    choice = page.locator("#choice")
    assert await choice.is_hidden()
    program = """
from drawing import picture
from webnnm import xp
print(*[round(each, 1) for each in xp.mean(picture(4), axis=(0, 1)).tolist()])
"""

    async def seen() -> str:
        await run(page, program)
        return (await page.locator("#printed").text_content()).strip()

    landscape = await seen()
    assert await choice.is_visible()
    await page.locator("#file").set_input_files(
        {"name": "red.svg", "mimeType": "image/svg+xml", "buffer": b"no picture"}
    )
    await page.get_by_text("red.svg is not a picture").wait_for()
    assert not await page.evaluate(DROP), "the browser would show the picture itself"
    await page.locator("#status", has_text="Programs see red.png now.").wait_for()
    assert await seen() == "1.0 0.0 0.0"
    await page.locator("#camera").click()
    await page.locator("#camera[aria-pressed=true]").wait_for()
    assert await seen() == "0.0 0.0 1.0"
    await page.locator("#drawn").click()
    assert await seen() == landscape
    assert await page.locator("#camera").get_attribute("aria-pressed") == "false"
