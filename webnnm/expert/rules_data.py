"""Rules on data: what spoils a training or its test (spec E601–E613)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from webnnm.expert.facts import DataFacts, Facts, FeatureFacts
from webnnm.expert.rule import Hit, grouped, listed, rule
from webnnm.training.loss_choice import LARGE_SHARE

MEAN = 3.0
STD = (0.1, 10.0)
"""Features are well scaled with a mean within the first, a deviation between the others."""

SAME = 1e-8
"""Features with a smaller deviation are constant (spec G.4)."""

SHARED = 0.01
STRANGE = 0.5
LONG = 100
UNEVEN = 5
FEW = 10
SUBSETS = ("training", "validation", "testing")


def _classes(
    facts: Facts, test: Callable[[Mapping[str, int], DataFacts], str | bool]
) -> Hit | None:
    """Return the classes for which `test(subset → rows, data)` says something."""
    data = facts.data
    found: dict[str, list[str]] = {}
    for output, counts in data.class_counts.items():
        names = data.class_names.get(output) or ()
        for number in range(max((len(rows) for rows in counts.values()), default=0)):
            here = {s: counts[s][number] if s in counts else 0 for s in SUBSETS}
            text = test(here, data)
            if text:
                name = names[number] if number < len(names) else str(number)
                tail = "" if text is True else f" ({text})"
                found.setdefault(output, []).append(f"{name}{tail}")
    return grouped(
        {f"{output}:output": f"{listed(names)} of {output}" for output, names in found.items()},
        "classes " if sum(map(len, found.values())) > 1 else "class ",
        evidence={output: len(names) for output, names in found.items()},
    )


def _training_counts(facts: Facts) -> dict[str, Sequence[int]]:
    """Return the rows of each class in training, of outputs with classes that occur."""
    counts = facts.data.class_counts
    return {
        name: present
        for name, subsets in counts.items()
        if (present := [rows for rows in subsets.get("training", ()) if rows])
    }


@rule("E601", "warning", "Split the rows stratified.")
def unseen(facts: Facts) -> Hit | None:
    """A class of the data has no row in training."""
    return _classes(
        facts, lambda rows, _: not rows["training"] and any(rows.values()) and "none in training"
    )


@rule("E602", "warning", "Split the rows stratified.")
def misplaced(facts: Facts) -> Hit | None:
    """A class occurs in testing or validation but not in training, or not in testing."""

    def test(rows: Mapping[str, int], data: DataFacts) -> str | bool:
        tried = rows["testing"] + rows["validation"]
        if not rows["training"]:
            return tried > 0 and f"{tried} to be tested, none in training"
        return data.sizes.get("testing", 0) > 0 and not rows["testing"] and "none in testing"

    return _classes(facts, test)


def _features(facts: Facts, text: Callable[[FeatureFacts], str | None], tail: str) -> Hit | None:
    """Return the features of which `text` says something."""
    features = facts.data.features
    found: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for name, every in features.items():
        texts = [f"{one.name}{told}" for one in every if (told := text(one)) is not None]
        if texts:
            numbers[name] = len(texts)
            lead = f"{len(texts)} of {len(every)} features of {name} {tail}"
            found[f"{name}:input"] = f"{lead}: {listed(texts)}"
    return grouped(found, evidence=numbers)


@rule("E603", "warning", "Standardise the inputs: standardize=True.")
def unscaled(facts: Facts) -> Hit | None:
    """A feature of the training rows has |mean| > 3, or std outside 0.1 … 10; but for features of
    only 0 and 1, and constants."""

    def text(feature: FeatureFacts) -> str | None:
        scaled = abs(feature.mean) <= MEAN and STD[0] <= feature.std <= STD[1]
        if scaled or feature.binary or feature.std < SAME:
            return None
        return f" (mean {feature.mean:.3g}, std {feature.std:.3g})"

    return _features(facts, text, "are far from 0 ± 1")


@rule("E604", "advice", "Drop the feature.")
def constant(facts: Facts) -> Hit | None:
    """A feature has the same value in all training rows."""
    return _features(
        facts,
        lambda feature: None if feature.std >= SAME else f" ({feature.mean:.3g})",
        "are constant",
    )


@rule("E605", "error", "Correct or drop the row.")
def non_finite(facts: Facts) -> Hit | None:
    """A value is NaN or infinite (NNM707)."""
    place = facts.data.non_finite
    row = re.search(r"row (\d+)", place)
    return Hit(message=place, evidence={"row": int(row[1])} if row else {}) if place else None


@rule("E606", "warning", "Remove the duplicates.")
def leaked(facts: Facts) -> Hit | None:
    """More than 1 % of the testing rows are training rows too."""
    share = facts.data.shared_rows
    if share <= SHARED:
        return None
    message = f"{share:.1%} of the testing rows are training rows too"
    return Hit(message=message, evidence={"share": share})


@rule("E607", "advice", "Split off 15 % for validation.")
def unvalidated(facts: Facts) -> Hit | None:
    """No validation rows, and 100 epochs or more."""
    epochs = facts.settings.get("epochs") or 0
    if not facts.data.training or facts.data.sizes.get("validation") or epochs < LONG:
        return None
    message = f"{epochs} epochs without validation: the best one is judged by training"
    return Hit(message=message, evidence={"epochs": epochs})


@rule("E608", "advice", "Gather rows of the rare classes, or weight them with alpha of FOL.")
def uneven(facts: Facts) -> Hit | None:
    """The largest class has more than five times the training rows of the smallest; not E110."""
    found = {
        name: (max(rows), min(rows))
        for name, rows in _training_counts(facts).items()
        if max(rows) > UNEVEN * min(rows) and max(rows) <= LARGE_SHARE * sum(rows)
    }
    return grouped(
        {f"{n}:output": f"classes of {n} have {b:,} … {a:,} rows" for n, (a, b) in found.items()},
        evidence={name: a / b for name, (a, b) in found.items()},
    )


@rule("E609", "warning", "Set batch_size to at most the training rows.", "batch_size = rows")
def large_batch(facts: Facts) -> Hit | None:
    """A batch has more rows than the training subset."""
    size, rows = facts.batch_size, facts.data.training
    if not size or not rows or size <= rows:
        return None
    return Hit(
        message=f"batches of {size} rows, {rows} training rows",
        evidence={"batch_size": size, "rows": rows},
        fix={"batch_size": rows},
        changes={"batch_size": rows},
    )


@rule("E610", "warning", "Set shuffle=True.")
def in_order(facts: Facts) -> Hit | None:
    """Rows sorted by class, and shuffling off."""
    if not facts.data.sorted or facts.settings.get("shuffle") is not False:
        return None
    return Hit(message="rows come sorted by class and are not shuffled", fix={"shuffle": True})


@rule("E611", "advice", "Gather more rows of it.")
def rare(facts: Facts) -> Hit | None:
    """A class has fewer than 10 training rows."""
    return _classes(
        facts, lambda rows, _: 0 < rows["training"] < FEW and f"{rows['training']} in training"
    )


@rule("E612", "warning", "Fit the statistics on the training rows alone.")
def peeked(facts: Facts) -> Hit | None:
    """The statistics that standardise the data came from more than the training rows."""
    fitted = facts.data.fitted_on
    if fitted in ("", "training"):
        return None
    return Hit(message=f"standardised with statistics of the {fitted} rows")


@rule("E613", "warning", "Leave the column out with features=[…], or split texts into tokens.")
def strange(facts: Facts) -> Hit | None:
    """More than half of the other rows have a word in a column that no training row has."""
    found = {name: share for name, share in facts.data.unknown.items() if share > STRANGE}
    if not found:
        return None
    words = [f"{name} ({share:.0%} of the rows)" for name, share in found.items()]
    message = f"outside of training most words are unknown, and become zeros: {listed(words)}"
    return Hit(message=message, evidence=found)
