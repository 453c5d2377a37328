/** The loss chart: uPlot with the page's colours. Python calls `reset`, `add` and `describe`. */

// uPlot writes numbers in the browser's language, and fails on tags such as "en-US@posix", which
// some headless browsers have.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US" });
}
const { default: uPlot } = await import("./vendor/uplot/uPlot.esm.js");

/** Milliseconds between two drawings at least. */
const PAUSE = 100;
const HEIGHT = 220;
/** Distances of grid lines between epochs, which are whole. */
const WHOLE = [1, 10, 100, 1000, 10000].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

const holder = document.querySelector("#chart");
const dark = matchMedia("(prefers-color-scheme: dark)");
let epochs = 200;
let data = [[], [], []];
let plot = null;
let timer = 0;

/** @param {string} name */
function colour(name) {
  return getComputedStyle(holder).getPropertyValue(name).trim();
}

function make() {
  plot?.destroy();
  const axis = {
    stroke: colour("--chart-text"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: colour("--chart-grid"), width: 1 },
    ticks: { show: false },
  };
  const line = { label: "loss", stroke: colour("--chart-line"), width: 2, points: { show: false } };
  const dashed = { label: "validation", stroke: colour("--chart-text"), dash: [6, 4] };
  plot = new uPlot(
    {
      width: holder.clientWidth,
      height: HEIGHT,
      padding: [12, 24, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [1, Math.max(epochs, 2)] },
        y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] },
      },
      axes: [{ ...axis, size: 28, incrs: WHOLE }, { ...axis, size: 44 }],
      series: [{ label: "epoch" }, line, { ...line, ...dashed, spanGaps: true }],
    },
    data,
    holder,
  );
}

function draw() {
  timer = 0;
  plot.setData(data);
}

/** Empty the chart for a training of so many epochs. @param {number} count */
export function reset(count) {
  epochs = count;
  data = [[], [], []];
  draw();
}

/**
 * Add epochs: a JSON list of [epoch, loss, validation loss or null]; those already there are left
 * out. @param {string} text
 */
export function add(text) {
  for (const record of JSON.parse(text)) {
    if (record[0] <= (data[0].at(-1) ?? 0)) continue;
    record.forEach((number, column) => data[column].push(number));
  }
  timer ||= setTimeout(draw, PAUSE);
}

/** Say in words what the chart shows. @param {string} text */
export function describe(text) {
  holder.setAttribute("aria-label", text);
}

make();
dark.addEventListener("change", make);
new ResizeObserver(() => plot.setSize({ width: holder.clientWidth, height: HEIGHT })).observe(holder);
