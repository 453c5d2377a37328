"""Rules on capacity: is the model too large for its data? (spec E401–E407)."""

from __future__ import annotations

from webnnm.expert.facts import Facts
from webnnm.expert.profile import HIGH
from webnnm.expert.rule import Hit, grouped, rule
from webnnm.graph.vertices import LayerVertex

LEAST_DENSITY = 0.2
MANY_FEATURES = 5000
LARGEST_DROPOUT = 0.7
MOSTLY_FROZEN = 0.95
LAMBDA = {"L1": 1e-5, "L2": 1e-4}
"""λ of a regularization that is on, where none was given (spec E.7)."""

DECOUPLED = frozenset({"lion", "rlion", "adamw"})
"""Optimizers whose weight decay does what L2 does (spec E.7)."""


def _unregularised(facts: Facts) -> str:
    """Return the numbers that make a network one to be regularised, "" if it is not."""
    profile = facts.profile
    if not profile.high_capacity or profile.dropout_density >= LEAST_DENSITY:
        return ""
    rows = profile.training_samples
    samples = "" if rows is None else f", {rows:,} training rows"
    return (
        f"high capacity ({profile.param_count:,} parameters{samples}, {profile.heavy_ops} heavy "
        f"operators, depth {profile.depth}, width {profile.width}), "
        f"{profile.dropout_density:.2f} dropouts per heavy operator"
    )


def _capacity(facts: Facts) -> dict[str, float]:
    profile = facts.profile
    return {"parameters": profile.param_count, "dropout_density": profile.dropout_density}


@rule("E401", "info", "Set regularization to decide yourself.", "L2 with λ2 = 1e-4")
def regularised(facts: Facts) -> Hit | None:
    """High capacity, and fewer than 0.2 dropouts per heavy operator."""
    message = _unregularised(facts)
    if not message:
        return None
    optimizer, decay = facts.settings.get("optimizer"), facts.settings.get("weight_decay") or 0.0
    strength = facts.settings.get("lambda2") or LAMBDA["L2"]
    if optimizer in DECOUPLED and decay >= strength:
        automatic = facts.settings.get("regularization") == "auto"
        return Hit(
            message=message,
            evidence=_capacity(facts),
            changes={"regularization": "off"},
            action=f"left to weight decay {decay:g} of {optimizer}" if automatic else "",
        )
    return Hit(message=message, evidence=_capacity(facts), changes={"regularization": "L2"})


@rule("E402", "info", "Set regularization to decide yourself.", "L1 with λ1 = 1e-5")
def sparse(facts: Facts) -> Hit | None:
    """An input has more than 5000 features."""
    number = facts.profile.input_features
    if number <= MANY_FEATURES:
        return None
    return Hit(
        message=f"{number:,} input features, of which few may matter",
        evidence={"input_features": number},
        changes={"regularization": "L1"},
    )


@rule(
    "E403",
    "warning",
    "Set regularization='auto', or add dropout.",
    confidence=0.6,
    raises=["regularisation"],
)
def memorising(facts: Facts) -> Hit | None:
    """E401 holds, and regularization is off."""
    message = _unregularised(facts)
    if not message or facts.settings.get("regularization") != "off":
        return None
    message += "; without regularization it may learn its rows by heart"
    return Hit(message=message, evidence=_capacity(facts), fix={"regularization": "auto"})


@rule("E404", "warning", "Drop at most 70 %.", lowers=["regularisation"])
def strong_dropout(facts: Facts) -> Hit | None:
    """A dropout layer drops more than 70 %."""
    shares = {v.label: v.options["p"] for v in _dropouts(facts)}
    found = {label: p for label, p in shares.items() if p > LARGEST_DROPOUT}
    return grouped({a: f"{a} drops {p:.0%}" for a, p in found.items()}, evidence=found)


@rule(
    "E405",
    "advice",
    "Use a smaller model or more data.",
    confidence=0.5,
    lowers=["capacity"],
)
def few_rows(facts: Facts) -> Hit | None:
    """More than ten parameters per training row."""
    rows, size = facts.profile.training_samples, facts.profile.param_count
    if rows is None or size <= HIGH["parameters_per_sample"] * rows:
        return None
    return Hit(
        message=f"{size:,} parameters for {rows:,} training rows",
        evidence={"parameters": size, "rows": rows},
    )


@rule("E406", "warning", "Lower freeze.", lowers=["freeze"])
def frozen(facts: Facts) -> Hit | None:
    """All parameters are frozen, or more than 95 % of them."""
    profile = facts.profile
    learning = profile.trainable_count if facts.learning is None else facts.learning
    if not profile.param_count or learning >= (1 - MOSTLY_FROZEN) * profile.param_count:
        return None
    return Hit(
        message=f"{learning:,} of {profile.param_count:,} parameters learn",
        evidence={"learning": learning, "parameters": profile.param_count},
    )


@rule("E407", "advice", "Swap them.")
def dropout_before_statistics(facts: Facts) -> Hit | None:
    """Dropout directly before batch normalisation."""
    dropouts = {id(v): v.label for v in _dropouts(facts)}
    found = {
        dropouts[id(v.operands[0].vertex)]: v.label
        for v in facts.network.layers
        if v.operator.name == "batchNormalization" and id(v.operands[0].vertex) in dropouts
    }
    pairs = {a: f"{a} before {b}" for a, b in found.items()}
    return grouped(pairs, "statistics of dropped values: ")


def _dropouts(facts: Facts) -> list[LayerVertex]:
    return [layer for layer in facts.network.layers if layer.operator.name == "dropout"]
