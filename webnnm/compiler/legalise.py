"""Rewrite a graph until every node is one that the backend computes correctly.

What a backend can do comes from two sources: its limits (limits.py), and the known bugs (traps/)
that it was found to have (backends/faults.py). A graph that fits is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from webnnm.compiler.limits import Bounds, Limits, present_operands
from webnnm.compiler.traps import GUARDS, TRAPS, Trap
from webnnm.compiler.traps.constants import check_constants
from webnnm.compiler.traps.views import VIEWS
from webnnm.core.dtypes import FORMATS, DataType
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import (
    Replacement,
    Rule,
    decompose_node,
    find_first_replaced,
    reapply,
    rewrite_from,
)
from webnnm.ops.declare.tensors import TensorType

WIDER: Mapping[str, tuple[DataType, ...]] = {
    "int8": ("int32", "int64"),
    "uint8": ("int32", "int64"),
    "int32": ("int64",),
    "uint32": ("int64",),
    "float16": ("float32",),
}
"""Types that hold all values of another; casting integers back wraps as their arithmetic does."""

MAX_ROUNDS = 16
"""The maximum depth of rewrites of rewrites; the deepest known chain has four."""


class Legaliser:
    """The passes that make a graph fit a device, with a record of what they rewrote.

    Four-bit inputs and outputs that no tensor of the device can hold become their bytes, as uint8.
    Graphs that fit are returned as they are.
    """

    def __init__(
        self, limits: Mapping[str, Any], traps: Collection[Trap], constant_inputs: Container[str]
    ) -> None:
        self._limits = Limits(limits)
        self._constant_inputs = constant_inputs
        self._traps = _group_by_operator(
            trap for trap in TRAPS if trap in traps and trap.needs <= self._limits.operators
        )
        self._guards = _group_by_operator(trap for trap in GUARDS if trap in traps)
        self._rewrites: Counter[str] = Counter()
        self._kinds_that_fit: set[object] = set()

    def describe_rewrites(self) -> list[str]:
        """Return one sentence for each kind of rewrite."""
        return [
            text if times == 1 else f"{text} ({times} times)"
            for text, times in self._rewrites.items()
        ]

    def emulate_four_bits(self, graph: Graph) -> Graph:
        """Carry four-bit integers in bytes if nothing computes with them.

        Raises `BackendError` NNM505, NNM405 for inputs, constants and outputs whose types or ranks
        the device does not hold even then.
        """
        types_of_nodes = {node.types for node in graph.nodes()}
        if any(type.dtype not in FORMATS for types in types_of_nodes for type in types):
            from webnnm.compiler.four_bits import emulate_four_bits

            graph = emulate_four_bits(graph, self._limits, self._constant_inputs, self._record)
        self._check_interface(graph)
        return graph

    def separate_outputs(self, graph: Graph) -> Graph:
        """Give every output an operator of its own: WebNN refuses anything else."""
        outputs: dict[str, Operand] = {}
        used_as_output: set[Operand] = set()
        trapped = self._find_trapped_outputs(graph)
        for name, operand in graph.outputs.items():
            # Chained, because equal expressions in a builder are one node.
            while change := self._copy_for_output(operand, used_as_output, trapped.get(operand)):
                why, copy = change
                self._rewrites[f'identity "{operand.node.label}" → "{name}": {why}'] += 1
                operand = copy
            used_as_output.add(operand)
            outputs[name] = operand
        changed = any(outputs[name] != operand for name, operand in graph.outputs.items())
        return Graph(outputs, graph.inputs) if changed else graph

    def _copy_for_output(
        self, operand: Operand, used_as_output: set[Operand], trap: Trap | None
    ) -> tuple[str, Operand] | None:
        """Return why a result cannot be an output, and a copy that can; None if it can."""
        b, node = operand.builder, operand.node
        with b.place(node.label, node.span):
            if not isinstance(node, OperatorNode):
                return "an output has to be the result of an operator", b.identity(operand)
            if operand in used_as_output:
                return "an output cannot have two names", b.identity(operand)
            if trap is None:
                return None
            assert isinstance(b, GraphBuilder)
            copies = trap.rule(b, node)
            assert isinstance(copies, tuple)
            return trap.reason, copies[operand.index]

    def _find_trapped_outputs(self, graph: Graph) -> dict[Operand, Trap]:
        """Return the results that operators read and that could not be outputs too."""
        dtypes = {operand.dtype for operand in graph.outputs.values()}
        traps = [trap for trap in self._traps.get("output", ()) if trap.dtypes & dtypes]
        if not traps:
            return {}
        nodes = (node for node in graph.nodes() if isinstance(node, OperatorNode))
        # Views read nothing; one of them may be the copy.
        readers = (node for node in nodes if node.operator.name not in VIEWS)
        operands = {o for node in readers for o in node.operands if o is not None}
        return {o: trap for o in operands for trap in traps if o.dtype in trap.dtypes}

    def legalise(self, graph: Graph) -> Graph:
        """Return the graph with every node replaced that does not fit, replacements included."""
        for _ in range(MAX_ROUNDS):
            rewritten = self._rewrite(graph, self.fit_node)
            if rewritten is graph:
                return graph
            graph = rewritten
        raise AssertionError(f"a rewrite undoes another: {self.describe_rewrites()[-2:]}")

    def apply_guards(self, graph: Graph) -> Graph:
        """Return a graph that fits, with rewrites of nodes that would lose NaN or range."""
        rewritten = self._rewrite(graph, self.guard_node, self._guards)
        return graph if rewritten is graph else self.legalise(rewritten)

    def finish(self, graph: Graph) -> Graph:
        """Return a graph that fits, with distinct outputs, and check its constants."""
        # The replacement of an operator may be its operand; an identity may be rewritten.
        while (distinct := self.separate_outputs(graph)) is not graph:
            graph = self.legalise(distinct)
        if "constant" in self._traps:
            check_constants(graph)
        return graph

    def _rewrite(self, graph: Graph, rule: Rule, operators: Collection[str] | None = None) -> Graph:
        rewrites = self._rewrites.copy()
        first = find_first_replaced(graph, rule, operators)
        if first is None:
            return graph
        self._rewrites = rewrites  # nodes that are seen twice count once
        return rewrite_from(graph, rule, first, operators)

    def guard_node(self, b: GraphBuilder, node: Node) -> Replacement | None:
        """Return the replacement of a node that would lose NaN or range."""
        return self._apply_traps(b, node, self._guards)

    def fit_node(self, b: GraphBuilder, node: Node) -> Replacement | None:
        """Return the replacement of a node, None if the node fits."""
        # Most nodes share operator and types with another node.
        if isinstance(node, OperatorNode):
            kind = node.operator, node.types, tuple([o and o.type for o in node.operands])
        else:
            kind = type(node), node.types
        if kind not in self._kinds_that_fit:
            self._check_size(node)
            if isinstance(node, OperatorNode):
                replacement = (
                    self._decompose(b, node) or self._fit_rank(b, node) or self._widen_type(b, node)
                )
                if replacement:
                    return replacement
            self._kinds_that_fit.add(kind)
        return self._apply_traps(b, node, self._traps)

    def _decompose(self, b: GraphBuilder, node: OperatorNode) -> Replacement | None:
        if node.operator.native in self._limits.operators:
            return None
        replacement = decompose_node(b, node)
        if replacement is None:
            from webnnm.compiler.refusals import refuse_operator

            raise refuse_operator(_name_node(node))
        self._record(node, "decomposed, because the browser lacks this operator")
        return replacement

    def _fit_rank(self, b: GraphBuilder, node: OperatorNode) -> Replacement | None:
        typed_bounds = self._limits.list_bounds(node)
        if all(bounds.has_rank(type) for type, bounds in typed_bounds):
            return None
        from webnnm.compiler.ranks import fit_rank

        replacement, why = fit_rank(b, node, typed_bounds, _name_node(node))
        self._record(node, why)
        return replacement

    def _widen_type(self, b: GraphBuilder, node: OperatorNode) -> Replacement | None:
        """Compute in a wider type if the backend cannot compute in the given one."""
        typed_bounds = self._limits.list_bounds(node)
        unsupported = [(t, bounds) for t, bounds in typed_bounds if _is_unsupported(t, bounds)]
        if not unsupported:
            return None
        if node.operator.name == "identity":
            self._record(node, "written as a reshape to the same shape, which takes all types")
            return b.reshape(node.operands[0], new_shape=node.types[0].shape)
        (dtype, _), bounds = unsupported[0]
        why = f"because it takes {', '.join(bounds.dtypes)}"
        for wider in WIDER.get(dtype, ()):
            cast_operands = self._choose_casts(node, dtype, wider)
            if cast_operands is not None:
                self._record(node, f"{dtype} computed as {wider}, {why}")
                return _compute_in_type(b, node, cast_operands, wider)
        from webnnm.graph.transforms.integers import decompose_integer_operator

        replacement = decompose_node(b, node) or decompose_integer_operator(b, node)
        if replacement is not None:
            self._record(node, f"computed with other operators, {why}")
            return replacement
        from webnnm.compiler.refusals import refuse_type

        raise refuse_type(_name_node(node), dtype, bounds)

    def _choose_casts(
        self, node: OperatorNode, dtype: DataType, wider: DataType
    ) -> set[int] | None:
        """Return the operands to cast so that the node fits in the wider type, if that helps."""
        slots = node.operator.operands
        bounds = {i: self._limits.operand(node.operator, i) for i, _ in present_operands(node)}
        if slots[0].variadic:
            leaders = dict.fromkeys(bounds, 0)
        else:
            leaders = {i: i if (like := slots[i].like) is None else like for i in bounds}
        unsupported = {
            leaders[i] for i, o in present_operands(node) if _is_unsupported(o.type, bounds[i])
        }
        results = [self._limits.result(node.operator, i) for i in range(len(node.types))]
        if not unsupported:  # only the results do not fit
            unsupported = {leaders[i] for i, o in present_operands(node) if o.dtype == dtype}
        cast_operands = {
            i for i, o in present_operands(node) if leaders[i] in unsupported and o.dtype == dtype
        }
        accepted_dtypes = [slots[0 if slots[0].variadic else i].dtypes for i in cast_operands]
        if not cast_operands or not all(wider in dtypes for dtypes in accepted_dtypes):
            return None
        # The casts there and back have to be possible as well.
        casts = [
            self._limits.find_bounds("cast", "input"),
            self._limits.find_bounds("cast", "output"),
        ]
        needed_types = (
            *((wider, bounds[i]) for i in cast_operands),
            *(
                (t.dtype, r)
                for t, r in zip(_infer_types(node, cast_operands, wider), results, strict=True)
            ),
            *((end, cast) for cast in casts for end in (dtype, wider)),
        )
        fits = all(b is None or dtype in b.dtypes for dtype, b in needed_types)
        return cast_operands if fits else None

    def _apply_traps(
        self, b: GraphBuilder, node: Node, traps: Mapping[str, Sequence[Trap]]
    ) -> Replacement | None:
        name = node.operator.name if isinstance(node, OperatorNode) else _kind(node)
        for trap in traps.get(name, ()):
            replacement = trap.rule(b, node)
            if replacement is not None:
                self._record(node, trap.reason)
                return replacement
        return None

    def _check_size(self, node: Node) -> None:
        for type in node.types:
            if type.nbytes > self._limits.max_bytes:
                from webnnm.compiler.refusals import refuse_size

                raise refuse_size(_name_node(node), type, self._limits.max_bytes)

    def _check_interface(self, graph: Graph) -> None:
        """Refuse inputs, constants and outputs with types that the backend does not hold."""
        checked: set[object] = set()
        for node in graph.nodes():
            if not isinstance(node, OperatorNode) and (type(node), node.types) not in checked:
                self._check_tensor(_kind(node), node.types[0], node.label)
                checked.add((type(node), node.types))
        for name, operand in graph.outputs.items():
            self._check_tensor("output", operand.type, name)

    def _check_tensor(self, kind: str, type: TensorType, label: str) -> None:
        bounds = self._limits.tensor(kind)
        if bounds is None:
            return
        if type.dtype not in bounds.dtypes or not bounds.has_rank(type):
            from webnnm.compiler.refusals import refuse_tensor

            raise refuse_tensor(kind, type, label, bounds)

    def _record(self, node: Node, what: str) -> None:
        self._rewrites[f"{_name_node(node)}: {what}"] += 1


def _group_by_operator(traps: Iterable[Trap]) -> dict[str, list[Trap]]:
    groups: dict[str, list[Trap]] = {}
    for trap in traps:
        for name in trap.operators:
            groups.setdefault(name, []).append(trap)
    return groups


def _infer_types(
    node: OperatorNode, cast_operands: set[int], wider: DataType
) -> Sequence[TensorType]:
    """Return the types of a node's results if some operands have a wider type."""
    b = GraphBuilder()
    operands = [
        operand and b.input(str(i), wider if i in cast_operands else operand.dtype, operand.shape)
        for i, operand in enumerate(node.operands)
    ]
    result = reapply(b, node, *operands)
    return [result.type for result in (result if isinstance(result, tuple) else (result,))]


def _compute_in_type(
    b: GraphBuilder, node: OperatorNode, cast_operands: set[int], wider: DataType
) -> Replacement:
    operands = [
        b.cast(operand, type=wider) if i in cast_operands else operand
        for i, operand in enumerate(node.operands)
    ]
    result = reapply(b, node, *operands)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(
        result if result.dtype == type.dtype else b.cast(result, type=type.dtype)
        for result, type in zip(results, node.types, strict=True)
    )


def _is_unsupported(type: TensorType, bounds: Bounds | None) -> bool:
    return bounds is not None and type.dtype not in bounds.dtypes


def _kind(node: Node) -> str:
    if isinstance(node, ConstantNode):
        return "constant"
    return "input" if isinstance(node, InputNode) else ""


def _name_node(node: Node) -> str:
    name = node.operator.name if isinstance(node, OperatorNode) else _kind(node)
    return f'{name} "{node.label}"' if node.label else name
