"""The model: a network with parameters on a backend (spec H)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

from webnnm.backends.base import Backend
from webnnm.backends.selection import backend as open_backend
from webnnm.binding import bind
from webnnm.creation import create_settings, keywords, model_text
from webnnm.errors import DataError
from webnnm.graph.elaborate import elaborate
from webnnm.graph.vertices import Network
from webnnm.notation import parse
from webnnm.occupancy import Occupancy
from webnnm.parameters import ParameterStore
from webnnm.stored import Stored
from webnnm.training.hyperparameters import given as written
from webnnm.training.hyperparameters import resolve

if TYPE_CHECKING:
    from webnnm.checkpoint import Checkpoint
    from webnnm.compilation import Compilation
    from webnnm.context import InferenceContext
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation import TestResult
    from webnnm.expert.finding import Finding
    from webnnm.expert.profile import Profile
    from webnnm.keywords import CreateSettings, Hyperparameters
    from webnnm.objectives import Objective
    from webnnm.prediction import Predictor
    from webnnm.restored import Restored
    from webnnm.scout import Scouting
    from webnnm.session import Training
    from webnnm.training.forward import OutputLoss

Log = Callable[[str], None]
SETTLED = ("backend", "batch_size", "network", "seed", "sequence")
"""Attributes that nobody sets while the model is trained or tested (NNM712)."""


class NNModel(Stored):
    """A neural network that runs, learns and is tested.

    >>> import asyncio
    >>> from webnnm import IrisDataset, NNModel
    >>> source = '''
    ...     model:input shape=[4]; model:output shape=[3];
    ...     model:layers matmul(w), add(b), softmax();
    ... '''
    >>> async def main():
    ...     iris = await IrisDataset.create()
    ...     model = await NNModel.create(source=source, dataset=iris, log=lambda line: None)
    ...     await model.train(epochs=3)
    ...     return (await model.test()).samples
    >>> asyncio.run(main())
    45

    Made by `NNModel.create`. Use `async with`, or `close`, to free device memory early.

    Attributes: `network` (the elaborated document), `backend`, `parameters` (the store), `seed`,
    `batch_size` (None for the dataset's), `step` (training steps applied so far), `sequence`
    (lengths by sequence name), `trained` (whether the parameters were trained or taken from
    elsewhere). Who trains or tests the model has it for itself until that is awaited: to set what
    a training looks at, or to predict, is refused meanwhile (NNM712).
    """

    def __init__(self, network: Network, backend: Backend, *, seed: int, log: Log) -> None:
        from webnnm.reviewing import Reviewer

        self.occupancy = Occupancy()
        self.network = network
        self.backend = backend
        self.parameters = ParameterStore(network, backend, self.occupancy)
        self.seed = seed
        self.step = 0
        self.sequence: dict[str, int] = {}
        self.log = log
        self.batch_size: int | None = None
        self.trained = False
        self.device_type = ""
        self.optimize_for = "size"
        self.training_network = network
        self.restored: Restored | None = None
        self._binding = None
        self._objectives: dict[str, Objective] | None = None
        self._reviewer = Reviewer(self)
        self._predictor = self._predictions()
        self._checkpoint: tuple[int, Checkpoint | None] = (0, None)
        self.training: Training | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in SETTLED:
            self.occupancy.check()
        super().__setattr__(name, value)

    def _predictions(self) -> Predictor:
        from webnnm.prediction import Predictor

        return Predictor(self.network, self.create_context, self.known_data)

    @classmethod
    async def create(
        cls, config: Mapping[str, Any] | None = None, **settings: Unpack[CreateSettings]
    ) -> Self:
        """Create a model from text, with its parameters initialised.

        - `source`, `url` or `path`: exactly one of them, the text or where it is.
        - `dataset`: a `Dataset`, needed for `train` and `test`.
        - `backend`: "auto" (WebNN where the browser has it, else NumPy), "webnn", "numpy", "jax".
        - `device_type`, `power_preference`: as of `backend()`; `optimize_for="edge"`: for the NPU.
        - `seed`: of initialisation and shuffling.
        - `batch_size`: in place of the dataset's.
        - `sequence_length`: a number, or sequence name → number.
        - `log`: where progress goes; `print` unless set.
        - `strict`: warnings of the notation become errors.

        `config` may hold the same as a dict; camelCase spellings are accepted.

        Raises `ModelError` for what is wrong with the text, `DataError` NNM703, NNM715 for the
        settings, NNM701, NNM702 where the dataset does not fit, `BackendError` NNM709.
        """
        hint = "NNModel.create(source=text), or url= or path= for where it is"
        model = await cls._opened(keywords(config, settings, "NNModel.create", hint))
        try:
            await model.parameters.initialise(model.seed)
            model._introduce()
        except BaseException:
            model.close()
            raise
        return model

    @classmethod
    async def _opened(cls, settings: Mapping[str, Any]) -> Self:
        """Return a model as `create` does, but without values of its parameters."""
        given = create_settings(settings)
        log: Log = given.get("log") or print
        text = await model_text(given)
        network = elaborate(parse(text))
        for warning in network.warnings:
            if given.get("strict"):
                raise network.outline.error(warning.code, warning.message, warning.span)
            log(f"warning {warning}")
        chosen = await open_backend(
            given.get("backend") or "auto",
            device=given.get("device_type"),
            power_preference=given.get("power_preference"),
            log=log,
        )
        try:
            model = cls(network, chosen, seed=given.get("seed") or 0, log=log)
            model.batch_size = given.get("batch_size")
            model.device_type = given.get("device_type") or ""
            model.optimize_for = given.get("optimize_for") or "size"
            model._set_sequence_length(given.get("sequence_length"))
            if given.get("dataset") is not None:
                model.set_dataset(given["dataset"])
        except BaseException:
            chosen.close()
            raise
        return model

    def _introduce(self) -> None:
        """Tell in the log what the model is, and what strikes in its structure."""
        self.log(
            f"{self.name or 'model'}: {self.parameters.count:,} parameters, "
            f"{len(self.network.layers)} layers, on {self.backend.description}"
        )
        self._reviewer.structure(self.log)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free everything that the model holds on the device."""
        self.parameters.tensors = {}
        self.backend.close()

    # Inference.

    async def create_context(
        self, batch_size: int = 1, sequence_length: int | Mapping[str, int] | None = None
    ) -> InferenceContext:
        """Return a context for inference with a batch of this size."""
        from webnnm.context import InferenceContext

        context = InferenceContext(
            self.network,
            self.backend,
            self.parameters,
            self.standardizations,
            batch_size=batch_size,
            sequence=self.sequence,
            seed=self.seed,
        )
        if sequence_length is not None:
            context.set_sequence_length(sequence_length)
        return context

    async def compile(
        self, batch_size: int = 1, sequence_length: int | Mapping[str, int] | None = None
    ) -> Compilation:
        """Build the graph for predictions of so many rows, parameters as constants; tell its times.

        `predict` uses it for as many rows, about twice as fast, until parameters change.
        """
        context = await self.create_context(batch_size, sequence_length)
        found = await context.compile()
        self._predictor.keep(context)
        self.log(str(found))
        return found

    async def run(self, context: InferenceContext) -> InferenceContext:
        """Compute the outputs of a context with the present parameters, and return it."""
        await context.run()
        return context

    async def predict(self, data: Any, batch_size: int | None = None, *, raw: bool = False) -> Any:
        """Return what the model says of rows, given as its dataset was given its own.

        >>> (await model.predict([[5.1, 3.5, 1.4, 0.2]])).classes  # doctest: +SKIP
        ['setosa']

        `data` are rows in the form and units of the dataset, one row, or block → rows. Classes come
        as a `Prediction`, measurements as an array in the units of the data (docs/predictions.md).
        `raw` data and results are the network's own numbers, `[rows, features…]`. Raises
        `DataError` NNM702, NNM706, NNM710, NNM711, NNM713 for data that do not fit.
        """
        return await self._predictor.predict(data, batch_size or self.batch_size, raw=raw)

    def export_stablehlo(
        self,
        graph: str = "inference",
        batch: int | None = None,
        sequence: int | Mapping[str, int | None] | None = None,
        *,
        constants: bool = False,
        chlo: bool = True,
        while_: bool = False,
        **hyperparameters: Any,
    ) -> str:
        """Return the model as a StableHLO module, for XLA and others (docs/stablehlo.md).

        `graph` is "inference", "loss" or "train" (with hyperparameters as for `train`); sizes that
        are None stay open. `constants` embeds the parameters; without `chlo` erf is a polynomial;
        with `while_` recurrent layers are loops.

        Raises `ModelError` NNM901, NNM902, NNM903, `DataError` NNM703, NNM704, NNM711.
        """
        from webnnm.exporting import stablehlo

        return stablehlo(self, graph, batch, sequence, constants, chlo, while_, hyperparameters)

    # Training and testing.

    def set_dataset(self, dataset: AnyDataset, mapping: Mapping[str, str] | None = None) -> None:
        """Bind a dataset, by `mapping` field → block, by name, or the only field to the only block.

        Raises `DataError` NNM701 where a block has no field, NNM702 where sizes differ, NNM712
        while the model is trained or tested.
        """
        self.occupancy.check()
        self._binding = bind(self.network, dataset, mapping)
        self.sequence = {**self.sequence, **self._binding.sequence}
        self._objectives = None
        self._reviewer.forget()

    def train(
        self,
        hyperparameters: Mapping[str, Any] | None = None,
        *,
        resume: bool = False,
        autosave: str | os.PathLike[str] | None = None,
        autosave_seconds: float = 30.0,
        on_autosave: Callable[[Exception | None], object] | None = None,
        **more: Unpack[Hyperparameters],
    ) -> Training:
        """Start a training; await the result for its `History`.

        Hyperparameters are those of the specification's table E.1 in snake_case or camelCase:
        `epochs`, `batch_size`, `optimizer`, `lr`, `weight_decay`, `schedule`, `patience`, …

        `resume` goes on with the training that was stopped or loaded, from where it stood, with
        the hyperparameters that it had; `epochs`, `patience` and callbacks may be others.
        `autosave` is where `save` writes the training: after two seconds, every `autosave_seconds`,
        when its page is left, and at its end; a failure is a warning in log and history, and
        `on_autosave` hears of it, or None.

        Raises `DataError` NNM703 for an unknown name, NNM704 for a value out of range, NNM712
        while the model is trained or tested, NNM714 without a dataset, NNM808 where there is
        nothing to resume or it would be another training; when awaited also NNM605, NNM606, NNM708,
        and `ContextLost`.
        """
        from webnnm.session import Training

        given = self._written(hyperparameters, more, "train")
        self.occupancy.check()
        begun: Checkpoint | None = None
        self.binding()
        if not resume:
            settings = self._settings(given)
        else:
            begun = self.checkpoint
            if begun is None:
                hint = "load a snapshot that was saved with optimizer=True"
                raise DataError("NNM808", "there is no training to resume", hint=hint)
            given = settings = begun.continued(given)
        saved = (autosave, autosave_seconds, on_autosave) if autosave else None
        self.training = Training(self, given, dict(settings), begun, saved)
        return self.training

    def review(
        self,
        hyperparameters: Mapping[str, Any] | None = None,
        **more: Unpack[Hyperparameters],
    ) -> list[Finding]:
        """Return what the expert system finds in model, data and hyperparameters (spec F).

        Without a dataset the rules about data stay silent; `webnnm.review(model)` tells the
        settings, too. `silence` names rules that shall not report. Raises `DataError` NNM703,
        NNM704 for hyperparameters.
        """
        given = self._written(hyperparameters, more, "review")
        return list(self.reviewed(given, self._settings(given)).findings)

    def profile(self) -> Profile:
        """Return the model in numbers: depth, width, heavy operators and more (spec F.1)."""
        return self._reviewer.facts({}, resolve({})).profile

    async def scout(self, seeds: int = 100, seed: int | None = None) -> Scouting:
        """Try so many starts, leave the parameters at the best, and return the table (spec E.4)."""
        from webnnm.scout import scout

        self.binding()
        with self.occupancy.by("scouting", changes=True):
            found = await scout(self, self.losses(), seeds, self.seed if seed is None else seed)
        self.log(str(found))
        return found

    def _written(
        self, config: Mapping[str, Any] | None, more: Mapping[str, Any], method: str
    ) -> dict[str, Any]:
        """Return hyperparameters as they were given to a method, in canonical form."""
        hint = f"name them, as in model.{method}(epochs=20)"
        return written(keywords(config, more, f"NNModel.{method}", hint))

    def _settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all hyperparameters, with what the model says where they are not given."""
        settings = resolve({"optimize_for": self.optimize_for} | written(given))
        own = {"batch_size": self.batch_size, "seed": self.seed}
        return settings | {name: value for name, value in own.items() if settings[name] is None}

    async def test(self, subset: str = "testing") -> TestResult:
        """Evaluate the model on a subset: losses, and per output accuracy, confusion and more.

        Raises `DataError` NNM705 for an empty or unknown subset, NNM712 while it is trained.
        """
        from webnnm.testing import tested

        self.binding()
        with self.occupancy.by("a test"):
            return await tested(self, subset)

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for.

        Raises `DataError` or `ModelError` NNM604, NNM706 for a loss that is impossible.
        """
        if self._objectives is None:
            from webnnm.objectives import objectives

            self._objectives = objectives(self.network, self.sequence, self._binding)
        return self._objectives

    def losses(self) -> dict[str, OutputLoss]:
        """Return the loss of every output: as written, else by head and labels (spec D.4)."""
        return {name: objective.loss() for name, objective in self.objectives().items()}

    def reviewed(self, given: Mapping[str, Any], settings: Mapping[str, Any], **more: Any) -> Any:
        """Return the review of a training with these settings; see `Reviewer.review`."""
        return self._reviewer.review(given, settings, **more)

    def _set_sequence_length(self, length: int | Mapping[str, int] | None) -> None:
        if isinstance(length, Mapping):
            self.sequence = {**self.sequence, **length}
        elif length is not None:
            names = [vertex.features[0].sequence for vertex in self.network.inputs]
            known = {name: length for name in names if name is not None}
            self.sequence = {**self.sequence, **known}

    createContext = create_context
    setDatasetToModel = set_dataset
