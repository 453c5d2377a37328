"""What is suspicious about sequences and words: manual padding, targets that the input has."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import correlation
from webnnm.expert.facts.facts import Suspicion

MIN_PADDING = 0.2
"""The share of positions that repeat the last one, if rows were padded manually."""

MAX_VALUES = 1000
"""This many values show whether an input has whole numbers."""

BLOCK = 1 << 14
"""So many values are looked at together for the largest one."""

MAX_COLUMNS = 16
MIN_ROWS = 20
MIN_CORRELATION = 0.9999
"""The columns, the least rows, and their correlation if targets are the inputs."""

MAX_BAGS, MAX_WORDS, PASSES = 400, 64, 5
"""The rows, words and passes that show whether the order of words matters."""

MIN_ACCURACY = 0.9
"""If words without their order predict the class of this share of other rows, order adds little."""

MIN_NEXT_SHARE = 0.95
"""The share of targets that equal the next values of the input."""


def find_next_values(rows: Rows) -> Suspicion | None:
    """Find inputs whose next values are the targets."""
    for block, values in rows.inputs.items():
        size = count(values.shape[1:])
        for output, targets in rows.outputs.items():
            if values.shape != targets.shape or size < 3:
                continue
            numbers, next_numbers = values.values(), targets.values()
            pairs = [
                numbers[row * size + index + 1] == next_numbers[row * size + index]
                for row in rows.sample
                for index in range(size - 1)
            ]
            if sum(pairs) > MIN_NEXT_SHARE * len(pairs) and len(set(next_numbers)) > 1:
                return Suspicion(f"{output} are the next values of {block}", {block: output})
    return None


def find_reproduction(rows: Rows) -> Suspicion | None:
    """Find inputs that are the targets, scaled or not."""
    same: dict[str, str] = {}
    for block, values in rows.inputs.items():
        size = count(values.shape[1:])
        for output, targets in rows.outputs.items():
            if values.shape != targets.shape or size < 2 or len(rows.sample) < MIN_ROWS:
                continue
            numbers, target_numbers = values.values(), targets.values()
            columns = (
                (
                    [numbers[row * size + n] for row in rows.sample],
                    [target_numbers[row * size + n] for row in rows.sample],
                )
                for n in range(0, size, -(-size // MAX_COLUMNS))
            )
            varied = [pair for pair in columns if len({*pair[0]}) > 1]
            if varied and all(correlation(*pair) > MIN_CORRELATION for pair in varied):
                same[block] = output
    return Suspicion("the targets are the inputs", same) if same else None


def find_token_ids(rows: Rows) -> Suspicion | None:
    """Find the highest token id of inputs that may be words."""
    highest_ids = {
        block: _find_highest(values)
        for block, values in rows.inputs.items()
        if block not in rows.standardization and count(values.shape) and _are_indices(values)
    }
    return Suspicion("the highest token ids", highest_ids) if highest_ids else None


def _find_highest(values: HostArray) -> float:
    """Return the largest value; of bytes no further than to 255, which pictures soon have."""
    flat, limit = values.values(), {"int8": 127, "uint8": 255}.get(values.dtype)
    highest = flat[0]
    for first in range(0, len(flat), BLOCK):
        highest = max(highest, *flat[first : first + BLOCK])
        if highest == limit:
            break
    return highest


def _are_indices(values: HostArray) -> bool:
    """Return whether the first values look like indices from 0."""
    return all(value >= 0 and value == int(value) for value in islice(values.values(), MAX_VALUES))


def find_bag_of_words(rows: Rows) -> Suspicion | None:
    """Find words that predict the class whatever their order: a bag-of-words perceptron is right on
    rows that it was not trained on."""
    labels, ((_, values), *others) = rows.target, rows.inputs.items()
    length = count(values.shape[1:])
    tokens = not others and not is_float(values.dtype) and 1 < length <= MAX_WORDS
    if not tokens or labels is None or not rows.classes:
        return None
    selected = thin(rows.training, MAX_BAGS)
    training, held_out = [row for n, row in enumerate(selected) if n % 4], selected[::4]
    if len(held_out) < MIN_ROWS:
        return None
    flat = values.values()
    bag = {
        row: {int(token) for token in flat[row * length : (row + 1) * length]} for row in selected
    }
    scores: dict[float, Counter[int]] = {labels[row]: Counter() for row in selected}

    def answer(row: int) -> float:
        return max(scores, key=lambda label: sum([scores[label][token] for token in bag[row]]))

    for _ in range(PASSES):
        for row in training:
            if (answered := answer(row)) != labels[row]:
                scores[labels[row]].update(bag[row])
                scores[answered].subtract(bag[row])
    share = sum(answer(row) == labels[row] for row in held_out) / len(held_out)
    share_of_largest = max(Counter(labels[row] for row in held_out).values()) / len(held_out)
    if share < MIN_ACCURACY or 1 - share > (1 - share_of_largest) / 3:
        return None
    return Suspicion(
        f"words without their order predict the class of {share:.0%}", {"share": share}
    )


def find_padding(rows: Rows) -> Suspicion | None:
    """Find sequences of equal length most of which end in the same position, repeated."""
    for block, values in rows.inputs.items():
        field = rows.fields[block]
        masked = len(set(getattr(values, "lengths", ()))) > 1
        words = len(field.shape) == 1 and _are_indices(values)
        steps = len(field.shape) == 2  # a sequence if the model text says so
        if not (field.sequence or words or steps) or masked or field.shape[0] < 4:
            continue
        length, unit = field.shape[0], count(field.shape[1:])
        flat = values.values()
        lasts = Counter(
            tuple(flat[(row + 1) * length * unit - unit : (row + 1) * length * unit])
            for row in rows.sample
        )
        ((filler, often),) = lasts.most_common(1)
        if often < len(rows.sample) / 2:
            continue
        tails: list[int] = []
        for row in rows.sample:
            end = (row + 1) * length
            tail = 0
            while (
                tail < length
                and tuple(flat[(end - tail - 1) * unit : (end - tail) * unit]) == filler
            ):
                tail += 1
            tails.append(tail)
        share = sum(tails) / (len(tails) * length)
        if share > MIN_PADDING and len(set(tails)) > 1:
            what = ", ".join(f"{value:g}" for value in filler[:3])
            return Suspicion(
                f"{share:.0%} of the positions of {block} are {what} at the end of rows, and are "
                "not masked",
                {"share": share, "sequence": bool(field.sequence), "words": words},
            )
    return None
