"""Carry four-bit integers in whole bytes if a backend does not compute with four bits.

Constants that fit the limits as they are, such as weights for `dequantizeLinear`, are left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from webnnm.compiler.limits import Limits, present
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, integer_range, is_data_type, is_float
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import again, move_node
from webnnm.ops.clamp import nearest_bounds
from webnnm.ops.declare.tensors import TensorType

Note = Callable[[Node, str], None]
Results = dict[int, tuple[Operand, ...]]

WHOLE: Mapping[DataType, DataType] = {"int4": "int8", "uint4": "uint8"}
"""The types that carry four-bit types."""

WHY = "because the browser does not support"


def held(limits: Limits, type: TensorType) -> TensorType:
    """Return the type of the tensors that hold a type: its bytes if nothing computes with it.

    >>> held(Limits({"cast": {"output": {"dataTypes": ["int8"]}}}), TensorType("int4", (3,)))
    TensorType(dtype='uint8', shape=(2,))
    """
    if type.dtype in WHOLE and not any(
        name in limits.operators and (bounds is None or WHOLE.keys() <= {*bounds.dtypes})
        for name in ("cast", "quantizeLinear")
        for bounds in [limits.named(name, "output")]
    ):
        return TensorType("uint8", (type.nbytes,))
    return type


def in_bytes(graph: Graph, limits: Limits, fixed: Container[str], note: Note) -> Graph:
    """Return the graph with four-bit values carried in bytes wherever the limits exclude them.

    Inputs and outputs become the bytes that hold them, with two numbers in each. Inputs whose names
    are in `fixed` will be constants.
    """
    carried = _carried(graph, limits, fixed)
    if not carried and not any(_lacks(limits, o.type) for o in graph.outputs.values()):
        return graph
    b = GraphBuilder()
    results: Results = {}
    for node in graph.nodes():
        with b.place(node.label, node.span):
            if node.number in carried:
                results[node.number] = _in_bytes(b, node, results, note)
            else:
                results[node.number] = b.adopt(move_node(node, b, results))
    outputs: dict[str, Operand] = {}
    for name, operand in graph.outputs.items():
        node = operand.node
        outputs[name] = results[operand.number][operand.index]
        if _lacks(limits, operand.type):
            note(node, f"two {operand.dtype} numbers packed into each byte, {WHY} {operand.dtype}")
            with b.place(node.label, node.span):
                outputs[name] = _packed(_whole(outputs[name], note))
    for name, operand in graph.inputs.items():
        if name not in b.inputs:  # no output depends on it
            b.adopt(operand.node)
    return b.build(outputs)


def _carried(graph: Graph, limits: Limits, fixed: Container[str]) -> set[int]:
    """Return the numbers of the nodes whose four-bit values cannot stay as they are.

    A node that does not fit also affects everything that it is connected to by such values.
    Constants that fit connect nothing: they are written in bytes in addition, if needed.
    """
    connected: dict[int, list[int]] = defaultdict(list)
    waiting = [o.number for o in graph.outputs.values() if _lacks(limits, o.type)]
    staying: set[int] = set()
    for node in graph.nodes():
        taken: Sequence[Operand] = ()
        if isinstance(node, OperatorNode):
            taken = [o for _, o in present(node) if _lacks(limits, o.type)]
        for operand in taken:
            connected[operand.number].append(node.number)
            connected[node.number].append(operand.number)
        concerned = taken or any(_lacks(limits, type) for type in node.types)
        if concerned and not _fits(node, limits, fixed):
            waiting.append(node.number)
        elif isinstance(node, ConstantNode):
            staying.add(node.number)
    found: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number not in found and number not in staying:
            found.add(number)
            waiting += connected[number]
    return found


def _lacks(limits: Limits, type: TensorType) -> bool:
    """Return whether a backend does not compute with a type, so that its tensors hold bytes."""
    return held(limits, type) != type


def _fits(node: Node, limits: Limits, fixed: Container[str]) -> bool:
    """Return whether a node fits the limits as it is, in types and dimensions."""
    if isinstance(node, OperatorNode):
        places = limits.places(node)
        if node.operator.native not in limits.operators:
            return False
    else:
        bounds = limits.tensor("constant")
        places = [(node.types[0], bounds)] if bounds is not None else []
        if isinstance(node, InputNode) and node.name not in fixed:
            return False
    return all(
        type.dtype in bounds.dtypes and len(type.shape) <= bounds.ranks[1]
        for type, bounds in places
    )


def _in_bytes(b: GraphBuilder, node: Node, results: Results, note: Note) -> tuple[Operand, ...]:
    """Return the results of a node, computed in bytes."""
    dtype: DataType | None = next((t.dtype for t in node.types if t.dtype in WHOLE), None)
    if isinstance(node, ConstantNode):
        return (_whole(b.adopt(node)[0], note),)
    if isinstance(node, InputNode):
        note(node, f"two {dtype} numbers unpacked from each byte, {WHY} {dtype}")
        return (_unpacked(b, node),)
    assert isinstance(node, OperatorNode)
    operands = [o and _whole(results[o.number][o.index], note) for o in node.operands]
    options = {
        name: WHOLE.get(value, value) if isinstance(value, str) and is_data_type(value) else value
        for name, value in node.options.items()
    }
    if dtype is not None and node.operator.name == "clamp":
        options["min_value"], options["max_value"] = nearest_bounds(dtype, **node.options)
    made = again(b, replace(node, options=options), *operands)
    found = made if isinstance(made, tuple) else (made,)
    if dtype is None:
        return found
    note(node, f"{dtype} computed as {WHOLE[dtype]}, {WHY} {dtype}")
    return tuple(
        _within(node, result, type.dtype) if type.dtype in WHOLE else result
        for result, type in zip(found, node.types, strict=True)
    )


def _whole(x: Operand, note: Note) -> Operand:
    """Return an operand in bytes; four-bit constants are rewritten."""
    if x.dtype not in WHOLE:
        return x
    assert isinstance(x.node, ConstantNode)
    note(x.node, f"{x.dtype} written as {WHOLE[x.dtype]}, {WHY} {x.dtype}")
    return x.builder.constant(HostArray.of(x.node.array, WHOLE[x.dtype]))


def _within(node: OperatorNode, result: Operand, dtype: DataType) -> Operand:
    """Return the result of an operator, wrapped to four bits."""
    if "choosing" in node.operator.traits:  # these stay within four bits
        return result
    source = node.operands[0]
    if node.operator.name in ("cast", "quantizeLinear") and source and is_float(source.dtype):
        low, high = integer_range(dtype)
        return result.clamp(min_value=low, max_value=high)
    # Makes numbers above −128 positive, and is 0 modulo 16.
    return _wrapped(result.cast(type="int32") + 128, dtype).cast(type=result.dtype)


def _wrapped(x: Operand, dtype: DataType) -> Operand:
    """Return non-negative integers modulo 16, within the range of a type."""
    low, _ = integer_range(dtype)
    above = x - low if low else x
    rest = above - above.div(16) * 16
    return rest + low if low else rest


def _unpacked(b: GraphBuilder, node: InputNode) -> Operand:
    """Return an input that is given as bytes with two numbers each, the first in the lower half."""
    dtype, shape = node.types[0]
    size = count(shape)
    bytes = -(-size // 2)
    # Floats hold these numbers exactly, and are six times as fast as integers.
    both = b.input(node.name, "uint8", [bytes]).cast(type="float32").reshape(new_shape=[1, bytes])
    high = b.floor(both * (1 / 16))
    rows = b.concat([both - high * 16, high], axis=0)
    pairs = rows.transpose(permutation=[1, 0]).reshape(new_shape=[2 * bytes])
    numbers = pairs if size == 2 * bytes else pairs.slice(starts=[0], sizes=[size])
    if dtype == "int4":
        numbers = numbers - b.floor(numbers * (1 / 8)) * 16
    return numbers.cast(type=WHOLE[dtype]).reshape(new_shape=shape)


def _packed(x: Operand) -> Operand:
    """Return the bytes that hold the numbers of a tensor, with two in each."""
    size = count(x.shape)
    numbers = x.reshape(new_shape=[size]).cast(type="int32") + 16
    numbers = _wrapped(numbers, "uint4")
    if size % 2:
        numbers = x.builder.concat([numbers, x.builder.constant([0], "int32")], axis=0)
    pairs = numbers.reshape(new_shape=[-(-size // 2), 2])
    low, high = x.builder.split(pairs, 2, axis=1)
    return (low + high * 16).cast(type="uint8").reshape(new_shape=[-(-size // 2)])
