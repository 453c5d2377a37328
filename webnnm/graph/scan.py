"""A scan: a graph that runs step by step over slices, its results carried or stacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True, slots=True)
class Scan:
    """Runs `body` for `length` steps, as `jax.lax.scan` does, between two graphs that run once.

    Which tensors are carried, sliced and stacked follows from their names:

    - `carry`: the outputs of `body` that are also its inputs. Their initial values are outputs of
      `before` or else inputs of the scan, which then has their last values as outputs.
    - `xs`: the outputs of `before` that `body` takes but does not carry. Each step takes an equal
      part along their first axis.
    - `ys`: the other outputs of `body`, concatenated over all steps along their first axis.
    - `after` takes any of these: outputs of `before`, the last carry, ys.
    - Outputs of the scan are those of `before` that no other graph takes, the carry that begins
      with inputs of the scan, and the outputs of `after`.

    >>> from webnnm.backends.reference import evaluate
    >>> b = GraphBuilder()
    >>> before = b.build({"part": b.input("data", "float32", [3]) * 10})
    >>> b = GraphBuilder()
    >>> sum = b.input("sum", "float32", [1]) + b.input("part", "float32", [1])
    >>> body = b.build({"sum": sum, "seen": sum * 1})
    >>> b = GraphBuilder()
    >>> after = b.build({"sums": b.neg(b.input("seen", "float32", [3]))})
    >>> found = evaluate(Scan(before, body, after, 3).unroll(), {"data": [1, 2, 3], "sum": [0]})
    >>> found["sum"].tolist(), found["sums"].tolist()
    ([60.0], [-10.0, -30.0, -60.0])
    """

    before: Graph
    body: Graph
    after: Graph
    length: int

    @property
    def xs(self) -> list[str]:
        """The outputs of `before` that each step takes a part of."""
        kept = self.body.outputs
        return [n for n in self.before.outputs if n in self.body.inputs and n not in kept]

    @property
    def carry(self) -> list[str]:
        """The outputs of `body` that are inputs of the next step."""
        return [name for name in self.body.outputs if name in self.body.inputs]

    @property
    def ys(self) -> list[str]:
        """The outputs of `body` that are concatenated."""
        return [name for name in self.body.outputs if name not in self.body.inputs]

    @property
    def outer(self) -> tuple[list[str], list[str]]:
        """The outputs of `before` and the carried ones that are outputs of the scan."""
        taken = {*self.body.inputs, *self.after.inputs}
        return (
            [name for name in self.before.outputs if name not in taken],
            [name for name in self.carry if name not in self.before.outputs],
        )

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        """The types of the inputs of the scan."""
        intermediate = {*self.before.outputs, *self.ys} - {*self.before.inputs}
        graphs = (self.before, self.body, self.after)
        return {n: o.type for g in graphs for n, o in g.inputs.items() if n not in intermediate}

    def unroll(self) -> Graph:
        """Return the scan as one graph."""
        b = GraphBuilder()
        for name, type in self.inputs.items():
            b.input(name, *type)
        first = copy_graph_into(b, self.before, b.inputs)
        values = {**b.inputs, **first}
        parts: dict[str, list[Operand]] = {name: [] for name in self.ys}
        for step in range(self.length):
            slices = {n: _part(b, first[n], self.body.inputs[n].type, step) for n in self.xs}
            results = copy_graph_into(b, self.body, values | slices)
            values |= {name: results[name] for name in self.carry}
            for name, collected in parts.items():
                collected.append(results[name])
        stacked = {name: b.concat(collected, 0) for name, collected in parts.items()}
        last = copy_graph_into(b, self.after, {**values, **stacked})
        early, late = self.outer
        outputs = {n: first[n] for n in early} | {n: values[n] for n in late}
        return b.build(outputs | last)


def _part(b: GraphBuilder, array: Operand, type: TensorType, step: int) -> Operand:
    starts = [step * type.shape[0], *(0 for _ in type.shape[1:])]
    return b.slice(array, starts=starts, sizes=type.shape)
