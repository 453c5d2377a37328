"""Rules on losses written in the text, and on outputs other than softmax (E102–E123)."""

from __future__ import annotations

import math

from webnnm import ops
from webnnm.core.readable import show_number
from webnnm.core.shapes import count
from webnnm.expert.facts.facts import Facts, OutputFacts
from webnnm.expert.rules.loss import SOFTMAX, of_outputs
from webnnm.expert.rules.rule import Hit, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, STUCK, UNSTABLE
from webnnm.ops.declare.operator import UNBOUNDED
from webnnm.training.loss_choice import LabelFacts
from webnnm.training.losses import LOSSES

SCALE_LIMITS = {"least": 0.1, "most": 10.0, "mean": 3.0}
"""Targets are well scaled with a deviation between the first two and a mean within the third."""

MIN_TAIL = 5
MIN_COUNT = 30
"""Counts that stay below this do not span orders of magnitude."""
"""The largest of targets that span orders of magnitude are this many deviations above the mean."""

RANGE_TOLERANCE = 0.01
"""Targets may lie outside the range by this share of their extent, as noise does."""

SIGN_HINT = (
    "Make the labels 0 and 1, (labels + 1) / 2, and end in sigmoid() with BCE; or keep −1 and 1, "
    "and end in tanh()."
)

MAX_CLASS_NUMBER = 20
"""Whole numbers from 0 or 1 up to this may be classes; counts and years are larger."""


def _is_measured(output: OutputFacts) -> bool:
    """Return whether the loss of an output is for measurements."""
    return output.loss in LOSSES and LOSSES[output.loss].measured


def _bounds(output: OutputFacts) -> tuple[float, float]:
    """Return the least and the largest result of the last operator of a model."""
    operator = ops.lookup(output.operator)
    return operator.bounds if operator else UNBOUNDED


def _beyond(output: OutputFacts, labels: LabelFacts) -> bool:
    """Return whether targets lie where the last operator cannot reach them."""
    low, high = _bounds(output)
    slack = RANGE_TOLERANCE * (labels.maximum - labels.minimum)
    beyond = labels.minimum < low - slack or labels.maximum > high + slack
    return beyond and labels.kind == "continuous"


@rule(
    "E102",
    "warning",
    "Use the loss that fits the output activation, or the activation that fits the loss.",
    explains=STUCK,
)
def unfitting_activation(facts: Facts) -> Hit | None:
    """A written loss is not made for the output activation: BCE without sigmoid, CCE or KLD
    without softmax, MSE, MAE or HUL on softmax, HIL on softmax or sigmoid; or it compares classes,
    and the softmax is along another dimension than the last one. A softmax over one score is told
    to be always 1.

    Activation and loss belong together: the gradient of cross-entropy with respect to the logits of
    a softmax is p − y, whatever the size of the error. With squared errors of probabilities it has
    the factor p(1 − p), which is next to nothing where the model is confident and wrong.
    Cross-entropy of numbers that are not probabilities is clamped, and has no gradient there.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:loss MSE; m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E102"))
    warning E102 line 1, column 22: MSE on the softmax output m
      → Use CCE for classes; leave softmax() out for quantities.

    Ignore it where calibrated probabilities matter more than the predicted class (Brier score).
    """
    messages: dict[str, str] = {}
    remedies: dict[str, None] = {}
    sizes = {o.name: count(o.source.features.sizes()) for o in facts.network.outputs}
    for o in facts.outputs:
        if not o.written or o.loss not in LOSSES:
            continue
        loss = LOSSES[o.loss]
        if _is_along_another_axis(o) and loss.labels in ("distribution", "classes"):
            messages[o.node] = (
                f"{o.loss} compares classes along the last dimension of {o.name}, which ends in a "
                f"{o.operator} along another one"
            )
            remedies[f"Write {o.operator}() without axis=."] = None
        elif o.activation in loss.unfitting:
            messages[o.node] = f"{o.loss} on the {o.activation} output {o.name}"
            remedies[loss.remedy] = None
            if o.activation in SOFTMAX and sizes.get(o.name) == 1:
                messages[o.node] += ", which is always 1: a softmax over one score"
                remedies["Or give it two scores, and use CCE."] = None
    return merge_hits(messages, remedy=" ".join(remedies))


