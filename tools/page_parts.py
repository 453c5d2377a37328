"""The common parts of the site's pages, which the build writes into each of them."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from textwrap import indent

from tools.page_offers import offer_parts
from webnnm.core.markup import tag

HOME = "index.html"
DOCUMENTS = "docs/index.html"
COURSE = "docs/course/index.html"
GALLERY = "docs/gallery/index.html"
GROUPS = {
    "Learn": {
        "playground.html": "Playground",
        "iris.html": "Iris flowers",
        "digits.html": "Digits",
        "gpt.html": "Tiny GPT",
    },
    "Look inside": {
        "step.html": "One training step",
        "inside.html": "What the device sees",
        "writes.html": "How a language model writes",
    },
    "Teach your own": {
        "table.html": "Tables",
        "forecast.html": "Forecasts",
        "sentences.html": "Texts",
        "examples.html": "Pictures",
        "sounds.html": "Sounds",
        "teach.html": "Writing style",
    },
    "Trained models": {
        "camera.html": "Painting",
        "transcribe.html": "Transcription",
        "aloud.html": "Read aloud",
        "speech.html": "Detect speech",
        "ocr.html": "Read pictures",
        "search.html": "Search",
        "chat.html": "Chat",
        "hub.html": "Any model",
    },
    "Code": {
        "hello.html": "First graph",
        "notation.html": "The notation",
        "arrays.html": "Arrays",
        "worker.html": "Training in a worker",
    },
}
"""The groups of the pages: page → the text of its link, in the order of the links."""
HEADINGS = {
    "playground.html": "Watch a network learn",
    "iris.html": "Iris: train a network on 150 flowers",
    "digits.html": "Digits: train a network that reads yours",
    "gpt.html": "Tiny GPT: train a language model",
    "step.html": "Go through one training step",
    "inside.html": "What the device sees: a model as WebNN calls",
    "writes.html": "Watch how a language model writes",
    "table.html": "Tables: train a network on your CSV file",
    "forecast.html": "Forecasts: train a network on your series",
    "sentences.html": "Texts: train a network on your sentences",
    "examples.html": "Pictures: teach a network with your camera",
    "sounds.html": "Sounds: teach a network by microphone",
    "teach.html": "Teach a language model your writing style",
    "camera.html": "Paint what your camera sees",
    "transcribe.html": "Transcribe speech on your device",
    "aloud.html": "Have your text read aloud",
    "speech.html": "Detect when somebody speaks",
    "ocr.html": "Read the text in pictures",
    "search.html": "Search by meaning, not by words",
    "chat.html": "Chat with a model on your device",
    "hub.html": "Try a model from Hugging Face",
    "hello.html": "First graph: run two layers on WebNN",
    "notation.html": "The notation: write a network as text",
    "arrays.html": "Arrays: compute gradients in Python",
    "worker.html": "Train a network in a web worker",
}
"""Page → its heading and, before the name of the package, its title: what one does there. The
first page has its own."""
LINKS = {HOME: "Start"} | {page: text for group in GROUPS.values() for page, text in group.items()}
GUIDES = {
    "index.html": "index",
    "hello.html": "own-page",
    "playground.html": "notation",
    "step.html": "course/2-descent",
    "inside.html": "architecture",
    "writes.html": "generation",
    "iris.html": "training",
    "digits.html": "pictures",
    "table.html": "tables",
    "forecast.html": "series",
    "sentences.html": "texts",
    "worker.html": "own-page",
    "examples.html": "transfer-learning",
    "sounds.html": "sounds",
    "camera.html": "predictions",
    "speech.html": "onnx",
    "transcribe.html": "speech",
    "aloud.html": "pipelines",
    "ocr.html": "onnx",
    "search.html": "pipelines",
    "chat.html": "generation",
    "gpt.html": "generation",
    "teach.html": "fine-tuning",
    "hub.html": "transformers",
    "arrays.html": "arrays",
    "notation.html": "notation",
}
"""Page → the document that explains what it does; the documentation site links back."""
DESCRIPTION = re.compile(r'<meta name="description" content="([^"]*)" />')
TITLE = re.compile(r"<title>([^<]*)</title>")
LINK_PICTURES = "shown/links"
"""The folder of the pictures that links of pages show elsewhere, each named as its page."""
LINK_SIZE = (800, 420)
"""Pixels of such a picture: enough for a large one where links are shown."""
ADDRESS = "WEBNNM_SITE"
"""The variable with the address of the built site, where it is known: many who show links take
relative addresses of pictures for none."""
PLACE = re.compile(r"^( *)<!-- ([a-z]+) -->\n", re.MULTILINE)
"""The place of a part, by its name: a file of site/parts, or the links between the pages."""
EVERYWHERE = ("head", "header", "footer")
EMPTY_ROWS = 11
"""Rows of an editor whose text the page writes itself."""
PROGRAM = re.compile(r'<script type="py" src="(\./[^"]+)" config="(\./[^"]+)">')
"""The program of a page in the page itself, and its configuration."""
IMPORTED = re.compile(r"""(?:\bfrom|\bimport)\s*["'](\.{1,2}/[^"']+)["']""")
"""A module that a script imports when it is loaded itself."""
LOCK_FILE = "./vendor/pyodide/pyodide-lock.json"
PYSCRIPT = (
    *("core-", "deprecations-manager", "donkey", "error", "pyodide_graph"),
    *("py-editor", "py-game", "py-terminal"),
)
"""How the names of the scripts begin that PyScript loads in every page."""


def write_parts(site: Path) -> None:
    """Write the parts into every page of a site, from its folder `parts`, which is then removed."""
    pages = {name: whole(site, name) for name in LINKS}
    for name, text in pages.items():
        (site / name).write_text(text, encoding="utf-8")
    shutil.rmtree(site / "parts")


def whole(site: Path, name: str) -> str:
    """Return a page with its parts.

    Raises `ValueError` if it lacks a part that all pages have, or names one that does not exist.
    """
    files = (site / "parts").glob("*.html")
    parts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    if heading := HEADINGS.get(name):
        parts |= {"title": f"{tag('title', format_title(heading))}\n"}
        parts |= {"heading": f"{tag('h1', heading)}\n"}
    parts |= offer_parts(name)
    model = (site / name).with_suffix(".nnm")
    parts |= {"editor": editor(model.read_text(encoding="utf-8") if model.exists() else "")}
    if (recorded := site / "parts" / "recorded" / name).exists():
        parts |= {"recorded": recorded.read_text(encoding="utf-8")}
    text = (site / name).read_text(encoding="utf-8")
    parts |= {"link": describe_link(name, text)}
    named = [match[2] for match in PLACE.finditer(text)]
    if {*named} - parts.keys() or any(named.count(part) != 1 for part in EVERYWHERE):
        raise ValueError(f"site/{name} names {named}: {EVERYWHERE} once, others of {sorted(parts)}")
    return fill(text, {**parts, "navigation": links(name), "preloads": preloads(site, text)})


def format_title(heading: str) -> str:
    """Return the title of a page, which tabs and bookmarks show.

    >>> format_title("First graph")
    'First graph · webnnm'
    """
    return f"{heading} · webnnm"


def editor(text: str) -> str:
    """Return the field of a model's text, beside the numbers of its lines."""
    count = len(text.splitlines())
    numbers = "\n".join(map(str, range(1, max(1, count) + 1)))
    field = tag(
        "textarea",
        text.rstrip("\n"),
        id="source",
        aria_describedby="diagnostics",
        autocapitalize="off",
        autocomplete="off",
        rows=count or EMPTY_ROWS,
        spellcheck="false",
        wrap="off",
    )
    column = tag("pre", numbers, id="line-numbers", aria_hidden="true")
    frame = tag("div", column, field, class_="frame")
    # In one line: lines are indented with what is around them.
    return f"{tag('label', 'Model', for_='source')}\n{frame.replace(chr(10), '&#10;')}\n"


