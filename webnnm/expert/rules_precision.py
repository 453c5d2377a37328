"""Rules on number types: range, scaling, what the device lacks (spec E201–E208)."""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT_INFO
from webnnm.expert.facts import Facts
from webnnm.expert.rule import Hit, grouped, listed, rule

LEAST_SCALE = 128
FLOAT16_MAX = FLOAT_INFO["float16"].max


def _heavy(facts: Facts) -> Hit:
    wide, half = facts.profile.heavy_float32, facts.profile.heavy_float16
    return Hit(
        message=f"{half} heavy operators in float16, {wide} in float32",
        evidence={"heavy_float16": half, "heavy_float32": wide},
    )


@rule("E201", "info", "Set gradient_scaling='off' to do without.", "gradient_scaling='on'")
def scaled(facts: Facts) -> Hit | None:
    """More heavy operators compute in float16 than in float32."""
    found = _heavy(facts)
    return (
        Hit(
            message=f"{found.message}: small gradients would become 0",
            evidence=found.evidence,
            changes={"gradient_scaling": "on"},
        )
        if facts.profile.mostly_float16
        else None
    )


@rule("E202", "warning", "Set gradient_scaling='on'.")
def unscaled(facts: Facts) -> Hit | None:
    """More heavy operators compute in float16 than in float32, and scaling is off."""
    if not facts.profile.mostly_float16 or facts.settings.get("gradient_scaling") != "off":
        return None
    found = _heavy(facts)
    message = f"{found.message}, gradients unscaled: training is expected to stall"
    return Hit(message=message, evidence=found.evidence, fix={"gradient_scaling": "on"})


@rule(
    "E203",
    "warning",
    "Write dataType=float32 at these layers.",
    "float32 inside softmax, log, exp, variance and normalisations without dataType",
)
def risky(facts: Facts) -> Hit | None:
    """Operators whose results leave the range of float16 easily compute in it."""
    names = facts.profile.risky_float16
    if not names:
        return None
    wide = [
        layer.label
        for layer in facts.network.layers
        if layer.label in names and "wide" in layer.operator.hazards and layer.written_type is None
    ]
    return Hit(
        message=f"{listed(names)} in float16, which ends at {FLOAT16_MAX:g}",
        nodes=names,
        evidence={"limit": FLOAT16_MAX, "layers": len(names), "computed_in_float32": len(wide)},
        action=f"{listed(wide)} computed in float32" if wide else "",
        severity="info" if len(wide) == len(names) else None,
    )


@rule("E204", "info", "Declare the inputs as float16.", "float16 inputs for optimize_for='edge'")
def wide_on_edge(facts: Facts) -> Hit | None:
    """Heavy operators compute in float32, on an NPU or with optimize_for='edge'."""
    wide = facts.profile.heavy_float32
    edge = facts.settings.get("optimize_for") == "edge"
    if not wide or not facts.device.float16 or not (edge or facts.npu):
        return None
    why = "optimize_for='edge'" if edge else "an NPU"
    return Hit(message=f"{wide} heavy operators in float32 for {why}", evidence={"heavy": wide})


@rule("E205", "warning", "Set scale to 128 or more.", "scale=128")
def small_scale(facts: Facts) -> Hit | None:
    """Float16, uncertainty weighting, and a scale below 128."""
    scale = facts.settings.get("scale")
    if (
        not facts.profile.heavy_float16
        or len(facts.network.outputs) < 2
        or facts.settings.get("loss_weights") != "auto"
        or scale is None
        or scale >= LEAST_SCALE
    ):
        return None
    return Hit(
        message=f"scale {scale:g} leaves little to the weighted losses in float16",
        evidence={"scale": scale},
        changes={"scale": LEAST_SCALE},
    )


@rule("E206", "warning", "Write the cast, or declare the types alike.")
def lossy_casts(facts: Facts) -> Hit | None:
    """Inserted casts may lose range (NNM007)."""
    found = [w for w in facts.network.warnings if w.code == "NNM007"]
    return grouped({f"line {w.line}, column {w.column}": w.message for w in found})


@rule("E207", "error", "Use the type or the operators that it names.")
def unsupported(facts: Facts) -> Hit | None:
    """The backend lacks a data type or an operator that nothing can stand in for."""
    found = facts.device.unsupported
    return grouped({u.node: f"no {u.what} for {u.node}, but {u.instead}" for u in found})


@rule("E208", "info", action="decomposes, or moves to another rank")
def rewritten(facts: Facts) -> Hit | None:
    """Operators were written with others, or moved to another rank, for the backend's limits."""
    texts = facts.device.rewrites
    if not texts:
        return None
    many = len(texts)
    return Hit(
        message=f"{many} operator{'s' * (many > 1)} rewritten for this backend, such as "
        f"{texts[0]}; model.report() lists them",
        evidence={"rewrites": many},
        action="graphs rewritten",
    )
