/** Lets a service worker keep a page for visits without a network. */

/** Milliseconds without a click or a key after which the page counts as not being used. */
const QUIET = 5000;

/**
 * Have the page's service worker keep it, once the page has started and is not being used: the
 * service worker fetches all files, while a first training waits for some of its own.
 */
export async function keepForLater() {
  const workers = navigator.serviceWorker;
  if (!workers || navigator.connection?.saveData) return;
  await quiet();
  try {
    await workers.register("./service-worker.js");
    await workers.ready;
    document.documentElement.dataset.offline = "";
  } catch (error) {
    console.log(`webnnm: this page is not available without a network: ${error}`);
  }
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
