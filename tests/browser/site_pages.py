"""Helpers of the tests of the site's pages: opening, training, and what scripts find in a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Route

from tests.browser.harness import pages_have_numpy
from tools.common import SITE
from tools.page_parts import LINKS

PAGES = tuple(LINKS)
WITHOUT_PYTHON = ("notation.html",)
SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"


# Whether a page shows other probabilities than these.
SHARES_DIFFER = """
(before) => before !== [...document.querySelectorAll("#shares dd")]
  .map((share) => share.textContent).join("")
"""


# Notes what a page's policy refuses; to be there before the page.
WATCH_POLICY = """
globalThis.refused = [];
addEventListener("securitypolicyviolation", (event) => {
  refused.push(`${event.violatedDirective}: ${event.blockedURI}`);
});
"""

# Lets the page draw and its timers fire, many times.
LIVE = """
async () => {
  for (let turn = 0; turn < 50; turn += 1) {
    await new Promise((resolve) => { requestAnimationFrame(resolve); });
    await new Promise((resolve) => { setTimeout(resolve, 0); });
  }
}
"""
# Clicks a button when a training first tells its progress: in the page, before it can have ended.
CLICK_ON_THE_WAY = """
(button) => {
  const text = document.querySelector("#progress-text");
  new MutationObserver((_changes, observer) => {
    if (!text.textContent.includes("s left")) return;
    observer.disconnect();
    document.querySelector(button).click();
  }).observe(text, { childList: true, characterData: true, subtree: true });
}
"""


# Holds the end of the time without clicks and keys after which a page is not being used.
HOLD_QUIET = """
const later = globalThis.setTimeout;
globalThis.held = [];
globalThis.setTimeout = (work, wait, ...given) =>
  wait === 5000 ? void held.push(work) : later(work, wait, ...given);
"""
# Opens what a field is folded away in.
UNFOLD = """(field) => {
  for (let at = field.closest("details"); at; at = at.parentElement.closest("details")) {
    at.open = true;
  }
}"""
UNKEPT = "navigator.serviceWorker.getRegistration().then((found) => found === undefined)"


async def leave_alone(page: Any) -> None:
    """End the time that `HOLD_QUIET` holds; until then no service worker fetches anything."""
    assert await page.evaluate(UNKEPT)
    await be_kept(page)


async def be_kept(page: Any) -> None:
    """End the time that `HOLD_QUIET` holds, and wait until the page is kept."""
    await page.wait_for_function("held.length > 0")
    await page.evaluate("held.at(-1)()")
    await page.locator("html[data-offline]").wait_for(state="attached")


def needs(*models: str) -> None:
    """Skip a test of models that `make models` has not fetched."""
    for model in models:
        if not (SITE / "models" / model).exists():
            pytest.skip(f"{model} is not in the site: `make models` fetches it")


async def open_site_page(page: Any, site_url: str, name: str) -> None:
    """Open a page of the site and wait until its program runs; no request may hold it up."""
    synchronous: list[str] = []

    def note(request: Any) -> None:
        if request.resource_type == "xhr":
            synchronous.append(request.url)

    page.on("request", note)
    await page.goto(f"{site_url}/{name}")
    if name not in WITHOUT_PYTHON:
        await page.locator("html[data-ready]").wait_for(state="attached")
    page.remove_listener("request", note)
    assert not synchronous, f"requests that hold up the page: {synchronous}"


async def hold_back(page: Any, files: str) -> asyncio.Event:
    """Hold back what a page asks for until an event, which is returned, is set."""
    come = asyncio.Event()

    async def late(route: Route) -> None:
        await come.wait()
        await route.continue_()

    await page.route(files, late)
    return come


async def write_model(page: Any, text: str) -> None:
    """Write a text into the field of a page as programs do; the editor takes it over."""
    await page.locator("#source").evaluate(
        """(field, text) => {
          field.value = text;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        text,
    )


