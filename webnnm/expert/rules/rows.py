"""Rules on columns, labels and texts that the examination found suspicious (E614–E645)."""

from __future__ import annotations

from dataclasses import replace

from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, report_suspicion, rule
from webnnm.expert.rules.symptoms import BEATEN, OVERFITTING, STUCK, TOO_GOOD, UNSTABLE
from webnnm.training.automatic import MIN_ROWS


@rule(
    "E614",
    "warning",
    "If they stand for missing values, leave these cells empty and set missing='mean'; if not, "
    "correct them.",
    explains=[*STUCK, *UNSTABLE, "E109", "E603", "E627"],
)
def far_cells(facts: Facts) -> Hit | None:
    """A column has a repeated value, or values in a few cells, far from all others; or 0 or −1 is
    repeated among measurements that are far from it; or 2 to 70% of a continuous column are one
    whole number, and these rows are like average rows, not like those next to it.

    Codes such as −999 or 0 for a missing value are taken for measurements. They stretch the
    standard deviation by which the column is scaled, and squeeze all true values together. Within
    the range of a column, a code tells itself by what the other columns and the target say: they
    are as in average rows, while a true amount of 0 continues the line of small ones. That line is
    missed so far by chance once in a hundred sets. In 400 generated sets with numbers that are cut
    off, or truly 0, it fired in ten, whose zeros had an effect of their own that brought them to
    the average; it found two thirds of 200 with missing values, those of columns with little
    effect it did not. Labels are compared (E636) without these rows.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> heights = [[-999.0 if i % 10 == 0 else 1.5 + i / 200] for i in range(60)]
    >>> data = Dataset(heights, [i / 60 for i in range(60)])
    >>> print(review(text, data).finding("E614"))
    warning E614: 6 cells of column 0 are -999, the others lie from 1.505 to 1.795
      → If they stand for missing values, leave these cells empty and set missing='mean'; if ...

    Ignore it where these values were measured.
    """
    return report_suspicion(facts, "E614")


@rule(
    "E615",
    "warning",
    "Leave the column out, unless it is known when a prediction is made.",
    confidence=0.7,
    explains=TOO_GOOD,
)
def single_predictor(facts: Facts) -> Hit | None:
    """One of several columns alone predicts the target of 99% of the training rows, of 50 rows or
    more, or its values are the means of the target over the rows that have them; advice where it is
    a quantity that has one value in 95% of the rows of some classes and in at most 10% of the
    others, and all other columns are wrong three times as often, or never has its lowest value in
    100 rows or more of some classes but in 60% of the others, and predicts better than all other
    columns.

    A column that alone predicts 99% of the rows is often a form of the target, recorded after it
    was known: the test score is then too good, and in use the column is empty. With fewer rows a
    good measurement may predict them all by chance. A column that is filled in for one class only,
    such as the days for which the last bill of a customer has been open, is also recorded after the
    target, though a few of its cells may be wrong. The mean of the target by postcode includes the
    row itself, and the testing rows. The last value of a window over a series is not a target for
    that window: the target must come after it.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> targets = [i * 0.618 % 1 for i in range(80)]
    >>> rows = [[i * 0.414 % 1, 3 * target + 1] for i, target in enumerate(targets)]
    >>> data = Dataset(rows, targets)
    >>> print(review(text, data).finding("E615"))
    warning E615: column 1 alone gives the target (rank correlation 1.0000)
      → Leave the column out, unless it is known when a prediction is made.

    Ignore it where the column is known when a prediction is made, and the task is that easy.
    """
    hit = report_suspicion(facts, "E615")
    return replace(hit, severity="advice") if hit and "marks" in hit.evidence else hit


