"""A graph that runs several times over slices of what is computed for all runs at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.graph.rewrite import copied
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True, slots=True)
class Scan:
    """Runs `body` so many `times`, between two graphs that run once; like `jax.lax.scan`.

    Names tell what goes where:

    - An output of `body` that is also an input of it is carried from run to run. It begins with
      what `before` gives or, else, with an input of the scan, of which it is the next value then.
      Other outputs of `body` are joined along their first axis.
    - An output of `before` that `body` takes, and does not carry, is cut into equal parts along its
      first axis, one for each run.
    - `after` takes any of these: what `before` gave, what was carried last, what was joined.
    - Outputs of the scan are those of `before` that no other graph takes, what is carried from
      inputs of the scan, and the outputs of `after`.

    >>> from webnnm.backends.reference import evaluate
    >>> b = GraphBuilder()
    >>> before = b.build({"part": b.input("data", "float32", [3]) * 10})
    >>> b = GraphBuilder()
    >>> sum = b.input("sum", "float32", [1]) + b.input("part", "float32", [1])
    >>> body = b.build({"sum": sum, "seen": sum * 1})
    >>> b = GraphBuilder()
    >>> after = b.build({"sums": b.neg(b.input("seen", "float32", [3]))})
    >>> found = evaluate(Scan(before, body, after, 3).unrolled(), {"data": [1, 2, 3], "sum": [0]})
    >>> found["sum"].tolist(), found["sums"].tolist()
    ([60.0], [-10.0, -30.0, -60.0])
    """

    before: Graph
    body: Graph
    after: Graph
    times: int

    @property
    def sliced(self) -> list[str]:
        """The outputs of `before` of which each run takes a part."""
        kept = self.body.outputs
        return [n for n in self.before.outputs if n in self.body.inputs and n not in kept]

    @property
    def carried(self) -> list[str]:
        """The outputs of `body` that go from run to run."""
        return [name for name in self.body.outputs if name in self.body.inputs]

    @property
    def joined(self) -> list[str]:
        """The outputs of `body` that are joined."""
        return [name for name in self.body.outputs if name not in self.body.inputs]

    @property
    def outer(self) -> tuple[list[str], list[str]]:
        """The outputs of `before` and the carried ones that are outputs of the scan."""
        taken = {*self.body.inputs, *self.after.inputs}
        return (
            [name for name in self.before.outputs if name not in taken],
            [name for name in self.carried if name not in self.before.outputs],
        )

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        """The types of the inputs of the scan."""
        made = {*self.before.outputs, *self.joined} - {*self.before.inputs}
        graphs = (self.before, self.body, self.after)
        return {n: o.type for g in graphs for n, o in g.inputs.items() if n not in made}

    def unrolled(self) -> Graph:
        """Return the scan as one graph."""
        b = GraphBuilder()
        for name, type in self.inputs.items():
            b.input(name, *type)
        first = copied(b, self.before, b.inputs)
        found = {**b.inputs, **first}
        parts: dict[str, list[Operand]] = {name: [] for name in self.joined}
        for run in range(self.times):
            given = {n: _part(b, first[n], self.body.inputs[n].type, run) for n in self.sliced}
            made = copied(b, self.body, found | given)
            found |= {name: made[name] for name in self.carried}
            for name, several in parts.items():
                several.append(made[name])
        whole = {name: b.concat(several, 0) for name, several in parts.items()}
        last = copied(b, self.after, {**found, **whole})
        early, late = self.outer
        outputs = {n: first[n] for n in early} | {n: found[n] for n in late}
        return b.build(outputs | last)


def _part(b: GraphBuilder, whole: Operand, type: TensorType, run: int) -> Operand:
    starts = [run * type.shape[0], *(0 for _ in type.shape[1:])]
    return b.slice(whole, starts=starts, sizes=type.shape)
