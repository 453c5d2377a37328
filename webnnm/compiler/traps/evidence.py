"""Evidence of faults: tiny graphs with known answers, or the reason why none is tried.

A rewrite is applied where the fault occurs. Its probes, in literal numbers because pages have no
NumPy, say so: calls as WebNN takes them, and their correct result.

    evidence = (Probe(lambda g: g.exp(g.tensor([NAN, 0.0])), Values([NAN, 1.0])),)

The probes of all traps share one graph, which runs once for each version of a browser, device and
set of probes (`backends/faults.py`); the browser keeps the verdict. A probe that makes the browser
refuse the graph, or leave outputs unwritten, is `alone=True`. One that could crash the browser's
WebNN process, which all pages share, must not run: `Untried(why, where)` says by the limits which
implementations are expected to have the fault. Without a browser every fault is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from webnnm.compiler.plan import ALIGNMENT, Plan
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, is_float

TOLERANCE = {"float32": 1e-4, "float16": 4e-3}
"""The relative tolerance of answers; other types have to be exact."""


class Values(NamedTuple):
    """A tensor in literal numbers: nested lists, or a flat list that `shape` lays out."""

    values: Any
    dtype: DataType = "float32"
    shape: Sequence[int] | None = None

    def array(self) -> HostArray:
        """Return the tensor."""
        return HostArray.of(*self)


class SketchTensor(NamedTuple):
    """A tensor of a sketch."""

    number: int


class Sketch:
    """A graph recorded call by call as WebNN takes them, without type inference.

    No operator's module is loaded for it, so a page can afford many sketches.

    >>> sketch = Sketch()
    >>> sketch.reduceMax(sketch.tensor([1.0, 2.0]), axes=[0])
    SketchTensor(number=1)
    >>> sketch.operators[0]["op"], sketch.operators[0]["options"]
    ('reduceMax', {'axes': [0]})

    Attributes: `inputs`, `constants`, `operators` as plans have them (plan.py), `data` (the bytes
    of all inputs), `constant_data`, `count` (the number of the next tensor).
    """

    def __init__(self, count: int = 0) -> None:
        self.inputs: list[dict[str, Any]] = []
        self.constants: list[dict[str, Any]] = []
        self.operators: list[dict[str, Any]] = []
        self.data = bytearray()
        self.constant_data = bytearray()
        self.count = count

    def tensor(
        self, values: Any, dtype: DataType = "float32", shape: Sequence[int] | None = None
    ) -> SketchTensor:
        """Return an input that holds these numbers."""
        array = Values(values, dtype, shape).array()
        self.data += array.data
        tensor = self._add_tensor()
        self.inputs.append(
            {"name": f"x{tensor.number}", **_describe_array(array), "id": tensor.number}
        )
        return tensor

    def constant(
        self, values: Any, dtype: DataType = "float32", shape: Sequence[int] | None = None
    ) -> SketchTensor:
        """Return a constant of these numbers."""
        array = Values(values, dtype, shape).array()
        location = {"offset": len(self.constant_data), "length": array.data.nbytes}
        self.constant_data += array.data
        self.constant_data += bytes(-len(self.constant_data) % ALIGNMENT)
        tensor = self._add_tensor()
        self.constants.append({**_describe_array(array), "id": tensor.number, **location})
        return tensor

    def append(self, other: Sketch) -> None:
        """Add another sketch, whose tensors are numbered from the end of this one."""
        shift = len(self.constant_data)
        self.inputs += other.inputs
        self.constants += [
            {**constant, "offset": shift + constant["offset"]} for constant in other.constants
        ]
        self.operators += other.operators
        self.data += other.data
        self.constant_data += other.constant_data
        self.count = other.count

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the MLGraphBuilder method of this name; pass `results=n` to one with n results."""
        return partial(self._call, name)

    def _call(self, name: str, *arguments: Any, results: int = 0, **options: Any) -> Any:
        operands = [_tensor_ids(argument) for argument in arguments if _is_tensor(argument)]
        references = {
            key: argument.number for key, argument in options.items() if _is_tensor(argument)
        }
        tensors = [self._add_tensor() for _ in range(results or 1)]
        self.operators.append(
            {
                "op": name,
                "operands": operands,
                "arguments": [argument for argument in arguments if not _is_tensor(argument)],
                "options": {
                    k: argument for k, argument in options.items() if not _is_tensor(argument)
                },
                "references": references,
                "label": "",
                "results": [argument.number for argument in tensors],
            }
        )
        return tensors if results else tensors[0]

    def _add_tensor(self) -> SketchTensor:
        self.count += 1
        return SketchTensor(self.count - 1)


