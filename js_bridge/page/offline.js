/**
 * Keeps an exported page for visits without a network: the page loads this script, which registers
 * itself as the service worker of its folder.
 *
 * @module
 */

const CACHE = "webnnm-page";
/** The paths and digests of the page's files. */
const FILES = "webnnm/files.json";
/** Files that never change: their names have digests, or they belong to one version. */
const FIXED = /^(model-|tokenizer-|onnxruntime\/)/;
/** Files that are kept when they are used: they are large, and other browsers do without. */
const ON_USE = /^onnxruntime\/|\.onnx$/;
/** Files that only servers read. */
const OF_SERVERS = "_headers";

/** Keep all files of the page, and no older ones of its folder. @param {string} scope */
async function keepAll(scope) {
  const response = await fetch(scope + FILES, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${scope + FILES} cannot be fetched: ${response.status}`);
  const names = ["", "model.json", FILES, ...Object.keys(await response.json())];
  const urls = names.filter((name) => name !== OF_SERVERS).map((name) => scope + name);
  const cache = await caches.open(CACHE);
  for (const { url } of await cache.keys()) {
    if (url.startsWith(scope) && !urls.includes(url)) await cache.delete(url);
  }
  await cache.addAll(urls.filter((url) => !ON_USE.test(url.slice(scope.length))));
}

/** Answer from the network, or without one what is kept; fixed files from what is kept first. @param {Request} request @param {string} scope */
async function answer(request, scope) {
  const cache = await caches.open(CACHE);
  const kept = () => cache.match(request, { ignoreSearch: true });
  const known = FIXED.test(request.url.slice(scope.length)) && await kept();
  if (known) return known;
  try {
    const response = await fetch(request);
    if (response.status === 200) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const earlier = await kept();
    if (earlier) return earlier;
    throw error;
  }
}

if ("ServiceWorkerGlobalScope" in globalThis) {
  const worker = /** @type {any} */ (globalThis);
  const { scope } = worker.registration;
  worker.addEventListener("install", (/** @type {any} */ event) => {
    worker.skipWaiting();
    event.waitUntil(keepAll(scope));
  });
  worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));
  worker.addEventListener("fetch", (/** @type {any} */ event) => {
    const { request } = event;
    if (request.method !== "GET" || !request.url.startsWith(scope)) return;
    event.respondWith(answer(request, scope));
  });
} else {
  addEventListener("load", () => {
    navigator.serviceWorker?.register("./offline.js").catch((error) => {
      console.warn(`this page is not kept for visits without a network: ${error}`);
    });
  });
}