def _is_along_another_axis(output: OutputFacts) -> bool:
    """Return whether an output ends in a softmax along another dimension than the last one."""
    operator = ops.lookup(output.operator)
    probabilistic = operator is not None and "probabilistic" in operator.traits
    return probabilistic and output.activation == "linear"


@rule("E105", "warning", "Normalise the targets to rows that sum to 1.", explains=STUCK)
def target_row_sums(facts: Facts) -> Hit | None:
    """KLD on targets whose rows do not sum to 1 ± 1e-3.

    The divergence compares two distributions. For rows that are not distributions its lowest value
    is not 0, and the model learns their normalised form, each row weighted by its sum.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:loss KLD; m:layers matmul(w), softmax();"
    >>> data = Dataset([[i / 10] for i in range(20)], [[0.5, 0.1 * i] for i in range(20)])
    >>> print(review(text, data).finding("E105"))
    warning E105 line 1, column 22: KLD, and rows of m do not sum to 1
      → Normalise the targets to rows that sum to 1.

    Ignore it where the sums are meant as row weights.
    """

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        exact = labels.sums_to_one or labels.kind in ("classes", "onehot")
        return None if exact else f"KLD, and rows of {output.name} do not sum to 1"

    return merge_hits(of_outputs(facts, text, "KLD"))


@rule("E106", "warning", "End the model in softmax() and use CCE.", explains=STUCK)
def exclusive_labels(facts: Facts) -> Hit | None:
    """BCE over two or more outputs, and each row has exactly one 1, or a class number.

    Sigmoids judge each class on its own, and may say yes to several or to none. Where one class
    excludes the others, softmax has that built in, and the model need not learn it.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:loss BCE; m:layers matmul(w), sigmoid();"
    >>> data = Dataset([[i / 10] for i in range(20)], [[i % 2, 1 - i % 2] for i in range(20)])
    >>> print(review(text, data).finding("E106"))
    warning E106 line 1, column 22: BCE over 2 values of m, each row has one 1
      → End the model in softmax() and use CCE.

    Ignore it where future rows may have several classes, or none.
    """
    sizes = {o.name: count(o.source.features.sizes()) for o in facts.network.outputs}

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        width = sizes.get(output.name, 0)
        if width < 2 or not labels.exclusive:
            return None
        kind = "one 1" if labels.single or labels.kind == "onehot" else "one class"
        return f"BCE over {width} values of {output.name}, each row has {kind}"

    return merge_hits(of_outputs(facts, text, "BCE"))


@rule(
    "E108",
    "warning",
    "Standardise the targets: standardize_targets=True.",
    explains=[*STUCK, *UNSTABLE, "E329", "E502"],
)
def target_scale(facts: Facts) -> Hit | None:
    """MSE on targets with std > 10 or < 0.1, or |mean| > 3·max(std, 1); not where E114 or E117
    applies.

    Initial predictions are around 0 with a standard deviation of about 1. To reach targets far from
    that, weights have to grow for hundreds of steps, with losses and gradients that grow with the
    square of the targets. Standardised targets are where predictions start; `decode` and `test`
    convert back to the original units.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(20)], [[900.0 + 50 * i] for i in range(20)])
    >>> print(review(text, data).finding("E108"))
    warning E108 line 1, column 22: MSE, and targets of m have mean 1.35e+03, std 291
      → Standardise the targets: standardize_targets=True.

    Ignore it where the bias of the last layer was set to the mean of the targets.
    """

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        mean, std = labels.mean, labels.std
        if labels.std == 0 or _beyond(output, labels):
            return None
        scaled = SCALE_LIMITS["least"] <= std <= SCALE_LIMITS["most"]
        scaled &= abs(mean) <= SCALE_LIMITS["mean"] * max(std, 1)
        if scaled or labels.kind != "continuous" or labels.binary or labels.signs:
            return None
        return f"MSE, and targets of {output.name} have mean {mean:.3g}, std {std:.3g}"

    return merge_hits(of_outputs(facts, text, "MSE"))


