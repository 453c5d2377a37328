/**
 * Keeps the site for visits without a network. The network comes first, so that a rebuilt site
 * shows immediately; cached files are used if there is no network. Edited files are cached again
 * when they are next requested; those in vendor/ change only with the version.
 */

/** The addresses of all files, and a version that changes with any of them: set by the build. */
const SITE = { version: "", files: [] };
const PREFIX = "webnnm ";
const NAME = PREFIX + SITE.version;
const EDITED = new Set(
  SITE.files
    .filter((file) => !file.startsWith("./vendor/"))
    .map((file) => new URL(file, location.href).href),
);

addEventListener("install", (event) => {
  event.waitUntil(keep());
});

addEventListener("activate", (event) => {
  event.waitUntil(forget());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const own = new URL(request.url).origin === location.origin;
  if (own && request.method === "GET") event.respondWith(answer(event));
});

async function keep() {
  const cache = await caches.open(NAME);
  await cache.addAll(SITE.files.map((file) => new Request(file, { cache: "no-cache" })));
  await skipWaiting();
}

async function forget() {
  const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
}

async function answer(event) {
  const { request } = event;
  try {
    const found = await fetch(request);
    const [address] = request.url.split("?");
    if (found.status === 200 && EDITED.has(address)) event.waitUntil(renew(address, found.clone()));
    return found;
  } catch (error) {
    const kept = await caches.match(request, { cacheName: NAME, ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

async function renew(address, found) {
  const cache = await caches.open(NAME);
  await cache.put(address, found);
}
