"""The smallest case that still has a fault, to which changes lead that each take a thing away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

MOST_TRIALS = 200

Case = TypeVar("Case")


def smallest(
    case: Case, fails: Callable[[Case], bool], smaller: Callable[[Case], Iterable[Case]]
) -> Case:
    """Return a case that fails as well; `smaller` yields those with one thing less.

    >>> smallest(12, lambda n: n > 4, lambda n: (n // 2, n - 1))
    5
    """
    trials = 0
    again = True
    while again:
        again = False
        for each in smaller(case):
            trials += 1
            if trials > MOST_TRIALS:
                return case
            if fails(each):
                case, again = each, True
                break
    return case
