"""Rules on where the model will run (spec E801–E803)."""

from __future__ import annotations

from webnnm.expert.facts import Facts
from webnnm.expert.rule import Hit, listed, rule
from webnnm.expert.rules_capacity import LAMBDA, MANY_FEATURES
from webnnm.expert.structure import tensor_bytes


@rule("E801", "info", "Set optimize_for='size' to keep float32.", "compute_type='float16'")
def edge(facts: Facts) -> Hit | None:
    """optimize_for is 'edge'."""
    if facts.settings.get("optimize_for") != "edge":
        return None
    device = facts.device
    evidence = {"backend": device.backend, "device_type": device.device_type}
    # A training runs where its model was created.
    elsewhere = (
        f"; it runs on {device.device_type or 'the default device'} ({device.backend}), "
        "create(device_type='npu') asks WebNN for the NPU"
    ) * bool(device.backend and not facts.npu)
    if device.float16:
        return Hit(
            message=f"made for the NPU: inputs without type are float16{elsewhere}",
            evidence=evidence,
            changes={"compute_type": "float16"},
        )
    name = device.backend or "the backend"
    return Hit(message=f"{name} has no float16, float32 is kept{elsewhere}", evidence=evidence)


@rule("E802", "info", "Set regularization='L2' or 'off' to keep them.", "sets small weights to 0")
def small_weights(facts: Facts) -> Hit | None:
    """optimize_for is 'size', and L1 is on."""
    get = facts.settings.get
    written = get("regularization")
    automatic = written == "auto" and facts.profile.input_features > MANY_FEATURES
    if get("optimize_for") != "size" or not (automatic or "L1" in str(written)):
        return None
    strength = get("lambda1") or LAMBDA["L1"]
    return Hit(
        message=f"L1 with λ1 {strength:g} makes small weights exactly 0 at the end",
        evidence={"lambda1": strength},
        action="small weights set to 0",
    )


@rule("E803", "error", "Use smaller batches or shapes.")
def too_large(facts: Facts) -> Hit | None:
    """A tensor is larger than the backend allows (NNM409)."""
    limit = facts.device.max_bytes
    if limit is None:
        return None
    length = facts.data.length
    sizes = tensor_bytes(facts.network, facts.batch_size or 1, length)
    found = {name: size for name, size in sizes if size > limit}
    if not found:
        return None
    texts = (f"{name} {size:,} bytes" for name, size in found.items())
    return Hit(
        message=f"{listed(texts)}; the limit is {limit:,}",
        nodes=tuple(found),
        evidence=found | {"limit": limit},
    )
