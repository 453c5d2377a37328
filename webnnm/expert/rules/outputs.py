"""Rules on several outputs: how their losses are weighted (spec E501, E502)."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, rule
from webnnm.expert.rules.symptoms import STUCK

MAX_LOSS_RATIO = 10


@rule("E501", "info", "Set loss_weights to decide yourself.", "uncertainty weighting of the losses")
def multiple_outputs(facts: Facts) -> Hit | None:
    """Two outputs or more.

    Outputs that share layers have losses of different sizes, and the largest would dominate.
    Uncertainty weighting (Kendall et al. 2018) learns a weight for each.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:layers matmul(w, shape=[8]), relu(); "
    >>> text += "a:output shape=[1]; a:layers matmul(u, node=m), add(c); "
    >>> text += "b:output shape=[1]; b:layers matmul(v, node=m), add(d);"
    >>> print(review(text).finding("E501"))
    info E501 line 1, column 61: 2 outputs share the parameters
      done: loss_weights='uncertainty'

    Ignore it: it only says what "auto" decided.
    """
    names = [output.name for output in facts.network.outputs]
    if len(names) < 2:
        return None
    return Hit(
        message=f"{len(names)} outputs share the parameters",
        nodes=[f"{name}:output" for name in names],
        evidence={"outputs": len(names)},
        changes={"loss_weights": "uncertainty"},
    )


@rule(
    "E502",
    "warning",
    "Set loss_weights='auto', or weights that bring the losses together.",
    explains=STUCK,
)
def uneven_losses(facts: Facts) -> Hit | None:
    """With fixed weights, or none, the initial losses of outputs differ by a factor of more than
    ten.

    These are the losses of the first batches, times the weights. An output with a tenth of the loss
    has about a tenth of the gradient in the layers that all outputs share.

    >>> from webnnm.expert.facts.facts import Facts, ScoutingFacts
    >>> from webnnm.expert.review import review
    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> from webnnm.training.settings import Settings
    >>> text = "m:input shape=[4]; a:output shape=[1]; a:layers matmul(u, node=m:input); "
    >>> text += "b:output shape=[1]; b:layers matmul(v, node=m:input);"
    >>> losses = ScoutingFacts(initial_losses={"a": 30.0, "b": 1.0})
    >>> settings = Settings(loss_weights="off")
    >>> known = Facts(network=elaborate(parse(text)), settings=settings, scouting=losses)
    >>> print(review(known).finding("E502"))
    warning E502 line 1, column 22: weighted initial losses: 30 of a, 1 of b
      → Set loss_weights='auto', or weights that bring the losses together.

    Ignore it where one output matters that much more.
    """
    setting = facts.settings.loss_weights
    if setting in ("auto", "uncertainty") or len(facts.scouting.initial_losses) < 2:
        return None
    weights = setting if isinstance(setting, Mapping) else dict[str, float]()
    losses = {k: v * weights.get(k, 1.0) for k, v in facts.scouting.initial_losses.items()}
    smallest, largest = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
    if losses[largest] <= MAX_LOSS_RATIO * losses[smallest]:
        return None
    return Hit(
        message=f"weighted initial losses: {losses[largest]:.3g} of {largest}, "
        f"{losses[smallest]:.3g} of {smallest}",
        nodes=(f"{largest}:output", f"{smallest}:output"),
        evidence=losses,
        fix={"loss_weights": "auto"},
    )