@dataclass(frozen=True, eq=False)
class Probe:
    """A tiny graph with one or more known answers in literal numbers.

    If it is `alone`, it gets a graph of its own: the browser refuses to build or run a graph with
    the fault, and everything else in it, or the fault shows only in a graph of its own.
    """

    draw: Callable[[Sketch], SketchTensor | Sequence[SketchTensor]]
    answers: Values | Sequence[Values]
    alone: bool = False


def everywhere(limits: Mapping[str, Any]) -> bool:
    """Return True: a fault is to be expected of every implementation."""
    del limits
    return True


def litert(limits: Mapping[str, Any]) -> bool:
    """Return whether an implementation is Chromium's on LiteRT, by a preference unique to it."""
    return limits.get("preferredInputLayout") == "nhwc"


@dataclass(frozen=True, eq=False)
class Untried:
    """A fault that no page can try out: `why`, and which implementations are expected to have it.

    These are recognised by their limits: what WebNN reports about itself.
    """

    why: str
    where: Callable[[Mapping[str, Any]], bool] = everywhere


Evidence = tuple[Probe, ...] | Untried


class Trial:
    """Probes that share one graph.

    Attributes: `probes`, `answers` (of each probe).
    """

    def __init__(self, *probes: Probe, dtypes: frozenset[str] | None = None) -> None:
        self.probes: list[Probe] = []
        self.answers: list[list[HostArray]] = []
        self._dtypes = dtypes
        self._sketch = Sketch()
        self._outputs: list[dict[str, Any]] = []
        for probe in probes:
            self.add(probe)

    def add(self, probe: Probe) -> bool:
        """Draw another probe, unless it has inputs of types outside the given `dtypes`."""
        sketch = Sketch(self._sketch.count)
        probe_outputs = probe.draw(sketch)
        if self._dtypes is not None and not {x["dtype"] for x in sketch.inputs} <= self._dtypes:
            return False
        self._sketch.append(sketch)
        expected = [probe.answers] if isinstance(probe.answers, Values) else probe.answers
        answers = [values.array() for values in expected]
        results = [probe_outputs] if isinstance(probe_outputs, SketchTensor) else probe_outputs
        self._outputs += [
            {"name": f"y{number}", **_describe_array(answer), "id": number}
            for (number,), answer in zip(results, answers, strict=True)
        ]
        self.probes.append(probe)
        self.answers.append(answers)
        return True

    @property
    def plan(self) -> Plan:
        """The graph."""
        sketch = self._sketch
        content = {
            "inputs": sketch.inputs,
            "constants": sketch.constants,
            "operators": sketch.operators,
            "outputs": self._outputs,
        }
        return Plan(content, bytes(sketch.constant_data))

    @property
    def data(self) -> bytes:
        """The bytes of all inputs."""
        return bytes(self._sketch.data)

    @property
    def answer_data(self) -> bytes:
        """The bytes of all outputs if everything is correct."""
        return b"".join(answer.data for answers in self.answers for answer in answers)

    def find_wrong(self, output_bytes: memoryview[int]) -> list[Probe]:
        """Return the probes that are answered wrongly by these bytes of all outputs."""
        wrong: list[Probe] = []
        start = 0
        for probe, answers in zip(self.probes, self.answers, strict=True):
            is_right = True
            for answer in answers:
                data = output_bytes[start : start + answer.data.nbytes]
                start += answer.data.nbytes
                is_right &= _matches(HostArray(answer.dtype, answer.shape, data), answer)
            if not is_right:
                wrong.append(probe)
        return wrong


def _matches(actual: HostArray, expected: HostArray) -> bool:
    if not is_float(expected.dtype):
        return actual.data == expected.data
    tolerance = TOLERANCE[expected.dtype]
    pairs = zip(actual.values(), expected.values(), strict=True)
    return all(
        a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=tolerance) for a, b in pairs
    )


def _describe_array(array: HostArray) -> dict[str, Any]:
    return {"dtype": array.dtype, "shape": list(array.shape)}


def _is_tensor(argument: Any) -> bool:
    """Return whether an argument of a call is a tensor or a list of tensors."""
    if isinstance(argument, list):
        return any(map(_is_tensor, argument))
    return isinstance(argument, SketchTensor)


def _tensor_ids(argument: Any) -> int | list[int]:
    return (
        argument.number
        if isinstance(argument, SketchTensor)
        else [tensor.number for tensor in argument]
    )
