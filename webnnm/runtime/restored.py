"""What is known about the data that a model was trained on: forms, scales, class names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from webnnm.data.binding.binding import DataBinding
from webnnm.data.binding.form import Form
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import Standardization

if TYPE_CHECKING:
    from webnnm.data.series.intervals import Intervals
    from webnnm.data.tables.dialect import Dialect
    from webnnm.data.tables.encoding import Encoder
    from webnnm.data.tables.number_format import NumberFormat
    from webnnm.runtime.inference.answers import Answers

T = TypeVar("T")


@dataclass(frozen=True)
class Restored:
    """What is known about the data of a model without its dataset.

    Attributes: `inputs` and `targets`, block → how raw numbers are standardised; `columns`, block →
    encoders of the columns of a table; `answers`, output → what its numbers mean; `label`, the
    column of the table with the labels, or ""; `forms`, block → what the dataset accepted for an
    input; `dialect`, how the text of the table was written, None if it was none;
    `label_format`, how the numbers of `label` were, None if it is no column of a table;
    `intervals`, output → the margins of its quantiles, if a training calibrated them.
    """

    inputs: Mapping[str, Standardization] = field(default_factory=dict[str, Standardization])
    targets: Mapping[str, Standardization] = field(default_factory=dict[str, Standardization])
    columns: Mapping[str, Sequence[Encoder]] = field(default_factory=dict[str, "Sequence[Encoder]"])
    answers: Mapping[str, Answers] = field(default_factory=dict[str, Any])
    label: str = ""
    forms: Mapping[str, Form] = field(default_factory=dict[str, Form])
    dialect: Dialect | None = None
    label_format: NumberFormat | None = None
    intervals: Mapping[str, Intervals] = field(default_factory=dict[str, "Intervals"])

    def __or__(self, other: Restored) -> Restored:
        """Return the union of both; for blocks that both have, `other` wins."""
        return Restored(
            {**self.inputs, **other.inputs},
            {**self.targets, **other.targets},
            {**self.columns, **other.columns},
            {**self.answers, **other.answers},
            other.label or self.label,
            {**self.forms, **other.forms},
            other.dialect or self.dialect,
            other.label_format if other.label else self.label_format,
            {**self.intervals, **other.intervals},
        )

    def of(self, inputs: Collection[str], outputs: Collection[str]) -> Restored:
        """Return what is known about some inputs and outputs."""
        return Restored(
            _select(self.inputs, inputs),
            _select(self.targets, outputs),
            _select(self.columns, inputs),
            _select(self.answers, outputs),
            self.label,
            _select(self.forms, inputs),
            self.dialect,
            self.label_format,
            _select(self.intervals, outputs),
        )

    def form(self, block: str) -> Form | None:
        """Return what the dataset accepted for an input, None if that is not known."""
        encoders = self.columns.get(block, ())
        if block in self.forms:
            return replace(self.forms[block], encoders=encoders)
        if not encoders:
            return None
        names = tuple(name for encoder in encoders for name in encoder.features)
        return Form(Field((len(names),), "float32", features=names), encoders=encoders)

    def media(self) -> dict[str, Form]:
        """Return the forms of inputs whose rows may be files, by block."""
        return {block: form for block, form in self.forms.items() if form.fit or form.rate}

    def picture(self) -> str:
        """Return the first input whose rows are pictures, "" without one."""
        return next((block for block, form in self.forms.items() if form.light), "")


def _select(mapping: Mapping[str, T], names: Collection[str]) -> dict[str, T]:
    return {name: value for name, value in mapping.items() if name in names}


def collect_facts(binding: DataBinding) -> Restored:
    """Return what is known about a model's data from its dataset."""
    from webnnm.runtime.inference.answers import Answers

    dataset = binding.dataset
    by_block = {block: bound.field for block, bound in binding.inputs.items()}
    outputs = {block: bound.field for block, bound in binding.outputs.items()}
    standardization, targets = binding.standardization, binding.target_standardization
    encoders: Sequence[Encoder] = getattr(dataset, "encoders", ())
    report: Any = getattr(dataset, "report", None)
    answers: dict[str, Answers] = {}
    for block, name in outputs.items():
        field = dataset.outputs[name]
        if field.kind != "continuous":
            names = dataset.labels(name)
            answers[block] = Answers(
                field.shape, field.kind, field.classes, None if names is None else tuple(names)
            )
    return Restored(
        {
            block: standardization[name]
            for block, name in by_block.items()
            if name in standardization
        },
        {block: targets[name] for block, name in outputs.items() if name in targets},
        dict.fromkeys(by_block, encoders) if encoders else {},
        answers,
        report.columns[-1].name if encoders and report else getattr(dataset, "label", ""),
        {
            block: Form(
                dataset.inputs[name],
                getattr(dataset, "light", None),
                getattr(dataset, "letters", ()),
                fit=getattr(dataset, "fit", ""),
                series=getattr(dataset, "series", None),
                reader=getattr(dataset, "reader", None),
                rate=getattr(dataset, "rate", 0),
            )
            for block, name in by_block.items()
        },
        getattr(dataset, "dialect", None),
        getattr(dataset, "label_format", None),
    )
