"""Reviews of a model: gathers the facts, asks the rules, keeps what takes long to measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from webnnm.expert.facts import DataFacts, Facts, ScoutingFacts
from webnnm.expert.review import Review, review
from webnnm.facts import data_facts, gather_facts
from webnnm.graph.elaborate import elaborate
from webnnm.graph.vertices import LayerVertex, Network
from webnnm.notation import parse

if TYPE_CHECKING:
    from webnnm.model import NNModel

INDEXED = ("embedding", "gather", "gatherElements", "gatherND")
"""Operators whose operands may be numbers of rows, which float16 cannot count."""


class Reviewer:
    """Reviews one model with one dataset."""

    def __init__(self, model: NNModel) -> None:
        self._model = model
        self._data: DataFacts | None = None

    def facts(
        self,
        given: Mapping[str, Any],
        settings: Mapping[str, Any],
        scouting: ScoutingFacts | None = None,
        network: Network | None = None,
    ) -> Facts:
        """Return all facts; the dataset is measured the first time only."""
        model = self._model
        binding = model.binding() if model.has_dataset else None
        if self._data is None:
            self._data = data_facts(binding)
        return gather_facts(
            network or model.network,
            model.backend,
            binding,
            model.objectives(),
            given=given,
            settings=settings,
            data=self._data,
            scouting=scouting,
            device_type=model.device_type,
            trained=model.trained,
        )

    def review(
        self,
        given: Mapping[str, Any],
        settings: Mapping[str, Any],
        scouting: ScoutingFacts | None = None,
    ) -> Review:
        """Return findings and settled settings of a training.

        Where the inputs become float16, the model is looked at once more with such inputs.
        """
        off = settings.get("silence", ())
        found = review(self.facts(given, settings, scouting), off=off)
        if found.settings.get("compute_type") == "float16":
            half = half_network(self._model.network)
            found = review(self.facts(given, settings, scouting, half), off=off)
        return found


def half_network(network: Network) -> Network:
    """Return the network with float16 inputs, but for those of a written type and for indices."""
    indices = {
        source.vertex
        for layer in network.layers
        if layer.operator.name in INDEXED
        for source in layer.sources()
        if not isinstance(source.vertex, LayerVertex)
    }
    half = [vertex.block for vertex in network.inputs if vertex not in indices]
    return elaborate(parse(network.outline.document.source), half)
