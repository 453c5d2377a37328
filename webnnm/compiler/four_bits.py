"""Carry four-bit integers in whole bytes if a backend does not compute with four bits.

Constants that fit the limits as they are, such as weights for `dequantizeLinear`, are left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from webnnm.compiler.limits import Limits, present_operands
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, integer_range, is_data_type, is_float
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import move_node, reapply
from webnnm.ops.clamp import nearest_bounds
from webnnm.ops.declare.tensors import TensorType

Note = Callable[[Node, str], None]
Results = dict[int, tuple[Operand, ...]]

WIDE_TYPES: Mapping[DataType, DataType] = {"int4": "int8", "uint4": "uint8"}
"""The types that carry four-bit types."""

UNSUPPORTED = "because the browser does not support"


def storage_type(limits: Limits, type: TensorType) -> TensorType:
    """Return the type of the tensors that hold a type: its bytes if nothing computes with it.

    >>> limits = Limits({"cast": {"output": {"dataTypes": ["int8"]}}})
    >>> storage_type(limits, TensorType("int4", (3,)))
    TensorType(dtype='uint8', shape=(2,))
    """
    if type.dtype in WIDE_TYPES and not any(
        name in limits.operators and (bounds is None or WIDE_TYPES.keys() <= {*bounds.dtypes})
        for name in ("cast", "quantizeLinear")
        for bounds in [limits.find_bounds(name, "output")]
    ):
        return TensorType("uint8", (type.nbytes,))
    return type


def emulate_four_bits(
    graph: Graph, limits: Limits, constant_inputs: Container[str], note: Note
) -> Graph:
    """Return the graph with four-bit values carried in bytes wherever the limits exclude them.

    Inputs and outputs become the bytes that hold them, with two numbers in each. Inputs whose names
    are in `constant_inputs` will be constants.
    """
    emulated = _find_emulated(graph, limits, constant_inputs)
    if not emulated and not any(_is_emulated(limits, o.type) for o in graph.outputs.values()):
        return graph
    b = GraphBuilder()
    results: Results = {}
    for node in graph.nodes():
        with b.place(node.label, node.span):
            if node.number in emulated:
                results[node.number] = _emulate_node(b, node, results, note)
            else:
                results[node.number] = b.adopt(move_node(node, b, results))
    outputs: dict[str, Operand] = {}
    for name, operand in graph.outputs.items():
        node = operand.node
        outputs[name] = results[operand.number][operand.index]
        if _is_emulated(limits, operand.type):
            note(
                node,
                f"two {operand.dtype} numbers packed into each byte, {UNSUPPORTED} {operand.dtype}",
            )
            with b.place(node.label, node.span):
                outputs[name] = _pack(_widen(outputs[name], note))
    for name, operand in graph.inputs.items():
        if name not in b.inputs:  # no output depends on it
            b.adopt(operand.node)
    return b.build(outputs)


def _find_emulated(graph: Graph, limits: Limits, constant_inputs: Container[str]) -> set[int]:
    """Return the numbers of the nodes whose four-bit values cannot stay as they are.

    A node that does not fit also affects everything that it is connected to by such values.
    Constants that fit connect nothing: they are written in bytes in addition, if needed.
    """
    neighbours: dict[int, list[int]] = defaultdict(list)
    queue = [o.number for o in graph.outputs.values() if _is_emulated(limits, o.type)]
    constants: set[int] = set()
    for node in graph.nodes():
        emulated_operands: Sequence[Operand] = ()
        if isinstance(node, OperatorNode):
            emulated_operands = [
                o for _, o in present_operands(node) if _is_emulated(limits, o.type)
            ]
        for operand in emulated_operands:
            neighbours[operand.number].append(node.number)
            neighbours[node.number].append(operand.number)
        is_concerned = emulated_operands or any(_is_emulated(limits, type) for type in node.types)
        if is_concerned and not _fits(node, limits, constant_inputs):
            queue.append(node.number)
        elif isinstance(node, ConstantNode):
            constants.add(node.number)
    emulated: set[int] = set()
    while queue:
        number = queue.pop()
        if number not in emulated and number not in constants:
            emulated.add(number)
            queue += neighbours[number]
    return emulated


def _is_emulated(limits: Limits, type: TensorType) -> bool:
    """Return whether a backend does not compute with a type, so that its tensors hold bytes."""
    return storage_type(limits, type) != type


def _fits(node: Node, limits: Limits, constant_inputs: Container[str]) -> bool:
    """Return whether a node fits the limits as it is, in types and dimensions."""
    if isinstance(node, OperatorNode):
        typed_bounds = limits.list_bounds(node)
        if node.operator.native not in limits.operators:
            return False
    else:
        bounds = limits.tensor("constant")
        typed_bounds = [(node.types[0], bounds)] if bounds is not None else []
        if isinstance(node, InputNode) and node.name not in constant_inputs:
            return False
    return all(
        type.dtype in bounds.dtypes and len(type.shape) <= bounds.ranks[1]
        for type, bounds in typed_bounds
    )


def _emulate_node(b: GraphBuilder, node: Node, results: Results, note: Note) -> tuple[Operand, ...]:
    """Return the results of a node, computed in bytes."""
    dtype: DataType | None = next((t.dtype for t in node.types if t.dtype in WIDE_TYPES), None)
    if isinstance(node, ConstantNode):
        return (_widen(b.adopt(node)[0], note),)
    if isinstance(node, InputNode):
        note(node, f"two {dtype} numbers unpacked from each byte, {UNSUPPORTED} {dtype}")
        return (_unpack_input(b, node),)
    assert isinstance(node, OperatorNode)
    operands = [o and _widen(results[o.number][o.index], note) for o in node.operands]
    options = {
        name: WIDE_TYPES.get(value, value)
        if isinstance(value, str) and is_data_type(value)
        else value
        for name, value in node.options.items()
    }
    if dtype is not None and node.operator.name == "clamp":
        options["min_value"], options["max_value"] = nearest_bounds(dtype, **node.options)
    result = reapply(b, replace(node, options=options), *operands)
    widened = result if isinstance(result, tuple) else (result,)
    if dtype is None:
        return widened
    note(node, f"{dtype} computed as {WIDE_TYPES[dtype]}, {UNSUPPORTED} {dtype}")
    return tuple(
        _wrap_result(node, result, type.dtype) if type.dtype in WIDE_TYPES else result
        for result, type in zip(widened, node.types, strict=True)
    )


def _widen(x: Operand, note: Note) -> Operand:
    """Return an operand in bytes; four-bit constants are rewritten."""
    if x.dtype not in WIDE_TYPES:
        return x
    assert isinstance(x.node, ConstantNode)
    note(x.node, f"{x.dtype} written as {WIDE_TYPES[x.dtype]}, {UNSUPPORTED} {x.dtype}")
    return x.builder.constant(HostArray.of(x.node.array, WIDE_TYPES[x.dtype]))


def _wrap_result(node: OperatorNode, result: Operand, dtype: DataType) -> Operand:
    """Return the result of an operator, wrapped to four bits."""
    if "choosing" in node.operator.traits:  # these stay within four bits
        return result
    source = node.operands[0]
    if node.operator.name in ("cast", "quantizeLinear") and source and is_float(source.dtype):
        low, high = integer_range(dtype)
        return result.clamp(min_value=low, max_value=high)
    # Makes numbers above −128 positive, and is 0 modulo 16.
    return _wrap(result.cast(type="int32") + 128, dtype).cast(type=result.dtype)


def _wrap(x: Operand, dtype: DataType) -> Operand:
    """Return non-negative integers modulo 16, within the range of a type."""
    low, _ = integer_range(dtype)
    shifted = x - low if low else x
    remainder = shifted - shifted.div(16) * 16
    return remainder + low if low else remainder


def _unpack_input(b: GraphBuilder, node: InputNode) -> Operand:
    """Return an input that is given as bytes with two numbers each, the first in the lower half."""
    dtype, shape = node.types[0]
    size = count(shape)
    byte_count = -(-size // 2)
    # Floats hold these numbers exactly, and are six times as fast as integers.
    packed = (
        b.input(node.name, "uint8", [byte_count])
        .cast(type="float32")
        .reshape(new_shape=[1, byte_count])
    )
    high = b.floor(packed * (1 / 16))
    rows = b.concat([packed - high * 16, high], axis=0)
    pairs = rows.transpose(permutation=[1, 0]).reshape(new_shape=[2 * byte_count])
    numbers = pairs if size == 2 * byte_count else pairs.slice(starts=[0], sizes=[size])
    if dtype == "int4":
        numbers = numbers - b.floor(numbers * (1 / 8)) * 16
    return numbers.cast(type=WIDE_TYPES[dtype]).reshape(new_shape=shape)


def _pack(x: Operand) -> Operand:
    """Return the bytes that hold the numbers of a tensor, with two in each."""
    size = count(x.shape)
    numbers = x.reshape(new_shape=[size]).cast(type="int32") + 16
    numbers = _wrap(numbers, "uint4")
    if size % 2:
        numbers = x.builder.concat([numbers, x.builder.constant([0], "int32")], axis=0)
    pairs = numbers.reshape(new_shape=[-(-size // 2), 2])
    low, high = x.builder.split(pairs, 2, axis=1)
    return (low + high * 16).cast(type="uint8").reshape(new_shape=[-(-size // 2)])
