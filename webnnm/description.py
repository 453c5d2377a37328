"""What a model is: its text, its parts, what runs it and what it holds (spec H)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from webnnm.backends.base import Backend, Ledger
from webnnm.errors import DataError
from webnnm.graph.lowering import lower_network
from webnnm.graph.outline import Warning
from webnnm.graph.vertices import Network
from webnnm.markup import html_table
from webnnm.parameters import Parameter, ParameterStore
from webnnm.report import graph_text, layer_rows, parameter_count, summary, view

if TYPE_CHECKING:
    from webnnm.binding import DataBinding
    from webnnm.data.standardize import Standardization
    from webnnm.model import NNModel
    from webnnm.restored import Restored


class Described:
    """The part of a model that tells of it and changes nothing."""

    network: Network
    backend: Backend
    parameters: ParameterStore
    sequence: dict[str, int]
    restored: Restored | None
    _binding: DataBinding | None
    _data_facts: tuple[object, Restored | None] = (None, None)

    @property
    def name(self) -> str:
        """The document's name."""
        return self.network.name

    @property
    def source(self) -> str:
        """The text that the model was made from."""
        return self.network.outline.document.source

    @property
    def warnings(self) -> list[Warning]:
        """The warnings of the notation."""
        return self.network.warnings

    def inputs(self) -> list[str]:
        """Return the names of the inputs."""
        return [vertex.block for vertex in self.network.inputs]

    def outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return [output.name for output in self.network.outputs]

    def params(self) -> list[Parameter]:
        """Return the parameters in elaboration order, with their values."""
        return self.parameters.listed()

    def serialize(self) -> str:
        """Return the text of the model in canonical form."""
        from webnnm.notation.formatter import format_document

        return format_document(self.network.outline.document)

    def summary(self) -> str:
        """Return a table of layers, shapes and parameters."""
        return summary(self.network, self.backend.description)

    def _repr_html_(self) -> str:
        told = f"{parameter_count(self.network)}, running on {self.backend.description}"
        return html_table(layer_rows(self.network), f"{self.name or 'model'}: {told}")

    def __repr__(self) -> str:
        told = parameter_count(self.network)
        return f"<{type(self).__name__} {self.name or 'model'}: {told}>"

    def graph_text(self) -> str:
        """Return the tensor graph for one sample as text, with every cast and transpose in it."""
        graph = lower_network(self.network, sequence=self.sequence).graph()
        return graph_text(graph, of_model=True)

    def report(self) -> str:
        """Return what runs the model, its known faults, and what was rewritten for them."""
        lines = [f"runs on {self.backend.description}"]
        if self.backend.faults:
            lines.append("faults of this implementation, around which graphs are rewritten:")
            lines += [f"- {text}" for text in self.backend.faults]
        lines.append("rewritten so far:")
        lines += [f"- {text}" for text in self.backend.rewrites] or ["- nothing"]
        return "\n".join(lines)

    def view(self, data: Any, limit: int = 11) -> str:
        """Return values as text, at most `limit` of them."""
        return view(data, limit)

    def memory(self) -> Ledger:
        """Return what the model's backend holds: graphs, tensors, bytes, and for what."""
        return self.backend.ledger()

    def binding(self) -> DataBinding:
        """Return how the dataset is bound. Raises `DataError` NNM714 if there is none."""
        if self._binding is None:
            raise DataError(
                "NNM714",
                "the model has no dataset",
                hint="NNModel.create(dataset=…) or set_dataset",
            )
        return self._binding

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset is bound."""
        return self._binding is not None

    def known_data(self) -> Restored:
        """Return what is known of the data: by the dataset, or by the snapshot it is from."""
        from webnnm.restored import known

        about = self._binding or self.restored
        found = self._data_facts[1]
        if found is None or self._data_facts[0] is not about:
            found = known(cast("NNModel", self))
            self._data_facts = about, found
        return found

    def standardizations(self) -> Mapping[str, Standardization]:
        """Return how raw inputs are standardised, by block: as the dataset says, or a snapshot."""
        if self._binding is None:
            return self.restored.inputs if self.restored else {}
        fitted = self._binding.standardization
        bound = {block: binding.field for block, binding in self._binding.inputs.items()}
        return {block: fitted[field] for block, field in bound.items() if field in fitted}
