"""What is wrong with the layout of a page in a window of some size: cut, overlapping, too wide."""

from __future__ import annotations

from typing import Any

# Functions that the checks below share. Boxes are those of texts, line by line, and of controls, as
# far as nothing that scrolls or clips hides them.
BOXES = """
// The title in the bar of documents repeats their heading, and ends with an ellipsis.
const SKIPPED = "script, style, template, option, svg *, .spoken, .skip, .md-header__topic *";
const show = (element) => element.outerHTML.replace(/\\s+/g, " ").slice(0, 100);
const VISIBLE = { visibilityProperty: true, opacityProperty: true };
const seen = (element) => element.checkVisibility(VISIBLE) && !element.closest(SKIPPED)
  && getComputedStyle(element).clipPath === "none";
const holdsBack = (overflow) => /hidden|clip/.test(overflow);
const scrolls = (style) => /auto|scroll/.test(style.overflowX + style.overflowY);
const stays = (element) => {
  for (let at = element; at; at = at.parentElement) {
    if (/sticky|fixed/.test(getComputedStyle(at).position)) return true;
  }
  return false;
};
const own = (element) => [...element.childNodes].filter(
  (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
const lines = (element) => own(element).flatMap((node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
});
"""
# Text beyond the edge of what holds it back, or of the window, with no way to scroll there.
CUT = f"""() => {{
  {BOXES}
  const problems = [];
  const width = document.documentElement.clientWidth;
  for (const element of document.querySelectorAll("body *")) {{
    if (!own(element).length || !seen(element)) continue;
    const texts = lines(element);
    if (element.matches("button, .button") && element.scrollWidth > element.clientWidth + 1) {{
      problems.push(`wider than its button: ${{show(element)}}`);
    }}
    let scrolled = false;
    for (let at = element; at && at !== document.body; at = at.parentElement) {{
      const style = getComputedStyle(at);
      scrolled ||= scrolls(style);
      if (scrolled) break;
      const box = at.getBoundingClientRect();
      const beyond = texts.some(({{ left, right, top, bottom }}) =>
        (holdsBack(style.overflowX) && (right > box.right + 1 || left < box.left - 1))
        || (holdsBack(style.overflowY) && (bottom > box.bottom + 2 || top < box.top - 2)));
      if (beyond) problems.push(`cut by ${{show(at)}}: ${{show(element)}}`);
    }}
    const outside = texts.some(({{ left, right }}) => right > width + 1 || left < -1);
    if (outside && !scrolled && !stays(element)) {{
      problems.push(`beyond the window: ${{show(element)}}`);
    }}
  }}
  return problems;
}}"""
# Texts and controls that lie over others that are not part of them.
OVERLAPS = f"""() => {{
  {BOXES}
  const CONTROLS = "button, input, select, textarea, summary, .button, .choose";
  const boxes = [];
  for (const element of document.querySelectorAll("body *")) {{
    if (!seen(element) || stays(element)) continue;
    const control = element.matches(CONTROLS);
    const parts = control ? [element.getBoundingClientRect()] : lines(element);
    for (const {{ left, right, top, bottom }} of parts) {{
      const box = {{ element, left, right, top, bottom }};
      for (let at = element.parentElement; at; at = at.parentElement) {{
        const style = getComputedStyle(at);
        if (style.overflowX === "visible" && style.overflowY === "visible") continue;
        const frame = at.getBoundingClientRect();
        box.left = Math.max(box.left, frame.left);
        box.right = Math.min(box.right, frame.right);
        box.top = Math.max(box.top, frame.top);
        box.bottom = Math.min(box.bottom, frame.bottom);
      }}
      if (box.right - box.left > 1 && box.bottom - box.top > 1) boxes.push(box);
    }}
  }}
  boxes.sort((a, b) => a.top - b.top);
  const problems = new Set();
  boxes.forEach((one, number) => {{
    for (let next = number + 1; next < boxes.length; next += 1) {{
      const other = boxes[next];
      if (other.top >= one.bottom) break;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - other.top;
      const [a, b] = [one.element, other.element];
      if (across > 2 && down > 3 && !a.contains(b) && !b.contains(a)) {{
        problems.add(`${{show(a)}} over ${{show(b)}}`);
      }}
    }}
  }});
  return [...problems];
}}"""
# What stands out of the page at its right, although nothing scrolls it.
SIDEWAYS = """() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > clientWidth)
    .map((element) => element.outerHTML.slice(0, 80));
}"""
# The spacing that WCAG 1.4.12 names; a sheet of the page's own, which its policy allows.
SPACE_OUT = """(spaced) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { letter-spacing: 0.12em !important; line-height: 1.5 !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets = spaced ? [sheet] : [];
}"""
# Whether the main action can be scrolled to, and nothing lies over it there.
REACHABLE = """(element) => {
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const { left, top, width, height } = element.getBoundingClientRect();
  const hit = document.elementFromPoint(left + width / 2, top + height / 2);
  return element === hit || element.contains(hit);
}"""

ZOOMED = ((640, 400), (320, 640))
"""Windows of 1280 × 800 pixels at 200 % and at 400 %, where each pixel is two or four."""


async def find_layout_problems(page: Any, primary: str) -> list[str]:
    """Return what is wrong at 200 % and 400 %, and with wide spacing of texts, as sentences."""
    before = page.viewport_size
    problems = []
    for width, height in ZOOMED:
        await page.set_viewport_size({"width": width, "height": height})
        problems += await look(page, f"{width} × {height}")
        for action in await page.locator(primary).all():
            if not await action.evaluate(REACHABLE):
                problems.append(
                    f"out of reach at {width} × {height}: {await action.text_content()}"
                )
    for width in (before["width"], 390):
        await page.set_viewport_size({"width": width, "height": before["height"]})
        await page.evaluate(SPACE_OUT, True)
        problems += await look(page, f"wide spacing, {width}")
        await page.evaluate(SPACE_OUT, False)
    await page.set_viewport_size(before)
    return problems


async def look(page: Any, where: str) -> list[str]:
    """Return what is cut, what overlaps, and what is wider than the window."""
    sideways = [f"wider than the page: {part}" for part in await page.evaluate(SIDEWAYS)]
    problems = [*sideways, *await page.evaluate(CUT), *await page.evaluate(OVERLAPS)]
    return [f"{where}: {problem}" for problem in problems]
