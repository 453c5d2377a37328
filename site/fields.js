/**
 * Keeps what a visitor chose in the fields of a page through a reload, for as long as the tab is
 * open. Browsers do so on their own for some fields, and do not tell programs.
 *
 * A page that is opened anew, by a link for example, has its defaults.
 */
(() => {
  const FIELDS = "main :is(input, select, textarea)[id]:not([type=file])";
  const key = `webnnm:fields ${location.pathname}`;
  /** Fields by their ids, in the order in which they were last changed. @type {Map<string, any>} */
  let changed = new Map();

  /** @param {Event} event */
  function note({ target }) {
    if (!(target instanceof Element) || !target.matches(FIELDS)) return;
    changed.delete(target.id);
    changed.set(target.id, target.type === "checkbox" ? target.checked : target.value);
    write();
  }

  function write() {
    try {
      if (changed.size) sessionStorage.setItem(key, JSON.stringify([...changed]));
      else sessionStorage.removeItem(key);
    } catch (error) {
      console.log(`webnnm: a reload will not keep what was chosen: ${error}`);
    }
  }

  /** Set the fields as they were, and tell the page's program as if they were set by hand. */
  function restore() {
    for (const [id, value] of [...changed]) {
      const field = document.getElementById(id);
      if (!field?.matches(FIELDS)) continue;
      if (field.type === "checkbox") field.checked = value;
      else field.value = value;
      for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
    }
  }

  const [{ type }] = performance.getEntriesByType("navigation");
  try {
    if (type !== "navigate") changed = new Map(JSON.parse(sessionStorage.getItem(key) ?? "[]"));
  } catch (error) {
    console.log(`webnnm: what was chosen before cannot be read: ${error}`);
  }
  write();
  for (const kind of ["input", "change"]) addEventListener(kind, note);
  // A form that cannot be sent says so at the field that is wrong, which may be folded away.
  addEventListener("invalid", ({ target }) => {
    const folded = target.closest("details:not([open])");
    if (folded) folded.open = true;
  }, true);
  // Another link says what the fields are from now on.
  addEventListener("hashchange", () => { changed.clear(); write(); });
  // Files that a browser still shows were never read by the program of this visit.
  for (const field of document.querySelectorAll("input[type=file]")) field.value = "";
  addEventListener("webnnm:ready", restore);
})();
