"""Examines the rows of a dataset for causes of too good test scores or useless trainings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from webnnm.data.dataset import Dataset
from webnnm.expert.examination.augmentation import turned
from webnnm.expert.examination.averages import averaged
from webnnm.expert.examination.columns import (
    categories,
    codes,
    counting,
    dependent,
    numerals,
    unresolved,
    vocabulary,
)
from webnnm.expert.examination.dates import dates
from webnnm.expert.examination.formulas import computed
from webnnm.expert.examination.groups import shared
from webnnm.expert.examination.leaks import marking, telling
from webnnm.expert.examination.neighbours import contradictory, copies, windows, within_windows
from webnnm.expert.examination.numbering import unordered
from webnnm.expert.examination.order import apart, nearest, unrelated
from webnnm.expert.examination.pictures import reshaped
from webnnm.expert.examination.remaining_rows import lifted, thinned
from webnnm.expert.examination.rows import Rows, rows_of
from webnnm.expert.examination.sequences import ahead, bags, padded, reproduced, words
from webnnm.expert.examination.subsets import moved
from webnnm.expert.examination.units import mixed_units
from webnnm.expert.facts.facts import Suspicion

CHECKS: dict[str, Callable[[Rows], Suspicion | None]] = {
    "E614": codes,
    "E615": telling,
    "E616": counting,
    "E617": dependent,
    "E619": copies,
    "E620": windows,
    "E621": contradictory,
    "E622": moved,
    "E623": padded,
    "E625": unresolved,
    "E626": categories,
    "E629": numerals,
    "E630": reshaped,
    "E631": mixed_units,
    "E632": computed,
    "E633": thinned,
    "E634": dates,
    "E635": turned,
}
"""What is looked for, by the rule that reports it."""

MEASURES: dict[str, Callable[[Rows], Suspicion | None]] = {
    "E110": lifted,
    "E115": unordered,
    "E319": bags,
    "E330": ahead,
    "E416": words,
    "E418": reproduced,
    "E903": vocabulary,
    "E922": nearest,
}
"""Facts that rules compare with the network, or with the result of the training."""

SPOILED = {
    "E614": ("E617", "E622", "E631"),
    "E615": ("E632",),
    "E625": ("E617", "E626"),
}
"""Findings that follow from another one: cells far off squeeze their column, a column that float32
rounds has whole numbers. Each fact is reported once."""


def examine(
    dataset: Dataset, failed: Callable[[str, Exception], None] | None = None
) -> dict[str, Suspicion]:
    """Return what is suspicious about the rows of a dataset in memory, by rule.

    `failed` is told of a check that raised an error, and the others go on; without it, it is
    raised.

    >>> rows = [[float(row % 7), float(row)] for row in range(40)]
    >>> found = examine(Dataset(rows, [row % 2 for row in range(40)]))
    >>> found["E616"].message
    'column 1 numbers the rows, from 0 to 39'
    """
    rows = rows_of(dataset)

    def check(id: str, search: Callable[[], Suspicion | None]) -> Suspicion | None:
        try:
            return search()
        except Exception as error:
            if failed is None:
                raise
            failed(id, error)
            return None

    checks = CHECKS | MEASURES
    found = {id: check(id, partial(search, rows)) for id, search in checks.items()}
    plain = found["E615"]
    found["E615"] = check(
        "E615", lambda: averaged(rows) or within_windows(plain, rows) or marking(rows)
    )
    found["E627"] = check("E627", lambda: unrelated(found["E922"], found["E903"]))
    found["E619"] = found["E619"] or check("E619", lambda: shared(rows))
    if not found["E619"]:
        found["E620"] = found["E620"] or check("E620", lambda: apart(found["E922"], rows))
    for first, others in SPOILED.items():
        if found[first]:
            found |= dict.fromkeys(others)
    return {id: suspicion for id, suspicion in found.items() if suspicion is not None}
