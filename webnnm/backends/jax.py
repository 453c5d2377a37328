"""The JAX backend: the operators' own kernels, compiled by XLA for all available devices."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from webnnm.backends.base import (
    Binding,
    Constants,
    DeviceTensor,
    Executable,
    check_binding,
    find_used_inputs,
    type_of,
)
from webnnm.backends.batches import find_batch_nodes
from webnnm.backends.kernels import KernelBackend, array_of, computable, compute_outputs
from webnnm.backends.reference import Namespace
from webnnm.backends.unpacking import compile_unpacked
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import BackendError, ContextLost
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

Arrays = Mapping[str, Any]
AXIS = "batch"
"""The one axis of the mesh, along which devices share the rows of a batch."""
PRECISION = "highest"
"""Products of float32 are float32 on every device, unless the program sets JAX's own option."""


class JaxNamespace:
    """`jax.numpy` as kernels see it, with the functions that the array API lacks."""

    def __init__(self, jax: Any) -> None:
        self._jax = jax
        # Nibbles are stored in bytes, as in NumPy.
        self.int4, self.uint4 = jax.numpy.int8, jax.numpy.uint8

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jax.numpy, name)

    def erf(self, x: Any) -> Any:
        """Return the Gauss error function."""
        return self._jax.lax.erf(x)

    def pow(self, x: Any, exponent: Any) -> Any:
        """Return powers; integers by squaring, because JAX uses only six bits of an exponent."""
        np = self._jax.numpy
        if np.isdtype(x.dtype, "real floating"):
            return np.pow(x, exponent)

        def bit(_: Any, state: Any) -> Any:
            power, square, left = state
            return np.where(left & 1 == 1, power * square, power), square * square, left >> 1

        start = np.ones_like(x + exponent), *np.broadcast_arrays(x, exponent)
        return self._jax.lax.fori_loop(0, 8 * exponent.dtype.itemsize, bit, start)[0]

    def below(self, x: Any, largest: Any) -> Any:
        """Return x minus its largest elements, exactly 0 at those.

        XLA may recompute x, unrounded, to subtract a rounded maximum: at 10³⁸ the two differ by
        10³¹ even for the largest element. A product with 0 is NaN for infinities, as ∞ − ∞ is.
        """
        return self._jax.numpy.where(x >= largest, x * 0, x - largest)

    def put_at(self, x: Any, index: Any, values: Any) -> Any:
        """Return x with values at these indices, the last one for equal indices."""
        np = self._jax.numpy
        index = np.broadcast_arrays(*index)
        places = index[0].shape
        # Devices write in any order, so all values written to one position have to be equal.
        numbers = np.reshape(np.arange(index[0].size), places)
        last = np.full(x.shape[: len(index)], -1).at[tuple(index)].max(numbers)
        rows = np.reshape(values, (-1, *x.shape[len(index) :]))
        return x.at[tuple(index)].set(rows[last[tuple(index)]])

    def add_at(self, x: Any, slices: Any, values: Any) -> Any:
        """Return x with values added at these slices, padded with zeros instead of scattered."""
        sides: list[tuple[int, int, int]] = []
        for size, part, many in zip(x.shape, slices, values.shape, strict=True):
            start, _, step = part.indices(size)
            sides.append((start, size - start - (many - 1) * step - 1, step - 1))
        return x + self._jax.lax.pad(values, self._jax.numpy.zeros((), x.dtype), sides)


@dataclass(frozen=True)
class _Program:
    """A compiled graph, `run(count, fixed, given, spare)`, which runs it `count` times.

    `state` are the outputs that are also inputs, and are passed from one run to the next; `fixed`
    are the constants. `spare` are arrays like the outputs, whose memory is reused for these.
    """

    run: Callable[[Any, Arrays, Arrays, Arrays], dict[str, Any]]
    fixed: Arrays
    state: frozenset[str]


