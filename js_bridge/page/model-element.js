/**
 * The element `<webnnm-model src="iris.safetensors" controls>`: a model, and with `controls` a form
 * for the row to predict. Saved models run in a worker with Python, which all elements share,
 * exported ones (`src="model.json"`) in the page itself.
 */

/**
 * @typedef {{ name: string, usual?: number | string | null, categories?: string[], other?: string, dates?: string,
 *   text?: boolean, optional?: boolean }} Column
 * @typedef {{ kind: "columns", columns: Column[] } | { kind: "text" }
 *   | { kind: "picture", width: number, height: number, fit?: import("./fitting.js").Fit }
 *   | { kind: "series", columns: string[], window: number }
 *   | { kind: "sound", fieldShape: number[], rate: number }
 *   | { kind: "numbers", shape: (number | null)[] }} Input
 * @typedef {{ times: any[], values: any[] }} Forecast
 * @typedef {Forecast | { series: Record<string, Forecast> } | { values: any } | { boxes: PredictedBox[] }
 *   | { label: any, labels: any[], probabilities: number[] }} Output
 * @typedef {object} Model what runs a model
 * @property {Record<string, Input>} signature
 * @property {(row: any) => Promise<Record<string, Output>>} predict
 * @property {() => void} [close]
 */

/** Rows of at most this many numbers get a field for each. */
const MAX_FIELDS = 32;
/** Classes that are shown. */
const MAX_CLASSES = 5;
const DIGITS = 5;
/** Characters of a mistake that are shown. */
const SHOWN = 40;

const STYLE = new CSSStyleSheet();
STYLE.replaceSync(`
  :host { display: block; }
  :host([hidden]) { display: none; }
  form, fieldset { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
  fieldset, .whole { grid-column: 1 / -1; min-width: 0; }
  label { display: grid; gap: 0.25rem; align-content: start; }
  input, select, textarea, button { box-sizing: border-box; max-width: 100%; font: inherit; }
  textarea { width: 100%; min-height: 5rem; }
  button { grid-column: 1 / -1; justify-self: start; padding: 0.4rem 1rem; }
  canvas:not([hidden]) { display: block; max-width: 100%; height: 8rem; image-rendering: pixelated; }
  p { white-space: pre-wrap; overflow-wrap: anywhere; }
  form p { margin: 0; }
  ol { list-style: none; padding: 0; display: grid; gap: 0.25rem; }
  li { display: grid; grid-template-columns: minmax(4rem, 1fr) 4rem 2fr; gap: 0.5rem; align-items: center; }
  li span { overflow-wrap: anywhere; }
  meter { width: 100%; }
`);

/** @type {Worker | undefined} */
let worker;
/** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
const waiting = new Map();
let requests = 0;

/** Ask the worker. @param {import("./model-worker.js").Request} request @param {Transferable[]} transfer */
function ask(request, transfer = []) {
  worker ??= startWorker();
  const number = requests++;
  worker.postMessage({ number, request }, transfer);
  return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
}

function startWorker() {
  const started = new Worker(new URL("./model-worker.js", import.meta.url), { type: "module" });
  started.onmessage = ({ data: { number, result, error } }) => {
    const promise = waiting.get(number);
    waiting.delete(number);
    if (error === undefined) promise?.resolve(result);
    else promise?.reject(new Error(error));
  };
  started.onerror = ({ message }) => {
    const error = new Error(message ?? "model-worker.js, or a module of it, cannot be loaded");
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    worker = undefined;
  };
  return started;
}

/** @param {any} value @returns {value is ImageBitmapSource} */
function isPicture(value) {
  const sources = [Blob, Element, ImageData, OffscreenCanvas, ImageBitmap, globalThis.VideoFrame];
  return sources.some((source) => source && value instanceof source);
}

/**
 * Bring pictures and sounds into a form that can be sent to the worker, which decodes no sounds.
 *
 * @param {any} row @param {Record<string, Input>} signature @param {(Input | undefined)[]} inputs
 * @returns {Promise<any>}
 */