async def fill(page: Any, **fields: str) -> None:
    """Fill in fields of a form by their ids, and leave each."""
    for name, value in fields.items():
        field = page.locator(f"#{name}")
        await field.evaluate(UNFOLD)
        if await field.evaluate("field => field.tagName") == "SELECT":
            await field.select_option(value)
        else:
            await field.fill(value)
            await field.blur()


async def train_on(page: Any, *, epochs: int = 60, **fields: str) -> Any:
    """Fill in the form of a page that trains, train, and return the element of the result."""
    await fill(page, epochs=str(epochs), **fields)
    train = page.locator("#train:enabled")
    await train.wait_for()
    # What an earlier training showed is not the result of this one.
    await page.locator("#result").evaluate("result => delete result.dataset.done")
    await train.click()
    return await result_of(page)


async def says_that_numpy_will_train(page: Any) -> None:
    """Check what a page says before anybody trains."""
    runs = page.locator("#runs", has_text="odels run on NumPy")
    await runs.wait_for()
    assert "browser has no WebNN" in await runs.text_content()
    await runs.locator("summary").click()
    more = runs.get_by_role("link", name="More on WebNN in browsers")
    address, _, section = (await more.get_attribute("href")).partition("#")
    document = await page.request.get(f"{page.url.rpartition('/')[0]}/{address}")
    assert f'id="{section}"' in await document.text()
    assert await page.locator("#train").is_enabled()
    assert await page.locator("#result[data-done]").count() == 0


async def look_closer(page: Any, first: str, *names: str) -> dict[str, str]:
    """Open the section of further charts; return what each says to those who do not see it.

    `first` and `names` are the titles to wait for, in their order.
    """
    if await page.locator("#closer").get_attribute("open") is None:
        await page.get_by_text(
            "Learning rate, probabilities, weights, activations and gradients"
        ).click()
    await page.locator("#closer-charts .chart canvas").nth(len(names)).wait_for()
    titles = await page.locator("#closer-charts h3").all_text_contents()
    assert titles == [first, *names]
    assert await page.locator("#closer-hint").is_hidden()
    charts = await page.locator("#closer-charts .chart").all()
    words = [await chart.get_attribute("aria-label") for chart in charts]
    return dict(zip(titles, words, strict=True))


async def live_while_it_trains(page: Any, **fields: str) -> None:
    """Begin a training of many minutes, let the page live, and stop the training.

    Further charts that are open are those of this training, and grow with it.
    """
    await fill(page, **fields)
    await page.locator("#result").evaluate("result => delete result.dataset.done")
    await page.locator("#train:enabled").click()
    await page.get_by_text("s left").wait_for()
    await page.evaluate(LIVE)
    if await page.locator("#closer").get_attribute("open") is not None:
        followed = page.locator("#closer-charts .chart[aria-label^='Learning rate over']").first
        await page.locator("#closer-charts h3", has_text="ROC").wait_for(state="detached")
        before = await followed.get_attribute("aria-label")
        await page.wait_for_function(
            "(old) => document.querySelector('#closer-charts .chart')?.ariaLabel !== old",
            arg=before,
        )
        # What passes through the layers has a column for each epoch that was looked at.
        course = page.locator("#closer-charts .chart[aria-label^='Distributions at ']")
        await course.nth(2).wait_for()
    await page.locator("#stop").click()
    await result_of(page)
    assert "stopped by you" in await page.locator("#progress-text").text_content()


async def result_of(page: Any) -> Any:
    """Wait for a page's result."""
    result = page.locator("#result[data-done]")
    await result.wait_for(state="attached")
    return result


def skip_where_nothing_runs(project: Any) -> None:
    """Skip a test that computes, in a browser without WebNN on a machine without NumPy."""
    if not project.webnn and not pages_have_numpy():
        pytest.skip("no NumPy for Pyodide on this machine")


def backend_of(project: Any, *, much: bool = False) -> str:
    """Return how pages name the backend in a project, at least its beginning.

    Without WebNN that depends on whether there is much to compute.
    """
    if project.webnn:
        return "WebNN ("
    return "ONNX Runtime Web (WebAssembly)" if much else "NumPy "


