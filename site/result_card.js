/** The dialog that shows a result as a picture, to copy, save or share it. */

import { draw, HEIGHT, WIDTH } from "./result_picture.js";
import { download } from "./vendor/webnnm/page/files.js";

const STYLE = new CSSStyleSheet();
STYLE.replaceSync(`
  .result-card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: var(--corner-large);
    color: var(--text);
    max-width: min(54rem, calc(100vw - 2rem));
    padding: var(--space-4) var(--space-5) var(--space-5);
    width: 100%;
  }
  .result-card::backdrop { background: rgb(0 0 0 / 50%); }
  .result-card h2 { margin: 0 0 var(--space-3); }
  .result-card canvas {
    border: 1px solid var(--line);
    border-radius: var(--corner);
    display: block;
    height: auto;
    max-height: 60vh;
    max-width: 100%;
    object-fit: contain;
  }
`);
document.adoptedStyleSheets.push(STYLE);

const scheme = matchMedia("(prefers-color-scheme: dark)");

/**
 * @typedef {import("./result_picture.js").Card & {
 *   file: string, holds: string, bars?: import("./result_picture.js").Bars["bars"],
 *   own?: { label: string, holds: string, bars: import("./result_picture.js").Bars["bars"] } }} Shared
 *   `file` is the name of the picture, `holds` says what it shows; `bars` are a part of it. `own` is
 *   what a box shows in the place of these, with the pictures that the visitor has made.
 */

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/**
 * Show a card until the reader closes it.
 * @param {string} text what it says, a `Shared` as JSON
 * @param {import("./result_picture.js").Part[]} charts
 * @param {HTMLCanvasElement[]} own what the visitor has made, shown only where a box is ticked
 */
export async function open(text, charts, own) {
  /** @type {Shared} */
  const card = JSON.parse(text);
  const canvas = make("canvas", { width: WIDTH, height: HEIGHT, role: "img" });
  const context = canvas.getContext("2d");
  const numbers = card.numbers.map(([value, label]) => `${label}: ${value}`);
  canvas.ariaLabel = [card.title, card.about, ...numbers, card.address].join(". ");
  const box = make("input", { type: "checkbox" });
  const holds = make("p", { className: "help", ariaLive: "polite" });
  const status = make("p", { className: "help", role: "status" });
  /** @type {Blob} */
  let picture;
  const title = make("h2", { id: "result-card-title" }, "Share the result");
  const dialog = make("dialog", { className: "result-card" }, title, canvas);
  dialog.setAttribute("aria-labelledby", title.id);
  const file = () => new File([picture], card.file, { type: "image/png" });
  const say = (sentence) => { status.textContent = sentence; };

  async function show() {
    const shown = box.checked ? card.own : card;
    const parts = [...(box.checked ? own : charts), ...(shown.bars ? [{ bars: shown.bars }] : [])];
    holds.textContent = shown.holds;
    await draw(context, card, parts);
    picture = await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  }

  async function copy() {
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      say("The picture is copied.");
    } catch (error) {
      console.log(`webnnm: the clipboard cannot be written: ${error}`);
      say("The browser does not let this page copy: save the picture.");
    }
  }

  async function save() {
    const writer = download(card.file);
    await writer.write(new Uint8Array(await picture.arrayBuffer()));
    await writer.close();
    say(`${card.file} is saved, ${(picture.size / 1000).toFixed(0)} kB.`);
  }

  async function share() {
    try {
      await navigator.share({ files: [file()], title: card.title, text: card.about, url: card.link });
    } catch (error) {
      if (error.name === "AbortError") return; // the reader has closed what the system shows
      console.log(`webnnm: the picture cannot be shared: ${error}`);
      say("The browser does not let this page share: save the picture.");
    }
  }

  await show();
  const button = (name, onclick) => make("button", { type: "button", onclick }, name);
  const buttons = make("div", { className: "buttons" });
  if (globalThis.ClipboardItem && navigator.clipboard) buttons.append(button("Copy the picture", copy));
  buttons.append(button("Save the picture", save));
  if (navigator.canShare?.({ files: [file()] })) buttons.append(button("Share …", share));
  buttons.firstChild.className = "primary";
  buttons.append(button("Close", () => dialog.close()));
  if (card.own && own.length) {
    box.addEventListener("change", show);
    box.id = "result-card-own";
    dialog.append(make("p", { className: "check" }, box, make("label", { htmlFor: box.id }, card.own.label)));
  }
  dialog.append(holds, buttons, status);
  scheme.addEventListener("change", show);
  dialog.addEventListener("close", () => {
    scheme.removeEventListener("change", show);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
}
