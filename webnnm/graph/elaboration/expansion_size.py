"""How many layers a text stands for, counted before any is expanded."""

from __future__ import annotations

from collections.abc import Collection

from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.outline import Block, Outline
from webnnm.notation.syntax import Items, Layer, Number

MAX_LAYERS = 50_000
MAX_REPEATED = 5_000
"""Layers and calls of blocks that a text may stand for beyond those that are written in it: the
largest language models have 2,000 layers."""


def check_expansion_size(outline: Outline, sourced: Collection[str]) -> int:
    """Return how many layers and calls the expansion of a document may have.

    Raises `ModelError` NNM303 if what is written already stands for more.
    """
    layers = [block.layers.layers if block.layers else () for block in outline.blocks.values()]
    limit = min(MAX_LAYERS, sum(map(len, layers)) + MAX_REPEATED)
    sizes = _sizes(outline, sourced)
    for block in outline.roots:
        total = sizes.get(block.name, 0)
        if total > limit:
            largest = max(_layers(block), key=lambda layer: _size(layer, sizes))
            raise too_large(outline, largest, f"{total:,}", limit)
    return limit


def too_large(outline: Outline, layer: Layer, count: str, limit: int) -> ModelError:
    """Return the error of a text that stands for too many layers."""
    repeated = layer.option("repeat") or layer.option("shapes")
    return outline.error(
        "NNM303",
        f"the text stands for {count} layers and calls of blocks; at most {limit:,} are possible",
        (repeated or layer).span,
        "lower repeat=, or call fewer blocks",
    )


def _sizes(outline: Outline, sourced: Collection[str]) -> dict[str, int]:
    """Return the size of every block that a root needs; of circles, what the expansion refuses."""
    sizes: dict[str, int] = dict.fromkeys(sourced, 0)
    for root in outline.roots:
        waiting = [(root, iter(_find_called_blocks(root, outline)))]
        entered = {root.name}
        while waiting:
            block, calls = waiting[-1]
            callee = next((b for b in calls if b.name not in sizes and b.name not in entered), None)
            if callee is not None:
                entered.add(callee.name)
                waiting.append((callee, iter(_find_called_blocks(callee, outline))))
            else:
                waiting.pop()
                sizes[block.name] = sum(_size(layer, sizes) for layer in _layers(block))
    return sizes


def _layers(block: Block) -> tuple[Layer, ...]:
    return tuple(block.layers.layers) if block.layers else ()


def _find_called_blocks(block: Block, outline: Outline) -> list[Block]:
    names = dict.fromkeys(layer.operator for layer in _layers(block))
    return [outline.blocks[name] for name in names if name in outline.blocks]


def _size(layer: Layer, sizes: dict[str, int]) -> int:
    """Return for how many layers and calls a layer stands."""
    times = 1
    repeat, shapes = layer.option("repeat"), layer.option("shapes")
    if shapes is not None and isinstance(shapes.value, Items):
        times = len(shapes.value.items)
    elif repeat is not None and isinstance(repeat.value, Number):
        times = max(1, int(min(repeat.value.value, 10**9)))
    return times * (1 + sizes.get(layer.operator, 0))
