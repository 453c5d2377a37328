/** Shows what the program in the worker prints. */

import { keepForLater } from "./offline.js";

const status = document.querySelector("#status");
const answer = document.querySelector("#answer");

/** Show that the program ended with an error. */
function fail(text) {
  status.textContent = `This did not work: ${text}`;
  status.classList.add("failed");
}

const worker = new Worker("./worker.js", { type: "module" });
worker.onmessage = ({ data }) => {
  if ("started" in data) {
    status.textContent = "The program is running.";
    keepForLater();
  } else if ("line" in data) {
    answer.append(`${data.line}\n`);
  } else if ("error" in data) {
    fail(data.error);
  } else {
    status.textContent = "The program has ended.";
  }
};
worker.onerror = (event) => fail(event.message ?? "worker.js, or a module of it, cannot be loaded.");
