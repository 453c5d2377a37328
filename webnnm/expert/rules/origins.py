"""Rules on where columns, targets and weights come from (E646–E655)."""

from __future__ import annotations

from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, report_suspicion, rule
from webnnm.expert.rules.symptoms import BEATEN, OVERFITTING, STUCK, TOO_GOOD


@rule("E646", "warning", "Leave the column out.", confidence=0.9, explains=TOO_GOOD)
def targets_to_come(facts: Facts) -> Hit | None:
    """A column is a linear combination, but for rounding, of the target of the row and of those in
    up to six rows before and after; neither the target alone nor earlier ones explain 99% of it.

    A centred moving average of sales contains those of tomorrow; a rolling mean that is not shifted
    contains those of today. Neither is known when a prediction is made, so that the score is too
    good. Rows have to be in the order of time. That the target of the row has a part in it is told
    by an F test, given all others, of eight standard errors. In 400 generated series whose columns
    are earlier values, their means, or smoother or noisier than the target, it did not fire; it
    found 342 of 400 centred, running and weighted means. It misses those of targets that hardly
    change from row to row, which earlier ones explain.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> sales = [draw.gauss(50, 9) for _ in range(202)]
    >>> rows = [[sum(sales[n - 1 : n + 2]) / 3, draw.random()] for n in range(1, 201)]
    >>> data = Dataset(rows, sales[1:201], standardize=True, method="sequential")
    >>> print(review(text, data).finding("E646"))
    warning E646: column 0 is a combination of the target of the row and of those in up to 6 ...
      → Compute it from the rows before alone; or leave the column out.

    Ignore it where the values of all rows are known when a prediction is made, as in filling gaps.
    """
    return report_suspicion(facts, "E646")


@rule(
    "E647",
    "warning",
    "Fill empty cells with the mean of all training rows, missing='mean', or mark them, "
    "missing='indicator'.",
    explains=TOO_GOOD,
)
def cells_filled_by_class(facts: Facts) -> Hit | None:
    """A continuous column has frequent numbers that are the mean, or the median, of two classes or
    more, and each of them is in rows of its class alone.

    Empty cells were filled by class, in all rows: a number that occurs again and again tells the
    class, also in testing, and the score is too good. When a prediction is made, nobody knows the
    class to fill by. Rows with a number are of one class by chance once in a million columns, and
    numbers are then not the means of two. In 400 generated sets that were filled otherwise it did
    not fire; it found 341 of 400 that were filled by class.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> draw = Random(0)
    >>> ill = [n % 2 for n in range(300)]
    >>> tests = [[draw.gauss(20, 5) + 3 * y for _ in range(2)] for y in ill]
    >>> means = [sum(row[0] for row in tests[kind::2]) / 150 for kind in (0, 1)]
    >>> rows = [[means[n % 2], b] if n % 10 < 4 else [a, b] for n, (a, b) in enumerate(tests)]
    >>> print(review(text, Dataset(rows, ill, standardize=True)).finding("E647"))
    warning E647: column 0 has 19.92 in class 0 and 23.78 in class 1 alone: empty cells were ...
      → Fill empty cells with the mean of all training rows, missing='mean', or mark them, ...

    Ignore it where these numbers were measured.
    """
    return report_suspicion(facts, "E647")


@rule(
    "E648",
    "advice",
    "Let the model see which cells were empty.",
    confidence=0.6,
    explains=["E614", *BEATEN],
)
def informative_gaps(facts: Facts) -> Hit | None:
    """Cells of a continuous column were filled with its mean or median, and that they were empty
    tells something of the target, also beyond a linear model of all columns: a correlation of 0.1
    or more, and five standard errors.

    A test that was not ordered says that nobody expected anything. Filled with the mean, the cell
    looks like that of a usual patient. An indicator keeps what the gap says, if gaps come about in
    the same way in use. By chance cells are so far from unrelated once in two million columns: in
    400 generated sets whose cells were empty at random, or because of other columns, it did not
    fire; it found 329 of 400 in which they tell the class. Not where a column of 0 and 1 marks
    them already.

    >>> from random import Random
    >>> from webnnm import TableDataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> draw = Random(0)
    >>> ill = [n % 2 for n in range(300)]
    >>> tests = [draw.gauss(2, 1) if draw.random() < 0.3 + 0.5 * y else None for y in ill]
    >>> table = {"lactate": tests, "age": [draw.gauss(50, 9) for _ in ill], "ill": ill}
    >>> data = TableDataset(table, label="ill", missing="mean", standardize=True)
    >>> print(review(text, data).finding("E648"))
    advice E648: empty cells were filled with a usual number, and that they were empty tells ...
      → Let the model see which cells were empty: missing='indicator', or a column of 0 and 1 ...

    Ignore it where cells will be empty for other reasons in use.
    """
    return report_suspicion(facts, "E648")


