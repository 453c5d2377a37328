"""Scales fields by statistics of their training rows: z = (x - mean)/std."""

from __future__ import annotations

import math
import warnings
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import chain, cycle
from operator import add, mul, sub, truediv
from typing import TYPE_CHECKING, Any, Literal, get_args

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import Shape, count, show
from webnnm.data.field import Field
from webnnm.data.preparation.precision import PrecisionLoss, find_losses
from webnnm.data.series.sequences import flatten_positions, restore_sequences
from webnnm.data.series.sliding import SlidingWindows

if TYPE_CHECKING:
    from webnnm.data.preparation.quantiles import QuantileMap

MIN_STD = 1e-8
"""A feature that varies less than this is treated as constant: its std counts as 1."""

COARSE = 2.0**-14
"""If a standard deviation is less than this share of the mean, float32 resolves it into fewer than
about a thousand values."""

MAX_SAMPLE_ROWS, MAX_DEVIATIONS = 64, 3.0
"""Rows of which the units are checked, and the root mean square, in standard deviations, from which
on they seem to be other units."""

MAX_LOGARITHM = 88.0
"""Logarithms above this are those of numbers that float32 does not hold."""

CHANNELS = ("channel", "channels")

ROUNDED_BY_FLOAT32 = ("float64", "int64", "uint64", "int32", "uint32")
"""Types that float32 rounds."""

InputScale = Literal["standard", "minmax", "quantiles"]
"""To mean 0 and standard deviation 1, to 0 … 1, or to a normal distribution."""
Scale = InputScale | Literal["log1p"]
"""Of targets also the logarithm of 1 + x, to mean 0 and standard deviation 1."""

INPUT_SCALES: tuple[InputScale, ...] = get_args(InputScale)
SCALES: tuple[Scale, ...] = (*INPUT_SCALES, "log1p")
RESHAPING: tuple[Scale, ...] = ("log1p", "quantiles")
"""Scales that change the shape of a distribution."""