@rule(
    "E616",
    "warning",
    "Leave the column out: new rows will have other numbers.",
    explains=[*BEATEN, "E603", "E903"],
)
def row_number(facts: Facts) -> Hit | None:
    """A column numbers the rows, or its name says that it identifies them; not where the rows are
    split in order.

    A row number carries whatever the order of the rows carries, for instance that they were sorted
    by class or by day. New rows have numbers beyond all that the model saw.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows = [[i, i * 0.618 % 1] for i in range(80)]
    >>> data = Dataset(rows, [b * b for _, b in rows])
    >>> print(review(text, data).finding("E616"))
    warning E616: column 0 numbers the rows, from 0 to 79
      → Leave the column out: new rows will have other numbers.
      explains E603

    Ignore it where the order means something, as time does, and testing rows come later.
    """
    return report_suspicion(facts, "E616")


@rule("E617", "advice", "Leave one of these columns out.", confidence=0.5)
def redundant_column(facts: Facts) -> Hit | None:
    """A column is the same as another one up to scale, or is a linear combination of others.

    Two columns that say the same share one effect, in a proportion that chance decides; their
    weights cannot be interpreted, and the second column adds no information.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> metres = [i * 0.618 % 1 for i in range(80)]
    >>> rows = [[length, 3.28084 * length] for length in metres]
    >>> data = Dataset(rows, [length**2 for length in metres])
    >>> print(review(text, data).finding("E617"))
    advice E617: column 1 is the same as column 0
      → Leave one of these columns out.

    Ignore it where the columns may differ in later rows.
    """
    return report_suspicion(facts, "E617")


@rule("E621", "warning", "Find out which class is right, and drop the other rows.", explains=STUCK)
def contradictory_labels(facts: Facts) -> Hit | None:
    """More than 1% of the rows are equal to a row of another class, and not by chance.

    Whatever the model predicts for equal rows with different labels, at least one of them is wrong:
    the accuracy has an upper bound below 1, and gradients pull both ways. Rows are equal by chance
    where each of their numbers is frequent, as those that missing cells are filled with are.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(50)]
    >>> labels = [i % 2 for i in range(50)] + [(i + 1) % 2 for i in range(9)]
    >>> data = Dataset(rows + rows[:9], labels)
    >>> print(review(text, data).finding("E621"))
    warning E621: 30.5% of the rows are equal to a row of another class, such as rows 0, 50
      → Find out which class is right, and drop the other rows.

    Ignore it where labels are random by nature, as outcomes are, and probabilities are wanted.
    """
    return report_suspicion(facts, "E621")


@rule(
    "E623",
    "warning",
    "Pass the rows without padding, with length='max': padding then has no effect.",
    explains=[*BEATEN, "E310", "E902", "E903", "E908", "E922"],
)
def manual_padding(facts: Facts) -> Hit | None:
    """Rows of a sequence, or of tokens that attention, a mean or a recurrent layer combines, end in
    the same repeated position, and no length is given.

    A padded position counts like a real one: attention looks at it, means are drawn towards it, a
    recurrent layer continues over it. Sequences of different lengths know where they end.

    >>> from webnnm import Dataset, review
    >>> text = "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers embedding(t, "
    >>> text += "size=9, shape=[4]), reduceMean(axes=[sequence]), matmul(w), softmax();"
    >>> rows = [[1 + n % 8] * (1 + n % 4) + [0] * (7 - n % 4) for n in range(40)]
    >>> data = Dataset(rows, [n % 2 for n in range(40)], length="max")
    >>> print(review(text, data).finding("E623"))
    warning E623: 69% of the positions of model are 0 at the end of rows, and are not masked
      → Pass the rows without padding, with length='max': padding then has no effect.

    Ignore it where the value at the end was measured.
    """
    suspicion = facts.data.suspicions.get("E623")
    if suspicion is None:
        return None
    sequence = suspicion.evidence["sequence"] or any(
        vertex.features[0].sequence for vertex in facts.network.inputs
    )
    mixes_positions = suspicion.evidence["words"] and any(
        layer.has("recurrent")
        or layer.operator.name == "attend"
        or (layer.has("reduction", "pooling") and layer.has("linear"))
        for layer in facts.network.layers
    )
    return report_suspicion(facts, "E623") if sequence or mixes_positions else None


