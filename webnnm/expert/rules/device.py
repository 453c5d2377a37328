"""Rules on where the model will run (spec E801–E803)."""

from __future__ import annotations

from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.structure import tensor_bytes
from webnnm.expert.rules.capacity import MAX_FEATURES
from webnnm.expert.rules.rule import Hit, join_names, rule
from webnnm.training.automatic import LAMBDA


@rule("E801", "info", "Set optimize_for='size' to keep float32.", "compute_type='float16'")
def edge_target(facts: Facts) -> Hit | None:
    """optimize_for is 'edge'.

    The settings are then those for neural processors: inputs without a written type become float16
    if the device supports it.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, optimize_for="edge").finding("E801"))
    info E801: made for the NPU: inputs without type are float16
      done: compute_type='float16'

    Ignore it: it only says what was decided.
    """
    if facts.settings.optimize_for != "edge":
        return None
    device = facts.device
    evidence = {"backend": device.backend, "device": device.name}
    # A training runs on the device where its model was created.
    elsewhere = (
        f"; it runs on {device.name or 'the default device'} ({device.backend}), "
        "create(device='npu') asks WebNN for the NPU"
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
    """optimize_for is 'size', and L1 is on.

    L1 brings weights near 0. Weights below its reach are set to 0 at the end, so that files
    compress better.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(review(text, regularization="L1").finding("E802"))
    info E802: L1 with λ1 1e-05 makes small weights exactly 0 at the end
      done: small weights set to 0

    Ignore it: it only says what will be done.
    """
    settings = facts.settings
    kinds = settings.regularization
    automatic = kinds == "auto" and facts.profile.input_features > MAX_FEATURES
    if settings.optimize_for != "size" or not (automatic or "L1" in kinds):
        return None
    strength = settings.lambda1 or LAMBDA["L1"]
    return Hit(
        message=f"L1 with λ1 {strength:g} makes small weights exactly 0 at the end",
        evidence={"lambda1": strength},
        action="small weights set to 0",
    )


@rule("E803", "error", "Use smaller batches or shapes.")
def large_tensor(facts: Facts) -> Hit | None:
    """A tensor is larger than the backend allows (NNM409).

    A backend refuses tensors beyond its limit, 2 GB or less in browsers. The rule checks
    parameters, and the result of every layer for a batch.

    >>> from webnnm.expert.facts.facts import DeviceFacts, Facts
    >>> from webnnm.expert.review import review
    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> device = DeviceFacts(backend="webnn", max_bytes=16)
    >>> known = Facts(network=elaborate(parse(text)), device=device)
    >>> print(review(known).finding("E803"))
    error E803 line 1, column 56: w1 48 bytes; the limit is 16
      → Use smaller batches or shapes.

    Never ignore it: the model does not run there.
    """
    limit = facts.device.max_bytes
    if limit is None:
        return None
    length = facts.data.length
    sizes = tensor_bytes(facts.network, facts.batch_size or 1, length)
    tensors = {name: size for name, size in sizes if size > limit}
    if not tensors:
        return None
    texts = (f"{name} {size:,} bytes" for name, size in tensors.items())
    return Hit(
        message=f"{join_names(texts)}; the limit is {limit:,}",
        nodes=tuple(tensors),
        evidence=tensors | {"limit": limit},
    )
