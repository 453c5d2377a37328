"""Models as functions of arrays: parameters and data in, outputs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from webnnm.core.errors import DataError, suggestion
from webnnm.data.binding.binding import check_ids, find_embedding_tables
from webnnm.eager.array import Array, bounds, convert_dtype, host_array
from webnnm.eager.calls import evaluate
from webnnm.eager.creation import asarray
from webnnm.eager.device import Device
from webnnm.eager.dtypes import dtype_of, float32, is_kind
from webnnm.eager.random import bits, fold_in
from webnnm.eager.types import astype
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph
from webnnm.ops.declare.generator import MODULI
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.freezing import compute_multipliers

if TYPE_CHECKING:
    from collections.abc import Callable

    from webnnm.runtime.state import ModelState

KEPT_GRAPHS = 16
"""How many graphs of different sizes a function keeps; beyond that, the oldest is dropped."""

_T = TypeVar("_T")
Parameters = Mapping[str, Any]
"""Arrays by the names of parameters."""


def param_arrays(state: ModelState, *, trainable: bool, device: Device | None) -> dict[str, Array]:
    """Return the values of a model's parameters as arrays: all, or the trainable ones."""
    learning = {name for name, factor in compute_multipliers(state.network).items() if factor > 0}
    arrays: dict[str, Array] = {}
    for vertex in state.network.parameters:
        if vertex.packing:
            message = f'the parameter "{vertex.name}" is packed, and cannot be used as an array'
            raise DataError("NNM704", message, hint="unpack it: await webnnm.quantize(model, None)")
        if vertex.name in learning or not trainable:
            arrays[vertex.name] = asarray(state.parameters.value(vertex.name), device=device)
    return arrays


