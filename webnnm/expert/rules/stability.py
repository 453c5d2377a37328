"""Rules on gradients: do they vanish, explode or die? (spec E301–E312)."""

from __future__ import annotations

from webnnm.expert.facts.chains import outputs_that_flow_on, products_in_a_row
from webnnm.expert.facts.course import usual_rate
from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.learning import is_beaten
from webnnm.expert.facts.profile import HIGH_CAPACITY, Profile
from webnnm.expert.rules.rule import Hit, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, STUCK, UNSTABLE
from webnnm.training.losses import LOSSES
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.totals import DIVERGED_REMEDY

MAX_CHAIN = 5
MAX_RATE_RATIO = 10
MAX_POSITIONS = 100
MIN_BATCH = 8
MAX_DEAD = 0.5
"""A share of a layer's units: what is left is a layer of half the width."""
MAX_INITIAL_LOSS = 30
"""With the initial weights of He and Glorot the relative loss starts between 1 and 2."""
SCOUTING_BUDGET = 20_000_000
"""The limit of seeds times parameters in the seed search (spec E.4)."""


MIN_DEEP_PRODUCTS = 7
"""Fewer products train without shortcuts: VGG-like networks of small pictures have five or six."""


def _is_deep_without_norm(profile: Profile) -> bool:
    return profile.depth > HIGH_CAPACITY["depth"] and not profile.norm_count


@rule("E301", "info", "Set gradient_clipping to decide yourself.", "gradient_clipping='global'")
def global_clipping(facts: Facts) -> Hit | None:
    """Three heavy operators or more, or recurrence, and not E302.

    A single batch of unusual rows can have a gradient a hundred times the usual one and undo many
    steps. Clipping to the usual norm costs nothing otherwise. With one or two products that is
    rare.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[8]), relu(), "
    >>> text += "matmul(v, shape=[8]), relu(), matmul(u), softmax();"
    >>> print(review(text).finding("E301"))
    info E301: 3 heavy operators: gradients may have peaks
      done: gradient_clipping='global'

    Ignore it: it only says what "auto" decided.
    """
    profile = facts.profile
    if _is_deep_without_norm(profile) or not (profile.heavy_ops >= 3 or profile.recurrent):
        return None
    why = "recurrent layers" if profile.recurrent else f"{profile.heavy_ops} heavy operators"
    return Hit(
        message=f"{why}: gradients may have peaks",
        evidence={"heavy_ops": profile.heavy_ops},
        changes={"gradient_clipping": "global"},
    )


@rule("E302", "info", "Set gradient_clipping to decide yourself.", "gradient_clipping='agc'")
def adaptive_clipping(facts: Facts) -> Hit | None:
    """Depth above 15 and no normalisation.

    Without normalisation the gradients of layers differ by orders of magnitude. Adaptive clipping
    (Brock et al. 2021) bounds each unit's gradient by the norm of its own weights.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers unit(repeat=9), matmul(v), "
    >>> text += "softmax(); "
    >>> text += "unit:layers matmul(w, shape=[8]), relu();"
    >>> print(review(text).finding("E302"))
    info E302: depth 21 without normalisation
      done: gradient_clipping='agc'

    Ignore it: it only says what "auto" decided.
    """
    depth = facts.profile.depth
    if not _is_deep_without_norm(facts.profile):
        return None
    return Hit(
        message=f"depth {depth} without normalisation",
        evidence={"depth": depth},
        changes={"gradient_clipping": "agc"},
    )


@rule(
    "E303",
    "warning",
    "Use a few layers with relu, or insert residual connections and normalisation.",
    explains=[*STUCK, "E909"],
)
def saturating_chain(facts: Facts) -> Hit | None:
    """Five or more saturating layers (sigmoid, tanh, hardSigmoid, softsign, erf) follow each other
    without residual or normalisation.

    The slope of sigmoid is at most 0.25, that of tanh at most 1 and small for large values: five
    sigmoids in a row leave a thousandth of the gradient (Glorot & Bengio 2010). Where two values
    are added, as in residual connections and highways, the gradient has a shorter way back. Merely
    replacing sigmoid by relu in thirty layers is as bad; such deep networks only learn with
    residual connections and normalisation.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers unit(repeat=6), matmul(v), "
    >>> text += "softmax(); "
    >>> text += "unit:layers matmul(w, shape=[8]), tanh();"
    >>> print(review(text).finding("E303"))
    warning E303 line 1, column 121: 6 saturating layers in a row: tanh1, tanh2, tanh3, ...
      → Use a few layers with relu, or insert residual connections and normalisation.

    Ignore it where parameters were pretrained layer by layer.
    """
    chain = facts.profile.chain
    if len(chain) < MAX_CHAIN:
        return None
    message = f"{len(chain)} saturating layers in a row: {join_names(chain)}; gradients vanish"
    return Hit(message=message, nodes=chain, evidence={"chain": len(chain)})


