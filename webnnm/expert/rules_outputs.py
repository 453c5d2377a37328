"""Rules on several outputs: how their losses are weighted (spec E501, E502)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from webnnm.expert.facts import Facts
from webnnm.expert.rule import Hit, rule

LARGEST_RATIO = 10


@rule("E501", "info", "Set loss_weights to decide yourself.", "uncertainty weighting of the losses")
def several(facts: Facts) -> Hit | None:
    """Two outputs or more."""
    names = [output.name for output in facts.network.outputs]
    if len(names) < 2:
        return None
    return Hit(
        message=f"{len(names)} outputs share the parameters",
        nodes=[f"{name}:output" for name in names],
        evidence={"outputs": len(names)},
        changes={"loss_weights": "uncertainty"},
    )


@rule("E502", "warning", "Set loss_weights='auto', or weights that bring the losses together.")
def uneven(facts: Facts) -> Hit | None:
    """With fixed weights, or none, the initial losses of outputs differ by more than ten times."""
    given: Any = facts.settings.get("loss_weights")
    if given in ("auto", "uncertainty") or len(facts.scouting.initial_losses) < 2:
        return None
    weights = cast("Mapping[str, float]", given if isinstance(given, Mapping) else {})
    losses = {k: v * weights.get(k, 1.0) for k, v in facts.scouting.initial_losses.items()}
    least, most = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
    if losses[most] <= LARGEST_RATIO * losses[least]:
        return None
    return Hit(
        message=f"weighted initial losses: {losses[most]:.3g} of {most}, {losses[least]:.3g} of "
        f"{least}",
        nodes=(f"{most}:output", f"{least}:output"),
        evidence=losses,
        fix={"loss_weights": "auto"},
    )
