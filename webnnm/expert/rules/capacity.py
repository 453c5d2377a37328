"""Rules on capacity: is the model too large for its data? (spec E401–E407, E418, E419)."""

from __future__ import annotations

from webnnm.core.shapes import count
from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.structure import numbers
from webnnm.expert.rules.rule import Hit, merge_hits, rule
from webnnm.expert.rules.symptoms import OVERFITTING, STUCK
from webnnm.graph.elaboration.vertices import InputVertex, LayerVertex
from webnnm.training.automatic import LAMBDA
from webnnm.training.optimizers import OPTIMIZERS

MIN_DROPOUT_DENSITY = 0.2
MAX_FEATURES = 5000
MAX_DROPOUT = 0.7
MIN_UNITS = 3
"""Fewer units, on average, say too little about a row."""
PARAMETERS_PER_LABEL = 100
"""More than this many parameters per training row are too many. 165,000 for 100 rows of two
overlapping clusters reach 0.80 (median of three seeds), 200 parameters 0.84, no hidden layer
0.83."""
STRONG_PENALTY = {"regularization": "L2", "lambda2": 0.01}
"""What helps if there are too many parameters: the 165,000 then reach 0.82; λ₂ = 1e-4 or a weight
decay of 0.1 give no more than none."""
MAX_FROZEN = 0.95
COUNTS_PENALTY = 3e-5
"""λ₂ for weights of counts, whose rows have length 3. On six of seven sets of 1900 to 9000 texts,
the loss of held-out rows is lower than with weight decay; 1e-4 is too much for names."""


def _describe_capacity(facts: Facts) -> str:
    """Return the numbers that say why a network should be regularised, "" if it should not."""
    profile = facts.profile
    if not profile.high_capacity or profile.dropout_density >= MIN_DROPOUT_DENSITY:
        return ""
    rows = profile.training_samples
    samples = "" if rows is None else f", {rows:,} training rows"
    return (
        f"high capacity ({profile.param_count:,} parameters{samples}, {profile.heavy_ops} heavy "
        f"operators, depth {profile.depth}, width {profile.width}), "
        f"{profile.dropout_density:.2f} dropouts per heavy operator"
    )


def _is_overparameterised(facts: Facts) -> bool:
    """Return whether there are far more parameters than labels, or an unknown number of labels."""
    rows = facts.profile.training_samples
    labels = any(output.source.features.sequence for output in facts.network.outputs)
    positions = max(1, facts.data.length) if labels else 1
    return rows is None or facts.profile.param_count > PARAMETERS_PER_LABEL * rows * positions


def _capacity(facts: Facts) -> dict[str, float]:
    profile = facts.profile
    return {"parameters": profile.param_count, "dropout_density": profile.dropout_density}


def _weighs_counts(facts: Facts) -> bool:
    """Return whether a linear classifier of counts is trained with automatic decoupled decay."""
    settings, network = facts.settings, facts.network
    return (
        facts.profile.is_linear
        and any(layer.operator.name == "bincount" for layer in network.order)
        and all(output.activation != "linear" for output in facts.outputs)
        and OPTIMIZERS[settings.optimizer].decoupled
        and settings.regularization == "auto"
        and "weight_decay" not in settings.explicit
    )


@rule("E401", "info", "Set regularization to decide yourself.", "L2 with λ2 = 1e-4")
def high_capacity(facts: Facts) -> Hit | None:
    """High capacity, and fewer than 0.2 dropouts per heavy operator.

    Capacity is high with more than ten parameters per training row, eight heavy operators, a depth
    above 15 or a layer of 512 units: such a network can memorise its rows. Dropout at every fifth
    product counts as a remedy already in place. L2 with 1e-4 costs little where it is not needed.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[600]), "
    >>> text += "relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E401"))
    info E401: high capacity (4,200 parameters, 2 heavy operators, depth 5, width 600), 0.00 ...
      done: left to weight decay 0.25 of adamw

    Ignore it: it only says what "auto" decided.
    """
    message = _describe_capacity(facts)
    if not message or _weighs_counts(facts):
        return None
    settings = facts.settings
    optimizer, decay = OPTIMIZERS[settings.optimizer], settings.weight_decay or 0.0
    strength = settings.lambda2 or LAMBDA["L2"]
    if optimizer.decoupled and decay >= strength:
        automatic = settings.regularization == "auto"
        return Hit(
            message=message,
            evidence=_capacity(facts),
            changes={"regularization": "off"},
            action=f"left to weight decay {decay:g} of {optimizer.name}" if automatic else "",
        )
    return Hit(message=message, evidence=_capacity(facts), changes={"regularization": "L2"})


@rule("E402", "info", "Set regularization to decide yourself.", "L1 with λ1 = 1e-5")
def many_features(facts: Facts) -> Hit | None:
    """An input has more than 5000 features.

    Of thousands of features, such as word counts, most say nothing about the target. L1 makes their
    weights exactly 0.

    >>> from webnnm import review
    >>> text = "m:input shape=[6000]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E402"))
    info E402: 6,000 input features, of which few may matter
      done: regularization='L1'

    Ignore it where all features matter equally, as pixels do.
    """
    number = facts.profile.input_features
    if number <= MAX_FEATURES:
        return None
    return Hit(
        message=f"{number:,} input features, of which few may matter",
        evidence={"input_features": number},
        changes={"regularization": "L1"},
    )