@rule(
    "E304",
    "warning",
    "Use fewer layers, or add residual connections with normalisation.",
    explains=STUCK,
)
def depth_without_norm(facts: Facts) -> Hit | None:
    """Depth above 15, of seven products or more, without residuals and normalisation.

    Depth is the number of layers on the longest path from an input to an output, activations,
    biases, poolings and dropouts included; products are those with parameters. Plain stacks of that
    depth train worse than shallow ones (He et al. 2015); shortcuts, by residual or by an explicit
    add, or normalisation keep them trainable.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers unit(repeat=9), matmul(v), "
    >>> text += "softmax(); "
    >>> text += "unit:layers matmul(w, shape=[8]), relu();"
    >>> print(review(text).finding("E304"))
    warning E304: depth 21 without residuals and normalisation
      → Use fewer layers, or add residual connections with normalisation.

    Ignore it where a long training does not matter.
    """
    depth = facts.profile.depth
    has_few_products = facts.profile.heavy_ops < MIN_DEEP_PRODUCTS
    if not _is_deep_without_norm(facts.profile) or facts.profile.residual_count or has_few_products:
        return None
    message = f"depth {depth} without residuals and normalisation"
    return Hit(message=message, evidence={"depth": depth})


def _converging(facts: Facts) -> float:
    """Return the rate up to which gradient descent is sure to converge, 0 if none is known."""
    optimizer, profile = OPTIMIZERS[facts.settings.optimizer], facts.profile
    if not optimizer.descent:
        return 0.0
    has_momentum = "momentum_factor" in optimizer.defaults
    momentum = facts.settings.momentum_factor if has_momentum else 0.0
    convex = {output.activation for output in facts.outputs} <= {"softmax", "sigmoid"}
    if profile.heavy_ops != 1 or not convex or momentum is None:
        return 0.0
    return 4 * (1 - momentum) / (profile.input_features + 1)


@rule(
    "E305",
    "warning",
    "Lower lr to near the optimizer's default.",
    lowers=["lr"],
    explains=[*STUCK, *UNSTABLE],
)
def high_rate(facts: Facts) -> Hit | None:
    """The learning rate is more than ten times the optimizer's default; not for sgd and sgdm with a
    single product before softmax or sigmoid and a rate of at most 4 (1 − momentum) / (inputs + 1).

    The default suits small models with standardised inputs. Ten times that usually makes the loss
    oscillate or overflow, with lion always, as its steps have a fixed length. The curvature of
    the cross-entropy of one layer on standardised inputs is at most half their number (Böhning
    1992), for which gradient descent converges at that rate.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="adam", lr=5.0).finding("E305"))
    warning E305: lr 5 is 500 times the default 0.01 of adam
      → Lower lr to near the optimizer's default.

    Ignore it with sgd or sgdm where gradients are known to be small.
    """
    rate, name = facts.settings.lr, facts.settings.optimizer
    default = usual_rate(facts.settings)
    if rate is None or rate <= MAX_RATE_RATIO * default:
        return None
    if rate <= _converging(facts):
        return None
    return Hit(
        message=f"lr {rate:g} is {rate / default:.0f} times the default {default:g} of {name}",
        evidence={"lr": rate, "default": default},
        fix={"lr": default},
    )


@rule("E306", "warning", "Set gradient_clipping='global'.", explains=UNSTABLE)
def recurrence_without_clipping(facts: Facts) -> Hit | None:
    """Recurrence over more than 100 positions, with clipping off.

    At each position the gradient is multiplied by the same weights: over a hundred positions a
    factor of 1.1 becomes 14,000 (Pascanu et al. 2013).

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1] sequence=true; m:output shape=[3]; m:layers gru(w, r, "
    >>> text += "hiddenSize=4), "
    >>> text += "matmul(v), softmax();"
    >>> data = Dataset([[[0.1]] * 120] * 9, [0, 1, 2] * 3, length="max")
    >>> print(review(text, data, gradient_clipping="off").finding("E306"))
    warning E306: recurrent layers over 120 positions, gradients not clipped
      → Set gradient_clipping='global'.

    Ignore it where the loss stays finite and falls.
    """
    length = facts.data.length
    off = facts.settings.gradient_clipping == "off"
    if not (facts.profile.recurrent and length > MAX_POSITIONS and off):
        return None
    message = f"recurrent layers over {length} positions, gradients not clipped"
    return Hit(message=message, evidence={"length": length}, fix={"gradient_clipping": "global"})


