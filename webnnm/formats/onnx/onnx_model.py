"""ONNX models that run: loaded from a file, compiled for the sizes of their data."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from webnnm.backends.base import Backend, DeviceTensor, Executable, Runner
from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await, require_await_of_methods
from webnnm.core.dtypes import DataType, is_float
from webnnm.core.errors import DataError, suggestion
from webnnm.core.lru_cache import LruCache
from webnnm.core.shapes import count
from webnnm.data.intake import list_available
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.described import ValueInfo, description, inputs, values
from webnnm.formats.onnx.files import read_onnx
from webnnm.formats.onnx.importing.folding import MAX_SHAPE_SIZE
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.formats.onnx.importing.refusals import EmptyOutput, UnknownValue
from webnnm.formats.onnx.importing.sizes import FreeDimension, Shapes
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.formats.onnx.segments import OnnxSegments
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from webnnm.eager.array import Array
    from webnnm.eager.device import Device
    from webnnm.formats.onnx.function import OnnxFunction

MOST_COMPILED = 8
"""How many graphs of different sizes are kept; beyond that, the least recently used is dropped."""
MAX_EMBEDDED_SIZE = 1024
"""The maximum size of an input of integers that decide shapes: each value has its own graph."""


@require_await
async def load_onnx(
    source: str | Path | bytes | Any,
    shapes: Shapes | None = None,
    *,
    backend: str | Backend = "auto",
    device: str | None = None,
    log: Callable[[str], None] | None = None,
    references: str | Path | None = None,
) -> OnnxModel:
    """Load an ONNX model from a path, a URL, bytes or a `ModelProto` of the package onnx.

    >>> import asyncio, webnnm
    >>> async def outputs(path, picture):
    ...     net = await webnnm.load_onnx(path, shapes={"batch": 1})
    ...     return await net.predict({"image": picture})

    `shapes` gives the sizes of free dimensions by name, or all sizes of an input as a list; those
    left free follow from the data of each run. `backend` is a name as in `webnnm.backend`, or an
    open backend. Weights in separate files are read from the folder of the model and those below
    it; `references="anywhere"`, or a folder or an address, allows others.

    Raises `DataError` NNM715 if the file cannot be read, NNM809 if it refers to files elsewhere,
    NNM801 or NNM811 if it is damaged, NNM812 to NNM816 if the model cannot be imported.
    """
    model, external = await read_onnx(source, references)
    from webnnm.backends.selection import backend as opened
    from webnnm.backends.shared import share_backend

    if isinstance(backend, Backend):
        device_used: Backend = share_backend(backend, device=device)
    else:
        work = partial(_estimate_seconds, model)
        device_used = await opened(backend, device=device, log=log, work=work)
    onnx_model = OnnxModel(model, shapes or {}, device_used, external)
    try:
        await onnx_model.prepare()
    except BaseException:
        onnx_model.close()
        raise
    return onnx_model


@dataclass
class _Compiled:
    """A graph for some sizes, with its input and output tensors.

    `taken` are the inputs that data are written to, in order; `bytes` is the size of the weights
    that are constants of the graph.
    """

    imported: Imported
    executable: Executable
    taken: list[str]
    tensors: list[DeviceTensor]
    runner: Runner
    bytes: int


@require_await_of_methods("model")
class OnnxModel:
    """An ONNX model on a backend, made by `load_onnx`.

    Attributes: `inputs` and `outputs`, the types by name, with free dimensions by their names;
    `params`, the weights by name, once sizes are known; `metadata`, texts by name that the exporter
    put into the file; `backend`.
    """

    def __init__(
        self, model: ModelProto, shapes: Shapes, backend: Backend, external: tensors.External
    ) -> None:
        graph = model.graph or GraphProto()
        self.inputs: Mapping[str, ValueInfo] = inputs(graph)
        self.outputs: Mapping[str, ValueInfo] = values(graph.output)
        self.params: dict[str, HostArray] = {}
        self.metadata = {entry.key: entry.value for entry in model.metadata_props}
        self.backend = backend
        self._model, self._external = model, external
        self._shapes = dict(shapes)
        self._fixed: dict[str, Sequence[Any]] = {
            name: value.shape
            for name, value in self.inputs.items()
            if value.shape is not None and all(isinstance(size, int) for size in value.shape)
        }
        self._weights: dict[str, DeviceTensor] = {}
        self._compiled = LruCache[Any, _Compiled](MOST_COMPILED, self._free)
        self._deciding: set[str] = set()
        self._segments: OnnxSegments | None = None
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        """Compile the model if its sizes are already known; check the given sizes."""
        try:
            imported = self.import_for(self._shapes)
        except (FreeDimension, UnknownValue, EmptyOutput):
            return
        sizes = {name: type.shape for name, type in imported.inputs.items()}
        await self._compile_entry(self._key(sizes, {}), imported)

    def import_for(self, shapes: Shapes, known: Mapping[str, HostArray] | None = None) -> Imported:
        """Return the graph for some sizes, and the weights, which are additional inputs of it.

        `known` has the values of inputs that decide shapes.
        """
        return import_model(self._model, shapes, constants=known, external=self._external)

    def graph(
        self, shapes: Shapes | None = None, *, known: Mapping[str, Any] | None = None
    ) -> Graph:
        """Return the tensor graph for `shapes`, by default those passed to `load_onnx`.

        Its inputs are those of the model and the weights, `params`. Raises `DataError` NNM813
        for free dimensions without a size, NNM816 for inputs whose values decide shapes.
        """
        arrays = {name: self._array(name, value) for name, value in (known or {}).items()}
        imported = self.import_for(self._shapes | dict(shapes or {}), arrays)
        self.params |= imported.parameters
        return imported.graph

    async def predict(self, data: Any) -> dict[str, Any]:
        """Return the outputs by name for the data of all inputs that WebNN has types for.

        `data` is a dict from input to data, or the data of the only input: arrays, nested lists or
        anything with the buffer protocol; in a page also typed arrays, pictures and sounds of
        JavaScript, for which the outputs stay in the page (docs/predictions.md). The graph is
        compiled first if the sizes are new.

        Raises `DataError` NNM710 for wrong names, NNM702 and NNM813
        for data that do not fit.
        """
        arrays = {
            name: await self._read_page_value(name, value)
            if hasattr(value, "js_id")
            else self._array(name, value)
            for name, value in self._by_input(data).items()
        }
        async with self._turn:
            outputs = await self._results(arrays)
        return {name: self._to_public(name, array) for name, array in outputs.items()}

    async def _results(self, arrays: Mapping[str, HostArray]) -> Mapping[str, HostArray]:
        """Return the outputs for the data of all inputs."""
        if self._segments is None:
            try:
                return await self._run(await self._get_compiled(arrays), arrays)
            except (UnknownValue, EmptyOutput):
                self._segments = OnnxSegments(self._model, self._external, self._run_segment)
        sizes = {name: array.shape for name, array in arrays.items()}
        return await self._segments.results(self._shapes | sizes, arrays)

    async def _run(self, entry: _Compiled, arrays: Mapping[str, HostArray]) -> dict[str, HostArray]:
        """Run a compiled graph."""
        types = entry.executable.inputs
        results = await entry.runner.run(
            [
                arrays[name]
                if arrays[name].dtype == types[name].dtype
                else HostArray.of(arrays[name], types[name].dtype)
                for name in entry.taken
            ]
        )
        return dict(zip(entry.executable.outputs, results, strict=True))

    async def _run_segment(
        self, key: object, imported: Imported, arrays: Mapping[str, HostArray]
    ) -> dict[str, HostArray]:
        """Run a part of the model, whose graph is kept under a key, or not at all for None."""
        entry = self._compiled.get(key) or await self._compile_entry(key, imported)
        try:
            return await self._run(entry, arrays)
        finally:
            if key is None:
                self._compiled.discard(key)

    def _to_public(self, name: str, array: HostArray) -> Any:
        """Return an output in the type that the model declares for it, as far as there is one."""
        dtype = self.outputs[name].dtype if name in self.outputs else ""
        return HostArray.of(array, "float64").public() if dtype == "float64" else array.public()

    def param_arrays(self, *, device: Device | None = None) -> dict[str, Array]:
        """Return the weights as arrays by name, for `apply`.

        They are copies on a device of `webnnm.xp`, the default device unless `device` is given.
        Raises what `graph` raises while the sizes of the model are not known.
        """
        from webnnm.eager.creation import asarray

        if not self.params:
            self.graph()
        return {name: asarray(value, device=device) for name, value in self.params.items()}

    def apply(self, params: Mapping[str, Any], *inputs: Any) -> Any:
        """Return the outputs of the model as a function of weights and inputs.

        >>> import webnnm
        >>> async def fine_tuned(path, x, y):
        ...     net = await webnnm.load_onnx(path, shapes={"batch": 8})
        ...     def loss(params):
        ...         return webnnm.xp.mean((net.apply(params, x) - y) ** 2)
        ...     params = net.param_arrays()
        ...     gradients = webnnm.grad(loss)(params)
        ...     return webnnm.tree_map(lambda w, g: w - 0.01 * g, params, gradients)

        `inputs` are arrays, one for each input of the model or a dict of all by name; `params` is a
        dict from weight to array, as `param_arrays` returns it. The result is an array, or a dict
        if the model has several outputs. The function is pure: it can be differentiated, traced by
        `jit` and mapped by `vmap`. Dropout and normalisations work as in inference.

        Raises `DataError` NNM710 for missing inputs and weights, NNM702 and NNM813 for arrays that
        do not fit, NNM816 for inputs whose values decide shapes: use `predict` for these.
        """
        return self._function(params, inputs)

    @cached_property
    def _function(self) -> OnnxFunction:
        from webnnm.formats.onnx.function import OnnxFunction

        return OnnxFunction(
            list(self.inputs), lambda sizes: self.import_for({**self._shapes, **sizes})
        )

    async def compile(
        self, shapes: Shapes | None = None, *, known: Mapping[str, Any] | None = None
    ) -> None:
        """Compile the model for `shapes` in advance, so that the first run is fast."""
        arrays = {name: self._array(name, value) for name, value in (known or {}).items()}
        imported = self.import_for(self._shapes | dict(shapes or {}), arrays)
        self._deciding |= arrays.keys()
        sizes = {name: type.shape for name, type in imported.inputs.items()}
        async with self._turn:
            await self._compile_entry(self._key(sizes, arrays), imported)

    async def save(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Save the model with its weights as one safetensors file, which `load_onnx` opens.

        The weights are stored as `param/NAME`. Returns the path, or the bytes if no path is given.
        Raises `DataError` NNM807 if the file cannot be written.
        """
        from webnnm.formats.onnx.snapshot import onnx_snapshot
        from webnnm.snapshots.storage import store

        return await store(path, onnx_snapshot(self._model, self._external))

    async def export(
        self,
        path: str | os.PathLike[str] | None = None,
        shapes: Shapes | None = None,
        *,
        format: str | None = None,
        constants: bool | None = None,
        **options: bool,
    ) -> Any:
        """Write the graph for `shapes` as ONNX (".onnx") or StableHLO (".mlir"), or as a page.

        In the file, shape computations are replaced by their results, functions and loops expanded.
        `constants`: whether the weights are constants, as by default in ONNX, or inputs. `path`,
        `format`, `options` and the result are those of `NNModel.export`.

        Raises what `graph` raises, `ModelError` NNM901 for operators without a counterpart,
        `DataError` NNM703 and NNM704 for other arguments, NNM807 if writing fails.
        """
        from webnnm.formats.graph_files import PAGE, ExportedGraph, graph_format, write_graph

        if format == PAGE:
            return await self._export_page(path, shapes)
        written = graph_format(path, format)
        embeds = written.embeds_parameters if constants is None else constants
        name, graph, weights = self._find_exported(shapes)
        exported = ExportedGraph(graphs=[graph], name=name, constants=weights if embeds else {})
        return await write_graph(exported, path, written, options)

    async def _export_page(self, path: str | os.PathLike[str] | None, shapes: Shapes | None) -> Any:
        from webnnm.formats.page.exporting import build_graph_page, store_page

        return await store_page(build_graph_page(*self._find_exported(shapes)), path)

    def _find_exported(self, shapes: Shapes | None) -> tuple[str, Graph, dict[str, HostArray]]:
        """Return the name of the graph, the graph for these shapes, and its weights."""
        graph = self.graph(shapes)
        weights = {name: array for name, array in self.params.items() if name in graph.inputs}
        return (self._model.graph or GraphProto()).name or "graph", graph, weights

    def report(self) -> str:
        """Return what the model is, and how it runs: backend, compiled sizes, rewrites."""
        lines = [description(self._model), f"  runs on {self.backend.description}"]
        if self.backend.reason:
            lines.append(f"  {self.backend.reason}")
        for entry in self._compiled.values():
            sizes = ", ".join(f"{name} {type}" for name, type in entry.imported.inputs.items())
            lines.append(
                f"  compiled for {sizes or 'no inputs'}: {len(entry.imported.graph.nodes())} nodes"
            )
            lines += [f"    - {text}" for text in entry.imported.notes]
            lines += [f"    - {text}" for text in entry.executable.rewrites]
        return "\n".join(lines)

    def close(self) -> None:
        """Free the memory of the model; a backend that was passed in stays open."""
        self._compiled.clear()
        self._weights.clear()
        self.backend.close()

    def __reduce__(self) -> NoReturn:
        raise DataError(
            "NNM704",
            "a model cannot be copied or pickled: it holds memory of a device",
            hint="open its file again: await load_onnx(path)",
        )

    async def __aenter__(self) -> OnnxModel:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {value}" for name, value in self.inputs.items())
        outputs = ", ".join(f"{name}: {value}" for name, value in self.outputs.items())
        return f"OnnxModel({inputs} -> {outputs})"

    def _by_input(self, data: Any) -> dict[str, Any]:
        """Return the data of each input that WebNN has a type for."""
        names = [name for name, value in self.inputs.items() if _dtype(value) is not None]
        if not isinstance(data, Mapping):
            if len(names) != 1:
                entries = ", ".join(f'"{name}": …' for name in names)
                message = f"the model has {len(names)} inputs"
                raise DataError("NNM710", message, hint=f"predict({{{entries}}})")
            return {names[0]: data}
        values = dict(cast("Mapping[str, Any]", data))
        for name in values:
            self._check_input(name)
        missing = next((name for name in names if name not in values), None)
        if missing is not None:
            raise DataError("NNM710", f'input "{missing}" has no data', hint="give data for each")
        return {name: values[name] for name in values if name in names}

    def _check_input(self, name: str) -> None:
        if name not in self.inputs:
            hint = suggestion(str(name), self.inputs) or list_available(self.inputs)
            raise DataError("NNM710", f'there is no input "{name}"', hint=hint)

    def _array(self, name: str, value: Any) -> HostArray:
        """Return data for an input in its type."""
        self._check_input(name)
        dtype = _dtype(self.inputs[name])
        if dtype is None:
            name_of_type = self.inputs[name].dtype
            raise DataError("NNM814", f'input "{name}" is {name_of_type}, a type that WebNN lacks')
        return HostArray.of(value, dtype)

    async def _read_page_value(self, name: str, value: Any) -> HostArray:
        """Return a value of JavaScript for an input, in the memory of the page if it fits."""
        from webnnm.backends.page_values import read_page_value

        type = self._find_type(name)
        array = None
        if type is not None:
            array = await read_page_value(f'input "{name}"', value, type)
        return self._array(name, value) if array is None else array

    def _find_type(self, name: str) -> TensorType | None:
        """Return the type of an input if its sizes are known; a batch size that is not is 1."""
        if name not in self.inputs:
            return None
        dtype, shape = _dtype(self.inputs[name]), self._shapes.get(name, self.inputs[name].shape)
        if dtype is None or not isinstance(shape, Sequence):
            return None
        known = [self._shapes.get(n) if isinstance(n, str) else n for n in shape]
        known[:1] = [1 if n is None else n for n in known[:1]]
        sizes = tuple(n for n in known if isinstance(n, int))
        return TensorType(dtype, sizes) if len(sizes) == len(known) else None

    async def _get_compiled(self, arrays: Mapping[str, HostArray]) -> _Compiled:
        """Return the graph for data; compile it if it is new."""
        sizes = {name: array.shape for name, array in arrays.items()}
        while True:
            deciding = {name: arrays[name] for name in self._deciding}
            key = self._key(sizes, deciding)
            entry = self._compiled.get(key)
            if entry is not None:
                return entry
            try:
                imported = self.import_for(self._shapes | sizes, deciding)
            except UnknownValue as error:
                more = {n for n in error.inputs if _can_embed(arrays[n])}
                if not more or more <= self._deciding:
                    raise
                self._deciding |= more
                continue
            return await self._compile_entry(key, imported)

    def _key(self, sizes: Mapping[str, Sequence[int]], deciding: Mapping[str, HostArray]) -> Any:
        """Return what distinguishes compiled graphs."""
        shapes = {name: tuple(size) for name, size in (self._fixed | dict(sizes)).items()}
        return (
            tuple(sorted(shapes.items())),
            tuple(sorted((name, bytes(array.data)) for name, array in deciding.items())),
        )

    async def _compile_entry(self, key: Any, imported: Imported) -> _Compiled:
        """Compile a graph, and keep it under a key.

        Its weights are constants, which devices lay out as they need, unless they are too large.
        """
        self.params |= imported.parameters
        backend = self.backend
        executable = await backend.compile(imported.graph, constants=imported.parameters)
        tensors: list[DeviceTensor] = []
        try:
            await self._upload(executable, imported.parameters)
            inputs = {
                name: self._weights.get(name) or await self._tensor(type, tensors)
                for name, type in executable.inputs.items()
            }
            outputs = {
                name: await self._tensor(type, tensors) for name, type in executable.outputs.items()
            }
        except BaseException:
            backend.release(executable, *tensors)
            raise
        names = [name for name in executable.inputs if name not in self._weights]
        runner = backend.runner(executable, inputs, outputs, names, list(executable.outputs))
        inside = [a for n, a in imported.parameters.items() if n not in executable.inputs]
        size = sum(array.data.nbytes for array in inside)
        entry = self._compiled[key] = _Compiled(imported, executable, names, tensors, runner, size)
        limit = self.backend.budget.graph_bytes  # each graph has its own copy of the weights
        while len(self._compiled) > 1 and self._constant_bytes() > limit:
            self._compiled.free_oldest()
        return entry

    def _constant_bytes(self) -> int:
        """Return the size of the constants in all compiled graphs."""
        return sum(entry.bytes for entry in self._compiled.values())

    def _free(self, entry: _Compiled) -> None:
        """Free the device memory of a compiled graph."""
        entry.runner.close()
        self.backend.release(*entry.tensors, entry.executable)

    async def _tensor(self, type: TensorType, tensors: list[DeviceTensor]) -> DeviceTensor:
        tensors.append(await self.backend.tensor(type))
        return tensors[-1]

    async def _upload(self, executable: Executable, weights: Mapping[str, HostArray]) -> None:
        """Upload weights that are too large for constants: all graphs share them."""
        for name, array in weights.items():
            if name in executable.inputs and name not in self._weights:
                type = TensorType(array.dtype, array.shape)
                self._weights[name] = await self.backend.tensor(type, array)
                self.backend.claim("parameters", self._weights[name])


def _estimate_seconds(model: ModelProto) -> float:
    from webnnm.formats.onnx.work import onnx_seconds_on_numpy

    return onnx_seconds_on_numpy(model)


def _can_embed(array: HostArray) -> bool:
    """Return whether an input is small enough to be a constant of a graph, and decide shapes there.

    Other values that shapes depend on are computed first, and the rest of the model afterwards.
    """
    return count(array.shape) <= (MAX_SHAPE_SIZE if is_float(array.dtype) else MAX_EMBEDDED_SIZE)


def _dtype(value: ValueInfo) -> DataType | None:
    """Return the type in which an input takes its data, None if WebNN has none that holds it."""
    for code, name in tensors.NAMES.items():
        if name == value.dtype and code in tensors.DTYPES:
            return tensors.DTYPES[code]
    return None
