"""The graph that the seed search runs: losses, gradients and dead units of a model (spec E.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.initialise import WEIGHTS
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, Lowered, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, Operand
from webnnm.graph.scan import Scan
from webnnm.graph.transforms.autodiff import backward
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss, losses_of, row_mask
from webnnm.training.layer_figures import dead_units, mean_of
from webnnm.training.output_activation import activation_of
from webnnm.training.step_settings import MASK, TARGET

FIGURES = "figures"
ROW = "row of figures"
STEP_LENGTH = 0.1
"""The length of a trial step along g/‖g‖."""
SURE = 0.95
"""An output whose top probability is this high no longer learns from a row."""


@dataclass(frozen=True)
class ProbeStep:
    """The graph of a trial step: parameters in, parameters and a row of `figures` out.

    `names` are the elements of the figures: "loss", "loss/…" by output, "norm/…" by weight,
    "dead/…" by layer, "sure/…" by output.
    """

    graph: Graph
    names: tuple[str, ...]

    def several(self, steps: int) -> Scan:
        """Return this many steps in sequence, with the figures of each in a table."""
        b = GraphBuilder()
        rows = b.input(ROW, "float32", [steps, len(self.names)])
        after = b.build({FIGURES: b.identity(rows)})
        return Scan(GraphBuilder().build({}), self.graph, after, steps)


def probe_step(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    rows: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType],
    targets: Mapping[str, TensorType],
) -> ProbeStep:
    """Return the graph of one plain gradient step of length 0.1 over pilot rows.

    Dropout is off and running statistics do not change. The loss is the sum over outputs, each
    divided by the loss of an uninformed prediction.
    """
    found = measured(network, losses, rows=rows, sequence=sequence, masks=masks, targets=targets)
    figures = found.figures | _sure(found.lowered, network)
    return probe_graph(figures, _moved(found))


def probe_graph(figures: Mapping[str, Operand], outputs: dict[str, Operand]) -> ProbeStep:
    """Return the graph of these outputs and a row of figures."""
    (b,) = {figure.builder for figure in figures.values()}
    parts = [b.reshape(value, new_shape=[1, 1]) for value in figures.values()]
    outputs[ROW] = b.concat(parts, 1)
    return ProbeStep(b.build(outputs), tuple(figures))


@dataclass(frozen=True)
class Measured:
    """A model on some rows: its figures (scalars), the gradients of parameters and their norms."""

    lowered: Lowered
    figures: dict[str, Operand]
    gradients: dict[str, Operand]
    norms: dict[str, Operand]


def measured(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    rows: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType],
    targets: Mapping[str, TensorType],
) -> Measured:
    """Return the losses, gradients and dead units of a model on some rows, without dropout."""
    b = GraphBuilder()
    masked = {name: b.input(MASK + name, *type) for name, type in masks.items()}
    lowered = lower_network(network, batch=rows, sequence=sequence, builder=b, masks=masked)
    given = {name: b.input(TARGET + name, *type) for name, type in targets.items()}
    valid = b.constant(float(rows), "float32")
    found = losses_of(lowered, losses, given, row_mask(b, valid, rows), valid, masked)
    figures: dict[str, Operand] = {}
    loss = b.constant(0, "float32")
    for name, chosen in losses.items():
        mean = found.mean(name)
        figures[f"loss/{name}"] = mean
        loss = loss + mean * (1 / chosen.reference)
    figures["loss"] = loss
    gradients, norms = _gradients(lowered, network, loss)
    for p in network.parameters:
        if p.name in norms and p.role in WEIGHTS:
            size = count(lowered.parameters[p.name].shape)
            figures[f"norm/{p.name}"] = norms[p.name] * size**-0.5
    figures |= {f"dead/{label}": share for label, share in dead_units(lowered).items()}
    return Measured(lowered, figures, gradients, norms)


def _gradients(
    lowered: Lowered, network: Network, loss: Operand
) -> tuple[dict[str, Operand], dict[str, Operand]]:
    """Return the gradient of every trainable parameter that the loss depends on, and its norm."""
    b = lowered.builder
    names = [p.name for p in network.parameters if p.trainable]
    found = backward(loss, [lowered.parameters[name] for name in names])
    gradients = {name: g for name, g in zip(names, found, strict=True) if g is not None}
    norms = {
        name: b.reduce_l2(g, axes=range(g.rank)) if g.rank else b.abs(g)
        for name, g in gradients.items()
    }
    return gradients, norms


def _moved(found: Measured) -> dict[str, Operand]:
    """Return the parameters after a step of a fixed length along the gradient."""
    b = found.lowered.builder
    squares = b.constant(1e-24, "float32")
    for norm in found.norms.values():
        squares = squares + norm * norm
    step_size = b.constant(STEP_LENGTH, "float32") / b.sqrt(squares)
    w = found.lowered.parameters
    return {PARAMETER_PREFIX + name: w[name] - g * step_size for name, g in found.gradients.items()}


def _sure(lowered: Lowered, network: Network) -> dict[str, Operand]:
    """Return, by output, the share of pilot rows for which the output activation is saturated."""
    b = lowered.builder
    found: dict[str, Operand] = {}
    for output in network.outputs:
        activation = activation_of(lowered.outputs[output.name])
        if activation.kind in ("softmax", "sigmoid"):
            p = activation.output
            top = (
                b.max(p, 1 - p)
                if activation.kind == "sigmoid"
                else b.reduce_max(p, axes=[p.rank - 1])
            )
            sure = b.greater_or_equal(top, b.constant(SURE, "float32"))
            found[f"sure/{output.name}"] = mean_of(b.cast(sure, type="float32"))
    return found