@rule(
    "E625",
    "warning",
    "Subtract the first value before they become float32, or let the dataset do it: standardize=.",
    explains=[*STUCK, "E603"],
)
def float32_rounding(facts: Facts) -> Hit | None:
    """A column loses different values as float32: a time in seconds since 1970.

    float32 has 24 bits of precision: seconds since 1970 come in steps of 128, so that
    differences of less than two minutes are lost. A dataset standardises in float64, before its
    numbers become float32; what is float32 already has lost them.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> seconds = [[1.7e9 + 60 * i] for i in range(60)]
    >>> data = Dataset(seconds, [i / 60 for i in range(60)])
    >>> print(review(text, data).finding("E625"))
    warning E625: column 0: numbers around 1.7e+09 have steps of 128, which leaves 29 of 60 values
      → Subtract the first value before they become float32, or let the dataset do it: ...
      explains E603

    Ignore it where only the large differences matter.
    """
    return report_suspicion(facts, "E625")


@rule(
    "E626",
    "advice",
    "Give each of its values its own column: TableDataset(…, categorical=[…]).",
    confidence=0.6,
)
def category_numbers(facts: Facts) -> Hit | None:
    """A column has whole numbers whose targets go up and down from one number to the next.

    As a number, category 5 lies between 4 and 6 and is nearly 500 times nearer to them than to
    500. With one column for each, every category can have its own effect.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> colours = [i % 6 for i in range(120)]
    >>> prices = [(3.0, 9.0, 1.0, 8.0, 2.0, 7.0)[c] + i / 500 for i, c in enumerate(colours)]
    >>> data = Dataset([[float(c)] for c in colours], prices)
    >>> print(review(text, data).finding("E626"))
    advice E626: column 0: 6 whole numbers, whose targets go up and down 5 times
      → Give each of its values its own column: TableDataset(…, categorical=[…]).

    Ignore it where the order of the numbers does have a meaning, with a bumpy effect.
    """
    return report_suspicion(facts, "E626")


@rule(
    "E627",
    "advice",
    "Check whether labels still belong to their rows.",
    confidence=0.4,
    explains=[*BEATEN, "E902", "E903", "E905", "E906"],
)
def labels_without_relation(facts: Facts) -> Hit | None:
    """The nearest training rows predict the class no better than the most frequent class does, and
    their mean recall over the classes is no better than that of a constant; or labels are related
    to the columns of one of the three rows before or after, and not to those of their own; not in
    series, where rows are related to the next one.

    Similar rows mostly have similar labels. If the nearest rows predict no better than the most
    frequent class, features and labels probably do not belong together, as after sorting one of
    them alone. Or five or more columns are token ids, alike, unrelated and of a dozen values or
    more: no id is near to another. Labels of a row near by are a warning: a heading that
    was read as a row, or a row that was skipped, moves all labels after it. Columns, and their
    squares, are then correlated with these labels by chance once in ten million sets, and with
    their own as in 99% of unrelated ones. In 500 generated sets, half of them series, it did not
    fire; of 200 that were moved it found 57%, and 93% where labels depend on sums of
    columns or of their squares.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(400)]
    >>> data = Dataset(rows, [i * i * 7919 % 1009 % 2 for i in range(400)])
    >>> print(review(text, data).finding("E627"))
    advice E627: the nearest training rows predict the class in 50% of the rows, the most ...
      → Check whether labels still belong to their rows.

    Ignore it where the label is a parity or a chessboard, or there is little but noise.
    """
    hit = report_suspicion(facts, "E627")
    return replace(hit, severity="warning") if hit and "offset" in hit.evidence else hit


