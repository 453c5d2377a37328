"""Rules on data types: range, scaling, what the device lacks (spec E201–E208)."""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT_INFO
from webnnm.core.readable import show_number
from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.rule import Hit, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import STUCK

MIN_SCALE = 128
FLOAT16_MAX = FLOAT_INFO["float16"].max


def _heavy(facts: Facts) -> Hit:
    wide, half = facts.profile.heavy_float32, facts.profile.heavy_float16
    return Hit(
        message=f"{half} heavy operators in float16, {wide} in float32",
        evidence={"heavy_float16": half, "heavy_float32": wide},
    )


@rule("E201", "info", "Set gradient_scaling='off' to do without.", "gradient_scaling='on'")
def float16_scaling(facts: Facts) -> Hit | None:
    """More heavy operators compute in float16 than in float32.

    The smallest float16 is 6e-8, and gradients below it become 0. If the loss is scaled by a large
    number first, they stay above it (Micikevicius et al. 2018).

    >>> from webnnm import review
    >>> text = "m:input float16 shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E201"))
    info E201: 1 heavy operators in float16, 0 in float32: small gradients would become 0
      done: gradient_scaling='on'

    Ignore it: it only says what "auto" decided.
    """
    heavy = _heavy(facts)
    return (
        Hit(
            message=f"{heavy.message}: small gradients would become 0",
            evidence=heavy.evidence,
            changes={"gradient_scaling": "on"},
        )
        if facts.profile.mostly_float16
        else None
    )


@rule("E202", "warning", "Set gradient_scaling='on'.", explains=["E917"])
def no_gradient_scaling(facts: Facts) -> Hit | None:
    """More heavy operators compute in float16 than in float32, and scaling is off.

    Without scaling, gradients in float16 below 6e-8 become 0, and there are many of these once the
    loss is small.

    >>> from webnnm import review
    >>> text = "m:input float16 shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, gradient_scaling="off").finding("E202"))
    warning E202: 1 heavy operators in float16, 0 in float32, gradients unscaled: training is ...
      → Set gradient_scaling='on'.

    Ignore it for a model that is only used for inference.
    """
    if not facts.profile.mostly_float16 or facts.settings.gradient_scaling != "off":
        return None
    heavy = _heavy(facts)
    message = f"{heavy.message}, gradients unscaled: training is expected to stall"
    return Hit(message=message, evidence=heavy.evidence, fix={"gradient_scaling": "on"})


@rule(
    "E203",
    "warning",
    "Write dataType=float32 at these layers.",
    "float32 inside softmax, log, exp, variance and normalisations without dataType",
    explains=STUCK,
)
def float16_overflow(facts: Facts) -> Hit | None:
    """Operators whose results easily leave the range of float16 compute in float16.

    Float16 ends at 65,504: exp(12) is beyond, as is the square of 256. Operators without a written
    type that compute in float32 internally are listed for information only.

    >>> from webnnm import review
    >>> text = "m:input float16 shape=[4]; m:output shape=[3]; m:layers matmul(w), pow(2);"
    >>> print(review(text).finding("E203"))
    warning E203 line 1, column 68: pow1 in float16, which ends at 65,504
      → Write dataType=float32 at these layers.

    Ignore it where values are known to be small.
    """
    names = facts.profile.risky_float16
    if not names:
        return None
    wide = [
        layer.label
        for layer in facts.network.layers
        if layer.label in names and "wide" in layer.operator.hazards and layer.written_type is None
    ]
    return Hit(
        message=f"{join_names(names)} in float16, which ends at {show_number(FLOAT16_MAX)}",
        severity="info" if len(wide) == len(names) else None,
        nodes=names,
        evidence={"limit": FLOAT16_MAX, "layers": len(names), "computed_in_float32": len(wide)},
        action=f"{join_names(wide)} computed in float32" if wide else "",
    )


@rule("E204", "info", "Declare the inputs as float16.", "float16 inputs for optimize_for='edge'")
def float32_on_edge(facts: Facts) -> Hit | None:
    """Heavy operators compute in float32, on an NPU or with optimize_for='edge'.

    Neural processors compute float16 several times faster than float32, or have no float32 at all.

    >>> from webnnm import review
    >>> text = "m:input float32 shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimize_for="edge").finding("E204"))
    info E204: 1 heavy operators in float32 for optimize_for='edge'
      → Declare the inputs as float16.

    Ignore it where precision matters more than speed.
    """
    wide = facts.profile.heavy_float32
    edge = facts.settings.optimize_for == "edge"
    if not wide or not facts.device.float16 or not (edge or facts.npu):
        return None
    why = "optimize_for='edge'" if edge else "an NPU"
    return Hit(message=f"{wide} heavy operators in float32 for {why}", evidence={"heavy": wide})


