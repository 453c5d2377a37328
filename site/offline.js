/** Lets a service worker keep a page for visits without a network. */

/** Milliseconds without a click or a key after which the page counts as not being used. */
const QUIET = 5000;

/**
 * Have the page's service worker keep it, once the page has started and is not being used: a first
 * training waits for some files of its own.
 */
export async function keepForLater() {
  // In a frame the page is a part of another site, whose visitors did not come for the rest of this one.
  if (top !== self) return;
  const workers = navigator.serviceWorker;
  if (!workers) return;
  await quiet();
  // A page that has blocked its network access meanwhile asks for nothing any more.
  if (document.querySelector("meta[http-equiv=Content-Security-Policy]")) return;
  try {
    await workers.register(await script(workers));
    const { active } = await workers.ready;
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
    const { port1: answer, port2: port } = new MessageChannel();
    const kept = new Promise((resolve) => { answer.onmessage = resolve; });
    active.postMessage([location.href, ...loaded], [port]);
    const { data: failure } = await kept;
    if (failure) throw new Error(failure);
    document.documentElement.dataset.offline = "";
  } catch (error) {
    console.log(`webnnm: this page is not available without a network: ${error}`);
  }
}

/**
 * Return the service worker to register: one that fetches the whole site where the browser knows
 * the connection and that its bytes are not counted, else one that keeps what visits load anyway.
 */
async function script(workers) {
  const { connection } = navigator;
  const free = connection && !connection.saveData && connection.type !== "cellular";
  // A connection that changes between visits replaces no service worker that has all.
  const whole = new URL("./service-worker.js", document.baseURI).href;
  const earlier = (await workers.getRegistration())?.active?.scriptURL;
  return free || earlier === whole ? whole : `${whole}?visited`;
}

/** Wait until the page has not been used for a while. */
function quiet() {
  return new Promise((resolve) => {
    const watching = new AbortController();
    const { signal } = watching;
    signal.addEventListener("abort", resolve);
    let timer;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => watching.abort(), QUIET);
    };
    for (const use of ["click", "keydown"]) addEventListener(use, wait, { signal, capture: true });
    wait();
  });
}
