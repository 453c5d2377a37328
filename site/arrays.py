"""The page of arrays: programs to run and to change, which draw while they compute."""

import asyncio
import gc
import time
from collections import deque
from pathlib import Path

import drawing
import program
from editor import Editor
from page import clear_error, element, ready, show_error, show_error_text, show_sentence
from pyodide.ffi import can_run_sync, run_sync
from pyscript import when
from pyscript.js_modules import canvas, pictures

from webnnm import WebNNMError, xp

SHOWN_LINES = 200
"""Lines that a program has printed and that still show."""
PACE = 0.5
"""Seconds between two looks at memory and pace."""
CAMERA_WIDTH = 320


class Workshop:
    """The editor with one of the programs, and the run of it."""

    def __init__(self):
        self.editor = Editor()
        self.name = element("program").value
        self.changed = {}
        self.task = self.taking = None
        self.pauses = program.Pauses(can_run_sync, lambda: run_sync(canvas.drawn()))
        self.printed = deque(maxlen=SHOWN_LINES)
        self.frames, self.looked = 0, 0.0
        self.figures = ""
        self.opening = asyncio.ensure_future(xp.open_device())
        drawing.on_frame(self.on_frame)

    @property
    def device(self):
        """The device that computes, None while it is not open."""
        opened = self.opening.done() and not self.opening.exception()
        return self.opening.result() if opened else None

    def choose(self, name):
        """Show a program, as it was left."""
        self.changed[self.name] = self.editor.text
        self.name = name
        self.show(self.changed.get(name) or original(name))

    def show(self, text):
        """Show a text in the editor."""
        self.editor.text = text
        element("diagnostics").replaceChildren()
        self.offer()

    def offer(self):
        """Offer to undo changes where there are some, and to choose a picture for programs."""
        element("restore").disabled = self.editor.text == original(self.name)
        self.offer_picture()

    def offer_picture(self):
        """Let the user choose a picture where the program asks for one."""
        element("choice").hidden = "picture(" not in self.editor.text

    async def run(self):
        """Run the program until it ends or is stopped, and return how it ended."""
        self.printed.clear()
        element("printed").textContent, element("printed").hidden = "", True
        element("figures").textContent = "Running …"
        self.editor.mark(0)
        element("diagnostics").replaceChildren()
        element("recorded").hidden, element("drawing").hidden = True, False
        drawing.clear()
        self.frames, self.looked, self.figures = 0, time.monotonic(), "No frames"
        self.task = asyncio.ensure_future(self.compute(self.editor.text))
        try:
            await self.task
            ending = "has ended"
        except asyncio.CancelledError:
            ending = "was stopped"
        except Exception as error:
            ending = "went wrong"
            self.show_wrong(error)
        self.task = None
        drawing.forget()
        await canvas.drawn()  # for which a program that was stopped may have waited
        if self.device:
            await self.device.drain()  # of what it asked for last
        gc.collect()  # functions and what they name refer to one another
        canvas.end(f"{element('program').selectedOptions.item(0).textContent}: {self.figures}")
        element("figures").textContent = f"{self.figures} · {ending}"
        self.look()
        return f"The program {ending}: {self.figures}."

    async def compute(self, text):
        """Run a program as soon as there is a device."""
        await asyncio.shield(self.opening)
        await program.run(text, self.pauses, print=self.print)

    def stop(self):
        """Stop the program at its next frame, or its next turn of a loop."""
        if self.task:
            self.task.cancel()

    def show_wrong(self, error):
        """Show an error beside the program, with the line of the program that it comes from."""
        position = program.locate(error)
        if position is None:
            show_error(error)
            return
        self.editor.mark(position[0])
        if isinstance(error, WebNNMError):
            facts = error.message, error.code, error.hint
        else:
            text = error.msg if isinstance(error, SyntaxError) else str(error)
            facts = (f"{type(error).__name__}: {text}".removesuffix(": "),)
        element("diagnostics").replaceChildren(self.editor.problem(*position, *facts))
        element("diagnostics").scrollIntoView(block="nearest")

    def print(self, *values, sep=" ", end="\n", file=None, flush=False):
        """Show what the program prints."""
        self.printed.append(sep.join(map(str, values)) + end)
        printed = element("printed")
        printed.hidden = False
        printed.textContent = "".join(self.printed)
        printed.scrollTop = printed.scrollHeight

    def on_frame(self, figures):
        """Show the figures of a frame, and now and then pace and memory."""
        self.pauses.done()
        self.frames += 1
        self.figures = ", ".join(
            f"{name} {format_figure(value)}" for name, value in figures.items()
        )
        element("figures").textContent = self.figures
        now = time.monotonic()
        if now - self.looked >= PACE:
            self.look(f", {self.frames / (now - self.looked):.0f} frames per second")
            self.frames, self.looked = 0, now

    def look(self, pace=""):
        """Say what computes, how much memory it holds, and how fast it goes."""
        if not self.device:
            return
        memory = xp.memory(self.device)
        line = element("memory")
        line.textContent = (
            f"On {self.device.backend.description}: {memory.arrays} arrays of "
            f"{memory.bytes / 1e6:.2f} MB, {memory.graphs} graphs{pace}"
        )
        line.dataset.arrays, line.dataset.bytes = str(memory.arrays), str(memory.bytes)


