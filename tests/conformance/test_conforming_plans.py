"""Any conforming WebNN accepts the plans of example models, platform tests and cases of ONNX."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.test_onnx_cases import CASES, OPERATORS
from tests.conformance.vectors import vectors
from tests.places import VALID, WPT
from tests.unit.compiler.conforming import IMPLEMENTATIONS, plan_conforming
from tools.common import ROOT
from webnnm import gradients
from webnnm.compiler.plan import Plan
from webnnm.core.dtypes import is_float
from webnnm.core.errors import WebNNMError
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.node import Graph
from webnnm.notation import parse

VECTORS = {str(vector): vector for vector in vectors(WPT)}
LEAST_SHARE = {"wide": 0.99, "least": 0.7}
"""How many of the graphs can be planned at all: the least implementation lacks 64-bit integers."""


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_vectors_of_the_platform_tests(name: str) -> None:
    plans = [plan_conforming(vector.graph()[0], name) for vector in VECTORS.values()]
    planned = [plan for plan in plans if isinstance(plan, Plan)]
    assert len(planned) >= LEAST_SHARE[name] * len(plans)


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_cases_of_onnx(operator: str) -> None:
    for case in OPERATORS[operator]:
        try:
            graph, _ = CASES[case.name].graph()
        except WebNNMError:
            continue  # test_onnx_cases.py counts them
        for name in IMPLEMENTATIONS:
            plan_conforming(graph, name)


MODELS = {path.stem: path for path in sorted([*VALID.glob("*.nnm"), *ROOT.glob("site/*.nnm")])}


def training_graph(path: Path) -> Graph:
    """Return a network in training, with the gradients of all parameters that its outputs have."""
    network = elaborate(parse(path.read_text(encoding="utf-8")))
    facts = path.with_suffix(".json")
    sequence = json.loads(facts.read_text()).get("sequence", {}) if facts.exists() else {}
    lowered = lower_network(network, batch=2, sequence=sequence, training=True)
    b = lowered.builder
    learnt = [parameter for parameter in lowered.parameters.values() if is_float(parameter.dtype)]
    losses = [
        b.cast(output, type="float32").reduce_mean()
        for output in lowered.outputs.values()
        if is_float(output.dtype)
    ]
    slopes = gradients(sum(losses[1:], losses[0]), learnt) if losses and learnt else []
    results = {f"slope{number}": slope for number, slope in enumerate(slopes)}
    return b.build({**lowered.outputs, **lowered.updates, **results})


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_models_in_training(model: str, name: str) -> None:
    plan = plan_conforming(training_graph(MODELS[model]), name)
    assert isinstance(plan, Plan)
