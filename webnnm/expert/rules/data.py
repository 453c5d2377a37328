"""Rules on data: what spoils a training or its test (spec E601–E613, E618, E624, E628)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from webnnm.core.readable import show_number
from webnnm.core.shapes import show
from webnnm.expert.facts.facts import DataFacts, Facts, FeatureFacts
from webnnm.expert.facts.structure import channels_last, first_layers, looks_up, scales
from webnnm.expert.rules.rule import Hit, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, STUCK, TOO_GOOD, UNSTABLE
from webnnm.training.automatic import MIN_ROWS, VALIDATION_SHARE
from webnnm.training.loss_choice import LARGE_SHARE

MAX_MEAN = 3.0
STD_RANGE = (0.1, 10.0)
"""Features are well scaled with a mean below the first and a deviation between the others."""

MIN_STD = 1e-8
"""Features with a smaller deviation are constant (spec G.4)."""

MAX_REPEATED_TEXT = 0.2
"""The share of the windows of a text that occur twice because its sentences repeat themselves."""
MAX_SHARED = 0.01
MAX_UNKNOWN = 0.5
LONG_TRAINING = 100
MIN_ROWS_TO_SPARE = 100
"""Below this number, every row is needed for training."""
MIN_TEST_ROWS = 20
"""On fewer rows two models cannot be distinguished: 90% of 20 may as well be 70 or 97%."""
MIN_EXTENT = 0.5
"""Values that lie within 0 … 1, and fill half of it, are scaled well enough."""
BYTE_MAX = 255
STRATIFIED = "stratified"
MAX_IMBALANCE = 5
MIN_ROWS_OF_CLASS, MAX_RATIO_OF_EQUAL = 10, 2
MIN_WORD_COLUMNS, MAX_ANSWERS = 6, 12
"""Whole numbers up to more than this, alike in all columns, may be words; up to this, answers."""
SUBSETS = ("training", "validation", "testing")
MAX_CONSTANT = 8
"""More constant features are the margin of a picture."""
JOIN_HINT = (
    "First check whether a join or a file reader found nothing, and correct that: the missing "
    "values may be the informative ones. Drop the feature only if its value is right."
)


def _classes(
    facts: Facts, test: Callable[[Mapping[str, int], DataFacts], str | bool]
) -> Hit | None:
    """Return the classes for which `test(subset → rows, data)` says something."""
    data = facts.data
    messages: dict[str, list[str]] = {}
    of_positions = facts.outputs_of_positions
    for output, counts in data.class_counts.items():
        if output in of_positions:
            continue
        names = data.class_names.get(output) or ()
        for number in range(max((len(rows) for rows in counts.values()), default=0)):
            here = {s: counts[s][number] if s in counts else 0 for s in SUBSETS}
            text = test(here, data)
            if text:
                name = names[number] if number < len(names) else str(number)
                tail = "" if text is True else f" ({text})"
                messages.setdefault(output, []).append(f"{name}{tail}")
    return merge_hits(
        {
            f"{output}:output": f"{join_names(names)} of {output}"
            for output, names in messages.items()
        },
        "classes " if sum(map(len, messages.values())) > 1 else "class ",
        evidence={output: len(names) for output, names in messages.items()},
    )


def _training_counts(facts: Facts) -> dict[str, Sequence[int]]:
    """Return the rows of each class in training, of outputs with classes that occur."""
    counts = facts.data.class_counts
    return {
        name: present
        for name, subsets in counts.items()
        if (present := [rows for rows in subsets.get("training", ()) if rows])
    }


@rule(
    "E601",
    "warning",
    "Stratify the split.",
    explains=[*BEATEN, "E902", "E903", "E905", "E906", "E907"],
)
def class_without_training(facts: Facts) -> Hit | None:
    """A class of the data has no row in training.

    A model cannot predict a class that it never saw: every row of the class counts as an error in
    the test. A stratified split gives each subset its share.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> rows, labels = [[i / 60] for i in range(60)], [i // 20 for i in range(60)]
    >>> data = Dataset(rows, labels, split=(0.6, 0, 0.4), method="sequential")
    >>> print(review(text, data).finding("E601"))
    warning E601 line 1, column 22: class 2 (none in training, 20 to be tested) of m
      → Stratify the split.

    Ignore it where the class is meant to be unknown, as in tests of novelty.
    """

    def test(rows: Mapping[str, int], _: DataFacts) -> str | bool:
        tried = rows["testing"] + rows["validation"]
        return not rows["training"] and tried > 0 and f"none in training, {tried} to be tested"

    hit = _classes(facts, test)
    if hit is not None and facts.data.method == STRATIFIED:
        return replace(hit, remedy="Gather more rows of the class, or leave it out.")
    return hit


@rule("E602", "warning", "Stratify the split.")
def class_without_testing(facts: Facts) -> Hit | None:
    """A class has rows in training and none in testing; not where the split is stratified, or where
    the labels belong to the positions of a sequence.

    The test says nothing about a class of which it has no row, however the model performs on it.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> rows, labels = [[i / 60] for i in range(60)], [i // 20 for i in range(60)]
    >>> data = Dataset(rows, labels, split=(0.8, 0, 0.2), method="sequential")
    >>> print(review(text, data).finding("E602"))
    warning E602 line 1, column 22: classes 0 (none in testing), 1 (none in testing) of m
      → Stratify the split.

    Ignore it where the class does not matter.
    """
    if facts.data.method == STRATIFIED:
        return None

    def test(rows: Mapping[str, int], data: DataFacts) -> str | bool:
        tested = not data.sizes.get("testing", 0) or rows["testing"]
        return rows["training"] > 0 and not tested and "none in testing"

    return _classes(facts, test)


def _features(
    features: Mapping[str, Sequence[FeatureFacts]],
    text: Callable[[FeatureFacts], str | None],
    tail: str,
) -> Hit | None:
    """Return the features about which `text` says something."""
    messages: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for name, features_of_input in features.items():
        texts = [
            f"{feature.name}{message}"
            for feature in features_of_input
            if (message := text(feature)) is not None
        ]
        if texts:
            numbers[name] = len(texts)
            lead = f"{len(texts)} of {len(features_of_input)} features of {name} {tail}"
            messages[f"{name}:input"] = f"{lead}: {join_names(texts)}"
    return merge_hits(messages, evidence=numbers)


def _fractions(features: Sequence[FeatureFacts]) -> bool:
    """Return whether features lie within 0 … 1 and together fill half of it, as pixels do."""
    low, high = min(f.low for f in features), max(f.high for f in features)
    return low >= 0 and high <= 1 and high - low >= MIN_EXTENT


@rule(
    "E603",
    "warning",
    "Standardise the inputs: standardize=True.",
    explains=[*STUCK, *UNSTABLE, "E310", "E329"],
)
def feature_scale(facts: Facts) -> Hit | None:
    """A feature of the training rows has |mean| > 3, or std outside 0.1 … 10; except for features
    of only 0 and 1, those of words of a column, constants, features that spread within 0 … 1,
    indices for an embedding, and inputs that the model itself scales.

    Initial weights are made for values around 0 with a standard deviation of about 1. A feature in
    the thousands drowns out the others, one in the thousandths has no effect, and gradients with
    respect to the weights grow with the square. The bounds are where the scores of the programs of
    tests/teach started to fall.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows = [[i / 50, 1000.0 * i] for i in range(50)]
    >>> data = Dataset(rows, [i / 50 for i in range(50)], split=(1, 0, 0))
    >>> print(review(text, data).finding("E603"))
    info E603 line 1, column 3: 1 of 2 features of m are far from 0 ± 1: 1 (mean 2.45e+04, std ...
      probably because of E616

    Ignore it where the units carry meaning that the model must keep, as angles do.
    """

    def text(feature: FeatureFacts) -> str | None:
        scaled = abs(feature.mean) <= MAX_MEAN and STD_RANGE[0] <= feature.std <= STD_RANGE[1]
        # Zeros and ones with shares between them are categories, some of them missing.
        category = feature.low == 0 and feature.high == 1
        category |= feature.category
        if scaled or feature.binary or category or feature.std < MIN_STD:
            return None
        return f" (mean {feature.mean:.3g}, std {feature.std:.3g})"

    own = first_layers(facts.network, scales)
    inputs = {
        name: features
        for name, features in facts.data.features.items()
        if name not in own and not _fractions(features)
    }
    hit = _features(inputs, text, "are far from 0 ± 1")
    if hit is None:
        return None
    features = [feature for features in inputs.values() for feature in features]
    low, high = min(f.low for f in features), max(f.high for f in features)
    alike = (
        len(features) >= MIN_WORD_COLUMNS and low >= 0 and all(f.high > high / 2 for f in features)
    )
    if alike and high == BYTE_MAX:
        return replace(hit, remedy="Divide the bytes by 255, as ImageDataset does.")
    if alike and high > MAX_ANSWERS and low == int(low) and high == int(high):
        return replace(
            hit,
            remedy="If these are token ids, look them up: int32 input, embedding(table, "
            f"size={high + 1:.0f}); if measurements, set standardize=True.",
        )
    return hit


@rule("E604", "advice", "Check where it comes from, a join for instance; drop it if it is right.")
def constant_feature(facts: Facts) -> Hit | None:
    """A feature has the same value in all training rows.

    A constant says the same about all rows, and its weight does what the bias already does. Columns
    of 0, and several constant columns, are what a failed join or file reader leaves. Tokens of an
    embedding, and sequences, are left to E623: what is the same at the end of all rows is padding.
    Corners of pictures are often all alike, and hashes that no training word has are always 0.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 50, 0.5] for i in range(50)], [i / 50 for i in range(50)])
    >>> print(review(text, data).finding("E604"))
    advice E604 line 1, column 3: 1 of 2 features of m are constant: 1 (0.5)
      → Check where it comes from, a join for instance; drop it if it is right.

    Ignore it where it will vary in later rows.
    """
    others = first_layers(facts.network, looks_up)
    for vertex in facts.network.inputs:
        features = vertex.features[0]
        if features.sequence or {"height", "width"} <= {*features.names}:
            others.add(vertex.block)
    empty: list[bool] = []

    def text(feature: FeatureFacts) -> str | None:
        # A hash that no training word has is no column that was read wrong.
        if feature.std >= MIN_STD or (feature.category and not feature.raw):
            return None
        empty.append(not feature.raw)
        return f" ({show_number(feature.raw)})"

    candidates = {
        name: features for name, features in facts.data.features.items() if name not in others
    }
    hit = _features(candidates, text, "are constant")
    lost = len(empty) <= MAX_CONSTANT and (any(empty) or len(empty) > 1)
    return replace(hit, remedy=JOIN_HINT) if hit is not None and lost else hit


@rule("E605", "error", "Correct or drop the row.")
def non_finite(facts: Facts) -> Hit | None:
    """A value is NaN or infinite (NNM707).

    NaN spreads: one cell makes the loss, every gradient and every weight NaN within a step.

    >>> import math
    >>> from webnnm import Dataset, review
    >>> from webnnm.core.arrays import HostArray
    >>> class Sensor(Dataset):
    ...     def arrays(self, subset):
    ...         inputs, outputs = super().arrays(subset)
    ...         read = [[math.inf] for _ in inputs["model"].tolist()]
    ...         return {"model": HostArray.of(read)}, outputs
    ...
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Sensor([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> print(review(text, data).finding("E605"))
    error E605: training input "model": row 0, element 0 is inf
      → Correct or drop the row.

    Never ignore it: the training cannot run.
    """
    cell = facts.data.non_finite
    row = re.search(r"row (\d+)", cell)
    return Hit(message=cell, evidence={"row": int(row[1])} if row else {}) if cell else None


@rule(
    "E606",
    "warning",
    "Remove the duplicates; copies that fill up a class belong in the training rows only.",
    explains=TOO_GOOD,
)
def duplicate_rows(facts: Facts) -> Hit | None:
    """More than 1% of the testing or of the validation rows are training rows too; only
    information where rows of few features with few values each, or cells that were filled in, are
    equal by chance, or a text repeats itself now and then.

    The model may have memorised a training row, so that the test score is too good, or the best
    epoch is the one that has memorised most. 1% of the rows moves a score by less than its own
    uncertainty.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(50)] * 2
    >>> data = Dataset(rows, [a + b for a, b in rows])
    >>> print(review(text, data).finding("E606"))
    warning E606: 80.0% of the testing rows are training rows too
      → Remove the duplicates; copies that fill up a class belong in the training rows only.

    Ignore it where repeated rows are independent measurements that happen to be equal.
    """
    shares = {"testing": facts.data.shared_rows, "validation": facts.data.shared_validation}
    messages = [
        f"{share:.1%} of the {subset} rows are training rows too"
        for subset, share in shares.items()
        if share > MAX_SHARED
    ]
    if not messages:
        return None
    message, share = ", ".join(messages), max(shares.values())
    by_chance = "E606" in facts.data.suspicions
    if facts.data.coarse:
        message += ": they have few values, so that rows are equal by chance"
    elif by_chance:
        message += (
            ": their values are frequent, as of filled-in cells, so that they agree by chance"
        )
    text = "E330" in facts.data.suspicions and share <= MAX_REPEATED_TEXT
    severity = "info" if facts.data.coarse or by_chance or text else None
    return Hit(message=message, evidence={"share": share}, severity=severity)


@rule("E607", "advice", "Hold back a tenth for validation: validation_split=0.1.")
def no_validation_rows(facts: Facts) -> Hit | None:
    """No validation rows, 100 epochs or more, and 2000 training rows or more, as smaller sets can
    spare none; not for a curve, an input of one feature.

    The best epoch is determined by rows that were not trained on. A tenth of 2,000 rows is enough
    for that and can be spared; with fewer rows, each is needed for training.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(3000)]
    >>> data = Dataset(rows, [a + b for a, b in rows])
    >>> print(review(text, data, epochs=200, validation_split=0).finding("E607"))
    advice E607: 200 epochs without validation: the best one is chosen by the training loss
      → Hold back a tenth for validation: validation_split=0.1.

    Ignore it where the training is short, or weight decay keeps it from overfitting.
    """
    epochs, rows = facts.settings.epochs or 0, facts.data.training
    curve = sum(map(len, facts.data.features.values())) == 1
    if rows < MIN_ROWS or facts.data.sizes.get("validation") or epochs < LONG_TRAINING or curve:
        return None
    message = f"{epochs} epochs without validation: the best one is chosen by the training loss"
    evidence = {"epochs": epochs, "rows": rows}
    return Hit(message=message, evidence=evidence, fix={"validation_split": VALIDATION_SHARE})


@rule(
    "E608",
    "advice",
    "Gather rows of the rare classes, or set class_weight='balanced'.",
    confidence=0.7,
    explains=["E906"],
)
def class_imbalance(facts: Facts) -> Hit | None:
    """The largest class has more than five times the training rows of the smallest; not where E110
    applies, with the focal loss, with class_weight or row weights that lift other classes, or for
    labels of positions; only information where the nearest rows know the rare classes.

    The loss is a mean over rows, so that a class of few rows hardly counts. Balanced weights,
    N/(C·N_c), give each class the same share. Letters and words of a text are as frequent as in the
    language. A rare class that lies apart from the others is learnt without weights: of classes
    half of whose rows have neighbours of the same class, at most 5% are reported (sign test).

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> data = Dataset([[i / 100] for i in range(100)], [int(i % 8 == 0) for i in range(100)])
    >>> print(review(text, data).finding("E608"))
    advice E608 line 1, column 22: classes of m have 9 … 61 rows
      → Gather rows of the rare classes, or set class_weight='balanced'.

    Ignore it where errors on rare classes cost no more than others.
    """
    if facts.settings.class_weight or "E110" in facts.data.suspicions:
        return None
    weighted = {output.name for output in facts.outputs if output.loss == "FOL"}
    excepted = weighted | facts.outputs_of_positions
    messages = {
        name: (max(rows), min(rows))
        for name, rows in _training_counts(facts).items()
        if name not in excepted
        and max(rows) > MAX_IMBALANCE * min(rows)
        and max(rows) <= LARGE_SHARE * sum(rows)
    }
    return merge_hits(
        {
            f"{n}:output": f"classes of {n} have {b:,} … {a:,} rows"
            for n, (a, b) in messages.items()
        },
        evidence={name: a / b for name, (a, b) in messages.items()},
        fix={"class_weight": "balanced"},
        severity="info" if facts.data.knows_rare_classes else None,
    )


@rule(
    "E609", "warning", "Set batch_size to at most the number of training rows.", "batch_size = rows"
)
def large_batch(facts: Facts) -> Hit | None:
    """A batch has more rows than the training subset.

    The batch is filled up with masked rows, which take time and contribute nothing. With all rows
    in one batch an epoch is one update.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 30] for i in range(30)], [i / 30 for i in range(30)], batch_size=64)
    >>> print(review(text, data).finding("E609"))
    warning E609: batches of 64 rows, 21 training rows
      done: batch_size=21
      → Set batch_size to at most the number of training rows.

    Never ignore it: the batch size is lowered to the number of rows automatically.
    """
    size, rows = facts.batch_size, facts.data.training
    if not size or not rows or size <= rows:
        return None
    return Hit(
        message=f"batches of {size} rows, {rows} training rows",
        evidence={"batch_size": size, "rows": rows},
        fix={"batch_size": rows},
        changes={"batch_size": rows},
    )


@rule("E610", "warning", "Set shuffle=True.", explains=[*STUCK, *UNSTABLE])
def class_order(facts: Facts) -> Hit | None:
    """Rows sorted by class, and shuffling off.

    A batch of one class teaches the model to predict that class, and the next batch to forget it.
    Shuffled batches are small samples of all rows.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows, labels = [[i / 80] for i in range(80)], [i // 40 for i in range(80)]
    >>> data = Dataset(rows, labels, split=(1, 0, 0))
    >>> print(review(text, data, shuffle=False).finding("E610"))
    warning E610: rows are sorted by class and not shuffled
      → Set shuffle=True.

    Ignore it where the order of the rows itself is to be learnt, as in streams.
    """
    if not facts.data.sorted or facts.settings.shuffle:
        return None
    return Hit(message="rows are sorted by class and not shuffled", fix={"shuffle": True})


@rule("E611", "advice", "Gather more rows of such classes.", explains=[*BEATEN, "E903", "E906"])
def rare_class(facts: Facts) -> Hit | None:
    """A class has fewer than 10 training rows, and there are testing rows; only information where
    no class has more than twice as many as another.

    With ten rows chance alone moves recall by thirty points; fewer rows say little. Where all
    classes are this small, the score over all of them is as certain as their rows together make it.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> data = Dataset([[i / 40] for i in range(40)], [int(i % 5 == 0) for i in range(40)])
    >>> print(review(text, data).finding("E611"))
    advice E611 line 1, column 22: class 1 (6 in training) of m
      → Gather more rows of such classes.

    Ignore it where no more rows can be had, but keep the uncertainty of the scores in mind.
    """
    hit = _classes(
        facts,
        lambda rows, data: (
            data.training < sum(data.sizes.values())
            and 0 < rows["training"] < MIN_ROWS_OF_CLASS
            and f"{rows['training']} in training"
        ),
    )
    if hit is None:
        return None
    counts = _training_counts(facts)
    alike = all(
        max(counts[name]) <= MAX_RATIO_OF_EQUAL * min(counts[name]) for name in hit.evidence
    )
    return replace(hit, severity="info" if alike else None)


@rule("E612", "info", "Fit the statistics on the training rows alone.")
def statistics_leak(facts: Facts) -> Hit | None:
    """The statistics that standardise the data came from more than the training rows.

    With the mean and deviation of the test rows, the model knows something about them, so that the
    test score is a little too good, especially with few rows; in use they are not known. This
    rarely changes a score by more than its own uncertainty, so it is only information.

    >>> from statistics import fmean, pstdev
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> years = [i * i * 0.618 % 7 for i in range(40)]
    >>> data = Dataset([[(year - fmean(years)) / pstdev(years)] for year in years], years)
    >>> print(review(text, data).finding("E612"))
    info E612: standardised with statistics of the full rows
      → Fit the statistics on the training rows alone.

    Ignore it where there are so many rows that both statistics agree to three digits.
    """
    fitted = facts.data.fitted_on
    if fitted in ("", "training"):
        return None
    return Hit(message=f"standardised with statistics of the {fitted} rows")


@rule(
    "E613",
    "warning",
    "Leave the column out with features=[…], or split texts into tokens.",
    explains=[*BEATEN, "E903", "E905", "E907"],
)
def unknown_words(facts: Facts) -> Hit | None:
    """More than half of the other rows have a word that no training row has in that column.

    Words that the training never saw become zeros. A column in which most words are new, such as
    names or free text, only identifies rows and cannot generalise.

    >>> from webnnm import TableDataset, review
    >>> table = {"name": [f"n{i}" for i in range(40)], "price": [i * 1.5 for i in range(40)]}
    >>> data = TableDataset(table, label="price")
    >>> text = "m:input shape=[28]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> print(review(text, data).finding("E613"))
    warning E613: outside the training rows most words are unknown, and become zeros: name (100% ...
      → Leave the column out with features=[…], or split texts into tokens.

    Ignore it where the column is kept for other purposes and has no weight.
    """
    shares = {name: share for name, share in facts.data.unknown.items() if share > MAX_UNKNOWN}
    if not shares:
        return None
    words = [f"{name} ({share:.0%} of the rows)" for name, share in shares.items()]
    message = (
        f"outside the training rows most words are unknown, and become zeros: {join_names(words)}"
    )
    return Hit(message=message, evidence=shares)


@rule(
    "E628",
    "warning",
    "Spell each class in one way only, as name.strip().lower() does.",
    explains=[*BEATEN, "E601", "E611", "E903", "E906"],
)
def spellings(facts: Facts) -> Hit | None:
    """Names of classes differ only in capitals, spaces and underscores; not for single letters.

    Each spelling is a class of its own. The model would have to distinguish what is the same, and
    an answer in the other spelling counts as wrong.

    >>> from webnnm import TableDataset, review
    >>> table = {"age": [*range(40)], "member": ["yes", "No", "Yes", "no"] * 10}
    >>> data = TableDataset(table, label="member")
    >>> text = "m:input shape=[1]; m:output shape=[4]; m:layers matmul(w), add(b), softmax();"
    >>> print(review(text, data).finding("E628"))
    warning E628 line 1, column 22: classes of m that differ only in spelling: "No" and "no"; ...
      → Spell each class in one way only, as name.strip().lower() does.

    Ignore it where capitals distinguish classes, as with genes and proteins.
    """
    messages: dict[str, str] = {}
    for output, names in facts.data.class_names.items():
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(re.sub(r"[\s_]", "", name).casefold(), []).append(name)
        variants = [
            " and ".join(f'"{name}"' for name in group)
            for plain, group in alike.items()
            if len(plain) > 1 < len(group)
        ]
        if variants:
            pairs = "; ".join(variants[:5])
            messages[f"{output}:output"] = (
                f"classes of {output} that differ only in spelling: {pairs}"
            )
    return merge_hits(messages)


def wilson(share: float, rows: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95% confidence interval of a share that was measured on some rows (Wilson 1927).

    >>> [round(limit, 2) for limit in wilson(0.9, 10)]
    [0.6, 0.98]
    """
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z * math.sqrt(share * (1 - share) / rows + (z / (2 * rows)) ** 2) / (1 + z * z / rows)
    return max(0.0, middle - half), min(1.0, middle + half)


@rule("E618", "warning", "Use more rows for it, or test on all of them with dataset.folds(5).")
def small_test_set(facts: Facts) -> Hit | None:
    """Testing or validation has fewer than 20 rows, too few to compare models; only information
    where there are fewer than 100 rows in all, or each row has many answers.

    The accuracy on n rows has an error of about √(p(1 − p)/n): with 20 rows and 90%, the true
    value is from 70 to 97% (Wilson 1927).

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows, targets = [[i / 150] for i in range(150)], [i / 150 for i in range(150)]
    >>> data = Dataset(rows, targets, split=(0.9, 0, 0.1))
    >>> print(review(text, data).finding("E618"))
    warning E618: testing has 15 rows: an accuracy of 0.9 on them may be 0.66 or 0.98 (95% ...
      → Use more rows for it, or test on all of them with dataset.folds(5).

    Ignore it where the test is only to show that everything runs.
    """
    texts: list[str] = []
    for subset in ("validation", "testing"):
        rows = facts.data.sizes.get(subset, 0)
        if 0 < rows < MIN_TEST_ROWS:
            low, high = wilson(0.9, rows)
            texts.append(
                f"{subset} has {rows} rows: an accuracy of 0.9 on them may be {low:.2f} or "
                f"{high:.2f} (95% confidence)"
            )
    small = sum(facts.data.sizes.values()) < MIN_ROWS_TO_SPARE or facts.outputs_of_positions
    return Hit(message="; ".join(texts), severity="info" if small else None) if texts else None


@rule(
    "E624",
    "warning",
    'Name the dimensions of the data, names=["height", "width", "channels"], and of the input, '
    "shape={channels:3, height:32, width:32}; or write inputLayout=nhwc.",
    explains=[*BEATEN, "E310", "E902", "E903", "E908", "E922", "E924"],
)
def channel_order(facts: Facts) -> Hit | None:
    """A convolution takes the first dimension of pictures or signals for channels, but channels are
    last.

    A convolution slides over the last two dimensions: with channels last, over 32 columns × 3
    channels of a picture, where it takes each row of pixels for a channel.

    >>> from webnnm import review
    >>> text = "m:input shape=[32, 32, 3]; m:output shape=[2]; "
    >>> text += "m:layers conv2d(f, shape=[8, 3, 3]), relu(), flatten(), matmul(w), softmax();"
    >>> print(review(text).finding("E624"))
    warning E624 line 1, column 3: m is [32, 32, 3]: conv2d1 takes it for 32 channels of 32 × 3
      → Name the dimensions of the data, names=["height", "width", "channels"], and of the ...

    Ignore it where the first dimension really is the channels.
    """
    channels = channels_last(facts.network)
    return merge_hits(
        {
            f"{name}:input": f"{name} is {show(shape)}: {layer} takes it for {shape[0]} channels "
            f"of {' × '.join(map(str, shape[1:]))}"
            for name, (shape, layer) in channels.items()
        }
    )
