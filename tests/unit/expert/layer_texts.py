"""Model texts with every layer of the notation, each of its options written and left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webnnm import ops
from webnnm.core.naming import camel_case
from webnnm.ops.declare.layer import LayerRules

VALUES: Mapping[str, Sequence[str]] = {
    "activations": ("[sigmoid, tanh]", "[relu, tanh, tanh]"),
    "alpha": ("0.5",),
    "axes": ("[0]", "[-1]", "channels", "[height, width]", "sequence"),
    "axis": ("0", "-1", "channels", "sequence"),
    "beginning_padding": ("[1]", "[0, 1, 1]", "[0, 1]"),
    "bias": ("alibi",),
    "coords": ("[[0], [1]]",),
    "count": ("2",),
    "data": ("[0, 1]", "[[0, 1, 1, 0]]"),
    "dilations": ("2", "[2, 1]"),
    "direction": ("backward", "both"),
    "ending_padding": ("[1]", "[0, 1, 1]", "[0, 1]"),
    "experts": ("2",),
    "filter_layout": ("hwio", "ohwi", "hwoi"),
    "filters": ("4",),
    "groups": ("2",),
    "heads": ("2",),
    "hidden_size": ("4",),
    "input_layout": ("nhwc", "nchw"),
    "kernel": ("3", "[2, 1]"),
    "layout": ("nhwc", "nchw", "rzn", "ifgo"),
    "length": ("3",),
    "mode": ("linear", "edge", "reflection"),
    "new_shape": ("[8]", "[2, 4]", "[4, 8, 8]", "{height:8, width:8}", "[32]"),
    "output_data_type": ("int64",),
    "output_shape_rounding": ("ceil",),
    "output_sizes": ("[3, 3]",),
    "p": ("0.5",),
    "padding": ("same", "[1, 1, 1, 1]", "[1, 1]", "1"),
    "padding_beginning": ("[1, 1]",),
    "padding_ending": ("[1, 1]",),
    "permutation": ("[1, 0]", "[2, 0, 1]"),
    "repetitions": ("[2]", "[1, 2, 2]", "[2, 1]"),
    "rope": ("10000",),
    "scales": ("[2, 2]",),
    "shape": ("[2]", "[1, 4]", "[2, 1]", "[8]"),
    "size": ("8", "16"),
    "sizes": ("[16, 16]", "[4]", "[4, 4]", "[4, 4, 4]"),
    "skip": ("2", "1"),
    "splits": ("2", "[4, 4]"),
    "starts": ("[0]", "[0, 0]", "[0, 0, 0]"),
    "strides": ("2", "[2, 1]"),
    "type": ("float16", "float32"),
    "window_dimensions": ("2", "[2, 1]"),
}
"""What is written for options; others are written by the kind of their default."""

OPERANDS = ("", "t", "1.5", "t, u", "t, u, r")
"""What is written in front of the options; `r` is the result of an earlier layer."""

MORE: Mapping[str, Sequence[str]] = {
    "matmul": ("matmul(t, shape=[4])", "matmul(t, shape=[8], bTranspose=true)"),
    "gemm": ("gemm(t, shape=[4])", "gemm(t, c=u, alpha=2, beta=0.5, shape=[4])"),
    "embedding": ("embedding(t, size=9, shape=[5, 3])",),
    "concat": ("concat([r, input], axis=0)", "concat([r, r], axis=-1)", "concat([r, r])"),
    "bitwiseAnd": ("bitwiseAnd(3)",),
    "bitwiseOr": ("bitwiseOr(3)",),
    "bitwiseXor": ("bitwiseXor(3)",),
    "logicalAnd": ("greater(0), logicalAnd(1), cast(float32)",),
    "logicalOr": ("greater(0), logicalOr(1), cast(float32)",),
    "logicalXor": ("greater(0), logicalXor(1), cast(float32)",),
    "logicalNot": ("greater(0), logicalNot(), cast(float32)",),
    "where": ("greater(0), where(r, 0)", "where([r, r, 1])"),
    "gather": ("gather(data=[0, 1], shape=[2], axis=0)", "gather(data=1, shape=[], axis=-1)"),
    "gatherND": ("gatherND(data=[[0], [1]], shape=[2, 1])",),
    "scatterND": ("scatterND(ones, data=[0], shape=[1, 1])",),
    "scatterElements": ("scatterElements(r, data=[0, 1, 2, 3, 4, 5, 6, 7], shape=[8], axis=0)",),
    "quantizeLinear": (
        "quantizeLinear(scale=s, zeroPoint=z), dequantizeLinear(scale=s, zeroPoint=z)",
    ),
    "dequantizeLinear": ("cast(int8), dequantizeLinear(scale=s, zeroPoint=z)",),
    "gruCell": ("gruCell(t, u, r, hiddenSize=8)", "gruCell(t, u, r, bias=c, hiddenSize=8)"),
    "lstmCell": ("lstmCell(t, u, r, r, hiddenSize=8)", "lstmCell(t, u, r, r, bias=c)"),
    "logMel": ("logMel(bands=2, window=4, hop=2, rate=40)",),
    "residual": ("residual(to=r)", "matmul(t, shape=[4]), residual(to=r, project=true)"),
    "expertMatmul": ("expertMatmul(t, experts=2, size=3)",),
    "expertSum": (
        "matmul(g, shape=[2], name=shares), expertMatmul(t, node=r, experts=2, size=8), "
        "expertSum(shares)",
    ),
    "linearRecurrence": ("linearRecurrence(r)",),
    "rationalSpline": ("rationalSpline(bins, bins, slopes)",),
    "deformableAttend": (
        "deformableAttend(offsets, scores, boxes, heads=2, levels=[2, 2])",
        "deformableAttend(offsets, scores, boxes, heads=2, levels=[2, 2], nearest=true)",
    ),
    "replaceTokens": (
        "embedding(t, size=9, shape=[5, 3], name=texts), relu(name=vectors), "
        "replaceTokens(vectors, node=texts, ids=input, token=2)",
    ),
    "attend": ("attend(t, u, v, o=o)", "attend(t, u, v, o=o, heads=2, causal=true)"),
}
"""Further calls of layers whose operands depend on one another."""

CONSTANTS = (
    "s float32 [] 0.5; z int8 [] 1; ones [1, 1] 0.5; bins [8, 4] 0.5; slopes [8, 3] 0.5; "
    "offsets [2, 4] 0.5; scores [2, 2] 0.5; boxes [2, 4] 0.5; "
)

CONTEXTS: Mapping[str, str] = {
    "row": "m:input shape=[6]; m:output shape=[2]; "
    "m:layers matmul(w0, shape=[8]), relu(name=r), {layer}, flatten(), matmul(w1), softmax();",
    "picture": "m:input shape={channels:4, height:8, width:8}; m:output shape=[2]; "
    "m:layers conv2d(f, filters=4, kernel=3, padding=same), relu(name=r), {layer}, flatten(), "
    "matmul(w1), softmax();",
    "picture first": "m:input shape={channels:4, height:8, width:8}; m:output shape=[2]; "
    "m:layers {layer}, flatten(), matmul(w1), softmax();",
    "channels last": "m:input shape={height:8, width:8, channels:4}; m:output shape=[2]; "
    "m:layers {layer}, flatten(), matmul(w1), softmax();",
    "signal": "m:input shape={length:8, channels:4}; m:output shape=[2]; "
    "m:layers {layer}, flatten(), matmul(w1), softmax();",
    "matrix": "m:input shape=[4, 4]; m:output shape=[2]; "
    "m:layers {layer}, flatten(), matmul(w1), softmax();",
    "sequence": "m:input shape=[6] sequence=true; m:output shape=[2] sequence=true; "
    "m:layers matmul(w0, shape=[8]), tanh(name=r), {layer}, matmul(w1), softmax();",
    "pooled": "m:input shape=[6] sequence=true; m:output shape=[2]; "
    "m:layers matmul(w0, shape=[8]), tanh(), {layer}, reduceMax(axes=sequence), matmul(w1);",
    "whole sequence": "m:input shape=[6] sequence=true; m:output shape=[2]; "
    "m:layers matmul(w0, shape=[8]), tanh(), {layer}, flatten(), matmul(w1), sigmoid();",
    "words": "m:input int32 shape=[5]; m:output shape=[2]; "
    "m:layers {layer}, cast(type=float32), flatten(), matmul(w1), softmax();",
    "last": "m:input shape=[6]; m:output shape=[6]; m:layers matmul(w0), {layer};",
    "last of a sequence": "m:input shape=[6] sequence=true; m:output shape=[6] sequence=true; "
    "m:layers matmul(w0), {layer};",
}


def _values(name: str, rules: LayerRules) -> Sequence[str]:
    if name in VALUES:
        return VALUES[name]
    default = rules.options[name].default
    if isinstance(default, bool):
        return ("true",)
    return ("2",) if isinstance(default, int) else ("0.5",)


def calls(word: str, rules: LayerRules) -> Iterator[str]:
    """Yield calls of a layer: with each operand alone, and with every value of each option."""
    yield from MORE.get(word, ())
    options = [(camel_case(name), _values(name, rules)) for name in rules.options]
    options += [(slot.name, ("t",)) for slot in rules.slots if slot.option]
    needed = [pair for pair in options if pair[0] in NEEDED.get(word, ())]
    for operand in OPERANDS:
        if operand and not (rules.slots or rules.many):
            continue
        for number in range(max([1, *(len(values) for _, values in needed)])):
            chosen = [(name, values[min(number, len(values) - 1)]) for name, values in needed]
            yield _call(word, operand, *chosen)
        for name, values in options:
            rest = [pair for pair in needed if pair[0] != name]
            for value in values:
                written = [(name, value), *((other, every[0]) for other, every in rest)]
                yield _call(word, operand, *written)


NEEDED: Mapping[str, Sequence[str]] = {
    "conv1d": ("filters", "kernel"),
    "conv2d": ("filters", "kernel"),
    "convTranspose1d": ("filters", "kernel"),
    "convTranspose2d": ("filters", "kernel"),
    "slice": ("starts", "sizes"),
    "pad": ("beginningPadding", "endingPadding"),
    "gather": ("data", "shape"),
    "gatherElements": ("data", "shape", "axis"),
    "gatherND": ("coords", "shape"),
    "scatterElements": ("data", "shape", "axis"),
    "scatterND": ("coords", "shape"),
    "groupNormalization": ("groups",),
    "keepLargest": ("count",),
}
"""Options that are only right together."""


def _call(word: str, operand: str, *options: tuple[str, str]) -> str:
    parts = [operand] if operand else []
    return f"{word}({', '.join([*parts, *(f'{name}={value}' for name, value in options)])})"


def texts(word: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a context and a text with the layer in it."""
    operator = ops.lookup(word)
    assert operator is not None and operator.layer is not None
    every = list(dict.fromkeys(calls(word, operator.layer)))
    for name, context in CONTEXTS.items():
        for call in every:
            yield name, CONSTANTS + context.replace("{layer}", call)
