"""Large models and determinism: nothing recurses, equal texts give equal plans."""

from __future__ import annotations

import gc

import pytest

from tests.unit.graph.texts import model, network, plan
from webnnm.graph.elaboration.annotate import depths
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse

UNIT = "unit:layers matmul(w, shape=[4]), add(b), relu(), residual(skip=3);"


@pytest.fixture(scope="module")
def chain() -> str:
    return model("unit(repeat=1000), matmul(w)", UNIT)


@pytest.mark.alike
def test_a_thousand_chained_residual_blocks(chain: str) -> None:
    found = network(chain)
    assert len(found.layers) == 4001
    assert len(found.parameters) == 2001
    assert max(depth.from_input for depth in depths(found).values()) == 4001


@pytest.mark.alike
def test_elaboration_does_not_look_for_garbage_again_and_again(chain: str) -> None:
    collected: list[str] = []

    def note(phase: str, _: object) -> None:
        collected.append(phase)

    document = parse(chain)
    gc.callbacks.append(note)
    try:
        elaborate(document)
    finally:
        gc.callbacks.remove(note)
    # Once it has ended, Python may catch up.
    assert collected in ([], ["start", "stop"])


def test_a_thousand_chained_residual_blocks_become_a_plan(chain: str) -> None:
    assert len(plan(chain).content["operators"]) == 4001


def test_shapes_travel_backward_through_a_long_chain() -> None:
    layers = ", ".join(["matmul(w)", *["tanh(), add(1)"] * 500])
    assert network(model(layers)).parameters[0].features[0].sizes() == (4, 3)


def test_blocks_written_in_reverse_order_of_flow() -> None:
    """A fixpoint in reading order would need a pass per block; the order of flow needs few."""
    chain = [f"b{k}:output shape=[4]; b{k}:layers tanh(node=b{k + 1});" for k in range(200)]
    text = "\n".join([*chain, "b200:input shape=[4];"])
    assert len(network(text).layers) == 200


@pytest.mark.parametrize(
    "text",
    [
        model("unit(repeat=5), matmul(w)", UNIT),
        model(
            "tanh(name=x), matmul(w, shape=[3]), add(c), softmax()",
            "c float16 [3] 1;",
            "n:output shape=[4];",
            "n:layers exp(node=x);",
        ),
    ],
)
def test_two_elaborations_give_equal_plans(text: str) -> None:
    first, second = plan(text, batch=3), plan(text, batch=3)
    assert first.json == second.json
    assert first.constants == second.constants
    assert first.hash == second.hash


def test_batch_size_is_not_a_matter_of_elaboration() -> None:
    found = network(model("matmul(w)"))
    from webnnm.graph.elaboration.lowering import lower_network

    shapes = [lower_network(found, batch=n).outputs["m"].shape for n in (1, 7)]
    assert shapes == [(1, 3), (7, 3)]