@rule(
    "E122",
    "advice",
    "Learn their logarithm if none is negative: standardize_targets=True, target_scale='log1p'; or "
    "their normal scores, target_scale='quantiles'.",
    confidence=0.7,
)
def target_skew(facts: Facts) -> Hit | None:
    """No target of a single output is one standard deviation below the mean or lower, but some are
    five or more above it; not where another loss than MSE is written or a function, for counts
    below 30, nor where logarithms or normal scores are learnt already.

    Incomes, prices and word counts span orders of magnitude. The squared error then comes from the
    few largest targets, and the model learns nothing about the others; their logarithms differ
    equally at both ends. So do the scores of a normal distribution that has their quantiles.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
    >>> rows = [[i / 10] for i in range(60)]
    >>> data = Dataset(rows, [[1.5**i] for i in range(60)], standardize_targets=True)
    >>> print(review(text, data).finding("E122"))
    advice E122 line 1, column 22: targets of m go up to 6 deviations above their mean, ...
      → Learn their logarithm if none is negative: standardize_targets=True, target_scale='log1p'; \
or their normal scores, target_scale='quantiles'.

    Ignore it where only the largest targets matter.
    """

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        alone = labels.kind == "continuous" and count(labels.shape) == 1
        above = output.standardized or labels.minimum > 0
        near = 0 < labels.mean - labels.minimum < labels.std
        small_counts = (
            labels.raw_whole and 0 <= labels.raw_minimum <= labels.raw_maximum < MIN_COUNT
        )
        robust = output.loss != "MSE" and (output.written or output.loss not in LOSSES)
        if output.reshaped or small_counts or robust:
            return None
        if not (alone and above and near) or labels.maximum - labels.mean < MIN_TAIL * labels.std:
            return None
        far = (labels.maximum - labels.mean) / labels.std
        return (
            f"targets of {output.name} go up to {far:.0f} deviations above their mean, none below 1"
        )

    return merge_hits(of_outputs(facts, text))


@rule(
    "E123",
    "warning",
    "Use MSE, which learns the mean, where sums and averages count; or learn first whether it is "
    "another value, then which.",
    confidence=0.7,
    explains=["E902", "E910", "E925", "E926"],
)
def median_of_one_value(facts: Facts) -> Hit | None:
    """MAE on the only output, half of whose targets or more are one value, also where they are not:
    of the rows with another target, two of the three nearest rows have that value in 40% or more.

    Absolute errors are least at the median. Where an article is sold on one day in five, that is 0
    on nearly all days, whatever the inputs say of the chance: the sum of the predictions is far
    below what is sold. The mean is learnt by squared errors. It fired on all of 60 generated sets
    whose inputs tell only the chance of another target, and on none of 90 where they tell when
    there is one.

    >>> from random import Random
    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:loss MAE; m:layers matmul(w), add(b);"
    >>> draw = Random(0)
    >>> rows = [[draw.random()] for _ in range(200)]
    >>> sold = [draw.randrange(1, 9) if draw.random() < 0.4 * x else 0 for [x] in rows]
    >>> print(review(text, Dataset(rows, [[float(n)] for n in sold])).finding("E123"))
    warning E123 line 1, column 22: MAE on m learns the median, and 76% of the targets are 0; ...
      → Use MSE, which learns the mean, where sums and averages count; or learn first whether ...

    Ignore it where the most likely value is wanted.
    """
    common = facts.data.suspicions.get("E123")
    if common is None:
        return None
    value, share, lost = (common.evidence[name] for name in ("value", "share", "lost"))
    return merge_hits(
        {
            o.node: f"MAE on {o.name} learns the median, and {share:.0%} of the targets are "
            f"{show_number(value)}; of other rows, {lost:.0%} have neighbours that mostly have it"
            for o in facts.outputs
            if o.loss == "MAE" and not o.reshaped
        },
        evidence=common.evidence,
    )


