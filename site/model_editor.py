"""The editor of a model's text: checked while it is written, with help, fixes and links."""

import asyncio

import page
from editor import Editor
from page import element, make
from pyscript import js_import, when, window
from services import services

from webnnm import ModelError, parse
from webnnm.graph.elaboration.elaborate import elaborate

PAUSE_BEFORE_CHECK = 0.3
COMPONENT = "./components/editor.js"


class ModelEditor(Editor):
    """The text of a model, checked while it is written; #diagnostics has the result.

    Once the page is ready, `rich` is the editor of components/editor.js in the place of the field;
    where it cannot be loaded, the plain field remains. `shared`: the page has a button that puts
    the text and the form into the address, rather than a link of its own.

    `network` is what the text means, None while it is wrong; `on_network` is called with every new
    one, and `on_check` after every check.
    """

    def __init__(self, shared=True):
        self.timer = self.rich = self.network = self.on_network = self.on_check = None
        super().__init__()
        if shared:
            self.restore()
            when("click", "#share")(self.share)
            when("hashchange", window)(self.restore)
        self.check()
        when("click", "#format")(self.format)
        when("webnnm:ready", window)(self.enhance)

    async def enhance(self, event):
        """Put the editor in the place of the field."""
        try:
            address = window.URL.new(COMPONENT, window.location.href).href
            (component,) = await js_import(address)
            self.rich = component.enhance(self.area, await services())
        except Exception as error:
            page.log(f"the plain field remains: {error}")
            return
        self.rich.setInvalid(self.area.getAttribute("aria-invalid") == "true")
        element("keys").hidden = False
        self.area.parentElement.dataset.rich = ""

    @property
    def text(self):
        """What is written there."""
        return self.area.value

    @text.setter
    def text(self, text):
        if self.rich is None:
            Editor.text.fset(self, text)
        else:
            self.rich.setText(text)
            self.change(None)

    # What is wrong.

    def change(self, event):
        """Check once the writer pauses."""
        super().change(event)
        if self.timer:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(PAUSE_BEFORE_CHECK, self.check)

    def check(self):
        """Parse and elaborate the text, and show the errors, the warnings, or that all is well."""
        try:
            network = elaborate(parse(self.text))
        except ModelError as error:
            self.network = None
            self.mark(error.line)
            messages = [self.make_problem(fault) for fault in (error, *error.others)]
        else:
            self.network = network
            self.mark(0)
            layers, tensors = len(network.layers), len(network.parameters)
            text = f"No errors. Layers: {layers}, parameter tensors: {tensors}."
            messages = [make("p", text, class_="fine")]
            for warning in network.warnings:
                line = make("p", f"Warning {warning} ")
                line.append(*self.fixes(warning.fix))
                messages.append(line)
        element("diagnostics").replaceChildren(*messages)
        if self.network and self.on_network:
            self.on_network(self.network)
        if self.on_check:
            self.on_check()

    def make_problem(self, error):
        """Return an error with its place, its excerpt, its hint, and a button that mends it."""
        excerpt = [line[4:] for line in str(error).split("\n") if line.startswith("    ")]
        facts = error.message, error.code, error.hint, "\n".join(excerpt)
        box = self.problem(error.line, error.column, *facts)
        box.append(*self.fixes(error.fix))
        return box

    def fixes(self, fix):
        """Return a button for an edit that mends something, if there is one."""
        if fix is None:
            return []
        button = make("button", fix.title(self.text), type="button", class_="fix")
        when("click", button)(lambda event: self.mend(fix))
        return [button]

    def mend(self, fix):
        """Carry out an edit, and go back to the text."""
        self.text = fix.apply(self.text)
        self.check()
        start = len(self.text[: fix.start + len(fix.text)].encode("utf-16-le")) // 2
        self.select(start, start)

    def mark(self, line):
        """Mark a line of the text, or none if it is 0."""
        super().mark(line)
        if self.rich:
            self.rich.setInvalid(line > 0)

    def select(self, start, end):
        """Select a stretch of the text, in UTF-16 units."""
        if self.rich:
            self.rich.select(start, end)
        else:
            super().select(start, end)

    # What the buttons do.

    def format(self, event):
        """Lay the text out anew."""
        from webnnm.language.formatting import format_text

        try:
            self.text = format_text(self.text)
        except ModelError:
            self.check()

    async def share(self, event):
        """Put the text and the settings into the address of the page, and copy that."""
        import share

        address = share.link(self.text)
        window.history.replaceState(None, "", address)
        copied = await page.write_clipboard(address)
        element("shared").textContent = (
            "Copied: the link has the model and its settings."
            if copied
            else "The address of this page is the link now."
        )

    def restore(self, event=None):
        """Take over the text and the settings of the address, if it has some."""
        import share  # pages without links do not load it

        try:
            shared = share.read_link()
            if shared is not None:
                share.fill(shared.values)
        except ValueError as error:
            page.show_error_text(page.sentence(str(error)))
            return
        if shared is not None:
            self.text = shared.text
