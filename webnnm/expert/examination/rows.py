"""The rows of a dataset as the examination sees them: columns, subsets, a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.classes import get_row_classes
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.data.preparation.epoch_arrays import Arrays, augment_rows
from webnnm.data.preparation.equal_rows import group_equal_rows
from webnnm.data.preparation.precision import PrecisionLoss
from webnnm.data.preparation.row_sample import sample_rows
from webnnm.data.preparation.standardize import RESHAPING, Standardization
from webnnm.data.tables.date_encoding import DateEncoder
from webnnm.data.tables.encoding import OneHotEncoder

if TYPE_CHECKING:
    from webnnm.data.preparation.quantiles import QuantileMap
    from webnnm.data.texts.reading import TextReader

MAX_SAMPLE, MIN_SAMPLE = 2000, 500
"""This many rows show how columns are related; more would only take longer."""

MAX_SAMPLE_CELLS = 60_000
"""Of many columns fewer rows are compared, so that they have about as many numbers as this."""

MAX_COLUMNS = 256
"""Wider rows are pictures or spectra, whose single columns have no meaning of their own."""


@dataclass(frozen=True)
class Column:
    """One measurement of all rows, in their order, as the model receives it.

    `raw(value)` is the value in the units of the data: `value`·`scale` + `offset`.
    """

    name: str
    values: Sequence[float]
    scale: float = 1.0
    offset: float = 0.0
    block: str = ""

    def raw(self, value: float) -> float:
        """Return a value in the units of the data; 0 for rounding errors of float32."""
        number = value * self.scale + self.offset
        return number if abs(number) > 1e-6 * (abs(self.scale) + abs(self.offset)) else 0.0

    def take(self, rows: Sequence[int]) -> list[float]:
        """Return the values of some rows."""
        return [self.values[row] for row in rows]

    def take_raw(self, rows: Sequence[int]) -> list[float]:
        """Return the values of some rows in the units of the data."""
        return [self.raw(self.values[row]) for row in rows]


@dataclass(frozen=True)
class Rows:
    """A dataset in memory, viewed as a table.

    - `inputs`, `fields`: block → all rows, and their description; `outputs`: all targets.
    - `subsets`: subset → numbers of its rows; `method` of the split.
    - `categories`: column of words → what its columns of 0 and 1 stand for; `days`, the columns of
      numbers that are days of a date.
    - `target`: one number for each row, a class if `classes`; None if there is none; `scale` and
      `offset` convert a quantity to the units of the data.
    - `lost`: "input NAME" or "output NAME" → column → how many distinct values float32 keeps of it;
      `came_as_float32`, inputs that had no more digits before.
    - `weights` of all rows, None without; `report`, what was found in a table; `augmented`, inputs
      and outputs of some rows as the augmentation changes them, None without; `equal`, groups of
      rows with the same inputs; `series`, whether the rows are windows of a `SeriesDataset`;
      `merged_words`, column of words → their numbers, where words share a feature.
    """

    inputs: Mapping[str, HostArray]
    fields: Mapping[str, Field]
    subsets: Mapping[str, Sequence[int]]
    method: str = ""
    target: Sequence[float] | None = None
    classes: bool = False
    standardization: Mapping[str, Standardization] = field(
        default_factory=dict[str, Standardization]
    )
    outputs: Mapping[str, HostArray] = field(default_factory=dict[str, HostArray])
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    scale: float = 1.0
    offset: float = 0.0
    weights: Sequence[float] | None = None
    report: Any = None
    augmented: Callable[[Sequence[int]], tuple[Arrays, Arrays]] | None = None
    lost: Mapping[str, Mapping[int, PrecisionLoss]] = field(default_factory=dict[str, Any])
    came_as_float32: frozenset[str] = frozenset()
    equal: Sequence[Sequence[int]] = ()
    days: frozenset[str] = frozenset()
    series: bool = False
    texts: Sequence[str] = ()
    reader: TextReader | None = None
    class_names: Sequence[str] = ()
    merged_words: Mapping[str, HostArray] = field(default_factory=dict[str, HostArray])

    @cached_property
    def quantity(self) -> Column | None:
        """The target, where it is not a class."""
        if self.target is None or self.classes:
            return None
        return Column("the target", self.target, self.scale, self.offset)

    @property
    def training(self) -> Sequence[int]:
        """The numbers of the training rows."""
        return self.subsets["training"]

    @cached_property
    def sample(self) -> Sequence[int]:
        """Evenly spaced training rows, few enough to compare with each other."""
        limit = MAX_SAMPLE_CELLS // max(1, len(self.columns))
        limit = max(MIN_SAMPLE, min(MAX_SAMPLE, limit))
        return thin(self.training, limit)

    @cached_property
    def columns(self) -> list[Column]:
        """The measurements that are columns of their own, not parts of a picture or sequence."""
        columns: list[Column] = []
        for block, values in self.inputs.items():
            field, size = self.fields[block], count(values.shape[1:])
            flat = field.kind == "continuous" and not field.sequence and len(field.shape) < 2
            if not flat or not is_float(values.dtype) or len(columns) + size > MAX_COLUMNS:
                continue
            for index, units in enumerate(self.units(block)):
                name = field.features[index] if field.features else f"column {index}"
                numbers = values.values()[index::size]
                if scores := self._get_quantiles(block, index):
                    numbers = scores.invert(numbers)
                columns.append(Column(name, numbers, *units, block))
        return columns

    def _get_quantiles(self, block: str, index: int) -> QuantileMap | None:
        """Return the map by which a feature was scaled, None for any other scale."""
        fitted = self.standardization.get(block)
        return fitted.quantiles[index] if fitted and fitted.quantiles else None

    def units(self, block: str) -> list[tuple[float, float]]:
        """Return scale and offset of each number of a row, which convert it to the units of the
        data."""
        size = count(self.inputs[block].shape[1:])
        fitted = self.standardization.get(block)
        if fitted is None:
            return [(1.0, 0.0)] * size
        pairs = [p for p in zip(fitted.std, fitted.mean, strict=True) for _ in range(fitted.repeat)]
        return [*islice(cycle(pairs), size)]


def collect_rows(dataset: Dataset, equal: Sequence[Sequence[int]] | None = None) -> Rows:
    """Return the rows of a dataset for the examination; `equal` are groups of rows with the same
    inputs, which are looked for if they are not known.

    >>> found = collect_rows(Dataset([[1.0, 2.0], [3.0, 5.0]], [0, 1], split=(1, 0, 0)))
    >>> [list(column.values) for column in found.columns], list(found.target)
    ([[1.0, 3.0], [2.0, 5.0]], [0, 1])
    """
    inputs, outputs = dataset.arrays("full")
    target: Sequence[float] | None = None
    classes = False
    scale, offset = 1.0, 0.0
    if len(outputs) == 1:
        ((block, values),) = outputs.items()
        target = get_row_classes(dataset.outputs, outputs)
        classes = target is not None
        if target is None and count(values.shape[1:]) == 1 and not dataset.outputs[block].sequence:
            target = values.values()
            if block in dataset.target_standardization:
                fitted = dataset.target_standardization[block]
                if fitted.scale in RESHAPING:
                    target = fitted.undo(values).values()
                else:
                    scale, offset = fitted.std[0], fitted.mean[0]
    return Rows(
        inputs,
        dataset.inputs,
        sample_rows(dataset, labelled=target if classes else None),
        getattr(dataset, "method", ""),
        target,
        classes,
        dataset.standardization,
        outputs,
        {
            encoder.name: encoder.categories
            for encoder in getattr(dataset, "encoders", ())
            if isinstance(encoder, OneHotEncoder)
        },
        scale,
        offset,
        None if dataset.sample_weight is None else dataset.sample_weight.values(),
        getattr(dataset, "report", None),
        partial(augment_rows, dataset) if dataset.augmentation else None,
        dataset.lost_values(),
        dataset.came_as_float32,
        group_equal_rows(inputs, dataset.merged_words) if equal is None else equal,
        frozenset(
            encoder.features[0]
            for encoder in getattr(dataset, "encoders", ())
            if isinstance(encoder, DateEncoder)
        ),
        hasattr(dataset, "series"),
        getattr(dataset, "texts", ()),
        getattr(dataset, "reader", None),
        (classes and dataset.labels()) or (),
        dataset.merged_words,
    )
