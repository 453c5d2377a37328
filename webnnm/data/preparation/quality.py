"""Measures facts about a dataset that distinguish good data from bad, for the rules of spec F.2."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS
from webnnm.core.shapes import count
from webnnm.data.classes import get_row_classes
from webnnm.data.field import SUBSETS, Field
from webnnm.data.preparation.standardize import collect_feature, compute_moments, find_channel_axis
from webnnm.data.preparation.statistics import class_counts
from webnnm.data.protocol import AnyDataset, Arrays, load_subset
from webnnm.data.series.sequences import flatten_positions

MAX_ELEMENTS = 10**7
"""For larger inputs only every n-th row is measured, so that it takes seconds."""

EXACT = 1e-4
"""How close to 0 and 1 the mean and deviation of standardised data are, in float32."""


NARROW = 16
FEW = 0.5
LIKELY = 5
"""So many times as many equal rows as independent numbers would give may be chance: those of a row
hang together."""
"""Rows of so few numbers, each with fewer values than this share of the different rows, are equal
by chance: those of Iris, of questionnaires, of short sentences."""


@dataclass(frozen=True, slots=True)
class FeatureFacts:
    """Statistics of the training rows at one place of an input.

    Attributes: `block`, `index` of the place (the channel of an image) and its `name` or ""; `mean`
    and `std` (population), `minimum`, `maximum`; `binary`, whether it is only 0 and 1; `foreign`,
    whether it was standardised with statistics of the whole dataset, not of the training rows;
    `distinct`, how many distinct values it has.
    """

    block: str
    index: int
    name: str
    mean: float
    std: float
    minimum: float
    maximum: float
    binary: bool = False
    foreign: bool = False
    distinct: int = 0

    @property
    def constant(self) -> bool:
        """Whether all training rows have the same value here."""
        return self.minimum == self.maximum


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """How the classes of an output are distributed over the subsets.

    >>> kinds = ClassFacts("y", ("no", "yes"), {"training": (8, 2), "testing": (3, 0),
    ...     "full": (11, 2)}, in_order=False)
    >>> kinds.absent("testing"), kinds.imbalance, kinds.largest_share, kinds.rare(5)
    ((1,), 4.0, 0.8, (1,))

    Attributes: `output`; `names` of the classes, () without; `counts`, subset that has rows → rows
    (or positions) of every class; `in_order`, whether the training rows are sorted by class.
    """

    output: str
    names: tuple[str, ...]
    counts: Mapping[str, tuple[int, ...]]
    in_order: bool

    @property
    def training(self) -> tuple[int, ...]:
        """The number of training rows of every class."""
        return self.counts.get("training", (0,) * len(self.counts["full"]))

    @property
    def imbalance(self) -> float:
        """The largest nonzero count of training rows of a class divided by the smallest."""
        present = [number for number in self.training if number]
        return max(present, default=1) / min(present, default=1)

    @property
    def largest_share(self) -> float:
        """The share of the most frequent class in the training rows."""
        return max(self.training, default=0) / max(1, sum(self.training))

    def absent(self, subset: str) -> tuple[int, ...]:
        """Return the classes of the whole dataset that a subset, if it has rows, lacks."""
        counts = self.counts.get(subset, self.counts["full"])
        return tuple(
            number
            for number, (here, total) in enumerate(zip(counts, self.counts["full"], strict=True))
            if total and not here
        )

    def rare(self, limit: int) -> tuple[int, ...]:
        """Return the classes that have training rows, but fewer than `limit`."""
        return tuple(number for number, rows in enumerate(self.training) if 0 < rows < limit)

    def name(self, number: int) -> str:
        """Return the name of a class, its number without names."""
        return self.names[number] if self.names else str(number)


@dataclass(frozen=True, slots=True)
class DataQuality:
    """The facts on which the rules E601 … E612 of the expert system are based.

    Attributes: `sizes`, subset → rows; `method` of the split, "" if unknown; `classes`, for each
    output that has them; `features`, for each place of an input that holds measurements;
    `repeated`, subset → how many of its rows (inputs and outputs) are also in training; `coarse`,
    whether the inputs have so few values that rows are equal by chance.
    """

    sizes: Mapping[str, int]
    method: str
    classes: tuple[ClassFacts, ...]
    features: tuple[FeatureFacts, ...]
    repeated: Mapping[str, int]
    coarse: bool = False

    @property
    def constant(self) -> tuple[FeatureFacts, ...]:
        """The features that are constant in training."""
        return tuple(feature for feature in self.features if feature.constant)

    @property
    def foreign(self) -> tuple[FeatureFacts, ...]:
        """The features that were standardised with statistics of more than the training rows."""
        return tuple(feature for feature in self.features if feature.foreign)

    def list_unscaled(self, max_mean: float, stds: tuple[float, float]) -> tuple[FeatureFacts, ...]:
        """Return the features whose |mean| is larger, or whose std is outside the limits.

        Constant features and those of 0 and 1 are left out.
        """
        return tuple(
            feature
            for feature in self.features
            if not feature.binary
            and not feature.constant
            and (abs(feature.mean) > max_mean or not stds[0] <= feature.std <= stds[1])
        )

    def get_repeated_share(self, subset: str = "testing") -> float:
        """Return the share of the rows of a subset that are also in training."""
        return self.repeated.get(subset, 0) / max(1, self.sizes[subset])


def measure_quality(dataset: AnyDataset, *, max_elements: int = MAX_ELEMENTS) -> DataQuality:
    """Measure a dataset in memory, as its batches deliver it without augmentation.

    Of arrays with more than twice `max_elements` some rows are measured.

    >>> from webnnm.data.dataset import Dataset
    >>> data = Dataset([[1.0, 5.0], [3.0, 5.0], [1.0, 5.0]], [0, 1, 0], split=([0, 1], [], [2]))
    >>> quality = measure_quality(data)
    >>> [feature.index for feature in quality.constant], quality.get_repeated_share("testing")
    ([1], 1.0)

    Raises `DataError` NNM702 for a stream, whose rows come only once.
    """
    sizes: dict[str, int] = {subset: dataset.size(subset) for subset in SUBSETS}
    arrays: dict[str, tuple[Arrays, Arrays]] = {
        subset: load_subset(dataset, subset)[:2] for subset, n in sizes.items() if n
    }
    features: list[FeatureFacts] = []
    repeated: dict[str, int] = {}
    coarse = False
    if "training" in arrays:
        for block, field in dataset.inputs.items():
            values = arrays["training"][0][block]
            features += _measure_features(
                block, field, values, arrays["full"][0][block], max_elements
            )
        training_keys = set(make_row_keys(*arrays["training"]))
        for subset in ("validation", "testing"):
            if subset in arrays:
                repeated[subset] = sum(
                    [key in training_keys for key in make_row_keys(*arrays[subset])]
                )
        share = max((n / sizes[subset] for subset, n in repeated.items()), default=0.0)
        coarse = _is_coarse(dataset, features, len(training_keys))
        if share and not coarse:
            inputs, outputs = arrays["training"]
            likely = _estimate_chance_share(inputs, get_row_classes(dataset.outputs, outputs))
            coarse = share <= LIKELY * likely
    classes = tuple(
        facts for block in dataset.outputs if (facts := _measure_classes(dataset, block, arrays))
    )
    method = getattr(dataset, "method", "")
    return DataQuality(sizes, method, classes, tuple(features), repeated, coarse)


def _is_coarse(dataset: AnyDataset, features: Sequence[FeatureFacts], rows: int) -> bool:
    """Return whether rows of few numbers with few values each may be equal by chance."""
    width = sum(count(field.shape) for field in dataset.inputs.values())
    return width <= NARROW and all(feature.distinct < rows * FEW for feature in features)


def _estimate_chance_share(inputs: Mapping[str, HostArray], classes: Sequence[int] | None) -> float:
    """Return the share of rows with an equal one if the numbers of a class were independent."""
    groups: dict[int, list[int]] = defaultdict(list)
    total = len(next(iter(inputs.values())))
    for row in range(total):
        groups[classes[row] if classes else 0].append(row)
    return (
        math.fsum(
            len(rows) * _estimate_repeat_probability(inputs, rows) for rows in groups.values()
        )
        / total
    )


def _estimate_repeat_probability(inputs: Mapping[str, HostArray], rows: Sequence[int]) -> float:
    """Return the probability that one of these rows is drawn again if its numbers are drawn."""
    probability = 1.0
    for values in inputs.values():
        size, flat = count(values.shape[1:]), values.values()
        for element in range(size):
            counts = Counter([flat[row * size + element] for row in rows]).values()
            probability *= sum(n * n for n in counts) / len(rows) ** 2
            if probability * len(rows) < 1e-6:
                return 0.0
    return 1 - (1 - probability) ** len(rows)


def _measure_features(
    block: str, field: Field, training: HostArray, full: HostArray, max_elements: int
) -> Iterator[FeatureFacts]:
    """Measure the places of a row, or of a position of a sequence, or channels of an image."""
    if field.kind != "continuous" or (field.sequence and field.dtype not in ("float32", "float16")):
        return
    step = max(1, count(full.shape) // max_elements)
    flat, shaped = flatten_positions(_take_every(training, step), field)
    if not len(flat):
        return
    full_values, _ = flatten_positions(_take_every(full, step), field)
    channel = find_channel_axis(shaped)
    size = count(shaped.shape) if channel is None else shaped.shape[channel]
    repeat = 1 if channel is None else count(shaped.shape[channel + 1 :])
    for index in range(size):
        column = list(collect_feature(flat, shaped.shape, index, repeat, size))
        total, squares = sum(column), sum(map(mul, column, column))
        mean, std = _compute_moments(column, total, squares)
        low, high = min(column), max(column)
        if low == high and step > 1:
            exact = collect_feature(
                flatten_positions(training, field)[0], shaped.shape, index, repeat, size
            )
            low, high = min(exact), max(exact)
        foreign = False
        # Only features that are nearly standardised may have been standardised with other rows.
        distinct = len(set(column))
        if low < high and step == 1 and abs(mean) < 1 and 0.3 < std < 3 and distinct > 2:
            others = list(collect_feature(full_values, shaped.shape, index, repeat, size))
            foreign = not _is_standardized(column, mean, std) and _is_standardized(
                others, *compute_moments(others)
            )
        name = shaped.features[index % len(shaped.features)] if shaped.features else ""
        binary = low == 0 and high == 1 and total == squares
        yield FeatureFacts(block, index, name, mean, std, low, high, binary, foreign, distinct)


def _take_every(values: HostArray, step: int) -> HostArray:
    return values if step == 1 else values.rows(range(0, len(values), step))


def _compute_moments(column: Sequence[float], total: float, squares: float) -> tuple[float, float]:
    """Return mean and deviation from the sums, or exactly if the sums lose too much precision."""
    mean = total / len(column)
    variance = squares / len(column) - mean * mean
    if variance < 1e-6 * mean * mean:
        return compute_moments(column)
    return mean, math.sqrt(max(0.0, variance))


def _is_standardized(column: Sequence[float], mean: float, std: float) -> bool:
    """Return whether values have mean 0 and deviation 1, of a population or of a sample."""
    sample = std * math.sqrt(len(column) / max(1, len(column) - 1))
    return abs(mean) < EXACT and (abs(std - 1) < EXACT or abs(sample - 1) < EXACT)


def make_row_keys(*sides: Mapping[str, HostArray]) -> list[bytes]:
    """Return bytes for every row of inputs, or of inputs and outputs, equal for equal rows.

    >>> a, b, c = make_row_keys({"x": HostArray.of([[1, 2], [3, 4], [1, 2]])})
    >>> a == c, a == b
    (True, False)
    """
    from hashlib import blake2b

    cut: list[list[bytes]] = []
    for values in (values for side in sides for values in side.values()):
        if values.dtype not in FORMATS:  # 4-bit rows may share a byte
            values = HostArray.of(values, "int8" if values.dtype == "int4" else "uint8")
        data = bytes(values.data)
        width = len(data) // len(values)
        cut.append([data[row * width : (row + 1) * width] for row in range(len(values))])
    return [blake2b(b"".join(row), digest_size=16).digest() for row in zip(*cut, strict=True)]


def _measure_classes(
    dataset: AnyDataset, block: str, arrays: Mapping[str, tuple[Arrays, Arrays]]
) -> ClassFacts | None:
    field = dataset.outputs[block]
    counts = {
        subset: class_counts(outputs[block], field) for subset, (_, outputs) in arrays.items()
    }
    if not counts["full"]:
        return None
    in_order = False
    if "training" in arrays:
        numbers = get_row_classes({block: field}, arrays["training"][1]) or []
        changes = sum([a != b for a, b in pairwise(numbers)])
        # As many stretches as classes: each class is in one, and not all have a single row.
        in_order = 1 < changes + 1 == len(set(numbers)) < len(numbers)
    return ClassFacts(block, tuple(dataset.labels(block) or ()), counts, in_order)
