"""Statistics of a subset: means, spreads, extremes, class counts."""

from __future__ import annotations

from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.data.classes import argmax
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import collect_feature, compute_moments, find_channel_axis
from webnnm.data.series.sequences import flatten_positions


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of one field, one number per element of a row or of a sequence position.

    Images are measured per channel, sequences over the valid positions.

    Attributes: `mean`, `std` (population), `min`, `max`; `class_counts`, rows per class, () if
    there are no classes.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    min: tuple[float, ...]
    max: tuple[float, ...]
    class_counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a subset as its batches deliver it: block → `FieldStatistics`."""

    inputs: dict[str, FieldStatistics]
    outputs: dict[str, FieldStatistics]


def measure(values: HostArray, field: Field) -> FieldStatistics:
    """Return the statistics of one array.

    >>> measure(HostArray.of([[1, 0], [3, 0]]), Field((2,), "float32")).mean
    (2.0, 0.0)
    """
    values, field = flatten_positions(values, field)
    channel = find_channel_axis(field)
    size = count(field.shape) if channel is None else field.shape[channel]
    repeat = 1 if channel is None else count(field.shape[channel + 1 :])
    columns = [collect_feature(values, field.shape, index, repeat, size) for index in range(size)]
    pairs = [compute_moments(column) for column in columns]
    return FieldStatistics(
        tuple(mean for mean, _ in pairs),
        tuple(std for _, std in pairs),
        tuple(float(min(column)) for column in columns),
        tuple(float(max(column)) for column in columns),
        class_counts(values, field),
    )


def class_counts(values: HostArray, field: Field) -> tuple[int, ...]:
    """Return how many rows, or positions, each class has; () if there are no classes.

    >>> species = Field((), "int32", kind="classes", classes=2)
    >>> class_counts(HostArray.of([0, 1, 1], "int32"), species)
    (1, 2)
    """
    if field.kind == "classes":
        numbers = list(values.values())
    elif field.kind == "onehot":
        numbers = argmax(values)
    elif field.kind == "multilabel" and field.classes == 1:
        numbers = [int(value) for value in values.values()]
    else:
        return ()
    counts = [0] * max(2 if field.kind == "multilabel" else 1, field.classes)
    for number in numbers:
        if number >= 0:  # negative: a position that does not count
            counts[number] += 1
    return tuple(counts)
