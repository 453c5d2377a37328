"""Plans that compute values again compute the same, in less memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.compiler.passes.graphs import random_graph
from tests.unit.graph.texts import network
from tests.work import draws
from webnnm import GraphBuilder, gradients
from webnnm.compiler.plan import Plan, lower
from webnnm.compiler.rematerialisation import peak_bytes, rematerialise
from webnnm.core.naming import snake_case
from webnnm.editing.low_rank import add_adapters
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.node import Operand


def step(text: str, batch: int) -> Plan:
    """Return the plan of the gradients of a network."""
    lowered = lower_network(network(text), batch=batch, training=True)
    loss = lowered.outputs["m"] * lowered.outputs["m"]
    parameters = list(lowered.parameters.values())
    found = gradients(loss.reduce_sum(), parameters)
    outputs = {f"g{k}": g for k, g in enumerate(found)}
    return lower(lowered.builder.build(outputs | lowered.updates))


def deep(depth: int, layers: str) -> str:
    return f"""m:input shape=[16]; m:output shape=[16]; m:layers unit(repeat={depth});
        unit:layers {layers};"""


def rebuilt(plan: Plan) -> Plan:
    """Return the plan of the graph that a plan builds: equal computations become one there."""
    b = GraphBuilder()
    values: dict[int, Operand] = {}
    for given in plan.content["inputs"]:
        values[given["id"]] = b.input(given["name"], given["dtype"], given["shape"])
    for given in plan.content["constants"]:
        data = plan.constants[given["offset"] : given["offset"] + given["length"]]
        values[given["id"]] = b.constant(data, given["dtype"], given["shape"])

    def value(id: Any) -> Any:
        return [value(each) for each in id] if isinstance(id, list) else values[id]

    for call in plan.content["operators"]:
        references = {snake_case(key): value(id) for key, id in call["references"].items()}
        options = {snake_case(key): option for key, option in call["options"].items()}
        method = getattr(b, snake_case(call["op"]))
        made = method(*map(value, call["operands"]), *call["arguments"], **options, **references)
        results = [made] if isinstance(made, Operand) else made
        for id, result in zip(call["results"], results, strict=True):
            assert id not in values
            values[id] = result
    return lower(b.build({o["name"]: values[o["id"]] for o in plan.content["outputs"]}))


LAYERS = {
    "dense": ("matmul(w, shape=[16]), add(b), tanh()", 0.6),
    "normalised": ("matmul(w, shape=[16]), layerNorm(s, t), gelu()", 0.6),
    # The states of the random generators stay, as they are results.
    "with dropout": ("matmul(w, shape=[16]), dropout(0.5), sigmoid()", 0.8),
    "residual": ("matmul(w, shape=[16]), relu(), matmul(w, shape=[16]), residual(to=input)", 0.6),
}


@pytest.mark.parametrize(("layers", "share"), LAYERS.values(), ids=LAYERS)
def test_a_deep_network_takes_less_and_computes_the_same(layers: str, share: float) -> None:
    plan = step(deep(24, layers), 64)
    found = rematerialise(plan)
    assert peak_bytes(found) < share * peak_bytes(plan)
    assert rebuilt(found).hash == rebuilt(plan).hash
    before, after = (len(each.content["operators"]) for each in (plan, found))
    assert before < after < 1.6 * before


@pytest.mark.alike
def test_memory_falls_towards_the_root_of_the_depth() -> None:
    peaks = [
        peak_bytes(rematerialise(step(deep(depth, LAYERS["dense"][0]), 256))) for depth in (16, 64)
    ]
    whole = [peak_bytes(step(deep(depth, LAYERS["dense"][0]), 256)) for depth in (16, 64)]
    assert whole[1] > 3.5 * whole[0]
    assert peaks[1] < 2.7 * peaks[0]


@pytest.mark.parametrize("seed", draws(range(40)))
def test_random_graphs_compute_the_same(seed: int) -> None:
    plan = lower(random_graph(seed))
    found = rematerialise(plan)
    assert peak_bytes(found) <= peak_bytes(plan)
    assert rebuilt(found).hash == rebuilt(plan).hash


def test_a_plan_that_cannot_get_smaller_stays_as_it_is() -> None:
    b = GraphBuilder()
    plan = lower(b.build({"y": b.relu(b.input("x", "float32", [3]))}))
    assert rematerialise(plan) is plan
    empty = lower(b.build({"x": b.inputs["x"]}))
    assert rematerialise(empty) is empty


@pytest.mark.alike
def test_a_step_of_adapters_takes_less() -> None:
    text = """m:input shape=[16] sequence=words; m:output shape=[16] sequence=words;
        m:layers unit(repeat=12); unit:layers rmsNorm(g),
        attend(q, k, v, o=w, heads=2, causal=true), residual(to=input);"""
    adapted = elaborate(add_adapters(network(text)))
    lowered = lower_network(adapted, batch=4, sequence={"words": 32}, training=True)
    loss = (lowered.outputs["m"] * lowered.outputs["m"]).reduce_sum()
    learning = [lowered.parameters[p.name] for p in adapted.parameters if p.trainable]
    found = {f"g{k}": g for k, g in enumerate(gradients(loss, learning))}
    plan = lower(lowered.builder.build(found))
    assert peak_bytes(rematerialise(plan)) < 0.6 * peak_bytes(plan)