async function portable(row, signature, [input] = Object.values(signature)) {
  if (input?.kind === "sound" && (row instanceof Blob || row instanceof ArrayBuffer)) {
    const { readSound } = await import("../inference/sounds.js");
    return (await readSound("the input", /** @type {any} */ (input), row)).flat;
  }
  if (isPicture(row)) return createImageBitmap(row, { imageOrientation: "from-image", colorSpaceConversion: "none" });
  if (![Object.prototype, null].includes(Object.getPrototypeOf(row ?? 0))) return row;
  const entries = Object.entries(row).map(async ([name, value]) => (
    [name, await portable(value, signature, [signature[name]])]));
  return Object.fromEntries(await Promise.all(entries));
}

/** Open a model: an exported one without Python, a snapshot in the worker. @param {string} url @returns {Promise<Model>} */
async function openModel(url) {
  if (new URL(url).pathname.endsWith(".json")) {
    const exported = await import("../inference/model.js");
    return /** @type {any} */ (exported.openModel(url));
  }
  const { model, signature } = await ask({ open: url });
  return {
    signature,
    async predict(row) {
      const sent = await portable(row, signature);
      const transfer = [sent, ...Object.values(sent ?? {})].filter((it) => it instanceof ImageBitmap);
      return ask({ model, row: sent }, transfer);
    },
  };
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} properties
 * @param {(Node | string)[]} children
 */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** @param {number} value */
const short = (value) => String(Number(value.toPrecision(DIGITS)));

/**
 * Make the fields for an input.
 * @param {string} name
 * @param {Input} input
 * @returns {{ fields: HTMLElement[], read: () => any }}
 */
function fieldsOf(name, input) {
  if (input.kind === "columns") return columnFields(input.columns);
  if (input.kind === "picture") return pictureField(input);
  if (input.kind === "sound") return soundField(input);
  if (input.kind === "series") return seriesField(input);
  if (input.kind === "text") {
    const field = make("textarea", { required: true });
    return { fields: [make("label", { className: "whole" }, "Text", field)], read: () => field.value };
  }
  const [length = 1] = input.shape;
  if (input.shape.length <= 1 && length && length <= MAX_FIELDS) {
    const columns = Array.from({ length }, (_, at) => ({ name: `${name} ${at + 1}`, usual: null }));
    const { fields, read } = columnFields(columns);
    return { fields, read: () => Object.values(read()) };
  }
  const sizes = input.shape.map((size) => size ?? "any length").join(" × ");
  const field = make("textarea", { required: true, spellcheck: false });
  const label = make("label", { className: "whole" }, `Numbers, ${sizes}, as JSON lists`, field);
  const read = () => {
    try {
      return JSON.parse(field.value);
    } catch {
      throw new Error(`"${field.value.slice(0, SHOWN)}" is no list of numbers: write it as [1, 2.5] or [[1], [2]]`);
    }
  };
  return { fields: [label], read };
}

/** @param {Column[]} columns */
function columnFields(columns) {
  const fields = columns.map(({ categories, other, dates, text, usual, optional = false }) => {
    if (!categories) return make("input", { type: text ? "text" : dates ?? "number", step: "any", required: !optional, value: usual ?? "" });
    const options = [...categories, ...(other ? [other] : [])].map((name) => make("option", {}, name));
    return make("select", {}, ...(optional ? [make("option", { value: "" }, "missing")] : []), ...options);
  });
  const values = () =>
    fields.map((field) => (field instanceof HTMLInputElement && field.type === "number" ? field.valueAsNumber : field.value));
  return {
    fields: columns.map(({ name }, at) => make("label", {}, name, /** @type {Node} */ (fields[at]))),
    read: () => Object.fromEntries(values().map((value, at) => [columns[at]?.name, value])),
  };
}

/** @param {Extract<Input, { kind: "series" }>} input */
function seriesField({ columns, window }) {
  const field = make("textarea", { required: true, spellcheck: false });
  const text = `The last ${window} rows or more: ${columns.join(", ")}, as lines or as JSON`;
  const read = () => {
    const lines = field.value.trim();
    if (/^[[{\d.]+$|^[[{]/.test(lines)) return JSON.parse(lines);
    const rows = lines.split("\n").map((line) => line.split(/[\t;,]/).map((cell) => cell.trim()));
    const [header = [], ...cells] = rows;
    const isHeader = columns.every((name) => header.includes(name))
      || (header.some((cell) => columns.includes(cell)) && header.every((cell) => Number.isNaN(Number(cell))));
    if (!isHeader) return rows;
    return cells.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]])));
  };
  return { fields: [make("label", { className: "whole" }, text, field)], read };
}

