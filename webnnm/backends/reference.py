"""The reference backend: every operator's own kernel, run by NumPy."""

from __future__ import annotations

import asyncio
import importlib
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from webnnm.backends import pyodide_host
from webnnm.backends.base import Binding, Constants, DeviceTensor, Executable, check_binding
from webnnm.backends.kernels import (
    KernelBackend,
    Program,
    array_of,
    computable,
    compute_outputs,
    host_array,
)
from webnnm.core.arrays import HostArray, zeros
from webnnm.core.dtypes import FORMATS
from webnnm.core.errors import BackendError
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

TURN, PAUSE = 0.04, 0.005
"""Seconds of computing and of rest in a page, which neither draws nor handles clicks meanwhile. A
worker draws nothing: it only hears messages in between."""


class Namespace:
    """NumPy as kernels see it; with `wide=True` all floats are float64."""

    def __init__(self, *, wide: bool = False) -> None:
        try:
            self._numpy = importlib.import_module("numpy")
        except ImportError as error:
            raise BackendError(
                "NNM709",
                "the reference backend needs NumPy, which is not installed",
                hint="run pip install numpy; in a page, load the package numpy",
            ) from error
        # NumPy has no 4-bit types.
        self.int4, self.uint4 = self._numpy.int8, self._numpy.uint8
        if wide:
            self.float32 = self.float16 = self._numpy.float64

    def __getattr__(self, name: str) -> Any:
        # Kernels use the same functions again and again: make each an attribute.
        attribute = getattr(self._numpy, name)
        setattr(self, name, attribute)
        return attribute

    def erf(self, x: Any) -> Any:
        """Return the Gauss error function; Python's is accurate, and the reference may be slow."""
        values = [math.erf(value) for value in x.reshape(-1).tolist()]
        return self._numpy.asarray(values, dtype=x.dtype).reshape(x.shape)

    def below(self, x: Any, largest: Any) -> Any:
        """Return x minus its largest elements, exactly 0 at those."""
        return x - largest

    def put_at(self, x: Any, index: Any, values: Any) -> Any:
        """Return x with values at these indices, the last one for equal indices; x is modified."""
        x[index] = values
        return x

    def add_at(self, x: Any, slices: Any, values: Any) -> Any:
        """Return x with values added at these slices; x is modified."""
        x[slices] += values
        return x


def evaluate(graph: Graph, inputs: Mapping[str, Any], *, wide: bool = False) -> dict[str, Any]:
    """Compute the outputs of a graph as NumPy arrays.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2])
    >>> evaluate(b.build({"y": x * 2}), {"x": [1, 2]})["y"].tolist()
    [2.0, 4.0]

    `wide` computes float32 and float16 in float64, as the reference of gradient checks.
    """
    np = Namespace(wide=wide)
    with np.errstate(all="ignore"):
        return compute_outputs(computable(graph), inputs, np)


class ReferenceBackend(KernelBackend):
    """Runs graphs with NumPy, in the page and on the desktop."""

    name = "numpy"
    float64 = True
    on_host = True

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self._clock = clock
        self._in_browser = pyodide_host.in_browser()
        self._pause = PAUSE if pyodide_host.has_document() else 0.0
        self._numpy = Namespace()
        self.device = f"NumPy {self._numpy.__version__} on the CPU"
        self._busy = 0.0

    @classmethod
    async def load(cls) -> ReferenceBackend:
        """Load NumPy if this is a page, and return the backend."""
        if pyodide_host.in_browser():
            await pyodide_host.load_package("numpy")
        return cls()

    def _array(self, type: TensorType, data: HostArray | None) -> Any:
        np = self._numpy
        if type.dtype not in FORMATS:  # two numbers per byte, unpacked when they are used
            return zeros(*type) if data is None else data.copy()
        if data is None:
            return np.zeros(type.shape, dtype=getattr(np, type.dtype))
        return array_of(np, data)

    def _host(self, array: Any) -> Any:
        return array_of(self._numpy, array) if isinstance(array, HostArray) else array

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Compile a graph into a list of kernels."""
        self._check_open()
        if self._has_packed(graph, constants):
            from webnnm.backends.unpacking import compile_unpacked

            if executable := await compile_unpacked(self, graph, constants, recompute):
                return executable
        fixed = {
            name: array_of(self._numpy, value, copy=False)
            if isinstance(value, HostArray)
            else value.handle.value
            for name, value in (constants or {}).items()
        }
        graph = computable(graph)
        return self._executable(graph, fixed, (Program(graph, self._numpy), fixed))

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Run a graph immediately."""
        self._check_open()
        check_binding(executable, inputs, outputs)
        program, fixed = executable.handle.value
        arrays = fixed | {name: inputs[name].handle.value for name in executable.inputs}
        began = self._clock()
        with self._numpy.errstate(all="ignore"):
            results = program(arrays)
        for name, value in results.items():
            type = executable.outputs[name]
            stored = value if type.dtype in FORMATS else host_array(type, value)
            outputs[name].handle.value = stored
        self._busy += self._clock() - began

    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run steps one after the other, yielding to other tasks now and then."""
        for step in range(first, first + count):
            self.dispatch(executable, *buffers[step % 2])
            if not await self._rest() and step % self.budget.yield_steps == 0:
                await asyncio.sleep(0)
        return await self.read(*(pair[(first + count - 1) % 2] for pair in read))

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return the values of tensors, after a rest if one is due."""
        await self._rest()
        return await super().read(*tensors)

    async def _rest(self) -> bool:
        """Rest if graphs have kept a page busy for long enough; return whether it did."""
        due = self._in_browser and self._busy > TURN
        if due:
            await asyncio.sleep(self._pause)
            self._busy = 0.0
        return due

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine without a rest: no other task could run meanwhile."""
        busy, self._busy = self._busy, -math.inf
        try:
            return super().wait(work)
        finally:
            self._busy = busy
