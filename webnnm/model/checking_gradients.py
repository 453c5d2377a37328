"""The gradients of a model against central differences: by parameter, and operator by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.backends.automatic import AutomaticBackend
from webnnm.backends.base import Backend, Executable
from webnnm.backends.kernels import Program, computable
from webnnm.backends.pyodide_host import in_browser
from webnnm.backends.reference import Namespace
from webnnm.core.arrays import HostArray
from webnnm.core.differences import (
    OFFSETS,
    Comparison,
    GradientReport,
    Slope,
    choose_step,
    get_tolerance,
    sample_elements,
    unravel_index,
)
from webnnm.core.dtypes import FLOAT_INFO, DataType, is_float
from webnnm.core.errors import DataError
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import ConstantNode, Graph, Operand, OperatorNode
from webnnm.graph.transforms.autodiff import backward
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.state import ModelState
from webnnm.training.forward import OutputLoss, get_label_forms
from webnnm.training.probe_step import build_measurements
from webnnm.training.step import get_target_type
from webnnm.training.step_settings import MASK, TARGET

ROWS = 8
ELEMENTS = 8
"""Rows of the data, and elements of each parameter and operand, that are taken."""
FINEST = 8 * FLOAT_INFO["float32"].eps
"""How far gradients may be off even in float64: the constants of models are float32."""
LOSS = "loss"
Values = dict[str, Sequence[float]]


@dataclass(frozen=True)
class ModelGradients:
    """The result of the comparison: gradients of the loss by every parameter, and those of every
    operator by its operands."""

    parameters: GradientReport
    operators: GradientReport

    @property
    def ok(self) -> bool:
        """Whether gradients could be compared and none differs."""
        return self.parameters.ok and not self.operators.faults

    def to_dict(self) -> dict[str, Any]:
        """Return both reports as plain values."""
        return {
            "ok": self.ok,
            "parameters": self.parameters.to_dict()["comparisons"],
            "operators": self.operators.to_dict()["comparisons"],
        }

    def __str__(self) -> str:
        return f"parameters\n{self.parameters}\n\noperators, each on its own\n{self.operators}"


async def check_gradients(
    state: ModelState,
    *,
    rows: int = ROWS,
    elements: int = ELEMENTS,
    tolerance: float | None = None,
) -> ModelGradients:
    """Compare the gradients of a model with central differences at its present parameters.

    The rows are the first training rows of the model's dataset; without one they are random
    numbers. Layers work as in inference: nothing is dropped out. On NumPy, and on desktops if
    "auto" chose the backend, everything is computed in float64, otherwise in the backend's float32.

    Raises `DataError` NNM605 for a model without trainable parameters.
    """
    losses = state.losses()
    inputs, targets, masks = _data(state, losses, rows)
    inputs_of_graph = {**inputs, **{TARGET + n: a for n, a in targets.items()}}
    inputs_of_graph |= {MASK + n: a for n, a in masks.items()}
    size = len(next(iter(inputs_of_graph.values())))
    measurements = build_measurements(
        state.trained_network,
        losses,
        rows=size,
        sequence=state.sequence,
        masks=_types(masks),
        targets=_types(targets),
    )
    if not measurements.gradients:
        raise DataError("NNM605", "the model has no trainable parameters", hint="check freeze")
    for name in measurements.lowered.parameters:
        inputs_of_graph[PARAMETER_PREFIX + name] = state.parameters.value(name)
    b, loss = measurements.lowered.builder, measurements.figures["loss"]
    check = _Check(state.backend, elements, tolerance)
    values = {name: [*array.values()] for name, array in inputs_of_graph.items()}
    loss_graph = b.build({LOSS: loss})
    gradients = {PARAMETER_PREFIX + name: g for name, g in measurements.gradients.items()}
    parameters = await check.compare(
        loss_graph, b.build(gradients), values, {name: name.split("/", 1)[1] for name in gradients}
    )
    operator_names = _OperatorNames(measurements.lowered.source)
    operators: list[Comparison] = []
    for node, operands in await check.list_operators(loss_graph, values):
        operators += await check.operator(node, operands, operator_names.describe(node))
    return ModelGradients(GradientReport(parameters), GradientReport(operators))


class _OperatorNames:
    """The names of operators: their labels and their positions in the text."""

    def __init__(self, source: str) -> None:
        self._source = source

    def describe(self, node: OperatorNode) -> str:
        """Return the label of an operator and its line and column."""
        name = node.operator.name
        text = node.label if node.label.startswith(name) else f"{node.label} {name}".strip()
        if node.span is None:
            return text
        line, column = node.span.position(self._source)
        return f"{text} (line {line}, column {column})"


class _Check:
    """Computes graphs on a backend, and compares gradients with differences."""

    def __init__(self, backend: Backend, elements: int, tolerance: float | None) -> None:
        self._backend = backend
        self._elements = elements
        self._dtype: DataType = "float64" if _is_wide(backend) else "float32"
        self._tolerance = tolerance or max(get_tolerance(self._dtype), FINEST)

    async def _compute(self, graph: Graph, given: Mapping[str, Sequence[float]]) -> Values:
        async with _Computer(self._backend, graph) as computer:
            return await computer.values(given)

    async def compare(
        self,
        loss: Graph,
        gradients: Graph,
        given: Mapping[str, Sequence[float]],
        names: Mapping[str, str],
    ) -> list[Comparison]:
        """Compare gradients, outputs under the names of inputs; `names` are those of places."""
        slopes = await self._compute(gradients, given)
        comparisons: list[Comparison] = []
        async with _Computer(self._backend, loss) as computer:
            (here,) = (await computer.values(given))[LOSS]

            async def at(name: str, element: int, by: float) -> float:
                shifted = [*given[name]]
                shifted[element] += by
                return (await computer.values({**given, name: shifted}))[LOSS][0]

            for name, description in names.items():
                gradient, shape = slopes[name], gradients.outputs[name].shape
                for element in sample_elements(len(gradient), self._elements):
                    h = choose_step(given[name][element], self._dtype)
                    losses = [await at(name, element, by * h) if by else here for by in OFFSETS]
                    comparison = Comparison(
                        place=description,
                        index=unravel_index(element, shape),
                        gradient=gradient[element],
                        slope=Slope.of(losses, h, self._dtype),
                        scale=max(map(abs, gradient)),
                        tolerance=self._tolerance,
                    )
                    comparisons.append(comparison)
        return comparisons

    async def list_operators(
        self, graph: Graph, given: Mapping[str, Sequence[float]]
    ) -> list[tuple[OperatorNode, list[Sequence[float]]]]:
        """Return the operators of a graph with float operands, and what these are."""
        nodes = [node for node in graph.nodes() if isinstance(node, OperatorNode)]
        nodes = [node for node in nodes if any(map(_is_differentiable, node.operands))]
        operands = {f"{o.number} {o.index}": o for node in nodes for o in node.operands if o}
        results = {n: o for n, o in operands.items() if isinstance(o.node, OperatorNode)}
        values = await self._compute(Graph(results, graph.inputs), given)
        for name, operand in operands.items():
            if name not in results:
                node = operand.node
                constant = isinstance(node, ConstantNode)
                values[name] = [*node.array.values()] if constant else given[node.name]  # pyrefly: ignore[missing-attribute]
        return [
            (node, [values[f"{o.number} {o.index}"] if o else () for o in node.operands])
            for node in nodes
        ]

    async def operator(
        self, node: OperatorNode, operands: Sequence[Sequence[float]], place: str
    ) -> list[Comparison]:
        """Compare the gradients of one operator by the operands that may change."""
        if getattr(node.operator, "straight_through", False):
            return []  # its declared gradient is not its derivative, on purpose
        b = GraphBuilder()
        values_by_input: dict[str, Sequence[float]] = {}
        copies: dict[Operand, Operand] = {}
        names: dict[str, str] = {}
        slots = node.operator.operand_names
        for at, (x, values) in enumerate(zip(node.operands, operands, strict=True)):
            if x is None or x in copies:
                continue
            if not _is_differentiable(x):
                copies[x] = b.constant(HostArray.of([*values], x.dtype, x.shape))
                continue
            copies[x] = b.input(f"x{at}", *x.type)
            values_by_input[f"x{at}"] = values
            slot = f"{slots[0]}[{at}]" if node.operator.variadic else slots[at]
            names[f"x{at}"] = f"{place} by {slot}"
        operands_of_copy = tuple(x and copies[x] for x in node.operands)
        results = b.adopt(node.at(len(b.nodes), operands_of_copy))
        loss = _sum_weighted(b, [y for y in results if is_float(y.dtype)])
        if loss is None:
            return []
        xs = [x for name, x in b.inputs.items() if name in names]
        pairs = zip(names, backward(loss, xs), strict=True)
        gradients = {name: g for name, g in pairs if g is not None}
        if not gradients:
            return []
        return await self.compare(
            b.build({LOSS: loss}),
            b.build(gradients),
            values_by_input,
            {n: names[n] for n in gradients},
        )


def _is_differentiable(x: Operand | None) -> bool:
    """Return whether an operand has floats and is not a constant."""
    return x is not None and is_float(x.dtype) and not isinstance(x.node, ConstantNode)


def _sum_weighted(b: GraphBuilder, results: Sequence[Operand]) -> Operand | None:
    """Return Σ w·y over the elements of results, with random weights from −1 to 1."""
    total: Operand | None = None
    for at, y in enumerate(results):
        numbers = Stream(0, Purpose.RANDOMIZE, at).uniform(count(y.shape))
        weights = b.constant([2 * w - 1 for w in numbers], y.dtype, y.shape)
        part = b.reduce_sum(y * weights)
        total = part if total is None else total + part
    return total


def _is_wide(backend: Backend) -> bool:
    """Return whether NumPy computes in float64 instead of the backend."""
    return backend.on_host or (isinstance(backend, AutomaticBackend) and not in_browser())


class _Computer:
    """A graph on a backend, for repeated computation; NumPy computes it in float64."""

    def __init__(self, backend: Backend, graph: Graph) -> None:
        self._backend, self._graph = backend, graph
        self._program: Program | None = None
        self._executable: Executable | None = None

    async def __aenter__(self) -> _Computer:
        if _is_wide(self._backend):
            self._program = Program(computable(self._graph), Namespace(wide=True))
        else:
            self._executable = await self._backend.compile(self._graph)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._executable is not None:
            self._backend.release(self._executable)

    async def values(self, given: Mapping[str, Sequence[float]]) -> Values:
        """Return the elements of the outputs for those of the inputs."""
        if self._program is not None:
            return {n: y.reshape(-1).tolist() for n, y in self._program(given).items()}
        assert self._executable is not None
        types = self._executable.inputs
        arrays = {n: HostArray.of([*given[n]], t.dtype, t.shape) for n, t in types.items()}
        arrays_by_name = await self._executable.run_host(arrays)
        return {name: [*array.values()] for name, array in arrays_by_name.items()}


# The rows.


def _types(arrays: Mapping[str, HostArray]) -> dict[str, TensorType]:
    return {name: TensorType(array.dtype, array.shape) for name, array in arrays.items()}


Arrays = Mapping[str, HostArray]


def _data(
    state: ModelState, losses: Mapping[str, OutputLoss], rows: int
) -> tuple[Arrays, Arrays, Arrays]:
    """Return inputs, targets and masks of some rows."""
    if not state.has_dataset:
        return *_draw(state.trained_network, losses, state.sequence, rows), {}
    binding = state.binding()
    inputs, targets = binding.arrays("training", get_label_forms(losses))
    row_numbers = range(min(rows, binding.dataset.size("training")))
    masks = binding.masks("training")
    parts = (
        {n: a.rows(row_numbers) for n, a in arrays.items()} for arrays in (inputs, targets, masks)
    )
    return next(parts), next(parts), next(parts)


def _draw(
    network: Network, losses: Mapping[str, OutputLoss], sequence: Mapping[str, int], rows: int
) -> tuple[Arrays, Arrays]:
    """Return random inputs, and targets such as the losses take."""
    lowered = lower_network(network, batch=rows, sequence=sequence)
    inputs = {name: _uniform(name, x.type) for name, x in lowered.inputs.items()}
    targets = {
        name: _target(name, losses[name], get_target_type(losses[name], y.type), y.shape)
        for name, y in lowered.outputs.items()
    }
    return inputs, targets


def _uniform(name: str, type: TensorType) -> HostArray:
    """Return numbers from −1 to 1, of integers 0 and 1."""
    drawn = Stream(0, Purpose.RANDOMIZE, name).uniform(count(type.shape))
    values = [2 * x - 1 for x in drawn] if is_float(type.dtype) else [round(x) for x in drawn]
    return HostArray.of(values, type.dtype, type.shape)


def _target(name: str, loss: OutputLoss, type: TensorType, shape: Shape) -> HostArray:
    drawn = Stream(0, Purpose.RANDOMIZE, TARGET + name).uniform(count(type.shape))
    classes = shape[-1] if shape else 1
    if loss.labels == "classes":
        values: list[float] = [int(x * classes) for x in drawn]
    elif loss.labels == "signs":
        values = [1.0 if x > 0.5 else -1.0 for x in drawn]
    elif loss.labels == "distribution":
        starts = [int(x * classes) for x in drawn[::classes]]
        values = [float(k == at) for at in starts for k in range(classes)]
    else:
        values = [*drawn]
    return HostArray.of(values, type.dtype, type.shape)