def describe_link(name: str, text: str) -> str:
    """Return what a link to a page shows elsewhere, as Open Graph has it (https://ogp.me)."""
    title, description = TITLE.search(text), DESCRIPTION.search(text)
    if not description:
        raise ValueError(f"site/{name} has no description")
    width, height = LINK_SIZE
    picture = f"{LINK_PICTURES}/{name.removesuffix('.html')}.jpg"
    properties = {
        "type": "website",
        "site_name": "webnnm",
        "title": unescape(title[1]) if title else format_title(HEADINGS[name]),
        "description": unescape(description[1]),
        "image": f"{os.environ.get(ADDRESS, './').rstrip('/')}/{picture}",
        "image:width": width,
        "image:height": height,
    }
    tags = [tag("meta", property=f"og:{key}", content=value) for key, value in properties.items()]
    tags.append(tag("meta", name="twitter:card", content="summary_large_image"))
    return "".join(f"{each}\n" for each in tags)


def fill(text: str, parts: dict[str, str]) -> str:
    r"""Return a text with parts in their places, indented like these.

    >>> fill("<p>\n  <!-- a -->\n</p>\n", {"a": "<b>\n  <!-- c -->\n</b>\n", "c": "text\n"})
    '<p>\n  <b>\n    text\n  </b>\n</p>\n'
    """
    return PLACE.sub(lambda place: indent(fill(parts[place[2]], parts), place[1]), text)


