"""The diagram of the model that is written: blocks open and close, layers lead to their text."""

from page import element
from pyodide.ffi import create_proxy
from pyscript import document, when, window

from webnnm.core.shapes import count
from webnnm.page_modules import load_rest

NARROW = 640
"""Pixels below which values flow down, not to the right."""
LEAST_SCALE = 0.8
"""A drawing that is wider than its box is made smaller, so far; then the box scrolls."""


class ModelDiagram:
    """What is drawn in #diagram of the network of an editor.

    `show_backend(backend, rewrites)` shows what has run the model, and how its layers were changed
    for that.
    """

    def __init__(self, editor):
        self.editor, self.network, self.text = editor, editor.network, editor.text
        self.toggled, self.where, self.rewrites = set(), "", ()
        self.wide = None
        self.box = element("diagram")
        editor.on_network = self.show
        when("webnnm:ready", window)(self.begin)
        when("selectionchange", document)(self.mark)
        when("click", self.box)(self.choose)
        when("keydown", self.box)(self.press)

    async def begin(self, event):
        """Draw for the first time, once the modules are there, and whenever the width changes."""
        await load_rest()
        from webnnm.diagram.svg import STYLE

        sheet = window.CSSStyleSheet.new()
        sheet.replaceSync(STYLE)
        document.adoptedStyleSheets.push(sheet)
        draw = create_proxy(lambda *_: self.draw())
        # In the next frame: sizes that change while they are told are an error in consoles.
        later = create_proxy(lambda *_: window.requestAnimationFrame(draw))
        window.ResizeObserver.new(later).observe(self.box)

    def show(self, network):
        """Draw another network, which nothing has run yet."""
        if self.editor.text == self.text:
            return
        self.network, self.text = network, self.editor.text
        self.show_backend("", ())

    def show_backend(self, backend, rewrites):
        """Show what has run the model that is drawn."""
        self.where, self.rewrites = backend, rewrites
        if self.wide is not None:
            self.draw(anew=True)

    def draw(self, anew=False):
        """Draw the network if it, or the direction that fits, is another one."""
        wide = self.box.clientWidth >= NARROW
        other, self.wide = wide != self.wide, wide
        if self.network is None or not (other or anew):
            return
        from webnnm.core.markup import set_content
        from webnnm.diagram.networks import network_drawing
        from webnnm.diagram.svg import svg

        total = sum(count(p.features[0].sizes()) for p in self.network.parameters)
        caption = f"{len(self.network.layers)} layers, {total:,} parameters"
        drawing = network_drawing(
            self.network, toggled=self.toggled, rewrites=self.rewrites, caption=caption
        )
        set_content(self.box, svg(drawing, "right" if wide else "down", standalone=False))
        shown = self.box.firstElementChild
        shown.setAttribute("role", "group")
        shown.style.minWidth = f"{LEAST_SCALE * int(shown.getAttribute('width')):.0f}px"
        for shape in self.shapes():
            head = shape.firstElementChild
            lines = [text.textContent for text in head.querySelectorAll("text")]
            head.setAttribute("aria-label", " ".join(lines))
            head.setAttribute("role", "button")
            head.setAttribute("tabindex", "0")
            if shape.classList.contains("block"):
                head.setAttribute("aria-expanded", str(shape.classList.contains("open")).lower())
        if self.where:
            boxes = sum(bool(box.rewrites) for box in drawing.leaves())
            caption += f", run on {self.where}; rewritten for it and framed: {boxes or 'none'}"
        element("diagram-caption").textContent = f"{caption}."
        self.mark(None)

    def shapes(self):
        """Return the boxes that have a place in the text."""
        return self.box.querySelectorAll("[data-start]")

    # From the diagram to the text.

    def choose(self, event):
        """Open or close the block that was clicked, or go to the text of a layer."""
        shape = event.target.closest("[data-start]")
        if shape is None:
            return
        if not shape.classList.contains("block"):
            self.editor.select(*self.place(shape))
            return
        name = shape.dataset.id
        self.toggled ^= {name}
        self.draw(anew=True)
        next(s for s in self.shapes() if s.dataset.id == name).firstElementChild.focus()

    def press(self, event):
        """Take Enter and Space for clicks."""
        if event.key in ("Enter", " "):
            event.preventDefault()
            self.choose(event)

    # From the text to the diagram.

    def mark(self, event):
        """Mark the boxes whose text the cursor is in."""
        cursor = element("source").selectionStart
        for shape in self.shapes():
            start, end = self.place(shape)
            shape.classList.toggle("chosen", start <= cursor <= end)

    def place(self, shape):
        """Return where the text of a box begins and ends, in UTF-16 units."""
        offsets = int(shape.dataset.start), int(shape.dataset.end)
        return [len(self.text[:offset].encode("utf-16-le")) // 2 for offset in offsets]