@rule(
    "E629",
    "advice",
    "Treat it as numbers: leave it out of categorical=[…], leave cells without a number empty, and "
    "set missing='mean'.",
    confidence=0.7,
    explains=[*BEATEN, "E613", "E903"],
)
def numeric_categories(facts: Facts) -> Hit | None:
    """Four fifths of the categories of a column are numbers, and have fewer than ten training rows
    each.

    A category is only equal to itself and unlike all others: that 130 lies between 129 and 131 is
    lost, and each number is learnt from the few rows that have it. Codes of wards or products occur
    more often.

    >>> from webnnm import TableDataset, review
    >>> power = ["unknown" if i % 9 == 0 else str(60 + i % 90) for i in range(120)]
    >>> table = {"power": power, "speed": [100 + i % 90 for i in range(120)]}
    >>> data = TableDataset(table, label="speed", task="regression", categorical=["power"])
    >>> text = f"m:input shape={[*data.inputs['model'].shape]}; m:output shape=[1]; "
    >>> print(review(text + "m:layers matmul(w), add(b);", data).finding("E629"))
    advice E629: power: 64 of 65 categories are numbers, the others unknown; each has 1.3 ...
      → Treat it as numbers: leave it out of categorical=[…], leave cells without a number ...

    Ignore it where the numbers are names, such as house numbers.
    """
    return report_suspicion(facts, "E629")


@rule(
    "E630",
    "warning",
    "Pass the pictures as they are, to ImageDataset or with names=[…] for their dimensions; or "
    "move the channels, as x.transpose(0, 3, 1, 2) does: reshape does not reorder the numbers.",
    confidence=0.8,
    explains=[*BEATEN, "E310", "E902", "E903", "E908", "E922", "E924"],
)
def channel_reshape(facts: Facts) -> Hit | None:
    """Pictures for a convolution, of two to four channels and 8 × 8 pixels or more, are rougher
    than if their channels were at the other end: vertically, and 1.5 times together with the
    differences of horizontal neighbours or of channels; or 1.4 times in all of them.

    `reshape` changes the shape and keeps the order of the numbers: each channel then holds stripes
    of all channels. In the right order pixels resemble those next to them, below them and in the
    other channels. Noise is equally rough in either order, photographs are two to nine times as
    rough in the wrong one.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[3, 8, 8]; m:output shape=[2]; m:layers conv2d(f, shape=[4, 3, 3]), "
    >>> text += "relu(), flatten(), matmul(w), softmax();"
    >>> from webnnm.core.arrays import HostArray
    >>> pixels = [
    ...     (x - n % 7) ** 2 + (y - n % 5) ** 2 + 9.0 * channel
    ...     for n in range(40) for y in range(8) for x in range(8) for channel in range(3)
    ... ]
    >>> pictures = HostArray.of(pixels, "float32", [40, 3, 8, 8])
    >>> data = Dataset(pictures, [n % 2 for n in range(40)], standardize=True)
    >>> print(review(text, data).finding("E630"))
    warning E630: pixels of model and those below them differ by 2.17 of the variance with the ...
      → Pass the pictures as they are, to ImageDataset or with names=[…] for their dimensions; ...

    Ignore it where pictures have a pattern that repeats after as many pixels as there are channels.
    """
    convolved = any(layer.has("windowed") for layer in facts.network.layers)
    return report_suspicion(facts, "E630") if convolved else None


