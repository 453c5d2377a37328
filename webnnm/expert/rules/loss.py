"""Rules on losses: does the loss fit output activation and labels? (spec E101–E118)."""

from __future__ import annotations

from collections.abc import Callable

from webnnm.core.readable import show_number
from webnnm.core.shapes import count
from webnnm.expert.facts.facts import Facts, OutputFacts
from webnnm.expert.rules.rule import Hit, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, STUCK
from webnnm.training.loss_choice import LARGE_SHARE, LabelFacts
from webnnm.training.losses import LOSSES, is_fused

SOFTMAX = ("softmax", "logSoftmax")
CONVERSIONS = {
    "onehot": "class numbers become one-hot rows",
    "classes": "one-hot rows become class numbers",
    "signs": "0 and 1 become −1 and 1",
}
MIN_MANY_CLASSES = 1000
MAX_COLUMNS = 8
"""Among more target columns, such as pixels, some may be constant."""
MAX_SCORES = 100
"""With more scores than this, such as the words of a language, many classes occur in no row."""


def of_outputs(
    facts: Facts, text: Callable[[OutputFacts, LabelFacts], str | None], loss: str = ""
) -> dict[str, str]:
    """Return what a rule says about outputs with this loss and known labels, by node."""
    texts = {
        output.node: text(output, output.labels)
        for output in facts.outputs
        if output.labels is not None and loss in ("", output.loss)
    }
    return {node: message for node, message in texts.items() if message}


@rule("E101", "info", "Write the loss into the text to decide yourself.", "chooses by D.4")
def loss_choice(facts: Facts) -> Hit | None:
    """An output has no loss in the text.

    Softmax goes with cross-entropy, sigmoid with binary cross-entropy, quantities with squared
    errors; the labels decide between the forms of a loss.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E101"))
    info E101 line 1, column 22: CCE for m (softmax output, no labels available)
      done: m:loss='CCE'

    Ignore it: it only says what was chosen.
    """
    free = [o for o in facts.outputs if not (o.written or o.problem)]
    return merge_hits(
        {o.node: f"{o.loss} for {o.name}{o.reason and f' ({o.reason})'}" for o in free},
        changes={f"{o.name}:loss": o.loss for o in free},
    )


@rule("E103", "error", "Change the loss, the output activation or the form of the labels.")
def impossible_labels(facts: Facts) -> Hit | None:
    """Labels cannot fit the loss (NNM604, NNM706).

    A softmax over one score is always 1, classes without a score have no probability, and numbers
    that are not classes have no cross-entropy: no training can lower such a loss.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), softmax();"
    >>> data = Dataset([[i, -i] for i in range(9)], [i % 3 for i in range(9)])
    >>> print(review(text, data).finding("E103"))
    error E103 line 1, column 22: output "m": 3 classes, the model has 2 scores
      → Write shape=[3] at the output, or correct the labels.

    Never ignore it: the model cannot be trained.
    """
    outputs = [o for o in facts.outputs if o.problem]
    hints = {f"{o.hint[0].upper()}{o.hint[1:]}.": None for o in outputs if o.hint}
    return merge_hits(
        {o.node: o.problem for o in outputs},
        remedy=" ".join(hints),
        evidence={
            o.name: {"activation": o.activation, "loss": o.loss or "not written"} for o in outputs
        },
    )


@rule("E104", "info", "Give the labels in the form that the loss takes.", "converts")
def label_conversion(facts: Facts) -> Hit | None:
    """Labels have a different form from what the loss takes, with the same meaning.

    Class numbers and one-hot rows say the same, as do 0/1 and −1/1; labels are converted to the
    form that the loss takes.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:loss CCE; m:layers matmul(w), softmax();"
    >>> data = Dataset([[i / 8] for i in range(8)], [i % 2 for i in range(8)])
    >>> print(review(text, data).finding("E104"))
    info E104 line 1, column 22: CCE of m: class numbers become one-hot rows
      done: labels converted

    Ignore it: it only says what is done.
    """
    messages = {
        o.node: f"{o.loss} of {o.name}: {CONVERSIONS[o.conversion]}"
        for o in facts.outputs
        if o.conversion
    }
    return merge_hits(messages, action="labels converted")


