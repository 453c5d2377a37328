"""The state of a model: its network, its parameters on a backend, and how its data are bound."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from webnnm.backends.base import Backend
from webnnm.core.errors import DataError
from webnnm.data.binding.binding import DataBinding, bind, with_targets
from webnnm.data.preparation.standardize import Standardization
from webnnm.data.protocol import AnyDataset
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.occupancy import Occupancy
from webnnm.runtime.parameters import ParameterStore
from webnnm.runtime.restored import Restored, collect_facts
from webnnm.runtime.testing.objectives import Objective, objectives
from webnnm.training.forward import OutputLoss

if TYPE_CHECKING:
    from webnnm.data.series.intervals import Intervals

ReviewTime = bool | Literal["after"]
"""Whether a training is reviewed before it begins (True), after it has ended, or not at all."""

LOCKED_ATTRIBUTES = frozenset({"backend", "batch_size", "network", "seed", "sequence"})
"""Attributes that cannot be set while the model is trained or tested (NNM712)."""


@dataclass(kw_only=True)
class ModelState:
    """The part of a model that everything below `NNModel` works with.

    Attributes: `network`, the elaborated document; `backend` and the `parameters` on it; `seed`, of
    initialisation and shuffling; `batch_size`, None for the dataset's; `device`, the requested
    device, or "", and `preferences`, what else was asked of the browser; `optimize_for`, the aim of
    a training unless a hyperparameter sets another; `review`, whether and when the expert system
    looks at the model and its trainings; `sequence`, lengths by sequence name; `step`, training
    steps applied so far; `trained`, whether the parameters were trained or taken from elsewhere;
    `restored`, what is known about the data without a dataset: from a snapshot, and what a training
    measured; `occupancy`, who has the model at the moment;
    `closed`, whether its owner closed it.
    """

    network: Network
    backend: Backend
    log: Callable[[str], None]
    parameters: ParameterStore
    seed: int = 0
    batch_size: int | None = None
    device: str = ""
    preferences: Mapping[str, Any] = field(default_factory=dict[str, Any])
    optimize_for: str = "size"
    review: ReviewTime = True
    sequence: dict[str, int] = field(default_factory=dict[str, int])
    step: int = 0
    closed: bool = False
    trained: bool = False
    restored: Restored | None = None
    _binding: DataBinding | None = None
    _objectives: dict[str, Objective] | None = field(init=False, default=None)
    _facts: Restored | None = field(init=False, default=None)
    _checkpoint: tuple[int, Checkpoint | None] = field(init=False, default=(0, None))
    occupancy: Occupancy

    def __setattr__(self, name: str, value: Any) -> None:
        if name in LOCKED_ATTRIBUTES and hasattr(self, "occupancy"):
            self.occupancy.check()
        super().__setattr__(name, value)
        if name in ("restored", "sequence", "_binding"):
            self._facts = self._objectives = None

    def bind(self, dataset: AnyDataset, mapping: Mapping[str, str] | None = None) -> None:
        """Bind a dataset to the inputs and outputs of the network, see `NNModel.set_dataset`."""
        self.occupancy.check()
        binding = bind(self.network, dataset, mapping)
        if self.trained and (self._binding or self.restored):
            from webnnm.runtime.rebinding import check_meaning

            check_meaning(self.data_facts(), binding, self.log)
        self._binding = binding
        self.sequence = {**self.sequence, **self._binding.sequence}

    @contextmanager
    def replace_dataset(self, dataset: AnyDataset) -> Generator[None]:
        """Replace the model's dataset for a while with one of the same fields."""
        before = self.binding()
        self._binding = replace(before, dataset=dataset)
        try:
            yield
        finally:
            self._binding = before

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset is bound."""
        return self._binding is not None

    def binding(self) -> DataBinding:
        """Return how the dataset is bound. Raises `DataError` NNM714 if there is none."""
        if self._binding is None:
            raise DataError(
                "NNM714",
                "the model has no dataset",
                hint="use NNModel.create(dataset=…) or set_dataset",
            )
        return self._binding

    @property
    def trained_network(self) -> Network:
        """The network with only the outputs that the dataset has targets for."""
        bound = self._binding
        return self.network if bound is None else with_targets(self.network, bound.dataset)

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for.

        Raises `DataError` or `ModelError` NNM604, NNM706 for a loss that is impossible.
        """
        if self._objectives is None:
            self._objectives = objectives(self.trained_network, self.sequence, self._binding)
        return self._objectives

    def losses(self) -> dict[str, OutputLoss]:
        """Return the loss of every output: as written, else by activation and labels (spec D.4)."""
        return {name: objective.loss() for name, objective in self.objectives().items()}

    def data_facts(self) -> Restored:
        """Return what is known about the data: from the dataset, or from the model's snapshot."""
        if self._facts is None:
            bound, restored = self._binding, self.restored or Restored()
            self._facts = (
                restored
                if bound is None
                else replace(collect_facts(bound), intervals=restored.intervals)
            )
        return self._facts

    def keep_intervals(self, intervals: Mapping[str, Intervals]) -> None:
        """Keep the margins of quantiles by output; those of earlier parameters are forgotten."""
        self.restored = replace(self.restored or Restored(), intervals=intervals)

    def forget_intervals(self) -> None:
        """Forget the margins of quantiles, which do not fit other parameters."""
        if self.restored is not None and self.restored.intervals:
            self.keep_intervals({})

    def standardizations(self) -> Mapping[str, Standardization]:
        """Return how raw inputs are standardised, by block, from the dataset or a snapshot."""
        return self.data_facts().inputs

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The state of the last training, until parameters are changed otherwise; else None."""
        version, checkpoint = self._checkpoint
        return checkpoint if version == self.parameters.version else None

    def keep(self, checkpoint: Checkpoint | None) -> None:
        """Keep the state of a training as the one to resume from."""
        self._checkpoint = (self.parameters.version, checkpoint)


class HasState(Protocol):
    """A model, for functions that work on its state."""

    @property
    def state(self) -> ModelState:
        """The state of the model."""
        ...
