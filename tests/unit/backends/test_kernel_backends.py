"""What every backend that runs the kernels does: tensors, runs, what it holds, how it fails."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from webnnm import GraphBuilder, WebNNMError
from webnnm.backends.base import Backend, DeviceTensor, MemoryUsage, Runner
from webnnm.backends.reference import ReferenceBackend
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import PRECEDENCE, DataType, integer_range, is_float
from webnnm.core.errors import BackendError
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType

pytest.importorskip("numpy")

PAIR = TensorType("float32", (2,))
Make = Callable[[], Backend]


@pytest.fixture(params=["numpy", "jax", "onnxruntime"])
def make(request: pytest.FixtureRequest) -> Make:
    """What makes a backend."""
    if request.param == "numpy":
        return ReferenceBackend
    if request.param == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="the ONNX Runtime backend needs it")
        from webnnm.backends.onnxruntime import OnnxRuntimeBackend

        return OnnxRuntimeBackend
    pytest.importorskip("jax", reason="the JAX backend needs JAX")
    from webnnm.backends.jax import JaxBackend

    return JaxBackend


def host(*values: float) -> HostArray:
    return HostArray.of(list(values), "float32")


def counter() -> Graph:
    """x' = x + step, and its double."""
    b = GraphBuilder()
    x, step = b.input("x", "float32", [2]), b.input("step", "float32", [])
    return b.build({"x'": x + step, "double": (x + step) * 2})


def extremes(dtype: DataType) -> list[float]:
    if not is_float(dtype):
        return [*integer_range(dtype), 1]
    return [0.5, -65504.0, float("inf")]


@pytest.mark.parametrize("dtype", PRECEDENCE)
@pytest.mark.parametrize("shape", [(3,), (1, 3, 1)], ids=str)
async def test_what_is_written_is_read(make: Make, dtype: DataType, shape: tuple[int, ...]) -> None:
    backend = make()
    data = HostArray.of(extremes(dtype), dtype, shape)
    filled = await backend.tensor(TensorType(dtype, shape), data)
    empty = await backend.tensor(TensorType(dtype, shape))
    before = await backend.read(filled, empty)
    backend.write(empty, data)
    after = await backend.read(empty)
    assert [a.tolist() for a in (before[0], *after)] == [data.tolist()] * 2
    assert list(before[1].values()) == [0, 0, 0]
    assert [(a.dtype, a.shape) for a in before] == [(dtype, shape)] * 2
    assert backend.memory() == MemoryUsage(0, 2, 2 * data.data.nbytes)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