@rule(
    "E307",
    "warning",
    "Use layerNorm, or batches of at least 8 rows.",
    explains=[*STUCK, "E907", "E913"],
)
def noisy_statistics(facts: Facts) -> Hit | None:
    """Batch normalisation with fewer than 8 rows in a batch.

    The mean and variance of few rows say little about the data, and the running statistics used at
    inference differ from those of training (Wu & He 2018: below 8 rows errors rise clearly).

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[9]), batchNorm(), "
    >>> text += "relu(), matmul(v), softmax();"
    >>> print(review(text, batch_size=2).finding("E307"))
    warning E307 line 1, column 71: batchNormalization1 with statistics of 2 rows
      → Use layerNorm, or batches of at least 8 rows.

    Ignore it for pictures, where every pixel counts as a row.
    """
    layers = [v.label for v in facts.network.layers if v.operator.name == "batchNormalization"]
    size = facts.batch_size
    if not layers or size is None or size >= MIN_BATCH:
        return None
    message = f"{join_names(layers)} with statistics of {size} rows"
    return Hit(message=message, nodes=layers, evidence={"batch_size": size})


@rule("E308", "warning", "Move the output activation to the end of the model.", explains=STUCK)
def early_output_activation(facts: Facts) -> Hit | None:
    """A softmax or sigmoid output activation feeds a heavy operator, other than through attend.

    Softmax in the middle of a model makes the units of a layer sum to 1: with 32 units each is
    about 0.03, and the gradient is as small. It is appropriate for weights of other values, as in
    attention.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[9]), softmax(), "
    >>> text += "matmul(v), softmax();"
    >>> print(review(text).finding("E308"))
    warning E308 line 1, column 71: softmax1 feeds matmul2
      → Move the output activation to the end of the model.

    Ignore it where the layer is meant to choose one of a few cases.
    """
    layers = outputs_that_flow_on(facts.network)
    return merge_hits({name: f"{name} feeds {user}" for name, user in layers.items()})


@rule(
    "E309",
    "advice",
    "Insert an activation between them.",
    explains=[*BEATEN, "E902", "E904", "E922"],
)
def linear_pair(facts: Facts) -> Hit | None:
    """Two heavy operators without a non-linearity between them; except for projections, embeddings,
    tied weights, and where the result of the first operator is also used elsewhere.

    The product of two matrices is a matrix: without an activation between them the second product
    adds parameters and nothing else. A first product that is narrower than both its operand and the
    second product is excepted: it is a bottleneck, as in linear autoencoders, and saves parameters.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[9]), "
    >>> text += "matmul(v), softmax();"
    >>> print(review(text).finding("E309"))
    advice E309 line 1, column 71: matmul2 follows matmul1 linearly: one product could do the same
      → Insert an activation between them.

    Ignore it where the two are trained at different rates.
    """
    products = products_in_a_row(facts.network)
    tail = ": one product could do the same"
    return merge_hits({b: f"{b} follows {a} linearly" for b, a in products.items()}, tail=tail)


@rule(
    "E310",
    "warning",
    "Initialise the layer with biases of 0 and the default init, or use leakyRelu.",
    refuted=True,
    explains=["E901", "E902", "E904", "E908", "E910", "E911", "E922"],
)
def dead_units_at_start(facts: Facts) -> Hit | None:
    """More than half of the units of a relu, gelu or hardSwish layer are 0 on all rows with the
    chosen initial parameters; only information after a training in which a simple model is far
    better, which has more causes (E925, E926).

    A relu unit that is 0 on all rows has no gradient and cannot recover: half of the layer is lost.
    The default init with biases near 0 leaves one of 2ⁿ units dead on n rows.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w, shape=[8]), "
    >>> text += "add(b, init=constant(-9)), relu(), matmul(v);"
    >>> data = Dataset([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=1)
    >>> print(*[found for found in history.findings if found.id == "E310"])
    info E310 line 1, column 98: 100% of the units of relu1 are 0 for every row before the ...
      probably because of E315

    Ignore it where the layer is wide enough without them.
    """
    shares = {layer: share for layer, share in facts.scouting.dead.items() if share > MAX_DEAD}
    return merge_hits(
        {layer: f"{share:.0%} of the units of {layer}" for layer, share in shares.items()},
        tail=" are 0 for every row before the training, and learn nothing while they are",
        evidence={"dead": shares},
        severity="info" if facts.history is not None and is_beaten(facts.history) else None,
    )


