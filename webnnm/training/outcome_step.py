"""The graph that measures a trained model on some rows: its layers, gradients and outputs."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.graph.elaboration.vertices import LayerVertex, Network
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.layer_figures import saturated_units
from webnnm.training.probe_step import ProbeStep, measured, probe_graph


def outcome_step(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    rows: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType],
    targets: Mapping[str, TensorType],
) -> ProbeStep:
    """Return the graph: rows and parameters in, a row of figures and the outputs of the rows out.

    In addition to the figures of `measured`, there is "saturated/…" by layer, except output
    activations.
    """
    found = measured(network, losses, rows=rows, sequence=sequence, masks=masks, targets=targets)
    ends = output_layers(network)
    saturated = saturated_units(found.lowered)
    figures = {f"saturated/{n}": share for n, share in saturated.items() if n not in ends}
    return probe_graph(found.figures | figures, dict(found.lowered.outputs))


def output_layers(network: Network) -> set[str]:
    """Return the labels of the layers that compute the outputs, looking through casts."""
    found: set[str] = set()
    for output in network.outputs:
        vertex = output.source.vertex
        while isinstance(vertex, LayerVertex):
            found.add(vertex.label)
            if not vertex.has("copying"):
                break
            vertex = vertex.operands[0].vertex
    return found
