"""The reference backend: what it says of itself, and graphs evaluated at once."""

from __future__ import annotations

import asyncio
import importlib
import itertools
from typing import Any

import pytest

from webnnm import GraphBuilder, WebNNMError
from webnnm.backends import pyodide_host
from webnnm.backends.reference import Namespace, ReferenceBackend, evaluate
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType

np = pytest.importorskip("numpy")


def test_backend_names_itself() -> None:
    backend = ReferenceBackend()
    assert (backend.name, backend.device) == ("numpy", f"NumPy {np.__version__} on the CPU")


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> ReferenceBackend:
    """The backend of a page in which every graph takes long."""
    with monkeypatch.context() as patch:
        patch.setattr(pyodide_host, "in_browser", lambda: True)
        patch.setattr(pyodide_host, "has_document", lambda: True)
        return ReferenceBackend(clock=itertools.count().__next__)


def build_doubling() -> Graph:
    b = GraphBuilder()
    return b.build({"y": b.input("x", "float32", [1]) * 2})


async def test_a_page_lives_while_results_are_read(busy: ReferenceBackend) -> None:
    executable = await busy.compile(build_doubling())
    x, y = [await busy.tensor(TensorType("float32", (1,))) for _ in "xy"]
    turns: list[str] = []
    loop = asyncio.get_running_loop()
    for _ in range(3):
        busy.dispatch(executable, {"x": x}, {"y": y})
        loop.call_soon(turns.append, "taken")
        await busy.read(y)
        turns.append("read")
        await busy.read(y)  # nothing was computed since, so that no rest is due
    assert turns == ["taken", "read"] * 3


async def test_a_worker_hears_messages_and_does_not_wait_for_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyodide_host, "in_browser", lambda: True)
    monkeypatch.setattr(pyodide_host, "has_document", lambda: False)
    rests: list[float] = []

    async def sleep(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    backend = ReferenceBackend(clock=itertools.count().__next__)
    executable = await backend.compile(build_doubling())
    x, y = [await backend.tensor(TensorType("float32", (1,))) for _ in "xy"]
    backend.dispatch(executable, {"x": x}, {"y": y})
    await backend.read(y)
    assert rests == [0.0]


def test_a_computation_without_await_does_not_rest(busy: ReferenceBackend) -> None:
    for x in (1, 2):
        assert busy.compute(build_doubling(), {"x": [x]})["y"].tolist() == [2 * x]


def test_missing_numpy_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, package: str | None = None) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    for start in (ReferenceBackend, Namespace):
        with pytest.raises(WebNNMError) as caught:
            start()
        assert caught.value.code == "NNM709"
        assert "needs NumPy" in caught.value.message
        assert "pip install numpy" in caught.value.hint


def test_evaluate_takes_lists_and_keeps_types() -> None:
    b = GraphBuilder()
    x, n = b.input("x", "float16", [2]), b.input("n", "int32", [])
    found = evaluate(b.build({"x": x, "n": n}), {"x": [1, 2], "n": 3})
    assert [(v.dtype.name, v.tolist()) for v in found.values()] == [
        ("float16", [1, 2]),
        ("int32", 3),
    ]


def test_wide_evaluation_computes_in_float64() -> None:
    b = GraphBuilder()
    x = b.input("x", "float16", [])
    y = b.cast(x, type="float32") + 2.0**-40
    graph = b.build({"x": x, "y": y, "n": b.cast(y, type="int32")})
    found = evaluate(graph, {"x": 1.0}, wide=True)
    assert [v.dtype.name for v in found.values()] == ["float64", "float64", "int32"]
    assert found["y"] == 1 + 2.0**-40


def test_evaluation_warns_of_nothing() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3])
    outputs = {"log": b.log(x), "quotient": x / x, "exp": b.exp(x), "whole": b.cast(x, type="int8")}
    found = evaluate(b.build(outputs), {"x": [0, -1, 1e38]})
    assert np.isnan(found["quotient"][0])
    assert found["log"][0] == -np.inf


def test_long_chains_need_no_recursion() -> None:
    b = GraphBuilder()
    y = b.input("x", "float32", [])
    for _ in range(5000):
        y = -y
    assert evaluate(b.build({"y": y}), {"x": 3})["y"] == 3