@dataclass(frozen=True, slots=True)
class Standardization:
    """Means and standard deviations of the elements of a row (spec G.4).

    >>> fitted = Standardization((10.0, 0.0), (2.0, 1.0))
    >>> fitted.apply(HostArray.of([[12, 5], [8, 5]])).tolist()
    [[1.0, 5.0], [-1.0, 5.0]]
    >>> fitted.undo(HostArray.of([1, 5])).tolist()
    [12.0, 5.0]

    Attributes: `mean` and `std`, population values in float64; `repeat`, how many neighbouring
    elements share a pair of them (1, or the pixels of a channel if channels come first); `scale`,
    what the pair is. For "minmax" `mean` is the minimum and `std` the range: the same formula
    scales the training rows to 0 … 1. For "log1p" they are those of log(1 + x). `quantiles` has for
    each element the map to its normal score, whose `mean` is 0 and `std` 1, or None; or is ().
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    repeat: int = 1
    scale: Scale = "standard"
    quantiles: tuple[QuantileMap | None, ...] = ()

    @property
    def coarse(self) -> bool:
        """Whether float32 has too few steps within a standard deviation of some element."""
        affine = any(abs(m) * COARSE > s for m, s in zip(self.mean, self.std, strict=True))
        maps = [one for one in self.quantiles if one]
        return affine or any(max(map(abs, one.numbers)) * COARSE > one.spread for one in maps)

    def apply(self, values: HostArray) -> HostArray:
        """Return (x - mean)/std in float32, with the shape unchanged, for one or more rows.

        Raises `DataError` NNM704 for a negative number whose logarithm would be taken.
        """
        means, stds = self._iterate_statistics(values)
        numbers: Iterable[float] = values.values()
        if self.scale == "log1p":
            numbers = take_logarithms(values.values())
        numbers = self._map_quantiles(numbers)
        flat = array("f", map(truediv, map(sub, numbers, means), stds))
        return HostArray("float32", values.shape, flat)

    def undo(self, values: HostArray) -> HostArray:
        """Return z·std + mean in the units of the data, the inverse of `apply`.

        In float32, or in float64 if float32 has too few steps within a standard deviation.
        """
        means, stds = self._iterate_statistics(values)
        numbers: Iterable[float] = map(add, map(mul, values.values(), stds), means)
        if self.scale == "log1p":
            numbers = [math.expm1(min(number, MAX_LOGARITHM)) for number in numbers]
        numbers = self._map_quantiles(numbers, inverse=True)
        flat = array("d" if self.coarse else "f", numbers)
        return HostArray("float64" if self.coarse else "float32", values.shape, flat)

    def undo_feature(self, index: int, value: float) -> float:
        """Return the number of an element in the units of the data, before any logarithm."""
        number = value * self.std[index] + self.mean[index]
        one = self.quantiles[index] if self.quantiles else None
        return one.invert([number])[0] if one else number

    def _map_quantiles(self, numbers: Iterable[float], *, inverse: bool = False) -> Iterable[float]:
        """Return numbers or scores, with those of elements that have a map converted by it."""
        if not any(self.quantiles):
            return numbers
        flat = array("d", numbers)
        width = len(self.mean) * self.repeat
        for index, one in enumerate(self.quantiles):
            if one is not None:
                convert = one.invert if inverse else one.transform
                for offset in range(index * self.repeat, (index + 1) * self.repeat):
                    flat[offset::width] = convert(flat[offset::width])
        return flat

    def seems_misdeclared(
        self, values: HostArray, *, scaled: bool, applied: HostArray | None = None
    ) -> bool:
        """Return whether numbers seem to be in other units than declared: `scaled`, or not.

        >>> Standardization((1000.0,), (10.0,)).seems_misdeclared(HostArray.of([990]), scaled=True)
        True

        They do if they are far from the training rows, and would be much nearer in the other units.
        `applied` is the result of `apply` for them, if it is already known.
        """
        width = len(self.mean) * self.repeat
        size = min(count(values.shape), MAX_SAMPLE_ROWS * width)
        if not size or size % width or self.scale == "log1p" or any(self.quantiles):
            return False
        numbers = values.values()[:size]

        def scale_sample() -> Sequence[float]:
            sample = self.apply(HostArray.of(list(numbers))) if applied is None else applied
            return sample.values()[:size]

        distance = self._distance(numbers if scaled else scale_sample())
        return (
            distance > MAX_DEVIATIONS
            and self._distance(scale_sample() if scaled else numbers) <= distance / 2
        )

    def _distance(self, flat: Sequence[float]) -> float:
        """Return the root mean square of scaled numbers, in standard deviations."""
        if self.scale == "minmax":  # as wide as a uniform distribution
            flat = [(value - 0.5) * math.sqrt(12) for value in flat]
        total = sum(map(mul, flat, flat))
        return math.sqrt(total / len(flat)) if math.isfinite(total) else 0.0

    def _iterate_statistics(self, values: HostArray) -> tuple[Iterator[float], Iterator[float]]:
        """Return the mean and the deviation of every element of the rows, repeated endlessly."""
        if count(values.shape) % (len(self.mean) * self.repeat):
            raise DataError(
                "NNM702",
                f"{show(values.shape)} does not divide into rows of "
                f"{len(self.mean) * self.repeat} elements",
            )
        if self.repeat == 1:
            return cycle(self.mean), cycle(self.std)
        mean, std = (
            [value for value in statistics for _ in range(self.repeat)]
            for statistics in (self.mean, self.std)
        )
        return cycle(mean), cycle(std)


@dataclass(frozen=True, slots=True)
class Unscaled:
    """Fields and arrays before scaling, and which of them are scaled and how.

    >>> given = Unscaled.of({"x": Field((), "float32")}, {"x": HostArray.of([1, 3, 99])}, True)
    >>> given.fit_transform([0, 1])[1]["x"].tolist()
    [-1.0, 1.0, 97.0]

    Attributes: `fields`; `arrays`, of which float64 that is not scaled is float32 already;
    `features`, block → names of those that are scaled, None for all of them; `scale`, and the
    features `by_quantiles` whatever it is; `lost`,
    block → columns that lose distinct values as float32, since they are not scaled. Kept by a
    dataset so that it can be refitted to other training rows.
    """

    fields: Mapping[str, Field]
    arrays: Mapping[str, HostArray]
    features: Mapping[str, tuple[str, ...] | None]
    scale: Scale = "standard"
    by_quantiles: frozenset[str] = frozenset()
    lost: Mapping[str, Mapping[int, PrecisionLoss]] = dataclass_field(
        default_factory=dict[str, Any]
    )

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Field],
        arrays: Mapping[str, HostArray],
        chosen: bool | Iterable[str],
        scale: Scale | Mapping[str, Literal["quantiles"]] = "standard",
        scales: Sequence[Scale] = INPUT_SCALES,
    ) -> Unscaled:
        """Apply a user's choice: True for all continuous fields, or names of fields and features.

        `scales` are those that are possible; features with one of their own are in a dict.

        Raises `DataError` NNM704 for an unknown scale, NNM710 for an unknown name.
        """
        by_quantiles = frozenset[str]()
        if isinstance(scale, Mapping):
            by_quantiles, scale = _check_feature_scales(scale), "standard"
        if scale not in scales:
            hint = suggestion(str(scale), scales) or f"one of {', '.join(scales)}"
            raise DataError("NNM704", f'unknown scale "{scale}"', hint=hint)
        if isinstance(chosen, str):
            chosen = [chosen]
        value: Any = chosen  # whatever a caller may have written
        names = list(value) if hasattr(value, "__iter__") else []
        is_invalid = not isinstance(value, bool) and not hasattr(value, "__iter__")
        if is_invalid or not all(isinstance(name, str) for name in names):
            hint = "True for all, or a list of names of fields and features"
            raise DataError("NNM704", f"standardize is {chosen!r}", hint=hint)
        requested = set(names)
        # If a feature has the name of its block, only the feature is meant.
        whole_blocks = {
            b for b, field in fields.items() if chosen is True or b in requested - {*field.features}
        }
        available = {*fields, *(name for field in fields.values() for name in field.features)}
        for name in sorted(requested - available):
            hint = suggestion(name, available) or f"available: {', '.join(sorted(available))}"
            raise DataError("NNM710", f'no field or feature "{name}" to standardise', hint=hint)
        scaled = {
            block: None if block in whole_blocks else tuple(sorted(requested & {*field.features}))
            for block, field in fields.items()
            if field.kind == "continuous"
            and (block in whole_blocks or requested & {*field.features})
        }
        _check_scaled(by_quantiles, fields, scaled)
        rounded, lost = dict(arrays), dict[str, Mapping[int, PrecisionLoss]]()
        for block, values in arrays.items():
            if (
                block in scaled
                or fields[block].kind != "continuous"
                or values.dtype not in ROUNDED_BY_FLOAT32
            ):
                continue
            narrow = HostArray.of(values, "float32")
            if losses := find_losses(values, narrow):
                lost[block] = losses
            if values.dtype == "float64":
                rounded[block] = restore_sequences(narrow, values)
        return cls(dict(fields), rounded, scaled, scale, by_quantiles, lost)

    def rename(self, rename: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Unscaled:
        """Return the same under other names; `rename` renames the keys of a dict."""
        fields, arrays, features, lost = map(
            rename, (self.fields, self.arrays, self.features, self.lost)
        )
        return Unscaled(fields, arrays, features, self.scale, self.by_quantiles, lost)

    def merge(self, other: Unscaled) -> Unscaled:
        """Return the same with the arrays of `other` in place of its own."""
        features = {b: names for b, names in self.features.items() if b not in other.fields}
        return replace(
            self,
            fields={**self.fields, **other.fields},
            arrays={**self.arrays, **other.arrays},
            features={**features, **other.features},
        )

    def fit_transform(
        self, training: Sequence[int]
    ) -> tuple[dict[str, Field], dict[str, HostArray], dict[str, Standardization]]:
        """Return fields, arrays and the standardisations fitted to the training rows.

        Arrays that are not scaled are shared; scaled integers become float32. Raises `DataError`
        NNM705 without training rows.
        """
        if self.features and not training:
            raise DataError("NNM705", "there are no training rows to compute statistics from")
        fields, arrays = dict(self.fields), dict(self.arrays)
        fitted: dict[str, Standardization] = {}
        for block, features in self.features.items():
            values, field = arrays[block], fields[block]
            if isinstance(values, SlidingWindows):
                rows, field = values.steps.rows(values.list_steps(training)), field.of_position()
                fitted[block] = fit(rows, field, features, self.scale, self.by_quantiles)
                arrays[block] = values.map_steps(fitted[block].apply)
            else:
                rows, field = flatten_positions(values.rows(training), field)
                fitted[block] = fit(rows, field, features, self.scale, self.by_quantiles)
                arrays[block] = restore_sequences(fitted[block].apply(values), values)
            fields[block] = replace(fields[block], dtype="float32")
        return fields, arrays, fitted


def fit(
    values: HostArray,
    field: Field,
    chosen: Sequence[str] | None = None,
    scale: Scale = "standard",
    by_quantiles: Collection[str] = (),
) -> Standardization:
    """Fit the scaling of a field to rows, which should be the training rows.

    >>> fit(HostArray.of([[1, 5], [3, 5]]), Field((2,), "float32"))
    Standardization(mean=(2.0, 5.0), std=(1.0, 1.0), repeat=1, scale='standard', quantiles=())
    >>> fit(HostArray.of([1, 5, 2]), Field((), "float32"), scale="minmax").apply(
    ...     HostArray.of([1, 2, 5])).tolist()
    [0.0, 0.25, 1.0]

    `chosen` restricts it to features of these names; those `by_quantiles` are scaled so. Images are
    measured per channel, along the dimension called `channels`, or else the smaller of the first
    and last of three dimensions.
    """
    channel = find_channel_axis(field)
    size = count(field.shape) if channel is None else field.shape[channel]
    repeat = 1 if channel is None else count(field.shape[channel + 1 :])
    compute_statistics = compute_min_and_range if scale == "minmax" else compute_moments
    means, stds = [0.0] * size, [1.0] * size
    maps: list[QuantileMap | None] = [None] * size
    for index in range(size):
        name = _get_feature_name(field, index)
        if chosen is not None and name not in chosen:
            continue
        numbers = collect_feature(values, field.shape, index, repeat, size)
        if scale == "quantiles" or name in by_quantiles:
            from webnnm.data.preparation.quantiles import QuantileMap

            maps[index] = QuantileMap.fit(numbers)
            continue
        mean, std = compute_statistics(take_logarithms(numbers) if scale == "log1p" else numbers)
        means[index], stds[index] = mean, std if std >= MIN_STD else 1.0
    quantiles = tuple(maps) if any(maps) else ()
    return Standardization(tuple(means), tuple(stds), repeat, scale, quantiles)


def _check_feature_scales(scales: Mapping[str, Any]) -> frozenset[str]:
    """Return the features of a dict, feature → "quantiles" (NNM704 for other scales)."""
    for name, scale in scales.items():
        if scale != "quantiles":
            hint = '{"height": "quantiles"}; features that are not named are "standard"'
            raise DataError("NNM704", f'the scale of "{name}" is {scale!r}', hint=hint)
    return frozenset(scales)


def _check_scaled(
    names: Iterable[str],
    fields: Mapping[str, Field],
    scaled: Mapping[str, Sequence[str] | None],
) -> None:
    """Refuse features that have a scale, but are not scaled (NNM704)."""
    features = {
        name
        for block, chosen in scaled.items()
        for name in (fields[block].features if chosen is None else chosen)
    }
    for name in sorted({*names} - features):
        hint = suggestion(name, features) or f"scaled are {', '.join(sorted(features)) or 'none'}"
        raise DataError("NNM704", f'the feature "{name}" has a scale, but is not scaled', hint=hint)


def take_logarithms(numbers: Sequence[float]) -> list[float]:
    """Return log(1 + x) of numbers (NNM704 if one of them is negative).

    >>> take_logarithms([0.0, math.e - 1])
    [0.0, 1.0]
    """
    if len(numbers) and (least := min(numbers)) < 0:
        hint = 'target_scale="standard" takes all numbers'
        raise DataError("NNM704", f"the logarithm of a target of {least:g}", hint=hint)
    return [*map(math.log1p, numbers)]


def compute_moments(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and population standard deviation, in float64 with exact summation.

    >>> compute_moments([1.0, 3.0])
    (2.0, 1.0)
    """
    mean = math.fsum(values) / len(values)
    deviations = [value - mean for value in values]
    return mean, math.sqrt(math.fsum(map(mul, deviations, deviations)) / len(values))


