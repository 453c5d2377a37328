/**
 * Keeps in memory what PyScript would keep in IndexedDB. It opens databases whenever it starts, and
 * does not start where a browser refuses them, as in frames of other sites; these pages keep nothing
 * there. A classic script, to run before PyScript.
 */
(() => {
  /** How the names of PyScript's databases begin. */
  const PREFIX = "IDBMap/";

  /** Return a request that has succeeded once its handlers are set. */
  function request(result) {
    const pending = { result, onsuccess: null };
    queueMicrotask(() => pending.onsuccess?.({ target: pending }));
    return pending;
  }

  function database() {
    const entries = new Map();
    const store = {
      count: () => request(entries.size),
      clear: () => request(entries.clear()),
      delete: (key) => request(void entries.delete(key)),
      get: (key) => request(entries.get(key)),
      getKey: (key) => request(entries.has(key) ? key : undefined),
      getAllKeys: () => request([...entries.keys()]),
      put: (value, key) => request(void entries.set(key, value)),
    };
    return { transaction: () => ({ objectStore: () => store }), close() {} };
  }

  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function openUnlessKept(name, ...version) {
    return name.startsWith(PREFIX) ? request(database()) : open.call(this, name, ...version);
  };
})();
