/**
 * Keeps the site for visits without a network: all of it or, if its own address ends in `?visited`,
 * what visits load. The network comes first, so that a rebuilt site shows immediately; kept files
 * are used if there is no network, or a server that does not answer in time, or answers with an
 * error. Files are kept as the build wrote them: what else a server sends for them, such as the page
 * of a login, is shown but never kept.
 */

/**
 * The files with the SHA-256 of each, a version that changes with any of them, and whether somebody
 * edits those outside vendor/ afterwards: set by the build.
 */
const SITE = { version: "", edited: false, files: {} };
/** Whether to keep only what visits load, instead of fetching the whole site at once. */
const VISITED = new URL(location.href).searchParams.has("visited");
/** Milliseconds after which a server that has not begun to answer counts as not there. */
const PATIENCE = 8000;
const SCOPE = new URL("./", location.href).href;
/** Several sites can share an origin, and with it all storages: the name says whose this one is. */
const PREFIX = `webnnm ${SCOPE} `;
const NAME = PREFIX + SITE.version;
/** Milliseconds for which kept files come at once after a server did not answer. */
const AWAY = 60_000;
const HASHES = new Map(
  Object.entries(SITE.files).map(([file, hash]) => [new URL(file, SCOPE).href, hash]),
);

/** The scripts of the build, by which its pages are known. */
const SCRIPTS = Object.keys(SITE.files).filter((file) => /\.m?js$/u.test(file))
  .map((file) => file.slice(2));
let awayUntil = 0;

addEventListener("install", (event) => {
  event.waitUntil(install());
});

addEventListener("activate", (event) => {
  event.waitUntil(activate());
});

/** A page tells the addresses that it has loaded, and is told the error, or null. */
addEventListener("message", (event) => {
  const [port] = event.ports;
  event.waitUntil(keepLoaded(event.data).then(
    () => port.postMessage(null),
    (error) => port.postMessage(String(error)),
  ));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && addressOf(request)) event.respondWith(answer(event));
});

/** Keep the files of this build: all, or those that are kept already and have not changed. */
async function install() {
  await (VISITED ? takeOver() : keep([...HASHES.keys()], ["no-cache"]));
  await skipWaiting();
}

/** Keep what caches of earlier builds have of this one. */
async function takeOver() {
  const cache = await caches.open(NAME);
  for (const name of (await caches.keys()).filter((other) => other.startsWith(PREFIX))) {
    const earlier = await caches.open(name);
    for (const { url } of await earlier.keys()) {
      const whole = HASHES.has(url) && await acceptable(url, await earlier.match(url));
      if (whole) await cache.put(url, whole);
    }
  }
}

async function activate() {
  await forget();
  // What the page loads from now on passes by here.
  if (VISITED) await clients.claim();
}

/** Keep those files of the build that a page has loaded and that are not kept. */
async function keepLoaded(urls) {
  const addresses = [...new Set(urls.map((url) => addressOf({ url, mode: "navigate" })))];
  const copies = await Promise.all(addresses.map((address) => address && kept(address)));
  const missing = addresses.filter((address, index) => address && !copies[index]);
  // The browser has just loaded them: what it has of them costs nothing.
  await keep(missing, ["force-cache", "no-cache"]);
}

/**
 * Keep files of this build, fetched in one of these modes of the browser's own cache; one that has
 * changed on its way is an error.
 */
async function keep(addresses, modes) {
  const cache = await caches.open(NAME);
  await Promise.all(addresses.map(async (address) => {
    let status;
    for (const mode of modes) {
      const found = await fetch(address, { cache: mode });
      const whole = await acceptable(address, found);
      if (whole) return cache.put(address, whole);
      status = found.status;
    }
    throw new Error(`${address} is not the file of this build: ${status}`);
  }));
}

/** Remove the files of earlier builds of this site, not those of others on the same origin. */
async function forget() {
  const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
}