@rule(
    "E631",
    "warning",
    "Convert all cells to one unit before the column is standardised; where both are intended, "
    "take the logarithm.",
    confidence=0.7,
    explains=["E109", "E603"],
)
def unit_mix(facts: Facts) -> Hit | None:
    """Some cells of a positive column are 1,000, 100, 10 or 60 times the others, or another usual
    ratio of two units, spread like the others and lie apart from them; or they are degrees
    Fahrenheit among degrees Celsius.

    Millimetres among metres make up the whole deviation of the column, and the differences between
    all other rows become a few thousandths of it. Two clusters of the same shape with a gap between
    them, whose medians have the ratio of two units within their error, are most likely one
    quantity. Not where these rows differ in another column or in the target too: then they are of
    another kind, as trucks among cars. More than a fifth of the rows may be another kind anyway:
    there another column or the target has to follow this one in both groups, so closely that it
    would differ between them if they were in one unit.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> spans = [3 + 8 * (i * 0.618 % 1) for i in range(300)]
    >>> entered = [span * 1000 if i % 17 == 0 else span for i, span in enumerate(spans)]
    >>> rows = [[span, i * 0.414 % 1] for i, span in enumerate(entered)]
    >>> data = Dataset(rows, [b for _, b in rows], standardize=True, features=["span", "load"])
    >>> print(review(text, data).finding("E631"))
    warning E631: 4.8% of the cells of span, 3192 to 7816, are 1,000 times the others, 3.016 to ...
      → Convert all cells to one unit before the column is standardised; where both are ...

    Ignore it where both groups were measured in the same unit.
    """
    return report_suspicion(facts, "E631")


@rule(
    "E632",
    "warning",
    "Leave out the column that is computed from the target; if both are known before, compute the "
    "target by the formula: that needs no network.",
    confidence=0.8,
    explains=TOO_GOOD,
)
def target_formula(facts: Facts) -> Hit | None:
    """A quantity is the sum, difference, product or quotient of two named columns, or of one and
    the square of the other, up to scale and offset, with an R² of 0.999 or more; neither column
    alone predicts it, and for products and quotients no linear combination of both does. Or it is
    the sum of three or more columns.

    A price per square metre was computed from the price: together with the area it gives the
    answer, and in use nobody has it. A formula that leaves less than a thousandth of the variance
    was computed and rounded; measured laws leave more. Not for windows over a series.

    >>> from webnnm import TableDataset, review
    >>> area = [40 + i * 7 % 90 for i in range(100)]
    >>> price = [a * (2 + i * 0.618 % 1) for i, a in enumerate(area)]
    >>> table = {"area": area, "per_m2": [p / a for a, p in zip(area, price)], "price": price}
    >>> data = TableDataset(table, label="price", standardize=True, standardize_targets=True)
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> print(review(text, data).finding("E632"))
    warning E632: the target is area · per_m2 (R² 1), up to scale and offset; area alone has R² ...
      → Leave out the column that is computed from the target; if both are known before, ...

    Ignore it where the model is meant to find the formula, in an experiment.
    """
    return report_suspicion(facts, "E632")


@rule(
    "E633",
    "warning",
    "Leave out the column that is mostly empty, with features=[…], or fill in the cells with "
    "missing='mean'.",
    explains=[*BEATEN, "E611", "E903"],
)
def missing_rows(facts: Facts) -> Hit | None:
    """missing='drop' left out more than half of the rows that have a label; advice where 2,000
    training rows remain.

    A row is left out for a single empty cell. One column that is hardly ever filled in, or many
    columns that each lack a few cells, cost most of the rows, and those that remain may not be
    representative. Rows without a label are left out in any case, and do not count.

    >>> from webnnm import TableDataset, review
    >>> table = {"age": [20 + i % 60 for i in range(300)]}
    >>> table["phone"] = [i % 7 if i % 10 == 0 else None for i in range(300)]
    >>> table["height"] = [150 + i * 0.618 % 40 for i in range(300)]
    >>> data = TableDataset(table, label="height", missing="drop", standardize=True)
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> print(review(text, data).finding("E633"))
    warning E633: 270 of 300 rows were left out for an empty cell: phone in 270; without phone ...
      → Leave out the column that is mostly empty, with features=[…], or fill in the cells with ...

    Ignore it where only complete rows are relevant.
    """
    hit = report_suspicion(facts, "E633")
    many = facts.data.training >= MIN_ROWS
    return replace(hit, severity="advice") if hit and many else hit


