"""Compares StableHLO modules on XLA with the reference backend: operators, examples, trainings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.xla.open_layers import LAYERS
from tests.parity.xla.run import Program, run
from tests.unit.formats.stablehlo_cases import inference_text, loss_text, step_settings, train_text
from tests.unit.formats.stablehlo_cases import losses as suggested
from tests.unit.ops.cases import CASES, build
from webnnm import Dataset, NNModel
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError, WebNNMError
from webnnm.data.protocol import load_subset
from webnnm.formats.stablehlo.check import check_stablehlo
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph
from webnnm.notation import parse
from webnnm.ops.declare.operator import Looped
from webnnm.training.batch_step import COUNT, RATE, UNSCALE, build_batch_loss, build_batch_step
from webnnm.training.step_settings import (
    DUE,
    StepSettings,
)

LIMIT = {"float32": 1e-5, "float16": 5e-3}
STEPS_LIMIT = 1e-4


def difference(found: Any, wanted: Any) -> float:
    """Return the largest difference of two arrays, relative to the larger of 1 and the values."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if not wanted.size:
        return 0.0
    a, b = found.astype(float), wanted.astype(float)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    apart = np.where(same, 0.0, np.abs(a - b) / np.maximum(np.abs(b), 1))
    return float(np.max(np.nan_to_num(apart, nan=np.inf)))


def operators() -> Iterator[tuple[str, str, float]]:
    """Yield every sample of every operator in several types, and how far XLA is from NumPy."""
    for case in CASES:
        for dtype in ("float32", "float16", "int32"):
            if dtype != "float32" and not case.allows(dtype):
                continue
            built = build(case, default=dtype)
            graph = built.builder.build({f"y{k}": y for k, y in enumerate(built.results)})
            feeds = {n: np.asarray(built.feeds[n], o.dtype) for n, o in graph.inputs.items()}
            types = {o.dtype for o in (*graph.inputs.values(), *graph.outputs.values())}
            kind = "float16" if "float16" in types else "float32"
            yield f"{case} {dtype}", kind, _apart(graph_text([graph]), graph, feeds)
            if case.operator.name in ("erf", "gelu"):
                text = graph_text([graph], chlo=False)
                yield f"{case} {dtype} polynomial", kind, _apart(text, graph, feeds)
            if isinstance(case.operator.stablehlo, Looped):
                text = graph_text([graph], loops=True)
                yield f"{case} {dtype} looped", kind, _apart(text, graph, feeds)


def _apart(text: str, graph: Graph, feeds: Mapping[str, Any]) -> float:
    check_stablehlo(text)
    found = run(text, [feeds[name] for name in graph.inputs])
    wanted = evaluate(graph, feeds)
    return max((difference(a, b) for a, b in zip(found, wanted.values(), strict=True)), default=0.0)


def examples(folder: Path) -> Iterator[tuple[str, str, float | str]]:
    """Yield every graph of every example, with numbers and with open sizes, and its difference."""
    for path in sorted(folder.glob("*.nnm")):
        facts = json.loads(path.with_suffix(".json").read_text())
        network = elaborate(parse(path.read_text("utf-8")))
        lengths: dict[str, int] = facts.get("sequence") or {}
        for kind, graph, write in _graphs(network, facts["batch"], lengths):
            feeds = draw(graph, facts["batch"])
            types = {o.dtype for o in (*graph.inputs.values(), *graph.outputs.values())}
            limit = "float16" if "float16" in types else "float32"
            for batch, sequence in ((facts["batch"], lengths), (None, {})):
                name = f"{path.stem} {kind} {'open' if batch is None else 'fixed'}"
                try:
                    text = write(batch, sequence)
                except WebNNMError as error:
                    yield name, limit, error.code
                else:
                    yield name, limit, _apart(text, graph, feeds)
                if kind != "train" and _recurrent(network):
                    text = write(batch, sequence, loops=True)
                    yield f"{name} looped", limit, _apart(text, graph, feeds)


def open_layers() -> Iterator[tuple[str, str, float | str]]:
    """Yield layers over sequences, their sizes left open, and how far XLA is from NumPy."""
    for output, layers in LAYERS:
        source = f"m:input shape=[4] sequence=steps; m:output {output}; m:layers {layers};"
        network = elaborate(parse(source))
        for kind, graph, write in _graphs(network, 3, {"steps": 7}):
            name = f"{layers} {kind} open"
            try:
                text = write(None, {})
            except WebNNMError as error:
                yield name, "float32", error.code
            else:
                yield name, "float32", _apart(text, graph, draw(graph, 3))


def _graphs(
    network: Network, batch: int, lengths: Mapping[str, int]
) -> Iterator[tuple[str, Graph, Callable[..., str]]]:
    """Yield the graphs of a network as the reference runs them, and what writes each module."""
    lowered = lower_network(network, batch=batch, sequence=lengths)
    yield "inference", lowered.graph(), lambda b, s, **k: inference_text(network, b, s, **k)
    try:
        losses = suggested(network, lengths)
        settings = step_settings(network, losses, optimizer="adam")
        loss = build_batch_loss(network, losses, batch=batch, sequence=lengths)
    except DataError:  # this one has nothing that could be trained
        return
    yield "loss", loss, lambda b, s, **k: loss_text(network, losses, b, s, **k)
    made = _at(settings, batch, lengths)
    try:
        step = build_batch_step(network, made)
    except WebNNMError as error:
        if error.code not in ("NNM605", "NNM606"):
            raise
        return
    yield "train", step, lambda b, s, **k: train_text(network, settings, b, s, **k)


