"""The shapes of the WebNN specification: what each method of MLGraphBuilder accepts and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, prod
from typing import Any, NamedTuple

from tests.unit.backends.webnn_tables import LARGEST

Shape = tuple[int, ...]
MAX_TENSORS = 8192
"""The largest valid tensor count: inputs of a concat, results of a split."""
MAXIMA = {"int32": 2**31 - 1, "int64": 2**63 - 1}


class Refusal(Exception):
    """An exception that an implementation throws; `name` is that of the exception in JavaScript."""

    def __init__(self, message: str, name: str = "TypeError") -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class Unsupported(Refusal):
    """What the specification allows, and the limits of the implementation do not."""


class Type(NamedTuple):
    """MLOperandDescriptor."""

    dtype: str
    shape: Shape


class Call(NamedTuple):
    """A call of a method: its operands and its plain arguments and options, all by name.

    Operands that are not there, and options that have no default, are None.
    """

    operands: Mapping[str, Any]
    values: Mapping[str, Any]

    def shape(self, name: str) -> Shape:
        return self.operands[name].shape

    def rank(self, name: str) -> int:
        return len(self.operands[name].shape)


Rule = Callable[[Call], Sequence[Type]]
RULES: dict[str, Rule] = {}


def check(condition: bool, message: str, refusal: type[Refusal] = Refusal) -> None:
    """Throw a TypeError unless a condition holds."""
    if not condition:
        raise refusal(message)


def infer_types(operator: str, call: Call) -> Sequence[Type]:
    """Return the types of the results of a call; raises `Refusal`."""
    types = RULES[operator](call)
    for type in types:
        check_dimensions(type.shape)
    return types


def check_dimensions(shape: Shape) -> None:
    """Do the steps to check dimensions: none is 0, and their product is a valid one, too."""
    for size in shape:
        check(0 < size <= LARGEST, f"{size} is no valid dimension in {[*shape]}")
    check(prod(shape) <= LARGEST, f"{[*shape]} has too many elements")


def broadcast(a: Shape, b: Shape) -> Shape:
    """Bidirectionally broadcast two shapes."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for left, right in zip(a, b, strict=True):
        check(left == right or 1 in (left, right), f"{[*a]} and {[*b]} do not broadcast")
    return tuple(map(max, a, b))


def check_broadcast_to(shape: Shape, target: Shape) -> None:
    """Unidirectionally broadcast a shape to another."""
    check(len(shape) <= len(target), f"{[*shape]} has more dimensions than {[*target]}")
    padded = (1,) * (len(target) - len(shape)) + shape
    fits = all(size in (1, to) for size, to in zip(padded, target, strict=True))
    check(fits, f"{[*shape]} does not broadcast to {[*target]}")


def check_axis(axis: int, rank: int) -> None:
    check(0 <= axis < rank, f"axis {axis} is out of range for rank {rank}")


def check_axes(axes: Sequence[int], rank: int) -> None:
    check(len({*axes}) == len(axes), f"axes {axes} repeat one")
    for axis in axes:
        check_axis(axis, rank)


def check_shape(call: Call, name: str, expected: Shape) -> None:
    """Check the shape of an operand, unless it is not there."""
    if call.operands.get(name) is not None:
        shape = call.shape(name)
        check(shape == expected, f"{name} is {[*shape]}, not {[*expected]}")


def check_pair(values: Sequence[float], name: str, size: int = 2, *, least: int = 1) -> None:
    check(len(values) == size, f"{name} has not {size} items")
    check(all(value >= least for value in values), f"{name} {values} has items below {least}")


