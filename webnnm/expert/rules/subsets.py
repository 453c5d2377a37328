"""Rules on subsets that share rows, or differ in how they were prepared (E619–E642)."""

from __future__ import annotations

from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, report_suspicion, rule
from webnnm.expert.rules.symptoms import BEATEN, OVERFITTING, TOO_GOOD

CHANGE = "Learn the change: subtract"
"""How the remedy for windows over a series begins."""


@rule(
    "E619",
    "warning",
    "Split the rows by their origin, split=(rows of some, [], rows of others), and augment after "
    "that: dataset.augment(…).",
    confidence=0.8,
    explains=TOO_GOOD,
)
def near_duplicates(facts: Facts) -> Hit | None:
    """Most testing or validation rows, or seven of ten of one class, have a few training rows that
    are three times nearer than all others; or more of them than chance explains (0.1%) are nine
    times nearer to one training row than to the next one; or rows form groups that share two
    measurements of many values each, and the nearest rows predict the target of 15% fewer rows,
    beyond chance, without those of the same group. Or three of ten pictures, mirrored so that their
    brighter half is on one side, and equally bright, are three times nearer to a training picture
    than to the next ones.

    Copies, mirrored pictures and several rows of one patient are nearly equal. After a random
    split, test rows were practically trained on, and the score says how well the model remembers.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[3]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> people = [[i * 0.618 % 1, i * 0.414 % 1, i * 0.732 % 1] for i in range(40)]
    >>> rows = [[x + k / 1000 for x in person] for person in people for k in range(5)]
    >>> data = Dataset(rows, [a + b for a, b, _ in rows])
    >>> print(review(text, data).finding("E619"))
    warning E619: 93% of the testing rows have 3 training rows that are much nearer than all ...
      → Split the rows by their origin, split=(rows of some, [], rows of others), and augment ...

    Ignore it where future rows will come from the same people and things.
    """
    return report_suspicion(facts, "E619")


@rule(
    "E620",
    "warning",
    "Test on later rows: method='sequential'; with several machines, persons or recordings, hold "
    "whole ones back: split=(rows of some, [], rows of others).",
    explains=TOO_GOOD,
)
def windows(facts: Facts) -> Hit | None:
    """Rows are overlapping windows over one series, or predict the target only because of the rows
    next to them in the data, or follow each other in time, and the split is random.

    Windows that overlap share most of their values. After a random split, nearly every test window
    was trained on, except for one value. The same holds for figures of the last hundred days, and
    for several rows of one person: the three nearest rows predict the target of 15% more of the
    rows, beyond chance, than without the fifth of the rows before and after; a linear model does
    not generalise either. Where the label depends on the row itself, rows of other persons predict
    it as well. Not for rows with fewer than four columns of many values, or sorted by one of them,
    which are next to their neighbours by nature; E619 reports copies. Rows follow each other in
    time, as random walks do, where a column of three or more has a correlation of 0.5 or more from
    row to row, and what a linear model leaves of the target one of 0.4 (4 standard errors of
    independent rows: 1 in 30,000 sets by chance), and rows of other times predict it worse.

    >>> import math
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[8]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> series = [math.sin(i / 9) + math.sin(i / 4) for i in range(120)]
    >>> data = Dataset([series[i : i + 8] for i in range(112)], series[8:])
    >>> print(review(text, data).finding("E620"))
    warning E620: every row continues the one before, 1 further: windows over one series, which ...
      → Test on later rows: method='sequential'; with several machines, persons or recordings, ...

    Ignore it where the task is only to fill gaps between known values, or the model will be used on
    the same persons.
    """
    return report_suspicion(facts, "E620")


