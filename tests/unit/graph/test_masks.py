"""Masks of sequences in the lowering: who has one, what graphs they make (spec G.6, E.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.graph.texts import model, network
from webnnm.compiler.plan import lower
from webnnm.core.errors import DataError, ModelError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import Lowered, lower_network
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops import register, unregister
from webnnm.ops.declare.layer import BuildView, LayerRules
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Composite, Slot
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder

BATCH, LENGTH = 3, 6
ON_WORDS = "shape=[4] sequence=words"


def lower_with_masks(text: str, **options: Any) -> Lowered:
    """Lower a text with a mask for every sequence, which are graph inputs."""
    b = GraphBuilder()
    net = network(text)
    names = {vertex.features[0].sequence for vertex in net.inputs} - {None}
    masks = {str(n): b.input(f"mask/{n}", "float32", (BATCH, LENGTH)) for n in names}
    sequence = dict.fromkeys(masks, LENGTH)
    return lower_network(net, batch=BATCH, sequence=sequence, builder=b, masks=masks, **options)


def operators(lowered: Lowered) -> set[str]:
    nodes = lowered.builder.nodes
    return {node.operator.name for node in nodes if isinstance(node, OperatorNode)}


@pytest.mark.parametrize(
    ("layers", "output"),
    [
        ("tanh()", "shape=[4]"),
        ("matmul(w), add(b), relu(), dropout(0.5)", "shape=[3]"),
        ("reverse(axis=features)", "shape=[4]"),
        ("transpose(permutation=[words, batch, features])", "shape=[4]"),
        ("positionalEncoding()", "shape=[4]"),
        ("lstm(w, r, returnSequence=true)", "shape=[3]"),
        ("conv1d(f, kernel=3, padding=1)", "shape=[2]"),
        ("softmax(axis=words)", "shape=[4]"),
    ],
)
def test_a_sequence_that_keeps_its_length_keeps_its_mask(layers: str, output: str) -> None:
    lowered = lower_with_masks(model(layers, input=ON_WORDS, output=output))
    assert lowered.masks["m"].node.label == "mask/words"


def test_an_output_without_a_sequence_has_no_mask() -> None:
    assert not lower_with_masks(
        model("reduceMean(axis=words)", input=ON_WORDS, output="shape=[4]")
    ).masks
    assert not lower_with_masks(model("tanh()", input="shape=[4]", output="shape=[4]")).masks


def test_a_sequence_that_changes_its_length_has_a_mask_of_its_own() -> None:
    text = model("conv1d(f, filters=2, kernel=3)", input=ON_WORDS, output="shape=[2]")
    assert lower_with_masks(text).masks["m"].shape == (BATCH, LENGTH - 2)


def test_values_of_two_sequences_have_masks_by_name() -> None:
    ports = f"a:input {ON_WORDS}; m:input shape=[4] sequence=others; m:output shape=[4];"
    lowered = lower_with_masks(f"{ports} a:layers tanh(name=t); m:layers attend(q, k, v, to=t);")
    assert lowered.masks["m"].node.label == "mask/others"


METHODS = """
add sub mul div max min cast equal greater greaterOrEqual lesser where concat expand gather reshape
transpose slice split reverse triangular pad matmul conv2d softmax sqrt reciprocal tanh sigmoid
reduceSum reduceMax reduceMean batchNormalization
"""
"""Methods of WebNN that masked graphs of these layers may take."""

EVERYTHING = {
    "attention": "attend(q, k, v, heads=2, causal=true, rope=true)",
    "recurrence": "lstm(w, r, hiddenSize=4, direction=backward, returnSequence=true)",
    "units": "gru(w, r, hiddenSize=4)",
    "reductions": "reduceMean(axis=words), add(1)",
    "extrema": "reduceMax(axis=words), add(1)",
    "positions": "gather(shape={words:-1})",
    "shares": "gather(shape={words:50%})",
    "reversal": "reverse(axis=words)",
    "convolution": "conv1d(f, filters=4, kernel=4, strides=2, padding=same)",
    "softmax": "softmax(axis=words)",
    "statistics": "batchNorm()",
    "norms": "layerNorm(axes=[words, features])",
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("layers", EVERYTHING.values(), ids=list(EVERYTHING))
def test_masked_graphs_need_only_what_webnn_has(layers: str, training: bool) -> None:
    lowered = lower_with_masks(model(layers, input=ON_WORDS, output="shape=[4]"), training=training)
    results = {**lowered.outputs, **lowered.updates}
    plan = lower(lowered.builder.build(results))
    names = {operator["op"] for operator in plan.content["operators"]}
    assert names <= set(METHODS.split())


@pytest.mark.parametrize("layers", EVERYTHING.values(), ids=list(EVERYTHING))
def test_without_masks_graphs_are_as_they_were(layers: str) -> None:
    text = model(layers, input=ON_WORDS, output="shape=[4]")
    plain = [
        lower_network(network(text), batch=BATCH, sequence={"words": LENGTH}, masks=masks)
        for masks in (None, {})
    ]
    assert operators(plain[0]) == operators(plain[1])
    assert not any(lowered.masks for lowered in plain)
    assert not operators(plain[0]) & {"lesser", "where", "greater"}


@pytest.mark.parametrize("layers", EVERYTHING.values(), ids=list(EVERYTHING))
def test_half_precision_has_masks(layers: str) -> None:
    half = "float16 " + ON_WORDS
    lowered = lower_with_masks(
        model(layers, input=half, output="float16 shape=[4]"), training=False
    )
    assert lowered.outputs["m"].dtype == "float16"


def test_a_mask_of_another_type_is_refused() -> None:
    for dtype, shape in (("float32", (2, 5)), ("uint8", (2, 4)), ("float32", (4, 2))):
        b = GraphBuilder()
        masks: Mapping[str, Operand] = {"words": b.input("mask", dtype, shape)}  # type: ignore[arg-type]
        with pytest.raises(DataError, match="NNM702") as caught:
            lower_network(
                network(model("tanh()", input=ON_WORDS, output="shape=[4]")),
                batch=2,
                sequence={"words": 4},
                builder=b,
                masks=masks,
            )
        assert caught.value.hint == "its type is float32[2, 4]"


def test_a_layer_that_changes_the_length_without_a_mask_is_refused() -> None:
    def build(b: Builder, layer: BuildView) -> LayoutTensor:
        flow = layer.operands[0]
        sizes = (flow.size("batch"), 2, *flow.features)
        x = b.slice(flow.tensor, starts=(0,) * len(sizes), sizes=sizes)
        return LayoutTensor(x, flow.layout, flow.sequence)

    shorter = Composite(
        name="shorter",
        summary="the first two positions",
        operands=(Slot(name="input"),),
        options={},
        decompose=lambda b, x: x,
        samples=(),
        layer=LayerRules(shape=same_shape, build=build),
    )
    register(shorter)
    try:
        text = model("shorter()", input=ON_WORDS, output="shape=[4]")
        net = network(text)
        assert lower_network(net, sequence={"words": 4}).outputs["m"].shape == (1, 2, 4)
        with pytest.raises(ModelError, match="NNM411"):
            lower_with_masks(text)
    finally:
        unregister("shorter")
