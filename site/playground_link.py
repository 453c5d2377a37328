"""All that is set in the playground as the address of the page, and as a line that embeds it."""

import page
from page import element
from plane_points import choose_features, chosen_features
from pyscript import when, window
from share import MAX_BYTES, UnfitLink, bare, modest, take

FIELDS = (
    *("data", "rows", "noise", "split", "seed", "scale"),
    *("optimizer", "lr", "l2", "batch", "epochs"),
)
"""Fields of the form that stand in the link under their names."""
FRAME = {
    "title": "webnnm playground",
    "width": "640",
    "height": "420",
    "allow": "webnn",
    "loading": "lazy",
    "style": "border:0;max-width:100%",
}
"""What a frame with the playground has besides its address."""
BUTTONS = {name: element(name).textContent for name in ("share", "copy-embed")}
"""What the buttons say that copy the link, until they say that it is copied."""
MAX_EPOCHS = 100_000
"""The maximum number of epochs of a link that were more than one training."""
MAX_PROBLEMS = 3
"""The maximum number of problems of a link that are shown."""


def read_settings(editor, points):
    """Return all that is set, as texts by the names that the link has."""
    settings = {name: element(name).value for name in FIELDS}
    settings |= {"features": ",".join(chosen_features()), "model": editor.text}
    if points.are_drawn:
        settings["points"] = points.to_text()
    return settings


def write_link(settings):
    """Put all that is set into the address."""
    query = window.URLSearchParams.new()
    for name, value in settings.items():
        query.set(name, value)
    fragment = f"#{query.toString()}"
    if fragment == window.location.hash:
        return
    for name, text in BUTTONS.items():
        element(name).textContent = text
    window.history.replaceState(None, "", fragment)
    show_embed_line(None)


@when("toggle", "#embedding")
def show_embed_line(event):
    """Show the line of HTML that embeds what is set, and lead from a frame to the whole page."""
    address, settings = bare().partition("?")[0], window.location.hash
    element("whole-page").href = f"{address}{settings}"
    if element("embedding").open:
        from webnnm.core.markup import tag

        element("embed-line").value = tag("iframe", "", src=f"{address}?embed{settings}", **FRAME)


@when("click", "#copy-embed")
async def copy_embed(event):
    """Copy that line."""
    if await page.copy(element("embed-line").value):
        element("status").textContent = element("copy-embed").textContent = "The line is copied"


def read_link():
    """Return what the address holds, as texts by name, and what is wrong with it."""
    if len(window.location.hash) > MAX_BYTES:
        return {}, ["it is too long"]
    query = window.URLSearchParams.new(window.location.hash[1:])
    names = (*FIELDS, "features", "model", "points", "weights", "trained")
    return {name: query.get(name) for name in names if query.has(name)}, []


def apply_settings(settings, editor, points):
    """Set what settings hold, and leave the rest; return what could not be set, and why."""
    problems = []
    for name in FIELDS:
        if name in settings:
            try:
                take(element(name), settings[name])
            except UnfitLink as error:
                problems.append(str(error))
    if "features" in settings and not choose_features(settings["features"].split(",")):
        problems.append(f'"{settings["features"][:40]}" names no input')
    if "model" in settings:
        try:
            editor.text = modest(settings["model"])
        except UnfitLink as error:
            problems.append(str(error))
    if points.are_drawn:
        problems += points.take(settings.get("points", ""))
    return problems


def parse_epochs(text):
    """Return the epochs that a link was trained, 0 by default, and what is wrong with them."""
    if not text:
        return 0, []
    if text.isdecimal() and len(text) < 9 and int(text) <= MAX_EPOCHS:
        return int(text), []
    return 0, [f'"{text[:40]}" is no number of epochs up to {MAX_EPOCHS:,}']


def show_problems(problems):
    """Say what of a link could not be set."""
    if problems:
        more = len(problems) - MAX_PROBLEMS
        page.show_error_text(
            f"Parts of this link were left out: {'; '.join(problems[:MAX_PROBLEMS])}"
            f"{f'; {more} more' if more > 0 else ''}."
        )