@rule(
    "E419",
    "info",
    "Set weight_decay or regularization to decide yourself.",
    "L2 with λ2 = 3e-5 in place of the decay of the optimizer",
)
def counts_of_tokens(facts: Facts) -> Hit | None:
    """A linear model weighs counts, and its optimizer decouples weight decay.

    Adaptive steps are as long for a rare token as for a frequent one, and decoupled decay takes
    the same share of both weights (Loshchilov & Hutter 2019, "Decoupled weight decay
    regularization", section 2): a token of two rows soon decides these rows, and the loss of other
    rows rises after a few epochs. With L2, training ends at the weights of logistic regression, at
    which a token of few rows weighs little.

    >>> from webnnm import review
    >>> text = "m:input int32 shape=[] sequence=true; m:output shape=[3]; "
    >>> text += "m:layers bincount(size=900), matmul(w), softmax();"
    >>> print(review(text).finding("E419"))
    info E419: 900 counts, of which most are 0 in a row, are weighed by a linear model
      done: regularization='L2', lambda2=3e-05, weight_decay=0.0

    Ignore it: it only says what "auto" decided.
    """
    if not _weighs_counts(facts):
        return None
    (size, *_) = (
        numbers(layer) for layer in facts.network.order if layer.operator.name == "bincount"
    )
    return Hit(
        message=f"{size:,} counts, of which most are 0 in a row, are weighed by a linear model",
        evidence={"counts": size},
        changes={"regularization": "L2", "lambda2": COUNTS_PENALTY, "weight_decay": 0.0},
    )


@rule(
    "E403",
    "warning",
    "Set regularization='L2' and lambda2=0.01, or use a smaller model.",
    confidence=0.6,
    raises=["regularisation"],
    explains=OVERFITTING,
)
def penalty_off(facts: Facts) -> Hit | None:
    """E401 holds, regularization was turned off explicitly, and there are more than a hundred
    parameters per training row, or the number of rows is unknown.

    Such a model can memorise the labels of all its rows, and nothing keeps it from doing so.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[600]), "
    >>> text += "relu(), matmul(v), softmax();"
    >>> print(review(text, regularization="off").finding("E403"))
    warning E403: high capacity (4,200 parameters, 2 heavy operators, depth 5, width 600), ...
      → Set regularization='L2' and lambda2=0.01, or use a smaller model.

    Ignore it where validation rows and restore_best end the training in time.
    """
    message = _describe_capacity(facts)
    settings = facts.settings
    turned_off = settings.regularization == "off" and "regularization" in settings.explicit
    if not message or not _is_overparameterised(facts) or not turned_off:
        return None
    message += "; without regularization it may memorise its rows"
    return Hit(message=message, evidence=_capacity(facts), fix=STRONG_PENALTY)


@rule("E404", "warning", "Drop 10 to 50%.", lowers=["regularisation"], explains=STUCK)
def strong_dropout(facts: Facts) -> Hit | None:
    """A dropout layer drops more than 70%, or leaves fewer than three units of a hidden layer.

    Half of a hidden layer is the usual maximum (Srivastava et al. 2014). If only 30% of the units
    are left, they differ so much from row to row that the layers after them learn noise. Of four
    units two are left to carry everything that is known about a row.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[9]), relu(), "
    >>> text += "dropout(0.8), matmul(v), softmax();"
    >>> print(review(text).finding("E404"))
    warning E404 line 1, column 79: dropout1 drops 80%
      → Drop 10 to 50%.

    Ignore it in layers of thousands of units.
    """
    messages: dict[str, str] = {}
    shares: dict[str, float] = {}
    few = False
    for layer in _dropouts(facts):
        p, units = layer.options["p"], count(layer.features[0].sizes())
        if p > MAX_DROPOUT:
            messages[layer.label] = f"{layer.label} drops {p:.0%}"
        elif units * (1 - p) < MIN_UNITS and not isinstance(layer.operands[0].vertex, InputVertex):
            messages[layer.label] = f"{layer.label} leaves {units * (1 - p):.2g} of {units} units"
            few = True
        else:
            continue
        shares[layer.label] = p
    remedy = "Leave it out, or give the layer more units." if few else ""
    return merge_hits(messages, evidence=shares, remedy=remedy)


