"""A case: a small configuration of a model of Hugging Face, of odd sizes, and its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A class of `transformers`, or of `diffusers`, and the keys of its config.

    Attributes: `batch` and `length` of its inputs; `inputs`, which ones beside `input_ids`; `rows`,
    what pads them: "right", "left", or "" for none; `target`, the length of the target sequence;
    `pictures`, how many there are where texts are compared with them; `choices`, the number of
    texts in each row, of which one is to be chosen, 0 where rows are texts;
    `image`, the height and width of pictures where the config has none, or others; `outputs`, those
    that are compared, all for (); `scale`,
    what matrices are multiplied by: sums of deep networks with many channels get too large
    otherwise; `patches`, how many down and across each picture has where they are a sequence.
    """

    name: str
    architecture: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: tuple[str, ...] = ("attention_mask",)
    batch: int = 3
    length: int = 7
    rows: str = "right"
    target: int = 4
    pictures: int = 2
    choices: int = 0
    image: tuple[int, int] | None = None
    outputs: tuple[str, ...] = ()
    scale: float = 1
    patches: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return self.name
