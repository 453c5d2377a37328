"""The gallery of examples: writes its index from the examples, and links them to the guides.

An example is a document `docs/gallery/NAME.md`: its title, one sentence, its picture, one program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tools.common import ROOT
from webnnm.core.markup import tag

FOLDER = ROOT / "docs" / "gallery"
INDEX = FOLDER / "README.md"
CARDS = re.compile(
    r"(<!-- cards: written by `make documents` -->\n).*?(<!-- end of cards -->)", re.DOTALL
)
HEAD = re.compile(
    r"\A# (?P<title>.+)\n\n(?P<sentence>(?:.+\n)+)\n!\[(?P<text>[^]]+)\]\((?P<picture>[\w./-]+)\)\n"
)
"""How an example begins."""
LINK = re.compile(r"\]\(\.\./([\w./-]+\.md)")
"""A link of an example to a guide."""
WIDTH = 240
"""The width in pixels of the picture of a card."""
GROUPS = {
    "First steps": ("line", "two-moons", "spirals", "iris"),
    "Tables and quantities": ("penguins", "intervals", "counts", "rare-class", "ensemble"),
    "Pictures": ("digits", "augmentation", "transfer", "segmentation", "detection", "life"),
    "Series and sounds": ("waves", "seasons", "anomalies", "tones"),
    "Language": ("messages", "letters", "attention", "adapters"),
    "Generate": ("autoencoder", "denoising", "vae", "gan", "diffusion"),
    "Look inside, simulate, deploy": ("saliency", "map", "experts", "pendulum", "quantized"),
}
"""The names of the examples by group, in the order of the index."""


class Example(NamedTuple):
    """An example as its card shows it."""

    name: str
    title: str
    sentence: str
    picture: str


@cache
def examples() -> dict[str, Example]:
    """Return all examples by name, in the order of the index."""
    return {
        name: read_example(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8"))
        for names in GROUPS.values()
        for name in names
    }


def read_example(name: str, text: str) -> Example:
    r"""Return the head of an example.

    >>> read_example("a", "# Title\n\nWhat it\ndoes.\n\n![A line.](pictures/a.svg)\n").sentence
    'What it does.'

    Raises `ValueError` if it does not begin with a title, a sentence and a picture.
    """
    match = HEAD.match(text)
    if not match:
        raise ValueError(f"gallery/{name}.md does not begin with a title, a sentence, a picture")
    return Example(name, match["title"], " ".join(match["sentence"].split()), match["picture"])


def files() -> dict[Path, str]:
    """Return the index with the cards of the examples."""
    text = INDEX.read_text(encoding="utf-8")
    return {INDEX: CARDS.sub(lambda match: f"{match[1]}\n{write_cards()}{match[2]}", text)}


def write_cards() -> str:
    """Return the cards of all examples in their groups, as Markdown."""
    parts: list[str] = []
    for title, names in GROUPS.items():
        cards = "\n".join(write_card(examples()[name]) for name in names)
        group = tag("div", "CARDS", class_="gallery", markdown="1")
        parts += [f"## {title}", group.replace("CARDS", f"\n\n{cards}\n\n")]
    return "\n\n".join(parts) + "\n\n"


def write_card(example: Example) -> str:
    """Return a card: a picture and a title that lead to the example, and its sentence."""
    # Without a text: the title beside it says the same.
    picture = tag("img", src=example.picture, alt="", width=WIDTH, loading="lazy")
    line = tag("br")
    return f"- [{picture}{line}**{example.title}**]({example.name}.md){line}{example.sentence}"


def neighbours(document: str) -> dict[str, Example]:
    """Return the example before and after another one, by "Previous" and "Next".

    >>> [*neighbours("gallery/line.md")]
    ['Next']
    """
    names = [f"gallery/{name}.md" for name in examples()]
    if document not in names:
        return {}
    index = names.index(document)
    order = [*examples().values()]
    positions = {"Previous": index - 1, "Next": index + 1}
    return {label: order[at] for label, at in positions.items() if 0 <= at < len(order)}


@cache
def _examples_by_guide() -> dict[str, list[Example]]:
    by_guide: dict[str, list[Example]] = {}
    for name, example in examples().items():
        for guide in _guides_of((FOLDER / f"{name}.md").read_text(encoding="utf-8")):
            by_guide.setdefault(guide, []).append(example)
    return by_guide


def _guides_of(text: str) -> Iterator[str]:
    yield from dict.fromkeys(str(PurePosixPath(path)) for path in LINK.findall(text))


def examples_of(document: str) -> list[Example]:
    """Return the examples that link to a document, in the order of the index."""
    return _examples_by_guide().get(document, [])
