"""What makes a graph faster without changing what it computes: functions from graphs to graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.compiler.passes.bias import with_biases
from webnnm.compiler.passes.choices import stretched_choices
from webnnm.compiler.passes.folding import folded
from webnnm.compiler.passes.layout import channels_last
from webnnm.compiler.passes.simplify import simplified
from webnnm.compiler.passes.stretched import unstretched
from webnnm.graph.node import Graph


def optimised(graph: Graph, limits: Mapping[str, Any]) -> Graph:
    """Return a graph that computes the same on a backend of these limits, in less time.

    `limits` is WebNN's `opSupportLimits()`; it tells which layout of images the backend prefers.
    """
    graph = with_biases(unstretched(graph))
    if limits.get("preferredInputLayout") == "nhwc":
        graph = channels_last(graph)
    return stretched_choices(simplified(folded(graph)))
