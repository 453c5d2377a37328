"""The graph that returns the results of layers and the gradients of parameters."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.probe_step import measured

LOSS = "loss"
ACTIVATION, GRADIENT = "activation/", "gradient/"
"""The prefixes of output names, before the names of layers and of parameters."""


def inspection_step(
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
    found = measured(network, losses, rows=rows, sequence=sequence, masks=masks, targets=targets)
    shown = {LOSS: found.figures["loss"]}
    shown |= {ACTIVATION + layer.label: result for layer, (result, *_) in found.lowered.layers}
    shown |= {GRADIENT + name: gradient for name, gradient in found.gradients.items()}
    return found.lowered.builder.build(shown)