@rule(
    "E649",
    "warning",
    "Give each category a column.",
    explains=[*STUCK, "E115", "E903"],
)
def bucket_collisions(facts: Facts) -> Hit | None:
    """A column has four times as many categories as hash buckets, or more; half of them are in five
    training rows or more, and their targets differ (F ≥ 5).

    Categories that share a bucket are one to the model, or opposites. Hashing is for names of which
    there are thousands, most of them rare; frequent ones can have columns of their own. By chance
    the means of categories differ as much once in thousands of columns.

    >>> from random import Random
    >>> from webnnm import TableDataset, review
    >>> draw = Random(0)
    >>> products = [f"P{n % 30}" for n in range(400)]
    >>> sold = [hash_of * 7 % 30 + draw.gauss(0, 3) for hash_of in range(400)]
    >>> table = {"product": products, "price": [draw.random() for _ in sold], "sold": sold}
    >>> data = TableDataset(table, label="sold", task="regression", hash_buckets={"product": 4})
    >>> text = "m:input shape=[5]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> print(review(text, data).finding("E649"))
    warning E649: 30 categories of product share 4 hash buckets, though their targets differ
      → Leave hash_buckets out, which gives each category a column; or set it to 30 or more.

    Ignore it where memory does not allow more.
    """
    return report_suspicion(facts, "E649")


@rule(
    "E650",
    "warning",
    "Leave these rows out of the training, or measure with a wider range.",
    confidence=0.8,
    explains=[*BEATEN, *OVERFITTING],
)
def cut_off_targets(facts: Facts) -> Hit | None:
    """3% or more of the training targets are the highest one, five times as many as have any
    other value, and testing or validation rows have higher ones; or it is the highest number of so
    many bits, such as 4095.

    A converter, a form or a contract that ends there has written its limit for all that lies
    beyond. The model learns the limit, and predicts large values too low. Where the limit is that
    of the matter itself, such as 100% of the seats of a theatre, no row lies beyond: in 400
    generated sets, a quarter of them with such limits, it did not fire; it found 366 of 400 whose
    training rows were cut off.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> rows = [[draw.random(), draw.random()] for _ in range(200)]
    >>> loads = [min(4095.0, round(3000 * (a + b))) for a, b in rows]
    >>> data = Dataset(rows, loads, standardize_targets=True)
    >>> print(review(text, data).finding("E650"))
    warning E650: ...% of the targets are 4095, the highest number that 12 bits can hold: they ...
      → Leave these rows out of the training, or measure with a wider range.

    Ignore it where the limit is that of what is predicted.
    """
    return report_suspicion(facts, "E650")


@rule(
    "E651",
    "warning",
    "Look at how these rows were written: exchange the labels, or the sign, of those that have it "
    "the other way round, or leave them out.",
    confidence=0.8,
    explains=[*STUCK, *OVERFITTING],
)
def opposite_rows(facts: Facts) -> Hit | None:
    """In one to three stretches of rows, columns have the opposite relation to the target, equally
    strong as in all others, by five standard errors each.

    One laboratory codes ill as 0, the others as 1; one file has depths, the others heights. Both
    relations cancel each other, and the model learns neither. Rows are compared in twenty blocks.
    A relation that changes by itself, as with the seasons, goes through all strengths, and series
    that wander have relations of any strength. In 313 generated sets without such rows, half of
    them series, it did not fire, and in 11 of 87 whose relation turned round by and by; it found
    191 of 400 with opposite rows, most of those with 600 rows or more that are no series.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> draw = Random(0)
    >>> rows = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(600)]
    >>> ill = [int((a + b > 0) != (200 <= n < 400)) for n, (a, b) in enumerate(rows)]
    >>> print(review(text, Dataset(rows, ill)).finding("E651"))
    warning E651: in rows ... or so, columns have the opposite relation to the target: a ...
      → Look at how these rows were written: exchange the labels, or the sign, of those ...

    Ignore it where the relation did turn round, and test on rows of both kinds.
    """
    return report_suspicion(facts, "E651")


@rule(
    "E652",
    "warning",
    "Weigh rows by the inverse of the variance of their errors, 1 / σ², or leave the weights out.",
    confidence=0.7,
    explains=[*STUCK, *OVERFITTING],
)
def weights_of_noise(facts: Facts) -> Hit | None:
    """Weights of rows differ three times or more, and grow with the errors of a linear model, by a
    rank correlation of 0.15 or more and five standard errors; they hardly follow the target or a
    column.

    Weights that are variances, in place of their inverse, make the worst sensors count most. With
    weights of 1 / σ² the estimate is the best linear one (Aitken 1936). Weights of importance are
    larger for rows that are larger, and may have larger errors: what they follow, is known. In 400
    generated sets with weights of precision, of importance, or by chance it did not fire; it found
    392 of 400 with variances.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> rows = [[draw.gauss(0, 1)] for _ in range(300)]
    >>> noise = [draw.choice([0.3, 3.0]) for _ in rows]
    >>> targets = [x + draw.gauss(0, error) for (x,), error in zip(rows, noise)]
    >>> data = Dataset(rows, targets, sample_weight=[error**2 for error in noise])
    >>> print(review(text, data).finding("E652"))
    warning E652: rows with larger weights have larger errors, ... times those of other rows ...
      → Weigh rows by the inverse of the variance of their errors, 1 / σ², or leave the weights out.

    Ignore it where these rows matter more, however noisy they are.
    """
    return report_suspicion(facts, "E652")


