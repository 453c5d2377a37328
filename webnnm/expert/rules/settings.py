"""Rules on settings that the user gave: values far from the usual ones."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.core.dtypes import FLOAT_INFO
from webnnm.expert.facts.course import usual_rate
from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, join_names, rule
from webnnm.expert.rules.schedule import MIN_UPDATES
from webnnm.expert.rules.symptoms import STUCK, UNSTABLE
from webnnm.training.automatic import DECAY_EPOCHS, MAX_RATE
from webnnm.training.automatic import MAX_DECAY as MAX_DEFAULT_DECAY
from webnnm.training.losses import LOSSES
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.schedules import STEPPED_SCHEDULES
from webnnm.training.settings import Settings

MIN_RATE_RATIO = 0.01
"""At a hundredth of the optimizer's default a training takes about a hundred times the steps."""
MIN_FINE_TUNING_RATIO = 1e-4
"""Pretrained parameters are fine-tuned at rates down to a ten-thousandth of the default."""
MIN_AGC_LAMBDA = 1e-4
"""agc_lambda bounds a gradient to this share of its weights; 0.01 is usual (Brock et al. 2021)."""
MAX_DECAY, MIN_COUPLED_DECAY = 1.0, 1e-4
"""Weight decay of 0.01 … 0.1 is usual (Loshchilov & Hutter 2019), 0.3 … 1 with lion at a rate ten
times lower (Chen et al. 2023)."""
MAX_PENALTY = 0.1
"""λ of 1e-5 … 1e-2 is usual. From 0.1 on, ten weights of 1 cost as much as random guessing in a
classification loss."""
MAX_MOMENTUM = 0.995
"""Momentum μ averages about 1/(1 − μ) steps: 10 for 0.9, 100 for 0.99."""
MAX_EPSILON = 1e-3
"""ε of adam is 1e-8, up to 1e-3 in some papers; mean gradients are 0.001 … 1."""
MIN_BETA2 = 0.5
MAX_SMOOTHING = 0.4
"""Labels are smoothed by 0.1 (Szegedy et al. 2016), up to 0.3 in noisy data."""
MAX_WARM_UP = 0.5
MIN_STEP_RATE = 0.01
"""A rate that fell to a hundredth within the first third of a training has effectively ended it."""
USUAL_BATCH = 20
"""Rows per batch, unless the dataset says otherwise."""
MIN_PATIENCE = 3
"""A validation loss often rises by chance from one epoch to the next, but rarely three times in a
row."""
MAX_WEIGHT_RATIO = 1000.0
DEFAULTS = Settings()