/** @param {Extract<Input, { kind: "picture" }>} input */
function pictureField({ width, height, fit = "stretch" }) {
  const field = make("input", { type: "file", accept: "image/*", required: true });
  const preview = make("canvas", { width, height, className: "whole", hidden: true, role: "img" });
  preview.ariaLabel = "The picture as the model sees it";
  field.onchange = async () => {
    const [file] = field.files ?? [];
    preview.hidden = !file;
    if (!file) return;
    try {
      const bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
      const { findPart } = await import("./fitting.js");
      const { left, top, right, bottom, across, down } = findPart(bitmap, { width, height, fit });
      const context = preview.getContext("2d");
      context?.clearRect(0, 0, width, height);
      context?.drawImage(
        bitmap, left, top, right - left, bottom - top, (width - across) / 2, (height - down) / 2, across, down);
      field.setCustomValidity("");
    } catch {
      field.setCustomValidity("This file is not a picture that the browser can read.");
      field.reportValidity();
    }
  };
  const label = make("label", { className: "whole" }, "Picture", field);
  return { fields: [label, preview], read: () => field.files?.[0] };
}

/** @param {Extract<Input, { kind: "sound" }>} input */
function soundField(input) {
  const field = make("input", { type: "file", accept: "audio/*", required: true });
  const label = make("label", { className: "whole" }, "Sound", field);
  const button = make("button", { type: "button" }, "Record");
  const status = make("p", { className: "whole", role: "status" });
  /** @type {Float32Array | undefined} */
  let recorded;
  const take = (/** @type {Float32Array | undefined} */ samples, /** @type {string} */ text) => {
    recorded = samples;
    field.required = !samples;
    status.textContent = text;
  };
  field.onchange = () => take(undefined, "");
  button.onclick = async () => {
    button.disabled = true;
    status.textContent = "Recording …";
    try {
      const { record } = await import("../inference/sounds.js");
      take(await record(input), "Recorded: press Predict.");
      field.value = "";
    } catch (error) {
      take(undefined, `The microphone cannot be opened: ${/** @type {Error} */ (error).message}`);
    }
    button.disabled = false;
  };
  return { fields: [label, button, status], read: () => recorded ?? field.files?.[0] };
}

