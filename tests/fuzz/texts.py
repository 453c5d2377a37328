"""Fuzzing of model texts: whatever a text says, it becomes a training step or an error of ours."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from tests.fuzz.frame import Target
from tests.fuzz.notation import grammatical, spoil
from webnnm.backends.reference import evaluate
from webnnm.compiler.plan import lower
from webnnm.core.dtypes import FORMATS, DataType, byte_length
from webnnm.core.errors import NotationError, WebNNMError
from webnnm.core.shapes import count
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, InputNode
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.testing.objectives import objectives
from webnnm.trainer.decisions import make_update_settings
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import FinalSettings, Settings
from webnnm.training.step import build_training_step, get_target_type
from webnnm.training.step_settings import StepSettings

BATCH, LENGTH = 2, 3
SMALL = 100_000
"""Bytes that the tensors of a step may have together, for it to be run."""


def check(text: str) -> str:
    """Take a text as far as it goes; raise for anything but a step or an error of ours."""
    try:
        document = parse(text)
    except NotationError as error:
        return _check_refusal(error, text)
    canonical = format_document(document)
    assert parse(canonical) == document, "formatting changes the syntax tree"
    assert format_document(parse(canonical)) == canonical, "formatting twice changes the text"
    try:
        _check_network(elaborate(document))
    except WebNNMError as error:
        return _check_refusal(error, text)
    return "passed"


def _check_refusal(error: WebNNMError, text: str) -> str:
    """Check that an error can be shown, and points into the text if it points anywhere."""
    assert re.fullmatch(r"NNM\d{3}", error.code), error.code
    assert error.message, error.code
    assert len(str(error)) < 1000 + 2 * len(text), error.code
    assert " object at 0x" not in str(error), error
    if error.span is not None:
        assert 0 <= error.span.start <= error.span.end <= len(text), error.span
    return f"refused {error.code}"


def _check_network(network: Network) -> None:
    """Lower a network, write a training step, and run it where it is small."""
    names = {vertex.features[0].sequence: vertex.length for vertex in network.inputs}
    sequence = {name: length or LENGTH for name, length in names.items() if name is not None}
    initialisers(network)
    inference = lower_network(network, batch=BATCH, sequence=sequence).graph()
    _check_types(inference)
    step = _step(network, sequence)
    lower(step)
    _check_types(step)


def _step(network: Network, sequence: Mapping[str, int]) -> Graph:
    """Return the graph of a training step of the first batch."""
    settings = _settings()
    aims = objectives(network, sequence, None)
    losses = {name: objective.loss() for name, objective in aims.items()}
    outputs = lower_network(network, batch=BATCH, sequence=sequence).outputs
    targets = {name: get_target_type(losses[name], output.type) for name, output in outputs.items()}
    return build_training_step(
        network,
        targets,
        StepSettings(
            batch=BATCH,
            rows=BATCH,
            steps=1,
            sequence=sequence,
            losses=losses,
            optimizer=OPTIMIZERS[settings.optimizer],
            update=make_update_settings(network, settings),
        ),
    ).graph


@functools.cache
def _settings() -> FinalSettings:
    return Settings(
        optimizer="adam",
        gradient_clipping="global",
        gradient_scaling="on",
        regularization="L1+L2",
        lambda1=1e-5,
        lambda2=1e-4,
    ).finish_without_data()


def _check_types(graph: Graph) -> None:
    """Run a graph, if it is small, and compare the types of its results with those inferred."""
    nodes = graph.nodes()
    if sum(byte_length(type.dtype, count(type.shape)) for n in nodes for type in n.types) > SMALL:
        return
    given = {n.name: _values(n.types[0]) for n in nodes if isinstance(n, InputNode)}
    for name, value in evaluate(graph, given).items():
        type = graph.outputs[name].type
        expected = (type.shape, _dtype(type.dtype))
        found = (value.shape, str(value.dtype))
        assert found == expected, f"{name} is {found}, not {expected}"


def _values(type: TensorType) -> Any:
    """Return small numbers that every type holds, repeated."""
    import numpy as np

    return np.resize(np.arange(4), type.shape).astype(_dtype(type.dtype))


def _dtype(dtype: DataType) -> str:
    """Return the type of NumPy that holds values of a type."""
    return dtype if dtype in FORMATS else dtype.replace("4", "8")


TARGET = Target(
    name="texts",
    cases=grammatical() | spoil(),
    check=check,
    save=str,
    load=str,
    suffix=".nnm",
    examples=150,
)