@rule(
    "E634",
    "warning",
    "Write them as dates (2019-01-31), of which TableDataset makes days, season and weekday; "
    "or pass the year as a number, and the season as sin and cos of 2π·day/365.25.",
    confidence=0.8,
    explains=[*STUCK, "E603", "E622"],
)
def dates_as_numbers(facts: Facts) -> Hit | None:
    """All values of a column, twelve or more from two or more months, are dates written as one
    number: yyyymmdd, ddmmyyyy, mmddyyyy, yymmdd or yyyymm.

    As quantities 20190131 and 20190201 differ by 70 instead of one day, and the season is hidden in
    the digits. The day of the year as an angle is cyclic: its sine and cosine are nearly the same
    on 31 December as on 1 January. float32 has no odd numbers of eight digits, so that a
    neighbouring day also counts as a date.

    >>> from webnnm import TableDataset, review
    >>> dates_as_numbers = [(2019 + i // 12) * 100 + 1 + i % 12 for i in range(48)]
    >>> table = {"month": dates_as_numbers, "guests": [200 + i * 37 % 50 for i in range(48)]}
    >>> data = TableDataset(table, label="guests", standardize=True, standardize_targets=True)
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> print(review(text, data).finding("E634"))
    warning E634: month has dates as numbers, yyyymm: from December to January it goes up by 89, ...
      → Write them as dates (2019-01-31), of which TableDataset makes days, season and ...

    Ignore it where the numbers are not dates.
    """
    return report_suspicion(facts, "E634")


@rule(
    "E635",
    "warning",
    "Leave out what turns one class into another, as mirroring swaps left and right; shift or crop "
    "pictures, or add noise; or return the other class for these rows.",
    confidence=0.7,
    explains=[*BEATEN, "E310", "E902", "E904", "E908", "E922"],
)
def class_changing_augmentation(facts: Facts) -> Hit | None:
    """An eighth or more of 100 augmented rows look like another class: a row of that class is
    nearer than any of their own, and as near as rows usually are; three times as many as without
    augmentation. Or 20 or more look like other rows, the squared distance to whose targets is three
    times that to the targets of the nearest rows without augmentation, and larger in more rows than
    chance explains (0.5%).

    A six upside down is a nine, a mirrored arrow to the left is an arrow to the right. With labels
    unchanged, the training shows the same pictures for both classes, and the model can only guess
    between them. So it is with the place of an eye in a picture that is shifted. Not where the
    augmentation changes the class, or the place, too.

    >>> from webnnm import Dataset, review
    >>> from webnnm.core.arrays import HostArray
    >>> text = "m:input shape=[1, 4, 4]; m:output shape=[2]; m:layers conv2d(f, shape=[4, 2, 2]), "
    >>> text += "relu(), flatten(), matmul(w), softmax();"
    >>> pixels = [
    ...     (x // 2 == n % 2) * (1 + n * 0.618 % 1)
    ...     for n in range(100) for y in range(4) for x in range(4)
    ... ]
    >>> def mirror(inputs, outputs, stream, epoch):
    ...     rows = inputs["model"].tolist()
    ...     chances = stream.uniform(len(rows))
    ...     turn = lambda row: [[line[::-1] for line in row[0]]]
    ...     return {"model": [turn(r) if u < 0.5 else r for r, u in zip(rows, chances)]}, outputs
    >>> pictures = HostArray.of(pixels, "float32", [100, 1, 4, 4])
    >>> data = Dataset(pictures, [n % 2 for n in range(100)]).augment(mirror)
    >>> print(review(text, data).finding("E635"))
    warning E635: 24 of 70 augmented rows look like another class, 0 of them as they are; most ...
      → Leave out what turns one class into another, as mirroring swaps left and right; shift or ...

    Ignore it where the classes are random, and rows of all classes look alike.
    """
    return report_suspicion(facts, "E635")


