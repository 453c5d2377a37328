"""The model: a network with parameters on a backend (spec H)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from webnnm.backends.base import Backend, Ledger
from webnnm.backends.selection import backend as open_backend
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, ModelError
from webnnm.core.keywords import keywords
from webnnm.expert.reviewer import Reviewer
from webnnm.graph.elaborate import elaborate
from webnnm.graph.lowering import lower_network
from webnnm.graph.outline import Warning
from webnnm.graph.vertices import Network
from webnnm.model.creation import create_settings, model_text
from webnnm.model.report import graph_text, layer_rows, parameter_count, summary, view
from webnnm.notation import parse
from webnnm.runtime.occupancy import Occupancy
from webnnm.runtime.parameters import Parameter, ParameterStore
from webnnm.runtime.state import ModelState
from webnnm.training.hyperparameters import given as written
from webnnm.training.hyperparameters import resolve

if TYPE_CHECKING:
    from webnnm.core.finding import Finding
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation import TestResult
    from webnnm.expert.profile import Profile
    from webnnm.formats.name_map import Names
    from webnnm.model.keywords import CreateSettings, Hyperparameters
    from webnnm.runtime.checkpoint import Checkpoint
    from webnnm.runtime.compilation import Compilation
    from webnnm.runtime.context import InferenceContext
    from webnnm.runtime.prediction import Predictor
    from webnnm.trainer.scout import Scouting
    from webnnm.trainer.training import Training

Log = Callable[[str], None]


class NNModel:
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

    `state` is what there is of it, and what the parts below this class take. Who trains or tests
    the model has it for itself until that is awaited: to set what a training looks at, or to
    predict, is refused meanwhile (NNM712).
    """

    def __init__(self, network: Network, backend: Backend, *, seed: int, log: Log) -> None:
        occupancy = Occupancy()
        self.state = ModelState(
            network=network,
            backend=backend,
            parameters=ParameterStore(network, backend, occupancy),
            log=log,
            seed=seed,
            occupancy=occupancy,
        )
        self._reviewer = Reviewer(self.state)
        self._predictor = self._predictions()
        self._training: Training | None = None

    def _predictions(self) -> Predictor:
        from webnnm.runtime.prediction import Predictor

        return Predictor(self.network, self.create_context, self.state.known_data)

    @classmethod
    async def create(
        cls, config: Mapping[str, Any] | None = None, **settings: Unpack[CreateSettings]
    ) -> Self:
        """Create a model from text, with its parameters initialised.

        - `source`, `url` or `path`: exactly one of them, the text or where it is.
        - `dataset`: a `Dataset`, needed for `train` and `test`.
        - `backend`: "auto" (WebNN where the browser has it, else NumPy), "webnn", "numpy", "jax";
          or a `Backend`, which several models may share, and which its caller closes.
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
        chosen = await _backend(given, log)
        try:
            model = cls(network, chosen, seed=given.get("seed") or 0, log=log)
            model.state.batch_size = given.get("batch_size")
            model.state.device_type = given.get("device_type") or ""
            model.state.optimize_for = given.get("optimize_for") or "size"
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

    # What it is.

    @property
    def network(self) -> Network:
        """The elaborated document."""
        return self.state.network

    @property
    def backend(self) -> Backend:
        """What runs the model: opened by it, or the one that was given to it."""
        return self.given_backend or self.state.backend

    @property
    def given_backend(self) -> Backend | None:
        """The backend that was given to `create`, None if the model opened its own."""
        return getattr(self.state.backend, "given", None)

    @property
    def parameters(self) -> ParameterStore:
        """The parameters, on the backend."""
        return self.state.parameters

    @property
    def sequence(self) -> dict[str, int]:
        """Lengths by sequence name."""
        return self.state.sequence

    @sequence.setter
    def sequence(self, lengths: dict[str, int]) -> None:
        self.state.sequence = lengths

    @property
    def trained(self) -> bool:
        """Whether the parameters were trained or taken from elsewhere."""
        return self.state.trained

    @property
    def step(self) -> int:
        """The training steps applied so far."""
        return self.state.step

    @step.setter
    def step(self, step: int) -> None:
        self.state.step = step

    @property
    def seed(self) -> int:
        """The seed of initialisation and shuffling."""
        return self.state.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self.state.seed = seed

    @property
    def batch_size(self) -> int | None:
        """The rows of a batch where a hyperparameter does not say, None for the dataset's."""
        return self.state.batch_size

    @batch_size.setter
    def batch_size(self, rows: int | None) -> None:
        self.state.batch_size = rows

    @property
    def log(self) -> Log:
        """Where progress goes."""
        return self.state.log

    @log.setter
    def log(self, log: Log) -> None:
        self.state.log = log

    @property
    def training(self) -> Training | None:
        """The training under way."""
        training = self._training
        return training if training is not None and training.going else None

    @property
    def checkpoint(self) -> Checkpoint | None:
        """Where the last training stands, until parameters are changed otherwise; else None."""
        return self.state.checkpoint

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
        from webnnm.core.markup import html_table

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
        """Return what the model holds on its backend: graphs, tensors, bytes, and for what."""
        return self.state.backend.ledger()

    # Kept and taken.

    def take_parameters(
        self,
        other: NNModel | Mapping[str, Any],
        names: Iterable[str] | None = None,
        mapping: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Take parameters from another model, or name → array; return the names of those taken.

        Taken is what has the name and the shape of a parameter here; or `names`, and `mapping`,
        name there → name here. `train` then tries no other starts unless `seeds` asks for them.
        `docs/transfer-learning.md` has an example.

        Raises `DataError` NNM710 for unknown names and where nothing fits, NNM702 for other
        shapes; then nothing is taken. NNM712 while either model is being trained.
        """
        if isinstance(other, NNModel):
            other.state.occupancy.check()
            other = other.parameters.values()
        return self._took(self.parameters.take(other, names, mapping))

    async def save(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        optimizer: bool = True,
        dtype: DataType | None = None,
    ) -> Any:
        """Write text, parameters and standardisation as one safetensors file (spec I).

        Returns the path, or without one bytes. An older file is replaced as a whole. With
        `optimizer` the file also holds where the training stands, the present one or the last, so
        that `train(resume=True)` goes on there. `dtype="float16"` stores float32 parameters in
        half of the bytes, for inference alone. Raises `DataError` NNM704 for another type, NNM807
        where writing fails.
        """
        from webnnm.snapshots.snapshot import snapshot
        from webnnm.snapshots.storage import store

        running = self.training
        with nullcontext() if running else self.state.occupancy.by("a save"):
            standing = await running.checkpoint() if running else self.checkpoint
            return await store(path, snapshot(self.state, dtype, standing, training=optimizer))

    @classmethod
    async def load(cls, snapshot: Any = None, /, **settings: Unpack[CreateSettings]) -> Self:
        """Create a model from a snapshot: bytes, a path, or "browser:" and a name.

        `settings` are those of `create`. A snapshot of a training can be resumed.

        Raises `DataError` NNM801 … NNM806 for a file that is damaged or no snapshot, NNM703 for
        wrong settings, NNM715.
        """
        from webnnm.snapshots.snapshot import MODEL, opened, restore, verified

        if snapshot is None:  # by the name that a text has in `create`
            snapshot = settings.pop("source", None)
        for name in ("source", "url", "path"):
            if name in settings:
                raise DataError(
                    "NNM703",
                    f'NNModel.load takes no "{name}": the snapshot has the text of its model',
                    hint="NNModel.create(source=…), then load_params, for other texts",
                )
        file = verified(await opened(snapshot))
        try:
            model = await cls._opened({"source": file.metadata[MODEL], **settings})
        except ModelError as error:
            raise DataError("NNM802", f"the snapshot's model is invalid: {error}") from error
        try:
            await restore(model.state, file)
            model._introduce()
        except BaseException:
            model.close()
            raise
        return model

    async def load_params(
        self, source: Any, *, strict: bool = True, names: Names | None = None
    ) -> list[str]:
        """Take parameters from any safetensors file; return their names.

        `names` says what they are called there, and how they lie (`docs/foreign-weights.md`).
        Unless `strict`, what has name and shape is taken. Raises `DataError` NNM801 … NNM803 for
        a damaged file, NNM805, NNM806, NNM710 where parameters do not fit; nothing is taken then.
        """
        from webnnm.snapshots.snapshot import load_parameters

        with self.state.occupancy.by("a load of parameters", changes=True):
            return self._took(await load_parameters(self.state, source, strict=strict, names=names))

    async def reopen(self) -> None:
        """Open the backend anew, after its device was lost, with the parameters that are known.

        Those are the ones of the last training or checkpoint: `step` tells which, and
        `train(resume=True)` goes on there. Contexts for inference have to be made again.

        Raises `DataError` NNM712 while the model is trained or tested, NNM704 for a model that was
        given its backend, `BackendError` NNM709.
        """
        from webnnm.model.reopening import reopen

        await reopen(self.state)
        self._predictor = self._predictions()

    def _took(self, taken: Collection[str]) -> list[str]:
        self.state.trained = True
        left = ", ".join(name for name in self.parameters.types if name not in taken)
        self.log(f"took {len(taken)} parameters" + (f", not {left}" if left else ""))
        return list(taken)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free everything that the model holds on the device.

        A backend that was given to `create` stays open: who opened it closes it.
        """
        self.parameters.tensors = {}
        self.state.backend.close()

    # Inference.

    async def create_context(
        self, batch_size: int = 1, sequence_length: int | Mapping[str, int] | None = None
    ) -> InferenceContext:
        """Return a context for inference with a batch of this size."""
        from webnnm.runtime.context import InferenceContext

        context = InferenceContext(
            self.network,
            self.state.backend,
            self.parameters,
            self.state.standardizations,
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
        from webnnm.model.exporting import stablehlo

        return stablehlo(
            self.state, graph, batch, sequence, constants, chlo, while_, hyperparameters
        )

    # Training and testing.

    def set_dataset(self, dataset: AnyDataset, mapping: Mapping[str, str] | None = None) -> None:
        """Bind a dataset, by `mapping` field → block, by name, or the only field to the only block.

        Raises `DataError` NNM701 where a block has no field, NNM702 where sizes differ, NNM712
        while the model is trained or tested.
        """
        self.state.bind(dataset, mapping)
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
        from webnnm.trainer.training import Training

        given = self._written(hyperparameters, more, "train")
        self.state.occupancy.check()
        begun: Checkpoint | None = None
        self.state.binding()
        if not resume:
            settings = self._settings(given)
        else:
            begun = self.checkpoint
            if begun is None:
                hint = "load a snapshot that was saved with optimizer=True"
                raise DataError("NNM808", "there is no training to resume", hint=hint)
            given = settings = begun.continued(given)
        saving = None
        if autosave:
            from webnnm.trainer.autosave import Autosave

            saving = partial(Autosave, self.save, autosave, autosave_seconds, on_autosave)
        self._training = Training(self.state, self._reviewer, given, dict(settings), begun, saving)
        return self._training

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
        return list(self._reviewer.review(given, self._settings(given)).findings)

    def profile(self) -> Profile:
        """Return the model in numbers: depth, width, heavy operators and more (spec F.1)."""
        return self._reviewer.facts({}, resolve({})).profile

    async def scout(self, seeds: int = 100, seed: int | None = None) -> Scouting:
        """Try so many starts, leave the parameters at the best, and return the table (spec E.4)."""
        from webnnm.trainer.scout import scout

        state = self.state
        state.binding()
        with state.occupancy.by("scouting", changes=True):
            found = await scout(state, state.losses(), seeds, self.seed if seed is None else seed)
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
        settings = resolve({"optimize_for": self.state.optimize_for} | written(given))
        own = {"batch_size": self.batch_size, "seed": self.seed}
        return settings | {name: value for name, value in own.items() if settings[name] is None}

    async def test(self, subset: str = "testing") -> TestResult:
        """Evaluate the model on a subset: losses, and per output accuracy, confusion and more.

        Raises `DataError` NNM705 for an empty or unknown subset, NNM712 while it is trained.
        """
        from webnnm.runtime.testing import tested

        self.state.binding()
        with self.state.occupancy.by("a test"):
            return await tested(self.state, subset)

    def _set_sequence_length(self, length: int | Mapping[str, int] | None) -> None:
        if isinstance(length, Mapping):
            self.state.sequence = {**self.sequence, **length}
        elif length is not None:
            names = [vertex.features[0].sequence for vertex in self.network.inputs]
            known = {name: length for name in names if name is not None}
            self.state.sequence = {**self.sequence, **known}

    createContext = create_context
    setDatasetToModel = set_dataset


async def _backend(given: Mapping[str, Any], log: Log) -> Backend:
    """Return what a model runs on: a backend of its own, or a share of the one that is given."""
    chosen = given.get("backend") or "auto"
    if isinstance(chosen, Backend):
        from webnnm.backends.shared import shared

        return shared(chosen, given)
    return await open_backend(
        chosen,
        device=given.get("device_type"),
        power_preference=given.get("power_preference"),
        log=log,
    )