class JaxBackend(KernelBackend):
    """Runs graphs with JAX: each compiled as a whole, with batches sharded over all devices.

    `platform` is "cpu", "gpu" or "tpu"; None takes the one that JAX prefers. Tensors are replicated
    on every device; the rows of a batch are sharded if the number of devices divides their number,
    and XLA sums the partial results. Several processes that have called
    `jax.distributed.initialize` run the same program on the devices of all of them.

    JAX's own settings stay as they are: 64-bit types are enabled only for the work of the backend.

    Raises `BackendError` NNM709 if JAX or the platform is missing.
    """

    name = "jax"
    xla_options: ClassVar[Mapping[str, Any]] = {}
    """Settings of XLA for every graph, in place of JAX's."""

    def __init__(self, platform: str | None = None) -> None:
        super().__init__()
        try:
            self._jax = importlib.import_module("jax")
        except ImportError as error:
            raise BackendError(
                "NNM709",
                "the JAX backend needs JAX, which is not installed",
                hint='run pip install "webnnm[jax]", for a GPU also "jax[cuda12]"',
            ) from error
        jax = self._jax
        try:
            devices = jax.devices(platform)
        except RuntimeError as error:
            raise BackendError(
                "NNM709",
                f"JAX does not run on {platform or 'any device'} here: {error}",
                hint='pass device="cpu", "gpu" or "tpu", for which JAX has to be installed',
            ) from error
        self._numpy = Namespace()
        self._namespace = JaxNamespace(jax)
        mesh = jax.sharding.Mesh(self._numpy.asarray(devices), (AXIS,))
        self._everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        self._shared = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(AXIS))
        self._devices = len(devices)
        self.device = f"JAX {jax.__version__} on {_words(devices, jax.process_count())}"

    def _array(self, type: TensorType, data: HostArray | None) -> Any:
        np = self._numpy
        if data is None:
            values = np.zeros(type.shape, dtype=getattr(np, type.dtype))
        else:
            values = array_of(np, data)

        def part(index: Any) -> Any:
            return values[index]

        with self._working():
            # This works in several processes, and is the fastest way in one as well.
            return self._jax.make_array_from_callback(type.shape, self._everywhere, part)

    def _host(self, array: Any) -> Any:
        with self._working():
            return self._numpy.asarray(array)

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Compile a graph with XLA.

        Raises `BackendError` NNM709 if JAX cannot trace a kernel or XLA cannot compile the graph.
        """
        self._check_open()
        if self._has_packed(graph, constants) and (
            executable := await compile_unpacked(self, graph, constants, recompute)
        ):
            return executable
        graph = computable(graph)
        began = time.perf_counter()
        with self._working():
            # Copies, because the memory of tensors is reused when they are written.
            copy = self._jax.numpy.copy
            fixed = {
                name: self._array(type_of(value), value)
                if isinstance(value, HostArray)
                else copy(value.handle.value)
                for name, value in (constants or {}).items()
            }
        program = self._compile_program(graph, fixed)
        return self._executable(graph, fixed, program, time.perf_counter() - began)

    def _compile_program(self, graph: Graph, fixed: Arrays) -> _Program:
        jax = self._jax
        inputs = find_used_inputs(graph, fixed)
        outputs = {name: o.type for name, o in graph.outputs.items()}
        state = frozenset(name for name in outputs if inputs.get(name) == outputs[name])
        shared = find_batch_nodes(graph)
        apart = _quotients(graph) | _powers_under_logs(graph)

        def constrain(node: Node, value: Any) -> Any:
            if node.number in apart:
                value = jax.lax.optimization_barrier(value)
            if node.number in shared and value.shape[0] % self._devices == 0:
                return jax.lax.with_sharding_constraint(value, self._shared)
            return value

        def run(count: Any, fixed: Arrays, given: Arrays, spare: Arrays) -> Arrays:
            def once(found: Arrays) -> Arrays:
                latest = {name: found[name] for name in state}
                return compute_outputs(
                    graph, {**fixed, **given, **latest}, self._namespace, constrain
                )

            def again(_: Any, found: Arrays) -> Arrays:
                return once(found)

            if not state:  # every run gives the same
                return once({})
            first = {name: (given if name in state else spare)[name] for name in outputs}
            return jax.lax.fori_loop(0, count, again, first)

        compiled = jax.jit(run, donate_argnums=3, keep_unused=True, out_shardings=self._everywhere)
        precision = jax.config.jax_default_matmul_precision or PRECISION
        try:
            with (
                self._working(),
                jax.default_matmul_precision(precision),
                # Kernels rely on the array API's rules, however strict the program's own are.
                jax.numpy_dtype_promotion("standard"),
                jax.numpy_rank_promotion("allow"),
            ):
                types = [TensorType("int32", ()), fixed, inputs, outputs]
                lowered = compiled.lower(*jax.tree.map(self._like, types, is_leaf=_is_type))
                return _Program(lowered.compile(dict(self.xla_options)), fixed, state)
        except jax.errors.JAXTypeError as error:
            raise BackendError(
                "NNM709",
                f"JAX cannot trace the graph {' '.join(error.__notes__)}: {error}",  # pyrefly: ignore[unknown-argument-type, unknown-attribute-access]
                hint="kernels may only use the Python array API, and never branch on values",
            ) from error

    def _like(self, value: Any) -> Any:
        """Return the abstract value of an array, or of a tensor type, for compilation."""
        np = self._numpy
        dtype = getattr(np, value.dtype) if _is_type(value) else value.dtype
        return self._jax.ShapeDtypeStruct(value.shape, dtype, sharding=self._everywhere)

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Queue one run."""
        self._check_open()
        check_binding(executable, inputs, outputs)
        self._run(executable, 1, inputs, outputs)

    def _run(self, executable: Executable, count: int, inputs: Binding, outputs: Binding) -> None:
        """Run a graph; the memory of the outputs' current values is reused."""
        program: _Program = executable.handle.value
        arrays = {name: inputs[name].handle.value for name in executable.inputs}
        spare = {name: outputs[name].handle.value for name in executable.outputs}
        with self._working():
            results = program.run(self._numpy.int32(count), program.fixed, arrays, spare)
        for name, value in results.items():
            outputs[name].handle.value = value

    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run steps as one program, while other tasks continue."""
        self._check_open()
        for binding in buffers:
            check_binding(executable, *binding)
        inputs, outputs = buffers[first % 2]
        last = buffers[(first + count - 1) % 2][1]
        if _swap(executable, buffers):
            self._run(executable, count, inputs, outputs)
            if last is not outputs:
                for name in executable.outputs:
                    a, b = outputs[name].handle, last[name].handle
                    a.value, b.value = b.value, a.value
        else:
            for step in range(first, first + count):
                self._run(executable, 1, *buffers[step % 2])
        arrays = [last[name].handle.value for name in executable.outputs]
        with self._translate_errors():
            await asyncio.to_thread(self._jax.block_until_ready, arrays)
        return await self.read(*(pair[(first + count - 1) % 2] for pair in read))

    def agree_on(self, seconds: float) -> float:
        """Return the time that the first process measured."""
        if self._jax.process_count() == 1:
            return seconds
        utilities = importlib.import_module("jax.experimental.multihost_utils")
        with self._working():
            return float(utilities.broadcast_one_to_all(self._numpy.float64(seconds)))

    @contextmanager
    def _working(self) -> Generator[None]:
        """Enable 64-bit types; await nothing inside, because other tasks may use JAX as well."""
        with self._translate_errors(), self._jax.enable_x64(True):
            yield

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Convert errors of XLA to those of this package."""
        try:
            yield
        except self._jax.errors.JaxRuntimeError as error:
            raise _failure(str(error)) from error  # pyrefly: ignore[unknown-argument-type]


