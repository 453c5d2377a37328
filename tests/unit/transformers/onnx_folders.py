"""Folders of small models in ONNX files, as they are published for transformers.js."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.formats.onnx_models import BOOL, INT64, constant, graph, info, model, node
from webnnm.formats.onnx.messages import GraphProto, NodeProto, OperatorSetIdProto, TensorProto
from webnnm.formats.onnx.writer import serialize

VOCABULARY, SIZE, HEADS = 14, 32, 2
WIDTH = SIZE // HEADS


def numbers(seed: int, *shape: int) -> list[Any]:
    """Return an array of numbers between -1 and 1, in lists."""
    if len(shape) > 1:
        return [numbers(seed * 31 + k, *shape[1:]) for k in range(shape[0])]
    return [((seed * 7919 + k * 104729 + k * k * seed) % 199 - 99) / 99 for k in range(shape[0])]


def weight(name: str, *shape: int) -> TensorProto:
    return constant(name, numbers(len(name) + ord(name[-1]), *shape), "float32")


def write(of: GraphProto) -> bytes:
    given = model(of, opset=17)
    given.ir_version = 8
    given.opset_import.append(OperatorSetIdProto("com.microsoft", 1))
    return serialize(given)


def config(architecture: str, **more: Any) -> bytes:
    return json.dumps(
        {"model_type": "tiny", "architectures": [architecture], "vocab_size": VOCABULARY, **more}
    ).encode()


def classifier(scale: float = 1.0) -> bytes:
    """Return a file that scores texts by the mean of the vectors of their tokens."""
    nodes = [
        node("e = Gather(table, input_ids)"),
        node("m = Cast(attention_mask)", to=1),
        node("m3 = Unsqueeze(m, two)"),
        node("p = Mul(e, m3)"),
        node("sum = ReduceSum(p, one)", keepdims=0),
        node("count = ReduceSum(m3, one)", keepdims=0),
        node("mean = Div(sum, count)"),
        node("scores = MatMul(mean, w)"),
        node("logits = Mul(scores, scale)"),
    ]
    given = [info(name, "batch", "tokens", code=INT64) for name in ("input_ids", "attention_mask")]
    held = [weight("table", VOCABULARY, SIZE), weight("w", SIZE, 3)]
    held += [constant("one", [1]), constant("two", [2]), constant("scale", [scale], "float32")]
    of = graph(nodes, given, [], *held)
    of.output = [info("logits", "batch", 3)]
    return write(of)


PROJECTIONS = [
    node("e = Gather(table, input_ids)"),
    *(node(f"{x}1 = MatMul(e, w{x})") for x in "qkv"),
]
HELD = [
    weight("table", VOCABULARY, SIZE),
    *(weight(f"w{x}", SIZE, SIZE) for x in "qkv"),
    weight("head", SIZE, VOCABULARY),
    constant("one", [1]),
    constant("two", [2]),
    constant("zero", [0]),
    constant("top", 1),
    constant("start", 0),
    constant("heads", [0, 0, HEADS, WIDTH]),
    constant("flat", [0, 0, SIZE]),
    constant("hidden", -1e9, "float32"),
    constant("unit", 1.0, "float32"),
    constant("scale", WIDTH**-0.5, "float32"),
    weight("places", 64, SIZE),
]


def attention() -> list[NodeProto]:
    """Return causal attention over a past and new tokens, masked by `attention_mask`."""
    split = [
        step
        for x in "qkv"
        for step in (
            node(f"{x}2 = Reshape({x}1, heads)"),
            node(f"{x} = Transpose({x}2)", perm=[0, 2, 1, 3]),
        )
    ]
    return [
        *split,
        node("present.0.key = Concat(past_key_values.0.key, k)", axis=2),
        node("present.0.value = Concat(past_key_values.0.value, v)", axis=2),
        node("kt = Transpose(present.0.key)", perm=[0, 1, 3, 2]),
        node("s1 = MatMul(q, kt)"),
        node("s2 = Mul(s1, scale)"),
        node("sizes = Shape(s2)"),
        node("rows = Slice(sizes, two, three)"),
        node("columns = Slice(sizes, three, four)"),
        node("row_count = Squeeze(rows, zero)"),
        node("column_count = Squeeze(columns, zero)"),
        node("past = Sub(column_count, row_count)"),
        node("r1 = Range(start, row_count, top)"),
        node("r2 = Add(r1, past)"),
        node("r = Unsqueeze(r2, one)"),
        node("c = Range(start, column_count, top)"),
        node("later = Greater(c, r)"),
        node("later_f = Cast(later)", to=1),
        node("m1 = Cast(attention_mask)", to=1),
        node("m2 = Sub(unit, m1)"),
        node("m3 = Unsqueeze(m2, one)"),
        node("m4 = Unsqueeze(m3, one)"),
        node("off1 = Max(later_f, m4)"),
        node("off = Mul(off1, hidden)"),
        node("s3 = Add(s2, off)"),
        node("a = Softmax(s3)", axis=3),
        node("y1 = MatMul(a, present.0.value)"),
        node("y2 = Transpose(y1)", perm=[0, 2, 1, 3]),
        node("y = Reshape(y2, flat)"),
    ]


def grouped_attention() -> list[NodeProto]:
    """Return the same as one operator of ONNX Runtime, which rotates by positions."""
    return [
        node("sum = ReduceSum(attention_mask, one)", keepdims=1),
        node("before = Sub(sum, top)"),
        node("lengths = Cast(before)", to=6),
        node("mask_sizes = Shape(attention_mask)"),
        node("total1 = Gather(mask_sizes, top)"),
        node("total = Cast(total1)", to=6),
        node(
            "y, present.0.key, present.0.value = com.microsoft.GroupQueryAttention("
            "q1, k1, v1, past_key_values.0.key, past_key_values.0.value, lengths, total, cos, sin)",
            num_heads=HEADS,
            kv_num_heads=HEADS,
            do_rotary=1,
        ),
    ]


def decoder(*, grouped: bool = False, positions: bool = True, merged: bool = False) -> bytes:
    """Return a file that continues texts, with keys and values as inputs and outputs.

    With `positions`, these are an input; `merged` has a branch for texts without a past.
    """
    tokens = [node("logits = MatMul(y, head)")]
    nodes = [*PROJECTIONS, *(grouped_attention() if grouped else attention()), *tokens]
    given = [
        info("input_ids", "batch", "tokens", code=INT64),
        info("attention_mask", "batch", "all", code=INT64),
    ]
    if positions:
        given.append(info("position_ids", "batch", "tokens", code=INT64))
        nodes[:1] = [
            node("e1 = Gather(table, input_ids)"),
            node("e2 = Gather(places, position_ids)"),
            node("e = Add(e1, e2)"),
        ]
    given += [
        info(f"past_key_values.0.{x}", "batch", HEADS, "past", WIDTH) for x in ("key", "value")
    ]
    outputs = ["logits", "present.0.key", "present.0.value"]
    held = [*HELD, constant("three", [3]), constant("four", [4])]
    if grouped:
        held += [weight(name, 64, WIDTH // 2) for name in ("cos", "sin")]
    of = graph(nodes, given, outputs, *held)
    if merged:  # the branches compute the same
        branches = [
            graph([_renamed(one, prefix) for one in nodes], [], [f"{prefix}{x}" for x in outputs])
            for prefix in ("then.", "else.")
        ]
        call = node(
            f"{', '.join(outputs)} = If(use_cache_branch)",
            then_branch=branches[0],
            else_branch=branches[1],
        )
        of = graph([call], [*given, info("use_cache_branch", 1, code=BOOL)], outputs, *held)
    of.output = [
        info("logits", "batch", "tokens", VOCABULARY),
        *(info(name, "batch", HEADS, "all", WIDTH) for name in outputs[1:]),
    ]
    return write(of)


OUTER = {"input_ids", "attention_mask", "position_ids", *(tensor.name for tensor in HELD)}
OUTER |= {"past_key_values.0.key", "past_key_values.0.value", "three", "four", ""}


def _renamed(one: NodeProto, prefix: str) -> NodeProto:
    """Return a node of a branch, whose values have a prefix."""
    inputs = [name if name in OUTER else prefix + name for name in one.input]
    outputs = [prefix + name for name in one.output]
    return NodeProto(inputs, outputs, "", one.op_type, one.attribute, one.domain)


def encoder() -> bytes:
    """Return a file that reads the source of a translation."""
    nodes = [node("last_hidden_state = Gather(table, input_ids)")]
    given = [info(name, "batch", "source", code=INT64) for name in ("input_ids", "attention_mask")]
    of = graph(nodes, given, [], weight("table", VOCABULARY, SIZE))
    of.output = [info("last_hidden_state", "batch", "source", SIZE)]
    return write(of)


def translator() -> bytes:
    """Return the decoder that goes with `encoder`: each token sees those before, and the source."""
    nodes = [
        node("e = Gather(table, input_ids)"),
        node("before = CumSum(e, top)"),
        node("m1 = Cast(encoder_attention_mask)", to=1),
        node("m = Unsqueeze(m1, two)"),
        node("h = Mul(encoder_hidden_states, m)"),
        node("sum = ReduceSum(h, one)", keepdims=1),
        node("n = ReduceSum(m, one)", keepdims=1),
        node("mean = Div(sum, n)"),
        node("y1 = Sub(before, mean)"),
        node("y = Tanh(y1)"),
        node("logits = MatMul(y, head)"),
    ]
    given = [
        info("encoder_attention_mask", "batch", "source", code=INT64),
        info("input_ids", "batch", "tokens", code=INT64),
        info("encoder_hidden_states", "batch", "source", SIZE),
    ]
    held = [weight("table", VOCABULARY, SIZE), weight("head", SIZE, VOCABULARY)]
    held += [constant("one", [1]), constant("two", [2]), constant("top", 1)]
    of = graph(nodes, given, [], *held)
    of.output = [info("logits", "batch", "tokens", VOCABULARY)]
    return write(of)
