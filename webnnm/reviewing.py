"""Reviews of a model: gathers the facts, asks the rules, keeps what takes long to measure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from webnnm.binding import DataBinding, bind
from webnnm.expert.facts import DataFacts, Facts, ScoutingFacts
from webnnm.expert.review import Review
from webnnm.expert.review import review as apply_rules
from webnnm.facts import data_facts, gather_facts
from webnnm.graph.elaborate import elaborate
from webnnm.graph.vertices import LayerVertex, Network
from webnnm.notation import parse
from webnnm.notation.syntax import Document
from webnnm.objectives import Objective, objectives
from webnnm.training.hyperparameters import given as written
from webnnm.training.hyperparameters import resolve

if TYPE_CHECKING:
    from webnnm.backends.base import Backend
    from webnnm.data.protocol import AnyDataset

INDEXED = ("embedding", "gather", "gatherElements", "gatherND")
"""Operators whose operands may be numbers of rows, which float16 cannot count."""


class Reviewed(Protocol):
    """What a review looks at: a model, or a text with a dataset (`Draft`)."""

    @property
    def network(self) -> Network:
        """The elaborated document."""
        ...

    @property
    def backend(self) -> Backend | None:
        """What runs it, None where nothing does yet."""
        ...

    @property
    def device_type(self) -> str:
        """The device that was asked for, or ""."""
        ...

    @property
    def trained(self) -> bool:
        """Whether the parameters were trained or taken from elsewhere."""
        ...

    @property
    def batch_size(self) -> int | None:
        """The rows of a batch where a hyperparameter does not say, None for the dataset's."""
        ...

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset is bound."""
        ...

    def binding(self) -> DataBinding:
        """Return how the dataset is bound."""
        ...

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for."""
        ...


class Reviewer:
    """Reviews one model with one dataset."""

    def __init__(self, model: Reviewed) -> None:
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
        found = apply_rules(self.facts(given, settings, scouting), off=off)
        if found.settings.get("compute_type") == "float16":
            half = half_network(self._model.network)
            found = apply_rules(self.facts(given, settings, scouting, half), off=off)
        return found


class Draft:
    """A network and perhaps a dataset that no backend runs: enough for a review."""

    backend = batch_size = None
    device_type = ""
    trained = False

    def __init__(self, network: Network, dataset: AnyDataset | None = None) -> None:
        self.network = network
        self._binding = None if dataset is None else bind(network, dataset)

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset is bound."""
        return self._binding is not None

    def binding(self) -> DataBinding:
        """Return how the dataset is bound."""
        assert self._binding is not None
        return self._binding

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for."""
        return self._objectives

    @cached_property
    def _objectives(self) -> dict[str, Objective]:
        sequence: Mapping[str, int] = {} if self._binding is None else self._binding.sequence
        return objectives(self.network, sequence, self._binding)


def review(
    model: str | Document | Reviewed,
    dataset: AnyDataset | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Review:
    """Return what the expert system finds before a training, without training (spec F).

    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers dropout(0.8), matmul(w);"
    >>> found = review(text, epochs=50, gradient_clipping="global")
    >>> [str(finding).splitlines()[0] for finding in found.findings if finding.id == "E404"]
    ['warning E404 line 1, column 49: dropout1 drops 80%']
    >>> found.settings["gradient_clipping"], found.origins["gradient_clipping"]
    ('global', 'given')

    - `model`: a text, a syntax tree or an `NNModel`. For a text no backend is opened; what depends
      on one (E207, E208, E803) is then not known.
    - `dataset`: in place of the model's; without any, the rules about data stay silent.
    - Hyperparameters as for `NNModel.train`; `silence` names rules that shall not report.

    `print` shows the findings by area, then every setting with its origin; `to_dict` is for JSON.

    Raises `ModelError` for what is wrong with a text, `DataError` NNM701, NNM702 where the dataset
    does not fit, NNM604, NNM706 for a loss that cannot be, NNM703, NNM704 for hyperparameters.
    """
    given = {**(hyperparameters or {}), **keywords}
    settings = resolve(given)
    if isinstance(model, str):
        model = parse(model)
    subject = Draft(elaborate(model), dataset) if isinstance(model, Document) else model
    if subject is model and dataset is not None:
        subject = Draft(subject.network, dataset)
    settings["batch_size"] = settings["batch_size"] or subject.batch_size
    return Reviewer(subject).review(written(given), settings)


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
