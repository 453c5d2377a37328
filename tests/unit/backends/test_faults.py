"""Which faults are found on an implementation that has some of them, and what is rewritten then."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.unit.backends.fake_webnn import LIMITS, FakeWebNN
from tests.unit.backends.plans import graph_of
from tests.unit.compiler.legalising import legalise
from webnnm.backends.faults import Examination, sentences
from webnnm.backends.reference import evaluate
from webnnm.backends.webnn import WebNNBackend
from webnnm.compiler.plan import Plan
from webnnm.compiler.traps import ALL_TRAPS, Trap
from webnnm.compiler.traps.evidence import Probe, Trial, Untried, Values
from webnnm.core.errors import BackendError, ContextLost
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode

ALWAYS = frozenset(
    trap for trap in ALL_TRAPS if isinstance(trap.evidence, Untried) and trap.evidence.where({})
)


async def open_backend(fake: FakeWebNN) -> WebNNBackend:
    return await WebNNBackend.open(bridge=cast(Any, fake))


def trap_of(operator: str) -> Trap:
    """Return the trap of one operator alone."""
    return next(trap for trap in ALL_TRAPS if trap.operators == {operator})


def asking_for(operator: str) -> list[Trap]:
    """Return the traps whose probes use an operator."""
    return [
        trap
        for trap in ALL_TRAPS
        if any(operator in list_operators(probe) for probe in probes(trap))
    ]


def probes(trap: Trap) -> tuple[Probe, ...]:
    return () if isinstance(trap.evidence, Untried) else trap.evidence


def list_operators(probe: Probe) -> set[str]:
    return {call["op"] for call in Trial(probe).plan.content["operators"]}


PROBES = [
    pytest.param(trap, probe, id=f"{sorted(trap.operators)[0]} {number}")
    for trap in ALL_TRAPS
    for number, probe in enumerate(probes(trap))
]


def unless(*traps: Trap) -> tuple[str, ...]:
    """Return the sentences of some traps and of those that are expected everywhere."""
    return sentences(ALWAYS.union(traps))


def names(graph: Graph) -> list[str]:
    return [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]


# The evidence.


@pytest.mark.parametrize(("trap", "probe"), PROBES)
def test_known_answers_are_those_of_the_reference(trap: Trap, probe: Probe) -> None:
    trial = Trial(probe)
    assert trial.find_wrong(compute_answers(trial, graph_of(trial.plan))) == []


@pytest.mark.parametrize(("trap", "probe"), PROBES)
def test_the_rewrite_for_a_trap_concerns_its_probes(trap: Trap, probe: Probe) -> None:
    """What is tried out is what the rule rewrites, to something that computes the same."""
    trial = Trial(probe)
    fitted, rewrites = legalise(graph_of(trial.plan), LIMITS, [trap])
    assert any(trap.reason in text for text in rewrites)
    assert trial.find_wrong(compute_answers(trial, fitted)) == []


@pytest.mark.parametrize(("trap", "probe"), PROBES)
def test_outputs_that_nobody_wrote_are_not_an_answer(trap: Trap, probe: Probe) -> None:
    trial = Trial(probe)
    assert all(any(answer.values()) for answers in trial.answers for answer in answers)
    assert trial.find_wrong(memoryview(bytes(len(trial.answer_data)))) == [probe]


def compute_answers(trial: Trial, graph: Graph) -> memoryview:
    """Return the bytes of all outputs."""
    found = evaluate(graph, FakeWebNN.values(trial.plan, trial.data))
    return memoryview(b"".join(found[name].tobytes() for name in trial.plan.outputs))


def test_the_digest_tells_questions_and_answers_apart() -> None:
    def digest(asked: float, answer: float) -> str:
        probe = Probe(lambda g: g.exp(g.tensor([asked])), Values([answer]))
        trap = Trap(
            operators=frozenset({"exp"}), reason="", evidence=(probe,), rule=lambda b, node: None
        )
        return Examination([trap], LIMITS).digest

    assert digest(0.0, 1.0) == digest(0.0, 1.0)
    assert len({digest(0.0, 1.0), digest(1.0, 1.0), digest(0.0, 2.0)}) == 3


# Implementations.


def exp_sign_max(b: GraphBuilder) -> Graph:
    x = b.input("x", "float32", [3])
    return b.build({"y": b.max(b.exp(x), b.sign(x))})


async def test_nothing_is_rewritten_for_an_implementation_without_faults() -> None:
    fake = FakeWebNN()
    backend = await open_backend(fake)
    assert backend.faults == unless()
    executable = await backend.compile(exp_sign_max(GraphBuilder()))
    assert [call["op"] for call in fake.built[-1].content["operators"]] == ["exp", "sign", "max"]
    assert executable.rewrites == ()
    assert backend.rewrites == []


def test_everything_is_rewritten_where_nothing_is_known() -> None:
    fitted, _ = legalise(exp_sign_max(GraphBuilder()), LIMITS)
    assert len(names(fitted)) == 8


def lose_nan(b: GraphBuilder, node: Node) -> Operand | None:
    """exp as LiteRT has it: the exponential of NaN is 0."""
    if not isinstance(node, OperatorNode) or node.operator.name != "exp":
        return None
    (x,) = node.operands
    assert x is not None
    return b.where(b.equal(x, x), b.exp(x), 0.0)


async def test_a_fault_is_found_and_only_that_is_rewritten() -> None:
    fake = FakeWebNN(fault=lose_nan)
    backend = await open_backend(fake)
    assert backend.faults == unless(trap_of("exp"))
    await backend.compile(exp_sign_max(GraphBuilder()))
    operators = [call["op"] for call in fake.built[-1].content["operators"]]
    assert operators == ["exp", "max", "sign", "max"]
    (rewrite,) = backend.rewrites
    assert "the exponential of NaN would be 0" in rewrite


def refusing(*operators: str, at_most: int | None = None) -> Any:
    """Return what refuses to build graphs with some operators, or with too many operators."""

    def refuse(plan: Plan) -> None:
        calls = plan.content["operators"]
        found = {call["op"] for call in calls} & {*operators}
        if found or (at_most is not None and len(calls) > at_most):
            raise BackendError("NNM505", f"the browser refused {found or len(calls)}")

    return refuse


@pytest.mark.parametrize("operator", ["pad", "gatherElements", "scatterND", "resample2d"])
async def test_what_is_refused_is_a_fault(operator: str) -> None:
    """Wherever its probe is: in a graph of its own, or in the one of all others."""
    fake = FakeWebNN(refuse=refusing(operator))
    assert (await open_backend(fake)).faults == unless(*asking_for(operator))


async def test_probes_share_one_graph_and_others_have_one_for_each_trap() -> None:
    fake = FakeWebNN()
    await open_backend(fake)
    _trial, shared, *others = fake.built
    alone = [trap for trap in ALL_TRAPS if any(probe.alone for probe in probes(trap))]
    assert len(shared.content["operators"]) > 15
    assert len(others) == len(alone)


class Forgetful(FakeWebNN):
    """Leaves the outputs of large graphs as they were, and tells nobody."""

    async def once(self, context: int, plan: Plan, data: bytes) -> memoryview:
        found = await super().once(context, plan, data)
        return memoryview(bytes(len(found))) if len(plan.content["operators"]) > 12 else found


async def test_a_graph_that_was_not_computed_is_taken_apart() -> None:
    fake = Forgetful()
    assert (await open_backend(fake)).faults == unless()
    whole = FakeWebNN()
    await open_backend(whole)
    assert len(fake.built) > len(whole.built)


class Misshapen(FakeWebNN):
    """Refuses the tensors that are bound to results of one operator."""

    async def once(self, context: int, plan: Plan, data: bytes) -> memoryview:
        if any(call["op"] == "lstmCell" for call in plan.content["operators"]):
            raise BackendError("NNM709", "the tensors do not fit the graph")
        return await super().once(context, plan, data)


async def test_a_probe_that_fails_in_another_way_is_a_fault() -> None:
    assert (await open_backend(Misshapen())).faults == unless(*asking_for("lstmCell"))


def dying(plan: Plan) -> None:
    if any(call["op"] == "pad" for call in plan.content["operators"]):
        raise ContextLost("the browser lost the device")


async def test_a_device_lost_to_a_probe_is_opened_again_and_not_asked_again() -> None:
    fake = FakeWebNN(refuse=dying)
    backend = await open_backend(fake)
    assert backend.faults == sentences(ALL_TRAPS)
    assert len(fake.contexts) == 1, "the lost one is closed"
    await backend.compile(exp_sign_max(GraphBuilder()))
    assert len(fake.built[-1].content["operators"]) == 8


async def test_types_that_the_implementation_does_not_hold_are_not_asked_for() -> None:
    limits = {
        **LIMITS,
        "input": {"dataTypes": ["float32", "int32", "uint32", "uint8", "int8"]},
    }
    fake = FakeWebNN(limits=limits)
    assert (await open_backend(fake)).faults == unless()
    types = {given["dtype"] for plan in fake.built for given in plan.content["inputs"]}
    assert "float16" not in types


def test_a_fault_that_no_page_can_try_is_expected_of_its_implementation() -> None:
    large = trap_of("constant")
    assert large in Examination(ALL_TRAPS, {"preferredInputLayout": "nhwc"}).expected
    assert large not in Examination(ALL_TRAPS, {"preferredInputLayout": "nchw"}).expected
    assert trap_of("div") in Examination(ALL_TRAPS, {}).expected
