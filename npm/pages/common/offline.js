/** Lets a service worker keep this page for visits without a network, once the page has started. */
export async function keepForLater() {
  if (!("serviceWorker" in navigator) || navigator.connection?.saveData) return;
  try {
    await navigator.serviceWorker.register("./service-worker.js");
  } catch (error) {
    console.warn(`this page is not available without a network: ${error}`);
  }
}
