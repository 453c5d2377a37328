/**
 * Shows the progress of the start of Python, or why it failed. This is JavaScript because Python is
 * what it waits for, and not a module because modules do not run in a page opened as a file.
 *
 * page.py reports the end of the start with the event "webnnm:ready".
 */
(() => {
  /** What is in progress after each of PyScript's messages, and how much of the start is done. */
  const STAGES = {
    "Loading Pyodide": ["fetching Python, which takes a moment on a first visit", 1],
    "Loading interpreter": ["fetching and starting Python and the package webnnm", 2],
    "Loading files": ["fetching the program of this page", 5],
    "Loading JS modules": ["fetching the drawing code of this page", 5],
    "Loaded Pyodide": ["running the program of this page", 6],
  };
  /** What a policy lacks, by what was blocked. */
  const LACKING = { eval: "'unsafe-eval'", "wasm-eval": "'wasm-unsafe-eval'", blob: "blob:" };
  /** What Python needs to start. The build links dozens of further files: too many to ask for. */
  const FILES = "link:is([rel=modulepreload], [rel=preload]):not([data-later])";
  const LOCK = "./vendor/pyodide/pyodide-lock.json";
  /** Milliseconds without progress after which the page looks for the cause. */
  const LONG = 8000;
  /** Milliseconds in which a server has to confirm that it has a file. */
  const ANSWER = 5000;
  /** The smallest WebAssembly program. */
  const NOTHING = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

  const page = document.documentElement.dataset;
  const boot = document.querySelector("#boot");
  const bar = boot.querySelector("progress");
  const words = boot.querySelector("[role=status]");
  let doing = STAGES["Loading Pyodide"][0];
  let explained = false;
  let waiting = setTimeout(slow, LONG);
  page.boot = "";

  addEventListener("py:progress", ({ detail }) => {
    const [text, stage] = STAGES[detail] ?? [];
    if (!text || explained) return;
    doing = text;
    words.textContent = `Getting ready: ${doing} …`;
    bar.value = Math.max(bar.value, stage);
    clearTimeout(waiting);
    waiting = setTimeout(slow, LONG);
  });

  // Paper is white: the page turns light before canvases are drawn for it.
  addEventListener("beforeprint", () => { document.documentElement.style.colorScheme = "light"; });
  addEventListener("afterprint", () => { document.documentElement.style.colorScheme = ""; });

  addEventListener("webnnm:ready", async () => {
    clearTimeout(waiting);
    for (const control of document.querySelectorAll("[data-waits]")) control.disabled = false;
    page.ready = "";
    boot.hidden = true;
    try {
      const { keepForLater } = await import("./offline.js");
      await keepForLater();
    } catch (error) {
      console.log(`webnnm: this page is not available without a network: ${error}`);
    }
  });

  /** Show that the page cannot start. The first cause in plain words is kept. */
  function tell(text, plain) {
    if ("ready" in page || explained) return;
    explained = plain;
    clearTimeout(waiting);
    boot.classList.add("failed");
    bar.hidden = true;
    words.textContent = `This page could not start: ${text}`;
  }

  /** @param {unknown} reason */
  async function failed(reason) {
    const lines = String(reason?.message ?? reason).trim().split("\n");
    tell(lines.at(-1), false);
    const found = "ready" in page || explained ? undefined : await missing();
    if (found) tell(found.text, true);
  }

  async function slow() {
    const found = await missing();
    if ("ready" in page || explained) return;
    if (found && !found.silent) return tell(found.text, true);
    const why = found?.text ?? "The network or this device may be slow.";
    words.textContent = `Getting ready: ${doing}. This takes longer than it should. ${why}`;
    waiting = setTimeout(slow, LONG);
  }

  /** Return what is wrong with a file that the start needs, undefined if all are available. */
  async function missing() {
    const files = [...document.querySelectorAll(FILES)].map((link) => link.href);
    try {
      const lock = await (await fetch(LOCK, { signal: AbortSignal.timeout(ANSWER) })).json();
      files.push(new URL(lock.packages.webnnm.file_name, new URL(LOCK, location.href)).href);
    } catch {
      files.push(new URL(LOCK, location.href).href);
    }
    return (await Promise.all(files.map(trouble))).find(Boolean);
  }

  async function trouble(file) {
    try {
      // Past the cache: in Chromium, a question about a file that is on its way in keeps it out.
      const answer = await fetch(file, {
        method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(ANSWER),
      });
      if (!answer.ok) return { text: `the server has no ${file} (status ${answer.status}).` };
      const type = answer.headers.get("content-type") ?? "";
      if (!/\.m?js$/.test(file) || type.includes("javascript")) return undefined;
      return { text: `the server sends ${file} as “${type}” instead of text/javascript.` };
    } catch (error) {
      const silent = error.name === "TimeoutError";
      return { text: silent ? `The server sends no ${file}.` : `${file} cannot be reached.`, silent };
    }
  }

  /** Return why Python cannot start here, or "". */
  function obstacle() {
    if (location.protocol === "file:") {
      return "it was opened as a file, but browsers load programs only from web servers. Run "
        + "“webnnm serve” or “python3 -m http.server” in its folder, and open the address that it "
        + "prints.";
    }
    if (typeof WebAssembly === "undefined") {
      return "this browser has no WebAssembly, in which Python runs. Some browsers disable it in a "
        + "high-security mode.";
    }
    try {
      new WebAssembly.Module(NOTHING);
    } catch {
      return "the site’s Content-Security-Policy forbids WebAssembly: its script-src needs "
        + "'wasm-unsafe-eval'.";
    }
    return "";
  }

  addEventListener("securitypolicyviolation", ({ disposition, blockedURI, effectiveDirective }) => {
    if (disposition !== "enforce") return;
    const lacking = LACKING[blockedURI] ?? blockedURI;
    tell(`the site’s Content-Security-Policy has no ${lacking} in ${effectiveDirective}.`, true);
  });
  // PyScript reports errors of the program only in the console.
  const write = console.error;
  console.error = (...facts) => {
    write(...facts);
    failed(facts[0]);
  };
  addEventListener("error", ({ target, message }) => {
    // No failure: sizes that change while they are told are told again in the next frame.
    if (message?.startsWith("ResizeObserver loop")) return;
    if (target === window) failed(message);
    else if (target instanceof HTMLScriptElement) failed(`${target.src} cannot be loaded.`);
  }, true);
  addEventListener("unhandledrejection", (event) => failed(event.reason));

  // Python handles forms in the page; nothing is ever sent.
  addEventListener("submit", (event) => event.preventDefault());

  const cause = obstacle();
  if (cause) tell(cause, true);
})();
