"""Compares a batch of padded rows with the same rows computed one by one without padding."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from tests.unit.graph.texts import network
from tests.unit.ops.cases import np
from webnnm import gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import Lowered, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Operand, OperatorNode

PADDING = 3
GARBAGE = 7.5
"""Stands at padded positions, so that what they have a part in differs."""

Lengths = Mapping[str, Sequence[int]]


class Outcome:
    """Outputs, gradients and masks of one graph."""

    def __init__(self, lowered: Lowered, values: Mapping[str, Any]) -> None:
        names = lowered.outputs
        self.values = values
        self.outputs = {name: values[f"out/{name}"] for name in names}
        self.masks = {name: values[f"mask/{name}"] for name in lowered.masks}


def draw(name: str, shape: Sequence[int]) -> Any:
    """Return numbers that depend on a name: parameters are the same however they are fed."""
    found = np.random.default_rng(zlib.crc32(name.encode())).uniform(-1, 1, tuple(shape))
    return np.abs(found) + 0.5 if name.startswith("variance") else found


def rows_of(net: Network, lengths: Lengths) -> list[dict[str, Any]]:
    """Return for each row the inputs by block, each as long as the row is."""
    amount = len(next(iter(lengths.values())))
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for row in range(amount):
        feeds: dict[str, Any] = {}
        for vertex in net.inputs:
            features = vertex.features[0]
            front = () if features.sequence is None else (lengths[features.sequence][row],)
            shape = (*front, *features.sizes())
            if vertex.dtype == "float32":
                feeds[vertex.block] = rng.uniform(-1, 1, shape)
            else:
                feeds[vertex.block] = rng.integers(0, 3, shape)
        rows.append(feeds)
    return rows


def pad(row: Any, length: int) -> Any:
    """Return a row of a length, garbage behind what is valid."""
    fill = GARBAGE if row.dtype.kind == "f" else 2
    return np.concat([row, np.full((length - len(row), *row.shape[1:]), fill, row.dtype)])


def outcome(
    net: Network,
    feeds: Mapping[str, Any],
    sequence: Mapping[str, int],
    masks: Mapping[str, Any],
    weights: Mapping[str, Any],
    *,
    training: bool,
    rows: Any = None,
) -> Outcome:
    """Compute outputs, and gradients of their sum with these weights."""
    b = GraphBuilder()
    batch = len(next(iter(feeds.values())))
    lowered = lower_network(
        net,
        batch=batch,
        sequence=sequence,
        builder=b,
        training=training,
        masks={name: b.input(f"mask/{name}", "float32", m.shape) for name, m in masks.items()},
        rows=None if rows is None else b.constant(rows, "float32"),
    )
    leaves: dict[str, Operand] = {f"grad/{n}": x for n, x in lowered.parameters.items()}
    leaves |= {f"grad/{n}": x for n, x in lowered.inputs.items() if x.dtype == "float32"}
    results: dict[str, Operand] = {f"out/{n}": y for n, y in lowered.outputs.items()}
    results |= {f"mask/{n}": y for n, y in lowered.masks.items()}
    results |= lowered.updates
    total: Operand | None = None
    for name, y in lowered.outputs.items():
        if y.dtype == "float32" and name in weights:
            term = b.reduce_sum(y * b.constant(weights[name].astype("float32"), "float32"))
            total = term if total is None else total + term
    if total is not None:
        found = gradients(total, list(leaves.values()))
        results |= dict(zip(leaves, found, strict=True))
    given = {f"param/{n}": draw(n, x.shape) for n, x in lowered.parameters.items()}
    given |= {f"mask/{n}": m for n, m in masks.items()} | dict(feeds)
    return Outcome(lowered, evaluate(b.build(results), given, wide=True))


def compare(
    text: str, lengths: Lengths, *, training: bool = True, tolerance: float = 1e-9
) -> Outcome:
    """Assert that padding has no part in any result, and return what the padded rows gave.

    One more row is padded altogether, as in a short last batch.
    """
    net = network(text)
    rows = rows_of(net, lengths)
    every = len(rows) + 1
    alone: list[Outcome] = []
    drawing = np.random.default_rng(1)
    row_weights: list[dict[str, Any]] = []
    for index, feeds in enumerate(rows):
        own = {name: amounts[index] for name, amounts in lengths.items()}
        batch = {block: x[None] for block, x in feeds.items()}
        shapes = outcome(net, batch, own, {}, {}, training=training).outputs
        weights = {name: drawing.uniform(-1, 1, y.shape) for name, y in shapes.items()}
        weights = {name: w.astype("float32") for name, w in weights.items()}
        row_weights.append(weights)
        alone.append(outcome(net, batch, own, {}, weights, training=training))

    sequence = {name: max(amounts) + PADDING for name, amounts in lengths.items()}
    masks = {
        name: (np.arange(sequence[name]) < np.asarray([*amounts, 0])[:, None]).astype("float32")
        for name, amounts in lengths.items()
    }
    feeds: dict[str, Any] = {}
    for vertex in net.inputs:
        name = vertex.features[0].sequence
        made = [
            row[vertex.block] if name is None else pad(row[vertex.block], sequence[name])
            for row in rows
        ]
        feeds[vertex.block] = np.stack([*made, np.zeros_like(made[0])])
    bare = outcome(net, feeds, sequence, masks, {}, training=training)
    weights = {name: np.zeros(y.shape, "float32") for name, y in bare.outputs.items()}
    for index, own in enumerate(row_weights):
        for name, w in own.items():
            place = tuple(slice(0, n) for n in w.shape[1:])
            weights[name][(index, *place)] = w[0]
    counted = [1] * len(rows) + [0]
    found = outcome(net, feeds, sequence, masks, weights, training=training, rows=counted)

    for name, value in found.values.items():
        assert np.all(np.isfinite(value)), name
    for name, y in found.outputs.items():
        assert len(y) == every
        for index, single in enumerate(alone):
            wanted = single.outputs[name][0]
            place = tuple(slice(0, n) for n in wanted.shape)
            close(y[(index, *place)], wanted, f"{name} of row {index}", tolerance)
            if name in found.masks:
                mask = found.masks[name][index]
                assert mask.tolist() == [1.0] * len(wanted) + [0.0] * (len(mask) - len(wanted))
    _compare_gradients(net, found, alone, lengths, tolerance)
    return found


def _compare_gradients(
    net: Network, found: Outcome, alone: Sequence[Outcome], lengths: Lengths, tolerance: float
) -> None:
    for parameter in net.parameters:
        name = f"grad/{parameter.name}"
        wanted = sum(single.values[name] for single in alone)
        close(found.values[name], wanted, name, tolerance)
    for vertex in net.inputs:
        name, sequence = f"grad/{vertex.block}", vertex.features[0].sequence
        if name not in found.values:
            continue
        for index, single in enumerate(alone):
            own = found.values[name][index]
            end = None if sequence is None else lengths[sequence][index]
            close(own[:end], single.values[name][0], f"{name} of row {index}", tolerance)
            assert sequence is None or not np.any(own[end:]), f"{name}: padding of row {index}"
        assert not np.any(found.values[name][-1]), f"{name}: the row that is all padding"


def close(found: Any, wanted: Any, what: str, tolerance: float) -> None:
    """Assert that arrays agree."""
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=what)


def operator_names(
    text: str, lengths: Lengths, *, masked: bool, training: bool = False
) -> set[str]:
    """Return the operators in the graph of a model."""
    b = GraphBuilder()
    rows = len(next(iter(lengths.values())))
    longest = {name: max(amounts) for name, amounts in lengths.items()}
    masks = {n: b.input(f"mask/{n}", "float32", (rows, size)) for n, size in longest.items()}
    lower_network(
        network(text),
        batch=rows,
        sequence=longest,
        builder=b,
        training=training,
        masks=masks if masked else None,
    )
    return {node.operator.name for node in b.nodes if isinstance(node, OperatorNode)}