def updates(facts: Facts, epochs: float | None = None) -> int | None:
    """Return how often parameters are updated in a training, None if that is not known."""
    rows, size = facts.data.training, facts.batch_size
    if not rows or not size:
        return None
    batches = -(-rows // size)
    return -(-batches // facts.settings.accumulate) * int(epochs or facts.settings.epochs or 0)


@rule(
    "E209",
    "warning",
    "Leave scale out: 1000 suits most models.",
    lowers=["scale"],
    explains=["E917"],
)
def overflowing_scale(facts: Facts) -> Hit | None:
    """The gradient scale is larger than the largest float16, 65,504.

    Gradients are multiplied by the scale before they are computed in float16. A scale beyond its
    range makes them infinite, and every step with infinite gradients is skipped until the scale has
    been halved often enough.

    >>> from webnnm import review
    >>> text = "m:input float16 shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, scale=1e30).finding("E209"))
    warning E209: scale 1e+30, float16 ends at 65,504
      → Leave scale out: 1000 suits most models.

    Never ignore it: with scale left out, the largest one that works is found automatically.
    """
    scale = facts.settings.scale
    off = facts.settings.gradient_scaling == "off" or not facts.profile.heavy_float16
    if off or scale <= FLOAT_INFO["float16"].max:
        return None
    return Hit(message=f"scale {scale:g}, float16 ends at 65,504", fix={"scale": 1000.0})


@rule("E324", "warning", "Raise lr to near the optimizer's default.", raises=["lr"], explains=STUCK)
def low_rate(facts: Facts) -> Hit | None:
    """The learning rate is less than a hundredth of the optimizer's default; for trained or loaded
    parameters, less than a ten-thousandth.

    With the defaults, small models were measured to learn in about 300 steps. At a hundredth of the
    rate, as many steps cover a hundredth of the distance.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="adam", lr=1e-7).finding("E324"))
    warning E324: lr 1e-07 is 1/100,000 of the default 0.01 of adam
      → Raise lr to near the optimizer's default.

    Ignore it in trainings with very many steps.
    """
    rate, name = facts.settings.lr, facts.settings.optimizer
    default = usual_rate(facts.settings)
    least = (MIN_FINE_TUNING_RATIO if facts.trained_before else MIN_RATE_RATIO) * default
    if rate is None or rate >= least:
        return None
    return Hit(
        message=f"lr {rate:g} is 1/{default / rate:,.0f} of the default {default:g} of {name}",
        evidence={"lr": rate, "default": default},
        fix={"lr": default},
    )


@rule(
    "E325",
    "warning",
    "Raise agc_lambda to about 0.01.",
    raises=["agc_lambda"],
    explains=[*STUCK, "E919"],
)
def tiny_agc_lambda(facts: Facts) -> Hit | None:
    """Adaptive clipping with agc_lambda below 0.0001.

    Gradients of a unit are clipped to this share of the norm of its weights. 0.01 is usual (Brock
    et al. 2021); a ten-thousandth leaves at most a hundredth of the usual step.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, gradient_clipping="agc", agc_lambda=1e-6).finding("E325"))
    warning E325: agc_lambda 1e-06 clips gradients to 1e-06 of their weights
      → Raise agc_lambda to about 0.01.

    Ignore it with optimizers that do not depend on the size of gradients, such as adam.
    """
    share = facts.settings.agc_lambda
    if facts.settings.gradient_clipping != "agc" or share >= MIN_AGC_LAMBDA:
        return None
    message = f"agc_lambda {share:g} clips gradients to {share:g} of their weights"
    return Hit(message=message, fix={"agc_lambda": 0.01})


@rule(
    "E326",
    "warning",
    "Lower momentum_factor to 0.9.",
    lowers=["momentum_factor"],
    explains=UNSTABLE,
)
def large_momentum(facts: Facts) -> Hit | None:
    """Momentum above 0.995.

    A step is an average over about 1/(1 − μ) steps: 10 for 0.9, 1,000 for 0.999, and its length
    grows by the same factor. The parameters overshoot the minimum and need thousands of steps to
    turn around.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="sgdm", momentum_factor=0.999).finding("E326"))
    warning E326: momentum 0.999 averages 1,000 steps
      → Lower momentum_factor to 0.9.

    Ignore it in trainings of tens of thousands of steps at a correspondingly lower rate.
    """
    factor = facts.settings.momentum_factor or 0.0
    if factor <= MAX_MOMENTUM or "momentum_factor" in _unread(facts.settings):
        return None
    message = f"momentum {factor:g} averages {1 / (1 - factor):,.0f} steps"
    return Hit(message=message, fix={"momentum_factor": 0.9})


@rule("E327", "warning", "Lower epsilon to 1e-8.", lowers=["epsilon"], explains=[*STUCK, *UNSTABLE])
def large_epsilon(facts: Facts) -> Hit | None:
    """ε of adam, adamw or adafactor is above 0.001.

    Steps are m/(√v + ε), with m and √v of the size of a gradient, usually 0.001 … 1. With an ε of
    their size or above, small gradients give small steps, which adam is meant to prevent.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="adam", epsilon=1.0).finding("E327"))
    warning E327: epsilon 1 is as large as gradients are
      → Lower epsilon to 1e-8.

    Ignore it where lr was raised accordingly.
    """
    epsilon, optimizer = facts.settings.epsilon or 0.0, OPTIMIZERS[facts.settings.optimizer]
    if epsilon <= MAX_EPSILON or "epsilon" in _unread(facts.settings):
        return None
    message = f"epsilon {epsilon:g} is as large as gradients are"
    return Hit(message=message, fix={"epsilon": optimizer.defaults["epsilon"]})


@rule("E328", "warning", "Raise beta2 to 0.999.", raises=["beta2"], explains=[*STUCK, *UNSTABLE])
def small_beta2(facts: Facts) -> Hit | None:
    """β₂ is below 0.5, in an optimizer that divides by the mean square of gradients.

    The mean of the last one or two squares is nearly the last square: each step has the full
    length, lr, whatever the gradient, and the parameters never come to rest.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="adam", beta2=0.0).finding("E328"))
    warning E328: beta2 0: steps of full length, whatever the gradient
      → Raise beta2 to 0.999.

    Ignore it where steps of a fixed length are intended; lion is made for that.
    """
    beta, optimizer = facts.settings.beta2, OPTIMIZERS[facts.settings.optimizer]
    if beta is None or beta >= MIN_BETA2 or not optimizer.adaptive:
        return None
    message = f"beta2 {beta:g}: steps of full length, whatever the gradient"
    return Hit(message=message, fix={"beta2": 0.999})


@rule(
    "E414",
    "warning",
    "Lower weight_decay to about 0.01.",
    lowers=["regularisation"],
    explains=[*STUCK, "E920"],
)
def strong_decay(facts: Facts) -> Hit | None:
    """A given weight decay is 1 or more and removes more than twice as much of each weight per step
    as the defaults do at most; at least 0.01% with optimizers that add it to the gradient.

    Each step multiplies every weight by 1 − lr · decay, so that weights are averages of the
    gradients of about 1/(lr · decay) updates. By default these are those of four epochs or more
    (after Wang & Aitchison 2024), and at least 20 updates.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="adamw", weight_decay=10.0).finding("E414"))
    warning E414: weight decay 10 takes 10.0% of every weight at each step
      → Lower weight_decay to about 0.01.

    Ignore it where small weights are wanted more than a good fit.
    """
    decay, rate = facts.settings.weight_decay or 0.0, facts.settings.lr or 0.0
    optimizer = OPTIMIZERS[facts.settings.optimizer]
    limit = MIN_COUPLED_DECAY
    if "weight_decay" not in facts.settings.explicit:
        return None
    if optimizer.decoupled:
        limit = 2 * MAX_RATE * MAX_DEFAULT_DECAY
        if each_epoch := updates(facts, 1):
            limit = min(limit, 2 / (DECAY_EPOCHS * each_epoch))
    if decay < MAX_DECAY or decay * rate < limit:
        return None
    return Hit(
        message=f"weight decay {decay:g} takes {decay * rate:.1%} of every weight at each step",
        evidence={"weight_decay": decay},
        fix={"weight_decay": 0.01},
    )


@rule(
    "E415",
    "warning",
    "Lower it to about 0.0001.",
    lowers=["regularisation"],
    explains=[*STUCK, "E920"],
)
def strong_penalty(facts: Facts) -> Hit | None:
    """λ of L1 or L2 is 0.1 or more.

    The penalty is added to the loss for each weight. 1e-5 … 1e-2 is usual; from 0.1 on, having no
    weights is cheaper than fitting the data.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, regularization="L1", lambda1=1.0).finding("E415"))
    warning E415: lambda1 1 outweighs the loss
      → Lower it to about 0.0001.

    Ignore it where most weights are meant to become 0, and the loss is large.
    """
    settings = facts.settings
    penalties = (("L1", "lambda1", settings.lambda1), ("L2", "lambda2", settings.lambda2))
    strengths = {
        name: strength
        for kind, name, strength in penalties
        if kind in settings.regularization and strength >= MAX_PENALTY
    }
    if not strengths:
        return None
    message = ", ".join(f"{name} {value:g}" for name, value in strengths.items())
    return Hit(message=f"{message} outweighs the loss", fix=dict.fromkeys(strengths, 1e-4))


@rule(
    "E503", "warning", "Set loss_weights='auto', or weights of similar magnitude.", explains=STUCK
)
def loss_weight_ratio(facts: Facts) -> Hit | None:
    """The given loss weights differ by a factor of more than a thousand.

    An output whose loss counts a thousandth contributes a thousandth of the gradient: shared layers
    learn only for the other outputs.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:layers matmul(w, shape=[8]), relu(); "
    >>> text += "a:output shape=[1]; a:layers matmul(u, node=m), add(c); "
    >>> text += "b:output shape=[1]; b:layers matmul(v, node=m), add(d);"
    >>> print(review(text, loss_weights={"a": 100.0, "b": 0.001}).finding("E503"))
    warning E503: the largest loss weight is 100,000 times the smallest
      → Set loss_weights='auto', or weights of similar magnitude.

    Ignore it where the losses differ by as much in the other direction, as E502 measures at the
    start.
    """
    weights = facts.settings.loss_weights
    values = [*weights.values()] if isinstance(weights, Mapping) else []
    ratio = max(values) / min(values) if values else 1.0
    if ratio <= MAX_WEIGHT_RATIO or facts.scouting.initial_losses:
        return None
    message = f"the largest loss weight is {ratio:,.0f} times the smallest"
    return Hit(message=message, evidence={"ratio": ratio}, fix={"loss_weights": "auto"})


@rule(
    "E507",
    "warning",
    "Lower label_smoothing to 0.1, or leave it out.",
    lowers=["label_smoothing"],
    explains=STUCK,
)
def strong_smoothing(facts: Facts) -> Hit | None:
    """Labels are smoothed by more than 0.4, or at all where no loss is one of classes.

    Smoothing by s gives each of the K classes a label of s/K, and the right one 1 − s + s/K
    (Szegedy et al. 2016, who use 0.1). Near s = 1 all classes are alike. Quantities have no
    classes.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, label_smoothing=0.95).finding("E507"))
    warning E507: label_smoothing 0.95 leaves 5% of each label
      → Lower label_smoothing to 0.1, or leave it out.

    Ignore it where this share of the labels is known to be wrong.
    """
    smoothing = facts.settings.label_smoothing
    if not smoothing:
        return None
    losses = [LOSSES.get(output.loss) for output in facts.outputs]
    if losses and not any(loss is None or loss.smoothed for loss in losses):
        message = f"label_smoothing {smoothing:g}, and no output has classes"
        return Hit(message=message, fix={"label_smoothing": 0.0})
    if smoothing <= MAX_SMOOTHING:
        return None
    message = f"label_smoothing {smoothing:g} leaves {1 - smoothing:.0%} of each label"
    return Hit(message=message, fix={"label_smoothing": 0.1})


@rule(
    "E704",
    "warning",
    "Lower min_lr to below lr, or leave it out.",
    lowers=["min_lr"],
    explains=UNSTABLE,
)
def floor_above_rate(facts: Facts) -> Hit | None:
    """min_lr is not below lr.

    A schedule falls from lr to min_lr. With a floor above lr it rises instead, to a rate that
    nobody intended.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, lr=0.01, min_lr=5.0).finding("E704"))
    warning E704: min_lr 5, lr 0.01
      → Lower min_lr to below lr, or leave it out.

    Never ignore it: schedule="constant" keeps the rate constant.
    """
    floor, rate = facts.settings.min_lr, facts.settings.lr or 0.0
    if not rate or floor < rate:
        return None
    return Hit(message=f"min_lr {floor:g}, lr {rate:g}", fix={"min_lr": 0.0})


@rule(
    "E705",
    "warning",
    "Lower warmup_epochs to 1 or 2.",
    lowers=["warmup_epochs"],
    explains=[*STUCK, "E915"],
)
def all_warm_up(facts: Facts) -> Hit | None:
    """The warm-up takes half of the epochs or more.

    While the rate rises, training is slower than it could be. A few percent of the steps are usual;
    onecycle deliberately takes 30%.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, epochs=20, warmup_epochs=19).finding("E705"))
    warning E705: 19 of 20 epochs are warm-up
      → Lower warmup_epochs to 1 or 2.

    Ignore it where later trainings continue with the same schedule.
    """
    warm, epochs = facts.settings.warmup_epochs, facts.settings.epochs or 0
    if not warm or warm < MAX_WARM_UP * epochs:
        return None
    message = f"{warm:g} of {epochs:g} epochs are warm-up"
    return Hit(message=message, fix={"warmup_epochs": max(1, epochs // 20)})


@rule(
    "E706",
    "warning",
    "Use longer steps or a larger factor.",
    raises=["step_epochs", "step_factor"],
    explains=[*STUCK, "E914"],
)
def early_step_decay(facts: Facts) -> Hit | None:
    """A step schedule is below a hundredth of its rate after a third of the epochs.

    Rates are lowered in steps when learning has slowed down: two or three times in a training, to a
    tenth. At a hundredth almost nothing changes any more, and two thirds of the epochs are wasted.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> found = review(text, epochs=20, schedule="step", step_epochs=1, step_factor=0.01)
    >>> print(found.finding("E706"))
    warning E706: a third of the epochs leaves 1e-12 of the rate
      → Use longer steps or a larger factor.

    Ignore it where lr is far above the rate that the training needs later.
    """
    interval, epochs = facts.settings.step_epochs or 0, facts.settings.epochs or 0
    if facts.settings.schedule != "step" or not interval or not epochs:
        return None
    remaining_rate = facts.settings.step_factor ** (epochs / 3 // interval)
    if remaining_rate >= MIN_STEP_RATE:
        return None
    message = f"a third of the epochs leaves {remaining_rate:.0e} of the rate"
    return Hit(message=message, fix={"step_epochs": max(1, -(-epochs // 3)), "step_factor": 0.1})


@rule(
    "E707",
    "warning",
    "Raise schedule_epochs to epochs, or leave it out.",
    raises=["schedule_epochs"],
    explains=[*STUCK, "E914"],
)
def short_schedule(facts: Facts) -> Hit | None:
    """The schedule ends within the first half of the epochs, at a rate near 0.

    After its end the rate stays at min_lr, which is 0 unless given. The remaining epochs take time
    and change nothing.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, epochs=60, schedule_epochs=2).finding("E707"))
    warning E707: the schedule ends after 2 of 60 epochs, at a rate of 0
      → Raise schedule_epochs to epochs, or leave it out.

    Ignore it where min_lr is high enough to learn.
    """
    end, epochs = facts.settings.schedule_epochs or 0, facts.settings.epochs or 0
    floor = facts.settings.min_lr
    if not end or 2 * end > epochs or facts.settings.schedule in ("constant", "step"):
        return None
    if floor >= MIN_STEP_RATE * (facts.settings.lr or 0.0):
        return None
    message = f"the schedule ends after {end:g} of {epochs:g} epochs, at a rate of {floor:g}"
    return Hit(message=message, fix={"schedule_epochs": epochs})


@rule(
    "E708",
    "warning",
    "Raise patience to 10 or more.",
    raises=["patience"],
    explains=[*STUCK, "E903", "E915", "E916"],
)
def small_patience(facts: Facts) -> Hit | None:
    """Patience is below 3 epochs, in a training of 10 or more.

    A validation loss rises by chance from one epoch to the next. One or two rises do not mean that
    the loss will not improve further.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, epochs=60, patience=1).finding("E708"))
    warning E708: patience 1 ends a training of 60 epochs at the first bad ones
      → Raise patience to 10 or more.

    Ignore it where an epoch has thousands of steps.
    """
    patience, epochs = facts.settings.patience, facts.settings.epochs or 0
    if patience >= MIN_PATIENCE or epochs < 10:
        return None
    message = f"patience {patience:g} ends a training of {epochs:g} epochs at the first bad ones"
    return Hit(message=message, fix={"patience": 10})


@rule(
    "E709",
    "warning",
    "Train more epochs, or use smaller batches.",
    raises=["epochs"],
    explains=STUCK,
)
def few_updates(facts: Facts) -> Hit | None:
    """Fewer than 60 updates of randomly initialised parameters.

    An update is a step of the optimizer; their number is batches times epochs, divided by
    accumulate. On six clusters adam reaches an accuracy of 0.50 after 15 updates, 0.73 after 30,
    0.82 after 60 and 0.85 after 300; the R² of a quantity is 0.34, 0.45, 0.73 and 0.94 (measured on
    tests/teach, median of two seeds).

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(40)], [[0.1 * i] for i in range(40)])
    >>> print(review(text, data, epochs=1, optimizer="adam").finding("E709"))
    warning E709: 2 updates: 1 epochs of 2
      → Train more epochs, or use smaller batches.

    Ignore it for a first try, and in fine-tuning.
    """
    number = updates(facts)
    is_chosen = not facts.settings.explicit.isdisjoint({"epochs", "batch_size", "accumulate"})
    if number is None or not is_chosen or number >= MIN_UPDATES or facts.trained_before:
        return None
    if OPTIMIZERS[facts.settings.optimizer].sign_like:
        return None  # E702 reports it.
    epochs = facts.settings.epochs or 0
    fix = {"epochs": -(-MIN_UPDATES * epochs // number)}
    if (facts.batch_size or 0) > USUAL_BATCH and -(
        -facts.data.training // USUAL_BATCH
    ) * epochs >= (MIN_UPDATES):
        fix = {"batch_size": USUAL_BATCH}
    message = f"{number} updates: {epochs} epochs of {number // epochs}"
    return Hit(message=message, evidence={"updates": number}, fix=fix)


@rule(
    "E710",
    "warning",
    "Raise batch_size to about 20, or lower lr.",
    lowers=["lr"],
    raises=["batch_size"],
    explains=UNSTABLE,
)
def single_row_batches(facts: Facts) -> Hit | None:
    """Batches of one row, at a rate above a tenth of the optimizer's default.

    The gradient of a single row follows that row, not the data. Default rates suit batches of about
    20 rows, whose mean gradient varies √20 times less.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, batch_size=1).finding("E710"))
    warning E710: batches of one row at lr 0.01
      → Raise batch_size to about 20, or lower lr.

    Ignore it where rows are long sequences, or gradients of many batches are accumulated.
    """
    default = usual_rate(facts.settings)
    single = facts.settings.batch_size == 1 and facts.settings.accumulate <= 1
    rate = facts.settings.lr or 0.0
    if not single or facts.data.length > 1 or rate <= default / 10:
        return None
    message = f"batches of one row at lr {rate:g}"
    return Hit(message=message, fix={"batch_size": 20})


@rule(
    "E711",
    "warning",
    "Lower accumulate: 1 steps after every batch.",
    lowers=["accumulate"],
    explains=STUCK,
)
def long_accumulation(facts: Facts) -> Hit | None:
    """More batches are accumulated than half an epoch has.

    Accumulated gradients make one step. This gives large batches where memory is short; with half
    of the rows or more per step, it comes close to one step per epoch on all the data.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(200)], [[0.1 * i] for i in range(200)])
    >>> print(review(text, data, accumulate=100).finding("E711"))
    warning E711: accumulate 100, and an epoch has 7 batches
      → Lower accumulate: 1 steps after every batch.

    Ignore it where steps on all the data are intended.
    """
    accumulated, size = facts.settings.accumulate, facts.batch_size
    if accumulated <= 1 or not size or not facts.data.training:
        return None
    batches = -(-facts.data.training // size)
    if 2 * accumulated <= batches:
        return None
    message = f"accumulate {accumulated:g}, and an epoch has {batches} batches"
    return Hit(message=message, fix={"accumulate": 1})


@rule("E712", "warning", "Lower validate_every to 1.", lowers=["validate_every"])
def few_validations(facts: Facts) -> Hit | None:
    """There are fewer than four validations in the training.

    The best epoch is chosen among the validated ones, and patience counts only these.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, epochs=20, validate_every=50).finding("E712"))
    warning E712: validation every 50 epochs, 20 epochs
      → Lower validate_every to 1.

    Ignore it where validation takes far longer than training.
    """
    interval, epochs = facts.settings.validate_every, facts.settings.epochs or 0
    if interval <= 1 or epochs >= 4 * interval or (facts.data.sizes and not _has_validation(facts)):
        return None
    message = f"validation every {interval:g} epochs, {epochs:g} epochs"
    return Hit(message=message, fix={"validate_every": 1})


def _has_validation(facts: Facts) -> bool:
    return bool(facts.data.sizes.get("validation") or facts.settings.validation_split)


@rule("E713", "advice", "Set restore_best=True.", confidence=0.6, explains=["E918"])
def no_restore(facts: Facts) -> Hit | None:
    """restore_best is off, at a constant rate or in a training with patience below its epochs.

    At a constant rate the parameters oscillate around the minimum to the end, and the last ones are
    a matter of chance. Patience ends a training some epochs after the best one.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, schedule="constant", restore_best=False).finding("E713"))
    advice E713: the last parameters are kept, and a constant rate
      → Set restore_best=True.

    Ignore it where every run must take the same number of steps.
    """
    settings = facts.settings
    early = settings.patience < (settings.epochs or 0)
    if settings.restore_best or not (settings.schedule == "constant" or early):
        return None
    why = "patience ends it after the best epoch" if early else "a constant rate"
    return Hit(message=f"the last parameters are kept, and {why}", fix={"restore_best": True})


@rule("E714", "advice", "Hold back validation rows: validation_split=0.2.", confidence=0.6)
def patience_without_validation(facts: Facts) -> Hit | None:
    """Patience is given and below the number of epochs, and there are no validation rows.

    Patience is meant to end a training before it overfits. Without validation rows it follows the
    training loss, which overfitting lowers further.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(40)], [[0.1 * i] for i in range(40)])
    >>> print(review(text, data, epochs=80, patience=5).finding("E714"))
    advice E714: patience 5 follows the training loss: there are no validation rows
      → Hold back validation rows: validation_split=0.2.

    Ignore it where patience is only meant to save time.
    """
    patience, epochs = facts.settings.patience, facts.settings.epochs or 0
    if "patience" not in facts.settings.explicit or patience >= epochs:
        return None
    if not facts.data.training or _has_validation(facts):
        return None
    message = f"patience {patience:g} follows the training loss: there are no validation rows"
    return Hit(message=message, fix={"validation_split": 0.2})


@rule("E715", "warning", "Leave it out, or choose what reads it.")
def unread_settings(facts: Facts) -> Hit | None:
    """A setting is given that belongs to another optimizer, schedule, penalty or clipping than the
    chosen one.

    Each optimizer reads its own numbers, only the schedules step and plateau drop the rate, each
    λ belongs to one penalty. What is not read changes nothing: the training is another one than
    was meant.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimizer="adamw", momentum_factor=0.5).finding("E715"))
    warning E715: momentum_factor 0.5 has no effect with optimizer='adamw'
      → Leave it out, or choose what reads it.

    Ignore it where several optimizers or schedules are tried with the same settings.
    """
    settings = facts.settings
    unread = {
        name: choice
        for name, choice in _unread(settings).items()
        if name in settings.explicit and getattr(settings, name) != getattr(DEFAULTS, name)
    }
    if not unread:
        return None
    messages = [
        f"{name} {getattr(settings, name):g} has no effect with "
        f"{choice}={getattr(settings, choice)!r}"
        for name, choice in unread.items()
    ]
    return Hit(
        message=join_names(messages, "; "),
        fix={name: getattr(DEFAULTS, name) for name in unread},
    )


def _unread(settings: Settings) -> dict[str, str]:
    """Return which settings are not read, with the setting whose value is the reason."""
    read = OPTIMIZERS[settings.optimizer].defaults
    unread = {
        name: "optimizer"
        for optimizer in OPTIMIZERS.values()
        for name in optimizer.defaults
        if name not in read
    }
    if settings.schedule not in STEPPED_SCHEDULES:
        unread |= dict.fromkeys(("step_epochs", "step_factor"), "schedule")
    for kind, strength in (("L1", "lambda1"), ("L2", "lambda2")):
        if settings.regularization != "auto" and kind not in settings.regularization:
            unread[strength] = "regularization"
    clipping = settings.gradient_clipping
    if clipping not in ("auto", "agc"):
        unread["agc_lambda"] = "gradient_clipping"
    if clipping not in ("auto", "global"):
        unread |= dict.fromkeys(("clip_alpha", "clip_epsilon"), "gradient_clipping")
    return unread
