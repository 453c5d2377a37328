"""Finds targets that are cut off at the highest number that a device or a field can hold."""

from __future__ import annotations

from collections import Counter

from webnnm.core.readable import show_number
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS, MIN_CELLS, MIN_SHARE = 60, 10, 0.03
"""Training rows, and those with the highest target."""

MIN_EXCESS = 5
"""The highest number is so many times as frequent as any other one."""

MIN_DISTINCT = 20
BITS = (8, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24)
"""Converters of so many bits end at 2ᵇ − 1."""

MIN_BEYOND, MIN_SHARE_BEYOND = 3, 0.01
"""Rows of other subsets beyond the limit: these, and this share of them."""


def find_cut_off_targets(rows: Rows) -> Suspicion | None:
    """Find a quantity whose highest number is frequent, and is not the highest of all."""
    if rows.quantity is None or len(rows.training) < MIN_ROWS:
        return None
    targets = rows.quantity.take_raw(rows.training)
    highest = max(targets)
    slack = 1e-6 * (abs(highest) + highest - min(targets))
    at_limit = sum([target >= highest - slack for target in targets])
    others = Counter(target for target in targets if target < highest - slack)
    if at_limit < max(MIN_CELLS, MIN_SHARE * len(targets)) or len(others) < MIN_DISTINCT:
        return None
    if at_limit < MIN_EXCESS * max(others.values()):
        return None
    limit = f"{at_limit / len(targets):.0%} of the targets are {show_number(highest)}, the highest"
    for subset in ("testing", "validation"):
        numbers = rows.quantity.take_raw(rows.subsets[subset])
        beyond = sum([number > highest + 100 * slack for number in numbers])
        if beyond >= max(MIN_BEYOND, MIN_SHARE_BEYOND * len(numbers)):
            share = f"{beyond / len(numbers):.0%} of the {subset} rows have higher ones"
            return Suspicion(f"{limit} of the training rows; {share}", {"limit": highest})
    bits = next((bits for bits in BITS if abs(highest - (2**bits - 1)) <= 10 * slack), 0)
    if not bits:
        return None
    return Suspicion(
        f"{limit} number that {bits} bits can hold: they are cut off there", {"limit": highest}
    )
