"""From a graph to the plan that a browser builds: named passes in one order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from webnnm.compiler.legalise import Legaliser
from webnnm.compiler.passes.broadcasts import without_broadcasts
from webnnm.compiler.passes.choices import expanded_choices
from webnnm.compiler.passes.folding import folded
from webnnm.compiler.passes.layout import FILTERS, channels_last
from webnnm.compiler.passes.simplify import simplified
from webnnm.compiler.plan import Plan, lower
from webnnm.compiler.scanned import scanned
from webnnm.compiler.traps import EVERY, Trap
from webnnm.core.dtypes import FORMATS
from webnnm.core.garbage import pause_garbage_collection
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True)
class Target:
    """What a plan is made for.

    Attributes: `limits`, WebNN's `opSupportLimits()`; `traps`, the faults to be avoided, by default
    all that are known; `fixed`, the names of inputs that will be constants; `recompute`, whether to
    recompute values if that saves memory.
    """

    limits: Mapping[str, Any]
    traps: Collection[Trap] = EVERY
    fixed: Container[str] = ()
    recompute: bool = False


Run = Callable[[Graph, Target, Legaliser], Graph]


class Pass(NamedTuple):
    """A named function from graph to graph; the legaliser records what it rewrites."""

    name: str
    run: Run


def _layout(graph: Graph, target: Target, _: Legaliser) -> Graph:
    nhwc = target.limits.get("preferredInputLayout") == "nhwc"
    return channels_last(graph) if nhwc else graph


def _biases(graph: Graph) -> Graph:
    if not graph.uses(FILTERS):
        return graph
    from webnnm.compiler.passes.bias import with_biases

    return with_biases(graph)


def _plain(run: Callable[[Graph], Graph]) -> Run:
    """Return a pass that does the same for every target."""
    return lambda graph, _, __: run(graph)


def _step(run: Callable[[Legaliser, Graph], Graph]) -> Run:
    """Return a pass that is a step of the legaliser."""
    return lambda graph, _, legaliser: run(legaliser, graph)


OPTIMISATIONS = (
    # Operands that an operator broadcasts itself need no expand before it.
    Pass("broadcast", _plain(without_broadcasts)),
    # A bias that is added to a convolution becomes part of it.
    Pass("bias", _plain(_biases)),
    # Images have their channels last if the device prefers that.
    Pass("layout", _layout),
    # Arithmetic on small constants is folded.
    Pass("fold", _plain(folded)),
    # Operators without effect are removed, chains of the same operator become one.
    Pass("simplify", _plain(simplified)),
    # Numbers that `where` chooses are expanded beforehand.
    Pass("choices", _plain(expanded_choices)),
)
"""Passes that make a graph faster without changing what it computes."""

LEGALISATIONS = (
    # Four-bit integers are carried in bytes if nothing computes with them.
    Pass("four-bits", _step(Legaliser.in_bytes)),
    # Every output is the result of an operator of its own.
    Pass("outputs", _step(Legaliser.distinct_outputs)),
    # Operators, data types, ranks and traps are rewritten until every node fits: a rewrite for one
    # of them may need one for another.
    Pass("legalise", _step(Legaliser.fitted)),
    # Nodes that fit but would lose NaN or range are rewritten.
    Pass("guards", _step(Legaliser.guarded)),
    # Results that a rewrite made outputs get an operator of their own, constants are checked.
    Pass("finish", _step(Legaliser.finished)),
)
"""Passes that make a graph one that the device computes correctly."""

PASSES = (*OPTIMISATIONS, *LEGALISATIONS)
"""The passes that run, in this order, before a graph is lowered to a plan."""


class Compiled(NamedTuple):
    """A plan, the rewrites for the device, and the types of inputs and outputs."""

    plan: Plan
    rewrites: Sequence[str]
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]


def transformed(
    graph: Graph, target: Target, passes: Sequence[Pass] = PASSES
) -> tuple[Graph, list[str]]:
    """Return a graph after some passes, and a sentence for each kind of rewrite for the device.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.exp(b.input("x", "float32", [2]) * 1)})
    >>> len(transformed(graph, Target({"exp": {}}), OPTIMISATIONS)[0].nodes())
    2

    Raises `BackendError` NNM405, NNM409, NNM505 for what the target lacks.
    """
    legaliser = Legaliser(target.limits, target.traps, target.fixed)
    for each in passes:
        graph = each.run(graph, target, legaliser)
    return graph, legaliser.rewrites()


@pause_garbage_collection()
def compile_plan(graph: Graph | Scan, target: Target) -> Compiled:
    """Return the plan of a graph that a device of these limits and faults computes.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.relu(b.input("x", "float32", [2]))})
    >>> compile_plan(graph, Target({"relu": {}})).plan.content["operators"][0]["op"]
    'relu'

    Raises `BackendError` NNM405, NNM409, NNM505 for what the target lacks.
    """
    if isinstance(graph, Scan):
        parts = (graph.before, graph.body, graph.after)
        ends = (o for part in parts for of in (part.inputs, part.outputs) for o in of.values())
        if all(operand.dtype in FORMATS for operand in ends):
            found = [_plan(part, target) for part in parts]
            plan = scanned(graph, *(plan for plan, _ in found))
            rewrites = [text for _, texts in found for text in texts]
            return Compiled(plan, rewrites, plan.inputs, plan.outputs)
        graph = graph.unroll()  # numbers that share bytes cannot be separated
    plan, rewrites = _plan(graph, target)
    return Compiled(
        plan,
        rewrites,
        {name: graph.inputs[name].type for name in plan.inputs},
        {name: operand.type for name, operand in graph.outputs.items()},
    )


def _plan(graph: Graph, target: Target) -> tuple[Plan, list[str]]:
    graph, rewrites = transformed(graph, target)
    plan = lower(graph)
    if not target.recompute:
        return plan, rewrites
    from webnnm.compiler.rematerialisation import rematerialised

    return rematerialised(plan), rewrites