@rule(
    "E622",
    "warning",
    "Split the rows at random, or gather training rows like the testing rows.",
    confidence=0.8,
    explains=[*BEATEN, "E902", "E903", "E905", "E907"],
)
def distribution_shift(facts: Facts) -> Hit | None:
    """The mean of a column in testing differs by more than a standard deviation from that in
    training, or for pictures and sequences the mean of each as a whole; or, in rows split in order,
    the mean of a target does, beyond what the columns explain.

    The model is asked about a region where it saw no rows. In a random split, means differ by a
    fraction of a deviation. Where the training rows were scaled by hand, the others have to be
    scaled by the same numbers. A target that drifts, as prices do, is a deviation off the
    prediction of a linear model of the training rows, and three standard errors, where the rows
    count as fewer independent ones because each depends on the rows before it: then the mean of the
    testing rows is the better answer. Windows over a growing series differ by nature, whatever rows
    are tested: what repeats itself is the change from one value to the next. Dates differ
    by nature too: they are later in later rows.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows = [[i * 0.618 % 1 + (i >= 70), i * 0.414 % 1] for i in range(100)]
    >>> data = Dataset(rows, [b for _, b in rows], split=(0.7, 0, 0.3), method="sequential")
    >>> print(review(text, data).finding("E622"))
    warning E622: column 0 has mean 0.4924 in training, 1.488 in testing (3.4 deviations)
      → Split the rows at random, or gather training rows like the testing rows.

    Ignore it where that is what the test is for, as with later years or other hospitals.
    """
    hit = report_suspicion(facts, "E622")
    subtracts = any(layer.operator.name == "sub" for layer in facts.network.layers)
    return None if hit and subtracts and hit.remedy.startswith(CHANGE) else hit


@rule(
    "E638",
    "warning",
    "Give testing rows the columns, or the channels, in the order of the training rows.",
    explains=[*BEATEN, "E603", "E902", "E903", "E905", "E907"],
)
def column_swap(facts: Facts) -> Hit | None:
    """Two or more columns, or channels of pictures, differ in testing by more than five standard
    errors from themselves in training, and each of them is like another one of these, within three;
    in all rows, or in those of each class.

    Libraries read colours as red, green, blue, or as blue, green, red; a second table may have its
    columns in another order. The model then takes one for another, and is often worse than a guess.
    Compared are means and deviations of rows whose split is not random: by chance a column is as
    far from itself once in a million. In 260 generated sets without swaps, half of them with
    other shares of classes or other means in testing, it fired once. Columns that are alike cannot
    be told apart.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> rows = [[draw.gauss(1, 1), draw.gauss(5, 2)] for _ in range(100)]
    >>> swapped = [[b, a] if n >= 70 else [a, b] for n, (a, b) in enumerate(rows)]
    >>> split = ([*range(70)], [], [*range(70, 100)])
    >>> data = Dataset(swapped, [a + b for a, b in rows], split=split)
    >>> print(review(text, data).finding("E638"))
    warning E638: column 0 in testing (mean 5.044, deviation 2.12) is like column 1 in training ...
      → Give testing rows the columns, or the channels, in the order of the training rows.
      explains E603

    Ignore it where testing rows are meant to be of another kind.
    """
    return report_suspicion(facts, "E638")


@rule(
    "E639",
    "warning",
    "Scale testing rows by the mean and deviation of the training rows too, or pass all rows "
    "unscaled and set standardize=True.",
    explains=["E902", "E903", "E905", "E907"],
)
def subsets_scaled_apart(facts: Facts) -> Hit | None:
    """A column of various numbers has mean 0 and deviation 1 to four digits in testing, or in
    validation, and nearly so in training; not where training rows come in groups that were scaled
    alone.

    Scaled by their own mean, testing rows lose by how much they differ from the training rows: a
    warm year looks like a usual one, and the prediction is that of a usual year. A single row,
    which a prediction is for, has no mean and deviation to be scaled by. By chance both are so
    exact once in a million columns of 300 rows.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> def scale(values):
    ...     mean = sum(values) / len(values)
    ...     std = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    ...     return [[(value - mean) / std] for value in values]
    >>> cold, warm = ([draw.gauss(mean, 5) for _ in range(100)] for mean in (12, 19))
    >>> split = ([*range(100)], [], [*range(100, 200)])
    >>> data = Dataset(scale(cold) + scale(warm), cold + warm, split=split)
    >>> print(review(text, data).finding("E639"))
    warning E639: column 0: mean 0 and deviation 1 exactly in testing (100 rows), as of numbers ...
      → Scale testing rows by the mean and deviation of the training rows too, or pass all ...

    Ignore it where a prediction is always for a whole set of rows, which are scaled together.
    """
    return report_suspicion(facts, "E639")