def compute_min_and_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the minimum and the range.

    >>> compute_min_and_range([1.0, 3.0])
    (1.0, 2.0)
    """
    low = float(min(values))
    return low, max(values) - low


def collect_feature(
    values: HostArray, shape: Shape, index: int, repeat: int, size: int
) -> Sequence[float]:
    """Return the values of feature or channel `index` of `size`, `repeat` of them in each row."""
    offsets = list_offsets(shape, index, repeat, size)
    return collect_offsets(values, count(shape), offsets)


def list_offsets(shape: Shape, index: int, repeat: int, size: int) -> list[int]:
    """Return where the values of feature or channel `index` are in a row.

    >>> list_offsets((2, 2, 3), 1, 1, 3)
    [1, 4, 7, 10]
    """
    return [
        first + neighbour
        for first in range(index * repeat, count(shape), size * repeat)
        for neighbour in range(repeat)
    ]


def collect_offsets(values: HostArray, width: int, offsets: Sequence[int]) -> Sequence[float]:
    """Return the values at these offsets of all rows, which have `width` values."""
    flat = values.values()
    if len(offsets) == 1:
        return flat[offsets[0] :: width]
    return list(chain.from_iterable(flat[offset::width] for offset in offsets))


def find_channel_axis(field: Field) -> int | None:
    """Return which dimension of an image holds its channels, None for anything but an image."""
    for axis, name in enumerate(field.names):
        if name in CHANNELS and len(field.shape) > 1:
            return axis
    if len(field.shape) != 3 or field.names:
        return None
    # Unnamed: an image has fewer channels than rows or columns, wherever the channels are.
    return 0 if field.shape[0] <= field.shape[2] else 2


def _get_feature_name(field: Field, index: int) -> str:
    return field.features[index % len(field.features)] if field.features else ""


def warn_about_units(message: str) -> None:
    """Warn that numbers seem to be in other units than declared."""
    warnings.warn(message, UserWarning, stacklevel=3)
