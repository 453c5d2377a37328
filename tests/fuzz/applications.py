"""What operators are applied to: the other operands and the options, drawn to fit the first one.

Operators whose operands depend on one another have a rule in `RULES`. All others follow from their
declaration: operands of shapes that broadcast, options over the range that their checks accept; so
a new operator joins by itself, and one that fits neither way by its samples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.dice import Dice
from webnnm.core.dtypes import DataType, is_float
from webnnm.core.shapes import Shape, count
from webnnm.ops.declare import checks
from webnnm.ops.declare.letters import FILTER_LAYOUTS, TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Sample
from webnnm.ops.declare.spatial import INPUT_LAYOUTS
from webnnm.ops.declare.tensors import TensorType
from webnnm.ops.random_pairs import PRIME, WORDS

MOST_AXES = 6
TYPES: tuple[DataType, ...] = (
    *("float32", "float32", "float16", "int32", "int64", "uint32", "int8", "uint8") * 2,
    *("uint64", "int4", "uint4"),
)
"""Data types; those that few operators of browsers take come less often."""


@dataclass(frozen=True)
class Want:
    """An operand that is wanted: of this type, and if it is made, of values between two bounds.

    `fixed` ones are made always, because other values have no meaning there.
    """

    dtype: DataType
    shape: Shape
    low: float = -2.0
    high: float = 2.0
    fixed: bool = False
    values: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Application:
    """The operands behind the first one, None for absent ones, and the options."""

    others: Sequence[Want | None] = ()
    options: dict[str, Any] = field(default_factory=dict[str, Any])


Rule = Callable[[Dice, TensorType, AnyOperator], Application]


def application(dice: Dice, operator: AnyOperator, x: TensorType) -> Application:
    """Draw what an operator is applied to, its first operand being of a type."""
    rule = RULES.get(operator.name)
    if rule is not None:
        return rule(dice, x, operator)
    slots = operator.operands
    if slots and slots[0].variadic:
        others = [Want(x.dtype, x.shape) for _ in range(dice.number(0, 2))]
        return Application(others, options(dice, operator, x))
    found: list[Want | None] = []
    types = [x.dtype]
    for slot in slots[1:]:
        choice = dice.one([d for d in TYPES if d in slot.dtypes])
        types.append(types[slot.like] if slot.like is not None else choice)
        absent = slot.optional and dice.coin()
        found.append(None if absent else Want(types[-1], broadcasting(dice, x.shape)))
    return Application(found, options(dice, operator, x))


def options(dice: Dice, operator: AnyOperator, x: TensorType, *without: str) -> dict[str, Any]:
    """Draw options by what their checks accept, some left at their defaults."""
    found: dict[str, Any] = {}
    for name, option in operator.options.items():
        needed = option.default is REQUIRED
        if name not in without and (needed or dice.coin()):
            accepted = _pick_accepted(dice, option.check, x)
            accepted = accepted or [s.options[name] for s in operator.samples if name in s.options]
            if accepted:
                found[name] = dice.one(accepted)
    return found


def make_sample(dice: Dice, sample: Sample, operator: AnyOperator) -> tuple[list[Want | None], Any]:
    """Return the operands and the options of a sample."""
    common = sorted(frozenset.intersection(*(slot.dtypes for slot in operator.operands)))
    default = "float32" if "float32" in common or not common else dice.one(common)
    wants: list[Want | None] = []
    for i, shape in enumerate(sample.shapes):
        dtype = sample.dtypes[i] if sample.dtypes else default
        values = sample.values[i] if i < len(sample.values) else None
        low, high = (sample.low, sample.high) if is_float(dtype) else (0, 3)
        if shape is None:
            wants.append(None)
        elif values is None:
            wants.append(Want(dtype, shape, low, high))
        else:
            wants.append(Want(dtype, shape, fixed=True, values=tuple(_flat(values))))
    return wants, dict(sample.options)


def _flat(values: Any) -> list[float]:
    nested = isinstance(values, (list, tuple)) or hasattr(values, "__len__")
    return [v for item in values for v in _flat(item)] if nested else [values]


def _pick_accepted(dice: Dice, check: Any, x: TensorType) -> Sequence[Any]:
    """Return some of what a check of options accepts, nothing where that is not known."""
    rank = len(x.shape)
    closure = inspect.getclosurevars(check).nonlocals if inspect.isfunction(check) else {}
    if "words" in closure:
        return closure["words"]
    if "low" in closure and check.__qualname__.startswith("integer"):
        return range(-3 if closure["low"] is None else closure["low"], 4)
    if check is checks.axis:
        return range(-rank, rank)
    if check is checks.axes:
        return [None, dice.some(range(rank))]
    if check is checks.permutation:
        return [None, dice.shuffle(range(rank))]
    return {
        checks.boolean: (False, True),
        checks.number: (0.0, 1.0, -1.0, 0.5, 2.0, -1.5, 1e-3, 100.0),
        checks.positive: (1e-6, 1e-3, 0.5, 2.0),
        checks.data_type: TYPES,
    }.get(check, ())


# Parts of rules.


def one_axis(dice: Dice, x: TensorType) -> int:
    return dice.number(0, len(x.shape) - 1)


def broadcasting(dice: Dice, shape: Shape) -> Shape:
    """Draw a shape that broadcasts with another: mostly the same, some axes 1, left out, or new."""
    if dice.coin():
        return shape
    kept = shape[dice.number(0, len(shape)) :]
    found = [1 if dice.coin() else size for size in kept]
    found = [dice.number(1, 4) if size == 1 and dice.coin() else size for size in found]
    if len(kept) == len(shape) < MOST_AXES and dice.number(0, 5) == 5:
        found.insert(0, dice.number(1, 4))
    return tuple(found)


def factor_shape(dice: Dice, number: int, rank: int) -> Shape:
    """Draw a shape of so many axes and elements."""
    found = [1] * rank
    for prime in _primes(number):
        found[dice.number(0, rank - 1)] *= prime
    return tuple(found)


def _primes(number: int) -> list[int]:
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


def pair(dice: Dice, low: int, high: int) -> tuple[int, int]:
    return dice.number(low, high), dice.number(low, high)


def maybe(dice: Dice, want: Want) -> Want | None:
    return want if dice.coin() else None


def arrange(letters: str, layout: str, numbers: Sequence[int]) -> Shape:
    return tuple(numbers[k] for k in order(letters, layout))


def replace_item(shape: Shape, axis: int, *numbers: int) -> Shape:
    return (*shape[:axis], *numbers, *shape[axis + 1 :])


def indices(dice: Dice, shape: Shape, size: int) -> Want:
    """Want indices into an axis, most of them in its range."""
    dtype = dice.one(("int32", "int32", "int64", "uint32"))
    beyond = 3 if dice.number(0, 5) == 5 else 0
    low = 0 if dtype == "uint32" else -size - beyond
    return Want(dtype, shape, low, size - 1 + beyond)


# Movement.


def _reshape(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    number, rank = count(x.shape), dice.number(0, MOST_AXES)
    shape = factor_shape(dice, number, rank or (0 if number == 1 else 1))
    return Application(options={"new_shape": shape})


def _expand(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    shape = tuple(dice.number(1, 4) if size == 1 else size for size in x.shape)
    front = dice.sizes(0, min(2, MOST_AXES - len(shape)))
    return Application(options={"new_shape": (*front, *shape)})


def _squeeze(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    return Application(options={"axes": dice.some(ones) if dice.coin() else None})


def _unsqueeze(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    more = dice.number(1, max(1, MOST_AXES - len(x.shape)))
    found = dice.shuffle(range(len(x.shape) + more))[:more]
    return Application(options={"axes": found})


def _flatten(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    return Application(options={"axis": dice.number(-len(x.shape), len(x.shape))})


def _slice(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    starts = [dice.number(0, size - 1) for size in x.shape]
    lengths = [dice.number(1, s - a) for a, s in zip(starts, x.shape, strict=True)]
    found: dict[str, Any] = {"starts": starts, "sizes": lengths}
    if dice.coin():
        found["strides"] = [dice.number(1, 3) for _ in x.shape]
    return Application(options=found)


def _pad(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    mode = dice.one(("constant", "edge", "reflection", "symmetric"))
    beyond = {"reflection": -1, "symmetric": 0}.get(mode, 2)
    sides = [
        [dice.number(0, min(size + beyond, 2) if beyond < 1 else 2) for size in x.shape]
        for _ in range(2)
    ]
    found: dict[str, Any] = {"beginning_padding": sides[0], "ending_padding": sides[1]}
    if mode == "constant" and dice.coin():
        found["value"] = dice.one((1.0, 3.0, 1.5, -2.0))
    return Application(options=found | {"mode": mode})


def _tile(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    return Application(options={"repetitions": [dice.number(1, 2) for _ in x.shape]})


def _split(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    axis = one_axis(dice, x)
    size = x.shape[axis]
    if dice.coin():
        divisors = [n for n in range(1, size + 1) if size % n == 0]
        return Application(options={"splits": dice.one(divisors), "axis": axis})
    parts: list[int] = []
    while sum(parts) < size:
        parts.append(dice.number(1, size - sum(parts)))
    return Application(options={"splits": parts, "axis": axis})


def _concat(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    axis = one_axis(dice, x)
    lengths = dice.sizes(0, 3)
    wants = [Want(x.dtype, replace_item(x.shape, axis, n)) for n in lengths]
    return Application(wants, {"axis": axis})


def _gather(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    axis = one_axis(dice, x)
    shape = tuple(dice.sizes(0, max(0, min(2, MOST_AXES + 1 - len(x.shape)))))
    return Application([indices(dice, shape, x.shape[axis])], {"axis": axis})


def _gather_elements(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    axis = one_axis(dice, x)
    wanted = indices(dice, replace_item(x.shape, axis, dice.number(1, 4)), x.shape[axis])
    found: list[Want | None] = [wanted]
    if operator.name == "scatterElements":
        found.append(Want(x.dtype, wanted.shape))
    return Application(found, {"axis": axis})


def _gather_nd(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    places = dice.number(1, len(x.shape))
    lines = tuple(dice.sizes(0, 2))
    least = min(x.shape[:places])
    found: list[Want | None] = [indices(dice, (*lines, places), least)]
    if operator.name == "scatterND":
        found.append(Want(x.dtype, (*lines, *x.shape[places:])))
    return Application(found)


def _resample(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    places = dice.shuffle(range(4))[:2]
    found: dict[str, Any] = {"axes": places}
    found["mode"] = dice.one(("nearest-neighbor", "linear"))
    if dice.coin():
        found["sizes"] = [dice.number(1, 5) for _ in places]
    else:
        found["scales"] = [dice.one((1.0, 1.5, 2.0, 0.5)) for _ in places]
    return Application(options=found)


# Products and windows.


def _matmul(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    lead = broadcasting(dice, x.shape[:-2]) if len(x.shape) > 2 else ()
    return Application([Want(x.dtype, (*lead, x.shape[-1], dice.number(1, 4)))])


def _gemm(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    found = options(dice, operator, x)
    rows, inner = x.shape[::-1] if found.get("a_transpose") else x.shape
    columns = dice.number(1, 4)
    shape = (columns, inner) if found.get("b_transpose") else (inner, columns)
    addends = ((), (columns,), (1, columns), (rows, 1), (rows, columns), (1, 1), (1,))
    addend = maybe(dice, Want(x.dtype, dice.one(addends)))
    return Application([Want(x.dtype, shape), addend], found)


def _conv(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    """A convolution; its image is cut to what groups and windows need by the paddings."""
    transposed = operator.name == "convTranspose2d"
    layout = dice.one(INPUT_LAYOUTS)
    letters = dice.one(TRANSPOSED_FILTER_LAYOUTS if transposed else FILTER_LAYOUTS)
    channels = x.shape[layout.index("c")]
    groups = dice.one([n for n in range(1, channels + 1) if channels % n == 0])
    kernel, dilations = pair(dice, 1, 3), pair(dice, 1, 2)
    outer = dice.number(1, 2)
    if transposed:
        window = arrange("iohw", letters, (channels, outer, *kernel))
    else:
        window = arrange("oihw", letters, (groups * outer, channels // groups, *kernel))
    found = {
        "padding": tuple(dice.number(0, 2) for _ in range(4)),
        "strides": pair(dice, 1, 3),
        "dilations": dilations,
        "groups": groups,
        "input_layout": layout,
        "filter_layout": letters,
    }
    bias = maybe(dice, Want(x.dtype, (groups * outer,)))
    return Application([Want(x.dtype, window), bias], found)


def _conv1d(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    layout = dice.one(("ncl", "nlc"))
    channels = x.shape[layout.index("c")]
    groups = dice.one([n for n in range(1, channels + 1) if channels % n == 0])
    outer = groups * dice.number(1, 2)
    found = {
        "padding": pair(dice, 0, 2),
        "strides": dice.number(1, 2),
        "dilations": dice.number(1, 2),
        "groups": groups,
        "input_layout": layout,
    }
    window = Want(x.dtype, (outer, channels // groups, dice.number(1, 3)))
    return Application([window, maybe(dice, Want(x.dtype, (outer,)))], found)


def _pool(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    found: dict[str, Any] = {"layout": dice.one(INPUT_LAYOUTS)}
    if dice.coin():
        found["window_dimensions"] = pair(dice, 1, 3)
    if dice.coin():
        found["padding"] = tuple(dice.number(0, 2) for _ in range(4))
    if dice.coin():
        found["strides"] = pair(dice, 1, 3)
    if dice.coin():
        found["dilations"] = pair(dice, 1, 2)
    found["output_shape_rounding"] = dice.one(("floor", "ceil"))
    return Application(options=found)


# Normalisation.

EPSILONS = (1e-5, 1e-3, 0.5)


def _batch_norm(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    axis = one_axis(dice, x)
    line = Want(x.dtype, (x.shape[axis],))
    variance = Want(x.dtype, line.shape, 0.1, fixed=True)
    others = [line, variance, maybe(dice, line), maybe(dice, line)]
    return Application(others, {"axis": axis, "epsilon": dice.one(EPSILONS)})


def _layer_norm(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    found = dice.some(range(len(x.shape)))
    line = Want(x.dtype, tuple(x.shape[axis] for axis in found))
    others = [maybe(dice, line) for _ in operator.operands[1:]]
    return Application(others, {"axes": found, "epsilon": dice.one(EPSILONS)})


def _mean_variance(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    found = dice.some(range(len(x.shape)))
    others = tuple(size for axis, size in enumerate(x.shape) if axis not in found)
    line = Want(x.dtype, tuple(x.shape[axis] for axis in found))
    wants = [
        maybe(dice, Want(x.dtype, others)),
        maybe(dice, Want(x.dtype, others, 0.1, fixed=True)),
        maybe(dice, line),
        maybe(dice, line),
    ]
    return Application(wants, {"axes": found, "epsilon": dice.one(EPSILONS)})


def _instance_norm(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    layout = dice.one(INPUT_LAYOUTS)
    line = Want(x.dtype, (x.shape[layout.index("c")],))
    others = [maybe(dice, line), maybe(dice, line)]
    return Application(others, {"layout": layout, "epsilon": dice.one(EPSILONS)})


# Recurrence and attention.

CELLS = {"lstm": (4, ("iofg", "ifgo"), 3), "gru": (3, ("zrn", "rzn"), 2)}


def _recurrent(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    name, cell = operator.name.removesuffix("Cell"), operator.name.endswith("Cell")
    gates, layouts, functions = CELLS[name]
    hidden, words = dice.number(1, 3), ("sigmoid", "tanh", "relu")
    found: dict[str, Any] = {"layout": dice.one(layouts)}
    if dice.coin():
        found["activations"] = tuple(dice.one(words) for _ in range(functions))
    if name == "gru":
        found["reset_after"] = dice.coin()
    lead: Shape = ()
    if not cell:
        found["direction"] = dice.one(("forward", "backward", "both"))
        found["return_sequence"] = dice.coin()
        lead = (2,) if found["direction"] == "both" else (1,)
    rows, features, batch = gates * hidden, x.shape[-1], x.shape[-2]
    state = Want(x.dtype, (*lead, batch, hidden))
    line = Want(x.dtype, (*lead, rows))
    states = [state] * (2 if name == "lstm" else 1)
    peephole = [maybe(dice, Want(x.dtype, (*lead, 3 * hidden)))] if name == "lstm" else []
    weights = [Want(x.dtype, (*lead, rows, n)) for n in (features, hidden)]
    lines = [maybe(dice, line), maybe(dice, line), *peephole]
    if cell:
        return Application([*weights, *states, *lines], found)
    return Application([*weights, *lines, *(maybe(dice, one) for one in states)], found)


def _attend(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    lead, (queries, width) = x.shape[:-2], x.shape[-2:]
    causal = dice.coin()
    keys = queries + dice.number(0, 2) if causal else dice.number(1, 4)
    heads = dice.one([n for n in range(1, width + 1) if width % n == 0])
    base = lead if dice.coin() else ()
    other = Want(x.dtype, (*base, keys, width))
    found: dict[str, Any] = {"heads": heads, "causal": causal}
    if width // heads % 2 == 0 and dice.coin():
        found["rope"] = dice.one((True, 100.0))
    mask = None
    if dice.coin():
        shape = dice.one(((keys,), (queries, keys), (*lead, heads, 1, keys)))
        shown = [1 if k % keys == 0 else dice.number(0, 1) for k in range(count(shape))]
        dtype = dice.one(("uint8", "int32"))
        mask = Want(dtype, shape, fixed=True, values=tuple(shown))
    return Application([other, other, mask], found)


def _embedding(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    dtype = dice.one(("float32", "float16"))
    return Application([Want(dtype, (dice.number(1, 6), dice.number(1, 4)))])


def _positions(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    rows = x.shape[-2] + dice.number(0, 2)
    return Application([Want(x.dtype, (rows, x.shape[-1]))])


def _rotary(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    heads = [n for n in range(1, x.shape[-1] + 1) if x.shape[-1] % (2 * n) == 0] or [1]
    start = dice.number(-3, 3)
    return Application(options={"heads": dice.one(heads), "start": start})


# Numbers.


def _quantise(dice: Dice, x: TensorType, operator: AnyOperator) -> Application:
    parts = tuple(dice.one([n for n in range(1, size + 1) if size % n == 0]) for size in x.shape)
    if operator.name == "quantizeLinear":
        dtype = dice.one(sorted(operator.operands[2].dtypes))
        scale = Want(x.dtype, parts, 0.01, 2.0, fixed=True)
    else:
        dtype = x.dtype
        scale = Want(dice.one(("float32", "float16")), parts, 0.01, 2.0, fixed=True)
    low = 0 if dtype.startswith("uint") else -8
    return Application([scale, Want(dtype, parts, low, 7, fixed=True)])


def _clamp(dice: Dice, x: TensorType, _: AnyOperator) -> Application:
    bounds = (-2, -1.5, 0, 0.25, 1, 3, 200)
    found = sorted((dice.one(bounds), dice.one(bounds)))
    kept = {"min_value": found[0], "max_value": found[1]}
    if dice.coin():
        del kept[dice.one(tuple(kept))]
    return Application(options=kept)


def _fill(dice: Dice, _x: TensorType, _: AnyOperator) -> Application:
    dtype = dice.one(TYPES)
    steps = (0, 1, 2) if dtype.startswith("uint") else (0, 1, -1, 2)
    shape = dice.sizes(0, 3)
    found: dict[str, Any] = {"type": dtype, "shape": shape}
    if not dtype.endswith("int4"):
        found |= {"start": dice.number(0, 9), "delta": dice.one(steps)}
    return Application(options=found)


def _dropout(dice: Dice, _x: TensorType, _: AnyOperator) -> Application:
    return Application(options={"p": dice.one((0.1, 0.5, 0.9))})


def _key(dice: Dice) -> Want:
    shape = (*dice.sizes(0, 2), WORDS)
    return Want("int32", shape, 0, PRIME - 1, fixed=True)


def _random_pairs(dice: Dice, key: TensorType, _: AnyOperator) -> Application:
    shape = (*broadcasting(dice, key.shape[:-1]), dice.number(1, 4))
    counters = Want("int32", shape, 0, 2**31 - 1, fixed=True)
    return Application([counters], {"side": dice.number(0, 3)})


FIRST: dict[str, Callable[[Dice], Want]] = {"randomPairs": _key}
"""First operands that have a meaning only with values in a range."""

RULES: dict[str, Rule] = {
    "attend": _attend,
    "averagePool2d": _pool,
    "batchNormalization": _batch_norm,
    "clamp": _clamp,
    "concat": _concat,
    "conv1d": _conv1d,
    "conv2d": _conv,
    "convTranspose2d": _conv,
    "dequantizeLinear": _quantise,
    "dropout": _dropout,
    "embedding": _embedding,
    "expand": _expand,
    "fillSequence": _fill,
    "flatten": _flatten,
    "gather": _gather,
    "gatherElements": _gather_elements,
    "gatherND": _gather_nd,
    "gemm": _gemm,
    "gru": _recurrent,
    "gruCell": _recurrent,
    "instanceNormalization": _instance_norm,
    "l2Pool2d": _pool,
    "layerNormalization": _layer_norm,
    "lstm": _recurrent,
    "lstmCell": _recurrent,
    "matmul": _matmul,
    "maxPool2d": _pool,
    "meanVarianceNormalization": _mean_variance,
    "pad": _pad,
    "positionalEmbedding": _positions,
    "quantizeLinear": _quantise,
    "randomPairs": _random_pairs,
    "resample2d": _resample,
    "reshape": _reshape,
    "rmsNorm": _layer_norm,
    "rotaryEmbedding": _rotary,
    "scatterElements": _gather_elements,
    "scatterND": _gather_nd,
    "slice": _slice,
    "split": _split,
    "squeeze": _squeeze,
    "tile": _tile,
    "unsqueeze": _unsqueeze,
}
