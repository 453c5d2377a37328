"""Strategies that draw model texts: from the grammar, and by spoiling texts that are right."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from hypothesis import strategies as st

from tests.places import VALID
from webnnm import ops
from webnnm.core.naming import camel_case

OPERATORS = sorted(name for name, operator in ops.registry().items() if operator.layer is not None)

SURE = (
    *("relu()", "matmul(w)", "matmul(w, shape=[3])", "add(b)", "mul(s)", "tanh()", "identity()"),
    *("sigmoid()", "add(1)", "mul(0.5)", "softmax()", "exp()", "layerNorm(scale=g, bias=b)"),
    *("residual(to=input)", "dropout(0.5)", "sub(s)", "clamp(max=1)", "prelu(a)", "erf()", "abs()"),
    *("flatten()", "transpose()", "squeeze()", "matmul(w, shape=[4])", "elu()", "cumulativeSum()"),
)
"""Layers that fit nearly everywhere."""

LIKELY = (
    *("relu()", "matmul(w)", "matmul(w, shape=[3])", "add(b)", "add(1)", "mul(h)", "sub(s)"),
    *("tanh(name=h)", "softmax()", "sigmoid()", "identity(name=x)", "flatten()", "dropout(0.5)"),
    *("residual(to=input)", "residual(skip=0)", "residual(skip=1, project=true)", "max([x, h])"),
    *("conv2d(k, kernel=2, filters=2)", "conv2d(k, kernel=3, padding=same, bias=kb, filters=4)"),
    *("conv1d(k, kernel=2, filters=3)", "convTranspose2d(k, kernel=2, filters=2, strides=2)"),
    *("maxPool2d(windowDimensions=2, strides=2)", "averagePool2d()", "globalAveragePool()"),
    *("layerNorm(scale=g, bias=b)", "rmsNorm()", "batchNorm(scale=g, bias=b)", "instanceNorm()"),
    *("lstm(w, r, hiddenSize=3)", "gru(w, r, hiddenSize=2, returnSequence=true, bias=b)"),
    *("gruCell(w, r, h, hiddenSize=3)", "lstmCell(w, r, h, x, hiddenSize=3)", "attend(q, k, v)"),
    *("attend(q, k, v, o, heads=2, causal=true)", "embedding(e, size=5, shape=[4])"),
    *("positionalEmbedding(p, size=8)", "positionalEncoding()", "rotaryEmbedding()"),
    *("gather(shape={height:2}, data=[0, 1], axis=height)", "gather(shape={sequence:-1})"),
    *("gather(shape={features:50%})", "gatherND(shape=[2], coords=[0], data=[0, 1])"),
    *("gatherElements(shape=[2], data=[0, 1])", "scatterElements(c, shape=[3], data=[0, 1, 0])"),
    *("scatterND(c, shape=[3], coords=[0], data=[0, 1, 2])", "fillSequence(shape=[3])"),
    *("reduceSum()", "reduceMean(axes=[0])", "reduceMax(axis=sequence)", "argMax()", "where(h, x)"),
    *("concat([x, h])", "concat(x, axis=0)", "split(2)", "split([1, 2], axis=0)", "transpose()"),
    *("transpose(permutation=[batch, features, sequence])", "reverse()", "squeeze()"),
    *(
        "slice([0], [2])",
        "slice(starts=[1], sizes=[2])",
        "pad([1], [1])",
        "pad([1], [0], mode=edge)",
    ),
    *("tile([2])", "expand([2, 4])", "reshape([-1])", "reshape([2, 2])", "unsqueeze(axes=[0])"),
    *("resample2d(newShape={height:4, width:4})", "cast(float16)", "cast(int32)", "clamp(max=1)"),
    *(
        "quantizeLinear(0.1, 3)",
        "dequantizeLinear(0.1, 3)",
        "prelu(a)",
        "elu(alpha=c)",
        "gemm(b, c)",
    ),
    *("cumulativeSum()", "triangular()", "repeatSequence(length=3)", "logicalNot()", "equal(h)"),
    *("unit()", "unit(repeat=2, name=u)", "unit(f=relu)", "unit([x])", "matmul(u)"),
    *("matmul(w, shapes=[[4], [3]])", "matmul(w, repeat=2)", "add(b, node=x)", "add(u.z)"),
)
"""Layers that fit somewhere."""

ENDINGS = (
    "flatten(), matmul(last)",
    "reduceSum()",
    "",
    "flatten(), matmul(last), softmax()",
    "flatten(), matmul(last), sigmoid()",
)
"""What makes an output of a declared shape of most flows."""

SHAPES = (
    *("[4]", "[3]", "[]", "[3, 5]", "[2, 5, 4]", "{channels:2, height:4, width:5}", "[1]"),
    *("{height:4, width:4, channels:1}", "{features:4}", "[2, 1, 3, 2]", "[1, 2, 1, 3, 2]"),
    *("{length:6, channels:2}", "{embedding:4}", "{rows:2, cols:2}", "[1, 1]", "[5, 1]"),
    *("[1, 1, 1]", "[7919]", "[1, 2, 1, 2, 1, 2, 1, 2, 1]", "[6]", "[4, 4]"),
)
ODD_SHAPES = ("[2147483647]", "[65536, 65536]", "[0]", "[2147483648]", "[n]", "{batch:2}")
SEQUENCES = ("", "", "", " sequence=true", " sequence=words", " sequence={words:3}")
DTYPES = (
    *("", "", "", "", "float32 ", "float16 ", "int32 ", "uint8 ", "int64 ", "uint64 ", "uint32 "),
    *("int8 ", "int4 ", "uint4 "),
)
LOSSES = ("", "", "", "MSE", "CCE", "SCE", "BCE", "HUL", "HIL", "KLD", "FOL", "BCEL", "CCEL", "MAE")

INTEGERS = ("1", "2", "0", "3", "-1", "16", "2.5", "2147483647", "4294967296", "1e400", "width")
NUMBERS = (
    "0.5",
    "1",
    "-1",
    "0",
    "Infinity",
    "-Infinity",
    "1e30",
    "300",
    "9223372036854775807",
    "c",
)
PAIRS = (
    "2",
    "[2, 2]",
    "{height:2, width:2}",
    "[1, 3]",
    "0",
    "[3]",
    "[1, 2, 3]",
    "{width:2}",
    "[2, -1]",
)
SIZES = (
    *("[2]", "[2, 2]", "[]", "[-1]", "[1, 4]", "[3, 5]", "{height:2}", "{features:2}", "{width}"),
    *("{a:50%}", "{sequence:2}", "{batch:2}", "[0]", "[2147483647]", "[65536, 65536]", "[1, 1, 1]"),
    *("{sequence:x.dimension('sequence')}", "{height:4, width:9}", "[-1, -1]", "[2147483648]", "2"),
)
AXES = (
    *(
        "0",
        "1",
        "-1",
        "2",
        "[0]",
        "[0, 1]",
        "[1, 0]",
        "[]",
        "height",
        "channels",
        "features",
        "width",
    ),
    *("sequence", "batch", "[0, 0]", "-3", "[batch, features, sequence]", "nothing", "words"),
)
WORDS = ("true", "false", "nchw", "nhwc", "ceil", "both", "backward", "same", "edge", "reflection")
WORDS += ("linear", "rzn", "ifgo", "hwio", "ohwi", "[tanh]", "[sigmoid, relu]", "int32", "10000")
OPERANDS = (
    *("w", "b", "2", "0.5", "x", "h", "c", "p", "input", "[1, 2, 3]", "u", "m", "[x]", "[x, h]"),
    *("[[1, 2], [3, 4]]", "u.z", "x.1", "n", "m:input", "n:output", "-1", "300", "k", "[]", "q"),
    *("9223372036854775807", "Infinity", "{height:2}", "float16", "'a b'"),
)
COMMON = (
    *("shape=[3]", "shape=[4]", "shape=[1, 1]", "shape={features:3}", "name=x", "name=h", "node=x"),
    *(
        "repeat=2",
        "shapes=[[3], [4]]",
        "dataType=float16",
        "dataType=int32",
        "lrm=0",
        "trainable=false",
    ),
    *("init=normal(0.1)", "init=he", "init=uniform(1)", "shape=[]", "shape=[2147483647]", "node=h"),
    *("repeat=0", "dataType=uint8", "node=m:input", "shape=[5, 1]", "shape=[1, 1, 1]"),
    *("shape=[1]", "shape=[2, 2]", "shape=[3, 5]", "shape={height:4, width:4}", "shape=[4, 3]"),
    *("shape=[1, 3]", "shape=[2, 5, 4]", "dataType=float32", "dataType=int64", "shape=[7919]"),
)
VALUES = (*INTEGERS, *NUMBERS, *PAIRS, *SIZES, *AXES, *WORDS)
_BY_READER = {
    "integer": INTEGERS,
    "number": NUMBERS,
    "positive": NUMBERS,
    "between": NUMBERS,
    "boolean": ("true", "false", "1"),
    "pair": PAIRS,
    "padding": (*PAIRS, "same", "valid", "[1, 1, 1, 1]", "{height:[1, 2], width:1}"),
    "sizes": SIZES,
    "_scales": SIZES,
    "axis_names": AXES,
    "one_axis": AXES,
    "integers": ("[0, 1]", "0", "[]", "[1, -1, 5]", "[0, 1, 2, 3]", "[[0], [1]]", "1.5"),
    "OneOf": WORDS,
    "_mode": WORDS,
    "cell_options": WORDS,
}


@functools.cache
def items(name: str) -> tuple[str, ...]:
    """Return what may stand in the parentheses of an operator, and some that may not."""
    layer = ops.registry()[name].layer
    assert layer is not None
    found = list(OPERANDS[: 7 * len(layer.slots)])
    for slot in layer.slots:
        if slot.option:
            found += [f"{slot.name}={value}" for value in OPERANDS]
    for key, option in layer.options.items():
        # A reader is a function, or an object that is called.
        reader = getattr(option.read, "__qualname__", type(option.read).__name__)
        values = _BY_READER.get(reader.split(".")[0], VALUES)
        found += [f"{camel_case(key)}={value}" for value in values]
        if option.operand:
            found += values
    return (*found, *COMMON, *OPERANDS)


@st.composite
def layers(draw: st.DrawFn) -> str:
    """Draw one layer."""
    kind = draw(st.integers(0, 19))
    if kind < 17:
        layer = draw(st.sampled_from(SURE if kind in (*range(9), 15) else LIKELY))
        if kind < 15:
            return layer
        separator = "" if layer.endswith("()") else ", "
        return f"{layer[:-1]}{separator}{draw(st.sampled_from(COMMON))})"
    name = draw(st.sampled_from(OPERATORS))
    drawn = draw(st.lists(st.sampled_from(items(name)), max_size=3))
    return f"{name}({', '.join({item.partition('=')[0]: item for item in drawn}.values())})"


BLOCKS = st.lists(layers(), min_size=1, max_size=6).map(", ".join)
TENSORS = st.tuples(
    st.sampled_from(DTYPES), st.sampled_from(SHAPES * 6 + ODD_SHAPES), st.sampled_from(SEQUENCES)
).map(lambda drawn: f"{drawn[0]}shape={drawn[1]}{drawn[2]}")
NAMED = {"x": "identity(name=x)", "h": "tanh(name=h)", "u": "unit(name=u)"}
"""Layers for the names that others refer to."""
DECLARATIONS = (
    *(
        "m:constants c [] 0.5;",
        "m:constants d [3] [1, 2, 3];",
        "c int32 [2, 2] 1;",
        "c uint8 [4] 3;",
    ),
    *("m:param p shape=[3];", "m:param p shape=[4, 3] init=normal(0.02);", "m:param k shape=[];"),
    *("m:param p int32 shape=[] trainable=false;", "m:param p shape=[2] shared=false lrm=0.5;"),
    *("m:delta 2;", "m:alpha [1, 2, 3];", "m:gamma 0;", "c float16 [65536, 65536] 0;", "d [] 1;"),
)


@st.composite
def grammatical(draw: st.DrawFn) -> str:
    """Draw a text made from the grammar; about half of them mean something."""
    ending = draw(st.sampled_from(ENDINGS))
    shape = "[]" if ending == "reduceSum()" else "[3]"
    inside, unit = draw(BLOCKS), draw(BLOCKS)
    named = [
        layer for word, layer in NAMED.items() if re.search(rf"\b{word}\b(?!=)", inside + unit)
    ]
    named = [layer for layer in named if layer not in inside]
    flow = ", ".join(part for part in (*named, inside, ending) if part)
    parts = [f"m:input {draw(TENSORS)};", f"m:layers {flow};", f"m:output shape={shape};"]
    more = draw(st.integers(0, 31))
    if more & 1 or "unit" in flow:
        parts.append(f"unit:layers {unit if more == 1 else unit.replace('unit(', 'relu(')};")
    if re.search(r"\bc\b(?!=)", inside + unit):
        parts.append("m:constants c [] 0.5;")
    if more & 6 == 6:
        start = f"n:input {draw(TENSORS)}; n:layers " if more & 1 else "n:layers tanh(node=x), "
        parts.append(f"{start}{draw(BLOCKS)}, {ending or 'relu()'}; n:output shape={shape};")
    if more & 8:
        parts += draw(st.lists(st.sampled_from(DECLARATIONS), max_size=2))
    if more & 16 and (loss := draw(st.sampled_from(LOSSES))):
        parts.append(f"m:loss {loss};")
    return ("webnnm 1;\n" if more == 16 else "") + "\n".join(parts)


@functools.cache
def examples() -> tuple[tuple[str, ...], ...]:
    """Return the statements of the valid examples of the specification."""
    texts = [path.read_text("utf-8") for path in sorted(VALID.glob("*.nnm"))]
    return tuple(tuple(re.findall(r"[^;]*;\s*", text)) for text in texts)


FLAGS = [st.lists(st.booleans(), min_size=n, max_size=n) for n in range(40)]
_TOKEN = re.compile(r"\w+|\s+|.", re.ASCII)
_INSERTED = (
    *("", "(", ")", "[", "]", "{", "}", ",", "=", ":", ";", ".", "-", "%", "#", "/*", "*/", "'"),
    *('"', "\\", "\n", "\0", "é", "0", "1e-5", "0x1", "-1", "2147483647", "Infinity", "input", "m"),
    *("shape=[4]", "relu()", "true", "x.0", "name=x", "repeat=70000", "webnnm", "output", "layers"),
    *VALUES,
    *OPERANDS,
    *OPERATORS,
)


@st.composite
def spoil(draw: st.DrawFn) -> str:
    """Draw a valid example with statements left out, and tokens replaced, swapped or inserted."""
    statements: Sequence[str] = draw(st.sampled_from(examples()))
    n = len(statements)
    kept = [True] * n if draw(st.integers(0, 3)) else draw(FLAGS[n])
    tokens = _TOKEN.findall("".join(s for s, keep in zip(statements, kept, strict=True) if keep))
    changes = st.tuples(st.integers(0, 5), st.integers(0, 999), st.sampled_from(_INSERTED))
    for kind, place, word in draw(st.lists(changes, max_size=3)):
        at = place * len(tokens) // 1000
        match kind:
            case 0:
                del tokens[at : at + 1]
            case 1 | 2:
                tokens[at : at + 1] = [word]
            case 3:
                tokens.insert(at, word)
            case 4:
                tokens[at : at + 2] = reversed(tokens[at : at + 2])
            case _:
                tokens += tokens[at : at + 30]
    return "".join(tokens)
