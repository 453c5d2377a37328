"""The graph builder: WebNN's MLGraphBuilder in snake_case, on any backend."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from webnnm import ops
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import PRECEDENCE, DataType, highest, is_data_type
from webnnm.core.errors import BackendError, Span, suggestion
from webnnm.core.shapes import MAX_DIMENSION, is_integer, show
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.ops.declare.activation import Activation, is_activation
from webnnm.ops.declare.checks import check_room, few_enough
from webnnm.ops.declare.naming import snake_case
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Composite, Slot
from webnnm.ops.declare.tensors import OperatorError, TensorType


class Context(Protocol):
    """What compiles graphs: a backend."""

    async def compile(self, graph: Graph) -> Any:
        """Compile a graph."""
        ...


Descriptor = Mapping[str, Any]
"""WebNN's MLOperandDescriptor as a dictionary."""


class GraphBuilder:
    """Builds tensor graphs; every registered operator is a method in snake_case.

    Methods take the same arguments as those of WebNN's `MLGraphBuilder`: operands, positional
    arguments, options by keyword, and `label`.

    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> y = b.softmax(b.matmul(x, b.constant([[1.0], [2.0], [3.0]])), axis=1)
    >>> b.build({"y": y}).outputs["y"]
    float32[2, 1]

    `context` is the backend on which `build_async` compiles; `build` does not need one.

    Numbers among the operands become scalar constants of the type of the other operands. Identical
    expressions share a node, and identical constants are stored once.

    Raises `OperatorError` if operands or options are invalid for an operator.
    """

    def __init__(self, context: Context | None = None) -> None:
        self.context = context
        self.nodes: list[Node] = []
        self._known: dict[Any, Node] = {}
        self._inputs: dict[str, Operand] = {}
        self._label = ""
        self._span: Span | None = None

    def input(
        self, name: str, dtype: DataType | Descriptor, shape: Sequence[int] | None = None
    ) -> Operand:
        """Declare an input; names have to be unique.

        Type and shape can also be given as a WebNN descriptor `{"dataType": …, "shape": …}`, or as
        one of the 2022 draft, `{"type": …, "dimensions": …}`. Without a shape the input is a
        scalar.
        """
        if isinstance(dtype, Mapping):
            dtype, shape = _described(dtype)
        shape = () if shape is None else shape
        if not isinstance(dtype, str) or not is_data_type(dtype):
            raise OperatorError("NNM113", f'input "{name}": unknown data type "{dtype}"')
        if name in self._inputs:
            raise OperatorError("NNM206", f'the graph has an input "{name}" already')
        if not all(is_integer(size) and 1 <= size <= MAX_DIMENSION for size in shape):
            raise OperatorError("NNM109", f'input "{name}" {show(shape)}: sizes are 1 … 2147483647')
        types = (TensorType(dtype, tuple(shape)),)
        return self.adopt(InputNode(number=0, types=types, label=name, name=name))[0]

    @property
    def inputs(self) -> Mapping[str, Operand]:
        """The inputs declared so far, by name."""
        return self._inputs

    def constant(
        self, value: Any, dtype: Any = None, shape: Sequence[int] | None = None
    ) -> Operand:
        """Return a constant from a number, nested lists, or any object with the buffer protocol.

        The argument orders of WebNN work too: `constant("float32", 2)`, `constant(descriptor,
        buffer)`.
        """
        if isinstance(value, Mapping):
            found, sizes = _described(value)  # pyright: ignore[reportUnknownArgumentType]
            value, dtype, shape = dtype, found, sizes
        elif isinstance(value, str) and is_data_type(value):
            value, dtype = dtype, value
        if dtype is not None and not is_data_type(dtype):
            raise OperatorError("NNM113", f'constant: unknown data type "{dtype}"')
        if isinstance(value, range):
            # Of a range, len() counts no further than a machine word.
            number = max(0, -((value.start - value.stop) // value.step))
            few_enough(number, "the numbers of a range")
        array = HostArray.of(value, dtype, shape, copy=True)
        types = (TensorType(array.dtype, array.shape),)
        return self.adopt(
            ConstantNode(number=0, types=types, label=self._label, span=self._span, array=array)
        )[0]

    def adopt(self, node: Node) -> tuple[Operand, ...]:
        """Add a node on this builder's operands, or reuse an identical one; return its results."""
        key = _key(node)
        known = self._known.get(key)
        if known is None:
            number = len(self.nodes)
            check_room(number)
            if node.number == number:
                known = node
            elif isinstance(node, OperatorNode):
                known = node.at(number, node.operands)
            else:
                known = replace(node, number=number)
            self._known[key] = known
            self.nodes.append(known)
        results = tuple(Operand(self, known.number, index) for index in range(len(known.types)))
        if isinstance(node, InputNode):
            self._inputs[node.name] = results[0]
        return results

    def build(self, outputs: Mapping[str, Operand]) -> Graph:
        """Return the graph that computes these outputs."""
        return Graph(dict(outputs), dict(self._inputs))

    async def build_async(self, outputs: Mapping[str, Operand]) -> Any:
        """Return the graph that computes these outputs, compiled for the builder's context."""
        if self.context is None:
            raise BackendError(
                "NNM709",
                "the builder has no context to compile on",
                hint="write GraphBuilder(await backend(…)), or build() and backend.compile()",
            )
        return await self.context.compile(self.build(outputs))

    @contextmanager
    def place(self, label: str, span: Span | None = None) -> Generator[None]:
        """Label the nodes made inside the `with` block with a name and a span of the text."""
        outer = self._label, self._span
        self._label, self._span = label, span
        try:
            yield
        finally:
            self._label, self._span = outer

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = ops.method(name)
        if operator is None:
            hint = suggestion(name, ops.methods())
            raise AttributeError(f'GraphBuilder has no operator "{name}"; {hint}')

        def apply(*given: Any, label: str = "", **options: Any) -> Any:
            if not given and is_activation(operator):
                return Activation(operator.name, options)
            operands, arguments = _separated(operator, given)
            if not label:
                return self.apply(operator, operands, arguments | options)
            with self.place(label):
                return self.apply(operator, operands, arguments | options)

        return apply

    def apply(
        self, operator: AnyOperator, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Apply an operator; return its result, or a tuple if it has several."""
        if operator.earlier is None:
            return self._apply(operator, operands, options)
        operands, options, *finish = operator.earlier(self, operator, list(operands), dict(options))
        result = self._apply(operator, operands, options)
        for finally_ in finish:
            if finally_ is not None:
                result = finally_(result)
        return result

    def _apply(
        self, operator: AnyOperator, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        found, options = self._bind(operator, operands, options)
        types = tuple(operand and operand.type for operand in found)
        _check_types(operator, found)
        checked = {
            name: _checked(
                operator, name, option.check, option.default, options, [t for t in types if t]
            )
            for name, option in operator.options.items()
        }
        if isinstance(operator, Composite) and not _is_native(operator, checked):
            return operator.decompose(self, *found, **checked)
        result = (operator.infer or _tried(operator))(*types, **checked)
        several = not isinstance(result, TensorType)
        results = self.adopt(
            OperatorNode(
                number=0,
                types=result if several else (result,),
                label=self._label,
                span=self._span,
                operator=operator,
                operands=tuple(found),
                options=checked,
            )
        )
        return results if several else results[0]

    def _bind(
        self, operator: AnyOperator, given: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[list[Operand | None], Mapping[str, Any]]:
        """Match what was given to the operator's slots, numbers turned into constants."""
        slots = operator.operands
        names = [snake_case(slot.name) for slot in slots]
        named = {name for name, slot in zip(names, slots, strict=True) if slot.keyword}
        keywords = named & options.keys()
        unknown = options.keys() - operator.options.keys() - keywords
        if unknown:
            word = min(unknown)
            raise OperatorError(
                "NNM301",
                f'"{operator.name}" has no option "{word}"',
                suggestion(word, [*operator.options, *sorted(named)]),
            )
        if slots and slots[0].variadic:
            given = given[0] if len(given) == 1 and not isinstance(given[0], Operand) else given
            values = list(given)
        else:
            required = sum(not slot.optional for slot in slots)
            if not required <= len(given) <= len(slots):
                raise OperatorError(
                    "NNM302",
                    f'"{operator.name}" takes {_amount(required, len(slots))}, {len(given)} given',
                )
            twice = keywords.intersection(names[: len(given)])
            if twice:
                raise OperatorError("NNM302", f'"{operator.name}" is given {min(twice)} twice')
            rest = [options.get(name) for name in names[len(given) :]]
            values = [*given, *rest]
        tensors = [value for value in values if isinstance(value, Operand)]
        if not tensors and slots:
            raise OperatorError("NNM302", f'"{operator.name}" needs a tensor among its operands')
        if any(tensor.builder is not self for tensor in tensors):
            raise OperatorError(
                "NNM302", f'operands of "{operator.name}" belong to another builder'
            )
        found = [
            value
            if value is None or isinstance(value, Operand)
            else self.constant(value, _literal_type(slots, values, position))
            for position, value in enumerate(values)
        ]
        return found, {key: value for key, value in options.items() if key not in keywords}


def _separated(operator: AnyOperator, given: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Tell operands from the plain arguments that stand behind them in WebNN's methods."""
    slots = operator.operands
    names = [name for name, option in operator.options.items() if option.positional]
    listed = not (slots and slots[0].variadic) or (given and not isinstance(given[0], Operand))
    behind = sum(not slot.keyword for slot in slots)
    arguments = given[behind:] if names and listed else ()
    if len(arguments) > len(names) or any(isinstance(value, Operand) for value in arguments):
        return given, {}
    return given[: len(given) - len(arguments)], dict(zip(names, arguments, strict=False))


def _described(descriptor: Descriptor) -> tuple[Any, Any]:
    """Return data type and shape of a descriptor, in today's words or those of the 2022 draft."""
    known = {"dataType", "type", "shape", "dimensions"}
    if not descriptor.keys() <= known:
        word = min(descriptor.keys() - known)
        message = f'a descriptor has no member "{word}"'
        raise OperatorError("NNM301", message, suggestion(word, known))
    dtype = descriptor.get("dataType", descriptor.get("type"))
    return dtype, descriptor.get("shape", descriptor.get("dimensions", ()))


def _is_native(operator: Composite, options: Mapping[str, Any]) -> bool:
    return bool(operator.native) and operator.covers(**options)


def result_types(
    operator: AnyOperator, operands: Sequence[TensorType | None], options: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """Return the types of an operator's results for operands of these types.

    Raises `OperatorError` where operands or options break the operator's rules.

    >>> result_types(ops.registry()["softmax"], [TensorType("float32", (2, 3))], {})
    (TensorType(dtype='float32', shape=(2, 3)),)
    """
    b = GraphBuilder()
    given = [type and b.input(str(i), *type) for i, type in enumerate(operands)]
    result: Operand | tuple[Operand, ...] = b.apply(operator, given, options)
    return tuple(r.type for r in result) if isinstance(result, tuple) else (result.type,)


def _tried(operator: AnyOperator) -> Callable[..., Any]:
    """Return the type rule that follows from a decomposition: try it out."""
    assert isinstance(operator, Composite)

    def infer(*types: TensorType | None, **options: Any) -> TensorType | tuple[TensorType, ...]:
        b = GraphBuilder()
        operands = [type and b.input(str(i), *type) for i, type in enumerate(types)]
        result: Operand | tuple[Operand, ...] = operator.decompose(b, *operands, **options)
        return tuple(r.type for r in result) if isinstance(result, tuple) else result.type

    return infer


def _key(node: Node) -> Hashable:
    """Return what makes two nodes equal: they compute the same from the same."""
    match node:
        case OperatorNode():
            operands = tuple(o and (o.number, o.index) for o in node.operands)
            return (node.operator, operands, tuple(node.options.values()))
        case ConstantNode():
            array = node.array
            return (array.dtype, array.shape, hashlib.sha256(array.data).digest())
        case _:
            return node


def _literal_type(slots: Sequence[Slot], values: Sequence[Any], position: int) -> DataType:
    """Return the type for a number: of the tensors it shares a type with, else what its slot takes.

    The condition of `where`, for one, says nothing about the numbers beside it.
    """
    if slots[0].variadic:
        return next(value.dtype for value in values if isinstance(value, Operand))
    leaders = [place if slot.like is None else slot.like for place, slot in enumerate(slots)]
    dtypes: list[DataType] = [
        value.dtype
        for place, value in enumerate(values)
        if isinstance(value, Operand) and leaders[place] == leaders[position]
    ]
    if dtypes:
        return highest(dtypes)
    allowed = slots[leaders[position]].dtypes
    return next(dtype for dtype in ("float32", "int32", *PRECEDENCE) if dtype in allowed)


def _amount(required: int, most: int) -> str:
    numbers = str(required) if required == most else f"{required} to {most}"
    return f"{numbers} operand{'' if numbers == '1' else 's'}"


def _checked(
    operator: AnyOperator,
    name: str,
    check: Callable[..., Any],
    default: Any,
    given: Mapping[str, Any],
    types: Sequence[TensorType],
) -> Any:
    value = given.get(name, default)
    if value is REQUIRED:
        raise OperatorError("NNM304", f'"{operator.name}" needs {name}=')
    try:
        return check(value, *types)
    except OperatorError as error:
        raise OperatorError(error.code, f'{name} of "{operator.name}": {error.message}') from error


def _check_types(operator: AnyOperator, operands: Sequence[Operand | None]) -> None:
    """Check types and ranks against the operator's slots."""
    slots = operator.operands
    if slots and slots[0].variadic:
        slots = slots * len(operands)
    for slot, operand in zip(slots, operands, strict=True):
        if operand is None:
            continue
        low, high = slot.ranks
        if operand.dtype not in slot.dtypes:
            allowed = ", ".join(sorted(slot.dtypes))
            raise OperatorError(
                "NNM501", f'{slot.name} of "{operator.name}" is {operand.dtype}, not {allowed}'
            )
        if operand.rank < low or (high is not None and operand.rank > high):
            rule = f"rank {low}" if low == high else f"rank {low} … {'' if high is None else high}"
            raise OperatorError(
                "NNM405", f'{slot.name} of "{operator.name}" is {operand.type}, needs {rule}'
            )
        leader = operands[slot.like] if slot.like is not None else None
        if leader is not None and leader.dtype != operand.dtype:
            raise OperatorError(
                "NNM501",
                f'operands of "{operator.name}" are {leader.dtype} and {operand.dtype}',
                "cast one of them",
            )
