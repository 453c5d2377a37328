"""Whether the order of tokens tells the target, by a permutation test."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.expert.examination.permutations import explain_by_targets
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MAX_ROWS = 256
MAX_TOKENS, MAX_ENDS, MAX_LENGTH = 12, 40, 256
"""The number of tokens whose places are compared, and that may be the first or last one, the most
frequent ones, and of positions."""

PADDING = 0

Tokens = Sequence[float]


def measure_token_order(rows: Rows) -> Suspicion | None:
    """Measure how much the order of tokens tells of the target: "share" of its variance, 0 if that
    could be chance.

    Of each row it is asked which of two tokens comes first, which follows the other directly, how
    far at the front each one is, and which are the first and the last one. All answers are 0 on
    average for tokens in random order, whatever tokens a row has. If the target had nothing to do
    with the order, any order of the targets would be equally likely: in 0.2% of such data the
    given one is by chance above 499 random ones.
    """
    if len(rows.inputs) != 1:
        return None
    ((_, values),) = rows.inputs.items()
    length = count(values.shape[1:])
    if is_float(values.dtype) or not 1 < length <= MAX_LENGTH or len(values.shape) > 2:
        return None
    sample = thin(rows.training, MAX_ROWS)
    flat = values.values()
    texts = [_strip(flat[row * length : (row + 1) * length]) for row in sample]
    counted = Counter(token for text in texts for token in text)
    frequent = [token for token, _ in counted.most_common(MAX_ENDS)]
    questions = zip(*(_describe(text, frequent) for text in texts), strict=True)
    descriptions: list[list[float]] = [[] for _ in texts]
    for answers in questions:
        # All questions count alike, however many numbers answer them.
        weight = math.sqrt(math.fsum(value * value for row in answers for value in row)) or 1.0
        for row, numbers in zip(descriptions, answers, strict=True):
            row += [value / weight for value in numbers]
    share = explain_by_targets(rows, sample, descriptions)
    return Suspicion("how much the order of tokens tells", {"share": share, "rows": len(sample)})


def _strip(text: Tokens) -> Tokens:
    """Return tokens without the padding behind them."""
    end = len(text)
    while end and text[end - 1] == PADDING:
        end -= 1
    return text[:end]


def _describe(text: Tokens, frequent: Tokens) -> list[list[float]]:
    """Return, by question, numbers that are 0 on average over all orders of the tokens."""
    size = max(1, len(text))
    places: dict[float, list[int]] = {token: [] for token in frequent}
    for index, token in enumerate(text):
        if token in places:
            places[token].append(index)
    means = {token: sum(at) / len(at) for token, at in places.items() if at}
    followed = Counter(pairwise(text))
    pairs = [*combinations(frequent[:MAX_TOKENS], 2)]
    ends = [
        [(token == text[at]) - len(places[token]) / size for token in frequent]
        if text
        else [0.0] * len(frequent)
        for at in (0, -1)
    ]
    return [
        [
            _compare(means[other], means[one]) if one in means and other in means else 0.0
            for one, other in pairs
        ],
        [float(followed[one, other] - followed[other, one]) for one, other in pairs],
        [
            2 * (means[token] + 0.5) / size - 1 if token in means else 0.0
            for token in frequent[:MAX_TOKENS]
        ],
        *ends,
        [sum([_compare(other, one) for one, other in pairwise(text)]) / size],
    ]


def _compare(one: float, other: float) -> float:
    return float(one > other) - float(one < other)
