"""The training that the browser keeps: noted while it runs, offered when the page opens again.

The trainer keeps the snapshot. The note beside it has what no snapshot knows: when the training
was begun, the form that it was begun with, and its curve.
"""

import json

from page import element, log
from pyodide.ffi import JsException
from pyscript import when, window

POINTS = 400
"""Points of a curve that a note keeps at most."""
UNKEPT = "This training is not kept: a reload loses it."
FULL = "The browser's storage for this site is full: delete data of this site, or free disk space."
REFUSED = "Private windows and browser settings may disable storage for this site."
SECONDS = 10
"""Seconds between two notes of the curve."""


class Kept:
    """The note of a page's training, and the offer to continue or to discard it."""

    def __init__(self, name, go_on, discard):
        self.key = f"webnnm:{name}"
        self.note = None
        self.standing = None
        self.written = 0
        self.unnoted = False
        self.go_on, self.discard = go_on, discard
        when("click", "#continue")(self.on_continue)
        when("click", "#discard")(self.on_discard)

    def read(self):
        """Take in the note of an earlier visit, or of another tab; None where there is none."""
        self.note = self.read_stored()
        return self.note

    def read_stored(self):
        """Return the note that lies in the browser."""
        try:
            text = window.localStorage.getItem(self.key)
            return json.loads(text) if text else None
        except (JsException, ValueError) as error:
            log(f"the note of the kept training cannot be read: {error}")
        return None

    def other(self):
        """Return whether another tab has kept a training since this one looked."""
        stored = self.read_stored()
        return stored is not None and stored["began"] != (self.note or {}).get("began")

    def begin(self):
        """Note that a training begins with the form as it is now."""
        now = window.Date.new().toISOString()
        self.note = {"began": now, "fields": fields(), "records": []}
        self.write()

    def curve(self, records, *, now=False):
        """Note the curve so far, now or when some time has passed."""
        if self.note and (now or window.performance.now() - self.written > 1000 * SECONDS):
            step = len(records) // POINTS + 1
            self.note["records"] = records[::step]
            self.write()

    def write(self):
        """Write the note; without one the training will not be offered, which the page says."""
        self.written = window.performance.now()
        try:
            window.localStorage.setItem(self.key, json.dumps(self.note))
            self.unnoted = False
        except JsException as error:
            self.unnoted = True
            log(f"the browser takes no note of this training: {error}")
            full = "QuotaExceededError" in str(error)
            tell(f"{UNKEPT} {FULL if full else REFUSED}", warning=True)

    def forget(self):
        """Withdraw the offer and remove the note."""
        self.note = self.standing = None
        self.withdraw()
        try:
            window.localStorage.removeItem(self.key)
        except JsException as error:
            log(f"the note of the kept training cannot be removed: {error}")

    def offer(self, standing):
        """Offer to go on with a training that stopped in an epoch of so many.

        One that cannot be read now can be discarded only; that of another tab is not this one's.
        """
        if "busy" in standing:
            self.note = None
            tell(standing["busy"], warning=True)
            return
        self.standing = standing
        element("continue").disabled = "unreadable" in standing
        began = window.Date.new(self.note["began"])
        how = window.Object.fromEntries([["dateStyle", "long"], ["timeStyle", "short"]])
        words = f"A training of {began.toLocaleString('en-GB', how)} "
        if "unreadable" in standing:
            words += f"is kept, but cannot be read now: {standing['unreadable']}"
        else:
            words += f"stopped in epoch {standing['epoch']} of {standing['epochs']}."
        element("offer-text").textContent = words
        element("offer-buttons").hidden = False
        element("train").classList.remove("primary")  # to continue comes first

    def withdraw(self):
        """Take the offer off the page; the focus goes to where trainings are begun."""
        inside = element("offer-buttons").contains(window.document.activeElement)
        element("offer-text").textContent = ""
        element("offer-buttons").hidden = True
        element("train").classList.add("primary")
        if inside:
            element("train").focus()

    async def on_continue(self, event):
        """Resume the training that is offered."""
        note, standing = self.note, self.standing
        fill(note["fields"])
        # The snapshot may be older than the note, and decides.
        records = [record for record in note["records"] if record[0] <= standing["epoch"]]
        await self.go_on(standing["epochs"], records)

    async def on_discard(self, event):
        """Remove the training that is offered."""
        await self.discard()


def tell(text, *, warning=False):
    """Say how it stands with what the browser keeps."""
    shown = element("kept")
    shown.hidden, shown.textContent = False, text
    shown.classList.toggle("warning", warning)


def fields():
    """Return what the form says, by the id of its fields."""
    return {
        field.id: field.checked if field.type == "checkbox" else field.value
        for field in element("form").elements
        if field.id and field.type not in ("file", "submit", "button")
    }


def fill(values):
    """Let the form say what it said before."""
    for name, value in values.items():
        field = element(name)
        if field.type == "checkbox":
            field.checked = value
        else:
            field.value = value
        field.dispatchEvent(window.Event.new("input"))
