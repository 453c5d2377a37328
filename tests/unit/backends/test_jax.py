"""The JAX backend: every operator as on the reference backend, devices, memory, failures."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

jax = pytest.importorskip("jax", reason="the JAX backend needs JAX")

from tests.unit.ops.cases import CASES, TYPES, Case, draw  # noqa: E402
from webnnm import BackendError, GraphBuilder, WebNNMError, backend, composite, ops  # noqa: E402
from webnnm.backends import pyodide_host  # noqa: E402
from webnnm.backends.jax import JaxBackend, JaxNamespace, _failure  # noqa: E402
from webnnm.backends.reference import Namespace, ReferenceBackend  # noqa: E402
from webnnm.core.arrays import HostArray  # noqa: E402
from webnnm.core.dtypes import is_float  # noqa: E402
from webnnm.core.errors import ContextLost  # noqa: E402
from webnnm.graph.node import Graph  # noqa: E402
from webnnm.ops.declare.tensors import TensorType  # noqa: E402

np = pytest.importorskip("numpy")

PAIR = TensorType("float32", (2,))
TOLERANCE = {"float32": 2e-6, "float16": 1e-3}
LONG = {"rationalSpline": 4}
"""Operators whose decomposition is so long that rounding adds up → how many times the tolerance."""


def applications(name: str) -> Iterator[tuple[Case, Any]]:
    """Yield the samples of an operator with the types that they allow."""
    for case in CASES:
        if case.operator.name == name:
            for dtype in ("float32",) if case.sample.dtypes else TYPES:
                if case.sample.dtypes or case.allows(dtype):
                    yield case, dtype


@pytest.mark.parametrize("name", ops.registry())
def test_every_sample_gives_what_the_reference_gives(name: str) -> None:
    """All samples in all types as one graph."""
    b = GraphBuilder()
    feeds: dict[str, HostArray] = {}
    outputs: dict[str, Any] = {}
    for number, (case, default) in enumerate(applications(name)):
        given: list[Any] = []
        values = iter(draw(case, number, default))
        for index, shape in enumerate(case.sample.shapes):
            if shape is None:
                given.append(None)
                continue
            dtype = case.dtype(index, default)
            given.append(b.input(f"{number}/{index}", dtype, shape))
            feeds[f"{number}/{index}"] = HostArray.of(next(values).astype(dtype))
        found = b.apply(case.operator, given, case.sample.options)
        for index, y in enumerate(found if isinstance(found, tuple) else (found,)):
            outputs[f"{number} {case.sample} {default} {index}"] = y
    graph = b.build(outputs)
    feeds = {n: HostArray.of(x, *graph.inputs[n].type) for n, x in feeds.items()}
    feeds = {n: x for n, x in feeds.items() if n in graph.inputs}
    measured, expected = (make().compute(graph, feeds) for make in (JaxBackend, ReferenceBackend))
    assert measured.keys() == expected.keys() == outputs.keys()
    for label, value in expected.items():
        dtype = outputs[label].dtype
        limit = TOLERANCE[dtype] * LONG.get(name, 1) if is_float(dtype) else 0
        np.testing.assert_allclose(measured[label], value, rtol=limit, atol=limit, err_msg=label)


def test_the_backend_names_itself() -> None:
    found = JaxBackend()
    assert (found.name, found.device) == ("jax", f"JAX {jax.__version__} on cpu")


async def test_it_is_chosen_by_name() -> None:
    for device in (None, "cpu", "npu"):
        assert (await backend("jax", device=device)).name == "jax"


async def test_a_platform_that_is_not_there_is_named() -> None:
    with pytest.raises(BackendError, match="JAX does not run on tpu here") as caught:
        await backend("jax", device="tpu")
    assert caught.value.code == "NNM709"
    assert "cpu" in caught.value.hint


def test_missing_jax_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, package: str | None = None) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(WebNNMError, match="needs JAX, which is not installed") as caught:
        JaxBackend()
    assert caught.value.code == "NNM709"
    assert 'pip install "webnnm[jax]"' in caught.value.hint


async def test_a_page_has_no_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyodide_host, "in_browser", lambda: True)
    with pytest.raises(BackendError, match="JAX does not run in a browser"):
        await backend("jax")


async def test_settings_of_jax_stay_as_they_are() -> None:
    context = JaxBackend()
    wide = HostArray.of([2**40], "int64")
    tensor = await context.tensor(TensorType("int64", (1,)), wide)
    b = GraphBuilder()
    graph = b.build({"y": b.input("x", "int64", [1]) + b.constant(1, "int64")})
    assert (await context.compute_async(graph, {"x": wide}))["y"].tolist() == [2**40 + 1]
    assert (await context.read(tensor))[0].tolist() == [2**40]
    assert jax.numpy.arange(3).dtype == "int32", "64-bit types are the program's own choice"


def test_a_strict_program_may_have_graphs_as_well() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3])
    graph = b.build({"y": b.gelu(x) + b.constant([1, 2, 3], "float32")})
    feeds = {"x": [[0.0, 1.0, 2.0]] * 2}
    expected = ReferenceBackend().compute(graph, feeds)["y"]
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        found = JaxBackend().compute(graph, feeds)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("precision", [None, "default"])
def test_products_are_exact_unless_the_program_wants_speed(
    precision: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[str] = []
    real = jax.default_matmul_precision
    monkeypatch.setattr(
        jax, "default_matmul_precision", lambda word: (wanted.append(word), real(word))[1]
    )
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1])
    with real(precision):
        JaxBackend().compute(b.build({"y": b.matmul(x, x)}), {"x": [[2.0]]})
    assert wanted == [precision or "highest"]


def accumulator() -> Graph:
    b = GraphBuilder()
    x, step = b.input("x", "float32", [2]), b.input("step", "float32", [2])
    return b.build({"x": x + step, "seen": x * 2})


async def test_values_held_elsewhere_outlive_the_memory_that_is_used_again() -> None:
    """Outputs take the memory of what they replace: constants and copies have their own."""
    context = JaxBackend()
    one, two = HostArray.of([1, 2], "float32"), HostArray.of([10, 20], "float32")
    a, x = [await context.tensor(PAIR, data) for data in (one, two)]
    copy, seen, y = [await context.tensor(PAIR) for _ in range(3)]
    fixed = await context.compile(accumulator(), constants={"step": a})
    b = GraphBuilder()
    keeper = await context.compile(b.build({"x": b.identity(b.input("x", "float32", [2]))}))
    context.dispatch(keeper, {"x": a}, {"x": copy})
    free = await context.compile(accumulator())
    context.dispatch(free, {"x": x, "step": x}, {"x": a, "seen": seen})  # replaces a
    context.dispatch(fixed, {"x": x}, {"x": y, "seen": seen})
    found = [array.tolist() for array in await context.read(a, copy, y)]
    assert found == [[20, 40], [1, 2], [11, 22]]


async def test_constants_come_from_the_host_too() -> None:
    context = JaxBackend()
    fixed = await context.compile(accumulator(), constants={"step": HostArray.of([1.0, 2.0])})
    assert (await fixed.run({"x": [10, 20]}))["x"].tolist() == [11, 22]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("count", [1, 2, 5])
async def test_steps_in_one_crossing_are_those_one_by_one(first: int, count: int) -> None:
    found: list[list[Any]] = []
    for context in (JaxBackend(), ReferenceBackend()):
        executable = await context.compile(accumulator())
        start = HostArray.of([1, 2], "float32")
        a, b, step = [await context.tensor(PAIR, start) for _ in range(3)]
        seen = [await context.tensor(PAIR) for _ in range(2)]
        banks = (
            ({"x": a, "step": step}, {"x": b, "seen": seen[0]}),
            ({"x": b, "step": step}, {"x": a, "seen": seen[1]}),
        )
        got = []
        for begin in (first, first + count):  # the second crossing begins where the first ends
            read = [(b, a), (seen[0], seen[1])]
            got += await context.run_steps(executable, banks, begin, count, read)
        found.append([array.tolist() for array in got])
    assert found[0] == found[1]


async def test_released_memory_is_free_at_once() -> None:
    context = JaxBackend()
    tensor = await context.tensor(PAIR)
    before = len(jax.live_arrays())
    context.release(tensor)
    assert len(jax.live_arrays()) == before - 1
    tensor = await context.tensor(PAIR)
    context.close()
    assert len(jax.live_arrays()) == before - 1


def test_of_equal_indices_the_last_one_counts() -> None:
    index = (np.array([3, 0, 3, 3]),)
    values = np.arange(8.0).reshape(4, 2)
    for namespace in (Namespace(), JaxNamespace(jax)):
        x = namespace.zeros((4, 2))
        found = namespace.put_at(x, tuple(map(namespace.asarray, index)), values)
        assert np.asarray(found).tolist() == [[2, 3], [0, 0], [0, 0], [6, 7]]


@pytest.mark.parametrize("part", [slice(0, 4), slice(1, 4), slice(0, 4, 2), slice(1, 4, 3)])
def test_values_are_added_at_slices(part: slice) -> None:
    values = np.ones((2, len(range(4)[part])))
    found = []
    for namespace in (Namespace(), JaxNamespace(jax)):
        x = namespace.reshape(namespace.arange(8.0), (2, 4))
        found.append(np.asarray(namespace.add_at(x, (slice(None), part), values)).tolist())
    assert found[0] == found[1]


async def test_a_kernel_that_looks_at_values_is_named() -> None:
    def decompose(b: Any, x: Any) -> Any:
        return b.identity(x)

    def reference(np: Any, x: Any) -> Any:
        return x if x.max() > 0 else -x

    composite("testPeeking", reference=reference)(decompose)
    try:
        b = GraphBuilder()
        graph = b.build({"y": b.test_peeking(b.input("x", "float32", [2]))})
        context = JaxBackend()
        with pytest.raises(BackendError, match='in the kernel of "testPeeking"') as caught:
            await context.compile(graph)
        assert caught.value.code == "NNM709"
        assert context.memory().graphs == 0
    finally:
        ops.unregister("testPeeking")


def test_settings_of_xla_reach_its_compiler() -> None:
    class Other(JaxBackend):
        xla_options: ClassVar[dict[str, Any]] = {"xla_no_such_setting": True}

    b = GraphBuilder()
    graph = b.build({"y": b.input("x", "float32", [2]) * 2})
    with pytest.raises(BackendError, match=r"cannot run the graph: .*xla_no_such_setting"):
        Other().compute(graph, {"x": [1, 2]})


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate", BackendError, "too little"),
        ("UNIMPLEMENTED: no such convolution", BackendError, "XLA cannot run the graph: no such"),
        ("INTERNAL: stream did not block", ContextLost, "JAX lost the device: INTERNAL: stream"),
        ("UNAVAILABLE: worker is gone", ContextLost, "worker is gone"),
    ],
)
def test_failures_of_xla_are_told_apart(message: str, kind: type[Any], words: str) -> None:
    context = JaxBackend()
    with pytest.raises(kind, match=words) as caught, context._translate_errors():
        raise jax.errors.JaxRuntimeError(message)
    assert type(caught.value) is kind
    assert str(caught.value) == str(_failure(message))


def test_logarithms_of_negative_powers_are_nan() -> None:
    b = GraphBuilder()
    x, exponent = b.input("x", "float32", [2, 2]), b.input("n", "float32", [])
    power = b.pow(x, exponent)
    moved = b.reshape(b.transpose(power), new_shape=[4])
    tiled = b.tile(b.split(power, 2, axis=0)[0], repetitions=[1, 2])
    graph = b.build({"y": b.log(power), "z": b.log(moved), "tiled": b.log(tiled)})
    feeds = {
        "x": HostArray.of([[-2.0, 1.0], [1.0, -1.0]], "float32"),
        "n": HostArray.of(1.0, "float32"),
    }
    found = JaxBackend().compute(graph, feeds)
    assert np.isnan(np.asarray(found["y"])).tolist() == [[True, False], [False, True]]
    assert np.isnan(np.asarray(found["z"])).tolist() == [True, False, False, True]
    assert np.isnan(np.asarray(found["tiled"])).tolist() == [[True, False, True, False]]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_quotients_of_quotients_do_not_overflow(dtype: Any) -> None:
    large = {"float16": 482.0, "float32": 1e30}[dtype]
    b = GraphBuilder()
    x = b.input("x", dtype, [2])
    graph = b.build({"y": (x / x) / x, "z": x / (x / x)})
    found = JaxBackend().compute(graph, {"x": HostArray.of([large, -large], dtype)})
    assert np.allclose(np.asarray(found["y"], "float64"), [1 / large, -1 / large], rtol=1e-3)
    assert np.allclose(np.asarray(found["z"], "float64"), [large, -large], rtol=1e-3)