async def test_runs_on_four_bit_types(make: Make, dtype: DataType) -> None:
    backend = make()
    b = GraphBuilder()
    x = b.input("x", dtype, [3])
    constant = b.constant([1, 2, 3], dtype)
    executable = await backend.compile(b.build({"y": b.concat([x, constant], axis=0)}))
    given = await backend.tensor(TensorType(dtype, (3,)), HostArray.of([7, 0, 5], dtype))
    result = await backend.tensor(TensorType(dtype, (6,)))
    backend.dispatch(executable, {"x": given}, {"y": result})
    (found,) = await backend.read(result)
    assert found.tolist() == [7, 0, 5, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
async def test_arithmetic_of_four_bits_wraps_around(make: Make, dtype: DataType) -> None:
    low, high = integer_range(dtype)
    b = GraphBuilder()
    x, three = b.input("x", dtype, [3]), b.constant(3, dtype)
    graph = b.build({"a": x + three, "s": x - three, "m": x * x, "p": b.pow(x, three)})
    found = make().compute(graph, {"x": HostArray.of([low, high, 2], dtype)})
    expected = {
        "a": [v + 3 for v in (low, high, 2)],
        "s": [v - 3 for v in (low, high, 2)],
        "m": [v * v for v in (low, high, 2)],
        "p": [v**3 for v in (low, high, 2)],
    }
    for name, values in expected.items():
        assert found[name].tolist() == [(v - low) % 16 + low for v in values]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
async def test_integer_powers_wrap_around_whatever_the_exponent(make: Make, dtype: Any) -> None:
    low, high = integer_range(dtype)
    bases, exponents = [3, high, 2, 7, 0], [high, high - 1, 5, 100, 0]
    b = GraphBuilder()
    graph = b.build({"y": b.pow(b.input("x", dtype, [5]), b.input("z", dtype, [5]))})
    found = make().compute(
        graph, {"x": HostArray.of(bases, dtype), "z": HostArray.of(exponents, dtype)}
    )
    size = high - low + 1
    expected = [pow(x, z, size) for x, z in zip(bases, exponents, strict=True)]
    assert found["y"].tolist() == [(v - low) % size + low for v in expected]


async def test_scalars_and_wide_integers(make: Make) -> None:
    backend = make()
    values: list[tuple[DataType, int]] = [("int64", -(2**63)), ("uint64", 2**64 - 1)]
    for dtype, value in values:
        data = HostArray.of(value, dtype)
        (found,) = await backend.read(await backend.tensor(TensorType(dtype, ()), data))
        assert found.tolist() == value


async def test_host_data_may_change_after_a_write(make: Make) -> None:
    backend = make()
    memory = bytearray(8)
    tensor = await backend.tensor(PAIR, HostArray("float32", (2,), memory))
    memory[:4] = b"\x00\x00\x80?"
    (found,) = await backend.read(tensor)
    assert found.tolist() == [0, 0]


@pytest.mark.parametrize("data", [host(1), host(1, 2, 3), HostArray.of([1, 2], "int32")])
async def test_data_of_another_type_are_refused(make: Make, data: HostArray) -> None:
    backend = make()
    tensor = await backend.tensor(PAIR, host(1, 2))
    with pytest.raises(BackendError, match="the tensor is float32"):
        backend.write(tensor, data)
    with pytest.raises(BackendError, match="the tensor is float32"):
        await backend.tensor(PAIR, data)
    (found,) = await backend.read(tensor)
    assert found.tolist() == [1, 2]


async def test_dispatch_runs_a_graph(make: Make) -> None:
    backend = make()
    executable = await backend.compile(counter())
    assert {n: str(t) for n, t in executable.inputs.items()} == {
        "x": "float32[2]",
        "step": "float32[]",
    }
    assert dict(executable.outputs) == {"x'": PAIR, "double": PAIR}
    x = await backend.tensor(PAIR, host(1, 2))
    step = await backend.tensor(TensorType("float32", ()), HostArray.of(10))
    outputs = {"x'": await backend.tensor(PAIR), "double": await backend.tensor(PAIR)}
    backend.dispatch(executable, {"x": x, "step": step}, outputs)
    found = await backend.read(*outputs.values())
    assert [a.tolist() for a in found] == [[11, 12], [22, 24]]


async def test_inputs_that_nothing_uses_are_not_bound(make: Make) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    b.input("unused", "float32", [2])
    executable = await make().compile(b.build({"y": x * 2}))
    assert list(executable.inputs) == ["x"]


async def test_an_output_that_is_an_input_is_a_copy(make: Make) -> None:
    backend = make()
    b = GraphBuilder()
    executable = await backend.compile(b.build({"y": b.identity(b.input("x", "float32", [2]))}))
    x, y = await backend.tensor(PAIR, host(1, 2)), await backend.tensor(PAIR)
    backend.dispatch(executable, {"x": x}, {"y": y})
    backend.write(x, host(3, 4))
    (found,) = await backend.read(y)
    assert found.tolist() == [1, 2]


@pytest.mark.parametrize("first", [0, 1, 6, 7])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
async def test_steps_swap_banks_and_the_last_written_tensor_is_read(
    make: Make, first: int, count: int
) -> None:
    backend = make()
    executable = await backend.compile(counter())
    a, b = [await backend.tensor(PAIR, host(-100, -200)) for _ in range(2)]
    double = [await backend.tensor(PAIR) for _ in range(2)]
    step = await backend.tensor(TensorType("float32", ()), HostArray.of(1))
    banks = (
        ({"x": a, "step": step}, {"x'": b, "double": double[0]}),
        ({"x": b, "step": step}, {"x'": a, "double": double[1]}),
    )
    backend.write((a, b)[first % 2], host(0, 5))
    read = [(b, a), (double[0], double[1])]
    found = await backend.run_steps(executable, banks, first, count, read)
    assert [f.tolist() for f in found] == [[count, count + 5], [2 * count, 2 * (count + 5)]]
    # A second chunk goes on where the first one stopped.
    (again,) = await backend.run_steps(executable, banks, first + count, 1, [(b, a)])
    assert again.tolist() == [count + 1, count + 6]


async def test_memory_counts_what_is_held(make: Make) -> None:
    backend = make()
    empty = MemoryUsage(graphs=0, tensors=0, bytes=0)
    assert backend.memory() == empty
    executable = await backend.compile(counter())
    tensors = [await backend.tensor(PAIR), await backend.tensor(TensorType("int64", (3, 1)))]
    half = await backend.tensor(TensorType("int4", (3,)))
    assert backend.memory() == MemoryUsage(graphs=1, tensors=3, bytes=8 + 24 + 2)
    backend.release(tensors[0])
    backend.release(tensors[0], half)
    assert backend.memory() == MemoryUsage(graphs=1, tensors=1, bytes=24)
    backend.release(executable, tensors[1])
    assert backend.memory() == empty


async def test_runs_leave_memory_alone(make: Make) -> None:
    backend = make()
    executable = await backend.compile(counter())
    x, y, z = [await backend.tensor(PAIR) for _ in range(3)]
    step = await backend.tensor(TensorType("float32", ()))
    before = backend.memory()
    for _ in range(3):
        backend.dispatch(executable, {"x": x, "step": step}, {"x'": y, "double": z})
        await backend.read(y, z)
    assert backend.memory() == before


async def test_closed_backend_refuses_work(make: Make) -> None:
    backend = make()
    executable = await backend.compile(counter())
    tensor = await backend.tensor(PAIR)
    backend.close()
    backend.close()
    assert backend.memory() == MemoryUsage(0, 0, 0)
    backend.release(tensor, executable)
    with pytest.raises(BackendError) as caught:
        await backend.compile(counter())
    assert (caught.value.code, caught.value.message) == ("NNM709", "the backend was closed")
    with pytest.raises(BackendError):
        await backend.tensor(PAIR)
    with pytest.raises(BackendError):
        backend.write(tensor, host(1, 2))
    with pytest.raises(BackendError):
        await backend.read(tensor)
    with pytest.raises(BackendError):
        backend.dispatch(executable, {}, {})


def build_doubling() -> Graph:
    b = GraphBuilder()
    return b.build({"y": b.input("x", "float32", [2]) * 2})


async def test_compute_runs_a_graph_once_and_leaves_nothing(make: Make) -> None:
    context = make()
    assert (await context.compute_async(build_doubling(), {"x": [1, 2]}))["y"].tolist() == [2, 4]
    assert context.compute(build_doubling(), {"x": [3, 4]})["y"].tolist() == [6, 8]
    assert context.memory() == MemoryUsage(0, 0, 0)


async def test_compute_of_a_compiled_graph_keeps_it(make: Make) -> None:
    context = make()
    compiled = await context.compile(build_doubling())
    assert context.compute(compiled, {"x": [1, 2]})["y"].tolist() == [2, 4]
    assert context.memory().graphs == 1


def test_compute_fills_the_buffers_of_the_outputs(make: Make) -> None:
    buffer = array("f", [0, 0])
    make().compute(build_doubling(), {"x": [1, 2]}, {"y": buffer})
    assert buffer.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"z": array("f", [0, 0])}, "the graph has no output \"z\", only ['y']"),
        ({"y": array("f", [0])}, "the buffer is 4 bytes"),
        ({"y": bytes(8)}, "the buffer is read-only"),
    ],
)
def test_compute_refuses_outputs_that_do_not_fit(make: Make, outputs: Any, message: str) -> None:
    with pytest.raises(WebNNMError) as caught:
        make().compute(build_doubling(), {"x": [1, 2]}, outputs)
    assert message in caught.value.message


