"""An inference context: inputs and outputs of one batch size (spec H)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable, Runner
from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError, suggestion
from webnnm.core.naming import by_javascript_name
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import as_python, count, is_integer
from webnnm.data.binding.binding import check_ids, find_embedding_tables
from webnnm.data.preparation.standardize import Standardization
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, Operand
from webnnm.ops.declare.padding import is_below
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from webnnm.runtime.inference.compilation import Compilation
    from webnnm.runtime.parameters import ReadableParameters

Standardizations = Callable[[], Mapping[str, Standardization]]

LENGTH = "length/"
"""The prefix of graph inputs with the lengths of padded rows, and of results for outputs."""


def build_inference_graph(
    network: Network, batch: int, sequence: Mapping[str, int], masked: Container[str]
) -> Graph:
    """Return the graph of all outputs; sequences that are `masked` have inputs under `LENGTH`."""
    b = GraphBuilder()
    masks: dict[str, Operand] = {}
    for vertex in network.inputs:
        name = vertex.features[0].sequence
        if name is not None and name in masked and name not in masks:
            lengths = b.input(LENGTH + name, "float32", [batch])
            valid = is_below(b, lengths, vertex.length or sequence[name])
            masks[name] = b.cast(valid, type="float32")
    lowered = lower_network(network, batch=batch, sequence=sequence, builder=b, masks=masks)
    counts = {LENGTH + n: b.reduce_sum(m, axes=[1]) for n, m in lowered.masks.items()}
    return b.build(lowered.outputs | counts)


@require_await_of_methods("context")
class InferenceContext:
    """Holds the data of one inference; made by `NNModel.create_context`.

    >>> import asyncio
    >>> from webnnm import NNModel
    >>> async def squares():
    ...     source = "m:input shape=[3]; m:output shape=[3]; m:layers pow(2);"
    ...     model = await NNModel.create(source=source, log=lambda line: None)
    ...     context = await model.create_context()
    ...     _ = context.set_data([1, 2, 3])
    ...     await model.run(context)
    ...     return (await context.output()).tolist()
    >>> asyncio.run(squares())
    [[1.0, 4.0, 9.0]]
    """

    def __init__(
        self,
        network: Network,
        backend: Backend,
        parameters: ReadableParameters,
        standardizations: Standardizations,
        *,
        batch_size: int,
        sequence: Mapping[str, int],
        seed: int,
    ) -> None:
        self._network = network
        self._backend = backend
        self._parameters = parameters
        self._standardizations = standardizations
        self._batch = _positive("batch_size", batch_size)
        self._sequence = dict(sequence)
        self._seed = seed
        self._input_names = [vertex.block for vertex in network.inputs]
        self._output_names = [output.name for output in network.outputs]
        self._tables = find_embedding_tables(network)
        self._types: dict[str, TensorType] = {}
        self._data: dict[str, HostArray] = {}
        self._lengths: dict[str, HostArray] = {}
        self._masked: set[str] = set()
        self._executable: Executable | None = None
        self._version: int | None = None
        self._tensors: dict[str, DeviceTensor] = {}
        self._results: dict[str, DeviceTensor] = {}
        self._runner: tuple[int, Runner] | None = None
        self._results_on_host: dict[str, HostArray] = {}

    @property
    def batch_size(self) -> int:
        """The number of samples."""
        return self._batch

    def set_batch_size(self, batch_size: int) -> None:
        """Set the number of samples from the next run on; data must be set again."""
        self._batch = _positive("batch_size", batch_size)
        self._forget()

    @property
    def sequence(self) -> Mapping[str, int]:
        """The lengths of sequences by name."""
        return self._sequence

    def set_sequence_length(self, length: int | Mapping[str, int]) -> None:
        """Set the length of all sequences, or of sequences by name; data must be set again."""
        if isinstance(length, Mapping):
            self._sequence |= {n: _positive(n, size) for n, size in length.items()}
        else:
            names = {vertex.features[0].sequence for vertex in self._network.inputs}
            length = _positive("sequence_length", length)
            self._sequence |= {name: length for name in names if name is not None}
        self._forget()

    def set_lengths(self, lengths: Mapping[str, Sequence[int]] | None) -> None:
        """Set how many positions of every row count: sequence name → one number per row.

        >>> import asyncio
        >>> from webnnm import NNModel
        >>> async def means():
        ...     source = '''m:input shape=[] sequence=words; m:output shape=[];
        ...         m:layers reduceMean(axes=[words]);'''
        ...     model = await NNModel.create(source=source, log=lambda line: None)
        ...     context = await model.create_context(2, sequence_length=3)
        ...     context.set_lengths({"words": [3, 1]})
        ...     _ = context.set_data([[1, 2, 6], [5, 0, 0]])
        ...     await model.run(context)
        ...     return (await context.output()).tolist()
        >>> asyncio.run(means())
        [3.0, 5.0]

        The positions after that are padding: the results of a row are those of the row without it.
        A sequence that is not named is full; None makes all sequences full. The lengths apply until
        they are set again. Setting them for the first time and removing them compiles another
        graph.

        Raises `DataError` NNM710 for an unknown sequence, NNM702 for a wrong number of rows,
        NNM711 for a length that is not between 1 and the length of the sequence.
        """
        vertices = {
            v.features[0].sequence: v for v in self._network.inputs if v.features[0].sequence
        }
        arrays: dict[str, HostArray] = {}
        for name, lengths_of_rows in (lengths or {}).items():
            if name not in vertices:
                hint = (
                    suggestion(name, [n for n in vertices if n]) or "sequences are named by inputs"
                )
                raise DataError("NNM710", f'there is no sequence "{name}"', hint=hint)
            longest = self._type(vertices[name].block).shape[1]
            if len(lengths_of_rows) != self._batch:
                raise DataError(
                    "NNM702",
                    f'"{name}": {len(lengths_of_rows)} lengths for a batch of {self._batch} rows',
                )
            for row, length in enumerate(lengths_of_rows):
                if not is_integer(length) or not 1 <= length <= longest:
                    raise DataError(
                        "NNM711",
                        f'"{name}": the length of row {row} is {length!r}',
                        hint=f"give an integer from 1 to {longest}",
                    )
            arrays[name] = HostArray.of([float(length) for length in lengths_of_rows])
        self.mask(arrays)
        self._lengths = {LENGTH + name: array for name, array in arrays.items()}

    def mask(self, sequences: Iterable[str]) -> None:
        """Take the lengths of rows for these sequences, with another graph if these change."""
        if self._masked != {*sequences}:
            self._drop()
        self._masked = {*sequences}

    def set_data(self, *name_and_data: Any, raw: bool = False) -> Any:
        """Set an input and return it as an array: `set_data(data)` or `set_data(name, data)`.

        The data are an array, nested lists, or a number that fills the input. They have as many
        elements as the input, `[batch, sequence?, features…]`. `raw` data are in the units of the
        dataset and are standardised like its training rows, if those were standardised.

        Raises `DataError` NNM702 for another number of elements and for ids that an embedding has
        no row for, NNM710 for an unknown name.
        """
        name, data = self._name_and_rest(name_and_data)
        type = self._type(name)
        if raw or not isinstance(data, HostArray) or (data.dtype, data.shape) != type:
            data = self._fitting(name, data, type, raw=raw)
        array = HostArray.of(data, shape=type.shape, copy=True)
        if name in self._tables:
            check_ids(f'input "{name}"', array, *self._tables[name])
        self._data[name] = array
        return array.public()

    def _fitting(self, name: str, data: Any, type: TensorType, *, raw: bool) -> HostArray:
        """Return data for an input as an array of its data type, with as many elements."""
        data = as_python(data)
        if isinstance(data, (int, float)):
            data = [data] * count(type.shape)
        if raw:
            data = self._standardize(name, HostArray.of(data))
        array = HostArray.of(data, type.dtype)
        if count(array.shape) != count(type.shape):
            raise DataError(
                "NNM702",
                f'input "{name}" takes {count(type.shape)} values {type}, '
                f"but {count(array.shape)} are given",
                hint="see set_batch_size and set_sequence_length",
            )
        return array

    def randomize(
        self, name: str | None = None, lower: float = -1, upper: float = 1, seed: int | None = None
    ) -> Any:
        """Fill an input with uniform numbers from `lower` to `upper` and return the array.

        Integer inputs get whole numbers, both bounds included, those of an embedding ids it has.
        """
        name, _ = self._name_and_rest((name, None) if name else (None,))
        type = self._type(name)
        n = count(type.shape)
        stream = Stream(self._seed if seed is None else seed, Purpose.RANDOMIZE, name)
        if is_float(type.dtype):
            values: list[float] = [lower + (upper - lower) * u for u in stream.uniform(n)]
        else:
            low, high = int(lower), int(upper)
            if name in self._tables:  # its numbers are rows of a table
                low, high = max(0, low), min(high, self._tables[name][1] - 1)
            values = [low + stream.below(high - low + 1) for _ in range(n)]
        return self.set_data(name, HostArray.of(values, type.dtype, type.shape))

    async def input(self, name: str | None = None) -> Any:
        """Return the data of an input, by default the only one."""
        return self._require_data(
            self._find_name(name, "input", self._input_names), self._data
        ).public()

    async def output(self, name: str | None = None) -> Any:
        """Return an output of the last run, by default the first one."""
        names = self._output_names
        return self._output(names[0] if name is None else self._find_name(name, "output", names))

    async def outputs(self) -> dict[str, Any]:
        """Return all outputs of the last run."""
        return {name: self._output(name) for name in self._output_names}

    def _output(self, name: str) -> Any:
        if not self._results_on_host:
            raise DataError("NNM702", "there is no output before a run", hint="await model.run(…)")
        array = self._results_on_host[name]
        return HostArray(array.dtype, array.shape, bytearray(array.data)).public()

    def clear_data(self) -> None:
        """Forget the data of all inputs."""
        self._data = {}

    async def run(self) -> None:
        """Compute the outputs with the current parameters; the graph is compiled on first use."""
        self._results_on_host = await self.compute(self._data | self._lengths)

    async def compute(self, data: Mapping[str, HostArray]) -> dict[str, HostArray]:
        """Return the outputs for these data, one array of its type for every input.

        Lengths of padded rows are inputs under `LENGTH`, if `mask` or `set_lengths` was called; for
        every output with padded positions, the number that count in each row is an output under
        `LENGTH`.
        """
        if not self.ready:
            self._parameters.readable()
            await self._bind()
        outputs = await self.begin([self._require_data(name, data) for name in self._tensors])
        return dict(zip(self._results, outputs, strict=True))

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Begin a run of a graph that is `ready`; outputs come in its order."""
        self._parameters.readable()
        assert self._runner is not None
        return self._runner[1].begin(data)

    @staticmethod
    def _require_data(name: str, data: Mapping[str, HostArray]) -> HostArray:
        if name not in data:
            raise DataError("NNM702", f'input "{name}" has no data', hint="set_data or randomize")
        return data[name]

    @property
    def ready(self) -> bool:
        """Whether the graph is bound to the current parameters."""
        return self._runner is not None and self._runner[0] == self._parameters.version

    async def _bind(self) -> None:
        """Bind the graph to the tensors of the current parameters."""
        executable = await self._compile()
        self._unbind()
        bound = self._parameter_tensors() | self._tensors
        runner = self._backend.runner(
            executable, bound, self._results, [*self._tensors], [*self._results]
        )
        self._runner = self._parameters.version, runner

    def _unbind(self) -> None:
        if self._runner is not None:
            self._runner[1].close()
            self._runner = None

    def close(self) -> None:
        """Free the tensors of this context."""
        self._forget()

    async def compile(self) -> Compilation:
        """Build the graph with the current parameters as constants, and return its times.

        This makes it about twice as fast. When parameters change, the next run uses the graph that
        takes them as inputs again.
        """
        from webnnm.runtime.inference.compilation import Compilation, run_times

        began = time.perf_counter()
        self._drop()
        executable = await self._compile(self._parameter_tensors())
        self._version = self._parameters.version
        build = time.perf_counter() - began
        left = {n: t for n, t in self._parameter_tensors().items() if n in executable.inputs}
        first, steady = await run_times(
            self._backend, executable, self._tensors | left, self._results
        )
        sizes = [
            type.nbytes
            for name, type in self._parameters.types.items()
            if PARAMETER_PREFIX + name not in left
        ]
        return Compilation(
            batch_size=self._batch, constants=sum(sizes), build=build, first=first, steady=steady
        )

    @property
    def compiled(self) -> bool:
        """Whether the current parameters are built into the graph."""
        return self._version == self._parameters.version

    def _parameter_tensors(self) -> dict[str, DeviceTensor]:
        return {PARAMETER_PREFIX + name: t for name, t in self._parameters.readable().items()}

    async def _compile(self, constants: Binding | None = None) -> Executable:
        if self._version is not None and not self.compiled:
            self._drop()
        if self._executable is None:
            self._executable = await self._backend.compile(self._graph(), constants=constants)
            for name, type in self._executable.inputs.items():
                if not name.startswith(PARAMETER_PREFIX):
                    self._tensors[name] = await self._backend.tensor(type)
            for name, type in self._executable.outputs.items():
                self._results[name] = await self._backend.tensor(type)
            self._backend.claim("inference", *self._tensors.values(), *self._results.values())
        return self._executable

    def _graph(self) -> Graph:
        return build_inference_graph(self._network, self._batch, self._sequence, self._masked)

    def _standardize(self, name: str, data: HostArray) -> HostArray:
        standardization = self._standardizations().get(name)
        return data if standardization is None else standardization.apply(data)

    def _forget(self) -> None:
        self._drop()
        self._data = {}
        self._lengths = {}
        self._masked = set()
        self._types = {}

    def _drop(self) -> None:
        self._unbind()
        self._backend.release(*self._tensors.values(), *self._results.values())
        if self._executable is not None:
            self._backend.release(self._executable)
        self._tensors = {}
        self._results = {}
        self._executable = None
        self._version = None
        self._results_on_host = {}

    def _type(self, name: str) -> TensorType:
        """Return the type of an input for the current batch size and sequence lengths."""
        if name not in self._types:
            self._types[name] = self._type_now(name)
        return self._types[name]

    def _type_now(self, name: str) -> TensorType:
        vertex = next(vertex for vertex in self._network.inputs if vertex.block == name)
        features = vertex.features[0]
        lead: tuple[int, ...] = (self._batch,)
        if features.sequence is not None:
            length = vertex.length or self._sequence.get(features.sequence)
            if length is None:
                raise DataError(
                    "NNM711",
                    f'the length of sequence "{features.sequence}" is not known',
                    hint="call set_sequence_length(n)",
                )
            lead += (length,)
        return TensorType(vertex.dtype, (*lead, *features.sizes()))

    def _name_and_rest(self, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        if len(arguments) == 1:
            return self._find_name(None, "input", self._input_names), arguments[0]
        if len(arguments) != 2:
            raise DataError("NNM710", "pass the data, or a name and the data")
        return self._find_name(arguments[0], "input", self._input_names), arguments[1]

    def _find_name(self, name: str | None, what: str, names: list[str]) -> str:
        if name is None:
            if len(names) > 1:
                listed = ", ".join(names)
                raise DataError("NNM710", f"which {what}? There are {listed}", hint="pass a name")
            return names[0]
        block = name.removesuffix(f":{what}")
        if block not in names:
            hint = suggestion(block, names) or f"available: {', '.join(names)}"
            raise DataError("NNM710", f'there is no {what} "{name}"', hint=hint)
        return block

    def __getattr__(self, name: str) -> Any:
        """Return a method by its name in JavaScript (spec H)."""
        return by_javascript_name(self, name)


def _positive(name: str, value: int) -> int:
    if not is_integer(value) or value < 1:
        raise DataError("NNM704", f"{name} is {value!r}", hint="give an integer from 1")
    return int(value)  # plans are JSON, which NumPy's numbers are not