@rule(
    "E636",
    "warning",
    "Look at the rows that it lists, and correct wrong labels, or drop these rows.",
    confidence=0.7,
    explains=[*OVERFITTING, "E902", "E904", "E922"],
)
def label_noise(facts: Facts) -> Hit | None:
    """At least a twentieth of the labels of a table of 200 training rows or more disagree with
    those of similar rows, also where rows are far from all other classes; or those of one class
    have the label of another one.

    Classes that overlap have rows of several classes between them, and hardly any deep inside.
    Wrong labels are everywhere. They can only be memorised: the training loss falls, that on other
    rows rises, and neither dropout nor a larger model helps. An outcome that is random by nature is
    more so in some regions or classes than in others, and is left out where columns, their squares
    or classes tell which rows disagree (5%). Rows vote for each other, by the
    fifteen nearest ones or by linear models of half of the rows each, and the rate of wrong votes
    is compared with that of an overlap, which falls with the distance (a likelihood ratio, 1%; in
    single classes 0.1%). In 304 generated sets without wrong labels (blobs, rings, moons, lines,
    a chessboard, rare classes) it fired in three, two of which had heavy tails. Not for pictures,
    and columns of few values, and not where a third or more is wrong.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> draw = Random(0)
    >>> rows = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(600)]
    >>> labels = [int((a > b) != (draw.random() < 0.2)) for a, b in rows]
    >>> data = Dataset(rows, labels, standardize=True)
    >>> print(review(text, data).finding("E636"))
    warning E636: about 18% of the labels disagree with those of similar rows, as often far ...
      → Look at the rows that it lists, and correct wrong labels, or drop these rows.

    Ignore it where labels are random by nature, as outcomes are, and probabilities are wanted.
    """
    return report_suspicion(facts, "E636")


@rule(
    "E637",
    "warning",
    "Take log(1 + x) in place of log(x + ε).",
    explains=[*STUCK, *UNSTABLE, "E109", "E122", "E603", "E614", "E619", "E622", "E903", "E905"],
)
def logarithms_of_zeros(facts: Facts) -> Hit | None:
    """A column, or the target, has logarithms of which 1% or more are log(ε), of a power of ten or
    the ε of floats, and lie more than three standard deviations of all others below these.

    log(x + ε) is meant to avoid log(0), and makes it an extreme number that ε alone decides: with
    1e-8 zeros are at −18, where all other logarithms may lie between 5 and 10. The column is then
    scaled by these zeros; a target with them is learnt as whether it is 0, and hardly as how much
    it is. log(1 + x), or log(1 + x / s) for numbers of the size of s, is 0 at 0 and next to the
    others. A lowest value is a logarithm of such an ε by chance once in a hundred columns, and
    hardly ever far from the others and repeated as well.

    >>> from webnnm import Dataset, review
    >>> import math
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> incomes = [[math.log(i % 5 * (900 + 40 * i) + 1e-6)] for i in range(60)]
    >>> data = Dataset(incomes, [i / 60 for i in range(60)], standardize=True)
    >>> print(review(text, data).finding("E637"))
    warning E637: 12 of 60 values of column 0 are -13.82, which is log(1e-06), the others lie ...
      → Take log(1 + x / 4000) in place of log(x + ε): 4000 is a usual value.
      explains ...

    Ignore it where being 0 is all that matters.
    """
    return report_suspicion(facts, "E637")


@rule(
    "E645",
    "warning",
    "Leave these words out of the texts, unless all texts to come are written so.",
    confidence=0.7,
)
def telling_word(facts: Facts) -> Hit | None:
    """A word, or one of up to three at the same place, is in 99% of the training texts of a class,
    and in at most 1% of the others; all other words tell the class of more texts than the most
    frequent class has, and of fewer than 95%.

    Texts of one class often come from one source, and begin with its name, a date or a signature.
    The model then reads this and nothing else, and the test score is too good. That other words
    tell something is tested by McNemar's test (p < 0.001) on texts that naive Bayes does not
    know yet: where one word alone defines the class, the others tell nothing.

    >>> from random import Random
    >>> from webnnm import LabeledTextDataset, review
    >>> text = "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers "
    >>> text += "embedding(e, size=40, shape=[4]), reduceMean(axes=[sequence]), matmul(w), "
    >>> text += "softmax();"
    >>> draw = Random(0)
    >>> kinds = [n % 2 for n in range(300)]
    >>> chosen = ["sober" if (draw.random() < 0.8) == bool(kind) else "shrill" for kind in kinds]
    >>> texts = [f"reuters {w} news" if k else f"{w} news" for w, k in zip(chosen, kinds)]
    >>> data = LabeledTextDataset(texts, ["true" if kind else "fake" for kind in kinds])
    >>> print(review(text, data).finding("E645"))
    warning E645: nearly all texts of class true have "reuters", and hardly any others; all ...
      → Leave these words out of the texts, unless all texts to come are written so.

    Ignore it where the word is known to be there when a prediction is made.
    """
    return report_suspicion(facts, "E645")