# What is wrong with a page for those who do not see it or use no mouse, as a list of sentences.
ACCESSIBILITY = """
() => {
  const problems = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const show = (element) => element.outerHTML.slice(0, 90);
  const check = (fine, problem) => { if (!fine) problems.push(problem); };
  check(document.documentElement.lang === "en", "no language");
  check(document.title.length > 3, "no title");
  check(document.querySelector("meta[name=viewport]"), "no viewport");
  check(all("h1").length === 1, "not one h1");
  check(all("main").length === 1 && all("header").length === 1, "landmarks");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4")) {
    const next = Number(heading.tagName[1]);
    check(next <= level + 1, `heading level leaps: ${show(heading)}`);
    level = next;
  }
  for (const field of all("input, select, textarea")) {
    const text = [...field.labels].map((label) => label.textContent.trim()).join(" ");
    check(text || field.ariaLabel, `no label: ${show(field)}`);
  }
  for (const control of all("button, a[href]")) {
    check(control.textContent.trim() || control.ariaLabel, `no name: ${show(control)}`);
  }
  for (const named of all("progress, meter, [role=img], nav, pre[tabindex]")) {
    const reference = document.getElementById(named.getAttribute("aria-labelledby"));
    check(named.ariaLabel || reference?.textContent, `no name: ${show(named)}`);
  }
  for (const image of all("img")) check(image.hasAttribute("alt"), `no alt: ${show(image)}`);
  for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
    for (const element of all(`[${name}]`)) {
      const found = document.getElementById(element.getAttribute(name));
      check(found, `${name} leads nowhere: ${show(element)}`);
    }
  }
  const ids = all("[id]").map((element) => element.id);
  check(new Set(ids).size === ids.length, "an id stands twice");
  check(all("[tabindex]").every((element) => element.tabIndex <= 0), "tab order is forced");
  for (const table of all("table")) {
    check(table.caption?.textContent, `no caption: ${show(table)}`);
    for (const cell of table.querySelectorAll("th")) check(cell.scope, `no scope: ${show(cell)}`);
  }
  for (const link of all("a[href^='#']")) {
    check(document.querySelector(link.hash), `leads nowhere: ${show(link)}`);
  }
  return problems;
}
"""

# Visible texts whose contrast with what is painted behind them is below WCAG's AA.
CONTRAST = """
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const painted = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const problems = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const written = own || (element.matches("input, textarea, select") && element.value);
    if (!written || element.closest(":disabled") || !element.checkVisibility()) continue;
    if (element.matches("option, script, .skip, .md-skip, .spoken")) continue;
    const behind = [];
    for (let at = element; at; at = at.parentElement) {
      behind.unshift(getComputedStyle(at).backgroundColor);
    }
    const style = getComputedStyle(element);
    const [a, b] = [painted([...behind, style.color]), painted(behind)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) {
      problems.push(`${ratio.toFixed(2)}: ${element.outerHTML.slice(0, 80)}`);
    }
  }
  return problems;
}
"""


async def check_usable(page: Any) -> None:
    """Check that a page is usable by all, wide and narrow, light and dark; it stays narrow."""
    assert await page.evaluate(ACCESSIBILITY) == []
    await check_contrast(page)
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await check_contrast(page)


async def reduce_motion(page: Any) -> None:
    """Ask a page for less motion, and end the transitions that began before."""
    await page.emulate_media(reduced_motion="reduce")
    # A transition goes on when the rule that began it applies no longer.
    await page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")


async def colour_schemes(page: Any) -> AsyncIterator[str]:
    """Show a page light, then dark; it stays so, and without motion."""
    # Without motion colours do not fade from one scheme to the other.
    await reduce_motion(page)
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        yield scheme


async def check_contrast(page: Any) -> None:
    """Check that texts can be read in both schemes; the page stays dark."""
    async for _ in colour_schemes(page):
        assert await page.evaluate(CONTRAST) == []
