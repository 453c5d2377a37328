"""Measures facts about a dataset that distinguish good data from bad, for the rules of spec F.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.data.classes import get_row_classes
from webnnm.data.dataset import Arrays, Dataset
from webnnm.data.field import SUBSETS
from webnnm.data.preparation.chance import estimate_chance_share
from webnnm.data.preparation.equal_rows import group_equal_rows, split_equal_rows
from webnnm.data.preparation.features import FeatureFacts, measure_features
from webnnm.data.preparation.row_sample import MAX_CELLS, sample_rows
from webnnm.data.preparation.statistics import class_counts
from webnnm.data.split import PARTS

NARROW = 16
FEW = 0.5
"""Rows of so few numbers, each with fewer values than this share of the different rows, are equal
by chance: those of Iris, of questionnaires, of short sentences."""

LIKELY = 5
"""This many times as many equal rows as independent numbers would give may be chance: numbers of a
row depend on one another."""


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
    whether the inputs have so few values that rows are equal by chance; `equal`, groups of rows
    with the same inputs.
    """

    sizes: Mapping[str, int]
    method: str
    classes: tuple[ClassFacts, ...]
    features: tuple[FeatureFacts, ...]
    repeated: Mapping[str, int]
    coarse: bool = False
    equal: Sequence[Sequence[int]] = ()

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


def measure_quality(dataset: Dataset, *, max_cells: int = MAX_CELLS) -> DataQuality:
    """Measure a dataset in memory, as its batches deliver it without augmentation.

    Features of more than `max_cells` numbers are measured in a sample of the rows.

    >>> data = Dataset([[1.0, 5.0], [3.0, 5.0], [1.0, 5.0]], [0, 1, 0], split=([0, 1], [], [2]))
    >>> quality = measure_quality(data)
    >>> [feature.index for feature in quality.constant], quality.get_repeated_share("testing")
    ([1], 1.0)
    """
    sizes: dict[str, int] = {subset: dataset.size(subset) for subset in SUBSETS}
    inputs, outputs = dataset.arrays("full")
    features: list[FeatureFacts] = []
    repeated: dict[str, int] = {}
    coarse = False
    equal = group_equal_rows(inputs, dataset.merged_words)
    if sizes["training"]:
        sample = sample_rows(dataset, max_cells=max_cells)["training"]
        for block in dataset.inputs:
            features += measure_features(dataset, block, sample, max_cells)
        repeated, distinct = _count_repeated(dataset, split_equal_rows(equal, outputs))
        share = max((n / sizes[subset] for subset, n in repeated.items()), default=0.0)
        if share:
            training = dataset.rows("training")
            coarse = _is_coarse(inputs, training, distinct)
            if not coarse:
                classes = get_row_classes(dataset.outputs, outputs)
                coarse = share <= LIKELY * estimate_chance_share(inputs, classes, training, sample)
    facts = (_measure_classes(dataset, block, outputs[block]) for block in dataset.outputs)
    return DataQuality(
        sizes,
        dataset.method,
        tuple(fact for fact in facts if fact),
        tuple(features),
        repeated,
        coarse,
        equal,
    )


def _count_repeated(
    dataset: Dataset, groups: Sequence[Sequence[int]]
) -> tuple[dict[str, int], int]:
    """Return how many rows of a subset are also in training, and the number of different rows of
    training, from groups of equal rows."""
    subset_of = {row: subset for subset in PARTS for row in dataset.rows(subset)}
    repeated = {subset: 0 for subset in PARTS[1:] if dataset.size(subset)}
    distinct = dataset.size("training")
    for rows in groups:
        subsets = Counter(subset_of[row] for row in rows if row in subset_of)
        if subsets["training"]:
            distinct -= subsets["training"] - 1
            for subset in repeated:
                repeated[subset] += subsets[subset]
    return repeated, distinct


def _is_coarse(inputs: Arrays, training: Sequence[int], different_rows: int) -> bool:
    """Return whether rows of few numbers with few values each may be equal by chance."""
    if sum(count(values.shape[1:]) for values in inputs.values()) > NARROW:
        return False
    return all(
        len(set(values.rows(training).values()[index::size])) < different_rows * FEW
        for values in inputs.values()
        for size in [count(values.shape[1:])]
        for index in range(size)
    )


def _measure_classes(dataset: Dataset, block: str, labels: HostArray) -> ClassFacts | None:
    field = dataset.outputs[block]
    counts: dict[str, tuple[int, ...]] = {
        subset: class_counts(labels.rows(dataset.rows(subset)), field)
        for subset in SUBSETS
        if dataset.size(subset)
    }
    if not counts["full"]:
        return None
    in_order = False
    training = dataset.rows("training")
    if training:
        numbers = get_row_classes({block: field}, {block: labels.rows(training)}) or []
        changes = sum([a != b for a, b in pairwise(numbers)])
        # As many stretches as classes: each class is in one, and not all have a single row.
        in_order = 1 < changes + 1 == len(set(numbers)) < len(numbers)
    return ClassFacts(block, tuple(dataset.labels(block) or ()), counts, in_order)
