"""Standardisation: z = (x - mean)/std."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from webnnm.arrays import HostArray
from webnnm.data.field import Field
from webnnm.errors import DataError, suggestion
from webnnm.shapes import Shape, count, show

SMALLEST_STD = 1e-8
"""A feature that varies less is taken as constant: its std counts as 1."""

CHANNELS = ("channel", "channels")


@dataclass(frozen=True, slots=True)
class Standardization:
    """Means and standard deviations of the elements of a row (spec G.4).

    >>> fitted = Standardization((10.0, 0.0), (2.0, 1.0))
    >>> fitted.apply(HostArray.of([[12, 5], [8, 5]])).tolist()
    [[1.0, 5.0], [-1.0, 5.0]]
    >>> fitted.undo(HostArray.of([1, 5])).tolist()
    [12.0, 5.0]

    Attributes: `mean` and `std`, population values in float64; `repeat`, how many neighbouring
    elements share a pair of them (1, or the pixels of a channel that comes first).
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    repeat: int = 1

    def apply(self, values: HostArray) -> HostArray:
        """Return (x - mean)/std in float32; rows, several or one, keep their shape."""
        return self._map(values, lambda x, mean, std: (x - mean) / std)

    def undo(self, values: HostArray) -> HostArray:
        """Return z·std + mean in float32, what `apply` was given."""
        return self._map(values, lambda z, mean, std: z * std + mean)

    def _map(self, values: HostArray, rule: Callable[[float, float, float], float]) -> HostArray:
        period = len(self.mean) * self.repeat
        if count(values.shape) % period:
            raise DataError(
                "NNM702", f"{show(values.shape)} does not divide into rows of {period} elements"
            )
        flat = values.values()
        result = array("f", bytes(4 * len(flat)))
        for element in range(period):
            mean = self.mean[element // self.repeat]
            std = self.std[element // self.repeat]
            result[element::period] = array(
                "f", [rule(x, mean, std) for x in flat[element::period]]
            )
        return HostArray("float32", values.shape, result)


def fit_all(
    fields: Mapping[str, Field],
    arrays: Mapping[str, HostArray],
    training: Sequence[int],
    chosen: bool | Iterable[str],
) -> dict[str, Standardization]:
    """Measure the training rows of the continuous fields that are to be standardised.

    >>> field, values = Field((), "float32"), HostArray.of([1, 3, 99])
    >>> fit_all({"x": field}, {"x": values}, [0, 1], True)["x"].mean
    (2.0,)

    `chosen` is True for all, or names fields and features. Raises `DataError` NNM705 without
    training rows, NNM710 for an unknown name.
    """
    if chosen is False:
        return {}
    if isinstance(chosen, str):
        chosen = [chosen]
    wanted: set[str] = set() if chosen is True else set(chosen)
    known = {*fields, *(name for field in fields.values() for name in field.features)}
    for name in sorted(wanted - known):
        hint = suggestion(name, known) or f"there is {', '.join(sorted(known))}"
        raise DataError("NNM710", f'no field or feature "{name}" to standardise', hint=hint)
    if not training:
        raise DataError("NNM705", "there are no training rows to measure for standardising")
    fitted: dict[str, Standardization] = {}
    for block, field in fields.items():
        whole = chosen is True or block in wanted
        if field.kind == "continuous" and (whole or wanted & {*field.features}):
            rows = arrays[block].rows(training)
            fitted[block] = fit(rows, field, None if whole else sorted(wanted))
    return fitted


def apply_all(
    fitted: Mapping[str, Standardization],
    fields: MutableMapping[str, Field],
    arrays: MutableMapping[str, HostArray],
) -> None:
    """Standardise arrays where they stand, integers becoming float32."""
    for block, standardization in fitted.items():
        arrays[block] = standardization.apply(arrays[block])
        fields[block] = replace(fields[block], dtype="float32")


def fit(values: HostArray, field: Field, chosen: Sequence[str] | None = None) -> Standardization:
    """Measure rows, which shall be the training rows, for standardising a field.

    >>> fit(HostArray.of([[1, 5], [3, 5]]), Field((2,), "float32"))
    Standardization(mean=(2.0, 5.0), std=(1.0, 1.0), repeat=1)

    `chosen` restricts it to features of these names. Images are measured per channel: along the
    dimension called `channels`, else along the smaller of the first and the last of three.
    """
    channel = channel_axis(field)
    size = count(field.shape) if channel is None else field.shape[channel]
    repeat = 1 if channel is None else count(field.shape[channel + 1 :])
    means, stds = [0.0] * size, [1.0] * size
    for index in range(size):
        if chosen is not None and _feature(field, index) not in chosen:
            continue
        mean, std = moments(elements_of(values, field.shape, index, repeat, size))
        means[index], stds[index] = mean, std if std >= SMALLEST_STD else 1.0
    return Standardization(tuple(means), tuple(stds), repeat)


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and population standard deviation, in float64 without loss by summation.

    >>> moments([1.0, 3.0])
    (2.0, 1.0)
    """
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def elements_of(
    values: HostArray, shape: Shape, index: int, repeat: int, size: int
) -> Sequence[float]:
    """Return what all rows have at one of `size` places, each of `repeat` neighbours."""
    flat, width, period = values.values(), count(shape), size * repeat
    if width == period and repeat == 1:
        return flat[index::width]
    places = (
        first + neighbour
        for first in range(index * repeat, width, period)
        for neighbour in range(repeat)
    )
    return list(chain.from_iterable(flat[place::width] for place in places))


def channel_axis(field: Field) -> int | None:
    """Return which dimension of an image holds its channels, None for what is no image."""
    for axis, name in enumerate(field.names):
        if name in CHANNELS and len(field.shape) > 1:
            return axis
    if len(field.shape) != 3 or field.names:
        return None
    # Unnamed: an image has fewer channels than rows or columns, whichever end they stand at.
    return 0 if field.shape[0] <= field.shape[2] else 2


def _feature(field: Field, index: int) -> str:
    return field.features[index % len(field.features)] if field.features else ""
