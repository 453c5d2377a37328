"""Models that were taught in a page as a part of its address, for links that open them."""

import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from examples_learner import CLASSES, with_classes
from pyscript import window
from share import MAX_BYTES, MAX_LINK, UnfitLink, bare

KEY = "#taught="
LINK = re.compile(rf"{KEY}([a-z0-9-]+)\.([\w-]+)")
MAX_CLASSES = 100


def make_link(basis, content):
    """Return the address of this page with the snapshot of a model, and what it builds on.

    Raises `UnfitLink` for a model that is too large for an address.
    """
    packed = urlsafe_b64encode(zlib.compress(content, 9)).decode().rstrip("=")
    if len(packed) > MAX_LINK or len(content) > MAX_BYTES:
        raise UnfitLink(
            f"the model is too large for a link: it would have {len(packed):,} letters, and "
            f"{MAX_LINK:,} fit; save the model or a page instead"
        )
    return f"{bare()}{KEY}{basis}.{packed}"


def read_link():
    """Return what a model in the address builds on and its snapshot; None if there is none.

    Raises `UnfitLink` for an address that was cut or changed on its way.
    """
    fragment = window.location.hash
    if not fragment.startswith(KEY):
        return None
    match = LINK.fullmatch(fragment) if len(fragment) <= MAX_BYTES else None
    try:
        if not match:
            raise ValueError("no model")
        basis, packed = match.groups()
        unpacking = zlib.decompressobj()
        padding = "=" * (-len(packed) % 4)
        content = unpacking.decompress(urlsafe_b64decode(packed + padding), MAX_BYTES)
        if not unpacking.eof:
            raise ValueError("the end is missing")
    except (ValueError, zlib.error) as error:
        raise UnfitLink("the link to this model is not complete: copy it again") from error
    return basis, content


async def has_own_text(content, text):
    """Return whether the model of a snapshot is that of a page, for some number of classes.

    Before anything is made of it: a text that a stranger wrote could ask for any memory.
    """
    from webnnm.language.formatting import format_text
    from webnnm.snapshots.snapshot import open_file, text_and_files, verify

    written, files = text_and_files(verify(await open_file(content)))
    match = CLASSES.search(written)
    count = int(match[2][:9]) if match else 0
    own = format_text(with_classes(text, count))
    return not files and count <= MAX_CLASSES and written.strip() == own.strip()
