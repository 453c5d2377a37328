"""The graph that returns the results of layers and the gradients of parameters."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.probe_step import build_measurements

LOSS = "loss"
ACTIVATION, GRADIENT = "activation/", "gradient/"
"""The prefixes of output names, before the names of layers and of parameters."""


def build_inspection_step(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    rows: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType],
    targets: Mapping[str, TensorType],
) -> Graph:
    """Return the graph: rows and parameters in, the loss, activations and gradients out.

    Dropout is off. For layers with several results, the first one is returned.
    """
    measurements = build_measurements(
        network, losses, rows=rows, sequence=sequence, masks=masks, targets=targets
    )
    outputs = {LOSS: measurements.figures["loss"]}
    outputs |= {
        ACTIVATION + layer.label: result for layer, (result, *_) in measurements.lowered.layers
    }
    outputs |= {GRADIENT + name: gradient for name, gradient in measurements.gradients.items()}
    return measurements.lowered.builder.build(outputs)