def preloads(site: Path, text: str) -> str:
    """Return links that let a browser fetch at once what the start of a page asks for in turn.

    They name files of PyScript, the bridge and Pyodide if these are in the site already.
    """
    data: list[str] = []
    wheels: list[str] = []
    scripts = [f"./vendor/pyscript/{name}" for name in _names(site / "vendor" / "pyscript")]
    if program := PROGRAM.search(text):
        config = json.loads((site / program[2]).read_text(encoding="utf-8"))
        data = [program[2], program[1], *config["files"]]
        scripts += config["js_modules"]["main"]
        wheels = find_wheels(site, config["packages"])
        data += [LOCK_FILE] if wheels else []
    for script in scripts:  # it grows meanwhile
        scripts += [name for name in _find_imports(site, script) if name not in scripts]
    fetched = {"rel": "preload", "as_": "fetch", "crossorigin": ""}
    kinds = [
        ({"rel": "modulepreload"}, scripts),
        (fetched, data),
        # What starts Python is more urgent.
        (fetched | {"fetchpriority": "low"}, wheels),
    ]
    return "".join(
        f"{tag('link', **kind, href=name, data_later='')}\n"
        for kind, names in kinds
        for name in names
    )


def find_wheels(site: Path, packages: Sequence[str]) -> list[str]:
    """Return the wheels of packages from a site's lock file, none if it is not there yet."""
    if not (site / LOCK_FILE).exists():
        return []
    locked = json.loads((site / LOCK_FILE).read_text(encoding="utf-8"))["packages"]
    folder = posixpath.dirname(LOCK_FILE)
    return [f"{folder}/{locked[name]['file_name']}" for name in packages if name in locked]


def _names(pyscript: Path) -> list[str]:
    return sorted(file.name for name in PYSCRIPT for file in pyscript.glob(f"{name}*.js"))


def _find_imports(site: Path, script: str) -> list[str]:
    """Return the modules that a script of a site imports, none if the script is not there yet."""
    file = site / script
    names = IMPORTED.findall(file.read_text(encoding="utf-8")) if file.exists() else []
    folder = posixpath.dirname(script)
    return [f"./{posixpath.normpath(f'{folder}/{name}')}" for name in dict.fromkeys(names)]


def links(current: str) -> str:
    """Return the navigation of a page: a menu of all pages in groups, and those of its own group.

    >>> links("hello.html").splitlines()[-7]
    '<li><a href="./hello.html" aria-current="page">First graph</a></li>'
    """
    groups = [_link_group(title, pages, current) for title, pages in GROUPS.items()]
    own = next((pages for pages in GROUPS.values() if current in pages), {})
    home = tag(
        "a", "webnnm", class_="brand", href=f"./{HOME}", aria_current=_is_here(HOME, current)
    )
    button = tag("button", "Pages", type="button", popovertarget="menu")
    documents = tag("a", "Documentation", href=f"./{DOCUMENTS}")
    course = tag("a", "Course in eight lessons", href=f"./{COURSE}")
    gallery = tag("a", "Gallery of examples", href=f"./{GALLERY}")
    menu = tag("div", "\n", *groups, course, gallery, documents, "\n", id="menu", popover="")
    near = tag("ul", "\n", *_link_items(own, current), class_="near") if own else ""
    guide = tag("a", "Guide", href=f"./docs/{GUIDES[current]}.html", title="Guide to this page")
    last = tag("p", documents if current == HOME else guide)
    rows = [row for part in (home, button, menu, near, last) if part for row in (part, "\n")]
    return f"{tag('nav', chr(10), *rows, aria_label='Pages')}\n"


def _link_group(title: str, pages: Mapping[str, str], current: str) -> object:
    """Return a titled list of links."""
    name = f"menu-{title.partition(' ')[0].lower()}"
    items = _link_items(pages, current)
    heading = tag("p", title, id=name)
    return tag("div", "\n", heading, "\n", tag("ul", "\n", *items, aria_labelledby=name), "\n")


def _link_items(pages: Mapping[str, str], current: str) -> list[object]:
    rows: list[object] = []
    for page, text in pages.items():
        link = tag("a", text, href=f"./{page}", aria_current=_is_here(page, current))
        rows += [tag("li", link), "\n"]
    return rows


def _is_here(page: str, current: str) -> str | None:
    return "page" if page == current else None