/** Return the address of a kept file that a request asks for, "" if there is none. */
function addressOf(request) {
  const [address] = request.url.split(/[?#]/u);
  if (HASHES.has(address)) return address;
  if (request.mode !== "navigate") return "";
  // Some hosts name pages without their ending, and folders for their index.
  const names = [`${address}.html`, `${address}index.html`];
  return names.find((name) => HASHES.has(name)) ?? "";
}

async function answer(event) {
  const { request } = event;
  const address = addressOf(request);
  if (Date.now() < awayUntil) {
    const copy = await kept(address);
    if (copy) return copy;
  }
  try {
    const found = await ask(request, address);
    if (found.status >= 500) return (await kept(address)) ?? found;
    // Only the bare address: what a server makes of a query is another thing.
    if (request.url === address && (SITE.edited || (VISITED && !(await kept(address))))) {
      event.waitUntil(renew(address, found.clone()));
    }
    return found;
  } catch (error) {
    const copy = await kept(address);
    if (copy) return copy;
    throw error;
  }
}

/**
 * Return a request of this script's own for what a page asks for, unless it is the page itself.
 * WebKit would check a page's request for the script of an audio worklet against the policy of this
 * script, and block it.
 */
function ownRequest(request) {
  const { mode, url, headers } = request;
  return mode === "navigate" ? request : new Request(url, { headers });
}

/** Fetch from the network; if a copy is kept, a server that begins too late is an error. */
async function ask(request, address) {
  const waiting = new AbortController();
  let begun = false;
  const timer = setTimeout(async () => {
    if (!await kept(address) || begun) return;
    awayUntil = Date.now() + AWAY;
    waiting.abort();
  }, PATIENCE);
  try {
    // The server is asked whether a file has changed, however long a host says that it lasts.
    const found = await fetch(ownRequest(request), { cache: "no-cache", signal: waiting.signal });
    begun = true;
    awayUntil = 0;
    return found.status === 200 && request.mode !== "navigate" ? lasting(found) : found;
  } finally {
    clearTimeout(timer);
  }
}

/** Return an answer that the browser does not use again without asking this service worker. */
function lasting(found) {
  const headers = new Headers(found.headers);
  headers.set("cache-control", "no-cache");
  return new Response(found.body, { headers });
}

async function kept(address) {
  const cache = await caches.open(NAME);
  return cache.match(address);
}

async function renew(address, found) {
  const whole = await acceptable(address, found);
  if (!whole) return;
  const cache = await caches.open(NAME);
  await cache.put(address, whole);
}

/** Return an answer as it is to be kept if it is the file of this build, or an edited one. */
async function acceptable(address, found) {
  if (found.status !== 200) return undefined;
  const headers = headersOf(found);
  const content = await found.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  const built = btoa(String.fromCharCode(...digest)) === HASHES.get(address);
  if (!built && (found.redirected || !isEdited(address, headers["content-type"] ?? "", content))) {
    return undefined;
  }
  // A new answer: one that came by a redirection cannot answer for a page.
  return new Response(content, { headers });
}

/** Tell whether a file that differs from the build can be one that somebody edited. */
function isEdited(address, type, content) {
  if (!SITE.edited || address.startsWith(`${SCOPE}vendor/`)) return false;
  const page = address.endsWith("/") || address.endsWith(".html");
  if (page !== /^text\/html\b/iu.test(type)) return false;
  if (/\.m?js$/u.test(address) && !/javascript/iu.test(type)) return false;
  // An edited page still loads a script of the build; that of a login does not.
  return !page || SCRIPTS.some((name) => new TextDecoder().decode(content).includes(name));
}

/** Return what a kept answer says of itself: its type, and the policies of a page. */
function headersOf(found) {
  const names = ["content-type", "content-security-policy", "referrer-policy"];
  const own = names.filter((name) => found.headers.has(name));
  return Object.fromEntries(own.map((name) => [name, found.headers.get(name)]));
}
