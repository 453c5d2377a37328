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
from webnnm.training.forward import OutputLoss, compute_losses, row_mask
from webnnm.training.layer_figures import compute_dead_shares, reduce_to_mean
from webnnm.training.output_activation import find_activation
from webnnm.training.step_settings import MASK, TARGET

FIGURES = "figures"
ROW = "row of figures"
STEP_LENGTH = 0.1
"""The length of a trial step along g/‖g‖."""
CERTAIN = 0.95
"""An output whose top probability is this high no longer learns from a row."""


@dataclass(frozen=True)
class ProbeStep:
    """The graph of a trial step: parameters in, parameters and a row of `figures` out.

    `names` are the elements of the figures: "loss", "loss/…" by output, "norm/…" by weight,
    "dead/…" by layer, "sure/…" by output.
    """

    graph: Graph
    names: tuple[str, ...]

    def repeat(self, steps: int) -> Scan:
        """Return this many steps in sequence, with the figures of each in a table."""
        b = GraphBuilder()
        rows = b.input(ROW, "float32", [steps, len(self.names)])
        after = b.build({FIGURES: b.identity(rows)})
        return Scan(GraphBuilder().build({}), self.graph, after, steps)


def build_probe_step(
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
    measurements = build_measurements(
        network, losses, rows=rows, sequence=sequence, masks=masks, targets=targets
    )
    figures = measurements.figures | _compute_certain_shares(measurements.lowered, network)
    return build_probe_graph(figures, _step_along_gradient(measurements))


def build_probe_graph(figures: Mapping[str, Operand], outputs: dict[str, Operand]) -> ProbeStep:
    """Return the graph of these outputs and a row of figures."""
    (b,) = {figure.builder for figure in figures.values()}
    parts = [b.reshape(value, new_shape=[1, 1]) for value in figures.values()]
    outputs[ROW] = b.concat(parts, 1)
    return ProbeStep(b.build(outputs), tuple(figures))


@dataclass(frozen=True)
class Measurements:
    """A model on some rows: its figures (scalars), the gradients of parameters and their norms."""

    lowered: Lowered
    figures: dict[str, Operand]
    gradients: dict[str, Operand]
    norms: dict[str, Operand]


def build_measurements(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    rows: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType],
    targets: Mapping[str, TensorType],
) -> Measurements:
    """Return the losses, gradients and dead units of a model on some rows, without dropout."""
    b = GraphBuilder()
    mask_inputs = {name: b.input(MASK + name, *type) for name, type in masks.items()}
    lowered = lower_network(network, batch=rows, sequence=sequence, builder=b, masks=mask_inputs)
    target_inputs = {name: b.input(TARGET + name, *type) for name, type in targets.items()}
    valid = b.constant(float(rows), "float32")
    output_losses = compute_losses(
        lowered, losses, target_inputs, row_mask(b, valid, rows), valid, mask_inputs
    )
    figures: dict[str, Operand] = {}
    loss = b.constant(0, "float32")
    for name, output_loss in losses.items():
        mean = output_losses.mean(name)
        figures[f"loss/{name}"] = mean
        loss = loss + mean * (1 / output_loss.reference)
    figures["loss"] = loss
    gradients, norms = _compute_gradients(lowered, network, loss)
    for p in network.parameters:
        if p.name in norms and p.role in WEIGHTS:
            size = count(lowered.parameters[p.name].shape)
            figures[f"norm/{p.name}"] = norms[p.name] * size**-0.5
    figures |= {f"dead/{label}": share for label, share in compute_dead_shares(lowered).items()}
    return Measurements(lowered, figures, gradients, norms)


def _compute_gradients(
    lowered: Lowered, network: Network, loss: Operand
) -> tuple[dict[str, Operand], dict[str, Operand]]:
    """Return the gradient of every trainable parameter that the loss depends on, and its norm."""
    b = lowered.builder
    names = [p.name for p in network.parameters if p.trainable]
    results = backward(loss, [lowered.parameters[name] for name in names])
    gradients = {name: g for name, g in zip(names, results, strict=True) if g is not None}
    norms = {
        name: b.reduce_l2(g, axes=range(g.rank)) if g.rank else b.abs(g)
        for name, g in gradients.items()
    }
    return gradients, norms


def _step_along_gradient(measurements: Measurements) -> dict[str, Operand]:
    """Return the parameters after a step of a fixed length along the gradient."""
    b = measurements.lowered.builder
    squares = b.constant(1e-24, "float32")
    for norm in measurements.norms.values():
        squares = squares + norm * norm
    step_size = b.constant(STEP_LENGTH, "float32") / b.sqrt(squares)
    w = measurements.lowered.parameters
    return {
        PARAMETER_PREFIX + name: w[name] - g * step_size
        for name, g in measurements.gradients.items()
    }


def _compute_certain_shares(lowered: Lowered, network: Network) -> dict[str, Operand]:
    """Return, by output, the share of pilot rows for which the output activation is saturated."""
    b = lowered.builder
    shares: dict[str, Operand] = {}
    for output in network.outputs:
        activation = find_activation(lowered.outputs[output.name])
        if activation.kind in ("softmax", "sigmoid"):
            p = activation.output
            top = (
                b.max(p, 1 - p)
                if activation.kind == "sigmoid"
                else b.reduce_max(p, axes=[p.rank - 1])
            )
            is_certain = b.greater_or_equal(top, b.constant(CERTAIN, "float32"))
            shares[f"sure/{output.name}"] = reduce_to_mean(b.cast(is_certain, type="float32"))
    return shares