@rule("E107", "warning", "End the model in sigmoid() and use BCE.", explains=STUCK)
def multiple_labels(facts: Facts) -> Hit | None:
    """CCE on rows with several 1s.

    Softmax distributes one probability over the classes: if a row has two labels, they cannot both
    get more than half. Sigmoids judge each label by itself.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[3]; m:loss CCE; m:layers matmul(w), softmax();"
    >>> data = Dataset([[0.1], [0.4], [0.9]], [[1, 1, 0], [0, 1, 1], [1, 0, 0]])
    >>> print(review(text, data).finding("E107"))
    warning E107 line 1, column 22: CCE, and m has several 1s in a row
      → End the model in sigmoid() and use BCE.

    Ignore it where the labels of a row are meant as shares that sum to 1.
    """
    return merge_hits(
        of_outputs(
            facts,
            lambda o, labels: f"CCE, and {o.name} has several 1s in a row" * labels.several,
            "CCE",
        )
    )


@rule("E109", "advice", "Use HUL, which outliers affect less.", "HUL if no loss is written")
def outliers(facts: Facts) -> Hit | None:
    """MSE with outliers among the targets, or with gradient norms whose standard deviation over
    batches of the pilot rows exceeds their mean; not for counts, for non-negative targets whose
    logarithms have no outliers, nor where logarithms or normal scores are learnt already; outliers
    not where row weights differ, nor where the rows most similar to them are far from the median
    too (95%). Gradients are measured before a training that tries several seeds, not one.

    A target ten deviations off has a hundred times the squared error of one that is one deviation
    off, so that a few rows decide the fit. The Huber loss counts errors beyond δ linearly. The
    long tail of counts and prices is not an error: there the mean is wanted. With one target in
    thirty too large by 100, R² is −210 with squared errors and 0.95 with the Huber loss.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
    >>> targets = [900.5 if i % 20 == 0 else i / 60 for i in range(60)]
    >>> data = Dataset([[i / 60] for i in range(60)], targets)
    >>> print(review(text, data).finding("E109"))
    advice E109 line 1, column 22: MSE on m, whose targets have outliers
      → Use HUL, which outliers affect less.

    Ignore it where the extreme values are the ones that matter, as peak loads do.
    """
    variation = facts.scouting.gradient_variation
    outputs = [
        o
        for o in facts.outputs
        if o.loss == "MSE"
        and not o.reshaped
        and (
            (
                o.labels is not None
                and o.labels.outliers
                and not o.labels.long_tailed
                and "E109" not in facts.data.suspicions
            )
            or (variation > 1 and o.activation == "linear")
        )
    ]
    why = f": gradient norms of batches vary by {variation:.2f} of their mean" * (variation > 1)
    return merge_hits(
        {o.node: f"MSE on {o.name}{why or ', whose targets have outliers'}" for o in outputs},
        evidence={"gradient_variation": variation},
        changes={f"{o.name}:loss": "HUL" for o in outputs if not o.written},
    )


@rule(
    "E110",
    "advice",
    "Set class_weight='balanced' if rare classes matter as much as others.",
    explains=["E906"],
)
def dominant_class(facts: Facts) -> Hit | None:
    """One class has more than 90% of the labels; not with class_weight, or with row weights that
    lift the other classes; only information where the nearest rows know the other classes.

    With nine of ten rows in one class, always predicting that class is right in nine of ten rows.
    Balanced weights count each class equally; where only accuracy matters, they cost some of it.
    Classes that lie apart are learnt without weights, as E608 measures.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[i * 0.618 % 1] for i in range(200)]
    >>> data = Dataset(rows, [int(i % 20 == 0) for i in range(200)])
    >>> print(review(text, data).finding("E110"))
    advice E110 line 1, column 22: 95.0% of the labels of m are one class
      → Set class_weight='balanced' if rare classes matter as much as others.

    Ignore it where accuracy is what counts.
    """
    if facts.settings.class_weight or "E110" in facts.data.suspicions:
        return None
    shares = [
        (o, o.labels.share)
        for o in facts.outputs
        if o.labels is not None
        and o.labels.share > LARGE_SHARE
        and not (o.written and o.loss == "FOL")
    ]
    return merge_hits(
        {o.node: f"{share:.1%} of the labels of {o.name} are one class" for o, share in shares},
        evidence={o.name: share for o, share in shares},
        fix={"class_weight": "balanced"},
        severity="info" if facts.data.knows_rare_classes else None,
    )


@rule("E111", "info", action="computes output activation and loss together, from the logits")
def loss_fusion(facts: Facts) -> Hit | None:
    """Output activation and loss have a fused form (D.2).

    The logarithm of a softmax is computed directly from the logits, which neither overflows nor
    loses small probabilities.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:loss CCE; m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E111"))
    info E111 line 1, column 22: softmax and CCE of m
      done: output activation and loss computed together, from the logits

    Ignore it: it only says what is done.
    """
    return merge_hits(
        {
            o.node: f"{o.activation} and {o.loss} of {o.name}"
            + (f", which means {same} here" if (same := LOSSES[o.loss].of_probabilities) else "")
            for o in facts.outputs
            if o.loss in LOSSES and not o.problem and is_fused(LOSSES[o.loss], o.activation)
        },
        action="output activation and loss computed together, from the logits",
    )


