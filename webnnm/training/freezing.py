"""Learning-rate multipliers: from the text, or from `freeze` (spec B.7)."""

from __future__ import annotations

import math

from webnnm.graph.elaboration.annotate import parameter_depths
from webnnm.graph.elaboration.vertices import Network

BUCKETS = (0.0, 0.1, 0.5, 0.9, 1.0)
"""The multipliers that `freeze` assigns, so that few constants are compiled in."""


def bucket(path_ratio: float, freeze: float) -> float:
    """Return the bucket nearest to sin(½π·max(0, r − f)/(1 − f)).

    Parameters closer to the input than f are frozen. (The sine of a negative angle would rise
    again below −π, and train the first layers of a model that is almost frozen.)

    >>> [bucket(r, 0.2) for r in (0.143, 0.286, 0.571, 0.714)]
    [0.0, 0.1, 0.5, 0.9]
    """
    if freeze == 0:
        return 1.0
    if freeze == 1:
        return 0.0
    ideal = math.sin(math.pi / 2 * max(0.0, path_ratio - freeze) / (1 - freeze))
    return nearest_bucket(ideal)


def nearest_bucket(ideal: float) -> float:
    """Return the bucket nearest to a number, the lower one of two.

    >>> nearest_bucket(0.05)
    0.0
    """
    return min(BUCKETS, key=lambda candidate: (abs(candidate - ideal), candidate))


def compute_multipliers(network: Network, freeze: float = 0.0) -> dict[str, float]:
    """Return the multiplier of every trainable parameter: `lrm` if written, else its bucket.

    A parameter with multiplier 0 is frozen: it gets neither gradient nor optimizer state.
    """
    depths = parameter_depths(network)
    return {
        p.name: p.lrm
        if p.lrm is not None
        else bucket(depths[p.name].path_ratio if p.name in depths else 1.0, freeze)
        for p in network.parameters
        if p.trainable
    }