def _recurrent(network: Network) -> bool:
    """Return whether a network has layers that can be loops."""
    return any(isinstance(layer.operator.stablehlo, Looped) for layer in network.order)


def _at(settings: StepSettings, batch: int, lengths: Mapping[str, int]) -> StepSettings:
    return replace(settings, batch=batch, rows=batch, sequence=lengths)


def draw(graph: Graph, batch: int) -> dict[str, Any]:
    """Return values for the inputs of a graph; all rows but the last count."""
    rng = np.random.default_rng(len(graph.inputs))
    known = {COUNT: max(1, batch - 1), RATE: 0.01, UNSCALE: 1.0, DUE: 1.0}
    feeds: dict[str, Any] = {}
    for name, operand in graph.inputs.items():
        if name in known:
            value: Any = known[name]
        elif name.startswith("random/"):
            value = rng.integers(1, 30000, operand.shape)
        elif name.startswith(PARAMETER_PREFIX) and operand.rank > 1:
            width = np.sqrt(np.prod(operand.shape[:-1]))
            value = rng.uniform(-1, 1, operand.shape) / width
        elif is_float(operand.dtype):  # variances and moments are not negative
            value = rng.uniform(0.1, 0.9, operand.shape)
        else:
            value = rng.integers(0, 2, operand.shape)
        feeds[name] = np.asarray(value, operand.dtype)
    return feeds


MLP = """
m:name mlp;
m:input shape=[4];
m:output shape=[3];
m:layers matmul(w, shape=[16]), add(b), relu(), matmul(w), add(b), softmax();
"""
CNN = """
m:name cnn;
m:input shape={channels:1, height:8, width:8};
m:output shape=[4];
m:layers conv2d(w, filters=4, kernel=3), batchNorm(scale=g, bias=h), relu(),
  maxPool2d(windowDimensions=2, strides=2), flatten(),
  matmul(w), add(b), softmax();
"""


STEPS, ROWS = 10, 4
HYPERPARAMETERS: dict[str, Any] = {
    "epochs": 1,
    "seeds": 0,
    "batch_size": ROWS,
    "schedule": "constant",
    "shuffle": False,
    "optimizer": "adam",
    "lr": 0.01,
    "gradient_clipping": "global",
}
ARGUMENT = re.compile(r'%arg\d+: tensor<[^>]*> \{webnnm.name = "([^"]*)"\}')
RESULT = re.compile(r'tensor<[^>]*> \{webnnm.name = "([^"]*)"\}')


async def ten_steps(source: str, shape: tuple[int, ...], classes: int) -> float:
    """Return how far the parameters are from those of `train` with NumPy after ten steps."""
    rng = np.random.default_rng(7)
    inputs = rng.uniform(-1, 1, (STEPS * ROWS, *shape)).astype(np.float32)
    labels = rng.integers(0, classes, STEPS * ROWS)
    dataset = Dataset(inputs, labels, split=(1.0, 0.0, 0.0))
    settings: dict[str, Any] = {"source": source, "dataset": dataset, "backend": "numpy"}
    async with await NNModel.create(**settings, log=lambda line: None) as model:
        text = await model.export(None, "train", ROWS, format="stablehlo", **HYPERPARAMETERS)
        check_stablehlo(text)
        arguments, _, results = text.splitlines()[1].partition(" -> ")
        names = ARGUMENT.findall(arguments)
        values: dict[str, Any] = {p.name: np.asarray(p.value) for p in model.params()}
        data, targets, _ = load_subset(model.state.binding().dataset, "training")
        types = re.findall(r"%arg\d+: tensor<([\dx]*)\w+>", arguments)
        for name, sizes in zip(names, types, strict=True):
            zero = np.zeros([int(n) for n in sizes.split("x")[:-1]], np.float32)
            values.setdefault(name, zero)
        rows = {"m": data, "target/m": targets}
        whole: dict[str, Any] = {}
        for name, arrays in rows.items():
            (array,) = arrays.values()
            whole[name] = np.asarray(array.values(), array.dtype).reshape(array.shape)
        values |= {"valid_count": np.float32(ROWS), "lr": np.float32(0.01), "1/S": np.float32(1)}
        program = Program(text)
        for step in range(STEPS):
            batch = slice(step * ROWS, (step + 1) * ROWS)
            values |= {name: array[batch] for name, array in whole.items()}
            found = program([values[name] for name in names])
            values |= dict(zip(RESULT.findall(results), found, strict=True))
            assert not values["overflow"]
        await model.train(**HYPERPARAMETERS, progress=None)
        return max(difference(values[p.name], np.asarray(p.value)) for p in model.params())


async def trainings() -> list[tuple[str, float]]:
    """Return ten exported steps of two models, and how far they are from `train` with NumPy."""
    return [
        ("ten steps of an MLP", await ten_steps(MLP, (4,), 3)),
        ("ten steps of a CNN", await ten_steps(CNN, (1, 8, 8), 4)),
    ]
