"""Finds label noise: labels that disagree with those of similar rows, however clear these are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from operator import mul
from typing import NamedTuple

from webnnm.core.thinning import thin
from webnnm.expert.examination.neighbours import make_points
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import correlation, normalise, residuals, standard_errors
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS, MAX_ROWS = 200, 500
"""So many rows vote about each other: half of them make 0.05 s."""

MAX_COMPARED, MAX_FITTED = 4_000_000, 120_000
"""Numbers of all pairs of rows that are compared, and of rows that lines are fitted to."""

MAX_LINEAR_COLUMNS = 32
MIN_SHARE_OF_VALUES = 0.1
"""A column is measured if it has more distinct values than this share of the rows."""

VOTERS = 15
"""The nearest rows that vote for a class."""

MIN_ROWS_OF_CLASS = 60
"""In fewer rows of one class a constant rate is not told from one that falls."""

MAX_BINS, MAX_CLASSES = 12, 10
RATES = [0.02 * step for step in range(1, 18)]
"""The rates of wrong labels that are tried: at a third, neighbours are no witnesses any more."""

SLOPES_NEAR = [1.4 * 1.4**step for step in range(7)]
SLOPES_LINEAR = [0.6 * 1.4**step for step in range(15)]
"""By how much the logit of an overlap may fall per unit of depth. Two classes that are e times as
far from each other as from their own rows overlap by a fifth at most: the smallest slope of 90
generated sets without wrong labels was 1.4."""

MIN_LIKELIHOOD_RATIO = 5.41
"""Twice the logarithm; by chance it is as high in one of a hundred sets whose classes overlap
(half of χ² with one degree of freedom, for a rate that cannot be negative)."""

MIN_LIKELIHOOD_RATIO_OF_CLASS = 10.0
"""The same for the rows of one class, of which there are several: 0.1% of classes by chance."""

MIN_RATE, MIN_RATIO_OF_RATE = 0.05, 2.0
"""The least share of wrong labels that costs accuracy, and the same ratio against it."""

CLEAR, MIN_CLEAR_SHARE = 0.1, 0.2
"""Rows are clear if an overlap makes fewer of them wrong; a fifth of all rows are."""

MAX_DEPENDENCE, MAX_DEPENDENCE_OF_CLASS = 2.5, 1.0
"""Standard errors by which clear rows may disagree more often where votes are less unanimous: by
chance more in 0.6% of sets, and in 16% of classes. Where the distance does not tell the classes
apart, they do."""

CHANCE_OF_PATTERN = 0.05
"""How often a column, its square, or a class has to do with which of the clear rows are wrong by
chance. Outcomes that are random by nature are more so in some regions than in others."""

MAX_LAG = 0.02
"""Votes that are wrong in so much more of the rows than others are no witnesses."""

MIN_SHARE_OF_ONE = 0.75
"""Of a class, this share of the wrong labels is one other class, where one is taken for another."""

MAX_LISTED, MAX_NAMED = 20, 3


class Votes(NamedTuple):
    """What other rows say of each row: its class, how far the row is from those of other classes,
    and the share of the votes.

    `slopes` are those by which the logit of an overlap may fall per unit of depth.
    """

    numbers: Sequence[int]
    labels: Sequence[float]
    winners: Sequence[float]
    depths: Sequence[float]
    shares: Sequence[float]
    slopes: Sequence[float]

    @property
    def wrong(self) -> list[bool]:
        """Whether the label of each row differs from the class of the votes."""
        return [a != b for a, b in zip(self.labels, self.winners, strict=True)]

    @property
    def error(self) -> float:
        """The share of rows whose label differs."""
        return sum(self.wrong) / len(self.labels)

    def select(self, winner: float) -> Votes:
        """Return the rows that votes take for one class."""
        kept = [index for index, one in enumerate(self.winners) if one == winner]
        return Votes(
            [self.numbers[index] for index in kept],
            [self.labels[index] for index in kept],
            [self.winners[index] for index in kept],
            [self.depths[index] for index in kept],
            [self.shares[index] for index in kept],
            self.slopes,
        )


def find_label_noise(rows: Rows) -> Suspicion | None:
    """Find labels that are wrong at a constant rate, in all classes or in one that others have."""
    if rows.target is None or not rows.classes or len(rows.training) < MIN_ROWS:
        return None
    if not _are_measured(rows):
        return None
    votes = _keep_best([_vote_by_neighbours(rows), _vote_by_lines(rows)])
    searches = (_find_noise, _find_noise_of_class)
    suspicions = (search(rows, one) for search in searches for one in votes)
    return next(filter(None, suspicions), None)


def _are_measured(rows: Rows) -> bool:
    """Return whether most columns have many values: answers of few are alike by chance, and the
    same thing elsewhere in a picture is far away."""
    sample = rows.sample
    least = MIN_SHARE_OF_VALUES * len(sample)
    many = [len({*column.take(sample)}) > least for column in rows.columns]
    return 2 * sum(many) > len(many)


def _find_noise(rows: Rows, votes: Votes) -> Suspicion | None:
    """Find labels of all classes that are wrong."""
    noise = _measure_noise(votes, MIN_LIKELIHOOD_RATIO, MAX_DEPENDENCE)
    if noise is None or _has_pattern(rows, votes, noise[1]):
        return None
    rate, clear = noise
    return _describe(votes, clear, rate, "labels disagree with those of similar rows")


def _find_noise_of_class(rows: Rows, votes: Votes) -> Suspicion | None:
    """Find a class many of whose rows have the label of another one."""
    classes = [label for label, n in Counter(votes.winners).items() if n >= MIN_ROWS_OF_CLASS]
    for label in sorted(classes):
        votes_of_class = votes.select(label)
        noise = _measure_noise(
            votes_of_class, MIN_LIKELIHOOD_RATIO_OF_CLASS, MAX_DEPENDENCE_OF_CLASS
        )
        if noise is None or _has_pattern(rows, votes_of_class, noise[1]):
            continue
        rate, clear = noise
        examples = _list_rows(votes_of_class, clear)
        labels = Counter(votes_of_class.labels[index] for index in examples)
        ((other, number),) = labels.most_common(1)
        if number < MIN_SHARE_OF_ONE * len(examples):
            continue
        what = f"rows that are like those of class {label:g} have the label {other:g}"
        return _describe(votes_of_class, clear, rate, what)
    return None


def _keep_best(candidates: Sequence[Votes | None]) -> list[Votes]:
    """Return the votes that predict labels best, and those that are nearly as good."""
    votes = [one for one in candidates if one is not None]
    best = min([one.error for one in votes], default=0.0)
    return [one for one in votes if one.error <= best + MAX_LAG]


def _spread(rows: Rows, limit: int) -> list[int]:
    """Return evenly spaced training rows, in the order of the data."""
    numbers = sorted(rows.training)
    step = max(1.0, len(numbers) / max(1, limit))
    return [numbers[int(index * step)] for index in range(int(len(numbers) / step))]


def _vote_by_neighbours(rows: Rows) -> Votes | None:
    """Return the votes of the nearest rows; the depth is the logarithm of how many times farther
    rows of other classes are than rows of the same one."""
    assert rows.target is not None
    limit = min(MAX_ROWS, math.isqrt(MAX_COMPARED // len(rows.columns)))
    numbers = _spread(rows, limit) if limit >= MIN_ROWS else []
    points = make_points(rows, numbers, len(numbers)) if numbers else None
    if points is None:
        return None
    labels = [rows.target[number] for number in numbers]
    distances = [[math.dist(point, other) for other in points] for point in points]
    winners: list[float] = []
    shares: list[float] = []
    for index, row in enumerate(distances):
        order = nsmallest(VOTERS + 1, range(len(row)), key=row.__getitem__)
        polled = Counter(labels[near] for near in order if near != index)
        ((winner, number),) = polled.most_common(1)
        winners.append(winner)
        shares.append(number / sum(polled.values()))
    depths = [
        _measure_depth(row, winners, winner) for row, winner in zip(distances, winners, strict=True)
    ]
    return Votes(numbers, labels, winners, depths, shares, SLOPES_NEAR)


def _measure_depth(row: Sequence[float], winners: Sequence[float], winner: float) -> float:
    """Return how far a row is inside its class, by its distances to all rows, itself included."""
    own = nsmallest(4, (d for d, other in zip(row, winners, strict=True) if other == winner))
    others = nsmallest(3, (d for d, other in zip(row, winners, strict=True) if other != winner))
    if len(own) < 4 or not others:
        return 0.0
    return max(0.0, math.log((others[-1] + 1e-12) / (own[-1] + 1e-12)))


def _vote_by_lines(rows: Rows) -> Votes | None:
    """Return the votes of linear models, each fitted on one half of the rows, of the other half;
    the depth is by how much the score of the class exceeds that of the next one."""
    assert rows.target is not None
    columns = rows.columns
    kinds = sorted({rows.target[number] for number in rows.training})
    if not 0 < len(columns) <= MAX_LINEAR_COLUMNS or not 1 < len(kinds) <= MAX_CLASSES:
        return None
    numbers = _spread(rows, MAX_FITTED // (len(columns) * (len(columns) + len(kinds))))
    if len(numbers) < max(MIN_ROWS, 8 * len(columns)):
        return None
    ordered: list[int] = []
    winners: list[float] = []
    depths: list[float] = []
    for fitted, tested in ((numbers[::2], numbers[1::2]), (numbers[1::2], numbers[::2])):
        both = [*fitted, *tested]
        values = [column.take(both) for column in columns]
        scores: list[list[float]] = []
        for kind in kinds[: len(kinds) if len(kinds) > 2 else 1]:
            indicator = [float(rows.target[number] == kind) for number in both]
            remainders = residuals(indicator, values, len(fitted))
            fits = [a - b for a, b in zip(indicator, remainders, strict=True)]
            scores.append(fits[len(fitted) :])
        if len(kinds) == 2:
            scores.append([1 - score for score in scores[0]])
        for scores_of_row in zip(*scores, strict=True):
            (best, winner), (second, _) = sorted(zip(scores_of_row, kinds, strict=True))[:-3:-1]
            winners.append(winner)
            depths.append(best - second)
        ordered += tested
    labels = [rows.target[number] for number in ordered]
    return Votes(ordered, labels, winners, depths, [1.0] * len(ordered), SLOPES_LINEAR)


class _Bin(NamedTuple):
    """Rows of about the same depth: how many labels are wrong, and how many are right."""

    depth: float
    wrong: int
    right: int


def _measure_noise(votes: Votes, limit: float, max_dependence: float) -> tuple[float, float] | None:
    """Return the rate of wrong labels, and the depth from which rows are clear; None without noise.

    Classes that overlap are wrong in half of the rows between them, and in fewer the deeper a row
    is, as a logistic model says; noise adds a constant rate. The likelihood ratio of both models
    tells whether there is such a rate (Copas 1988, Binary regression models for contaminated data).
    """
    bins = _make_bins(votes)
    overlap, _, _ = _fit(bins, [0.0], votes.slopes)
    likelihood, slope, rate = _fit(bins, RATES, votes.slopes)
    small, _, _ = _fit(bins, [MIN_RATE], votes.slopes)
    if 2 * (likelihood - overlap) < limit or 2 * (likelihood - small) < MIN_RATIO_OF_RATE:
        return None
    if rate <= MIN_RATE or rate == RATES[-1]:
        return None
    clear = min([one.depth for one in bins if _overlap(slope, one.depth) < CLEAR], default=math.inf)
    indices = [index for index, depth in enumerate(votes.depths) if depth >= clear]
    if (
        len(indices) < MIN_CLEAR_SHARE * len(votes.depths)
        or _measure_dependence(votes, indices) > max_dependence
    ):
        return None
    return rate, clear


def _make_bins(votes: Votes) -> list[_Bin]:
    """Return the rows in groups of equal size, by depth."""
    pairs = sorted(zip(votes.depths, votes.wrong, strict=True))
    size = -(-len(pairs) // MAX_BINS)
    bins: list[_Bin] = []
    for first in range(0, len(pairs), size):
        group = pairs[first : first + size]
        wrong = sum([is_wrong for _, is_wrong in group])
        depth = math.fsum(depth for depth, _ in group) / len(group)
        bins.append(_Bin(depth, wrong, len(group) - wrong))
    return bins


def _overlap(slope: float, depth: float) -> float:
    """Return the share of rows of this depth that another class has in an overlap."""
    return 1 / (1 + math.exp(min(50.0, slope * depth)))


def _fit(
    bins: Sequence[_Bin], rates: Iterable[float], slopes: Sequence[float]
) -> tuple[float, float, float]:
    """Return the highest log-likelihood, with the slope and the rate of noise that have it."""
    return max(
        (_log_likelihood(bins, slope, rate), slope, rate) for rate in rates for slope in slopes
    )


def _log_likelihood(bins: Sequence[_Bin], slope: float, rate: float) -> float:
    total = 0.0
    for one in bins:
        chance = rate + (1 - 2 * rate) * _overlap(slope, one.depth)
        chance = min(0.999, max(0.001, chance))
        total += one.wrong * math.log(chance) + one.right * math.log(1 - chance)
    return total


def _measure_dependence(votes: Votes, indices: Sequence[int]) -> float:
    """Return by how many standard errors rows are wrong more often where their votes are less
    unanimous: the trend of shares (Armitage 1955)."""
    wrong = [float(votes.wrong[index]) for index in indices]
    dissent = [1 - votes.shares[index] for index in indices]
    return correlation(wrong, dissent) * math.sqrt(len(indices))


def _has_pattern(rows: Rows, votes: Votes, clear: float) -> bool:
    """Return whether columns, their squares or classes tell which of the clear rows are wrong.

    Wrong labels are in any row, but an outcome that is random by nature is not equally so for all.
    """
    indices = [index for index, depth in enumerate(votes.depths) if depth >= clear]
    wrong = normalise([float(votes.wrong[index]) for index in indices])
    winners = [votes.winners[index] for index in indices]
    kinds = sorted({*winners})
    patterns = [[float(winner == kind) for winner in winners] for kind in kinds[1:]]
    numbers = [votes.numbers[index] for index in indices]
    for column in thin(rows.columns, MAX_LINEAR_COLUMNS):
        values = normalise(column.take(numbers))
        patterns += [values, [value**2 for value in values]]
    limit = standard_errors(CHANCE_OF_PATTERN / max(1, len(patterns)))
    relations = [math.fsum(map(mul, wrong, normalise(pattern))) for pattern in patterns]
    return max(map(abs, relations), default=0.0) * math.sqrt(len(indices)) > limit


def _list_rows(votes: Votes, clear: float) -> list[int]:
    """Return the clear rows with another label than the votes, the clearest ones first."""
    wrong = votes.wrong
    indices = [i for i, depth in enumerate(votes.depths) if wrong[i] and depth >= clear]
    return sorted(indices, key=lambda index: -votes.depths[index])[:MAX_LISTED]


def _describe(votes: Votes, clear: float, rate: float, what: str) -> Suspicion:
    """Return what was found, with the rows that show it best; labels are counted from 0."""
    listed = _list_rows(votes, clear)
    texts = [
        f"row {votes.numbers[index]} ({votes.labels[index]:g} among rows of class "
        f"{votes.winners[index]:g})"
        for index in listed[:MAX_NAMED]
    ]
    return Suspicion(
        f"about {rate:.0%} of the {what}, as often far from other classes as near them, such as "
        + ", ".join(texts),
        {"rate": rate, "rows": [votes.numbers[index] for index in listed]},
    )