@rule("E112", "advice", "Use class numbers and SCE.")
def many_classes(facts: Facts) -> Hit | None:
    """One-hot labels of 1000 classes or more.

    One-hot rows of a thousand classes store a thousand numbers per row, only one of which carries
    information.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1000]; m:loss CCE; "
    >>> text += "m:layers matmul(w), softmax();"
    >>> labels = [[float(i == k) for i in range(1000)] for k in range(3)]
    >>> data = Dataset([[0.1], [0.5], [0.9]], labels)
    >>> print(review(text, data).finding("E112"))
    advice E112 line 1, column 22: m has one-hot rows of 1,000 classes
      → Use class numbers and SCE.

    Ignore it where memory does not matter.
    """
    return merge_hits(
        of_outputs(
            facts,
            lambda o, labels: (
                f"{o.name} has one-hot rows of {labels.classes:,} classes"
                * (labels.kind == "onehot" and labels.classes >= MIN_MANY_CLASSES)
            ),
        )
    )


@rule("E113", "info", action="computes CCEL")
def logit_loss(facts: Facts) -> Hit | None:
    """CCE where most heavy operators are float16, or on an NPU.

    Probabilities below 6·10⁻⁸ are 0 in float16, and their logarithm is infinite; computed from the
    logits it is finite.

    >>> from webnnm import review
    >>> text = "m:input float16 shape=[4]; m:output shape=[3]; m:loss CCE; "
    >>> text += "m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E113"))
    info E113 line 1, column 30: CCE of m would take logarithms of float16 probabilities
      done: computed from the logits, as CCEL

    Ignore it: it only says what is done.
    """
    if not (facts.profile.mostly_float16 or facts.npu):
        return None
    return merge_hits(
        {
            o.node: f"CCE of {o.name} would take logarithms of float16 probabilities"
            for o in facts.outputs
            if o.loss == "CCE" and o.activation in SOFTMAX
        },
        action="computed from the logits, as CCEL",
    )


@rule(
    "E114",
    "warning",
    "Look for the intended column: there is nothing to learn.",
    explains=[*BEATEN, "E902"],
)
def constant_target(facts: Facts) -> Hit | None:
    """All targets of the training rows are the same number, or the same class, or one of up to
    eight columns of targets is.

    The best prediction is that constant, which needs no model; most likely another column was
    intended.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(20)], [[0.1 * i, 3.5] for i in range(20)])
    >>> print(review(text, data).finding("E114"))
    warning E114 line 1, column 22: targets 1 of m never change
      → Look for the intended column: there is nothing to learn.

    Never ignore it in a training.
    """

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        alone = [n for n, rows in enumerate(labels.class_counts) if rows]
        if labels.exclusive:
            same = len(alone) == 1 < sum(labels.class_counts)
            return f"all labels of {output.name} are class {alone[0]}" if same else None
        columns = labels.constant if labels.kind == "continuous" else ()
        if columns and labels.shape[-1] <= MAX_COLUMNS and labels.minimum < labels.maximum:
            return f"targets {', '.join(map(str, columns))} of {output.name} never change"
        same = labels.minimum == labels.maximum and labels.kind == "continuous"
        value = "the same" if output.standardized else show_number(labels.minimum)
        return f"all targets of {output.name} are {value}" if same else None

    return merge_hits(of_outputs(facts, text))


@rule("E118", "advice", "Give the model one score for each class that occurs.", confidence=0.6)
def spare_scores(facts: Facts) -> Hit | None:
    """A softmax has more scores than the data have classes, and at most 100.

    The model learns that the scores of classes that never occur are low, which takes a few training
    rows and does little harm; often the number of classes was miscounted.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[5]; m:layers matmul(w), add(b), softmax();"
    >>> data = Dataset([[i / 90] for i in range(90)], [i % 3 for i in range(90)])
    >>> print(review(text, data).finding("E118"))
    advice E118 line 1, column 22: m has 5 scores, the labels are 0 … 2
      → Give the model one score for each class that occurs.

    Ignore it where further classes will be added.
    """
    sizes = {o.name: count(o.source.features.sizes()) for o in facts.network.outputs}

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        scores = sizes.get(output.name, 0)
        has_fewer_classes = labels.kind == "classes" and 1 < labels.classes < scores <= MAX_SCORES
        if not has_fewer_classes or output.activation not in SOFTMAX or labels.negative:
            return None
        return f"{output.name} has {scores} scores, the labels are 0 … {labels.classes - 1}"

    return merge_hits(of_outputs(facts, text))