async def test_fill_computes_tensors_from_host_data(make: Make) -> None:
    context = make()
    y = await context.tensor(PAIR)
    await context.fill(build_doubling(), {"x": host(1, 2)}, {"y": y})
    assert (await context.read(y))[0].tolist() == [2, 4]
    assert context.memory() == MemoryUsage(0, 1, 8)


class Failing(ReferenceBackend):
    """Makes tensors after a while, those of some types never."""

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        await asyncio.sleep(0)
        if type.dtype == "int8":
            raise BackendError("NNM709", "no more memory")
        return await super().tensor(type, data)


async def test_tensors_are_made_side_by_side_all_or_none() -> None:
    context = Failing()
    types = {name: TensorType("float32", (size,)) for size, name in enumerate("xyz", 1)}
    assert await context.tensors({}) == {}
    made = await context.tensors(types)
    assert {name: tensor.type for name, tensor in made.items()} == types
    assert context.memory().tensors == 3
    with pytest.raises(WebNNMError, match="no more memory"):
        await context.tensors({**types, "n": TensorType("int8", (1,))})
    making = asyncio.ensure_future(context.tensors(types))
    await asyncio.sleep(0)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert context.memory().tensors == 3


# Runners.


async def bind(backend: Backend, graph: Graph, given: list[str], wanted: list[str]) -> Runner:
    executable = await backend.compile(graph)
    inputs = await backend.tensors(executable.inputs)
    outputs = await backend.tensors(executable.outputs)
    return backend.runner(executable, inputs, outputs, given, wanted)


async def test_a_runner_takes_and_gives_in_the_order_that_was_asked_for(make: Make) -> None:
    backend = make()
    runner = await bind(backend, counter(), ["step", "x"], ["double", "x'"])
    step, x = HostArray.of(1.0), host(2, 3)
    for _ in range(2):
        found = await runner.run([step, x])
        assert [array.tolist() for array in found] == [[6, 8], [3, 4]]
    (kept,) = await (await bind(backend, counter(), ["x"], ["x'"])).run([x])
    assert kept.tolist() == [2, 3], "the step is what its tensor holds"


async def test_a_runner_copies_data_before_it_awaits(make: Make) -> None:
    memory = array("f", [2, 3])
    runner = await bind(make(), build_doubling(), ["x"], ["y"])
    running = asyncio.ensure_future(runner.run([HostArray("float32", [2], memory)]))
    await asyncio.sleep(0)
    memory[0] = 7
    assert [found.tolist() for found in await running] == [[4, 6]]


async def test_a_runner_refuses_what_does_not_fit(make: Make) -> None:
    backend = make()
    runner = await bind(backend, build_doubling(), ["x"], ["y"])
    for wrong in (HostArray.of([1, 2], "int32"), host(1, 2, 3)):
        with pytest.raises(BackendError, match="NNM709: the tensor is"):
            await runner.run([wrong])
    executable = await backend.compile(build_doubling())
    with pytest.raises(BackendError, match="no tensor is bound"):
        backend.runner(executable, {}, {}, [], [])
    runner.close()
    runner.close()
