"""Rules on gradients: do they vanish, explode or die? (spec E301–E312)."""

from __future__ import annotations

from webnnm.expert.facts import Facts
from webnnm.expert.profile import HIGH, Profile
from webnnm.expert.rule import Hit, grouped, listed, rule
from webnnm.expert.structure import outputs_that_flow_on, products_in_a_row
from webnnm.training.optimizers import OPTIMIZERS

CHAIN = 5
RATE_FACTOR = 10
LONG_SEQUENCE = 100
SMALL_BATCH = 8
DEAD = 0.5
SCOUTING_BUDGET = 20_000_000
"""Scouting's seeds times parameters at most (spec E.4)."""


def _unnormalised(profile: Profile) -> bool:
    return profile.depth > HIGH["depth"] and not profile.norm_count


@rule("E301", "info", "Set gradient_clipping to decide yourself.", "gradient_clipping='global'")
def clipped(facts: Facts) -> Hit | None:
    """Three heavy operators or more, or recurrence, and not E302."""
    profile = facts.profile
    if _unnormalised(profile) or not (profile.heavy_ops >= 3 or profile.recurrent):
        return None
    why = "recurrent layers" if profile.recurrent else f"{profile.heavy_ops} heavy operators"
    return Hit(
        message=f"{why}: gradients may have peaks",
        evidence={"heavy_ops": profile.heavy_ops},
        changes={"gradient_clipping": "global"},
    )


@rule("E302", "info", "Set gradient_clipping to decide yourself.", "gradient_clipping='agc'")
def clipped_by_unit(facts: Facts) -> Hit | None:
    """Depth above 15 and no normalisation."""
    depth = facts.profile.depth
    if not _unnormalised(facts.profile):
        return None
    return Hit(
        message=f"depth {depth} without normalisation",
        evidence={"depth": depth},
        changes={"gradient_clipping": "agc"},
    )


@rule("E303", "warning", "Use the relu family, or put residuals or normalisation between.")
def vanishing(facts: Facts) -> Hit | None:
    """Five sigmoid or tanh layers or more follow each other without residual or normalisation."""
    chain = facts.profile.chain
    if len(chain) < CHAIN:
        return None
    message = f"{len(chain)} saturating layers in a row: {listed(chain)}; gradients vanish"
    return Hit(message=message, nodes=chain, evidence={"chain": len(chain)})


@rule("E304", "warning", "Add residual connections.")
def deep(facts: Facts) -> Hit | None:
    """Depth above 15 without residuals and normalisation."""
    depth = facts.profile.depth
    if not _unnormalised(facts.profile) or facts.profile.residual_count:
        return None
    message = f"depth {depth} without residuals and normalisation"
    return Hit(message=message, evidence={"depth": depth})


@rule("E305", "warning", "Lower lr to near the optimizer's default.", lowers=["lr"])
def fast(facts: Facts) -> Hit | None:
    """The learning rate is more than ten times the optimizer's default."""
    rate, name = facts.settings.get("lr"), facts.settings.get("optimizer", "")
    usual = OPTIMIZERS[name].rate if name in OPTIMIZERS else 0.0
    if rate is None or not usual or rate <= RATE_FACTOR * usual:
        return None
    return Hit(
        message=f"lr {rate:g} is {rate / usual:.0f} times the default {usual:g} of {name}",
        evidence={"lr": rate, "default": usual},
        fix={"lr": usual},
    )


@rule("E306", "warning", "Set gradient_clipping='global'.")
def unclipped(facts: Facts) -> Hit | None:
    """Recurrence over more than 100 positions, with clipping off."""
    length = facts.data.length
    off = facts.settings.get("gradient_clipping") == "off"
    if not (facts.profile.recurrent and length > LONG_SEQUENCE and off):
        return None
    message = f"recurrent layers over {length} positions, gradients not clipped"
    return Hit(message=message, evidence={"length": length}, fix={"gradient_clipping": "global"})


@rule("E307", "warning", "Use layerNorm, or batches of at least 8 rows.")
def noisy_statistics(facts: Facts) -> Hit | None:
    """Batch normalisation with fewer than 8 rows in a batch."""
    layers = [v.label for v in facts.network.layers if v.operator.name == "batchNormalization"]
    size = facts.batch_size
    if not layers or size is None or size >= SMALL_BATCH:
        return None
    message = f"{listed(layers)} with statistics of {size} rows"
    return Hit(message=message, nodes=layers, evidence={"batch_size": size})


@rule("E308", "warning", "Move the output activation to the end of the model.")
def early_output_activation(facts: Facts) -> Hit | None:
    """A softmax or sigmoid output activation flows on into a heavy operator, not through attend."""
    found = outputs_that_flow_on(facts.network)
    return grouped({name: f"{name} flows on into {user}" for name, user in found.items()})


@rule("E309", "advice", "Insert an activation between them.")
def linear_pair(facts: Facts) -> Hit | None:
    """Two heavy operators without a non-linearity between; projections, embeddings and tied
    weights excepted."""
    found = products_in_a_row(facts.network)
    tail = ": one product could do the same"
    return grouped({b: f"{b} follows {a} linearly" for b, a in found.items()}, tail=tail)


@rule("E310", "warning", "Lower lr, or use leakyRelu.", lowers=["lr"])
def dead(facts: Facts) -> Hit | None:
    """More than half of the units of a layer are dead at the chosen start."""
    ratio = facts.scouting.dead_ratio
    if ratio <= DEAD:
        return None
    return Hit(message=f"{ratio:.0%} of a layer's units are dead", evidence={"dead_ratio": ratio})


@rule(
    "E311",
    "error",
    "Lower lr, standardise the data, or clamp what goes into log, exp and pow.",
    "stops",
    lowers=["lr"],
)
def diverged(facts: Facts) -> Hit | None:
    """The loss is not finite (NNM708)."""
    if not facts.diverged:
        return None
    return Hit(message=f"the loss is not finite at {facts.diverged}", action="training stopped")


@rule("E312", "info", "Set seeds to decide yourself.", "lowers seeds")
def costly_scouting(facts: Facts) -> Hit | None:
    """The seed search would try more than 2·10⁷ parameters: seeds times parameters."""
    seeds, size = facts.settings.get("seeds") or 0, facts.profile.param_count
    started = facts.trained_before or facts.settings.get("freeze")
    if seeds * size <= SCOUTING_BUDGET or (started and "seeds" not in facts.given):
        return None
    fewer = SCOUTING_BUDGET // size
    return Hit(
        message=f"trying {seeds} seeds of {size:,} parameters is costly; {fewer} are affordable",
        evidence={"seeds": seeds, "parameters": size, "affordable": fewer},
        changes={"seeds": fewer},
    )
