"""What each output of a model is trained for: its loss, its labels, and how they are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, WebNNMError
from webnnm.core.shapes import Shape, show
from webnnm.data.binding.binding import DataBinding
from webnnm.data.binding.label_facts import measure_labels
from webnnm.data.field import Kind
from webnnm.data.protocol import load_outputs
from webnnm.graph.elaboration.loss_words import loss_numbers
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network, Output
from webnnm.graph.node import Operand
from webnnm.training.forward import OutputLoss
from webnnm.training.loss_choice import (
    Choice,
    LabelFacts,
    check_alpha,
    choose_loss,
    choose_loss_settings,
    compute_reference_loss,
)
from webnnm.training.losses import LOSSES, SMOOTHED, Alpha, LossSettings
from webnnm.training.output_activation import OutputActivation, find_activation

if TYPE_CHECKING:
    from webnnm.data.series.intervals import Intervals
    from webnnm.evaluation.result import Report

MAX_CLASSES = 1024
"""Outputs with more classes, such as the tokens of a language, have only a loss and no report:
tables of all pairs of classes would be larger than the model."""


@dataclass(frozen=True)
class Objective:
    """What an output is trained for.

    `features` are the output's sizes without batch and sequence; `labels` is what is known about
    the labels of the training rows, None without a dataset in memory; `smoothed` is whether some
    output of the model has a loss whose targets can be smoothed; `operator` is the name of the
    last operator.
    """

    output: Output
    activation: OutputActivation
    features: Shape
    sequence: bool
    choice: Choice
    labels: LabelFacts | None
    smoothed: bool = True
    operator: str = ""

    @property
    def written(self) -> bool:
        """Whether the text of the model names the loss."""
        return self.output.block.loss is not None

    def loss(
        self,
        *,
        name: str = "",
        smoothing: float = 0.0,
        class_weights: tuple[float, ...] | None = None,
    ) -> OutputLoss:
        """Return the loss with its numbers settled; `name` selects another than the chosen one.

        Targets of losses that cannot be smoothed stay as they are if those of another output are
        smoothed. Raises `DataError` NNM704 if `smoothing` applies to no output.
        """
        if smoothing and not self.smoothed:
            raise DataError(
                "NNM704",
                f"label_smoothing is {smoothing:g}, but {self._where} is trained with "
                f"{self.choice.loss.name}, whose targets are not classes",
                hint=f"leave it out; it works with {', '.join(SMOOTHED)}",
            )
        choice = self.choice
        if name and name != choice.loss.name:
            choice = choose_loss(self.activation, self.features, name, self.labels, self._where)
        settings: LossSettings = choose_loss_settings(
            choice,
            self.activation,
            self.features,
            loss_numbers(self.output.block),
            self.labels,
            smoothing=smoothing,
            where=self._where,
        )
        return OutputLoss(
            loss=choice.loss,
            settings=replace(settings, class_weights=class_weights),
            labels=choice.labels,
            sequence=self.sequence,
            reference=compute_reference_loss(
                choice.loss, self.activation, self.features, self.labels
            ),
            reason=choice.reason,
        )

    def class_weights(
        self,
        wanted: str | Mapping[str, float],
        names: Sequence[str],
        shares: Callable[[], Sequence[float]] | None,
    ) -> tuple[float, ...]:
        """Return the weight of every class by the hyperparameter `class_weight`.

        `names` are the names of the classes: a weight is given by the name or the number of a
        class. `shares` returns how often each of several labels is yes, if data are known.
        Raises `DataError` NNM704 if the output has no classes, or lacks a named one.
        """
        from webnnm.runtime.testing.class_weights import class_weights

        return class_weights(
            wanted, self.choice.loss.name, self.features, self.labels, names, self._where, shares
        )

    def check_class_weights(self, weights: Sequence[float] | None) -> None:
        """Raise `DataError` NNM704 if the number of weights is not that of the classes."""
        classes = max(2, self.features[-1] if self.features else 1)
        if weights is not None and len(weights) != classes:
            hint = f"give {classes} numbers"
            raise DataError("NNM704", f"{self._where} has {len(weights)} class weights", hint=hint)

    def check_alpha(self, alpha: Alpha) -> None:
        """Raise `DataError` NNM603 for weights of a focal loss that do not fit the output."""
        check_alpha(alpha, self.activation, self.features, self._where)

    @property
    def _where(self) -> str:
        return f'output "{self.output.name}"'


def objectives(
    network: Network, sequence: Mapping[str, int], binding: DataBinding | None
) -> dict[str, Objective]:
    """Choose the loss of every output, by its activation and its labels (spec D.4).

    Raises `DataError` NNM604 or NNM706 if a loss is impossible, with its position in the text if
    it is written there; NNM604 also for a softmax along another dimension than the last one if no
    loss is written.
    """
    lowered = lower_network(network, sequence=sequence)
    measured = _labels(binding)
    result: dict[str, Objective] = {}
    for output in network.outputs:
        tensor = lowered.outputs[output.name]
        ending = find_activation(tensor)
        activation = ending.kind
        sequenced = output.source.features.sequence is not None
        features = tensor.shape[1 + sequenced :]
        loss = output.block.loss
        labels = measured.get(output.name)
        if ending.elsewhere and loss is None:
            raise DataError(
                "NNM604",
                f'output "{output.name}" ends in a softmax, but not along the last dimension of '
                f"{show(features)}, where losses compare classes",
                hint=_axis_hint(output, tensor, sequenced, labels),
            )
        try:
            choice = choose_loss(
                activation,
                features,
                loss.loss if loss is not None else None,
                labels,
                f'output "{output.name}"',
            )
        except DataError as error:
            if loss is None:
                raise
            error_in_text = network.outline.error(
                error.code, error.message, loss.loss_span, error.hint
            )
            raise cast(WebNNMError, error_in_text) from error
        result[output.name] = Objective(
            output, activation, features, sequenced, choice, labels, operator=ending.operator
        )
    smoothed = any(objective.choice.loss.name in SMOOTHED for objective in result.values())
    return {name: replace(objective, smoothed=smoothed) for name, objective in result.items()}


def _labels(binding: DataBinding | None) -> dict[str, LabelFacts]:
    if binding is None or binding.streams or not binding.dataset.size("training"):
        return {}
    outputs, masks = load_outputs(binding.dataset, "training")
    fields = binding.dataset.outputs

    def facts(name: str) -> LabelFacts:
        # The mask under this name may be that of the input with the same name.
        mask = masks.get(name) if fields[name].sequence else None
        return measure_labels(
            outputs[name], fields[name], mask, binding.target_standardization.get(name)
        )

    return {block: facts(bound.field) for block, bound in binding.outputs.items()}


def _axis_hint(output: Output, tensor: Operand, sequenced: bool, labels: LabelFacts | None) -> str:
    """Return what to do about a softmax whose classes are not the last dimension.

    Labels of which that is the dimension of the classes say that it is the wrong axis.
    """
    axis = getattr(tensor.node, "options", {}).get("axis")
    lead = 1 + sequenced
    has_classes_last = labels is not None and (
        labels.single or labels.sums_to_one or labels.shape == tensor.shape[lead:-1]
    )
    own = f"or write its loss, such as {output.name}:loss MSE;"
    if not isinstance(axis, int):
        return f"end it with a transpose(…) that puts the classes last, {own}"
    if axis < lead or has_classes_last:
        return f"write softmax() without axis= for classes at every position, {own}"
    order = [k for k in range(tensor.rank - lead) if k != axis - lead] + [axis - lead]
    shape = [tensor.shape[lead + k] for k in order]
    where = f"write shape={shape} at the output"
    return f"end it with transpose(permutation={order}) and {where}, {own}"


def has_reports(objectives: Mapping[str, Objective]) -> bool:
    """Return whether predictions are compared with labels in addition to the loss."""
    return not any(
        objective.choice.labels == "classes" and objective.features[-1] > MAX_CLASSES
        for objective in objectives.values()
    )


def assess_all(
    binding: DataBinding,
    objectives: Mapping[str, Objective],
    losses: Mapping[str, OutputLoss],
    outputs: Mapping[str, HostArray],
    targets: Mapping[str, HostArray],
    masks: Mapping[str, HostArray],
    *,
    subset: str = "",
    intervals: Mapping[str, Intervals] | None = None,
) -> dict[str, Report]:
    """Compare the values of all outputs with their targets; `masks` are by name of sequence.

    If they are all rows of a `subset`, forecasts are compared with simple ones; `intervals` are
    those of quantiles.
    """
    return {
        name: assess(
            binding,
            objective,
            losses[name],
            outputs[name],
            targets[name],
            masks.get(binding.sequence_of[1].get(name, "")),
            subset=subset,
            intervals=(intervals or {}).get(name),
        )
        for name, objective in objectives.items()
    }


def assess(
    binding: DataBinding,
    objective: Objective,
    chosen: OutputLoss,
    outputs: HostArray,
    targets: HostArray,
    mask: HostArray | None = None,
    *,
    subset: str = "",
    intervals: Intervals | None = None,
) -> Report:
    """Compare the values of an output with its targets, in the units of the data."""
    field = binding.outputs[objective.output.name].field
    about = binding.dataset.outputs[field]
    if field in binding.target_standardization:
        undo = binding.target_standardization[field].undo
        outputs, targets = undo(outputs), undo(targets)
    if subset and hasattr(binding.dataset, "forecasts"):
        from webnnm.evaluation.forecast_report import compare_forecasts

        dataset = cast("Any", binding.dataset)
        return compare_forecasts(outputs, targets, dataset, subset, intervals)
    if about.kind == "boxes":
        from webnnm.evaluation.detection_report import compare_grids

        return compare_grids(outputs, targets, cast("Any", binding.dataset), field, subset)
    kind: Kind = about.kind
    if chosen.labels == "classes":
        kind = "classes"
    elif chosen.labels == "signs":
        kind = "multilabel"
    elif kind == "classes" and outputs.shape[-1:] != (1,) and outputs.shape == targets.shape:
        kind = "onehot"
    labels = binding.dataset.labels(field) or list(about.features)
    if chosen.labels == "signs" and about.kind == "continuous" and targets.shape[1:] in ((), (1,)):
        labels = ["-1", "1"]
    is_built_in = chosen.loss.name in LOSSES  # else a function replaces the loss of the text
    from webnnm.evaluation.compare import evaluate
    from webnnm.evaluation.probabilities import scale_of

    return evaluate(
        outputs,
        targets,
        kind,
        labels or None,
        scale=scale_of(
            objective.activation, (chosen if is_built_in else objective.choice).loss.name
        ),
        mask=mask if objective.sequence else None,
        sequence=objective.sequence,
    )
