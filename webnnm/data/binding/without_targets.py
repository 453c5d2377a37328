"""The part of a network that is trained if a dataset has no targets for some outputs."""

from __future__ import annotations

from typing import Any

from webnnm.core.errors import DataError
from webnnm.graph.elaboration.part import part
from webnnm.graph.elaboration.vertices import Network


def drop_untrained_outputs(network: Network, dataset: Any) -> Network:
    """Return a network with the outputs that a dataset has targets for, and what they depend on.

    Raises `DataError` NNM701 if no output is left.
    """
    untrained = dataset.without_targets
    outputs = [output for output in network.outputs if output.name not in untrained]
    if not outputs:
        names = ", ".join(f'"{name}"' for name in untrained)
        raise DataError(
            "NNM701",
            f"{dataset.name} has no targets for {names}, and the model has no other output",
            hint="remove the outputs to be trained from without_targets",
        )
    return part(network, outputs)
