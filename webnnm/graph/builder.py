"""The graph builder: WebNN's MLGraphBuilder in snake_case, on any backend."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from webnnm import ops
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import PRECEDENCE, DataType, highest, is_tensor_type
from webnnm.core.errors import BackendError, Span, suggestion
from webnnm.core.shapes import MAX_DIMENSION, is_integer, show
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.ops.declare.activation import Activation, is_activation
from webnnm.ops.declare.checks import check_amount, check_room
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Composite
from webnnm.ops.declare.tensors import OperatorError, TensorType

if TYPE_CHECKING:
    from webnnm.ops.declare.token_cache import TokenCache


class Context(Protocol):
    """A backend, which compiles graphs."""

    async def compile(self, graph: Graph) -> Any:
        """Compile a graph."""
        ...


_Inferred = tuple[tuple[TensorType, ...], bool, Mapping[str, Any]]
"""Types of results, whether there are several, and the options: equal nodes share all of these."""

Descriptor = Mapping[str, Any]
"""WebNN's MLOperandDescriptor as a dictionary."""


MAX_COMPARED_BYTES = 1024
"""Constants of up to this many bytes are compared directly: hashing them would take longer."""
_NO_OPTIONS: Mapping[str, Any] = {}
_VALUES = {bool, int, float, list, HostArray}
"""Types of arguments that can only be the value of a constant."""


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

    cache: TokenCache | None = None
    """The state from which layers that look at earlier tokens continue."""

    def __init__(self, context: Context | None = None) -> None:
        self.context = context
        self.nodes: list[Node] = []
        self.results: list[tuple[Operand, ...]] = []
        self._results_by_key: dict[Any, tuple[Operand, ...]] = {}
        self._inferred: dict[Any, dict[Any, _Inferred]] = {}
        self._types: dict[TensorType, tuple[TensorType]] = {}
        self._inputs: dict[str, Operand] = {}
        self._label = ""
        self._span: Span | None = None

    def input(
        self, name: str, dtype: DataType | Descriptor, shape: Sequence[int] | None = None
    ) -> Operand:
        """Declare an input; its name has to be unique.

        Type and shape can also be given as a WebNN descriptor `{"dataType": …, "shape": …}`, or as
        one of the 2022 draft, `{"type": …, "dimensions": …}`. Without a shape, the input is a
        scalar.
        """
        if isinstance(dtype, Mapping):
            dtype, shape = _read_descriptor(dtype)
        shape = () if shape is None else shape
        if not isinstance(dtype, str) or not is_tensor_type(dtype):
            raise _unknown_type_error(f'input "{name}"', dtype)
        if name in self._inputs:
            raise OperatorError("NNM206", f'the graph already has an input "{name}"')
        if not all(is_integer(size) and 1 <= size <= MAX_DIMENSION for size in shape):
            raise OperatorError("NNM109", f'input "{name}" {show(shape)}: sizes are 1 … 2147483647')
        types = (TensorType(dtype, tuple(shape)),)
        number = len(self.nodes)
        return self.adopt(InputNode(number, types, name, None, name))[0]

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
        if type(value) not in _VALUES:
            value, dtype, shape = _normalize_constant_arguments(value, dtype, shape)
        if dtype is not None and not is_tensor_type(dtype):
            raise _unknown_type_error("constant", dtype)
        array = HostArray.of(value, dtype, shape, copy=True)
        digest, of = _digest(array), TensorType(array.dtype, array.shape)
        types = self._types.setdefault(of, (of,))
        results = self._results_by_key.get((types, digest))
        if results is None:
            number, label, span = len(self.nodes), self._label, self._span
            node = ConstantNode(number, types, label, span, array, digest)
            results = self._add((types, digest), node)
        return results[0]

    def adopt(self, node: Node) -> tuple[Operand, ...]:
        """Add a node on this builder's operands, or reuse an equal one; return its results.

        Two nodes are equal if they compute the same from the same.
        """
        if isinstance(node, OperatorNode):
            key = node.operator, node.operands, tuple(node.options.values())
        else:
            key = (node.types, node.digest) if isinstance(node, ConstantNode) else node
        results = self._results_by_key.get(key)
        if results is None:
            number = len(self.nodes)
            results = self._add(key, node if node.number == number else node.at(number))
            if isinstance(node, InputNode):
                self._inputs[node.name] = results[0]
        return results

    def _add(self, key: Hashable, node: Node) -> tuple[Operand, ...]:
        """Append a node."""
        number, types = node.number, node.types
        check_room(number)
        if len(types) == 1:
            results = (Operand(self, number, 0, types[0]),)
        else:
            results = tuple([Operand(self, number, i, type) for i, type in enumerate(types)])
        self._results_by_key[key] = results
        self.nodes.append(node)
        self.results.append(results)
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
        """Label the nodes created in the `with` block with a name and a span of the text."""
        outer = self._label, self._span
        self.locate(label, span)
        try:
            yield
        finally:
            self.locate(*outer)

    def locate(self, label: str, span: Span | None) -> None:
        """Label the following nodes, until the end of the enclosing `place` block."""
        self._label, self._span = label, span

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = ops.method(name)
        if operator is None:
            hint = suggestion(name, ops.methods())
            raise AttributeError(f'GraphBuilder has no operator "{name}"; {hint}')
        return partial(self._call, operator)

    def _call(
        self, operator: AnyOperator, /, *positional: Any, label: str = "", **options: Any
    ) -> Any:
        """Apply an operator to the arguments of its method."""
        if not positional and is_activation(operator):
            return Activation(operator.name, options)
        operands, arguments = _split_arguments(operator, positional)
        if arguments:
            options = arguments | options
        if not label:
            return self.apply(operator, operands, options)
        with self.place(label):
            return self.apply(operator, operands, options)

    def apply(
        self, operator: AnyOperator, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Apply an operator; return its result, or a tuple if it has several."""
        if operator.earlier is None:
            return self._apply(operator, operands, options)
        changed = operator.earlier(self, operator, list(operands), dict(options))
        if changed is None:
            return self._apply(operator, operands, options)
        operands, options, *finish = changed
        result = self._apply(operator, operands, options)
        for finally_ in finish:
            if finally_ is not None:
                result = finally_(result)
        return result

    def _apply(
        self, operator: AnyOperator, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        bound, options = self._bind(operator, operands, options)
        operand_types = tuple([None if operand is None else operand.type for operand in bound])
        # Networks repeat their layers, so what was checked and inferred for one holds for all.
        cached = self._inferred.get((operator, operand_types))
        if cached is None:
            _check_types(operator, operand_types)
            cached = self._inferred.setdefault((operator, operand_types), {})
        canonical = (
            _check_options(operator, options, operand_types) if operator.options else _NO_OPTIONS
        )
        if isinstance(operator, Composite) and not _is_native(operator, canonical):
            return operator.decompose(self, *bound, **canonical)
        values = tuple(canonical.values())
        inferred = cached.get(values)
        if inferred is None:
            result = (operator.infer or _infer_by_decomposition(operator))(
                *operand_types, **canonical
            )
            if isinstance(result, TensorType):
                inferred = (result,), False, canonical
            else:
                inferred = result, True, canonical
            cached[values] = inferred
        types, several, options = inferred
        key = operator, bound, values
        results = self._results_by_key.get(key)
        if results is None:
            number, label, span = len(self.nodes), self._label, self._span
            node = OperatorNode(number, types, label, span, operator, bound, options)
            results = self._add(key, node)
        return results if several else results[0]

    def _bind(
        self, operator: AnyOperator, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[tuple[Operand | None, ...], Mapping[str, Any]]:
        """Match the arguments with the operator's slots; numbers become constants."""
        slots, names = operator.operands, operator.operand_names
        if operator.variadic:
            _refuse_unknown_options(operator, options.keys() - operator.options.keys())
            arguments = (
                arguments[0]
                if len(arguments) == 1 and not isinstance(arguments[0], Operand)
                else arguments
            )
            values = list(arguments)
        elif options or len(arguments) != len(names):
            values, options = _assign_operands(operator, arguments, options)
        else:
            values = arguments
        numbers = tensors = False
        for value in values:
            if not isinstance(value, Operand):
                numbers = numbers or value is not None
            elif value.builder is self:
                tensors = True
            else:
                message = f'operands of "{operator.name}" belong to another builder'
                raise OperatorError("NNM302", message)
        if not tensors and slots:
            raise OperatorError("NNM302", f'"{operator.name}" needs a tensor among its operands')
        if not numbers:
            return tuple(values), options
        operands = [
            value
            if value is None or isinstance(value, Operand)
            else self.constant(value, _literal_type(operator, values, position))
            for position, value in enumerate(values)
        ]
        return tuple(operands), options


def _assign_operands(
    operator: AnyOperator, arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[list[Any], Mapping[str, Any]]:
    """Return a value for each slot, by position or from the options, and the remaining options."""
    names, slots = operator.operand_names, operator.operands
    keywords = operator.keywords.intersection(options)
    _refuse_unknown_options(operator, options.keys() - operator.options.keys() - keywords)
    if not operator.required <= len(arguments) <= len(slots):
        raise OperatorError(
            "NNM302",
            f'"{operator.name}" takes {_describe_count(operator.required, len(slots))}, '
            f"{len(arguments)} given",
        )
    if keywords and (twice := keywords.intersection(names[: len(arguments)])):
        raise OperatorError("NNM302", f'"{operator.name}" is given {min(twice)} twice')
    values = [*arguments, *[options.get(name) for name in names[len(arguments) :]]]
    if keywords:
        options = {key: value for key, value in options.items() if key not in keywords}
    return values, options


def _refuse_unknown_options(operator: AnyOperator, unknown: Collection[str]) -> None:
    """Refuse options that an operator does not have."""
    if unknown:
        name = min(unknown)
        raise OperatorError(
            "NNM301",
            f'"{operator.name}" has no option "{name}"',
            suggestion(name, [*operator.options, *sorted(operator.keywords)]),
        )


def _split_arguments(
    operator: AnyOperator, positional: Sequence[Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Separate operands from the plain arguments that follow them in WebNN's methods."""
    names = operator.arguments
    takes_arguments = not operator.variadic or (
        positional and not isinstance(positional[0], Operand)
    )
    if not names or not takes_arguments:
        return positional, {}
    arguments = positional[operator.ahead :]
    if len(arguments) > len(names) or any(isinstance(value, Operand) for value in arguments):
        return positional, {}
    return positional[: len(positional) - len(arguments)], dict(zip(names, arguments, strict=False))


def _normalize_constant_arguments(value: Any, dtype: Any, shape: Any) -> tuple[Any, Any, Any]:
    """Return value, type and shape of a constant's arguments, which may be in an order of WebNN."""
    if isinstance(value, Mapping):
        described_dtype, sizes = _read_descriptor(value)
        value, dtype, shape = dtype, described_dtype, sizes
    elif isinstance(value, str) and is_tensor_type(value):
        value, dtype = dtype, value
    if isinstance(value, range):
        # len() of a range fails beyond a machine word.
        number = max(0, -((value.start - value.stop) // value.step))
        check_amount(number, "the numbers of a range")
    return value, dtype, shape


def _unknown_type_error(what: str, dtype: Any) -> OperatorError:
    from webnnm.notation.type_words import suggest_type

    message = f'{what}: unknown data type "{dtype}"'
    return OperatorError("NNM113", message, suggest_type(str(dtype)))


def _read_descriptor(descriptor: Descriptor) -> tuple[Any, Any]:
    """Return data type and shape of a descriptor, in current terms or those of the 2022 draft."""
    members = {"dataType", "type", "shape", "dimensions"}
    if not descriptor.keys() <= members:
        name = min(descriptor.keys() - members)
        message = f'a descriptor has no member "{name}"'
        raise OperatorError("NNM301", message, suggestion(name, members))
    dtype = descriptor.get("dataType", descriptor.get("type"))
    return dtype, descriptor.get("shape", descriptor.get("dimensions", ()))


def _is_native(operator: Composite, options: Mapping[str, Any]) -> bool:
    return bool(operator.native) and operator.covers(**options)


def result_types(
    operator: AnyOperator, operands: Sequence[TensorType | None], options: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """Return the types of an operator's results for operands of these types.

    Raises `OperatorError` if operands or options break the operator's rules.

    >>> result_types(ops.registry()["softmax"], [TensorType("float32", (2, 3))], {})
    (TensorType(dtype='float32', shape=(2, 3)),)
    """
    b = GraphBuilder()
    inputs = [type and b.input(str(i), *type) for i, type in enumerate(operands)]
    result: Operand | tuple[Operand, ...] = b.apply(operator, inputs, options)
    return tuple(r.type for r in result) if isinstance(result, tuple) else (result.type,)


def _infer_by_decomposition(operator: AnyOperator) -> Callable[..., Any]:
    """Return a type rule that tries an operator's decomposition out."""
    assert isinstance(operator, Composite)

    def infer(*types: TensorType | None, **options: Any) -> TensorType | tuple[TensorType, ...]:
        b = GraphBuilder()
        operands = [type and b.input(str(i), *type) for i, type in enumerate(types)]
        result: Operand | tuple[Operand, ...] = operator.decompose(b, *operands, **options)
        return tuple(r.type for r in result) if isinstance(result, tuple) else result.type

    return infer


def _digest(array: HostArray) -> bytes:
    """Return a digest that only equal bytes of the same type share."""
    data = array.data
    return bytes(data) if data.nbytes <= MAX_COMPARED_BYTES else hashlib.sha256(data).digest()


def _literal_type(operator: AnyOperator, values: Sequence[Any], position: int) -> DataType:
    """Return the type for a number: that of tensors that share its type, or one its slot takes.

    The condition of `where`, for instance, does not determine the type of the other operands.
    """
    if operator.variadic:
        return next(value.dtype for value in values if isinstance(value, Operand))
    leaders = operator.leaders
    leader = leaders[position]
    dtypes: list[DataType] = []
    for index, value in enumerate(values):
        if leaders[index] == leader and isinstance(value, Operand):
            dtypes.append(value.type.dtype)
    if dtypes:
        return dtypes[0] if len(dtypes) == 1 else highest(dtypes)
    allowed = operator.operands[leader].dtypes
    return next(dtype for dtype in ("float32", "int32", *PRECEDENCE) if dtype in allowed)


def _describe_count(required: int, maximum: int) -> str:
    numbers = str(required) if required == maximum else f"{required} to {maximum}"
    return f"{numbers} operand{'' if numbers == '1' else 's'}"


def _check_options(
    operator: AnyOperator, values: Mapping[str, Any], types: Sequence[TensorType | None]
) -> dict[str, Any]:
    """Return the canonical values of an operator's options, in the order of their declaration."""
    canonical: dict[str, Any] = {}
    for name, option in operator.options.items():
        value = values.get(name, option.default)
        if value is REQUIRED:
            raise OperatorError("NNM304", f'"{operator.name}" needs {name}=')
        try:
            canonical[name] = option.check(value, *[type for type in types if type is not None])
        except OperatorError as error:
            message = f'{name} of "{operator.name}": {error.message}'
            raise OperatorError(error.code, message) from error
    return canonical


def _check_types(operator: AnyOperator, types: Sequence[TensorType | None]) -> None:
    """Check types and ranks against the operator's slots."""
    slots = operator.operands
    if operator.variadic:
        slots = slots * len(types)
    for slot, type in zip(slots, types, strict=True):
        if type is None:
            continue
        (low, high), rank = slot.ranks, len(type.shape)
        # float64 is allowed wherever float32 is, on backends that have it.
        if ("float32" if type.dtype == "float64" else type.dtype) not in slot.dtypes:
            allowed = ", ".join(sorted(slot.dtypes))
            raise OperatorError(
                "NNM501", f'{slot.name} of "{operator.name}" is {type.dtype}, not {allowed}'
            )
        if rank < low or (high is not None and rank > high):
            rule = f"rank {low}" if low == high else f"rank {low} … {'' if high is None else high}"
            raise OperatorError(
                "NNM405", f'{slot.name} of "{operator.name}" is {type}, needs {rule}'
            )
        leader = types[slot.like] if slot.like is not None else None
        if leader is not None and leader.dtype != type.dtype:
            raise OperatorError(
                "NNM501",
                f'operands of "{operator.name}" are {leader.dtype} and {type.dtype}',
                "cast one of them",
            )
