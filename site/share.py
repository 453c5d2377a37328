"""A model and the settings of its form as a part of the address, for links that restore them."""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from pyscript import document, window

KEY = "#model="
LONGEST = 2**22
"""Bytes of a text and its settings at most: an address can unpack to far more than it shows."""


def link(text):
    """Return the address of this page with a text and what its form says."""
    packed = zlib.compress(json.dumps({"text": text, "fields": fields()}).encode(), 9)
    return f"{bare()}{KEY}{urlsafe_b64encode(packed).decode().rstrip('=')}"


def linked():
    """Return the text of the address, with its settings in the form; None if it has none.

    Raises `ValueError` for an address that was cut or changed on its way.
    """
    found = window.location.hash
    if not found.startswith(KEY):
        return None
    try:
        packed = found[len(KEY) :]
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(
            urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), LONGEST
        )
        if not unpacking.eof:
            raise ValueError("the end is missing")
        shared = json.loads(content)
        text, given = str(shared["text"]), dict(shared["fields"])
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise ValueError("the link to this model is not complete: copy it again") from error
    fill(given)
    return text


def bare():
    """Return the address of this page without what stands behind #."""
    return window.location.href.partition("#")[0]


def settings():
    """Return the fields of the form that are settings: those with a name that is kept."""
    found = document.querySelectorAll("#form :is(input, select)")
    return [field for field in found if field.id and field.type != "file"]


def fields():
    """Return what the form says, by the names of its fields."""
    return {
        field.id: field.checked if field.type == "checkbox" else field.value for field in settings()
    }


def fill(given):
    """Write into the form what it said when the link was made."""
    for field in settings():
        value = given.get(field.id)
        if isinstance(value, bool) and field.type == "checkbox":
            field.checked = value
        elif isinstance(value, str) and field.type != "checkbox":
            field.value = value
