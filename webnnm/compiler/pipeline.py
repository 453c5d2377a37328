"""From a graph to the plan that a browser builds: a fixed sequence of named passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from webnnm.compiler.legalise import Legaliser
from webnnm.compiler.passes.broadcasts import remove_broadcasts
from webnnm.compiler.passes.choices import expand_choices
from webnnm.compiler.passes.folding import fold_constants
from webnnm.compiler.passes.layout import CONVOLUTIONS, use_channels_last
from webnnm.compiler.passes.simplify import simplify
from webnnm.compiler.plan import Plan, lower
from webnnm.compiler.scanned import merge_scan_plans
from webnnm.compiler.traps import ALL_TRAPS, Trap
from webnnm.compiler.traps.convolution import POOLS
from webnnm.core.dtypes import FORMATS
from webnnm.core.garbage import pause_garbage_collection
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True)
class Target:
    """What a plan is made for.

    Attributes: `limits`, WebNN's `opSupportLimits()`; `traps`, the known bugs to be avoided, by
    default all of them; `constant_inputs`, the names of inputs that will be constants; `recompute`,
    whether to recompute values if that saves memory.
    """

    limits: Mapping[str, Any]
    traps: Collection[Trap] = ALL_TRAPS
    constant_inputs: Container[str] = ()
    recompute: bool = False


PassFunction = Callable[[Graph, Target, Legaliser], Graph]


class Pass(NamedTuple):
    """A named function from graph to graph; the legaliser records what it rewrites."""

    name: str
    run: PassFunction


def _change_layout(graph: Graph, target: Target, _: Legaliser) -> Graph:
    nhwc = target.limits.get("preferredInputLayout") == "nhwc"
    return use_channels_last(graph) if nhwc else graph


def _fuse_biases(graph: Graph) -> Graph:
    if not graph.uses(CONVOLUTIONS):
        return graph
    from webnnm.compiler.passes.bias import fuse_biases

    return fuse_biases(graph)


def _pad_pool_sizes(graph: Graph) -> Graph:
    if not graph.uses(POOLS):
        return graph
    from webnnm.compiler.passes.pool_sizes import pad_pool_sizes

    return pad_pool_sizes(graph)


def _ignore_target(run: Callable[[Graph], Graph]) -> PassFunction:
    """Return the function of a pass that does the same for every target."""
    return lambda graph, _, __: run(graph)


def _use_legaliser(run: Callable[[Legaliser, Graph], Graph]) -> PassFunction:
    """Return the function of a pass that is a step of the legaliser."""
    return lambda graph, _, legaliser: run(legaliser, graph)


OPTIMISATIONS = (
    # Operands that an operator broadcasts itself need no expand before it.
    Pass("broadcast", _ignore_target(remove_broadcasts)),
    # A bias that is added to a convolution becomes part of it.
    Pass("bias", _ignore_target(_fuse_biases)),
    # Images have their channels last if the device prefers that.
    Pass("layout", _change_layout),
    # Arithmetic on small constants is folded.
    Pass("fold", _ignore_target(fold_constants)),
    # Operators without effect are removed, chains of the same operator become one.
    Pass("simplify", _ignore_target(simplify)),
    # Scalar operands of `where` are expanded to the shape of its result.
    Pass("choices", _ignore_target(expand_choices)),
)
"""Passes that make a graph faster without changing what it computes."""

LEGALISATIONS = (
    # The sizes of a pool's result follow from its padding.
    Pass("pools", _ignore_target(_pad_pool_sizes)),
    # Four-bit integers are carried in bytes if nothing computes with them.
    Pass("four-bits", _use_legaliser(Legaliser.emulate_four_bits)),
    # Every output is the result of an operator of its own.
    Pass("outputs", _use_legaliser(Legaliser.separate_outputs)),
    # Nodes are rewritten until the device has their operators, types and ranks, and no known bug
    # applies: one rewrite may need another.
    Pass("legalise", _use_legaliser(Legaliser.legalise)),
    # Nodes that the device has, but that would lose NaN or overflow, are rewritten.
    Pass("guards", _use_legaliser(Legaliser.apply_guards)),
    # Outputs are separated again after the rewrites, and constants are checked.
    Pass("finish", _use_legaliser(Legaliser.finish)),
)
"""Passes that make a graph run correctly on the device."""

PASSES = (*OPTIMISATIONS, *LEGALISATIONS)
"""The passes that run, in this order, before a graph is lowered to a plan."""


class CompiledPlan(NamedTuple):
    """A plan, sentences on the rewrites for the device, and the types of inputs and outputs."""

    plan: Plan
    rewrites: Sequence[str]
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]


def run_passes(
    graph: Graph, target: Target, passes: Sequence[Pass] = PASSES
) -> tuple[Graph, list[str]]:
    """Return a graph after some passes, and a sentence for each kind of rewrite for the device.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.exp(b.input("x", "float32", [2]) * 1)})
    >>> len(run_passes(graph, Target({"exp": {}}), OPTIMISATIONS)[0].nodes())
    2

    Raises `BackendError` NNM405, NNM409, NNM505 for what the target lacks.
    """
    legaliser = Legaliser(target.limits, target.traps, target.constant_inputs)
    for graph_pass in passes:
        graph = graph_pass.run(graph, target, legaliser)
    return graph, legaliser.describe_rewrites()


@pause_garbage_collection()
def compile_plan(graph: Graph | Scan, target: Target) -> CompiledPlan:
    """Compile a graph to a plan that the target runs correctly.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.relu(b.input("x", "float32", [2]))})
    >>> compile_plan(graph, Target({"relu": {}})).plan.content["operators"][0]["op"]
    'relu'

    Raises `BackendError` NNM405, NNM409, NNM505 for what the target lacks.
    """
    if isinstance(graph, Scan):
        parts = (graph.before, graph.body, graph.after)
        boundary_operands = (
            operand
            for part in parts
            for ports in (part.inputs, part.outputs)
            for operand in ports.values()
        )
        if all(operand.dtype in FORMATS for operand in boundary_operands):
            plans = [_compile_graph(part, target) for part in parts]
            plan = merge_scan_plans(graph, *(plan for plan, _ in plans))
            rewrites = [text for _, texts in plans for text in texts]
            return CompiledPlan(plan, rewrites, plan.inputs, plan.outputs)
        graph = graph.unroll()  # packed 4-bit numbers share bytes: a scan cannot slice them
    plan, rewrites = _compile_graph(graph, target)
    return CompiledPlan(
        plan,
        rewrites,
        {name: graph.inputs[name].type for name in plan.inputs},
        {name: operand.type for name, operand in graph.outputs.items()},
    )


def _compile_graph(graph: Graph, target: Target) -> tuple[Plan, list[str]]:
    graph, rewrites = run_passes(graph, target)
    plan = lower(graph)
    if not target.recompute:
        return plan, rewrites
    from webnnm.compiler.rematerialisation import rematerialise

    return rematerialise(plan), rewrites
