/**
 * Keeps the site for visits without a network. What the network has comes first, so that a site
 * that was built anew shows at once; what was kept stands in where there is no network.
 */

/** The address of every file, and a version that changes with any of them: the build fills it in. */
const SITE = { version: "", files: [] };
const PREFIX = "webnnm ";
const NAME = PREFIX + SITE.version;

addEventListener("install", (event) => {
  event.waitUntil(keep());
});

addEventListener("activate", (event) => {
  event.waitUntil(forget());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const own = new URL(request.url).origin === location.origin;
  if (own && request.method === "GET") event.respondWith(answer(request));
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

async function answer(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(request, { cacheName: NAME, ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