def original(name):
    """Return a program as it comes."""
    return Path("programs", f"{name}.py").read_text().rstrip()


def format_figure(value):
    """Return a figure as text: whole numbers as they are, others with four digits."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def hand_over(running):
    """Enable what can be done while a program runs, or while none does."""
    element("run").disabled = element("program").disabled = running
    element("stop").disabled = not running
    element("restore").disabled = running or workshop.editor.text == original(workshop.name)


@when("submit", "#form")
async def run(event):
    """Run the program of the editor."""
    if workshop.task:
        return
    clear_error()
    hand_over(True)
    element("stop").focus()
    try:
        element("status").textContent = await workshop.run()
    except Exception as error:
        show_error(error)
    hand_over(False)
    element("run").focus()


@when("click", "#stop")
def stop(event):
    """Stop the program."""
    workshop.stop()


@when("change", "#program")
def choose(event):
    """Show another program."""
    workshop.choose(element("program").value)


@when("click", "#restore")
def restore(event):
    """Show the program as it came."""
    workshop.show(original(workshop.name))
    element("run").focus()


@when("input", "#source")
def look_at_text(event):
    """Take away marks of an earlier text."""
    workshop.editor.mark(0)
    workshop.offer()


@when("keydown", "#source")
def press(event):
    """Run the program on Ctrl and Enter."""
    if event.key == "Enter" and (event.ctrlKey or event.metaKey):
        event.preventDefault()
        element("form").requestSubmit()


@when("change", "#file")
async def choose_file(event):
    """Take a file as the picture."""
    files = element("file").files
    if files.length:
        await take(files.item(0))


@when("dragover", "#choice")
def drag(event):
    """Let a picture be dropped."""
    event.preventDefault()


@when("drop", "#choice")
def drop(event):
    """Take what is dropped as the picture, before the browser shows it instead of the page."""
    event.preventDefault()
    files = event.dataTransfer.files
    if files.length:
        workshop.taking = asyncio.ensure_future(take(files.item(0)))


async def take(file):
    """Take a file as the picture."""
    clear_error()
    close_camera()
    try:
        await pictures.read(file)
        element("status").textContent = f"Programs see {file.name} now."
    except Exception as error:
        show_error_text(f"{file.name} is not a picture that this browser reads: {error}")


@when("click", "#camera")
async def use_camera(event):
    """Open the camera, or close it."""
    clear_error()
    if element("camera").getAttribute("aria-pressed") == "true":
        close_camera()
        return
    try:
        await pictures.open(CAMERA_WIDTH)
        element("camera").setAttribute("aria-pressed", "true")
    except Exception as error:
        show_error_text(
            f"The camera cannot be opened: {error}\n"
            "Allow it in the settings of this page, or choose a picture."
        )


@when("click", "#drawn")
def use_landscape(event):
    """Take the picture that is there at first."""
    close_camera()
    pictures.landscape()


def close_camera():
    """Close the camera; its last picture stays."""
    pictures.close()
    element("camera").setAttribute("aria-pressed", "false")


workshop = Workshop()
workshop.show(original(workshop.name))
pictures.landscape()
ready()
try:
    await workshop.opening
    message = f"arrays run on {workshop.device.backend.description}"
except WebNNMError as error:
    message = error.message
show_sentence(message)