@rule("E205", "warning", "Set scale to 128 or more.", "scale=128", explains=["E917"])
def small_scale(facts: Facts) -> Hit | None:
    """Float16, uncertainty weighting, and a scale below 128.

    Uncertainty weighting gives large losses weights as small as 0.01. A scale of 128 keeps the
    resulting gradients in the range of float16 (Micikevicius et al. 2018 start with 8 to 32,768).

    >>> from webnnm import review
    >>> text = "m:input float16 shape=[4]; m:layers matmul(w, shape=[8]), relu(); "
    >>> text += "a:output shape=[1]; a:layers matmul(u, node=m), add(c); "
    >>> text += "b:output shape=[1]; b:layers matmul(v, node=m), add(d);"
    >>> print(review(text, scale=16).finding("E205"))
    warning E205: scale 16 leaves little to the weighted losses in float16
      → Set scale to 128 or more.

    Ignore it where the scale grows soon, with a short growth_interval.
    """
    scale = facts.settings.scale
    if (
        not facts.profile.heavy_float16
        or len(facts.network.outputs) < 2
        or facts.settings.loss_weights != "auto"
        or scale >= MIN_SCALE
    ):
        return None
    return Hit(
        message=f"scale {scale:g} leaves little to the weighted losses in float16",
        evidence={"scale": scale},
        changes={"scale": MIN_SCALE},
    )


@rule("E206", "warning", "Write the cast, or declare the types alike.")
def lossy_casts(facts: Facts) -> Hit | None:
    """Inserted casts may lose range (NNM007).

    If operands differ in type the notation casts one of them. From uint32 to int32, and to types of
    lower precision, some numbers do not fit.

    >>> from webnnm import review
    >>> text = "m:input uint32 shape=[2]; m:output shape=[2]; m:constants c int32 [2] [1, 2]; "
    >>> text += "m:layers add(c);"
    >>> print(review(text).finding("E206"))
    warning E206: uint32 to int32 may lose range
      → Write the cast, or declare the types alike.

    Ignore it where the numbers are known to be small.
    """
    warnings = [w for w in facts.network.warnings if w.code == "NNM007"]
    return merge_hits({f"line {w.line}, column {w.column}": w.message for w in warnings})


@rule("E207", "error", "Use the type or the operators that the message names.")
def no_device_support(facts: Facts) -> Hit | None:
    """The backend lacks a data type or an operator for which there is no replacement.

    Backends differ in data types and operators. Most missing operators are decomposed into others;
    this one cannot be.

    >>> from webnnm.expert.facts.facts import DeviceFacts, Facts, Unsupported
    >>> from webnnm.expert.review import review
    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> lost = [Unsupported("matmul1", "float16", "float32")]
    >>> known = Facts(network=elaborate(parse(text)), device=DeviceFacts(unsupported=lost))
    >>> print(review(known).finding("E207"))
    error E207 line 1, column 49: no float16 for matmul1, but float32
      → Use the type or the operators that the message names.

    Never ignore it: the model does not run there.
    """
    missing = facts.device.unsupported
    return merge_hits({u.node: f"no {u.what} for {u.node}, but {u.instead}" for u in missing})


@rule("E208", "info", action="decomposes, or moves to another rank")
def graph_rewrites(facts: Facts) -> Hit | None:
    """Operators were decomposed into others, or moved to another rank, because of backend limits.

    WebNN limits the ranks and types of operators, and browsers lack some operators. The rewritten
    graph gives the same numbers, and may be slower.

    >>> from webnnm.expert.facts.facts import DeviceFacts, Facts
    >>> from webnnm.expert.review import review
    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> device = DeviceFacts(rewrites=["gru: decomposed (2 times)"])
    >>> known = Facts(network=elaborate(parse(text)), device=device)
    >>> print(review(known).finding("E208"))
    info E208: 1 operator rewritten for this backend, such as gru: decomposed (2 times); ...
      done: graphs rewritten

    Ignore it unless the model is slow.
    """
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
