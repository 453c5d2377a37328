"""WebNN as the text of the specification has it: everything that may be refused is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from tests.unit.backends.plans import NUMBERS, list_calls
from tests.unit.backends.webnn_shapes import (
    Call,
    Refusal,
    Shape,
    Type,
    Unsupported,
    check,
    check_dimensions,
    infer_types,
)
from tests.unit.backends.webnn_tables import (
    DATA_TYPES,
    LARGEST_RANK,
    Method,
    methods,
    support_limits,
)
from webnnm.compiler.plan import Plan
from webnnm.core.dtypes import byte_length as count_bytes
from webnnm.core.shapes import count

EXTENSIONS = ("int4", "uint4")
"""Types that are not in the specification; an implementation that lists them has them."""


def byte_length(type: Type) -> int:
    return count_bytes(type.dtype, count(type.shape))


@dataclass(eq=False)
class MLTensor:
    """A tensor of a context; `data` is what it holds."""

    context: MLContext
    type: Type
    readable: bool
    writable: bool
    data: bytes
    constant: bool = False
    destroyed: bool = False


@dataclass(eq=False)
class MLGraph:
    """A built graph: the types of its inputs and outputs."""

    context: MLContext
    inputs: dict[str, Type]
    outputs: dict[str, Type]
    destroyed: bool = False


@dataclass(eq=False)
class MLOperand:
    """An operand of a builder; `sources` are those of its operator."""

    builder: MLGraphBuilder
    type: Type
    name: str = ""
    kind: str = "result"
    sources: tuple[MLOperand, ...] = ()

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        return self.type.shape


@dataclass(eq=False)
class MLContext:
    """A context with some `opSupportLimits()`."""

    limits: Mapping[str, Any] = field(default_factory=support_limits)
    lost: bool = False

    def check_alive(self) -> None:
        if self.lost:
            raise Refusal("the context is lost", "InvalidStateError")

    def check_bounds(self, kind: str, type: Type, bounds: Mapping[str, Any]) -> None:
        """Check a type against an entry of the limits."""
        if not bounds:
            return
        ranks = bounds.get("rankRange", {"min": 0, "max": LARGEST_RANK})
        listed = type.dtype in bounds["dataTypes"]
        dtypes = ", ".join(bounds["dataTypes"])
        check(listed, f"{kind} may be {dtypes}, not {type.dtype}", Unsupported)
        fits = ranks["min"] <= len(type.shape) <= ranks["max"]
        check(fits, f"{kind} is {[*type.shape]}, not of rank {ranks}", Unsupported)

    def check_type(self, type: Type) -> None:
        """Check dimensions and data type."""
        check_dimensions(type.shape)
        listed = self.limits.get("input", {}).get("dataTypes", ())
        is_known = type.dtype in DATA_TYPES or (type.dtype in EXTENSIONS and type.dtype in listed)
        check(is_known, f"there is no data type {type.dtype}")

    def check_descriptor(self, type: Type, kind: str) -> None:
        self.check_type(type)
        largest = self.limits.get("maxTensorByteLength", 2**31 - 1)
        check(byte_length(type) <= largest, f"{type} is too large", Unsupported)
        self.check_bounds(kind, type, self.limits.get(kind, {}))

    def create_tensor(self, type: Type, *, readable: bool, writable: bool) -> MLTensor:
        self.check_alive()
        self.check_type(type)
        return MLTensor(self, type, readable, writable, bytes(byte_length(type)))

    def _check_tensor(self, tensor: MLTensor) -> None:
        check(tensor.context is self, "the tensor is of another context")
        check(not tensor.destroyed, "the tensor was destroyed")

    def read_tensor(self, tensor: MLTensor) -> bytes:
        self._check_tensor(tensor)
        check(tensor.readable, "the tensor is not readable")
        return tensor.data

    def write_tensor(self, tensor: MLTensor, data: bytes) -> None:
        self._check_tensor(tensor)
        check(tensor.writable, "the tensor is not writable")
        check(len(data) == byte_length(tensor.type), f"{len(data)} bytes for {tensor.type}")
        tensor.data = data

    def dispatch(
        self, graph: MLGraph, inputs: Mapping[str, MLTensor], outputs: Mapping[str, MLTensor]
    ) -> None:
        """Check a dispatch; whoever calls it computes."""
        check(graph.context is self, "the graph is of another context")
        if graph.destroyed:
            raise Refusal("the graph was destroyed", "InvalidStateError")
        tensors = [*inputs.values(), *outputs.values()]
        check(len({id(tensor) for tensor in tensors}) == len(tensors), "a tensor is bound twice")
        for tensor in tensors:
            self._check_tensor(tensor)
        for named, types in ((inputs, graph.inputs), (outputs, graph.outputs)):
            check(named.keys() == types.keys(), f"{[*named]} are bound, not {[*types]}")
            for name, tensor in named.items():
                check(not tensor.constant, f"{name} is a constant")
                check(tensor.type == types[name], f"{name} is {types[name]}, not {tensor.type}")


class MLGraphBuilder:
    """Checks the calls that make a graph, and what each method would return."""

    def __init__(self, context: MLContext) -> None:
        context.check_alive()
        self.context = context
        self._names: set[str] = set()
        self._has_built = False

    def _check_can_build(self) -> None:
        self.context.check_alive()
        if self._has_built:
            raise Refusal("the builder has built", "InvalidStateError")

    def input(self, name: str, type: Type) -> MLOperand:
        self._check_can_build()
        check(bool(name), "an input has no name")
        check(name not in self._names, f"two inputs are named {name}")
        self.context.check_descriptor(type, "input")
        self._names.add(name)
        return MLOperand(self, type, name, "input")

    def constant(self, type: Type, size: int) -> MLOperand:
        self._check_can_build()
        self.context.check_descriptor(type, "constant")
        check(size == byte_length(type), f"{size} bytes for {type}")
        return MLOperand(self, type, kind="constant")

    def call(
        self, operator: str, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> list[MLOperand]:
        """Call a method; its operands are among the arguments and the options."""
        self._check_can_build()
        check(operator in methods(), f"there is no method {operator}")
        method = methods()[operator]
        operands, values = _convert(method, arguments, options)
        sources: list[MLOperand] = []
        for name, operand in operands.items():
            for x in operand if isinstance(operand, list) else [operand]:
                if x is not None:
                    check(x.builder is self, f"{name} is of another builder")
                    self._check_type(method, name, x.type, operands, values)
                    sources.append(x)
        types = infer_types(operator, Call(operands, {**values, "operator": operator}))
        for index, type in enumerate(types):
            names = (f"output{index}", "outputs", "output")
            slot = next(name for name in names if name in method.limits)
            self._check_type(method, slot, type, operands, values)
        return [MLOperand(self, type, sources=tuple(sources)) for type in types]

    def _check_type(
        self,
        method: Method,
        slot: str,
        type: Type,
        operands: Mapping[str, Any],
        values: Mapping[str, Any],
    ) -> None:
        """Check a type against the table of the specification and the context's limits."""
        limits, allowed = method.limits[slot], method.limits[slot].allowed
        if limits.like:
            like = operands[limits.like]
            allowed = ((like[0] if isinstance(like, list) else like).dtype,)
        where = f"{method.name}.{slot}"
        extended = type.dtype in EXTENSIONS  # its limits decide
        check(extended or type.dtype in allowed, f"{where} may be {allowed}, not {type.dtype}")
        if not isinstance(limits.ranks, str):
            low, high = limits.ranks
            check(low <= len(type.shape) <= high, f"{where} is {[*type.shape]}: rank {low}–{high}")
        entry = self.context.limits.get(method.name)
        if entry is None:
            raise Unsupported(f"this implementation has no {method.name}")
        self.context.check_bounds(where, type, entry.get(slot, {}))

    def build(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        self._check_can_build()
        check(bool(outputs), "there are no outputs")
        for name, operand in outputs.items():
            check(bool(name), "an output has no name")
            check(operand.builder is self, f"{name} is of another builder")
            check(operand.kind == "result", f"output {name} is {operand.kind} of the graph")
            bounds = self.context.limits.get("output", {})
            self.context.check_bounds("output", operand.type, bounds)
        reached: dict[int, MLOperand] = {}
        queue = [*outputs.values()]
        while queue:
            operand = queue.pop()
            if id(operand) not in reached:
                reached[id(operand)] = operand
                queue += operand.sources
        self._has_built = True
        inputs = {x.name: x.type for x in reached.values() if x.kind == "input"}
        return MLGraph(self.context, inputs, {name: o.type for name, o in outputs.items()})


def _convert(
    method: Method, arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert arguments and options as Web IDL does, but refuse what it would ignore."""
    check(len(arguments) == len(method.arguments), f"{len(arguments)} arguments of {method.name}")
    unknown = options.keys() - method.options.keys()
    check(not unknown, f"{method.name} has no options {sorted(unknown)}")
    operands: dict[str, Any] = {}
    values: dict[str, Any] = {}
    described = [*zip(method.arguments, arguments, strict=True)]
    described += [(option, options.get(name)) for name, option in method.options.items()]
    for description, value in described:
        name, kind = description["name"], description["kind"]
        if kind in ("operand", "sequence of operands"):
            check(value is not None or "default" in description, f"{name} is missing")
            operands[name] = value
        elif value is None:
            default = description.get("default")
            values[name] = None if isinstance(default, str) and "enum" not in kind else default
        else:
            check(_is_kind(value, description), f"{method.name}: {name} is {value!r}, no {kind}")
            values[name] = value
    return operands, values


def _is_kind(value: Any, description: Mapping[str, Any]) -> bool:
    """Return whether a value is of the kind that an argument or option has."""
    match description["kind"]:
        case "unsigned int":
            return _is_integer(value, 0, 2**32 - 1)
        case "long":
            return _is_integer(value, -(2**31), 2**31 - 1)
        case "list of unsigned ints":
            return isinstance(value, list) and all(_is_integer(v, 0, 2**32 - 1) for v in value)
        case "unsigned int or list of unsigned ints":
            items = value if isinstance(value, list) else [value]
            return all(_is_integer(v, 0, 2**32 - 1) for v in items)
        case "boolean":
            return isinstance(value, bool)
        case "double":
            return _is_number(value) and isfinite(value)
        case "number":
            return _is_number(value) or value in NUMBERS
        case "sequence<float>":
            return isinstance(value, list) and all(_is_number(v) and isfinite(v) for v in value)
        case "enum":
            return value in description["values"]
        case "list of enum":
            return isinstance(value, list) and all(v in description["values"] for v in value)
        case "dataType enum":
            return value in DATA_TYPES
        case "string":
            return isinstance(value, str)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


# What js_bridge/webnn/plans.js does with a plan.


def assemble(context: MLContext, plan: Plan) -> MLGraph:
    """Make the calls of a plan, and return the graph; a `Refusal` has the operator as a note."""
    builder = MLGraphBuilder(context)
    content = plan.content
    operands: dict[int, MLOperand] = {}
    for tensor in content["inputs"]:
        operands[tensor["id"]] = builder.input(tensor["name"], _type_of(tensor))
    for tensor in content["constants"]:
        operands[tensor["id"]] = builder.constant(_type_of(tensor), tensor["length"])
    for call in list_calls(content):
        if "rename" in call:
            operands |= {new: operands[old] for new, old in call["rename"].items()}
            continue
        arguments = [
            [operands[i] for i in id] if isinstance(id, list) else operands[id]
            for id in call["operands"]
        ]
        references = {name: operands[id] for name, id in call["references"].items()}
        options = {**call["options"], **references, "label": call["label"]}
        try:
            results = builder.call(call["op"], [*arguments, *call["arguments"]], options)
        except Refusal as refusal:
            types = [[x.type for x in xs] if isinstance(xs, list) else xs.type for xs in arguments]
            refusal.add_note(f"in {call['op']} {call['label']!r} of {types}")
            raise
        check(len(results) == len(call["results"]), f"{call['op']} has {len(results)} results")
        operands.update(zip(call["results"], results, strict=True))
    graph = builder.build({output["name"]: operands[output["id"]] for output in content["outputs"]})
    for what, types, declared in (
        ("inputs", graph.inputs, plan.inputs),
        ("outputs", graph.outputs, plan.outputs),
    ):
        same = types == {name: Type(*type) for name, type in declared.items()}
        check(same, f"the {what} are {types}, but the plan says {declared}")
    return graph


def _type_of(tensor: Mapping[str, Any]) -> Type:
    return Type(tensor["dtype"], tuple(tensor["shape"]))
