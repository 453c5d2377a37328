"""Rules on the course of training (spec E701–E703)."""

from __future__ import annotations

from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, rule
from webnnm.expert.rules.symptoms import STUCK
from webnnm.training.optimizers import OPTIMIZERS

MIN_LION_STEPS = 200
MIN_UPDATES = 60
"""Fewer updates do not train randomly initialised parameters, whatever the optimizer."""


@rule("E701", "info", "Set patience below epochs to stop early.")
def no_early_stop(facts: Facts) -> Hit | None:
    """Patience is given, and is not below the epochs.

    Patience counts epochs without improvement, of the validation loss if there are validation rows.
    The best epoch is restored even if nothing stops early, unless restore_best is off.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, epochs=20, patience=30).finding("E701"))
    info E701: patience 30 with 20 epochs: nothing stops early
      → Set patience below epochs to stop early.

    Ignore it where the training is short.
    """
    patience, epochs = facts.settings.patience, facts.settings.epochs
    if epochs is None or patience < epochs or "patience" not in facts.settings.explicit:
        return None
    return Hit(
        message=f"patience {patience} with {epochs} epochs: nothing stops early",
        evidence={"patience": patience, "epochs": epochs},
    )


@rule(
    "E702",
    "advice",
    "Train more epochs, or set a larger lr.",
    raises=["epochs", "lr"],
    explains=STUCK,
)
def few_steps(facts: Facts) -> Hit | None:
    """Fewer than 200 steps with lion or rlion, whose steps have a nearly fixed length.

    Each step changes every weight by lr, whatever the gradient: 200 steps cover at most 200·lr,
    which at 0.01 is a few times the size of a weight.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> print(review(text, data, optimizer="lion", epochs=20).finding("E702"))
    advice E702: 40 steps of nearly fixed length with lion
      → Train more epochs, or set a larger lr.

    Ignore it where a few steps are all that is wanted, as in fine-tuning.
    """
    optimizer = OPTIMIZERS[facts.settings.optimizer]
    epochs, size = facts.settings.epochs, facts.batch_size
    if not (optimizer.sign_like and facts.data.training and epochs and size):
        return None
    steps = epochs * -(-facts.data.training // size)
    if steps >= MIN_LION_STEPS:
        return None
    message = f"{steps} steps of nearly fixed length with {optimizer.name}"
    enough: int = -(-epochs * MIN_LION_STEPS // steps)
    return Hit(message=message, evidence={"steps": steps}, fix={"epochs": enough})


@rule(
    "E703", "advice", "Set freeze=0, or load trained parameters.", lowers=["freeze"], explains=STUCK
)
def random_trunk(facts: Facts) -> Hit | None:
    """Parameters are frozen in a model that was never trained or loaded.

    Frozen parameters keep their initial values. Without earlier training, these are random.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> print(review(text, freeze=0.5).finding("E703"))
    advice E703: freeze 0.5 keeps random parameters
      → Set freeze=0, or load trained parameters.

    Ignore it where parameters are loaded after the review.
    """
    freeze = facts.settings.freeze
    if not freeze or facts.trained_before:
        return None
    message = f"freeze {freeze:g} keeps random parameters"
    return Hit(message=message, evidence={"freeze": freeze}, fix={"freeze": 0.0})
