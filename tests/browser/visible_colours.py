"""What cannot be seen where a reader has chosen the colours of all pages: found in pictures."""

from __future__ import annotations

import base64
from typing import Any

# Controls whose edge does not stand out from what is around it, bars and charts that show nothing.
INVISIBLE = """async (picture) => {
  const LEAST = 3;
  const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data, width, height } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const linear = (value) => value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const light = (x, y) => {
    const at = 4 * (Math.round(y) * width + Math.round(x));
    const [r, g, b] = [data[at], data[at + 1], data[at + 2]].map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const show = (element) => element.outerHTML.replace(/\\s+/g, " ").slice(0, 100);
  const all = (selector) => [...document.querySelectorAll(selector)]
    .filter((element) => !element.hidden
      && element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .filter((element) => {
      // What is scrolled out of sight is not in the picture.
      const { top, bottom, left, right } = element.getBoundingClientRect();
      for (let at = element.parentElement; at !== document.body; at = at.parentElement) {
        const box = at.getBoundingClientRect();
        if (getComputedStyle(at).overflow !== "visible" && (top < box.top || bottom > box.bottom
          || left < box.left || right > box.right)) return false;
      }
      return true;
    })
    .map((element) => {
      const box = element.getBoundingClientRect();
      return { element, x: box.x + scrollX, y: box.y + scrollY, w: box.width, h: box.height };
    })
    .filter(({ x, y, w, h }) => w > 4 && h > 4 && x >= 4 && y >= 4
      && x + w + 4 < width && y + h + 4 < height);
  const problems = [];

  // Along each edge, a line or another ground within three pixels.
  const edged = ({ x, y, w, h }) => {
    let [places, visible] = [0, 0];
    for (let step = 0.2; step < 0.85; step += 0.1) {
      const across = [x + step * w, y + step * h];
      for (const [px, py, dx, dy] of [
        [across[0], y, 0, 1], [across[0], y + h - 1, 0, -1],
        [x, across[1], 1, 0], [x + w - 1, across[1], -1, 0],
      ]) {
        const outside = light(px - 3 * dx, py - 3 * dy);
        const within = [-1, 0, 1, 2, 3].map((k) => light(px + k * dx, py + k * dy));
        places += 1;
        visible += within.some((value) => contrast(value, outside) >= LEAST);
      }
    }
    return visible >= 0.5 * places;  // dashed lines are lines
  };
  const NATIVE = "[type=checkbox], [type=radio], [type=range]";
  const EDGED = `button, .button, input:not(${NATIVE}), select, textarea, .choose, .frame`;
  for (const box of all(EDGED)) {
    const { element } = box;
    if (element.closest(".choose") !== element && element.closest(".choose")) continue;
    if (element.closest(".frame") !== element && element.closest(".frame")) continue;
    const underlined = getComputedStyle(element).textDecorationLine.includes("underline");
    if (!underlined && !element.querySelector("canvas") && !edged(box)) {
      problems.push(`without an edge: ${show(element)}`);
    }
  }
  for (const box of all(NATIVE)) {
    const values = [];
    for (let k = 0; k < 20; k += 1) {
      for (let m = 0; m < 20; m += 1) {
        values.push(light(box.x + box.w * k / 20, box.y + box.h * m / 20));
      }
    }
    const outside = light(box.x - 3, box.y + box.h / 2);
    if (!values.some((value) => contrast(value, outside) >= LEAST)) {
      problems.push(`invisible: ${show(box.element)}`);
    }
  }
  // The part of a bar that is filled, beside the part that is not.
  for (const { element, x, y, w, h } of all(".bar, progress, meter")) {
    const share = element.matches(".bar")
      ? Number(getComputedStyle(element).getPropertyValue("--share"))
      : (element.value - (element.min ?? 0)) / (element.max - (element.min ?? 0));
    if (!(share > 0.1 && share < 0.9)) continue;
    const [full, empty] = [share / 2, (1 + share) / 2].map((at) => light(x + at * w, y + h / 2));
    if (contrast(full, empty) < LEAST) problems.push(`as if empty or full: ${show(element)}`);
  }
  // Lines, bars and marks of charts.
  for (const { element, x, y, w, h } of all(".chart canvas, #drawing, #live, .nine")) {
    const ground = light(x + 2, y + h - 3);
    let marks = 0;
    for (let k = 0; k < w; k += 1) {
      for (let m = 0; m < h; m += 1) marks += contrast(light(x + k, y + m), ground) >= LEAST;
    }
    if (marks < 0.002 * w * h) problems.push(`nothing to see: ${show(element)}`);
  }
  return problems;
}"""
# What is current, pressed or selected, and only colours, backgrounds or shadows say so.
STATES = """() => {
  const SAYS = ["fontWeight", "textDecorationLine", "borderBottomWidth", "borderTopWidth",
    "borderBottomStyle", "outlineStyle", "outlineWidth"];
  const problems = [];
  for (const state of ["aria-current", "aria-pressed", "aria-selected", "aria-checked"]) {
    for (const element of document.querySelectorAll(`[${state}]:not([${state}=false])`)) {
      if (!element.checkVisibility()) continue;
      const other = element.cloneNode(true);
      other.removeAttribute(state);
      other.removeAttribute("id");
      element.after(other);
      const [one, two] = [element, other].map((node) => {
        const style = getComputedStyle(node);
        return SAYS.map((name) => style[name]).join() + node.textContent;
      });
      other.remove();
      if (one === two) problems.push(element.outerHTML.slice(0, 100));
    }
  }
  return problems;
}"""
# How many pixels of a picture stand out from another one of the same part of a page.
CHANGED = """async (pictures) => {
  const [one, two] = await Promise.all(pictures.map(async (picture) => {
    const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  }));
  const linear = (value) => value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const light = (data, at) =>
    0.2126 * linear(data[at]) + 0.7152 * linear(data[at + 1]) + 0.0722 * linear(data[at + 2]);
  let changed = 0;
  for (let at = 0; at < one.length; at += 4) {
    const [a, b] = [light(one, at), light(two, at)];
    changed += (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 3;
  }
  return changed;
}"""


async def take_picture(page: Any, **options: Any) -> str:
    """Return a picture of a page as PNG in base64."""
    return base64.b64encode(await page.screenshot(**options)).decode()


async def find_invisible(page: Any) -> list[str]:
    """Return what cannot be seen where the reader has chosen the colours of all pages."""
    problems = []
    for scheme in ("light", "dark"):
        await page.emulate_media(forced_colors="active", color_scheme=scheme)
        await page.evaluate("scrollTo(0, 0)")
        picture = await take_picture(page, full_page=True)
        found = [*await page.evaluate(INVISIBLE, picture), *await page.evaluate(STATES)]
        problems += [f"{scheme}: {problem}" for problem in found]
    await page.emulate_media(forced_colors="none", color_scheme="null")
    return problems


async def count_changed(page: Any, clip: dict[str, float], before: str) -> int:
    """Return how many pixels of a part of a page stand out from an earlier picture of it."""
    return await page.evaluate(CHANGED, [before, await take_picture(page, clip=clip)])