def _failure(message: str) -> BackendError:
    """Return the error for a message of XLA."""
    status, _, text = message.partition(": ")
    if status == "RESOURCE_EXHAUSTED":
        hint = "use a smaller batch_size, or more devices"
        return BackendError("NNM709", f"the device has too little memory: {text}", hint=hint)
    if status in ("UNIMPLEMENTED", "INVALID_ARGUMENT"):
        return BackendError("NNM709", f"XLA cannot run the graph: {text}")
    return ContextLost(f"JAX lost the device: {message}")


def _swap(
    executable: Executable, buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]]
) -> bool:
    """Return whether steps pass on exactly their state: the inputs that are also outputs."""
    (a, after_a), (b, after_b) = buffers
    state = executable.handle.value.state
    written = {
        t[name].handle for t in (after_a, after_b) for name in executable.outputs.keys() - state
    }
    return (
        bool(state)
        and all(after_a[n] == b[n] and after_b[n] == a[n] for n in state)
        and all(
            a[n] == b[n] and a[n].handle not in written for n in executable.inputs.keys() - state
        )
    )


def _is_type(value: Any) -> bool:
    return isinstance(value, TensorType)


def _quotients(graph: Graph) -> set[int]:
    """Return the quotients that are operands of another division or multiplied by each other.

    XLA rewrites (a / b) / c as a / (b · c), a / (b / c) as (a · c) / b and, for constants,
    (a / b) · (a / b) as a² / b²; the products may overflow.
    """
    result: set[int] = set()
    for node in graph.nodes():
        if isinstance(node, OperatorNode):
            quotients = {o.number for o in node.operands if o is not None and _is_quotient(o)}
            if node.operator.name == "div" or (
                node.operator.name == "mul" and all(map(_is_quotient, node.operands))
            ):
                result |= quotients
    return result


def _is_quotient(operand: Operand | None) -> bool:
    if operand is None or not isinstance(operand.node, OperatorNode):
        return False
    return operand.node.operator.name == "div" and is_float(operand.dtype)


def _powers_under_logs(graph: Graph) -> set[int]:
    """Return the powers whose logarithms are taken, directly or after a rearrangement.

    XLA rewrites log xⁿ as n · log |x|, which is no longer NaN for negative powers.
    """
    powers: set[int] = set()
    for node in graph.nodes():
        if isinstance(node, OperatorNode) and node.operator.name == "log":
            (x,) = node.operands
            while x is not None and isinstance(x.node, OperatorNode):
                if x.node.operator.name == "pow":
                    powers.add(x.number)
                if "rearranging" not in x.node.operator.traits:
                    break
                (x,) = x.node.operands
    return powers


def _words(devices: Sequence[Any], processes: int) -> str:
    kind = devices[0].device_kind
    many = kind if len(devices) == 1 else f"{len(devices)} devices ({kind})"
    return many if processes == 1 else f"{many} of {processes} processes"
