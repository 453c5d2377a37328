"""Facts about an operator for its documentation, found in its record and samples."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from webnnm import ops
from webnnm.core.dtypes import PRECEDENCE, DataType, is_float
from webnnm.core.naming import snake_case
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand, OperatorNode
from webnnm.graph.transforms.autodiff import backward
from webnnm.language.signatures import signature
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Sample, Slot

RULES = ("decompose", "gradient", "reference", "infer")


@cache
def library() -> Mapping[str, AnyOperator]:
    """Return the operators of the package by name, without those that programs registered."""
    return {name: operator for name, operator in ops.registry().items() if module_of(operator)}


@cache
def module_of(operator: AnyOperator) -> str:
    """Return the name of the module of webnnm.ops that declares an operator, "" if none does.

    >>> module_of(ops.registry()["matmul"])
    'matmul'
    """
    modules = [
        importlib.import_module(f"webnnm.ops.{module.name}")
        for module in pkgutil.iter_modules(ops.__path__)
    ]
    holding = [m for m in modules if any(value is operator for value in vars(m).values())]
    rules = {getattr(getattr(operator, rule), "__module__", "") for rule in RULES}
    # Modules that only import the operator have none of its rules.
    homes = [m for m in holding if m.__name__ in rules] or holding
    return homes[0].__name__.rpartition(".")[2] if homes else ""


def title_of(module: str) -> str:
    """Return the purpose of a module of webnnm.ops, from its first line.

    >>> title_of("reduce")
    'Reductions along axes: sums, means, norms, extrema, products, variance'
    """
    text = importlib.import_module(f"webnnm.ops.{module}").__doc__ or module
    return text.splitlines()[0].removesuffix(".")


def types_of(slot: Slot, slots: tuple[Slot, ...]) -> str:
    """Describe the data types of an operand."""
    if slot.like is not None:
        return f"as `{slots[slot.like].name}`"
    return names_of(slot.dtypes)


def names_of(dtypes: frozenset[DataType]) -> str:
    """Describe a set of data types.

    >>> names_of(frozenset({"float16", "float32"})), names_of(frozenset(PRECEDENCE))
    ('float32, float16', 'any')
    """
    missing = [dtype for dtype in PRECEDENCE if dtype not in dtypes]
    if len(missing) <= 2:
        return "any" + (f" but {', '.join(missing)}" if missing else "")
    return ", ".join(dtype for dtype in PRECEDENCE if dtype in dtypes)


def ranks_of(slot: Slot) -> str:
    """Describe the ranks of an operand.

    >>> ranks_of(Slot(name="x", ranks=(1, None))), ranks_of(Slot(name="x", ranks=(2, 2)))
    ('1 or more', '2')
    """
    low, high = slot.ranks
    if high is None:
        return f"{low} or more" if low else "any"
    return str(low) if low == high else f"{low} … {high}"


def kind_of(check: Any) -> str:
    """Return which values a check of an option accepts, from its docstring or that of its maker.

    >>> from webnnm.ops.declare import checks
    >>> kind_of(checks.boolean), kind_of(checks.choice("left", "right"))
    ('True or False', '"left", "right"')
    """
    if not inspect.isfunction(check):
        return ""
    text = inspect.getdoc(check)
    bounds: Mapping[str, Any] = {}
    if text is None:  # a closure, which the docstring of its maker describes
        maker = getattr(sys.modules[check.__module__], check.__qualname__.partition(".")[0], None)
        text = inspect.getdoc(maker) if inspect.isfunction(maker) else None
        bounds = inspect.getclosurevars(check).nonlocals
    first = (text or "").partition("\n")[0].removesuffix(".")
    opening = r"(Accept|Return a check (for|that accepts)|Return the option of) "
    first = re.sub(f"^{opening}", "", first)
    if "choices" in bounds:
        return ", ".join(f'"{choice}"' for choice in bounds["choices"])
    for name, value in bounds.items():
        if value is not None:
            first = first.replace(f"`{name}` if that is given", str(value))
            first = first.replace(f"`{name}`", str(value))
    # A bound that is not given, or lies deeper in the closure, is left out.
    return re.sub(r",? from `\w+`[^,;]*", "", first)


def default_of(value: Any) -> str:
    """Describe a default; the values say what None stands for."""
    if value is REQUIRED:
        return "required"
    return "–" if value is None else f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    return str(list(cast("Sequence[Any]", value))) if isinstance(value, tuple) else repr(value)


def call_in_notation(operator: AnyOperator) -> str:
    """Return the operator as a layer in the notation, with all options, "" if there is none.

    >>> call_in_notation(ops.registry()["gemm"])
    'gemm(b, c=…, alpha=1.0, beta=1.0, aTranspose=false, bTranspose=false)'
    """
    return signature(operator) if operator.layer is not None else ""


def call_in_python(operator: AnyOperator) -> str:
    """Return a call of the builder's method.

    >>> call_in_python(ops.registry()["gemm"])
    'b.gemm(a, b, c=None, alpha=1.0, beta=1.0, a_transpose=False, b_transpose=False)'
    """
    arguments: list[str] = []
    for slot in operator.operands:
        operand = snake_case(slot.name)
        arguments.append(f"[{operand}, …]" if slot.variadic else operand + "=None" * slot.optional)
    for name, option in operator.options.items():
        default = "…" if option.default is REQUIRED else _plain(option.default)
        arguments.append(f"{name}={default}")
    return f"b.{snake_case(operator.name)}({', '.join(arguments)})"


Applied = tuple[list[Operand | None], tuple[Operand, ...]]


def apply_sample(operator: AnyOperator, sample: Sample) -> Applied:
    """Apply an operator as in a sample; return operands and results."""
    b = GraphBuilder()
    dtypes: Sequence[DataType] = sample.dtypes or ("float32",) * len(sample.shapes)
    xs = [
        None if shape is None else b.input(f"x{i}", dtype, shape)
        for i, (dtype, shape) in enumerate(zip(dtypes, sample.shapes, strict=True))
    ]
    is_variadic = operator.operands and operator.operands[0].variadic
    return xs, _results(b.apply(operator, [xs] if is_variadic else xs, sample.options))


def _results(result: Any) -> tuple[Operand, ...]:
    return cast("tuple[Operand, ...]", result if isinstance(result, tuple) else (result,))


def example_of(operator: AnyOperator) -> str:
    """Return the types of the sample that shows most of an operator, and of its results.

    Nothing without samples.

    >>> example_of(ops.registry()["relu"])
    'float32[2, 3] → float32[2, 3]'
    """
    if not operator.samples:  # registered by a user
        return ""
    # The first of those with most operands and options.
    sample = max(operator.samples, key=lambda s: (len(s.shapes), len(s.options)))
    xs, ys = apply_sample(operator, sample)
    left, right = (", ".join(str(x.type) if x else "–" for x in side) for side in (xs, ys))
    options = ", ".join(f"{name}={_plain(value)}" for name, value in sample.options.items())
    return f"{left} → {right}" + (f" with {options}" if options else "")


def differentiable_operands(operator: AnyOperator) -> list[str]:
    """Return the names of the operands to which a gradient flows in some sample.

    >>> differentiable_operands(ops.registry()["where"])
    ['trueValue', 'falseValue']
    """
    slots = operator.operands
    names_with_gradient: set[str] = set()
    for sample in operator.samples:
        operands, ys = apply_sample(operator, sample)
        is_variadic = slots and slots[0].variadic
        names = [slots[0 if is_variadic else i].name for i, x in enumerate(operands) if x]
        xs = [x for x in operands if x]
        for k, y in enumerate(ys):
            if is_float(y.dtype):
                seed = y.builder.input(f"seed{k}", y.dtype, y.shape)
                arrived = zip(names, backward(y, xs, seed), strict=True)
                names_with_gradient.update(
                    name for name, gradient in arrived if gradient is not None
                )
    return [slot.name for slot in slots if slot.name in names_with_gradient]


def parts_of(operator: AnyOperator) -> list[str]:
    """Return the operators that a decomposition uses, in its samples.

    >>> parts_of(ops.registry()["reduceVariance"])
    ['mul', 'reduceMean', 'sub']
    """
    used: dict[str, None] = {}
    for sample in operator.samples:
        for node in _decompose(operator, sample):
            used[node.operator.name] = None
    return [name for name in library() if name in used]


def _decompose(operator: AnyOperator, sample: Sample) -> Iterator[OperatorNode]:
    _, ys = apply_sample(operator, sample)
    graph = ys[0].builder.build({str(i): y for i, y in enumerate(ys)})
    for node in graph.nodes():
        if isinstance(node, OperatorNode) and node.operator is operator:
            assert operator.decompose is not None
            b = ys[0].builder
            others = _results(operator.decompose(b, *node.operands, **node.options))
            inner = b.build({str(i): y for i, y in enumerate(others)})
            yield from (n for n in inner.nodes() if isinstance(n, OperatorNode))
        elif isinstance(node, OperatorNode):
            yield node