@rule(
    "E405",
    "advice",
    "Use a smaller model or more data.",
    confidence=0.5,
    lowers=["capacity"],
    explains=OVERFITTING,
)
def few_rows(facts: Facts) -> Hit | None:
    """More than a hundred parameters per training row, or position of its sequences; not of a
    linear model.

    So many parameters fit any labels. So do ten per row, but with the usual precautions that seldom
    costs accuracy, and all models of small tables have them. Of a linear model weight decay keeps
    those near 0 that the rows do not determine (Hoerl & Kennard 1970), and models of texts have a
    weight for every word (Joachims 1998).

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w, shape=[900]), relu(), "
    >>> text += "matmul(v), add(b);"
    >>> data = Dataset([[i / 10] for i in range(20)], [[0.1 * i] for i in range(20)])
    >>> print(review(text, data).finding("E405"))
    advice E405: 1,801 parameters for 14 training rows
      → Use a smaller model or more data.

    Ignore it where the test score is as good as the training score.
    """
    rows, size = facts.profile.training_samples, facts.profile.param_count
    if rows is None or facts.profile.is_linear or not _is_overparameterised(facts):
        return None
    return Hit(
        message=f"{size:,} parameters for {rows:,} training rows",
        evidence={"parameters": size, "rows": rows},
    )


@rule(
    "E406",
    "warning",
    "Lower freeze, or leave trainable=false out.",
    lowers=["freeze"],
    explains=STUCK,
)
def no_trainable_parameters(facts: Facts) -> Hit | None:
    """All parameters are frozen, or more than 95% of them.

    Parameters are frozen by trainable=false, lrm=0 or freeze. A head with few parameters on random
    layers learns little. Freezing is meant for a pretrained trunk: the rule then fires only if
    nothing at all learns. A text in which nothing is trainable is a fixed function, unless there
    are data to train it with.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> print(review(text, freeze=1.0).finding("E406"))
    warning E406: 0 of 15 parameters learn
      → Lower freeze, or leave trainable=false out.

    Ignore it where trained parameters are loaded after the review.
    """
    profile = facts.profile
    learning = profile.trainable_count if facts.learning is None else facts.learning
    if not profile.param_count or learning >= (1 - MAX_FROZEN) * profile.param_count:
        return None
    if learning and facts.trained_before:  # A new head on a pretrained trunk.
        return None
    if not profile.trainable_count and not facts.data.sizes:
        return None
    return Hit(
        message=f"{learning:,} of {profile.param_count:,} parameters learn",
        evidence={"learning": learning, "parameters": profile.param_count},
    )


@rule("E407", "advice", "Swap them.")
def dropout_before_statistics(facts: Facts) -> Hit | None:
    """Dropout directly before batch normalisation.

    Dropout changes the variance of the values from which the statistics are computed, and is off at
    inference: the running statistics then describe values that never occur again (Li et al. 2019).

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[9]), relu(), "
    >>> text += "dropout(0.2), batchNormalization(), matmul(v), softmax();"
    >>> print(review(text).finding("E407"))
    advice E407 line 1, column 79: statistics of dropped values: dropout1 before batchNormalization1
      → Swap them.

    Ignore it where little is dropped.
    """
    dropouts = {id(v): v.label for v in _dropouts(facts)}
    messages = {
        dropouts[id(v.operands[0].vertex)]: v.label
        for v in facts.network.layers
        if v.operator.name == "batchNormalization" and id(v.operands[0].vertex) in dropouts
    }
    pairs = {a: f"{a} before {b}" for a, b in messages.items()}
    return merge_hits(pairs, "statistics of dropped values: ")


def _dropouts(facts: Facts) -> list[LayerVertex]:
    return [layer for layer in facts.network.layers if layer.operator.name == "dropout"]


@rule(
    "E418",
    "advice",
    "Make the narrowest layer smaller than the input, or drop some of the input with dropout(0.2).",
    confidence=0.6,
)
def no_bottleneck(facts: Facts) -> Hit | None:
    """The targets are the inputs, and no layer between them is narrower than the input; not with
    dropout or L1.

    A layer that passes on as many numbers as it gets can copy them, and learns nothing about how
    they are related: the loss falls to nearly 0, and the code is worth no more than the row. A
    narrow layer, dropped values or few active units make copying impossible (Vincent et al. 2008).

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[4]; m:output shape=[4]; "
    >>> text += "m:layers matmul(w, shape=[6]), relu(), matmul(v);"
    >>> rows = [[i * k * 0.618 % 1 for k in (1, 2, 3, 5)] for i in range(60)]
    >>> print(review(text, Dataset(rows, rows)).finding("E418"))
    advice E418 line 1, column 3: m has 4 numbers, and the narrowest layer on the way to the ...
      → Make the narrowest layer smaller than the input, or drop some of the input with ...

    Ignore it where the code is only meant to be a different form of the row.
    """
    inputs, outputs = facts.network.inputs, facts.network.outputs
    kept_small = facts.profile.dropout_count or facts.settings.regularization == "L1"
    if "E418" not in facts.data.suspicions or kept_small or len(inputs) + len(outputs) > 2:
        return None
    before = [layer for layer in facts.network.order if layer.has("product")][:-1]
    size, narrowest = numbers(inputs[0]), min(map(numbers, before), default=0)
    if narrowest < size or inputs[0].features[0].sequence:
        return None
    return Hit(
        message=f"{inputs[0].block} has {size} numbers, and the narrowest layer on the way to the "
        f"same {size} has {narrowest}",
        nodes=[f"{inputs[0].block}:input"],
        evidence={"size": size, "narrowest": narrowest},
    )
