"""The graph that measures a trained model on some rows: its layers, gradients and outputs."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.graph.elaboration.vertices import LayerVertex, Network
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.layer_figures import compute_saturated_shares
from webnnm.training.probe_step import ProbeStep, build_measurements, build_probe_graph


def build_outcome_step(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    rows: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType],
    targets: Mapping[str, TensorType],
) -> ProbeStep:
    """Return the graph: rows and parameters in, a row of figures and the outputs of the rows out.

    In addition to the figures of `build_measurements`, there is "saturated/…" by layer, except
    output activations.
    """
    measurements = build_measurements(
        network, losses, rows=rows, sequence=sequence, masks=masks, targets=targets
    )
    last_layers = find_output_layers(network)
    shares = compute_saturated_shares(measurements.lowered)
    figures = {f"saturated/{n}": share for n, share in shares.items() if n not in last_layers}
    return build_probe_graph(measurements.figures | figures, dict(measurements.lowered.outputs))


def find_output_layers(network: Network) -> set[str]:
    """Return the labels of the layers that compute the outputs, looking through casts."""
    labels: set[str] = set()
    for output in network.outputs:
        vertex = output.source.vertex
        while isinstance(vertex, LayerVertex):
            labels.add(vertex.label)
            if not vertex.has("copying"):
                break
            vertex = vertex.operands[0].vertex
    return labels