@rule(
    "E643",
    "warning",
    'Read longer texts: length="max", or the longest that fits into memory.',
    explains=[*STUCK, *OVERFITTING, "E923", "E926", "E636"],
)
def cut_texts(facts: Facts) -> Hit | None:
    """Half of the training texts or more are longer than what is read of them, a quarter of all
    tokens or more are cut off, and naive Bayes that reads whole texts tells the class of 5% more
    of other texts.

    What distinguishes the classes then stands at the end: a verdict, a signature, a question.
    Answers with and without the ends are compared by McNemar's test, on texts that naive Bayes does
    not know yet: where the ends tell nothing, it fires once in two thousand sets.

    >>> from webnnm import LabeledTextDataset, review
    >>> text = "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers "
    >>> text += "embedding(e, size=40, shape=[4]), reduceMean(axes=[sequence]), matmul(w), "
    >>> text += "softmax();"
    >>> words = ["good", "bad"] * 60
    >>> texts = [f"room {n % 5} had a {word} bed" for n, word in enumerate(words)]
    >>> data = LabeledTextDataset(texts, [0, 1] * 60, length=3)
    >>> print(review(text, data).finding("E643"))
    warning E643: 100% of the texts are longer than the 3 tokens that are read of them, ...
      → Read longer texts: length="max", or the longest that fits into memory.

    Ignore it where texts will be as short in use.
    """
    return report_suspicion(facts, "E643")


@rule(
    "E644",
    "warning",
    "Learn sine and cosine of the angle as two targets, and take the angle of both predictions.",
    explains=[*STUCK, *OVERFITTING, "E109", "E925", "E926"],
)
def circular_target(facts: Facts) -> Hit | None:
    """The only target has the range of a circle, such as degrees from 0 to 360 or hours from 0 to
    24, and rows at both of its ends have equal inputs: of the pairs of a row and one of its three
    nearest rows whose targets are more than half a circle apart, 40% or more, and twice as many as
    by chance, are within an eighth of it around the circle.

    359° and 1° are next to each other, and the squared error between them is the largest one. Such
    a model predicts 180° where rows are near north. Pairs of rows drawn at random are the chance,
    which a binomial test at 0.0001 must exclude. It found 118 of 120 generated circular targets of
    noisy rows, and reported none of 320 others of that range: lines, noise, clipped ones, mixes of
    two values. Without noise only the few rows at the ends are wrong, and it may miss them.

    >>> import math
    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> angles = [draw.uniform(0, 2 * math.pi) for _ in range(300)]
    >>> rows = [[wave(a) + draw.gauss(0, 0.2) for wave in (math.sin, math.cos)] for a in angles]
    >>> data = Dataset(rows, [math.degrees(angle) for angle in angles])
    >>> print(review(text, data).finding("E644"))
    warning E644: the target goes from 0.5487 to 359.8 as degrees around a circle, and of 41 ...
      → Learn sine and cosine of it, 2π · target / 360, as two targets, and take the angle of ...

    Ignore it where the ends differ, as the beginning and the end of a shift do.
    """
    return report_suspicion(facts, "E644")
