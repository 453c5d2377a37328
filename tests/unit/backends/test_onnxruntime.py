"""ONNX Runtime on desktops: trainings as on the reference backend, constants, what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.backends.cloud import EPOCHS, RUNS, create, train
from webnnm import GraphBuilder
from webnnm.backends.selection import backend as open_backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError
from webnnm.model.nnmodel import NNModel
from webnnm.ops.declare.tensors import TensorType

pytest.importorskip("onnxruntime", reason="the ONNX Runtime backend needs it")
np = pytest.importorskip("numpy")

NEAR = 1e-4


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: np.array(p.value) for p in model.params()}


@pytest.mark.parametrize(("name", "optimizer"), RUNS)
async def test_trainings_are_those_of_the_reference(name: str, optimizer: str) -> None:
    found, ends, tests = [], [], []
    for backend in ("onnxruntime", "numpy"):
        async with await create(name, backend) as model:
            found.append(await train(model, optimizer))
            tests.append((await model.test("validation")).loss)
            ends.append(values(model))
            assert model.backend.name == backend
    np.testing.assert_allclose(found[0], found[1], rtol=NEAR, atol=NEAR)
    np.testing.assert_allclose(tests[0], tests[1], rtol=NEAR)
    assert found[0][0][-1] < found[0][0][0]
    for key, value in ends[0].items():
        np.testing.assert_allclose(value, ends[1][key], rtol=NEAR, atol=NEAR, err_msg=key)


async def test_the_same_seed_gives_the_same_bits() -> None:
    ends = []
    for _ in range(2):
        async with await create("mlp", "onnxruntime") as model:
            await train(model, "adam")
            ends.append(values(model))
    for name, value in ends[0].items():
        assert value.tobytes() == ends[1][name].tobytes(), name


async def test_the_best_epoch_is_replayed_and_nothing_leaks() -> None:
    from webnnm import backend

    runtime = await backend("onnxruntime")
    async with await create("mlp", runtime) as model:  # type: ignore[arg-type]
        history = await model.train(epochs=EPOCHS + 4, optimizer="adam", seeds=0)
        assert history.best_epoch is not None
    assert (runtime.memory().graphs, runtime.memory().tensors) == (0, 0)
    runtime.close()


async def test_constants_come_from_the_device_or_from_the_host() -> None:
    from webnnm.backends.onnxruntime import OnnxRuntimeBackend

    backend = OnnxRuntimeBackend()
    b = GraphBuilder()
    x, v, w = (b.input(name, "float32", [2]) for name in "xvw")
    one, two = HostArray.of([1.0, 2.0]), HostArray.of([30.0, 40.0])
    held = await backend.tensor(TensorType("float32", (2,)), two)
    executable = await backend.compile(b.build({"y": x * v + w}), constants={"v": one, "w": held})
    assert [*executable.inputs] == ["x"]
    assert (await executable.run({"x": [1, 1]}))["y"].tolist() == [31.0, 42.0]
    backend.close()


async def test_large_constants_are_handed_over_beside_the_model() -> None:
    from webnnm.backends.onnxruntime import APART, OnnxRuntimeBackend

    backend = OnnxRuntimeBackend()
    rows = APART // 4 // 64 + 1
    whole = np.arange(rows * 64, dtype="float32").reshape(rows, 64) % 7
    b = GraphBuilder()
    x = b.input("x", "float32", [1, rows])
    executable = await backend.compile(b.build({"y": x.matmul(b.constant(whole))}))
    found = await executable.run({"x": np.ones((1, rows), dtype="float32")})
    np.testing.assert_allclose(found["y"], whole.sum(0, keepdims=True), rtol=1e-5)
    backend.close()


async def test_graphs_share_large_weights_and_rearrange_filters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from webnnm.backends.onnxruntime import APART, OnnxRuntimeBackend

    backend = OnnxRuntimeBackend()
    sizes: list[int] = []
    session = OnnxRuntimeBackend._session

    def count_calls(self: Any, model: Any) -> Any:
        sizes.append(sum(len(tensor.raw_data or b"") for tensor in model.graph.initializer))
        return session(self, model)

    monkeypatch.setattr(OnnxRuntimeBackend, "_session", count_calls)
    side = 513
    assert side * side * 4 > APART
    types = {"w": [side, side], "bias": [side], "filter": [side, side, 1, 1]}
    held = {
        name: await backend.tensor(
            TensorType("float32", tuple(shape)),
            HostArray.of(np.full(shape, 1 / side, dtype="float32")),
        )
        for name, shape in types.items()
    }
    for batch in (1, 2, 3):
        b = GraphBuilder()
        x = b.input("x", "float32", [batch, side])
        w, bias = b.input("w", "float32", types["w"]), b.input("bias", "float32", [side])
        y = x.matmul(b.transpose(w, permutation=[1, 0])) + bias
        fixed = {name: held[name] for name in ("w", "bias")}
        executable = await backend.compile(b.build({"y": y}), constants=fixed)
        assert [*executable.inputs] == ["x", "w"]
    assert max(sizes) < APART
    b = GraphBuilder()
    x = b.input("x", "float32", [1, side, 2, 2])
    y = b.conv2d(x, b.input("filter", "float32", types["filter"]))
    fixed = {"filter": held["filter"]}
    executable = await backend.compile(b.build({"y": y}), constants=fixed)
    assert [*executable.inputs] == ["x"]
    assert sizes[-1] > APART
    backend.close()


async def test_a_graph_that_it_lacks_is_refused_by_name() -> None:
    from webnnm.backends.onnxruntime import OnnxRuntimeBackend

    class Lacking(OnnxRuntimeBackend):
        def _session(self, model: Any) -> Any:
            model.graph.node[0].op_type = "Unheard"
            return super()._session(model)

    b = GraphBuilder()
    graph = b.build({"y": b.sin(b.input("x", "float32", [2]))})
    with pytest.raises(BackendError, match=r"NNM505: ONNX Runtime: [\s\S]*Unheard"):
        await Lacking().compile(graph)


async def test_auto_takes_it_and_goes_on_with_numpy() -> None:
    told: list[str] = []
    backend = await open_backend("auto", log=told.append)
    assert backend.name == "onnxruntime"
    inner: Any = backend.inner  # type: ignore[attr-defined]
    inner.compile = refuse
    b = GraphBuilder()
    graph = b.build({"y": b.sin(b.input("x", "float32", [2]))})
    assert backend.compute(graph, {"x": [0, 0]})["y"].tolist() == [0, 0]
    assert backend.name == "numpy"
    assert len(told) == 1


async def refuse(*_: Any, **__: Any) -> Any:
    raise BackendError("NNM505", "no such graph")


async def test_results_that_no_memory_holds_are_an_error() -> None:
    from webnnm.backends.onnxruntime import OnnxRuntimeBackend

    b = GraphBuilder()
    x = b.input("x", "float32", [1])
    large = b.expand(x, new_shape=[2**31 - 1, 2**20])
    with pytest.raises(BackendError) as caught:
        OnnxRuntimeBackend().compute(b.build({"y": large.reduce_sum()}), {"x": [1]})
    assert caught.value.code in ("NNM709", "NNM409")


def test_nothing_is_written_into_the_home_folder(tmp_path: Path) -> None:
    program = "from webnnm.backends.onnxruntime import OnnxRuntimeBackend as B; B().close()"
    given = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name}
    given |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", program], env=given, check=True, timeout=120)
    assert not list(tmp_path.rglob("*onnxruntime*"))
