"""Writes the map of docs/choosing.md: which model, guide and command suit which data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.common import ROOT
from webnnm.core.markup import Markup, tag

PAGE = ROOT / "docs" / "choosing.md"
PICTURE = ROOT / "docs" / "choosing.svg"
MAP = re.compile(
    r"(<!-- map: written by `make documents` -->\n).*?(<!-- end of map -->)", re.DOTALL
)


class Choice(NamedTuple):
    """What somebody wants of some data, the model for it, its guide, and the command."""

    aim: str
    model: str
    guide: str
    anchor: str = ""
    command: str = ""


CHOICES: dict[str, tuple[Choice, ...]] = {
    "A table": (
        Choice(
            "predict a column: a class or a quantity",
            "a small dense network",
            "tables.md",
            command="webnnm train flats.csv --target price",
        ),
        Choice(
            "continue it: its rows follow in time",
            "windows of past steps",
            "series.md",
            command="webnnm train sales.csv --target sold --horizon 14",
        ),
    ),
    "Texts": (
        Choice(
            "sort them by labels that you have",
            "a bag of words, or an encoder",
            "texts.md",
            command="webnnm train reviews.csv --text review --target liked",
        ),
        Choice(
            "find those that mean the same (search, RAG)",
            "sentence embeddings",
            "pipelines.md",
            "#embeddings",
        ),
        Choice(
            "answer, continue, summarise, translate",
            "a pretrained language model",
            "generation.md",
        ),
        Choice("write in your own style", "LoRA adapters", "fine-tuning.md"),
    ),
    "Pictures": (
        Choice(
            "one label for each",
            "a convolutional network",
            "pictures.md",
            command="webnnm train photos/",
        ),
        Choice(
            "the same, from ten pictures of a class",
            "a pretrained network and a new head",
            "transfer-learning.md",
        ),
        Choice(
            "find objects, with boxes",
            "CenterNet",
            "pictures.md",
            "#boxes-around-objects",
            "webnnm train pets/",
        ),
        Choice("a class for each pixel", "U-Net", "pictures.md", "#masks"),
    ),
    "Sounds": (
        Choice(
            "one label for each",
            "convolutions of mel bands",
            "sounds.md",
            command="webnnm train words/",
        ),
        Choice("speech as text (STT)", "Whisper", "speech.md"),
    ),
    "A trained model": (
        Choice("it is an ONNX file", "as it is", "onnx.md", command="webnnm show net.onnx"),
        Choice("it is on the Hugging Face hub", "as notation", "transformers.md"),
        Choice(
            "its weights come from PyTorch or Keras",
            "your text, their weights",
            "foreign-weights.md",
        ),
    ),
    "Something else": (
        Choice("a loss or a layer of your own", "the notation and composites", "composites.md"),
        Choice("a program with gradients, as in JAX", "arrays, `jit`, `grad`", "arrays.md"),
    ),
}
"""What somebody has → what they may want of it."""

WIDTH, ROW, GAP, TOP = 860, 26, 14, 8
AIM, MODEL = 150, 500
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #222 } .data { font-weight: 600; fill: #fff }
.box { fill: #0b6b74 } .line { stroke: #7a8a8c; fill: none } .model { fill: #0b6b74 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .model { fill: #6fd0d8 } }
"""


def draw() -> Markup:
    """Return the map as an SVG: data, aims and models from left to right.

    >>> draw().count("<rect") == len(CHOICES)
    True
    """
    parts: list[Markup] = []
    top = TOP
    for data, choices in CHOICES.items():
        height = ROW * len(choices)
        parts += _draw_data(data, choices, top, height)
        top += height + GAP
    return tag(
        "svg",
        tag("title", "Which model for which data: the list below says the same"),
        tag("style", STYLE),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {top}",
        role="img",
    )


def _draw_data(data: str, choices: tuple[Choice, ...], top: int, height: int) -> Iterator[Markup]:
    middle = top + height / 2
    yield tag("rect", x=4, y=middle - 14, width=118, height=28, rx=4, class_="box")
    yield tag("text", data, x=63, y=middle + 5, text_anchor="middle", class_="data")
    for number, choice in enumerate(choices):
        y = top + ROW * number + ROW / 2
        yield tag("path", d=f"M122 {middle} C136 {middle} 132 {y} {AIM - 6} {y}", class_="line")
        yield tag("text", choice.aim, x=AIM, y=y + 5)
        yield tag("path", d=f"M{MODEL - 34} {y} h22 m-5 -4 l5 4 l-5 4", class_="line")
        yield tag("text", choice.model.replace("`", ""), x=MODEL, y=y + 5, class_="model")


def write_list() -> str:
    """Return the map as a list of Markdown."""
    lines: list[str] = []
    for data, choices in CHOICES.items():
        lines += [f"**{data}**", ""]
        for aim, model, guide, anchor, command in choices:
            shown = f": `{command}`" if command else ""
            lines.append(f"- {aim} → [{model}]({guide}{anchor}){shown}")
        lines.append("")
    return "\n".join(lines)


def files() -> dict[Path, str]:
    """Return the picture and the document with the list."""
    text = PAGE.read_text(encoding="utf-8")
    return {
        PICTURE: f"{draw()}\n",
        PAGE: MAP.sub(lambda match: f"{match[1]}\n{write_list()}\n{match[2]}", text),
    }
