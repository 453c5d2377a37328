"""Chooses what a token of texts is, by how well naive Bayes tells the labels with each choice."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webnnm.data.texts.vocabulary import MINIMUM_COUNTS, SIZES, Unit, learn_vocabulary

MAX_ROWS = 3000
"""Of more texts the first ones are looked at."""
MAX_LETTERS = 400
"""Of longer texts the beginning is looked at."""
HELD_OUT = 3
"""One of so many rows is held out."""
SMOOTHING = 0.1
"""What is added to each count: a token that a class lacks is not impossible."""
ERRORS = 1.0
"""N-grams cost more to read, so they have to be better by so many standard errors."""


@dataclass(frozen=True)
class TokenChoice:
    """What a token is, and the accuracy of naive Bayes by words and by n-grams, on `rows` texts."""

    unit: Unit
    words: float
    ngrams: float
    rows: int

    def __str__(self) -> str:
        choice = "the better ones" if self.unit == "ngrams" else "which are not clearly better"
        return (
            f"A quick look at {self.rows:,} training texts tells {self.words:.0%} of the labels by "
            f"words, {self.ngrams:.0%} by n-grams of letters, {choice}."
        )


def choose_tokens(
    texts: Sequence[str], labels: Sequence[int], *, lowercase: bool = True
) -> TokenChoice:
    """Return whether words or n-grams tell the labels of texts better.

    >>> texts = [f"{letter}{n}{n + 1} {end}{n}" for n in range(40) for letter, end in ("an", "bm")]
    >>> choose_tokens(texts, [0, 1] * 40).unit
    'ngrams'

    Every third row is held out, the others are counted.
    """
    rows = range(min(len(texts), MAX_ROWS))
    texts = [texts[row][:MAX_LETTERS] for row in rows]
    training = [row for row in rows if row % HELD_OUT]
    held_out = [row for row in rows if not row % HELD_OUT]
    right: dict[Unit, list[bool]] = {}
    for unit in ("words", "ngrams"):
        tokenizer = learn_vocabulary(
            [texts[row] for row in training],
            unit,
            size=SIZES[unit],
            minimum_count=MINIMUM_COUNTS[unit],
            lowercase=lowercase,
        )
        unknown = tokenizer.unknown
        tokens = [{*tokenizer.encode(text)} - {unknown} for text in texts]
        guesses = _classify(
            [tokens[row] for row in training],
            [labels[row] for row in training],
            [tokens[row] for row in held_out],
        )
        pairs = zip(guesses, held_out, strict=True)
        right[unit] = [guess == labels[row] for guess, row in pairs]
    changes = [int(n) - int(w) for w, n in zip(right["words"], right["ngrams"], strict=True)]
    # McNemar (1947): of rows that one of the two has right, how many more are the n-grams'?
    error = math.sqrt(sum(map(abs, changes)))
    unit = "ngrams" if sum(changes) > ERRORS * error else "words"
    count = max(1, len(held_out))
    return TokenChoice(unit, sum(right["words"]) / count, sum(right["ngrams"]) / count, count)


def _classify(
    rows: Sequence[Iterable[int]], labels: Sequence[int], others: Sequence[Iterable[int]]
) -> list[int]:
    """Return the classes of others by complement naive Bayes, given rows and their labels.

    The weights of a class are those of the tokens of all other classes (J. Rennie, L. Shih, J.
    Teevan, D. Karger, 2003, "Tackling the poor assumptions of naive Bayes text classifiers"),
    since few rows of a class have too few tokens.
    """
    totals: Counter[int] = Counter()
    by_class: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for tokens, label in zip(rows, labels, strict=True):
        totals.update(tokens)
        by_class[label].update(tokens)
    size, total = len(totals), totals.total()
    weights: list[tuple[int, Counter[int], float]] = []
    for label in sorted(by_class):
        rest = total - by_class[label].total() + SMOOTHING * size
        weights.append((label, by_class[label], math.log(rest or 1.0)))
    guesses: list[int] = []
    for tokens in others:
        counted = [token for token in tokens if token in totals]
        scores = [
            sum(logarithm - math.log(totals[one] - own[one] + SMOOTHING) for one in counted)
            for _, own, logarithm in weights
        ]
        guesses.append(weights[scores.index(max(scores))][0])
    return guesses
