/**
 * Shows how far the start of Python is. This is JavaScript because Python is what is awaited.
 *
 * page.py tells the end of the start with the event "webnnm:ready".
 */

/** What is under way after each of PyScript's messages, and how much of the start is done. */
const STAGES = {
  "Loading Pyodide": ["fetching Python, which takes a moment on a first visit", 1],
  "Loading interpreter": ["fetching and starting Python and the package webnnm", 2],
  "Loading files": ["fetching the program of this page", 5],
  "Loading JS modules": ["fetching the chart", 5],
  "Loaded Pyodide": ["running the program of this page", 6],
};

const boot = document.querySelector("#boot");
const bar = boot.querySelector("progress");
const words = boot.querySelector("[role=status]");

addEventListener("py:progress", ({ detail }) => {
  const [text, stage] = STAGES[detail] ?? [];
  if (!text) return;
  words.textContent = `Getting ready: ${text} …`;
  bar.value = Math.max(bar.value, stage);
});

addEventListener("webnnm:ready", () => {
  for (const control of document.querySelectorAll("[data-waits]")) control.disabled = false;
  document.documentElement.dataset.ready = "";
  boot.hidden = true;
});

/** @param {unknown} reason */
function failed(reason) {
  if ("ready" in document.documentElement.dataset) return;
  boot.classList.add("failed");
  bar.hidden = true;
  const lines = String(reason?.message ?? reason).trim().split("\n");
  words.textContent = `This page could not start: ${lines.at(-1)}`;
}
// PyScript tells of errors of the program in the console alone.
const tell = console.error;
console.error = (...facts) => {
  tell(...facts);
  failed(facts[0]);
};
addEventListener("error", (event) => failed(event.message));
addEventListener("unhandledrejection", (event) => failed(event.reason));

// Forms are answered by Python in the page; nothing is ever sent.
addEventListener("submit", (event) => event.preventDefault());
