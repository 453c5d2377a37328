"""A model, its form and its rows as a part of the address, for links that restore them."""

import json
import math
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from pyscript import document, window

KEY = "#model="
MAX_BYTES = 2**18
"""Bytes of a text and its settings at most: an address can unpack to far more than it shows."""
MAX_LINK = 2**16
"""Letters of a link with rows at most: programs that pass longer ones on may cut them."""
MAX_LETTERS = 2**16
"""The maximum length of a model text; the largest one of this site has 2,000 letters."""
MAX_LAYERS = 2000
"""The maximum number of layers of a model, copies by `repeat=` included."""
MAX_DEPTH = 3
"""The brackets inside one another that JSON of a link can need."""
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
REPEAT = re.compile(r"repeat\s*=\s*(\d+)", re.IGNORECASE)


class UnfitLink(ValueError):
    """A link that this page cannot take; its text says why."""


class Shared(NamedTuple):
    """What a link has.

    `text` of the model; `values` of the fields of the form, for `fill`; `rows`, the name of a file
    and what it contains, as text or bytes, or None.
    """

    text: str
    values: dict
    rows: tuple | None


def link(text, rows=None):
    """Return the address of this page with a text, what its form says, and rows.

    Raises `UnfitLink` for rows that are too many for an address.
    """
    shared = {"text": text, "fields": fields()}
    if rows is not None:
        name, content = rows
        is_text = isinstance(content, str)
        shared["rows"] = [name, content if is_text else content.decode("latin-1"), is_text]
    content = json.dumps(shared, ensure_ascii=False).encode(errors="replace")
    packed = urlsafe_b64encode(zlib.compress(content, 9)).decode().rstrip("=")
    if rows is not None and (len(packed) > MAX_LINK or len(content) > MAX_BYTES):
        raise UnfitLink(
            f"there are too many rows for a link: it would have {len(packed):,} letters for "
            f"{len(content):,} bytes, and {MAX_LINK:,} for {MAX_BYTES:,} fit"
        )
    return f"{bare()}{KEY}{packed}"


def read_link():
    """Return what the address has, None if it is none of `link`.

    Raises `UnfitLink` for an address that was cut or changed on its way, or that asks for more than
    a link may.
    """
    fragment = window.location.hash
    if not fragment.startswith(KEY):
        return None
    if len(fragment) > MAX_BYTES:
        raise UnfitLink(f"the link has {len(fragment):,} letters, {MAX_BYTES:,} at most")
    try:
        packed = fragment[len(KEY) :]
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(
            urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), MAX_BYTES
        )
        if not unpacking.eof:
            raise ValueError("the end is missing")
        shared = json.loads(shallow(content.decode()))
        text, values = shared["text"], dict(shared["fields"])
        if not isinstance(text, str):
            raise TypeError("the text is none")
        rows = read_rows(shared["rows"]) if "rows" in shared else None
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise UnfitLink("the link to this model is not complete: copy it again") from error
    return Shared(modest(text), values, rows)


def read_rows(entry):
    """Return the name and the content of the rows of a link."""
    name, content, is_text = entry
    if not isinstance(name, str) or not isinstance(content, str):
        raise TypeError("the rows are no text")
    return name, content if is_text else content.encode("latin-1")


def shallow(text):
    """Return JSON without more brackets inside one another than a link has.

    Python's parser calls itself for each, and ends if there are too many.
    """
    depth = 0
    for letter in re.findall(r"[\[\]{}]", STRING.sub("", text)):
        depth += 1 if letter in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError("too many brackets inside one another")
    return text


def modest(text):
    """Return the text of a model that a link may bring.

    A page checks and draws it as soon as it opens, before anybody has looked at it. Raises
    `UnfitLink` for one that is too long or has too many layers.
    """
    if len(text) > MAX_LETTERS:
        raise UnfitLink(f"the model has {len(text):,} letters, a link {MAX_LETTERS:,} at most")
    repeats = [number[:9] for number in REPEAT.findall(text)]
    layers = text.count("(") * math.prod(max(int(number), 1) for number in repeats)
    if layers > MAX_LAYERS:
        raise UnfitLink(
            f"the model may have {layers:.3g} layers, that of a link {MAX_LAYERS:,} at most"
        )
    return text


def take(field, value):
    """Write a value of a link into a field; raises `UnfitLink` if the field does not offer it."""
    before, disabled = field.value, field.disabled
    field.value, field.disabled = value, False  # browsers do not check what is disabled
    # A list of choices takes none of others, and a field of numbers only numbers.
    fits = field.value == value and field.checkValidity()
    field.disabled = disabled
    if not fits:
        field.value = before
        raise UnfitLink(f'"{value[:40]}" is not a value of "{name_of(field)}"')


def name_of(field):
    """Return what a field is called in its page."""
    labels = field.labels
    return labels[0].textContent.strip() if labels.length else field.id


def bare():
    """Return the address of this page without what stands behind #."""
    return window.location.href.partition("#")[0]


def settings():
    """Return the fields of the form that are settings: those with a name that is kept."""
    controls = document.querySelectorAll("#form :is(input, select)")
    return [field for field in controls if field.id and field.type != "file"]


def fields():
    """Return what the form says, by the names of its fields."""
    return {
        field.id: field.checked if field.type == "checkbox" else field.value for field in settings()
    }


def fill(values):
    """Write into the form what it said when the link was made.

    Raises `UnfitLink` for what a field does not offer.
    """
    for field in settings():
        value = values.get(field.id)
        if isinstance(value, bool) and field.type == "checkbox":
            field.checked = value
        elif isinstance(value, str) and field.type != "checkbox":
            take(field, value)
