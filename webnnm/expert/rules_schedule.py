"""Rules on the course of training (spec E701–E703)."""

from __future__ import annotations

from webnnm.expert.facts import Facts
from webnnm.expert.rule import Hit, rule

FEW_STEPS = 200


@rule("E701", "info", "Set patience below epochs to stop early.")
def no_early_stop(facts: Facts) -> Hit | None:
    """Patience is not below the epochs."""
    patience, epochs = facts.settings.get("patience"), facts.settings.get("epochs")
    if patience is None or epochs is None or patience < epochs:
        return None
    return Hit(
        message=f"patience {patience} of {epochs} epochs: nothing stops early",
        evidence={"patience": patience, "epochs": epochs},
    )


@rule("E702", "advice", "Train more epochs, or set a larger lr.", raises=["epochs", "lr"])
def few_steps(facts: Facts) -> Hit | None:
    """Fewer than 200 steps with lion or rlion, whose steps have a nearly fixed length."""
    epochs, size, name = (
        facts.settings.get("epochs"),
        facts.batch_size,
        facts.settings.get("optimizer"),
    )
    if name not in ("lion", "rlion") or not facts.data.training or not epochs or not size:
        return None
    steps = epochs * -(-facts.data.training // size)
    if steps >= FEW_STEPS:
        return None
    message = f"{steps} steps of nearly fixed length with {name}"
    enough = -(-epochs * FEW_STEPS // steps)
    return Hit(message=message, evidence={"steps": steps}, fix={"epochs": enough})


@rule("E703", "advice", "Set freeze=0, or load trained parameters.", lowers=["freeze"])
def frozen_noise(facts: Facts) -> Hit | None:
    """Parameters are frozen in a model that was never trained or loaded."""
    freeze = facts.settings.get("freeze") or 0
    if not freeze or facts.trained_before:
        return None
    message = f"freeze {freeze:g} keeps random parameters"
    return Hit(message=message, evidence={"freeze": freeze}, fix={"freeze": 0.0})
