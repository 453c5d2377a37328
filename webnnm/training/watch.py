"""What a watched step reports, to find the first value that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.core.dtypes import is_float
from webnnm.graph.elaboration.lowering import Lowered
from webnnm.graph.node import Operand
from webnnm.training.forward import Losses


@dataclass(frozen=True)
class Watch:
    """One value of a step: its display name, and max|x|, NaN if some element is not finite."""

    name: str
    value: Operand


def watched(lowered: Lowered, losses: Losses, gradients: Mapping[str, Operand]) -> list[Watch]:
    """Return what to watch, in the order of computation: parameters, layers, losses, gradients.

    Gradients come in the order of the backward pass, the last layer's first.
    """
    found = [_watch(f'parameter "{name}"', w) for name, w in lowered.parameters.items()]
    for layer, results in lowered.layers:
        line, column = layer.span.position(lowered.source)
        name = f'layer "{layer.label}" (line {line}, column {column})'
        found += [_watch(name, result) for result in results if is_float(result.dtype)]
    found += [_watch(f'loss of output "{name}"', losses.mean(name)) for name in losses.sums]
    backwards = list(gradients.items())[::-1]
    found += [_watch(f'gradient of "{name}"', g) for name, g in backwards]
    return [watch for watch in found if is_float(watch.value.dtype)]


def _watch(name: str, x: Operand) -> Watch:
    b = x.builder
    if x.dtype != "float32":
        x = b.cast(x, type="float32")
    axes = range(x.rank)
    spoiled = x * 0
    if axes:
        return Watch(name, b.reduce_max(b.abs(x), axes=axes) + b.reduce_sum(spoiled, axes=axes))
    return Watch(name, b.abs(x) + spoiled)