/** Return the only prediction, or all of several. @param {Record<string, Output>} outputs */
function unwrapOnly(outputs) {
  const [first, ...others] = Object.values(outputs);
  return first && others.length === 0 ? first : outputs;
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1)}%`;

/** Show the prediction of an output. @param {Output} output @returns {HTMLElement} */
function renderOutput(output) {
  if ("series" in output) {
    const parts = Object.entries(output.series).map(([id, one]) => make("section", {}, make("h4", {}, id), renderOutput(one)));
    return make("div", {}, ...parts);
  }
  if ("times" in output) {
    const show = (/** @type {any} */ value) => [value].flat().map(short).join(", ");
    return make("ol", {}, ...output.times.map((time, at) => make("li", {}, make("span", {}, String(time)), show(output.values[at]))));
  }
  if ("boxes" in output) {
    const lines = output.boxes.map(({ label, score, ...box }) => {
      const [x, y, width, height] = [box.x, box.y, box.width, box.height].map(Math.round);
      return make("li", {}, make("span", {}, String(label)), percent(score), `${width} × ${height} pixels at (${x}, ${y})`);
    });
    return lines.length > 0 ? make("ol", {}, ...lines) : make("p", {}, "No objects were found.");
  }
  if ("values" in output) {
    const flat = [output.values].flat(Infinity);
    const letters = flat.every((value) => typeof value === "string" && value.length === 1);
    return make("p", {}, flat.map((v) => (typeof v === "number" ? short(v) : v)).join(letters ? "" : ", "));
  }
  const ranked = output.labels.map((label, at) => ({ label, share: output.probabilities[at] ?? 0 }));
  ranked.sort((one, other) => other.share - one.share);
  const lines = ranked.slice(0, MAX_CLASSES).map(({ label, share }) =>
    make("li", {},
      make("span", {}, String(label)),
      percent(share),
      make("meter", { value: share, ariaLabel: String(label) })));
  return make("ol", {}, ...lines);
}

export class ModelElement extends HTMLElement {
  static observedAttributes = ["src", "controls"];

  /** @type {Promise<Model> | undefined} */
  #opening;
  #status = make("p", { role: "status" });
  #body = make("div");

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [STYLE];
    root.append(this.#status, this.#body);
  }

  /** The address of the snapshot, or of the model.json of an exported page. */
  get src() {
    return this.getAttribute("src") ?? "";
  }
  set src(address) {
    this.setAttribute("src", address);
  }

  /** What the model takes, by input, as soon as it is loaded. @returns {Promise<Record<string, Input>>} */
  get signature() {
    return this.#model().then(({ signature }) => signature);
  }

  /**
   * Predict one row: a list of numbers, an object from column to value, a text or a picture, as the
   * model takes it; for several inputs, an object of these. Returns the prediction of the output,
   * or an object of these for several outputs.
   * @param {any} row
   * @returns {Promise<Output | Record<string, Output>>}
   */
  async predict(row) {
    return unwrapOnly(await this.#predictAll(row));
  }

  /** Predict one row, and return the predictions of all outputs. @param {any} row */
  async #predictAll(row) {
    const model = await this.#model();
    const outputs = await model.predict(row);
    this.dispatchEvent(new CustomEvent("prediction", { detail: unwrapOnly(outputs), bubbles: true }));
    return outputs;
  }

  connectedCallback() {
    this.#show();
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (name === "src") {
      this.#opening?.then((model) => model.close?.(), () => {});
      this.#opening = undefined;
    }
    if (this.isConnected) this.#show();
  }

  #model() {
    this.#opening ??= this.src
      ? openModel(new URL(this.src, document.baseURI).href)
      : Promise.reject(new Error('<webnnm-model> has no model: add src="…"'));
    return this.#opening;
  }

  /** Load the model, and show its form. */
  async #show() {
    const opened = this.#model();
    const controls = this.hasAttribute("controls");
    this.#body.replaceChildren();
    this.#status.textContent = controls ? "Loading the model …" : "";
    try {
      const { signature } = await opened;
      if (opened !== this.#opening || controls !== this.hasAttribute("controls")) return;
      this.#status.textContent = "";
      this.#body.replaceChildren(...(controls ? [this.#form(signature)] : []));
      this.dispatchEvent(new Event("load"));
    } catch (error) {
      if (opened === this.#opening) this.#fail(error);
    }
  }

  /** @param {any} error */
  #fail({ message }) {
    this.#status.textContent = this.hasAttribute("controls") ? message : "";
    this.dispatchEvent(new ErrorEvent("error", { message }));
  }

  /** @param {Record<string, Input>} signature */
  #form(signature) {
    const inputs = Object.entries(signature).map(([name, input]) => ({ name, ...fieldsOf(name, input) }));
    const several = inputs.length > 1;
    const parts = inputs.flatMap(({ name, fields }) =>
      several ? [make("fieldset", {}, make("legend", {}, name), ...fields)] : fields);
    const answer = make("div", { className: "whole", role: "status" });
    const form = make("form", {}, ...parts, make("button", {}, "Predict"), answer);
    form.onsubmit = async (event) => {
      event.preventDefault();
      try {
        const rows = Object.fromEntries(inputs.map(({ name, read }) => [name, read()]));
        const outputs = Object.entries(await this.#predictAll(several ? rows : Object.values(rows)[0]));
        this.#status.textContent = "";
        answer.replaceChildren(...outputs.flatMap(([name, one]) => [
          ...(outputs.length > 1 ? [make("p", {}, name)] : []), renderOutput(one)]));
      } catch (error) {
        answer.replaceChildren();
        this.#fail(error);
      }
    };
    return form;
  }
}

customElements.define("webnnm-model", ModelElement);