@rule(
    "E311",
    "error",
    DIVERGED_REMEDY,
    "stops",
    lowers=["lr"],
)
def non_finite_loss(facts: Facts) -> Hit | None:
    """The loss is not finite (NNM708).

    NaN and infinity come from too high a rate, from unscaled data, or from log, exp and division
    outside their domain; the message names the first layer that has one.

    >>> from webnnm import DataError, Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w, init=constant(1)), log();"
    >>> data = Dataset([[1.0], [2.0]], [-3.0, -9.0], split=(1, 0, 0))
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> try:
    ...     model.train(epochs=9, lr=1.0, weight_decay=0)
    ... except DataError as error:
    ...     print(error)
    ...
    NNM708: loss or gradient is not finite in epoch 2, batch 1, at learning rate 0.962: the ...
    hint: lower lr, standardise the data, or clamp what goes into log, exp and pow

    Never ignore it: the training cannot continue from there.
    """
    if not facts.diverged:
        return None
    return Hit(message=f"the loss is not finite at {facts.diverged}", action="training stopped")


@rule("E312", "info", "Set seeds to decide yourself.", "lowers seeds")
def costly_scouting(facts: Facts) -> Hit | None:
    """Seeds times parameters of the seed search exceed 2·10⁷.

    The seed search trains each seed for some steps. Twenty million parameters take about as long as
    training a small model.

    >>> from webnnm import review
    >>> text = "m:input shape=[600]; m:output shape=[3]; m:layers matmul(w, shape=[600]), relu(), "
    >>> text += "matmul(v), softmax();"
    >>> print(review(text, seeds=100).finding("E312"))
    info E312: trying 100 seeds of 361,800 parameters is costly; 55 are affordable
      → Set seeds to decide yourself.

    Ignore it: it only says what was decided.
    """
    seeds, size = facts.settings.seeds, facts.profile.param_count
    started = facts.trained_before or facts.settings.freeze
    if seeds * size <= SCOUTING_BUDGET or (started and "seeds" not in facts.settings.explicit):
        return None
    fewer = SCOUTING_BUDGET // size
    return Hit(
        message=f"trying {seeds} seeds of {size:,} parameters is costly; {fewer} are affordable",
        evidence={"seeds": seeds, "parameters": size, "affordable": fewer},
        changes={"seeds": fewer},
    )


@rule(
    "E329",
    "warning",
    "Leave init out, normalise between the layers, or standardise inputs and targets.",
    explains=[*STUCK, *UNSTABLE],
)
def high_initial_loss(facts: Facts) -> Hit | None:
    """The initial loss is more than thirty times the baseline, the loss of a constant prediction;
    not for a loss of your own, whose baseline is unknown.

    With scores of the size that the default initialisation gives, the loss is a few times the
    baseline; in a deep residual network, whose branches add up, up to twenty times. Beyond that a
    model is certain of random answers, and the first steps are spent on unlearning them.

    >>> from webnnm.expert.facts.facts import Facts, ScoutingFacts
    >>> from webnnm.expert.review import review
    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> known = Facts(network=elaborate(parse(text)), scouting=ScoutingFacts(loss=400.0))
    >>> print(review(known).finding("E329"))
    warning E329: before the first step the loss is 400 times that of a constant prediction: ...
      → Leave init out, normalise between the layers, or standardise inputs and targets.

    Ignore it where the parameters were loaded and only the units of the targets differ.
    """
    loss = facts.scouting.loss
    if loss <= MAX_INITIAL_LOSS or any(o.loss and o.loss not in LOSSES for o in facts.outputs):
        return None
    return Hit(
        message=f"before the first step the loss is {loss:.3g} times that of a constant "
        "prediction: initial weights, inputs or targets are too large",
        evidence={"loss": loss},
    )
