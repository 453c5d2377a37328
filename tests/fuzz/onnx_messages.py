"""ONNX files whose messages were changed: well-formed, and refused by name or imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.frame import Target
from tests.fuzz.watch import WATCH
from tests.unit.formats.onnx_models import INT64, constant, graph, info, model, node
from webnnm.core.errors import WebNNMError
from webnnm.formats.onnx.importing.folding import MAX_FOLDED_TOTAL_BYTES
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.formats.onnx.messages import (
    TYPES,
    DimensionProto,
    Message,
    ModelProto,
    OperatorSetIdProto,
    TensorProto,
)
from webnnm.formats.onnx.part import ModelFile
from webnnm.formats.onnx.reader import decode, read_model
from webnnm.formats.onnx.writer import serialize
from webnnm.graph.node import ConstantNode, Graph

Case = dict[str, Any]
"""`base`, the model that is changed, and `edits`: place, what is done there, a number."""

INTEGERS = (0, 1, -1, 2, 3, 7, 13, 255, 65537, 2**31 - 1, 2**31, 2**40, 2**62, -(2**63))
FLOATS = (0.0, -1.0, 0.5, 1e38, -1e-40, float("inf"), float("nan"))
WORDS = ("", "x", "y", "w", "Relu", "Reshape", "Loop", "Conv", "axes", "com.microsoft", "\u00e9")
HOW = ("set", "borrow", "drop", "double", "swap", "reverse")
SHAPES = {"batch": 2}


def picture() -> ModelProto:
    """Return a small network of pictures, quantised at its end."""
    nodes = [
        node("a = Conv(x, w, b)", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("c = BatchNormalization(a, b, b, b, v)"),
        node("d = Clip(c, low, high)"),
        node("e = MaxPool(d)", kernel_shape=[2, 2]),
        node("f = Resize(e, , scales)"),
        node("q = QuantizeLinear(f, s, z)"),
        node("y = DequantizeLinear(q, s, z)"),
    ]
    tensors = [
        constant("w", [[[[0.5] * 3] * 3]] * 4, "float32"),
        *(constant(name, [0.5] * 4, "float32") for name in "bv"),
        *(constant(name, value, "float32") for name, value in (("low", -1.0), ("high", 1.0))),
        constant("scales", [1.0, 1.0, 2.0, 2.0], "float32"),
        constant("s", 0.1, "float32"),
        constant("z", 3, "uint8"),
    ]
    return model(graph(nodes, [info("x", "batch", 1, 8, 8)], ["y"], *tensors))


def shapes() -> ModelProto:
    """Return a network that computes about its own shape."""
    nodes = [
        node("n = Shape(x)"),
        node("m = Gather(n, zero)"),
        node("k = Concat(m, rest)", axis=0),
        node("r = Reshape(x, k)"),
        node("t = Transpose(r)", perm=[1, 0]),
        node("p = Slice(t, zero, two)"),
        node("e = Expand(p, wide)"),
        node("g = TopK(e, one)"),
        node("c = ConstantOfShape(wide)", value=constant("", [1.5], "float32")),
        node("y = Add(e, c)"),
    ]
    lists = {"zero": [0], "rest": [-1], "two": [2], "wide": [2, 2], "one": [1]}
    tensors = [constant(name, value) for name, value in lists.items()]
    nodes[7].output.append("at")
    return model(graph(nodes, [info("x", "batch", 2, 3)], ["y", "g"], *tensors))


def control() -> ModelProto:
    """Return a network with a loop, a branch, and a scan."""
    body = graph(
        [node("o = Identity(c)"), node("s = Add(v, step)"), node("u = Identity(s)")],
        [info("i", code=INT64), info("c", code=9), info("v", "batch", 3)],
        ["o", "s", "u"],
    )
    yes, no = graph([node("l = Relu(s2)")], [], ["l"]), graph([node("l = Neg(s2)")], [], ["l"])
    nodes = [
        node("s2, all = Loop(times, go, x)", body=body),
        node("y = If(go)", then_branch=yes, else_branch=no),
        node("z = ReduceSum(all)", keepdims=0),
    ]
    tensors = [
        constant("times", 3),
        constant("step", [[1.0, 2.0, 3.0]], "float32"),
        constant("go", 1, "uint8"),
    ]
    tensors[2].data_type = 9
    return model(graph(nodes, [info("x", "batch", 3)], ["y", "z"], *tensors))


def steps() -> ModelProto:
    """Return a recurrent network behind an embedding."""
    nodes = [
        node("g = Gather(table, x)"),
        node("t = Transpose(g)", perm=[1, 0, 2]),
        node("r, h = GRU(t, w, u)", hidden_size=2),
        node("q = Squeeze(h, first)"),
        node("y = Softmax(q)", axis=-1),
        node("z = Einsum(q, q)"),
    ]
    tensors = [
        constant("table", [[0.1, 0.2, 0.3]] * 5, "float32"),
        constant("w", [[[0.1] * 3] * 6], "float32"),
        constant("u", [[[0.1] * 2] * 6], "float32"),
        constant("first", [0]),
    ]
    nodes.pop()
    return model(graph(nodes, [info("x", "batch", 3, code=INT64)], ["y"], *tensors))


def boxes() -> ModelProto:
    """Return a detector: it selects boxes, and features of regions."""
    nodes = [
        node("s = Sigmoid(x)"),
        node("n = NonMaxSuppression(r, s, most, half, half)"),
        node("k = Gather(n, two)", axis=1),
        node("c = Squeeze(k, last)"),
        node("f = Squeeze(r, zero)"),
        node("y = Gather(f, c)"),
        node("b = ConstantOfShape(four)", value=constant("", [0])),
        node("a = RoiAlign(p, f, b)", output_height=2, output_width=3, sampling_ratio=1),
        node("t, i = TopK(s, most)"),
        node("q = NonZero(s)"),
        node("z = Unsqueeze(a, zero)"),
    ]
    lists = {"zero": [0], "two": [2], "last": [-1], "most": [2], "four": [4]}
    tensors = [
        *(constant(name, value) for name, value in lists.items()),
        constant("half", [0.5], "float32"),
        constant("r", [[[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 2.0, 2.0]] * 2], "float32"),
    ]
    given = [info("x", 1, "batch", 4), info("p", 1, 2, 5, 5)]
    return model(graph(nodes, given, ["z", "t", "y", "q"], *tensors))


def indices() -> ModelProto:
    """Return a network that gathers and scatters by known indices."""
    nodes = [
        node("a = Gather(x, i)", axis=1),
        node("b = GatherElements(a, e)", axis=0),
        node("c = GatherND(a, p)"),
        node("d = ScatterElements(a, e, u)", axis=1),
        node("f = ScatterND(d, p, v)"),
        node("g = Slice(f, start, end, axes, step)"),
        node("h = OneHot(i, depth, u2)", axis=-1),
        node("k = Einsum(b, h)", equation="ij,kl->ijkl"),
        node("l, m = Split(f, parts)", axis=1),
        node("o = ReverseSequence(f, lengths)"),
        node("q = Compress(o, truth)", axis=1),
        node("y = Concat(q, l)", axis=1),
    ]
    integers = {
        "i": [2, 0, -1],
        "e": [[1, 0, 1]],
        "p": [[0, 2], [1, 0]],
        "start": [-1],
        "end": [-9],
    }
    integers |= {"axes": [1], "step": [-2], "depth": [3], "parts": [1, 2], "lengths": [1, 2, 2]}
    tensors = [
        *(constant(name, value) for name, value in integers.items()),
        constant("u", [[0.5, 1.5, 2.5]], "float32"),
        constant("v", [7.0, 8.0], "float32"),
        constant("u2", [0.0, 1.0], "float32"),
        constant("truth", [1, 0, 1], "uint8"),
    ]
    tensors[-1].data_type = 9
    return model(graph(nodes, [info("x", "batch", 3)], ["y", "g", "k", "c"], *tensors))


def types() -> ModelProto:
    """Return a network of many types: float64, 16 bits, texts, random numbers."""
    nodes = [
        node("d = Cast(x)", to=11),
        node("e = Mul(d, w)"),
        node("r = RandomNormalLike(e)", scale=0.5),
        node("f = Add(e, r)"),
        node("q = QuantizeLinear(x, s, z)"),
        node("g = DequantizeLinear(q, s, z)"),
        node("h = Cast(f)", to=1),
        node("b = Bernoulli(g)"),
        node("t = Constant()", value=TensorProto([1], 8, string_data=[b"label"])),
        node("n = Range(one, five, two)"),
        node("m = EyeLike(x)", dtype=11),
        node("y = Sum(h, g, b)"),
    ]
    short = TensorProto([1], 4, name="z", raw_data=b"\x00\x80")
    tensors = [
        constant("w", [[0.5, 1.5, 2.5]], "float64"),
        constant("s", [0.125], "float32"),
        short,
        *(constant(name, value) for name, value in (("one", 1), ("two", 2), ("five", 5))),
    ]
    return model(graph(nodes, [info("x", "batch", 3)], ["y", "m", "n"], *tensors))


def integers() -> ModelProto:
    """Return a network of quantised layers, as ONNX Runtime writes them."""
    own = "com.microsoft"
    nodes = [
        node("q = QuantizeLinear(x, s, z)"),
        node("c = QLinearConv(q, s, z, w, t, k, s, z, b)", pads=[1, 1, 1, 1]),
        node(f"a = {own}.QLinearAdd(c, s, z, c, s, z, s, z)"),
        node(f"g = {own}.QLinearGlobalAveragePool(a, s, z, s, z)", channels_last=0),
        node("f = Flatten(g)"),
        node(f"m = {own}.QGemm(f, s, z, v, s, z, , s, z)", transB=1),
        node(f"p = {own}.QLinearSoftmax(m, s, z, s, z)", axis=-1, opset=13),
        node("d = DequantizeLinear(p, s, z)"),
        node("u, us, uz = DynamicQuantizeLinear(d)"),
        node("i = MatMulInteger(u, v2, uz)"),
        node("y = Cast(i)", to=1),
    ]
    tensors = [
        constant("s", 0.1, "float32"),
        constant("z", 128, "uint8"),
        constant("w", [[[[100] * 3] * 3]] * 2, "uint8"),
        constant("t", [0.1, 0.2], "float32"),
        constant("k", [120, 90], "uint8"),
        constant("b", [3, -3], "int32"),
        constant("v", [[5, 200]] * 3, "uint8"),
        constant("v2", [[5, 200]] * 3, "uint8"),
    ]
    return model(graph(nodes, [info("x", "batch", 1, 4, 4)], ["y"], *tensors))


BASES: dict[str, Callable[[], ModelProto]] = {
    "picture": picture,
    "shapes": shapes,
    "control": control,
    "steps": steps,
    "boxes": boxes,
    "indices": indices,
    "types": types,
    "integers": integers,
}


@cache
def original(base: str) -> bytes:
    """Return the file of a model that nothing is wrong with."""
    made = BASES[base]()
    made.opset_import.append(OperatorSetIdProto("com.microsoft", 1))
    return serialize(made)


def copy_value(value: Any) -> Any:
    """Return a value of a field, apart from the one that was given."""
    if isinstance(value, list):
        return [copy_value(each) for each in value]
    if isinstance(value, Message):
        return decode(type(value), memoryview(serialize(value)))
    return value


# Changes. Places are numbers, taken modulo what is there, so that any of them means something.


def messages(message: Message) -> Iterator[Message]:
    """Yield a message and all within it."""
    yield message
    for name, field in type(message).FIELDS.items():
        if field.kind == "message":
            value = getattr(message, name)
            for inner in value if field.repeated else [value]:
                if inner is not None:
                    yield from messages(inner)


def edit(whole: Message, place: int, how: str, number: int) -> None:
    """Change one field of one message."""
    found = list(messages(whole))
    message = found[place % len(found)]
    names = list(type(message).FIELDS)
    name = names[place // len(found) % len(names)]
    field, value = type(message).FIELDS[name], getattr(message, name)
    if how == "borrow":
        others = [each for each in found if type(each) is type(message)]
        setattr(message, name, copy_value(getattr(others[number % len(others)], name)))
    elif how == "drop":
        if isinstance(value, list) and value:
            value.pop(number % len(value))
        else:
            setattr(message, name, [] if field.repeated else type(message).DEFAULTS[name])
    elif isinstance(value, list):
        _edit_list(value, field, how, number)
    elif how == "set":
        setattr(message, name, draw(field, number))


def _edit_list(value: list[Any], field: Any, how: str, number: int) -> None:
    if how == "set":
        fresh = draw(field, number)
        if value and number % 3:
            value[number % len(value)] = fresh
        else:
            value.append(fresh)
    elif value and how == "double":
        value.insert(number % len(value), copy_value(value[number // 7 % len(value)]))
    elif value and how == "swap":
        one, other = number % len(value), number // 7 % len(value)
        value[one], value[other] = value[other], value[one]
    else:
        value.reverse()


def draw(field: Any, number: int) -> Any:
    """Return a value for a field."""
    match field.kind:
        case "int":
            return INTEGERS[number % len(INTEGERS)] if number % 2 else number % 30
        case "float" | "double":
            return FLOATS[number % len(FLOATS)]
        case "string":
            return WORDS[number % len(WORDS)]
        case "bytes":
            return bytes([number % 256]) * (number % 70)
        case _:
            made = TYPES[field.message]()
            return made if not isinstance(made, DimensionProto) else DimensionProto(number % 9)


def change(case: Case) -> bytes:
    """Return the file of a case."""
    whole = read_model(original(case["base"]))
    for place, how, number in case["edits"]:
        edit(whole, place, how, number)
    return serialize(whole)


# What holds for every file.


def check_case(case: Case) -> str:
    """Assert that a file is imported, in bounded size, or refused by an error of the package."""
    data = change(case)
    with WATCH.within("/nowhere"):
        words = [_attempt(lambda: _whole(data)), _attempt(lambda: _part(data))]
    return words[0] if words[0] == words[1] else " / ".join(words)


def _attempt(attempt: Callable[[], Graph]) -> str:
    try:
        found = attempt()
    except WebNNMError as error:
        assert error.code.startswith(("NNM2", "NNM3", "NNM4", "NNM7", "NNM8")), error
        assert len(str(error)) < 10_000
        return f"refused {error.code}"
    constants = [node.array for node in found.nodes() if isinstance(node, ConstantNode)]
    assert sum(len(array.data) for array in constants) <= MAX_FOLDED_TOTAL_BYTES
    return "imported"


def _whole(data: bytes) -> Graph:
    found: Imported = import_model(read_model(data), SHAPES)
    held = sum(len(array.data) for array in found.parameters.values())
    assert held <= 2 * len(data), "weights are views of the file"
    return found.graph


def _part(data: bytes) -> Graph:
    """Return the graph as a block of a text has it: up to its first output, for two rows."""
    file = ModelFile(read_model(data))
    assert file.pack_used({}) is not None
    names = [info.name for info in read_model(data).graph.output]  # type: ignore[union-attr]
    part = file.part(names[0] if len(names) > 1 else None)
    sizes = tuple([size or 3 for size in part.sizes or (3,)])
    return part.graph(2, sizes)


CASES = st.fixed_dictionaries(
    {
        "base": st.sampled_from(sorted(BASES)),
        "edits": st.lists(
            st.tuples(st.integers(0, 2**20), st.sampled_from(HOW), st.integers(0, 2**16)).map(list),
            min_size=1,
            max_size=5,
        ),
    }
)

TARGET = Target(
    name="onnx",
    cases=CASES,
    check=check_case,
    save=lambda case: json.dumps(case, indent=1, sort_keys=True),
    load=json.loads,
    suffix=".json",
    examples=200,
)