@rule(
    "E653",
    "warning",
    "Crop the mark or paint it over, and test on pictures of other sources.",
    confidence=0.7,
    explains=TOO_GOOD,
)
def telling_mark(facts: Facts) -> Hit | None:
    """A few pixels in the outer quarter of pictures, at most a tenth of the area, tell whether it
    is one class in 92% of pictures or more; all others tell it in fewer, and better than chance.

    A letter that one scanner writes into a corner, a frame or a date tells where a picture is from,
    and with it the class: the model reads the mark, and nothing else (Zech et al. 2018, Variable
    generalization performance of a deep learning model to detect pneumonia in chest radiographs).
    A threshold for each pixel is fitted on one half of the pictures, and tested on the other, as is
    the nearest mean of all pixels beside the mark. In 150 generated sets without marks it fired
    once, where the class is which corner is bright; with marks, where a linear model of other
    pixels knows nothing, it does not fire.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1, 8, 8]; m:output shape=[2]; m:layers flatten(), matmul(w), "
    >>> text += "add(b), softmax();"
    >>> draw = Random(0)
    >>> ill = [n % 2 for n in range(200)]
    >>> def take_picture(kind):
    ...     picture = [[draw.gauss(0.1 * kind, 0.3) for _ in range(8)] for _ in range(8)]
    ...     picture[0][7] = 3.0 * kind
    ...     return [picture]
    >>> data = Dataset([take_picture(kind) for kind in ill], ill)
    >>> print(review(text, data).finding("E653"))
    warning E653: 1 pixel of model, in lines 0 to 0 and columns 7 to 7, alone tell ...
      → Crop the mark or paint it over, and test on pictures of other sources.

    Ignore it where the mark is what the class is about.
    """
    return report_suspicion(facts, "E653")


@rule(
    "E654",
    "warning",
    "Divide the pixels of the others by 255.",
    explains=[*STUCK, *OVERFITTING, "E603", "E622", "E907"],
)
def two_scales(facts: Facts) -> Hit | None:
    """2% or more of the pictures have pixels from 0 to 1, all others up to 255, and hardly any lie
    between.

    One library reads pictures as bytes, another as shares. To the model the ones are black, and
    all that distinguishes them is smaller than a step of the others. A picture that is dark has
    few values, and others that are a little brighter. In 150 generated sets of one scale it did not
    fire; it found 149 of 150 of two scales.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1, 8, 8]; m:output shape=[2]; m:layers flatten(), matmul(w), "
    >>> text += "add(b), softmax();"
    >>> draw = Random(0)
    >>> scales = [1 if n < 60 else 255 for n in range(200)]
    >>> pictures = [[[[draw.random() * scale for _ in "abcdefgh"] for _ in range(8)]]
    ...     for scale in scales]
    >>> print(review(text, Dataset(pictures, [n % 2 for n in range(200)])).finding("E654"))
    warning E654: 30% of the pictures of model have pixels from 0 to 1, such as row 59, all ...
      → Divide the pixels of the others by 255.
      explains E603

    Ignore it where pictures are that dark.
    """
    return report_suspicion(facts, "E654")


@rule(
    "E655",
    "warning",
    "Convert all rows to one unit before the training.",
    confidence=0.8,
    explains=[*STUCK, *OVERFITTING, "E603", "E922"],
)
def rows_in_two_units(facts: Facts) -> Hit | None:
    """In two classes or more, and in 60% of them, signals are of two sizes, four deviations apart
    and by a usual factor of units, such as m/s² to g.

    Devices report in units of their own. To the model a run in g is as weak as a rest in m/s², and
    sizes tell classes no more. In each class the logarithms of the deviations of rows are divided
    in two groups; the factor of the strongest class may be off by 2.5 standard errors, that of
    others may be smaller, by noise. In 117 generated sets, a third of them with sizes that spread
    widely, it did not fire; in 6 of 33 with devices that amplify by any factor, where it was near
    one of these, and in 79 of 150 of two units: noise hid the weaker one in most others.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1, 12]; m:output shape=[2]; m:layers flatten(), matmul(w), "
    >>> text += "add(b), softmax();"
    >>> draw = Random(0)
    >>> def record(kind, unit):
    ...     return [draw.gauss(0, 1 + 2 * kind) / unit for _ in range(12)]
    >>> kinds = [n % 2 for n in range(400)]
    >>> rows = [[record(kind, 9.80665 if n % 5 < 2 else 1)] for n, kind in enumerate(kinds)]
    >>> data = Dataset(rows, kinds)
    >>> print(review(text, data).finding("E655"))
    warning E655: in 2 of 2 classes, 40% of the rows of model are 1/9.807 of the others (as m/s² ...
      → Convert all rows to one unit before the training.

    Ignore it where rows of both sizes are of different kinds.
    """
    return report_suspicion(facts, "E655")
