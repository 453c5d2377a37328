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


def list_watches(lowered: Lowered, losses: Losses, gradients: Mapping[str, Operand]) -> list[Watch]:
    """Return what to watch, in the order of computation: parameters, layers, losses, gradients.

    Gradients come in the order of the backward pass, the last layer's first.
    """
    watches = [_make_watch(f'parameter "{name}"', w) for name, w in lowered.parameters.items()]
    for layer, results in lowered.layers:
        line, column = layer.span.position(lowered.source)
        name = f'layer "{layer.label}" (line {line}, column {column})'
        watches += [_make_watch(name, result) for result in results if is_float(result.dtype)]
    watches += [_make_watch(f'loss of output "{name}"', losses.mean(name)) for name in losses.sums]
    last_first = list(gradients.items())[::-1]
    watches += [_make_watch(f'gradient of "{name}"', g) for name, g in last_first]
    return [watch for watch in watches if is_float(watch.value.dtype)]


def _make_watch(name: str, x: Operand) -> Watch:
    b = x.builder
    if x.dtype != "float32":
        x = b.cast(x, type="float32")
    axes = range(x.rank)
    zero_or_nan = x * 0
    if axes:
        return Watch(name, b.reduce_max(b.abs(x), axes=axes) + b.reduce_sum(zero_or_nan, axes=axes))
    return Watch(name, b.abs(x) + zero_or_nan)
