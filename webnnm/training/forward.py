"""The forward half of a step: the outputs of a batch, and their losses over valid rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import Lowered
from webnnm.graph.node import Operand
from webnnm.training.losses import Labels, Loss, LossSettings, is_of_labels
from webnnm.training.output_activation import activation_of

WEIGHT = "weight/"
"""The prefix, among masks, of an output's name, for the factors of the losses of its rows."""


@dataclass(frozen=True, kw_only=True)
class OutputLoss:
    """The loss of an output, as computed in a graph.

    `labels` is the form of its targets; `sequence`: axis 1 of the output is a sequence, whose
    positions are rows; `reference`: the loss of an uninformed prediction, to make losses
    comparable.
    """

    loss: Loss
    settings: LossSettings = field(default_factory=LossSettings)
    labels: Labels = "same"
    sequence: bool = False
    reference: float = 1.0
    reason: str = ""


def label_forms(losses: Mapping[str, OutputLoss]) -> dict[str, Labels]:
    """Return the form of the targets of every output."""
    return {name: chosen.labels for name, chosen in losses.items()}


@dataclass(frozen=True)
class Losses:
    """For every output, Σ m·ℓ and Σ m, the number of rows and positions that count."""

    sums: Mapping[str, Operand]
    counts: Mapping[str, Operand]

    def mean(self, name: str) -> Operand:
        """Return L = Σ m·ℓ/Σ m, 0 if nothing counts."""
        b = self.sums[name].builder
        return self.sums[name] / b.max(self.counts[name], b.constant(1, "float32"))


def row_mask(b: GraphBuilder, valid: Operand, batch: int) -> Operand:
    """Return float32 `[batch]`: 1 for the first `valid` rows, 0 for padding rows.

    For a column of such numbers, return a table with a row for each.
    """
    return b.cast(b.lesser(b.constant(range(batch), "float32"), valid), type="float32")


def losses_of(
    lowered: Lowered,
    losses: Mapping[str, OutputLoss],
    targets: Mapping[str, Operand],
    rows: Operand | None,
    valid: Operand,
    masks: Mapping[str, Operand],
) -> Losses:
    """Return the losses of a batch against its targets (spec D.1, E.9).

    `rows` is the mask of rows, None if all of them count; `valid` is how many do. Padded
    positions of sequences do not count, nor do positions that a loss ignores. `masks` may contain
    row weights under `WEIGHT` and the name of an output, whose mean over the whole subset is 1.
    """
    b = lowered.builder
    sums: dict[str, Operand] = {}
    counts: dict[str, Operand] = {}
    for name, output in lowered.outputs.items():
        chosen = losses[name]
        with b.place(f"loss of {name}"):
            if chosen.loss.total is not None:
                sums[name], counts[name] = _in_total(
                    b, lowered, name, chosen, targets[name], rows, valid, masks
                )
                continue
            found = chosen.loss.rows(
                b, activation_of(output), targets[name], chosen.settings, chosen.sequence
            )
            values, weights = found.values, chosen.settings.class_weights
            shape = values.shape
            of_labels = is_of_labels(chosen.loss.name, output.shape[1 + chosen.sequence :])
            if weights is not None and not of_labels:
                values = values * _class_weights(b, weights, targets[name], chosen.labels, shape)
            if WEIGHT + name in masks:
                values = values * _stretched(b, masks[WEIGHT + name], shape)
            padding = lowered.masks.get(name) if chosen.sequence else None
            known = [_stretched(b, mask, shape) for mask in (rows, padding) if mask is not None]
            if found.counted is not None:
                known.append(found.counted)
            mask = reduce(operator.mul, known) if known else None
            sums[name] = b.reduce_sum(values if mask is None else values * mask)
            if mask is None or (padding is None and found.counted is None):
                counts[name] = valid * math.prod(shape[1:])
            else:
                whole = b.expand(mask, new_shape=shape) if mask.shape != shape else mask
                counts[name] = b.reduce_sum(whole)
    return Losses(sums, counts)


def _in_total(
    b: GraphBuilder,
    lowered: Lowered,
    name: str,
    chosen: OutputLoss,
    target: Operand,
    rows: Operand | None,
    valid: Operand,
    masks: Mapping[str, Operand],
) -> tuple[Operand, Operand]:
    """Return Σ m·ℓ and Σ m of a loss that computes the mean over rows itself."""
    assert chosen.loss.total is not None
    output = lowered.outputs[name]
    shape = output.shape[: 1 + chosen.sequence]
    padding = lowered.masks.get(name) if chosen.sequence else None
    weights = b.expand(b.constant(1, "float32"), new_shape=shape)
    for mask in (rows, padding):
        weights = weights if mask is None else weights * _stretched(b, mask, shape)
    count = valid * math.prod(shape[1:]) if padding is None else b.reduce_sum(weights)
    if WEIGHT + name in masks:
        weights = weights * _stretched(b, masks[WEIGHT + name], shape)
    given = chosen.settings.class_weights
    if given is not None:
        weights = weights * _class_weights(b, given, target, chosen.labels, shape)
    return chosen.loss.total(b, activation_of(output), target, weights) * count, count


def _class_weights(
    b: GraphBuilder,
    weights: tuple[float, ...],
    target: Operand,
    labels: Labels,
    shape: tuple[int, ...],
) -> Operand:
    """Return the weight of the class of each row."""
    if target.dtype != "float32":  # class numbers; negative ones have no weight
        numbers = b.constant(range(len(weights)), target.dtype)
        column = b.reshape(target, new_shape=(*target.shape, 1))
        target = b.cast(b.equal(column, numbers), type="float32")
    elif labels == "signs":
        target = (target + 1) * 0.5
    if target.shape[-1] == 1:
        no, yes = weights
        return b.reshape(target * (yes - no) + no, new_shape=shape)
    return b.reduce_sum(target * b.constant(weights, "float32"), axes=[target.rank - 1])


def _stretched(b: GraphBuilder, mask: Operand, shape: tuple[int, ...]) -> Operand:
    """Reshape a mask over leading dimensions so that it broadcasts with a shape."""
    sizes = (*mask.shape, *(1,) * (len(shape) - mask.rank))
    return mask if sizes == mask.shape else b.reshape(mask, new_shape=sizes)
