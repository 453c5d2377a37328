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
from webnnm.training.losses import Labels, Loss, LossSettings, has_several_labels
from webnnm.training.output_activation import find_activation

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


def get_label_forms(losses: Mapping[str, OutputLoss]) -> dict[str, Labels]:
    """Return the form of the targets of every output."""
    return {name: loss.labels for name, loss in losses.items()}


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


def compute_losses(
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
        output_loss = losses[name]
        with b.place(f"loss of {name}"):
            if output_loss.loss.total is not None:
                sums[name], counts[name] = _compute_total(
                    b, lowered, name, output_loss, targets[name], rows, valid, masks
                )
                continue
            row_losses = output_loss.loss.rows(
                b,
                find_activation(output),
                targets[name],
                output_loss.settings,
                output_loss.sequence,
            )
            values, weights = row_losses.values, output_loss.settings.class_weights
            shape = values.shape
            multilabel = has_several_labels(
                output_loss.loss.name, output.shape[1 + output_loss.sequence :]
            )
            if weights is not None and not multilabel:
                values = values * _class_weights(
                    b, weights, targets[name], output_loss.labels, shape
                )
            if WEIGHT + name in masks:
                values = values * _reshape_mask(b, masks[WEIGHT + name], shape)
            padding = lowered.masks.get(name) if output_loss.sequence else None
            row_masks = [
                _reshape_mask(b, mask, shape) for mask in (rows, padding) if mask is not None
            ]
            if row_losses.mask is not None:
                row_masks.append(row_losses.mask)
            mask = reduce(operator.mul, row_masks) if row_masks else None
            sums[name] = b.reduce_sum(values if mask is None else values * mask)
            if mask is None or (padding is None and row_losses.mask is None):
                counts[name] = valid * math.prod(shape[1:])
            else:
                full_mask = b.expand(mask, new_shape=shape) if mask.shape != shape else mask
                counts[name] = b.reduce_sum(full_mask)
    return Losses(sums, counts)


def _compute_total(
    b: GraphBuilder,
    lowered: Lowered,
    name: str,
    output_loss: OutputLoss,
    target: Operand,
    rows: Operand | None,
    valid: Operand,
    masks: Mapping[str, Operand],
) -> tuple[Operand, Operand]:
    """Return Σ m·ℓ and Σ m of a loss that computes the mean over rows itself."""
    assert output_loss.loss.total is not None
    output = lowered.outputs[name]
    shape = output.shape[: 1 + output_loss.sequence]
    padding = lowered.masks.get(name) if output_loss.sequence else None
    weights = b.expand(b.constant(1, "float32"), new_shape=shape)
    for mask in (rows, padding):
        weights = weights if mask is None else weights * _reshape_mask(b, mask, shape)
    count = valid * math.prod(shape[1:]) if padding is None else b.reduce_sum(weights)
    if WEIGHT + name in masks:
        weights = weights * _reshape_mask(b, masks[WEIGHT + name], shape)
    class_weights = output_loss.settings.class_weights
    if class_weights is not None:
        weights = weights * _class_weights(b, class_weights, target, output_loss.labels, shape)
    return output_loss.loss.total(b, find_activation(output), target, weights) * count, count


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


def _reshape_mask(b: GraphBuilder, mask: Operand, shape: tuple[int, ...]) -> Operand:
    """Reshape a mask over leading dimensions so that it broadcasts with a shape."""
    sizes = (*mask.shape, *(1,) * (len(shape) - mask.rank))
    return mask if sizes == mask.shape else b.reshape(mask, new_shape=sizes)