@rule(
    "E640",
    "warning",
    "Make the categories of the training rows, and use them for testing rows too, as TableDataset "
    "does.",
    explains=["E902", "E903", "E905", "E907"],
)
def categories_coded_anew(facts: Facts) -> Hit | None:
    """The last columns of a one-hot block, or the last whole numbers of a column, do not occur in
    testing, and the targets of the others are those of other categories in the same order.

    Encoders that are fitted once more, on the testing rows, number the categories that occur there:
    if one is missing, all later ones move up. The model then takes each of them for another one.
    The means of the target differ by code, by chance as much once in a million, and agree with
    those of other categories in rising order; so they do not where the target itself drifts. Not
    for random splits, and fewer than eight testing rows per category. In 400 generated sets whose
    categories were absent, or whose target drifted, it did not fire; of 300 that were coded anew it
    found 212, and 85% of those with up to 12 categories and 180 testing rows or more.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[5]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> kinds = [draw.choice("abcde" if n < 300 else "acde") for n in range(400)]
    >>> codes = [("abcde" if n < 300 else "acde").index(kind) for n, kind in enumerate(kinds)]
    >>> rows = [[float(code == place) for place in range(5)] for code in codes]
    >>> prices = [{"a": 3, "b": 9, "c": 1, "d": 6, "e": 4}[k] + draw.gauss(0, 1) for k in kinds]
    >>> data = Dataset(rows, prices, split=([*range(300)], [], [*range(300, 400)]))
    >>> print(review(text, data).finding("E640"))
    warning E640: column 4 is never used in testing, and the codes before stand for other ...
      → Make the categories of the training rows, and use them for testing rows too, as ...

    Ignore it where testing rows are meant to be of another kind.
    """
    return report_suspicion(facts, "E640")


@rule(
    "E641",
    "warning",
    "Split the rows first, and make more rows of the rare class from training rows alone; or weigh "
    "the classes: class_weight='balanced'.",
    explains=["E904"],
)
def rows_made_before_split(facts: Facts) -> Hit | None:
    """Of the testing, or the validation, rows of a class, 30% or more lie exactly on the line
    between two other rows of that class, and at most a tenth of those of some other class do.

    SMOTE makes rows of a rare class between two of its rows. Made before the split, the testing
    rows are not of the world, and lie between training rows: the score is too good. Looked for in
    three columns or more of many values, of which up to 20 testing rows per class are on such a
    line by chance once in thousands of sets. Of generated sets it found 34 of 35 with all digits,
    and 46 of 88 of three or four, but none of two; in 150 whose rows were made of training rows
    alone it did not fire.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[4]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> draw = Random(0)
    >>> rows = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(230)]
    >>> def mix(one, other, share):
    ...     return [a + share * (b - a) for a, b in zip(one, other)]
    >>> rows += [mix(*draw.sample(rows[200:230], 2), draw.random()) for _ in range(170)]
    >>> data = Dataset(rows, [0] * 200 + [1] * 200, standardize=True)
    >>> print(review(text, data).finding("E641"))
    warning E641: ...% of the testing rows of class 1 lie exactly on the line between two other ...
      → Split the rows first, and make more rows of the rare class from training rows alone; ...

    Ignore it where measurements are on straight lines by nature.
    """
    return report_suspicion(facts, "E641")


@rule(
    "E642",
    "warning",
    "Prepare the texts of all subsets alike, and train on texts like those that are tested.",
    explains=[*OVERFITTING, "E622", "E907", "E923"],
)
def new_words(facts: Facts) -> Hit | None:
    """The share of the words of testing or validation texts that no training text has is larger by
    0.2, by half and by five standard errors than the share of the words of training texts that no
    other training text has.

    The latter is what to expect of further texts of the same kind (Good 1953): five standard errors
    are exceeded once in a million sets. For unknown words a model has learnt nothing. Another
    system may write in capitals, or another language.

    >>> from webnnm import LabeledTextDataset, review
    >>> text = "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers "
    >>> text += "embedding(e, size=40, shape=[4]), reduceMean(axes=[sequence]), matmul(w), "
    >>> text += "softmax();"
    >>> texts = [f"{word} was the {word}" for word in ("good", "bad")] * 70
    >>> texts[100:] = [one.upper() for one in texts[100:]]
    >>> data = LabeledTextDataset(texts, [0, 1] * 70, lowercase=False, split=(100, 0, 40),
    ...     method="sequential")
    >>> print(review(text, data).finding("E642"))
    warning E642: 100% of the words of testing texts are in no training text; of those of a ...
      → Read the texts of all subsets in one spelling: lowercase=True.

    Ignore it where new texts are meant to be of another kind.
    """
    return report_suspicion(facts, "E642")
