"""Batching: a graph for one example, written for many examples in one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from webnnm.core.errors import DataError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.ops.declare.batching import RULES, Application, apply_one_by_one, as_tuple
from webnnm.ops.declare.operator import Composite, covers_all, lower_by_parts
from webnnm.ops.declare.tensors import TensorType

Results = tuple[Operand, ...]
NO_METHOD = "none"
"""The native method of composites that are one node only for the sake of their gradients.

No backend has it, so all of them decompose these composites.
"""
KEPT_COMPOSITES = 256
"""The number of composites of batches that are kept for reuse."""


def vectorize_graph(
    b: GraphBuilder,
    graph: Graph,
    inputs: Mapping[str, Operand],
    mapped: Collection[str],
    size: int,
) -> dict[str, tuple[Operand, bool]]:
    """Write a graph of one example into a builder, for `size` examples at once.

    `inputs` are the inputs of the graph: those named in `mapped` are batches, with the examples
    along a new first dimension; the others are the same for all examples. Each output is returned
    with whether it is a batch, which it is if it depends on one.

    >>> b = GraphBuilder()
    >>> product = b.matmul(b.input("x", "float32", [1, 3]), b.input("w", "float32", [3, 2]))
    >>> graph = b.build({"y": b.reduce_sum(product), "w": b.identity(b.inputs["w"])})
    >>> b = GraphBuilder()
    >>> x, w = b.input("x", "float32", [8, 1, 3]), b.input("w", "float32", [3, 2])
    >>> vectorize_graph(b, graph, {"x": x, "w": w}, {"x"}, 8)
    {'y': (float32[8], True), 'w': (float32[3, 2], False)}

    Every operator is applied once, by the rule that its declaration names; without a rule,
    composites are decomposed, and other operators are applied to one example after another.

    Raises `DataError` NNM702 if a given operand does not have the type of its input, with the batch
    in front if it is mapped.
    """
    for name, x in graph.inputs.items():
        lead = (size,) if name in mapped else ()
        expected = TensorType(x.dtype, (*lead, *x.shape))
        if inputs[name].type != expected:
            raise DataError("NNM702", f'"{name}" is {inputs[name].type}, not {expected}')
    examples = _Examples(b, size, inputs, mapped)
    for node in graph.nodes():
        with b.place(node.label, node.span) if node.label else nullcontext():
            examples.write(node)
    return {name: examples.result(y) for name, y in graph.outputs.items()}


class _Examples:
    """What the nodes of a graph of one example have become."""

    def __init__(
        self,
        b: GraphBuilder,
        size: int,
        inputs: Mapping[str, Operand],
        mapped: Collection[str],
    ) -> None:
        self.b = b
        self.size = size
        self.given = inputs
        self.mapped = mapped
        self.results: dict[int, tuple[Results, bool]] = {}

    def result(self, operand: Operand) -> tuple[Operand, bool]:
        """Return the operand that replaces a result, and whether it is a batch."""
        results, is_batch = self.results[operand.number]
        return results[operand.index], is_batch

    def write(self, node: Node) -> None:
        """Write a node whose operands have been written."""
        if isinstance(node, InputNode):
            self.results[node.number] = (self.given[node.name],), node.name in self.mapped
            return
        if not isinstance(node, OperatorNode):
            self.results[node.number] = self.b.adopt(node.at(len(self.b.nodes))), False
            return
        pairs = [(None, False) if x is None else self.result(x) for x in node.operands]
        operands = tuple([x for x, _ in pairs])
        is_batch = any(batch for _, batch in pairs)
        if is_batch:
            results = self._apply_operator(node, operands, [batch for _, batch in pairs])
        else:
            results = self.b.adopt(node.at(len(self.b.nodes), operands))
        self.results[node.number] = results, is_batch

    def _apply_operator(
        self, node: OperatorNode, operands: Sequence[Operand | None], batches: Sequence[bool]
    ) -> Results:
        """Return the results of an operator for a batch of examples."""
        operator = node.operator
        call = Application(self.b, operator, self.size, operands, batches, node.options)
        results = RULES[operator.batch](call) if operator.batch else None
        if results is None and isinstance(operator, Composite):
            options = tuple(node.options.items())
            rules = _Rules(operator, self.size, tuple(batches), options)
            if operator.gradient is None:
                results = rules.decompose(self.b, *operands)
            else:
                results = self.b.apply(_composite(rules), operands, {})
        elif results is None:
            results = apply_one_by_one(call)
        return as_tuple(results)


@dataclass(frozen=True)
class _Rules:
    """The rules of a composite, applied to batches."""

    operator: Composite
    size: int
    batches: tuple[bool, ...]
    options: tuple[tuple[str, Any], ...]

    def composite(self) -> Composite:
        """Return a composite with these rules: its gradient may differ from the derived one."""
        return replace(
            self.operator,
            name=f"{self.operator.name} of batches",
            native=NO_METHOD,
            covers=covers_all,
            operands=tuple(replace(slot, ranks=(0, None)) for slot in self.operator.operands),
            options={},
            decompose=self.decompose,
            gradient=self.gradient,
            infer=None,
            reference=None,
            stablehlo=lower_by_parts,
            earlier=None,
        )

    def decompose(self, b: GraphBuilder, *operands: Operand | None) -> Any:
        """Return the results for batches."""

        def of_example(b: GraphBuilder, *operands: Operand | None) -> Sequence[Operand]:
            return as_tuple(self.operator.decompose(b, *operands, **dict(self.options)))

        results = _examples(b, self.size, of_example, operands, self.batches)
        return tuple(results) if len(results) > 1 else results[0]

    def gradient(
        self, b: GraphBuilder, g: Any, y: Any, *operands: Operand | None
    ) -> Sequence[Operand | None]:
        """Return the gradients for batches; the caller sums those of operands that are shared."""
        gs, ys = as_tuple(g), as_tuple(y)
        rule, count = self.operator.gradient, len(gs)
        assert rule is not None

        def of_example(b: GraphBuilder, *arguments: Operand | None) -> Sequence[Operand | None]:
            single = count == 1
            g = arguments[0] if single else arguments[:count]
            y = arguments[1] if single else arguments[count : 2 * count]
            return rule(b, g, y, *arguments[2 * count :], **dict(self.options))

        batches = (*(True for _ in (*gs, *ys)), *self.batches)
        return _examples(b, self.size, of_example, (*gs, *ys, *operands), batches)


@lru_cache(KEPT_COMPOSITES)
def _composite(rules: _Rules) -> Composite:
    """Return the composite of some rules, the same for equal rules, so that equal nodes are one."""
    return rules.composite()


def _examples(
    b: GraphBuilder,
    size: int,
    function: Callable[..., Sequence[Operand | None]],
    operands: Sequence[Operand | None],
    batches: Sequence[bool],
) -> list[Operand | None]:
    """Apply a function of one example's operands to batches; all results are batches."""
    inner = GraphBuilder()
    inputs = {str(index): x for index, x in enumerate(operands) if x is not None}
    mapped = {name for name in inputs if batches[int(name)]}
    examples = {name: _example(inner, name, x, name in mapped) for name, x in inputs.items()}
    outputs = function(inner, *(examples.get(str(index)) for index in range(len(operands))))
    graph = inner.build({str(index): y for index, y in enumerate(outputs) if y is not None})
    batches_by_index = {
        name: y if is_batch else b.expand(y, new_shape=(size, *y.shape))
        for name, (y, is_batch) in vectorize_graph(b, graph, inputs, mapped, size).items()
    }
    return [batches_by_index.get(str(index)) for index in range(len(outputs))]


def _example(b: GraphBuilder, name: str, x: Operand, is_batch: bool) -> Operand:
    """Return the counterpart of an operand in a graph of one example; constants stay constants."""
    if isinstance(x.node, ConstantNode) and not is_batch:
        return b.adopt(x.node.at(len(b.nodes)))[0]
    return b.input(name, x.dtype, x.shape[is_batch:])
