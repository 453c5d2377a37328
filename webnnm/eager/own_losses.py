"""Custom losses: functions of arrays instead of the losses of a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import Shape, show
from webnnm.eager.array import Array
from webnnm.eager.dtypes import is_kind
from webnnm.eager.embedding import embed_function, format_location
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.training.forward import OutputLoss
from webnnm.training.losses import Loss, LossRows, LossSettings, name_loss_function
from webnnm.training.output_activation import ActivatedOutput

Function = Callable[..., Any]


def own_losses(losses: Mapping[str, OutputLoss], given: Any) -> dict[str, OutputLoss]:
    """Return the losses of all outputs, replaced by functions where these are given.

    `given` is a function of predictions and targets, which returns a number for each row, or of
    predictions, targets and weights, which returns the weighted mean; or such functions by output.

    Raises `DataError` NNM704 for a single function with several outputs, and for label smoothing,
    NNM710 for unknown outputs.
    """
    functions: Any = given
    if not isinstance(given, Mapping):
        if len(losses) > 1:
            names = ", ".join(f'"{name}": …' for name in losses)
            message = f"the model has {len(losses)} outputs, but one loss is given"
            raise DataError("NNM704", message, hint=f"loss={{{names}}}")
        functions = dict.fromkeys(losses, given)
    for name in functions:
        if name not in losses:
            hint = suggestion(str(name), losses)
            raise DataError("NNM710", f'loss: no output "{name}"', hint=hint)
    return {name: _replace_loss(name, o, functions.get(name)) for name, o in losses.items()}


def _replace_loss(name: str, chosen: OutputLoss, function: Function | None) -> OutputLoss:
    if function is None:
        return chosen
    own = _OwnLoss(function, name_loss_function(function, name))
    if chosen.settings.smoothing:
        message = f"label_smoothing is {chosen.settings.smoothing:g}, but {own} takes its targets"
        raise DataError("NNM704", f"{message} unchanged", hint="smooth them in the function")
    return replace(
        chosen,
        loss=Loss(
            name=own.name,
            labels=chosen.loss.labels,
            rows=own.rows,
            total=own.total if _counts_arguments(function) > 2 else None,
        ),
        settings=LossSettings(class_weights=chosen.settings.class_weights),
        reference=1.0,
        reason="given to train()",
    )


def _counts_arguments(function: Function) -> int:
    """Return how many positional arguments a function takes."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in function may have no signature
        return 2
    return sum(a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD) for a in arguments)


class _OwnLoss:
    """A function as a loss."""

    def __init__(self, function: Function, name: str) -> None:
        self._function, self.name = function, name

    def __str__(self) -> str:
        return f"the loss {self.name}"

    def rows(
        self, b: GraphBuilder, h: ActivatedOutput, y: Operand, _s: LossSettings, sequence: bool
    ) -> LossRows:
        """Return the loss of each row."""
        lead = h.output.shape[: 1 + sequence]
        hint = (
            f"return one number for each row, {show(lead)}, as `xp.mean(…, axis=-1)` does; or take "
            "the weights of the rows as a third argument, and return one number, the weighted mean"
        )
        return LossRows(self._call(b, (h.output, y), lead, hint))

    def total(self, b: GraphBuilder, h: ActivatedOutput, y: Operand, weights: Operand) -> Operand:
        """Return the loss of all rows, some of which may have weight 0."""
        hint = "with weights, return one number: xp.sum(weights * x) / xp.sum(weights)"
        return self._call(b, (h.output, y, weights), (), hint)

    def _call(
        self, b: GraphBuilder, operands: tuple[Operand, ...], shape: Shape, hint: str
    ) -> Operand:
        result, operand_of = embed_function(b, self._function, operands, str(self))
        where = f"{self}{format_location(self._function)}"
        if not isinstance(result, Array):
            kind = f"{result!r}, which is not an array" if result is not None else "nothing"
            raise ArrayTypeError(f"{where} returned {kind}", hint)
        if result.shape != shape:
            message = (
                f"{where} returned {result.dtype}{show(result.shape)}, not float32{show(shape)}"
            )
            raise ArrayValueError(message, hint)
        if not is_kind(result.dtype, "real floating"):
            message = f"{where} returned {result.dtype}, which has no gradient"
            raise ArrayTypeError(message, "compute it with floats: `xp.astype(x, xp.float32)`")
        operand = operand_of(result)
        return operand if operand.dtype == "float32" else b.cast(operand, type="float32")
