"""What tests run in the page: graphs, each for itself, on WebNN or ONNX Runtime Web.

It imports webnnm only.

The test process imports the same module: it makes the jobs, and runs their graphs on the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Protocol

from webnnm import ops
from webnnm.backends.onnxruntime_web import OnnxRuntimeWebBackend
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, byte_length, is_float
from webnnm.core.errors import ContextLost, WebNNMError
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph
from webnnm.graph.transforms.autodiff import backward


class Packed(NamedTuple):
    """A host array on its way between the processes; one that is filled travels as one element."""

    dtype: DataType
    shape: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, array: HostArray) -> Packed:
        """Pack an array."""
        data = bytes(array.data)
        width = len(data) // max(1, count(array.shape))  # 0 for the types of half a byte
        if width and data[width:] == data[:-width]:
            data = data[:width]
        return cls(array.dtype, array.shape, data)

    @property
    def array(self) -> HostArray:
        """The array."""
        length = byte_length(self.dtype, count(self.shape))
        times = length // len(self.data) if self.data else 1
        return HostArray(self.dtype, self.shape, self.data * times)


@dataclass(frozen=True)
class Failure:
    """What was raised instead of an answer; `clear` if it is an error of the package.

    `code` is that of such an error; `lost` tells that the context went with it.
    """

    text: str
    clear: bool
    code: str = ""
    lost: bool = False


Answer = Mapping[str, Packed] | Failure


class Job(Protocol):
    """A graph to run: it travels as what it is made from."""

    def graph(self) -> tuple[Graph, Mapping[str, HostArray]]:
        """Build the graph; return it with the values of its inputs."""
        ...


@dataclass(frozen=True)
class Application:
    """An operator applied to inputs x0, x1, …; the results are y0, y1, …

    With `weights`, one tensor for each result of a float type, the gradients of Σ weight · result
    are further outputs: g0 for x0, and so on for the inputs that have one.
    """

    operator: str
    operands: tuple[Packed | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    weights: tuple[Packed, ...] = ()

    def graph(self) -> tuple[Graph, Mapping[str, HostArray]]:
        """Build the graph; return it with the values of its inputs."""
        b = GraphBuilder()
        operator = ops.registry()[self.operator]
        given = {f"x{i}": x for i, x in enumerate(self.operands)}
        xs = [x and b.input(name, x.dtype, x.shape) for name, x in given.items()]
        several = operator.operands and operator.operands[0].variadic
        result = b.apply(operator, [xs] if several else xs, self.options)
        results = result if isinstance(result, tuple) else (result,)
        outputs = {f"y{i}": y for i, y in enumerate(results)}
        feeds = {name: x.array for name, x in given.items() if x is not None}
        if self.weights:
            floats = [y for y in results if is_float(y.dtype)]
            terms: list[Any] = []
            for i, (y, weight) in enumerate(zip(floats, self.weights, strict=True)):
                feeds[f"w{i}"] = weight.array
                terms.append(b.reduce_sum(y * b.input(f"w{i}", weight.dtype, weight.shape)))
            loss = sum(terms[1:], terms[0])
            inputs = {f"g{i}": x for i, x in enumerate(xs) if x and is_float(x.dtype)}
            found = zip(inputs, backward(loss, list(inputs.values())), strict=True)
            outputs |= {name: g for name, g in found if g is not None}
        return b.build(outputs), feeds


@dataclass(frozen=True)
class Chain:
    """Operators with their options, each applied to the first result of the one before."""

    operand: Packed
    steps: tuple[tuple[str, Mapping[str, Any]], ...]

    def graph(self) -> tuple[Graph, Mapping[str, HostArray]]:
        """Build the graph; return it with the values of its input."""
        b = GraphBuilder()
        value: Any = b.input("x0", self.operand.dtype, self.operand.shape)
        for operator, options in self.steps:
            result = b.apply(ops.registry()[operator], [value], options)
            value = result[0] if isinstance(result, tuple) else result
        return b.build({"y0": value}), {"x0": self.operand.array}


async def run(jobs: Mapping[str, Job], name: str = "webnn") -> dict[str, Answer]:
    """Run jobs on a backend; the failure of one is its answer and leaves the others alone."""
    opening = WebNNBackend.open if name == "webnn" else OnnxRuntimeWebBackend.load
    backend = await opening()
    answers: dict[str, Answer] = {}
    for name, job in jobs.items():
        try:
            answers[name] = await answer(backend, job)
        except Exception as error:
            answers[name] = found = failure(error)
            if found.lost:
                backend.close()
                backend = await opening()
    backend.close()
    return answers


async def run_on_each(jobs: Mapping[str, Job], *names: str) -> dict[str, dict[str, Answer]]:
    """Run jobs on several backends; their graphs are built once."""
    once = {key: _Once(job) for key, job in jobs.items()}
    return {name: await run(once, name) for name in names}


class _Once:
    """A job whose graph is built when it is first asked for."""

    def __init__(self, job: Job) -> None:
        self.graph = cache(job.graph)


async def answer(backend: WebNNBackend, job: Job) -> dict[str, Packed]:
    """Run a job on a backend."""
    graph, feeds = job.graph()
    runner = await backend.compile(graph)
    things: list[Any] = [runner]
    try:
        given = {name: await backend.tensor(t, feeds[name]) for name, t in runner.inputs.items()}
        things += given.values()
        found = {name: await backend.tensor(t) for name, t in runner.outputs.items()}
        things += found.values()
        backend.dispatch(runner, given, found)
        arrays = await backend.read(*found.values())
    finally:
        backend.release(*things)
    return {name: Packed.of(array) for name, array in zip(found, arrays, strict=True)}


def failure(error: Exception) -> Failure:
    """Return what to tell of an error."""
    code = error.code if isinstance(error, WebNNMError) else ""
    lost = isinstance(error, ContextLost)
    return Failure(f"{type(error).__name__}: {error}", _is_clear(error), code, lost)


def _is_clear(error: Exception) -> bool:
    """Return whether the package refused: not the browser by itself, whatever it was wrapped in."""
    return isinstance(error, WebNNMError) and not str(error.message).startswith("the browser ")
