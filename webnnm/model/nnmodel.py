"""The model: a network with its parameters on a backend (spec H)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from webnnm.backends.base import Backend, MemoryUsage
from webnnm.backends.selection import backend as open_backend
from webnnm.core.awaiting import check_awaited, require_await_of_methods
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, ModelError, split_errors
from webnnm.core.finding import Findings
from webnnm.core.keywords import merge_keywords
from webnnm.core.naming import by_javascript_name
from webnnm.core.plugins import plugin
from webnnm.evaluation.history import History
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.outline import Warning
from webnnm.graph.elaboration.vertices import Network
from webnnm.model.creation import (
    ModelSettings,
    check_review_time,
    model_document,
    read_model_settings,
)
from webnnm.model.keywords import read_hyperparameters
from webnnm.runtime.occupancy import Occupancy
from webnnm.runtime.parameters import Parameter, ParameterStore
from webnnm.runtime.state import ModelState, ReviewTime
from webnnm.trainer.review import explicit_settings
from webnnm.trainer.row_settings import complete_from_dataset
from webnnm.training.settings import Settings

if TYPE_CHECKING:
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation.result import TestResult
    from webnnm.model.keywords import CreateSettings, Hyperparameters
    from webnnm.model.prepared_data import Missing
    from webnnm.runtime.checkpoint import Checkpoint
    from webnnm.runtime.inference.compilation import Compilation
    from webnnm.runtime.inference.context import InferenceContext
    from webnnm.runtime.inference.prediction import Predictor
    from webnnm.snapshots.name_map import Names
    from webnnm.trainer.reviewer import Reviewer
    from webnnm.trainer.scout import Scouting
    from webnnm.trainer.training import Training

Log = Callable[[str], None]

MOVED = {
    "arrays": "model.param_arrays()",
    "cross_validate": "webnnm.cross_validate(model, …)",
    "diagram": "webnnm.plot_model(model)",
    "find_lr": "webnnm.find_lr(model, …)",
    "export_onnx": 'await model.export("NAME.onnx")',
    "export_page": 'await model.export("FOLDER", format="page")',
    "export_stablehlo": 'await model.export(format="stablehlo")',
    "graph_text": "webnnm.graph_text(model)",
    "inspect": "webnnm.inspect_model(model, …)",
    "parameters": "model.params()",
    "permutation_importance": "webnnm.permutation_importance(model, …)",
    "quantize": "await webnnm.quantize(model, …)",
    "take_parameters": "await model.load_params(other)",
    "view": "webnnm.view(data)",
    "given_backend": "model.backend",
} | {
    name: f"model.state.{name}"
    for name in ("batch_size", "checkpoint", "log", "network", "sequence", "trained")
}
"""What is not an attribute of a model, and where it is instead."""


@require_await_of_methods("model")
class NNModel:
    """A neural network that can be trained, evaluated and used for predictions.

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

    Create models with `NNModel.create`. Use `async with`, or call `close`, to free device memory
    early.

    `state` is the data behind the model; the packages below this class work on it. While a model is
    being trained or tested, calls that would change its settings or compute predictions raise
    NNM712.
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
        self._training: Training | None = None

    @cached_property
    def _reviewer(self) -> Reviewer:
        return plugin("Reviewer")(self.state)

    @cached_property
    def _predictor(self) -> Predictor:
        from webnnm.runtime.inference.prediction import Predictor

        return Predictor(self.state.network, self.create_context, self.state.data_facts)

    @classmethod
    async def create(
        cls, config: Mapping[str, Any] | None = None, **settings: Unpack[CreateSettings]
    ) -> Self:
        """Create a model from its source text and initialise its parameters.

        - `source`, `url` or `path`: the text of the model, or where to read it. Give exactly one.
        - `files`: the files that the text names with `source`, if they are not next to it: a dict
          from their names there to paths, URLs or bytes.
        - `references`: which files the text, and those it names, may refer to besides files below
          their own folder: "anywhere", or a folder or address below which they are.
        - `dataset`: a `Dataset`; required for `train` and `test`.
        - `backend`: "auto" (in pages WebNN if it works, see `backend()`), "webnn", "numpy",
          "onnxruntime", "jax", or an open `Backend`. Several models can share a `Backend`; whoever
          opened it closes it.
        - `accelerated`, `power_preference`, `device`: what WebNN is asked for, see `backend()`.
          `optimize_for="edge"` targets the NPU.
        - `seed`: the random seed for initialisation and shuffling.
        - `batch_size`: overrides the batch size of the dataset.
        - `sequence_length`: an integer, or a dict from sequence name to integer.
        - `review`: with False, the expert system neither reports on the model nor on its trainings,
          and decides no setting: those that are "auto" are off. `model.review()` still works. With
          "after", it decides nothing either, and reports on the data when a training has ended.
        - `log`: a function that receives progress messages; `print` by default.
        - `strict`: treat warnings of the notation as errors.

        The same settings can be passed as a dict in `config`; camelCase spellings are accepted.

        Raises `ModelError` if the text is invalid, `DataError` NNM703 or NNM715 for invalid
        settings and NNM701 or NNM702 if the dataset does not fit the model, `BackendError` NNM709
        if the backend is not available.
        """
        hint = "NNModel.create(source=text), or url= or path= for a file"
        model = await cls._opened(merge_keywords(config, settings, "NNModel.create", hint))
        try:
            await model.state.parameters.initialise(model.seed)
            model._introduce()
        except BaseException:
            model.close()
            raise
        return model

    @classmethod
    async def _opened(cls, settings: Mapping[str, Any]) -> Self:
        """Return a model as `create` does, but without parameter values."""
        chosen = read_model_settings(settings)
        network = elaborate(await model_document(chosen))
        for warning in network.warnings:
            if chosen.strict:
                raise network.outline.error(warning.code, warning.message, warning.span)
            chosen.log(f"warning {warning}")
        backend = await _open_backend(chosen, network)
        try:
            model = cls(network, backend, seed=chosen.seed, log=chosen.log)
            model.state.batch_size = chosen.batch_size
            model.state.device = chosen.target_device or ""
            model.state.preferences = chosen.preferences
            model.state.optimize_for = chosen.optimize_for
            model.state.review = chosen.review
            model._set_sequence_length(chosen.sequence_length)
            if chosen.dataset is not None:
                model.set_dataset(chosen.dataset)
        except BaseException:
            backend.close()
            raise
        return model

    def _introduce(self) -> None:
        """Log what the model is, and findings about its structure."""
        self._log_size()
        if self.state.review:
            self._reviewer.log_structure(self.state.log)

    def _log_size(self) -> None:
        self.state.log(
            f"{self.name or 'model'}: {self.state.parameters.count:,} parameters, "
            f"{len(self.state.network.layers)} layers, on {self.backend.description}"
        )

    # What it is.

    @property
    def backend(self) -> Backend:
        """The backend that runs the model: the one passed to `create`, or its own."""
        return getattr(self.state.backend, "given", None) or self.state.backend

    @property
    def step(self) -> int:
        """The number of training steps applied so far."""
        return self.state.step

    @step.setter
    def step(self, step: int) -> None:
        self.state.step = step

    @property
    def seed(self) -> int:
        """The random seed for initialisation and shuffling."""
        return self.state.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self.state.seed = seed

    @property
    def training(self) -> Training | None:
        """The training in progress, or None."""
        training = self._training
        return training if training is not None and training.is_running else None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.state.network.name

    @property
    def source(self) -> str:
        """The source text of the model."""
        return self.state.network.outline.document.source

    @property
    def warnings(self) -> list[Warning]:
        """The warnings found in the source text."""
        return self.state.network.warnings

    def inputs(self) -> list[str]:
        """Return the names of the inputs."""
        return [vertex.block for vertex in self.state.network.inputs]

    def outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return [output.name for output in self.state.network.outputs]

    def params(self) -> list[Parameter]:
        """Return the parameters with their values, in the order of the source text."""
        return self.state.parameters.list_parameters()

    def serialize(self) -> str:
        """Return the source text of the model in canonical form."""
        from webnnm.notation.formatter import format_document

        return format_document(self.state.network.outline.document)

    def summary(self) -> str:
        """Return a table of the layers with their shapes and parameter counts."""
        from webnnm.model.report import summary

        return summary(self.state.network, self.backend.description)

    def _repr_html_(self) -> str:
        from webnnm.core.markup import html_table
        from webnnm.model.report import layer_rows, parameter_count

        told = f"{parameter_count(self.state.network)}, running on {self.backend.description}"
        return html_table(layer_rows(self.state.network), f"{self.name or 'model'}: {told}")

    def __repr__(self) -> str:
        from webnnm.model.report import parameter_count

        told = parameter_count(self.state.network)
        return f"<{type(self).__name__} {self.name or 'model'}: {told}>"

    def report(self) -> str:
        """Return a report on the backend: device, known bugs, and rewrites that avoid them."""
        lines = [f"runs on {self.backend.description}"]
        if self.backend.reason:
            lines.append(self.backend.reason)
        if self.backend.faults:
            lines.append("bugs of this implementation that graphs are rewritten to avoid:")
            lines += [f"- {text}" for text in self.backend.faults]
        lines.append("rewritten so far:")
        lines += [f"- {text}" for text in self.backend.rewrites] or ["- nothing"]
        return "\n".join(lines)

    def memory(self) -> MemoryUsage:
        """Return what the model has allocated on its backend, by purpose."""
        return self.state.backend.memory()

    # Saving and loading.

    async def save(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        optimizer: bool = True,
        dtype: DataType | None = None,
    ) -> Any:
        """Save the source text, parameters and standardisation in one safetensors file (spec I).

        Returns the path, or the bytes of the file if no path is given. An existing file is replaced
        atomically. With `optimizer=True` the file also contains the state of the current or last
        training, so that `train(resume=True)` can continue it. `dtype="float16"` stores float32
        parameters in half the space, for inference only.

        Raises `DataError` NNM704 for other dtypes, NNM807 if the file cannot be written.
        """
        from webnnm.snapshots.snapshot import snapshot
        from webnnm.snapshots.storage import store

        running = self.training
        with nullcontext() if running else self.state.occupancy.by("a save"):
            standing = await running.checkpoint() if running else self.state.checkpoint
            if running:
                self.state.log("saved while a training goes on: await it to save its result")
            return await store(path, snapshot(self.state, dtype, standing, training=optimizer))

    @classmethod
    async def load(cls, snapshot: Any = None, /, **settings: Unpack[CreateSettings]) -> Self:
        """Load a model from a snapshot: its bytes, its path, or "browser:" followed by a name.

        `settings` are those of `create`. If the snapshot contains the state of a training,
        `train(resume=True)` continues it.

        Raises `DataError` NNM801 … NNM806 if the file is damaged or not a snapshot, NNM703 for
        invalid settings, NNM715 if the file cannot be read.
        """
        from webnnm.snapshots.snapshot import open_file, restore, text_and_files, verify

        if snapshot is None:  # by the name of the text in `create`
            snapshot = settings.pop("source", None)
        for name in ("source", "url", "path", "files", "references"):
            if name in settings:
                raise DataError(
                    "NNM703",
                    f'NNModel.load takes no "{name}": the snapshot has the text of its model',
                    hint="use NNModel.create(source=…), then load_params, for another text",
                )
        file = verify(await open_file(snapshot))
        try:
            text, files = text_and_files(file)
            model = await cls._opened({"source": text, "files": files, **settings})
        except ModelError as error:
            hint = ""
            if "NNM204" in [each.code for each in split_errors(error)]:
                hint = "declare the composite first: run its @composite, then load"
            message = f"the snapshot's model is invalid: {error}"
            raise DataError("NNM802", message, hint=hint) from error
        try:
            await restore(model.state, file)
            model._introduce()
        except BaseException:
            model.close()
            raise
        return model

    async def load_params(
        self,
        source: Any,
        *,
        mapping: Names | None = None,
        only: str | Iterable[str] | None = None,
        strict: bool = True,
    ) -> list[str]:
        """Load parameters from a file, another model or a dict; return the names that were set.

        `source` is a safetensors file (its path, address or bytes), such as a snapshot; a model; or
        a dict from names to arrays.

        - `mapping`: a dict from parameters of this model to names in the source, where they differ,
          or to memory layouts, such as `{"w{n}": Transposed("fc{n-1}.weight")}` (see
          `docs/foreign-weights.md`).
        - `only`: the parameters of this model to load, all by default: names, or patterns such as
          "encoder*".
        - `strict`: every one of them has to be in the source, and without `only` the source has
          nothing else. With `strict=False`, those are loaded whose name and shape match.

        A later `train` starts from these values, and searches no other seeds unless `seeds` is set.

        Raises `DataError` NNM715 or NNM801 … NNM804 if the file cannot be read, NNM805, NNM806 or
        NNM710 if the parameters do not fit, NNM712 while this model, or the one that is the source,
        is being trained. Nothing is loaded then.
        """
        from webnnm.snapshots.snapshot import load_parameters

        check_awaited(source, "the source", "await model.load_params(…)")
        other = getattr(source, "state", None)
        if isinstance(other, ModelState):
            other.occupancy.check()
            source = other
        with self.state.occupancy.by("a load of parameters", changes=True):
            names = await load_parameters(
                self.state, source, mapping=mapping, only=only, strict=strict
            )
        self.state.trained = True
        left = ", ".join(name for name in self.state.parameters.types if name not in names)
        self.state.log(f"loaded {len(names)} parameters" + (f", not {left}" if left else ""))
        return names

    async def reopen(self) -> None:
        """Reopen the backend after its device was lost, and restore the last known parameters.

        These come from the last training or checkpoint: `step` is the training step that they
        belong to, and `train(resume=True)` continues from there. Inference contexts have to be
        created again.

        Raises `DataError` NNM712 while the model is being trained or tested, NNM704 if the backend
        was passed to `create`, `BackendError` NNM709 if no backend is available.
        """
        from webnnm.model.reopening import reopen

        await reopen(self.state)
        vars(self).pop("_predictor", None)

    def _forget_network(self) -> None:
        """Drop what was made for the previous network: the model has another one now."""
        for cached in ("_reviewer", "_predictor", "_function"):
            vars(self).pop(cached, None)

    def __reduce__(self) -> NoReturn:
        raise DataError(
            "NNM704",
            "a model cannot be copied or pickled: it holds memory of a device",
            hint="other = await NNModel.load(await model.save())",
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free all device memory of the model.

        A backend that was passed to `create` stays open; whoever opened it closes it.
        """
        self.state.parameters.tensors = {}
        self.state.closed = True
        self.state.backend.close()

    # Inference.

    async def create_context(
        self, batch_size: int = 1, sequence_length: int | Mapping[str, int] | None = None
    ) -> InferenceContext:
        """Return an inference context for batches of this size."""
        from webnnm.runtime.inference.context import InferenceContext

        context = InferenceContext(
            self.state.network,
            self.state.backend,
            self.state.parameters,
            self.state.standardizations,
            batch_size=batch_size,
            sequence=self.state.sequence,
            seed=self.seed,
        )
        if sequence_length is not None:
            context.set_sequence_length(sequence_length)
        return context

    async def compile(
        self, batch_size: int = 1, sequence_length: int | Mapping[str, int] | None = None
    ) -> Compilation:
        """Compile the graph for predictions of `batch_size` rows, with the parameters as constants.

        `predict` then uses this graph for batches of this size until the parameters change, which
        is about twice as fast. Returns how long the compilation took.
        """
        context = await self.create_context(batch_size, sequence_length)
        compilation = await context.compile()
        self._predictor.keep(context)
        self.state.log(str(compilation))
        return compilation

    async def run(self, context: InferenceContext) -> InferenceContext:
        """Compute the outputs of a context with the current parameters; return the context."""
        await context.run()
        return context

    async def predict(
        self,
        data: Any,
        batch_size: int | None = None,
        *,
        steps: int | None = None,
        raw: bool = False,
    ) -> Any:
        """Predict the outputs for some rows, given in the same form as the rows of the dataset.

        >>> (await model.predict([[5.1, 3.5, 1.4, 0.2]])).classes  # doctest: +SKIP
        ['setosa']

        `data` contains one or more rows in the form and units of the dataset, or a dict from input
        to rows. Classification returns a `Prediction`; regression returns an array in the units of
        the dataset (see `docs/predictions.md`). With `raw=True`, both `data` and the result are the
        network's own numbers, of shape `[rows, features…]`. In a page `data` may also be pictures
        and typed arrays of JavaScript.

        A model of a `SeriesDataset` takes the recent rows of a table, or a number of steps by which
        to continue the series of the dataset, and returns a `Forecast`, or one for each id; `steps`
        is how many to predict from rows, by default the horizon.

        Raises `DataError` NNM702, NNM706, NNM710, NNM711 or NNM713 if the data do not fit the
        model.
        """
        size = batch_size or self.state.batch_size
        return await self._predictor.predict(data, size, steps=steps, raw=raw)

    def param_arrays(self, *, trainable: bool = False, device: Any = None) -> dict[str, Any]:
        """Return the values of the parameters as arrays by name, for `apply`.

        `trainable=True` leaves out what training does not change: frozen parameters, and the
        running statistics of normalisations. The arrays are copies on a device of `webnnm.xp`, the
        default device unless `device` is given; `load_params` copies values back.

        Raises `DataError` NNM704 if a parameter is packed.
        """
        return plugin("param_arrays")(self.state, trainable=trainable, device=device)

    def apply(
        self,
        params: Mapping[str, Any],
        *inputs: Any,
        training: bool = False,
        key: Any = None,
    ) -> Any:
        """Return the outputs of the model as a function of parameters and inputs.

        >>> import asyncio
        >>> from webnnm import NNModel, grad, xp
        >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w, init=constant(1));"
        >>> model = asyncio.run(NNModel.create(source=text, log=lambda line: None))
        >>> params, x = model.param_arrays(), xp.asarray([[1.0, 2.0], [3.0, 4.0]])
        >>> model.apply(params, x)
        Array([[3.0], [7.0]], dtype=float32)
        >>> grad(lambda p: xp.sum(model.apply(p, x)))(params)
        {'w1': Array([[4.0], [6.0]], dtype=float32)}

        `inputs` are arrays of `[rows, features…]`, in the network's own numbers, one for each input
        or a dict of all by name; `params` is a dict from parameter to array, as `param_arrays`
        returns it. The result is an array, or a dict if the model has several outputs. The function
        is pure: it can be differentiated, traced by `jit` and mapped by `vmap`.

        With `training=True` layers work as in a training step: dropout draws from `key`
        (`webnnm.random`), and normalisations use the batch. The result is then a pair: the outputs,
        and a dict with the next values of the running statistics by parameter.

        Raises `DataError` NNM710 for missing inputs and parameters, NNM702 for arrays of wrong
        types and ids that an embedding has no row for, NNM714 if a layer needs a key. Ids are
        checked where their values are known: not inside `jit`, nor on devices that are read
        asynchronously, where negative ids count from the end of the table and others are clamped.
        """
        return self._function(params, inputs, training, key)

    @cached_property
    def _function(self) -> Any:
        return plugin("NetworkFunction")(self.state.network)

    async def export(
        self,
        path: str | os.PathLike[str] | None = None,
        graph: str = "inference",
        batch: int | None = None,
        sequence: int | Mapping[str, int | None] | None = None,
        *,
        format: str | None = None,
        constants: bool | None = None,
        chlo: bool | None = None,
        loops: bool | None = None,
        rows: Mapping[str, str] | None = None,
        **hyperparameters: Any,
    ) -> Any:
        """Write the model for other programs, as ONNX (".onnx", opset 21) or StableHLO (".mlir").

        With `format="page"` it becomes a folder, or a ".zip", that answers as `predict` does in any
        browser, without Python (`docs/exporting.md`).

        >>> await model.export("net.onnx")  # doctest: +SKIP
        PosixPath('net.onnx')
        >>> await model.export("flats", format="page")  # doctest: +SKIP
        PosixPath('flats')
        >>> module = await model.export(format="stablehlo", batch=1)  # doctest: +SKIP

        Returns the path or, without one, the bytes of an ONNX model or of a page's archive, or the
        text of a StableHLO module. In pages, the path can be "browser:name" or "download:name", as
        in `save`; that of a page then gets the ending ".zip".

        - `graph`: "inference", "loss" or "train", with the hyperparameters of `train`.
        - `batch`, `sequence`: sizes; those that are None remain dynamic. Where a layer needs a
          fixed length, such as `lstm`, it is that of the data, and a line of the log says so.
        - `format`: "onnx", "stablehlo" or "page"; by default that of the ending of the path.
        - `constants`: whether the parameters are constants, as by default in ONNX, or inputs, as in
          StableHLO; in a training step they are always inputs.
        - `chlo`, `loops`: for StableHLO, see `docs/stablehlo.md`.
        - `rows`: for pages, input → "picture" or "sound", if no dataset says what its numbers are.

        In ONNX, an output with the name of an input, such as the new value of a parameter, is
        written as `NAME/out`, and weights above 2 GB are written to a second file, `PATH.data`.

        A page answers one row at a time; `sequence` is the longest row that it takes, by default
        that of the dataset.

        Raises `ModelError` NNM901, NNM902 or NNM903 for models that cannot be exported, `DataError`
        NNM905 for those that no page can run, NNM703, NNM704 or NNM711 for invalid arguments,
        NNM807 if writing fails.
        """
        options = {"chlo": chlo, "loops": loops}
        return await plugin("export_model")(
            self.state,
            path,
            format,
            graph,
            batch,
            sequence,
            constants,
            {name: value for name, value in options.items() if value is not None},
            rows or {},
            hyperparameters,
        )

    # Training and testing.

    def set_dataset(self, dataset: AnyDataset, mapping: Mapping[str, str] | None = None) -> None:
        """Bind a dataset to the inputs and outputs of the model.

        `mapping` is a dict from blocks of the model to fields of the dataset. Without it they are
        matched by name; a single field always matches a single block.

        Raises `DataError` NNM701 if a block has no matching field, NNM702 if shapes differ, NNM712
        while the model is being trained or tested.
        """
        self.state.bind(dataset, mapping)
        if "_reviewer" in vars(self):
            self._reviewer.forget()

    def prepare_dataset(
        self,
        table: Any,
        *,
        label: str | int | None = None,
        split: Sequence[Any] | None = None,
        missing: Missing = "error",
    ) -> AnyDataset:
        """Return a table as a dataset, encoded and scaled as the data of the training were.

        Classes, columns, words and units keep the meaning that the parameters know: use it to test
        a loaded model on new rows, or to train it further with them.

        >>> async def score(path, table):
        ...     async with await NNModel.load(path) as model:
        ...         model.set_dataset(model.prepare_dataset(table))
        ...         return await model.test()

        - `table`: as `TableDataset` takes it, or for a model of a series as `SeriesDataset` does.
        - `label`: the name or number of the column to predict, by default that of the training.
        - `split`: as in `Dataset`; by default all rows are for testing, of a series the last fifth
          of the steps.
        - `missing`: what to do with empty cells, besides those that the training filled in:
          "error", or "drop" to leave out their rows. Rows without a label are always left out.

        Raises `DataError` NNM704 for invalid options, NNM705 without rows, NNM706 for a class that
        the training did not have, NNM710 for a missing column, NNM713 for an empty cell.
        """
        from webnnm.model.prepared_data import prepare_dataset

        return prepare_dataset(self.state, table, label, split, missing)

    def train(
        self,
        hyperparameters: Mapping[str, Any] | None = None,
        *,
        resume: bool = False,
        autosave: str | os.PathLike[str] | None = None,
        autosave_seconds: float = 30.0,
        on_autosave: Callable[[Exception | None], object] | None = None,
        review: ReviewTime | None = None,
        **more: Unpack[Hyperparameters],
    ) -> Training:
        """Start training; await the result to get its `History`.

        The hyperparameters are those of table E.1 of the specification, in snake_case or camelCase:
        `epochs`, `batch_size`, `optimizer`, `lr`, `weight_decay`, `schedule`, `patience`, …
        docs/training.md lists them by purpose, `webnnm.training.settings.Settings` has
        the default and meaning of each.

        - `resume`: continue a training that was stopped or loaded, with its original
          hyperparameters; only a few, such as `epochs`, `patience` and callbacks, can be changed.
        - `autosave`: where `save` writes checkpoints: after two seconds, every `autosave_seconds`,
          when the page is closed, and at the end.
        - `on_autosave`: a function called after each checkpoint, with None or the exception.
          Failures also appear as warnings in the log and the history.
        - `review`: True, False or "after", as in `create`, by default what was given there.

        Raises `DataError` NNM703 for unknown names, NNM704 for values out of range, NNM712 while
        the model is being trained or tested, NNM714 without a dataset, NNM808 if there is no
        matching training to resume. Awaiting it can also raise NNM605, NNM606, NNM708 and
        `ContextLost`.
        """
        from webnnm.trainer.training import Training

        written = read_hyperparameters(
            hyperparameters, more, "NNModel.train", "model.train(epochs=20)"
        )
        self.state.occupancy.check()
        begun: Checkpoint | None = None
        self.state.binding()
        if not resume:
            settings = self._complete(written)
        else:
            begun = self.state.checkpoint
            if begun is None:
                hint = "load a snapshot that was saved with optimizer=True"
                raise DataError("NNM808", "there is no training to resume", hint=hint)
            settings = begun.resume_settings(written)
        saving = None
        if autosave:
            from webnnm.trainer.autosave import Autosave

            saving = partial(Autosave, self.save, autosave, autosave_seconds, on_autosave)
        time = self.state.review if review is None else check_review_time(review)
        reviewer = self._reviewer if time else None
        self._training = Training(
            self.state, reviewer, settings, begun, saving, reviews_after=time == "after"
        )
        return self._training

    def review(
        self,
        hyperparameters: Mapping[str, Any] | History | None = None,
        **more: Unpack[Hyperparameters],
    ) -> Findings:
        """Check the model, dataset and hyperparameters with the expert system (spec F).

        Given the `History` of a training, as in `model.review(history)`, it also reports what
        happened in that training (E9xx), with the hyperparameters that were passed to it. Without a
        dataset the rules about data are skipped. `silence` lists rules to skip. Call
        `webnnm.review(model)` to also get the resolved settings.

        Raises `DataError` NNM703 or NNM704 for invalid hyperparameters.
        """
        history = None
        if isinstance(hyperparameters, History):
            history, hyperparameters = hyperparameters, explicit_settings(hyperparameters)
        written = read_hyperparameters(
            hyperparameters, more, "NNModel.review", "model.review(epochs=20)"
        )
        reviewed = self._reviewer.review(self._complete(written), history=history)
        return Findings(reviewed.findings)

    def profile(self) -> Any:
        """Return key figures of the model: depth, width, heavy operators and more (spec F.1)."""
        return self._reviewer.profile()

    async def scout(self, seeds: int = 100, seed: int | None = None) -> Scouting:
        """Try several random seeds for initialisation and keep the best parameters (spec E.4).

        Returns the table of all seeds tried.
        """
        from webnnm.trainer.scout import scout

        state = self.state
        state.binding()
        with state.occupancy.by("scouting", changes=True):
            scouting = await scout(
                state, state.losses(), seeds, self.seed if seed is None else seed
            )
        self.state.log(str(scouting))
        return scouting

    def _complete(self, settings: Settings) -> Settings:
        """Return settings with what the user left out taken from optimizer, model and data."""
        settings = settings.with_defaults(
            optimize_for=self.state.optimize_for, batch_size=self.state.batch_size, seed=self.seed
        )
        dataset = self.state.binding().dataset if self.state.has_dataset else None
        return complete_from_dataset(self.state.network, dataset, settings.resolve())

    async def test(self, subset: str = "testing", *, baselines: bool = True) -> TestResult:
        """Evaluate the model on a subset of its dataset: loss, accuracy, confusion matrix, …

        With `baselines`, the result says beside the scores what a constant, a linear model and
        nearest neighbours reach on the same rows, and whether the model is better; they are fitted
        in a moment, on up to 2,000 training rows.

        Raises `DataError` NNM705 if the subset is empty or unknown, NNM712 while the model is being
        trained.
        """
        from webnnm.runtime.testing.testing import test

        self.state.binding()
        with self.state.occupancy.by("a test"):
            return await test(self.state, subset, baselines=baselines)

    def _set_sequence_length(self, length: int | Mapping[str, int] | None) -> None:
        if isinstance(length, Mapping):
            self.state.sequence = {**self.state.sequence, **length}
        elif length is not None:
            names = [vertex.features[0].sequence for vertex in self.state.network.inputs]
            lengths = {name: length for name in names if name is not None}
            self.state.sequence = {**self.state.sequence, **lengths}

    if not TYPE_CHECKING:  # so that type checkers report unknown names

        def __getattr__(self, name: str) -> Any:
            """Return a method by its name in JavaScript (spec H)."""
            if name in MOVED:
                raise self._make_moved_error(name)
            return by_javascript_name(self, name, {"setDatasetToModel": "set_dataset"})

        def __setattr__(self, name: str, value: Any) -> None:
            if name in MOVED:
                raise self._make_moved_error(name)
            super().__setattr__(name, value)

        def _make_moved_error(self, name: str) -> AttributeError:
            message = f"models have no attribute {name!r}: use {MOVED[name]}"
            return AttributeError(message, name=name, obj=self)


async def _open_backend(settings: ModelSettings, network: Network) -> Backend:
    """Return the backend of a model: its own, or a share of the one that was passed."""
    if isinstance(settings.backend, Backend):
        from webnnm.backends.shared import share_backend

        return share_backend(settings.backend, device=settings.device, **settings.preferences)
    return await open_backend(
        settings.backend,
        device=settings.target_device,
        **settings.preferences,
        log=settings.log,
        work=lambda: _work(network, settings.dataset),
    )


def _work(network: Network, dataset: AnyDataset | None) -> float:
    from webnnm.model.work import seconds_on_numpy

    return seconds_on_numpy(network, dataset)
