/** Draws a result as a picture to share: a title, numbers, charts, and the address of the page. */

export const WIDTH = 1200;
export const HEIGHT = 630;
const MARGIN = 48;
const GAP = 32;
/** The width of the numbers, to the left of the charts. */
const COLUMN = 270;
/** How much larger charts are drawn than in a page: such pictures are shown small. */
const SCALE = 1.5;
/** Pixels of letters: of a long title, at least, too. */
const TITLE = [54, 36];
const ABOUT = 26;
const VALUE = [48, 30];
const LABEL = 21;
const LINE = 1.28;

/**
 * @typedef {object} Card
 * @property {string} title
 * @property {string} about what was learnt
 * @property {[string, string][]} numbers each with its unit, and what it is
 * @property {string} address of the page
 * @typedef {{ picture(width: number, height: number, scale: number): Promise<HTMLCanvasElement> }} Chart
 * @typedef {{ bars: [string, number, string][] }} Bars a name, a share of the width, and a number
 * @typedef {HTMLElement | Chart | Bars} Part a canvas of the page or its drawing of a network, a
 *   chart of components/charts.js, or bars
 */

/**
 * Draw a card in the colours that the page has now.
 * @param {CanvasRenderingContext2D} context of a canvas of this size
 * @param {Card} card
 * @param {Part[]} parts side by side
 */
export async function draw(context, card, parts) {
  const look = { ...colours(), font: getComputedStyle(document.body).fontFamily };
  const measure = (size, weight = 400) => { context.font = `${weight} ${size}px ${look.font}`; };
  context.setTransform(1, 0, 0, 1, 0, 0);
  measure(ABOUT);
  const about = wrap(context, card.about, WIDTH - 2 * MARGIN, 2);
  const top = MARGIN + TITLE[0] + about.length * ABOUT * LINE + GAP;
  const bottom = HEIGHT - MARGIN - ABOUT - GAP / 2;
  const left = card.numbers.length ? MARGIN + COLUMN + GAP : MARGIN;
  const width = (WIDTH - MARGIN - left - GAP * (parts.length - 1)) / parts.length;
  const boxes = parts.map((_, at) => ({ left: left + at * (width + GAP), top, width, height: bottom - top }));
  // All are there before anything is painted: what waited in between would be seen half done.
  const drawings = await Promise.all(parts.map((part, at) => (
    "picture" in part ? part.picture(width / SCALE, boxes[at].height / SCALE, SCALE) : part)));

  context.setTransform(1, 0, 0, 1, 0, 0);
  context.textBaseline = "alphabetic";
  context.fillStyle = look.ground;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  const write = (text, x, y, colour) => {
    context.fillStyle = colour;
    context.fillText(text, x, y);
  };
  writeFitting(card.title, TITLE, 700, WIDTH - 2 * MARGIN, MARGIN, MARGIN + 0.8 * TITLE[0], look.text);
  measure(ABOUT);
  about.forEach((line, at) => {
    write(line, MARGIN, MARGIN + TITLE[0] + (at + 0.9) * ABOUT * LINE, look.quiet);
  });
  drawNumbers();
  drawings.forEach((part, at) => {
    if ("bars" in part) drawBars(part.bars, boxes[at]);
    else if (part instanceof HTMLCanvasElement) drawCanvas(context, part, boxes[at]);
    else drawNetwork(context, part, boxes[at]);
  });
  context.setTransform(1, 0, 0, 1, 0, 0);
  measure(ABOUT, 700);
  const brand = "webnnm";
  const right = WIDTH - MARGIN - context.measureText(brand).width;
  write(brand, right, HEIGHT - MARGIN, look.text);
  measure(ABOUT);
  const [address] = wrap(context, card.address, right - MARGIN - GAP, 1);
  write(address ?? "", MARGIN, HEIGHT - MARGIN, look.accent);

  /** Write a line as large as it fits; what does not fit at the smallest size is cut. */
  function writeFitting(text, [large, small], weight, room, x, y, colour) {
    measure(large, weight);
    measure(Math.max(small, Math.min(large, (large * room) / context.measureText(text).width)), weight);
    write(wrap(context, text, room, 1)[0] ?? "", x, y, colour);
  }

  function drawNumbers() {
    let y = top;
    for (const [value, label] of card.numbers) {
      measure(LABEL);
      const lines = wrap(context, label, COLUMN, 3);
      const next = y + VALUE[0] + lines.length * LABEL * LINE + GAP / 2;
      if (next - GAP / 2 > bottom + LABEL) break;
      writeFitting(value, VALUE, 700, COLUMN, MARGIN, y + 0.8 * VALUE[0], look.text);
      measure(LABEL);
      lines.forEach((line, at) => {
        write(line, MARGIN, y + VALUE[0] + (at + 0.8) * LABEL * LINE, look.quiet);
      });
      y = next;
    }
  }

  /** Draw a line for each bar, and say how many there is no room for. */
  function drawBars(bars, box) {
    measure(ABOUT);
    const step = Math.max(1.8 * ABOUT, Math.min(3 * ABOUT, box.height / bars.length));
    const room = Math.floor(box.height / step);
    const shown = bars.length > room ? bars.slice(0, room - 1) : bars;
    const widest = (texts) => Math.max(...texts.map((text) => context.measureText(text).width)) + GAP / 2;
    const names = Math.min(0.45 * box.width, widest(shown.map(([name]) => name)));
    const length = box.width - names - widest(shown.map(([, , number]) => number));
    shown.forEach(([name, share, number], at) => {
      const middle = box.top + (at + 0.5) * step;
      write(wrap(context, name, names - GAP / 2, 1)[0] ?? "", box.left, middle + 0.35 * ABOUT, look.text);
      write(number, box.left + names + length + GAP / 2, middle + 0.35 * ABOUT, look.text);
      context.fillStyle = look.line;
      context.fillRect(box.left + names, middle - 0.4 * ABOUT, length, 0.8 * ABOUT);
      context.fillStyle = look.accent;
      context.fillRect(box.left + names, middle - 0.4 * ABOUT, length * share, 0.8 * ABOUT);
    });
    if (shown.length === bars.length) return;
    measure(LABEL);
    const more = `and ${bars.length - shown.length} more`;
    write(more, box.left, box.top + (shown.length + 0.5) * step + 0.35 * LABEL, look.quiet);
  }
}