def rules(*operators: str) -> Callable[[Rule], Rule]:
    """Register the rule of some operators."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(operators, rule))
        return rule

    return register


# Element by element.


@rules("add", "sub", "mul", "div", "max", "min", "pow")
def binary(call: Call) -> Sequence[Type]:
    return [Type(call.operands["a"].dtype, broadcast(call.shape("a"), call.shape("b")))]


@rules("equal", "notEqual", "greater", "greaterOrEqual", "lesser", "lesserOrEqual")
@rules("logicalAnd", "logicalOr", "logicalXor")
def comparison(call: Call) -> Sequence[Type]:
    return [Type("uint8", broadcast(call.shape("a"), call.shape("b")))]


@rules("logicalNot", "isNaN", "isInfinite")
def predicate(call: Call) -> Sequence[Type]:
    return [Type("uint8", call.shape("a"))]


@rules("abs", "ceil", "cos", "erf", "exp", "floor", "identity", "log", "neg", "reciprocal")
@rules("roundEven", "sin", "sign", "sqrt", "tan", "elu", "gelu", "hardSigmoid", "hardSwish")
@rules("leakyRelu", "linear", "relu", "sigmoid", "softplus", "softsign", "tanh")
def unary(call: Call) -> Sequence[Type]:
    return [call.operands["input"].type]


@rules("clamp")
def clamp(call: Call) -> Sequence[Type]:
    low, high = call.values["minValue"], call.values["maxValue"]
    if low is not None and high is not None:
        check(float(low) <= float(high), f"minValue {low} is greater than maxValue {high}")
    return unary(call)


@rules("cast")
def cast(call: Call) -> Sequence[Type]:
    return [Type(call.values["dataType"], call.shape("input"))]


@rules("prelu")
def prelu(call: Call) -> Sequence[Type]:
    return [Type(call.operands["input"].dtype, broadcast(call.shape("slope"), call.shape("input")))]


@rules("where")
def where(call: Call) -> Sequence[Type]:
    chosen = broadcast(call.shape("trueValue"), call.shape("falseValue"))
    return [Type(call.operands["trueValue"].dtype, broadcast(call.shape("condition"), chosen))]


@rules("softmax", "cumulativeSum")
def along_axis(call: Call) -> Sequence[Type]:
    check_axis(call.values["axis"], call.rank("input"))
    return unary(call)


@rules("quantizeLinear", "dequantizeLinear")
def quantization(call: Call) -> Sequence[Type]:
    x, scale, zero_point = (call.shape(name) for name in ("input", "scale", "zeroPoint"))
    check(len(x) == len(scale) == len(zero_point), "input, scale and zeroPoint differ in rank")
    check(scale == zero_point, "scale and zeroPoint differ in shape")
    divides = all(size % part == 0 for size, part in zip(x, scale, strict=True))
    check(divides, f"{[*scale]} does not divide {[*x]}")
    of = "zeroPoint" if call.values["operator"] == "quantizeLinear" else "scale"
    return [Type(call.operands[of].dtype, x)]


# Reductions.


def reduced(shape: Shape, axes: Sequence[int] | None, keep: bool) -> Shape:
    axes = range(len(shape)) if axes is None else axes
    check_axes(axes, len(shape))
    if keep:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


@rules("reduceL1", "reduceL2", "reduceLogSum", "reduceLogSumExp", "reduceMax", "reduceMean")
@rules("reduceMin", "reduceProduct", "reduceSum", "reduceSumSquare")
def reduction(call: Call) -> Sequence[Type]:
    shape = reduced(call.shape("input"), call.values["axes"], call.values["keepDimensions"])
    return [Type(call.operands["input"].dtype, shape)]


@rules("argMin", "argMax")
def arg_extremum(call: Call) -> Sequence[Type]:
    axis, dtype = call.values["axis"], call.values["outputDataType"]
    check_axis(axis, call.rank("input"))
    check(call.shape("input")[axis] <= MAXIMA[dtype], f"{dtype} is too small for the index")
    return [Type(dtype, reduced(call.shape("input"), [axis], call.values["keepDimensions"]))]


# Shapes.


@rules("concat")
def concat(call: Call) -> Sequence[Type]:
    inputs, axis = call.operands["inputs"], call.values["axis"]
    check(1 <= len(inputs) <= MAX_TENSORS, f"{len(inputs)} inputs of a concat")
    first = inputs[0]
    check_axis(axis, len(first.shape))
    for x in inputs[1:]:
        check(x.dtype == first.dtype, f"inputs are {first.dtype} and {x.dtype}")
        check(len(x.shape) == len(first.shape), "inputs differ in rank")
        rest = (x.shape[:axis], x.shape[axis + 1 :])
        check(rest == (first.shape[:axis], first.shape[axis + 1 :]), "inputs differ in shape")
    total = sum(x.shape[axis] for x in inputs)
    return [Type(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :]))]


@rules("expand")
def expand(call: Call) -> Sequence[Type]:
    shape = tuple(call.values["newShape"])
    check_broadcast_to(call.shape("input"), shape)
    return [Type(call.operands["input"].dtype, shape)]


@rules("reshape")
def reshape(call: Call) -> Sequence[Type]:
    shape = tuple(call.values["newShape"])
    same = prod(shape) == prod(call.shape("input"))
    check(same, f"{[*call.shape('input')]} has not the elements of {[*shape]}")
    return [Type(call.operands["input"].dtype, shape)]


@rules("reverse")
def reverse(call: Call) -> Sequence[Type]:
    if call.values["axes"] is not None:
        check_axes(call.values["axes"], call.rank("input"))
    return unary(call)


@rules("slice")
def slice_(call: Call) -> Sequence[Type]:
    shape, starts, sizes = call.shape("input"), call.values["starts"], call.values["sizes"]
    check(len(starts) == len(sizes) == len(shape), "starts and sizes have not the input's rank")
    strides = call.values["strides"]
    strides = [1] * len(shape) if strides is None else strides
    check(len(strides) == len(shape), "strides have not the input's rank")
    for size, start, length, stride in zip(shape, starts, sizes, strides, strict=True):
        check(length > 0, "a size is 0")
        check(stride >= 1, "a stride is less than 1")
        check(start + length <= size, f"{start} + {length} is beyond {size}")
    result = tuple(-(-length // stride) for length, stride in zip(sizes, strides, strict=True))
    return [Type(call.operands["input"].dtype, result)]


@rules("split")
def split(call: Call) -> Sequence[Type]:
    shape, splits, axis = call.shape("input"), call.values["splits"], call.values["axis"]
    check_axis(axis, len(shape))
    if isinstance(splits, int):
        check(1 <= splits <= MAX_TENSORS, f"{splits} splits")
        check(shape[axis] % splits == 0, f"{splits} does not divide {shape[axis]}")
        splits = [shape[axis] // splits] * splits
    check(1 <= len(splits) <= MAX_TENSORS, f"{len(splits)} splits")
    check(0 not in splits, "a split is 0")
    check(sum(splits) == shape[axis], f"splits {splits} are not {shape[axis]} in all")
    dtype = call.operands["input"].dtype
    return [Type(dtype, (*shape[:axis], size, *shape[axis + 1 :])) for size in splits]


@rules("tile")
def tile(call: Call) -> Sequence[Type]:
    shape, repetitions = call.shape("input"), call.values["repetitions"]
    check(len(repetitions) == len(shape), "repetitions have not the input's rank")
    check(0 not in repetitions, "a repetition is 0")
    result = tuple(size * times for size, times in zip(shape, repetitions, strict=True))
    return [Type(call.operands["input"].dtype, result)]


@rules("transpose")
def transpose(call: Call) -> Sequence[Type]:
    shape, permutation = call.shape("input"), call.values["permutation"]
    if permutation is None:
        permutation = [*reversed(range(len(shape)))]
    check(len(permutation) == len(shape), "the permutation has not the input's rank")
    check_axes(permutation, len(shape))
    return [Type(call.operands["input"].dtype, tuple(shape[axis] for axis in permutation))]


@rules("triangular")
def triangular(call: Call) -> Sequence[Type]:
    return unary(call)


@rules("pad")
def pad(call: Call) -> Sequence[Type]:
    shape = call.shape("input")
    before, after = call.values["beginningPadding"], call.values["endingPadding"]
    check(len(before) == len(after) == len(shape), "paddings have not the input's rank")
    if call.values["mode"] == "reflection":
        beyond = any(max(b, a) >= size for size, b, a in zip(shape, before, after, strict=True))
        check(not beyond, "a reflection is as long as the input")
    result = tuple(b + size + a for size, b, a in zip(shape, before, after, strict=True))
    return [Type(call.operands["input"].dtype, result)]


@rules("resample2d")
def resample(call: Call) -> Sequence[Type]:
    shape, scales, sizes = [*call.shape("input")], call.values["scales"], call.values["sizes"]
    axes = call.values["axes"]
    scales = [1.0, 1.0] if scales is None else scales
    check(len(scales) == 2 and min(scales) > 0, f"scales {scales} are not two above 0")
    if sizes is not None:
        check_pair(sizes, "sizes")
    check_axes(axes, len(shape))
    for index, axis in enumerate(axes):
        scaled = floor(shape[axis] * scales[index])
        shape[axis] = scaled if sizes is None else sizes[index]
    return [Type(call.operands["input"].dtype, tuple(shape))]


# Indices.


@rules("gather")
def gather(call: Call) -> Sequence[Type]:
    shape, axis = call.shape("input"), call.values["axis"]
    check_axis(axis, len(shape))
    result = (*shape[:axis], *call.shape("indices"), *shape[axis + 1 :])
    return [Type(call.operands["input"].dtype, result)]


@rules("gatherElements")
def gather_elements(call: Call) -> Sequence[Type]:
    _check_indices(call)
    return [Type(call.operands["input"].dtype, call.shape("indices"))]


def _check_indices(call: Call) -> None:
    shape, indices, axis = call.shape("input"), call.shape("indices"), call.values["axis"]
    check_axis(axis, len(shape))
    check(len(indices) == len(shape), "indices have not the input's rank")
    expected = (*shape[:axis], indices[axis], *shape[axis + 1 :])
    check(indices == expected, f"indices are {[*indices]}, not {[*expected]}")


@rules("scatterElements")
def scatter_elements(call: Call) -> Sequence[Type]:
    _check_indices(call)
    check_shape(call, "updates", call.shape("indices"))
    return unary(call)


def _coordinates(call: Call) -> Shape:
    """Return the shape that gathered slices have."""
    shape, indices = call.shape("input"), call.shape("indices")
    check(indices[-1] <= len(shape), f"coordinates of {indices[-1]} in rank {len(shape)}")
    return (*indices[:-1], *shape[indices[-1] :])


@rules("gatherND")
def gather_nd(call: Call) -> Sequence[Type]:
    return [Type(call.operands["input"].dtype, _coordinates(call))]


@rules("scatterND")
def scatter_nd(call: Call) -> Sequence[Type]:
    check_shape(call, "updates", _coordinates(call))
    return unary(call)


# Products.


@rules("matmul")
def matmul(call: Call) -> Sequence[Type]:
    a, b = call.shape("a"), call.shape("b")
    check(a[-1] == b[-2], f"{[*a]} and {[*b]} cannot be multiplied")
    return [Type(call.operands["a"].dtype, (*broadcast(a[:-2], b[:-2]), a[-2], b[-1]))]


@rules("gemm")
def gemm(call: Call) -> Sequence[Type]:
    a, b = call.shape("a"), call.shape("b")
    a = a[::-1] if call.values["aTranspose"] else a
    b = b[::-1] if call.values["bTranspose"] else b
    check(a[1] == b[0], f"{[*a]} and {[*b]} cannot be multiplied")
    if call.operands["c"] is not None:
        check_broadcast_to(call.shape("c"), (a[0], b[1]))
    return [Type(call.operands["a"].dtype, (a[0], b[1]))]


def _named(shape: Shape, layout: str) -> dict[str, int]:
    """Return sizes by the letters of a layout."""
    return dict(zip(layout, shape, strict=True))


def _spatial(layout: str, batches: int, channels: int, sizes: Sequence[int]) -> Shape:
    if layout == "nchw":
        return (batches, channels, *sizes)
    return (batches, *sizes, channels)


def _window(call: Call, *, padding: bool = True) -> tuple[list[int], list[int], list[int]]:
    """Return padding, strides and dilations."""
    pads = call.values["padding"] or [0, 0, 0, 0]
    strides, dilations = call.values["strides"] or [1, 1], call.values["dilations"] or [1, 1]
    check_pair(pads, "padding", 4, least=0)
    check_pair(strides, "strides")
    check_pair(dilations, "dilations")
    return pads if padding else [0, 0, 0, 0], strides, dilations


def _conv_sizes(
    sizes: Sequence[int],
    window: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[float]:
    return [
        (sizes[k] - ((window[k] - 1) * dilations[k] + 1) + pads[2 * k] + pads[2 * k + 1])
        / strides[k]
        + 1
        for k in range(2)
    ]


@rules("conv2d")
def conv(call: Call) -> Sequence[Type]:
    pads, strides, dilations = _window(call)
    groups, layout = call.values["groups"], call.values["inputLayout"]
    check(groups > 0, "groups is 0")
    x = _named(call.shape("input"), layout)
    f = _named(call.shape("filter"), call.values["filterLayout"])
    check(x["c"] % groups == 0 and x["c"] // groups == f["i"], "channels do not fit the filter")
    check(f["o"] % groups == 0, "groups do not divide the output channels")
    check_shape(call, "bias", (f["o"],))
    sizes = _conv_sizes((x["h"], x["w"]), (f["h"], f["w"]), pads, strides, dilations)
    result = _spatial(layout, x["n"], f["o"], [*map(floor, sizes)])
    return [Type(call.operands["input"].dtype, result)]


@rules("convTranspose2d")
def conv_transpose(call: Call) -> Sequence[Type]:
    pads, strides, dilations = _window(call)
    groups, layout = call.values["groups"], call.values["inputLayout"]
    output_padding, sizes = call.values["outputPadding"] or [0, 0], call.values["outputSizes"]
    check_pair(output_padding, "outputPadding", least=0)
    check(groups > 0, "groups is 0")
    x = _named(call.shape("input"), layout)
    f = _named(call.shape("filter"), call.values["filterLayout"])
    check(x["c"] == f["i"], "channels do not fit the filter")
    channels = f["o"] * groups
    check_shape(call, "bias", (channels,))
    least = [
        (x[k] - 1) * strides[i] + ((f[k] - 1) * dilations[i] + 1) - pads[2 * i] - pads[2 * i + 1]
        for i, k in enumerate("hw")
    ]
    if sizes is None:
        smaller = all(p < s for p, s in zip(output_padding, strides, strict=True))
        check(smaller, "outputPadding is not smaller than strides")
        sizes = [size + extra for size, extra in zip(least, output_padding, strict=True)]
    else:
        check_pair(sizes, "outputSizes", least=0)
        fits = all(least[k] <= sizes[k] < least[k] + strides[k] for k in range(2))
        check(fits, f"outputSizes {sizes} do not follow from {least}")
    result = _spatial(layout, x["n"], channels, sizes)
    return [Type(call.operands["input"].dtype, result)]


@rules("averagePool2d", "l2Pool2d", "maxPool2d")
def pool(call: Call) -> Sequence[Type]:
    layout, sizes = call.values["layout"], call.values["outputSizes"]
    x = _named(call.shape("input"), layout)
    window = call.values["windowDimensions"]
    window = [x["h"], x["w"]] if window is None else window
    check_pair(window, "windowDimensions")
    pads, strides, dilations = _window(call, padding=sizes is None)
    exact = _conv_sizes((x["h"], x["w"]), window, pads, strides, dilations)
    rounded = [*map(floor, exact)], [*map(ceil, exact)]
    if sizes is not None:
        check_pair(sizes, "outputSizes", least=0)
        # So the text has it, although smaller ones are what hardly anybody wants.
        check(all(n < s for n, s in zip(sizes, strides, strict=True)), "outputSizes and strides")
        check(sizes in rounded, f"outputSizes {sizes} do not follow from {exact}")
    else:
        sizes = rounded[call.values["outputShapeRounding"] == "ceil"]
    return [Type(call.operands["input"].dtype, _spatial(layout, x["n"], x["c"], sizes))]


# Normalisations.


@rules("batchNormalization")
def batch_normalization(call: Call) -> Sequence[Type]:
    axis = call.values["axis"]
    check_axis(axis, call.rank("input"))
    for name in ("mean", "variance", "scale", "bias"):
        check_shape(call, name, (call.shape("input")[axis],))
    return unary(call)


@rules("instanceNormalization")
def instance_normalization(call: Call) -> Sequence[Type]:
    channels = _named(call.shape("input"), call.values["layout"])["c"]
    for name in ("scale", "bias"):
        check_shape(call, name, (channels,))
    return unary(call)


@rules("layerNormalization")
def layer_normalization(call: Call) -> Sequence[Type]:
    shape, axes = call.shape("input"), call.values["axes"]
    axes = range(1, len(shape)) if axes is None else axes
    check_axes(axes, len(shape))
    for name in ("scale", "bias"):
        check_shape(call, name, tuple(shape[axis] for axis in axes))
    return unary(call)


# Recurrent networks.


def _check_recurrent(call: Call, gates: int, directions: Shape, batch: int) -> None:
    """Check the operands that a whole network and one step of it have in common.

    `directions` is what shapes of a whole network begin with.
    """
    hidden = call.values["hiddenSize"]
    check(0 < 2 * gates * hidden <= LARGEST, f"hiddenSize is {hidden}")
    features = call.shape("input")[-1]
    check_shape(call, "weight", (*directions, gates * hidden, features))
    check_shape(call, "recurrentWeight", (*directions, gates * hidden, hidden))
    check_shape(call, "bias", (*directions, gates * hidden))
    check_shape(call, "recurrentBias", (*directions, gates * hidden))
    check_shape(call, "peepholeWeight", (*directions, 3 * hidden))
    for name in ("hiddenState", "cellState", "initialHiddenState", "initialCellState"):
        check_shape(call, name, (*directions, batch, hidden))
    activations = call.values["activations"]
    count = 2 if gates == 3 else 3
    fits = activations is None or len(activations) == count
    check(fits, f"there are {count} activations, not {activations}")


@rules("gru", "lstm")
def recurrent(call: Call) -> Sequence[Type]:
    gates = 3 if call.values["operator"] == "gru" else 4
    directions = 2 if call.values["direction"] == "both" else 1
    steps, batch, _ = call.shape("input")
    check(steps == call.values["steps"], f"steps is {call.values['steps']}, not {steps}")
    _check_recurrent(call, gates, (directions,), batch)
    dtype, hidden = call.operands["input"].dtype, call.values["hiddenSize"]
    last = Type(dtype, (directions, batch, hidden))
    types = [last] if gates == 3 else [last, last]
    if call.values["returnSequence"]:
        types.append(Type(dtype, (steps, directions, batch, hidden)))
    return types


@rules("gruCell", "lstmCell")
def recurrent_cell(call: Call) -> Sequence[Type]:
    gates = 3 if call.values["operator"] == "gruCell" else 4
    batch, _ = call.shape("input")
    _check_recurrent(call, gates, (), batch)
    last = Type(call.operands["input"].dtype, (batch, call.values["hiddenSize"]))
    return [last] if gates == 3 else [last, last]