@rule(
    "E115",
    "advice",
    "If the numbers are classes, give the model one score for each, end it in softmax() and pass "
    "them as integers of shape [rows].",
    confidence=0.6,
)
def class_numbers(facts: Facts) -> Hit | None:
    """Targets of MSE, MAE or HUL on a single output are a few whole numbers, starting at 0 or 1;
    only information where they are distributed like counts.

    Class numbers have no order: class 1 does not lie between class 0 and class 2. Treated as a
    quantity, a row that may be 0 or 2 gets the prediction 1.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(20)], [[float(i % 4)] for i in range(20)])
    >>> print(review(text, data).finding("E115"))
    advice E115 line 1, column 22: the targets of m are whole numbers 0 … 3
      → If the numbers are classes, give the model one score for each, end it in softmax() and ...

    Ignore it where they are counts, grades or ages, whose order means something; it is only
    information where `kinds={"m": "continuous"}` of the dataset says so and rows with neighbouring
    numbers are more similar than others.
    """
    declared: list[bool] = []

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        low, high = round(labels.raw_minimum), round(labels.raw_maximum)
        is_whole = labels.raw_whole and low in (0, 1) and count(labels.shape) == 1
        is_small = high - low >= 2 and high <= MAX_CLASS_NUMBER
        is_measured = _is_measured(output) and labels.kind in ("continuous", "classes")
        if not (is_whole and is_small and is_measured):
            return None
        declared.append(labels.declared)
        low, high = (0, labels.classes - 1) if labels.kind == "classes" else (low, high)
        return f"the targets of {output.name} are whole numbers {low} … {high}"

    messages = of_outputs(facts, text)
    kinds = facts.data.suspicions.get("E115")
    if kinds is not None and not kinds.evidence.get("counts"):
        return merge_hits(messages, tail=f"; {kinds.message}")
    is_count = kinds is not None
    return merge_hits(messages, severity="info" if is_count or all(declared) else None)


@rule(
    "E116",
    "advice",
    "For one-hot rows use softmax() and CCE, for yes and no use sigmoid() and BCE.",
    confidence=0.7,
    explains=BEATEN,
)
def regression_on_labels(facts: Facts) -> Hit | None:
    """MSE, MAE or HUL, written or chosen, on yes/no labels or one-hot rows.

    Unbounded predictions are fitted to 0 and 1: a row that is clearly yes, with a score of 3,
    counts as an error of 2. Cross-entropy of a sigmoid or softmax gives such a row almost no loss.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), sigmoid();"
    >>> data = Dataset([[i / 10] for i in range(20)], [[i % 2] for i in range(20)])
    >>> print(review(text, data).finding("E116"))
    advice E116 line 1, column 22: MSE on 0 and 1 of m, which sigmoid delivers
      → For one-hot rows use softmax() and CCE, for yes and no use sigmoid() and BCE.

    Ignore it where some labels are known to be wrong, to which MAE is less sensitive.
    """

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        if not _is_measured(output) or not labels.binary or labels.std == 0:
            return None
        kind = "one-hot rows" if labels.single else "0 and 1"
        return f"{output.loss} on {kind} of {output.name}, which {output.operator or 'it'} delivers"

    return merge_hits(of_outputs(facts, text))


@rule(
    "E117",
    "warning",
    "Leave the output activation out, or scale the targets to its range.",
    confidence=0.95,
    explains=[*STUCK, "E909"],
)
def target_range(facts: Facts) -> Hit | None:
    """Targets lie outside the range of the last operator, such as relu, sigmoid or tanh.

    After relu no prediction is negative, after tanh none is beyond 1. Targets out of reach remain
    errors forever, and units pressed against the bound lose their gradient. Targets may exceed the
    range by a hundredth of their extent, as noise does. Labels −1 and 1 are for tanh, 0 and 1 for a
    sigmoid.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b), tanh();"
    >>> data = Dataset([[i / 10] for i in range(20)], [[i - 9.5] for i in range(20)])
    >>> print(review(text, data).finding("E117"))
    warning E117 line 1, column 22: m ends in tanh, with results between -1 and 1; its targets ...
      → Leave the output activation out, or scale the targets to its range.

    Ignore it where predictions beyond the bounds are useless anyway.
    """

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        if not _beyond(output, labels):
            return None
        low, high = _bounds(output)
        ends = (
            f"of {show_number(low)} or more"
            if high == math.inf
            else f"between {show_number(low)} and {show_number(high)}"
        )
        ends = f"of {show_number(high)} or less" if low == -math.inf else ends
        what = "standardised targets" if output.standardized else "targets"
        return (
            f"{output.name} ends in {output.operator}, with results {ends}; its {what} go from "
            f"{labels.minimum:.4g} to {labels.maximum:.4g}"
        )

    messages = of_outputs(facts, text)
    outputs = [o for o in facts.outputs if o.node in messages]
    signs = all(o.labels is not None and o.labels.signs for o in outputs)
    return merge_hits(messages, remedy=SIGN_HINT if signs else "")