/** Return the colours of the page as they are now, in light or in dark. */
function colours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const resolve = (name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  };
  const resolved = ["ground", "text", "quiet", "accent", "line"].map(resolve);
  probe.remove();
  return Object.fromEntries(resolved);
}

/** Return how many of these letters fit into a width. @param {string[]} letters */
function count(context, letters, width) {
  let [fits, fails] = [0, letters.length + 1];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (context.measureText(letters.slice(0, middle).join("")).width <= width) fits = middle;
    else fails = middle;
  }
  return fits;
}

/**
 * Return a text in lines, at most so many: the last one ends with … where there is more. Words that
 * are too long for a line are cut.
 * @param {CanvasRenderingContext2D} context with the font of the text
 */
export function wrap(context, text, width, limit) {
  const lines = [];
  let letters = [...text.trim()];
  while (letters.length && lines.length < limit) {
    let end = count(context, letters, width);
    if (end < letters.length && lines.length === limit - 1) {
      end = count(context, letters, width - context.measureText("…").width);
      lines.push(`${letters.slice(0, end).join("").trimEnd()}…`);
      break;
    }
    const space = end < letters.length ? letters.lastIndexOf(" ", end) : -1;
    end = Math.max(1, space > 0 ? space : end);
    lines.push(letters.slice(0, end).join("").trimEnd());
    letters = [...letters.slice(end).join("").trimStart()];
  }
  return lines;
}

/** Draw a canvas as large as it fits into the middle of a box. */
function drawCanvas(context, canvas, { left, top, width, height }) {
  const scale = Math.min(width / canvas.width, height / canvas.height);
  const [across, down] = [canvas.width * scale, canvas.height * scale];
  context.drawImage(canvas, left + (width - across) / 2, top + (height - down) / 2, across, down);
}

/** Draw the lines and units of network.js at their places, as large as they fit into a box. */
function drawNetwork(context, stack, { left, top, width, height }) {
  const box = stack.getBoundingClientRect();
  const units = [...stack.querySelectorAll("canvas")].map((canvas) => [canvas, canvas.getBoundingClientRect()]);
  const [west, north] = [Math.min(...units.map(([, { x }]) => x)), Math.min(...units.map(([, { y }]) => y))];
  const across = Math.max(...units.map(([, { right }]) => right)) - west;
  const down = Math.max(...units.map(([, { bottom }]) => bottom)) - north;
  const scale = Math.min(width / across, height / down);
  const [x, y] = [left + (width - scale * across) / 2, top + (height - scale * down) / 2];
  context.setTransform(scale, 0, 0, scale, x + scale * (box.x - west), y + scale * (box.y - north));
  for (const path of stack.querySelectorAll("path")) {
    const style = getComputedStyle(path);
    context.strokeStyle = style.stroke;
    context.globalAlpha = Number(style.opacity);
    context.lineWidth = Number.parseFloat(style.strokeWidth);
    context.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(Number.parseFloat));
    context.stroke(new Path2D(path.getAttribute("d")));
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  for (const [canvas, place] of units) {
    context.drawImage(canvas, place.x - box.x, place.y - box.y, place.width, place.height);
  }
  context.setTransform(1, 0, 0, 1, 0, 0);
}