class NetworkFunction:
    """A network as a function; its graphs are cached by size."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._tables = find_embedding_tables(network)
        self._cache: dict[Any, _Program] = {}

    def __call__(
        self, params: Parameters, inputs: Sequence[Any], training: bool, key: Array | None
    ) -> Any:
        """Return what `NNModel.apply` does."""
        arrays = name_inputs([vertex.block for vertex in self._network.inputs], inputs)
        self._check_ids(arrays)
        program = self._build_program(arrays, training)
        results = compute_graph(program.graph, arrays, params, _first_states(program, key))
        outputs = {output.name: results.pop(output.name) for output in self._network.outputs}
        result = only_output(outputs)
        updates = {name.removeprefix(PARAMETER_PREFIX): x for name, x in results.items()}
        return (result, updates) if training else result

    def _check_ids(self, arrays: Mapping[str, Array]) -> None:
        """Refuse known numbers that the table of an embedding has no row for (NNM702)."""
        for block, (name, rows) in self._tables.items():
            x = arrays[block]
            limits = bounds(x) if is_kind(x.dtype, "integral") else None
            if limits is not None and not 0 <= limits[0] <= limits[1] < rows:
                check_ids(f'input "{block}"', host_array(x), name, rows)

    def _build_program(self, arrays: Mapping[str, Array], training: bool) -> _Program:
        """Return the graph for the sizes of some inputs."""
        batch, lengths = 1, dict[str, int]()
        for vertex in self._network.inputs:
            features, shape = vertex.features[0], arrays[vertex.block].shape
            rank = 1 + (features.sequence is not None) + len(features.sizes())
            if len(shape) != rank:
                raise _mismatch_error(
                    vertex.block, arrays[vertex.block], f"{rank} dimensions, rows first"
                )
            batch = shape[0]
            if features.sequence is not None:
                lengths[features.sequence] = shape[1]
        key = batch, training, *lengths.items()
        return keep(self._cache, key, partial(self._new, batch, lengths, training))

    def _new(self, batch: int, lengths: Mapping[str, int], training: bool) -> _Program:
        lowered = lower_network(self._network, batch=batch, sequence=lengths, training=training)
        drawn = {name for states in lowered.generators.values() for name in states}
        updates = {name: x for name, x in lowered.updates.items() if name not in drawn}
        return _Program(lowered.builder.build(lowered.outputs | updates), lowered.generators)


@dataclass(frozen=True)
class _Program:
    """A graph of outputs and new states, and the layers that draw random numbers."""

    graph: Graph
    generators: Mapping[str, Sequence[str]]


def _first_states(program: _Program, key: Array | None) -> dict[str, Array]:
    """Return the states of random generators for a key, from 1 to their moduli − 1."""
    if program.generators and key is None:
        layers = ", ".join(program.generators)
        raise DataError(
            "NNM714",
            f"layers that draw random numbers need a key: {layers}",
            hint="model.apply(params, x, training=True, key=random.key(0)), a new key every step",
        )
    seeds: dict[str, Array] = {}
    for at, states in enumerate(program.generators.values()):
        assert key is not None
        drawn = bits(fold_in(key, at), program.graph.inputs[states[0]].shape)
        for name, modulus in zip(states, MODULI, strict=True):
            # One number makes two states; it does no harm that the third hardly varies, since the
            # fraction of a sum is as uniform as any of its parts.
            seeds[name] = astype(drawn % (modulus - 1) + 1, float32)
            drawn = drawn // (modulus - 1)
    return seeds


def name_inputs(names: Sequence[str], inputs: Sequence[Any]) -> dict[str, Array]:
    """Return the arrays of all inputs by name, given in their order or as one dictionary.

    Raises `DataError` NNM710 for wrong names or a wrong number of inputs.
    """
    expected = ", ".join(names)
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        arrays: dict[str, Any] = dict(inputs[0])
        if wrong := arrays.keys() ^ {*names}:
            raise DataError(
                "NNM710", f"the inputs are {expected}; check {', '.join(sorted(wrong))}"
            )
    elif len(inputs) == len(names):
        arrays = dict(zip(names, inputs, strict=True))
    else:
        hint = "give one array for each, or a dictionary of all inputs"
        raise DataError("NNM710", f"{len(inputs)} arrays for the inputs {expected}", hint=hint)
    return {name: x if isinstance(x, Array) else asarray(x) for name, x in arrays.items()}


def compute_graph(
    graph: Graph,
    inputs: Mapping[str, Array],
    params: Parameters,
    states: Mapping[str, Array],
    *,
    prefix: str = PARAMETER_PREFIX,
) -> dict[str, Array]:
    """Return the outputs of a graph for inputs, parameters and states of random generators."""
    arrays: dict[str, Array] = {}
    for name, operand in graph.inputs.items():
        if name in states:
            arrays[name] = states[name]
            continue
        parameter = name.removeprefix(prefix)
        if name not in inputs and parameter not in params:
            hint = suggestion(parameter, params) or "params = model.param_arrays() has all of them"
            raise DataError("NNM710", f'params has no "{parameter}"', hint=hint)
        value = inputs[name] if name in inputs else params[parameter]
        arrays[name] = _fit_dtype(parameter, value, operand.type)
    return evaluate(graph, arrays)


def _fit_dtype(name: str, value: Any, type: TensorType) -> Array:
    """Return an array in the type that a graph takes, if they differ only in the number of bits."""
    x = value if isinstance(value, Array) else asarray(value)
    target = dtype_of(type.dtype)
    alike = x.dtype.tensor == type.dtype or any(
        is_kind(x.dtype, kind) and is_kind(target, kind) for kind in ("integral", "real floating")
    )
    if x.shape != type.shape or not alike:
        raise _mismatch_error(name, x, str(type))
    return x if x.dtype.tensor == type.dtype else convert_dtype(x, target)


def _mismatch_error(name: str, x: Array, expected: str) -> DataError:
    type = TensorType(x.dtype.tensor, x.shape)
    return DataError("NNM702", f'"{name}" is {type}, the model takes {expected}')


def keep(cache: dict[Any, _T], key: Any, make: Callable[[], _T]) -> _T:
    """Return what is cached under a key; make it if it is not there."""
    if key not in cache:
        cache[key] = make()
        if len(cache) > KEPT_GRAPHS:
            del cache[next(iter(cache))]
    return cache[key]


def only_output(outputs: dict[str, Array]) -> Any:
    """Return the only output, or a dictionary of several."""
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs
