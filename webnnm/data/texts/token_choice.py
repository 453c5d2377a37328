"""Chooses what a token of texts is, by how well naive Bayes tells the labels with each choice."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webnnm.data.split import Split
from webnnm.data.texts.vocabulary import MINIMUM_COUNTS, SIZES, Unit, learn_vocabulary

MAX_ROWS = 3000
"""Of more texts so many are looked at, of each class its share."""
MAX_LETTERS = 400
"""Of longer texts the beginning is looked at."""
HELD_OUT = 1 / 3
"""The share of these rows that is held out."""
SMOOTHING = 0.1
"""What is added to each count: a token that a class lacks is not impossible."""
ERRORS = 1.0
"""N-grams cost more to read, so they have to be better by so many standard errors."""


@dataclass(frozen=True)
class TokenChoice:
    """What a token is, and the accuracy of naive Bayes by words and by n-grams.

    `held_out` of `rows` texts are classified; naive Bayes counts the tokens of the others.
    """

    unit: Unit
    words: float
    ngrams: float
    held_out: int
    rows: int

    def __str__(self) -> str:
        choice = "the better ones" if self.unit == "ngrams" else "which are not clearly better"
        return (
            f"A quick look held out {self.held_out:,} of {self.rows:,} training texts: naive Bayes "
            f"tells {self.words:.0%} of their labels by words, {self.ngrams:.0%} by n-grams of "
            f"letters, {choice}."
        )


def choose_tokens(
    texts: Sequence[str], labels: Sequence[int], *, lowercase: bool = True
) -> TokenChoice | None:
    """Return whether words or n-grams tell the labels of texts better, None for too few texts.

    >>> texts = [f"{letter}{n}{n + 1} {end}{n}" for n in range(40) for letter, end in ("an", "bm")]
    >>> choose_tokens(texts, [0, 1] * 40).unit
    'ngrams'

    A third of the rows is held out, the others are counted.
    """
    share = min(1.0, MAX_ROWS / max(1, len(texts)))
    parts = (share * (1 - HELD_OUT), share * HELD_OUT, 1 - share)
    training, held_out, _ = Split(parts).rows(len(texts), labels)
    if not training or not held_out:
        return None
    texts = [text[:MAX_LETTERS] for text in texts]
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
        counted, others = (
            [{*tokenizer.encode(texts[row])} - {unknown} for row in part]
            for part in (training, held_out)
        )
        guesses = classify(counted, [labels[row] for row in training], others)
        pairs = zip(guesses, held_out, strict=True)
        right[unit] = [guess == labels[row] for guess, row in pairs]
    changes = [int(n) - int(w) for w, n in zip(right["words"], right["ngrams"], strict=True)]
    # McNemar (1947): of rows that one of the two has right, how many more are the n-grams'?
    error = math.sqrt(sum(map(abs, changes)))
    unit = "ngrams" if sum(changes) > ERRORS * error else "words"
    count = len(held_out)
    words, ngrams = (sum(right[one]) / count for one in ("words", "ngrams"))
    return TokenChoice(unit, words, ngrams, count, count + len(training))


def classify(
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
    logarithms = {token: math.log(count + SMOOTHING) for token, count in totals.items()}
    counted = [[token for token in tokens if token in totals] for tokens in others]
    best = [-math.inf] * len(others)
    guesses = [0] * len(others)
    for label in sorted(by_class):
        own = by_class[label]
        rest = math.log((total - own.total() + SMOOTHING * size) or 1.0)
        # Most tokens are in no row of the class: their weight is that of all classes.
        weights = dict(logarithms)
        for token, count in own.items():
            weights[token] = math.log(totals[token] - count + SMOOTHING)
        for row, tokens in enumerate(counted):
            score = len(tokens) * rest - sum(map(weights.__getitem__, tokens))
            if score > best[row]:
                best[row], guesses[row] = score, label
    return guesses
