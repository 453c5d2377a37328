"""Folders of small models in ONNX files, as they are published for transformers.js."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.formats.onnx_models import BOOL, INT64, constant, graph, info, model, node
from webnnm.formats.onnx.messages import GraphProto, NodeProto, OperatorSetIdProto, TensorProto
from webnnm.formats.onnx.writer import serialize

VOCABULARY, SIZE, HEADS = 14, 32, 2
OF_BOTH = ("decoder", "encoder")
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


PROJECTIONS = [node(f"{x}1 = MatMul(e, w{x})") for x in "qkv"]
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
    constant("three", [3]),
    constant("four", [4]),
    constant("farthest", 5),
    weight("places", 64, SIZE),
    weight("angles", 1, SIZE),
    weight("biases", 6),
    constant("step", 0.05, "float32"),
    constant("middle", 128, "uint8"),
]


def split_heads(x: str) -> list[NodeProto]:
    """Return the heads of a projection, [batch, heads, tokens, size]."""
    return [
        node(f"{x}2 = Reshape({x}1, heads)"),
        node(f"{x} = Transpose({x}2)", perm=[0, 2, 1, 3]),
    ]


def attention(
    which: str = "", *, masked: bool = True, past: bool = True, biased: bool = False
) -> list[NodeProto]:
    """Return causal attention over a past and new tokens, masked by `attention_mask`.

    `which` is in the names of keys and values; `past`, whether there is one; with `biased`, what a
    token sees depends on how far away it is.
    """
    keys, values = (f"0.{which}{name}" for name in ("key", "value"))
    return [
        *(step for x in "qkv" for step in split_heads(x)),
        *(
            node(f"present.{name} = Concat(past_key_values.{name}, {x})", axis=2)
            if past
            else node(f"present.{name} = Identity({x})")
            for name, x in ((keys, "k"), (values, "v"))
        ),
        node(f"kt = Transpose(present.{keys})", perm=[0, 1, 3, 2]),
        node("s1 = MatMul(q, kt)"),
        node("s2 = Mul(s1, scale)"),
        node("sizes = Shape(s2)"),
        node("rows = Slice(sizes, two, three)"),
        node("columns = Slice(sizes, three, four)"),
        node("row_count = Squeeze(rows, zero)"),
        node("column_count = Squeeze(columns, zero)"),
        node("before = Sub(column_count, row_count)"),
        node("r1 = Range(start, row_count, top)"),
        node("r2 = Add(r1, before)"),
        node("r = Unsqueeze(r2, one)"),
        node("c = Range(start, column_count, top)"),
        node("later = Greater(c, r)"),
        *_hide("later", masked=masked),
        node("off = Mul(off1, hidden)"),
        node("s3 = Add(s2, off)"),
        *(
            [
                node("d1 = Sub(r, c)"),
                node("d2 = Max(d1, start)"),
                node("d = Min(d2, farthest)"),
                node("near = Gather(biases, d)"),
                node("s4 = Add(s3, near)"),
            ]
            if biased
            else [node("s4 = Identity(s3)")]
        ),
        node("a = Softmax(s4)", axis=3),
        node(f"y1 = MatMul(a, present.{values})"),
        node("y2 = Transpose(y1)", perm=[0, 2, 1, 3]),
        node("y = Reshape(y2, flat)"),
    ]


def _hide(later: str, *, masked: bool) -> list[NodeProto]:
    """Return 1 for what is hidden: later tokens, and those that `attention_mask` leaves out."""
    if not masked:
        return [node(f"off1 = Cast({later})", to=1)]
    return [
        node(f"later_f = Cast({later})", to=1),
        node("m1 = Cast(attention_mask)", to=1),
        node("m2 = Sub(unit, m1)"),
        node("m3 = Unsqueeze(m2, one)"),
        node("m4 = Unsqueeze(m3, one)"),
        node("off1 = Max(later_f, m4)"),
    ]


def embed(positions: str, past: str = "past_key_values.0.key") -> list[NodeProto]:
    """Return the vectors of tokens, `e`, by how they depend on positions.

    "input" takes these as an input; "gathered", "sliced" and "rotated" derive them from the size of
    the past.
    """
    if positions == "none":
        return [node("e = Gather(table, input_ids)")]
    own = {
        "input": [node("e2 = Gather(places, position_ids)")],
        "gathered": [node("e2 = Gather(places, numbers)")],
        "sliced": [node("e2 = Slice(places, first, last)")],
        "rotated": [
            node("n1 = Cast(numbers)", to=1),
            node("n2 = Unsqueeze(n1, one)"),
            node("n3 = Mul(n2, angles)"),
            node("e2 = Cos(n3)"),
        ],
    }[positions]
    count = [
        node(f"past_sizes = Shape({past})"),
        node("first = Slice(past_sizes, two, three)"),
        node("id_sizes = Shape(input_ids)"),
        node("new = Slice(id_sizes, one, two)"),
        node("last = Add(first, new)"),
        node("from = Squeeze(first, zero)"),
        node("to = Squeeze(last, zero)"),
        node("numbers = Range(from, to, top)"),
    ]
    return [
        node("e1 = Gather(table, input_ids)"),
        *(count if positions != "input" else []),
        *own,
        node("e = Add(e1, e2)"),
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


def decoder(
    *,
    grouped: bool = False,
    positions: str = "input",
    merged: bool = False,
    masked: bool = True,
    biased: bool = False,
    integers: bool = False,
) -> bytes:
    """Return a file that continues texts, with keys and values as inputs and outputs.

    `positions` are those of `embed`; `merged` has a branch for texts without a past; `integers`,
    scores that are products of integers.
    """
    own = grouped_attention() if grouped else attention(masked=masked, biased=biased)
    scores = [
        node("yq = QuantizeLinear(y, step, middle)"),
        node("hq = QuantizeLinear(head, step, middle)"),
        # So many products do not fit into one exact sum of floats.
        node(f"yw = Concat({', '.join(['yq'] * 9)})", axis=-1),
        node(f"hw = Concat({', '.join(['hq'] * 9)})", axis=0),
        node("i = MatMulInteger(yw, hw, middle, middle)"),
        node("f = Cast(i)", to=1),
        node("logits = Mul(f, step)"),
    ]
    if not integers:
        scores = [node("logits = MatMul(y, head)")]
    nodes = [*embed(positions), *PROJECTIONS, *own, *scores]
    given = [info("input_ids", "batch", "tokens", code=INT64)]
    if masked:
        given.append(info("attention_mask", "batch", "all", code=INT64))
    if positions == "input":
        given.append(info("position_ids", "batch", "tokens", code=INT64))
    given += [
        info(f"past_key_values.0.{x}", "batch", HEADS, "past", WIDTH) for x in ("key", "value")
    ]
    outputs = ["logits", "present.0.key", "present.0.value"]
    held = [*HELD]
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


OUTER = {
    "nothing",
    "input_ids",
    "attention_mask",
    "position_ids",
    *(tensor.name for tensor in HELD),
}
OUTER |= {"past_key_values.0.key", "past_key_values.0.value", ""}
OUTER |= {f"past_key_values.0.{which}.{x}" for which in OF_BOTH for x in ("key", "value")}
OUTER |= {"encoder_hidden_states", "encoder_attention_mask"}


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


STATES = [f"0.{which}.{x}" for which in OF_BOTH for x in ("key", "value")]


def _answer(*, past: bool, positions: str, biased: bool) -> list[NodeProto]:
    """Return a decoder that attends to its own tokens, and to what an encoder has read."""
    of_source = [
        step
        for x, name in (("k", "key"), ("v", "value"))
        for step in (
            node(f"of_{x}1 = MatMul(encoder_hidden_states, w{x})"),
            node(f"of_{x}2 = Reshape(of_{x}1, heads)"),
            node(f"present.0.encoder.{name} = Transpose(of_{x}2)", perm=[0, 2, 1, 3]),
        )
    ]
    read = "past_key_values" if past else "present"
    return [
        *embed(positions, "past_key_values.0.decoder.key"),
        *PROJECTIONS,
        *attention("decoder.", masked=False, past=past, biased=biased),
        *([] if past else of_source),
        node("x1 = Add(y, e)"),
        node("x2 = Reshape(x1, heads)"),
        node("x = Transpose(x2)", perm=[0, 2, 1, 3]),
        node(f"xt = Transpose({read}.0.encoder.key)", perm=[0, 1, 3, 2]),
        node("t1 = MatMul(x, xt)"),
        node("u1 = Cast(encoder_attention_mask)", to=1),
        node("u2 = Sub(unit, u1)"),
        node("u3 = Mul(u2, hidden)"),
        node("u4 = Unsqueeze(u3, one)"),
        node("u5 = Unsqueeze(u4, one)"),
        node("t2 = Add(t1, u5)"),
        node("t = Softmax(t2)", axis=3),
        node(f"z1 = MatMul(t, {read}.0.encoder.value)"),
        node("z2 = Transpose(z1)", perm=[0, 2, 1, 3]),
        node("z3 = Reshape(z2, flat)"),
        node("z = Add(z3, x1)"),
        node("logits = MatMul(z, head)"),
    ]


def answerer(part: str = "merged", *, positions: str = "gathered", biased: bool = False) -> bytes:
    """Return the decoder that goes with `encoder`, with the keys and values of both.

    `part` is "merged", with a branch for texts without a past, "first" or "further", the files of
    these branches alone. Without a past, positions begin at 0.
    """
    first = "gathered" if positions in ("gathered", "sliced") else positions
    branches = {
        "first": _answer(past=False, positions=first, biased=biased),
        "further": _answer(past=True, positions=positions, biased=biased),
    }
    states = [info(f"past_key_values.{x}", "batch", HEADS, "past", WIDTH) for x in STATES]
    given = [
        info("encoder_attention_mask", "batch", "source", code=INT64),
        info("input_ids", "batch", "tokens", code=INT64),
        info("encoder_hidden_states", "batch", "source", SIZE),
    ]
    outputs = [
        info("logits", "batch", "tokens", VOCABULARY),
        *(info(f"present.{x}", "batch", HEADS, "all", WIDTH) for x in STATES),
    ]
    if part == "first":
        nodes = [node("past_key_values.0.decoder.key = Identity(nothing)"), *branches[part]]
        of = graph(nodes, given, [], *HELD, constant("nothing", [[[]]], "float32"))
    elif part == "further":
        outputs = [output for output in outputs if ".encoder." not in output.name]
        of = graph(branches[part], [*given, *states], [], *HELD)
    else:
        empty = [0, HEADS, 1, WIDTH]
        dummies = [
            node(f"present.0.encoder.{x} = ConstantOfShape(nothing)") for x in ("key", "value")
        ]
        names = [output.name for output in outputs]
        chosen = {
            name: graph([_renamed(one, prefix) for one in nodes], [], [prefix + x for x in names])
            for name, prefix, nodes in (
                ("then_branch", "then.", [*branches["further"], *dummies]),
                ("else_branch", "else.", branches["first"]),
            )
        }
        call = node(f"{', '.join(names)} = If(use_cache_branch)", **chosen)
        given = [*given, *states, info("use_cache_branch", 1, code=BOOL)]
        of = graph([call], given, [], *HELD, constant("nothing", empty))
    of.output = outputs
    return write(of)
