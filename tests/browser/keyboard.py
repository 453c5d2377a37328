"""A walk through a page with the Tab key: what it reaches, and whether the focus shows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

# Notes what Tab has to reach, in the order of the document.
EXPECT = """() => {
  const STOPS = "a[href], button, input, select, textarea, summary, [tabindex='0'], .rich-editor";
  const groups = new Set();
  globalThis.stops = [...document.querySelectorAll(STOPS)].filter((element) => {
    if (element.matches(":disabled, [hidden], [tabindex='-1'], [type=hidden]")) return false;
    if (!element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.type !== "radio") return true;
    // Of a group of radio buttons, one.
    if (groups.has(element.name)) return false;
    const group = document.getElementsByName(element.name);
    if (!element.checked && [...group].some(({ checked }) => checked)) return false;
    groups.add(element.name);
    return true;
  });
  return stops.map((element) => element.outerHTML.replace(/\\s+/g, " ").slice(0, 100));
}"""
# Where the focus is, and what is wrong with how it shows.
FOCUS = """async () => {
  await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
  const element = document.activeElement;
  const number = stops.indexOf(element);
  if (element === document.body || element === null) return { number: null, problem: "" };
  const outlined = (node) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(node);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
  };
  let shows = false;
  for (let at = element; at && !shows; at = at.parentElement) {
    shows = at.matches(":focus-within") && outlined(at);
  }
  // Where the field itself is hidden, as that which switches colours, the label after it shows it.
  const next = element.nextElementSibling;
  const place = !shows && next?.matches("label") && outlined(next) ? next : element;
  shows ||= place === next;
  const show = element.outerHTML.replace(/\\s+/g, " ").slice(0, 100);
  if (!shows) return { number, problem: `the focus does not show: ${show}` };
  const [box] = place.getClientRects();
  // In the middle of the part that is in the window.
  const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
  const y = box.top + Math.min(box.height, 60) / 2;
  const hit = document.elementFromPoint(x, y);
  const isThere = hit && (place.contains(hit) || hit.contains(place)
    || element.ownerSVGElement?.contains(hit)
    || [...(element.labels ?? [])].some((label) => label.contains(hit)));
  const problem = `covered or out of sight, at ${Math.round(x)}, ${Math.round(y)}: ${show}`;
  return { number, problem: isThere ? "" : problem };
}"""
MORE = 60
"""How often Tab may be pressed beyond the expected stops, as where parts of a page scroll."""


async def find_tab_problems(page: Any, first: str) -> list[str]:
    """Press Tab from the first control of a page to the last; return what is wrong on the way."""
    expected = await page.evaluate(EXPECT)
    await page.locator(first).focus()
    order, problems = [0], []
    for _ in range(len(expected) + MORE):
        await page.keyboard.press("Tab")
        focus = await page.evaluate(FOCUS)
        if focus["problem"]:
            problems.append(focus["problem"])
        if focus["number"] is None or focus["number"] == 0:
            break
        if focus["number"] > 0:
            order.append(focus["number"])
    else:
        problems.append(f"Tab does not come to an end: {expected[order[-1]]}")
    problems += [f"not reached: {expected[k]}" for k in sorted({*range(len(expected))} - {*order})]
    return problems + [f"after {expected[a]}: {expected[b]}" for a, b in pairwise(order) if b < a]
