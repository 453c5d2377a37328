"""The backend of "auto": what one backend refuses to build the next one computes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from webnnm import NNModel
from webnnm.backends.automatic import AutomaticBackend
from webnnm.backends.base import Backend, Executable
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.selection import backend as open_backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError, WebNNMError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType

ROWS = TensorType("float32", (3,))


class Picky(ReferenceBackend):
    """A backend that refuses graphs with some operators."""

    name = "picky"

    def __init__(self, *operators: str, code: str = "NNM505") -> None:
        super().__init__()
        self.operators, self.code = operators, code
        self.device = f"a device without {', '.join(operators)}"

    async def compile(self, graph: Any, **options: Any) -> Executable:
        whole = graph if isinstance(graph, Graph) else graph.unroll()
        for name in self.operators:
            if whole.uses({name}):
                raise BackendError(self.code, f'there is no operator "{name}"')
        return await super().compile(graph, **options)


def opening(backend: Backend) -> Callable[[], Awaitable[Backend]]:
    async def open_model() -> Backend:
        return backend

    return open_model


def automatic(*backends: Backend, log: Any = None) -> AutomaticBackend:
    first, *others = backends
    return AutomaticBackend(first, [opening(each) for each in others], log)


def graph_of(operator: str, *, weight: bool = False) -> Graph:
    b = GraphBuilder()
    x = b.input("x", *ROWS)
    y = getattr(b, operator)(x)
    return b.build({"y": y * b.input("w", *ROWS) if weight else y})


def rows(*values: float) -> HostArray:
    return HostArray.of(list(values), *ROWS)


async def test_a_refused_graph_goes_to_the_next_backend_with_a_word() -> None:
    told: list[str] = []
    numpy = ReferenceBackend()
    backend = automatic(Picky("sin"), numpy, log=told.append)
    executable = await backend.compile(graph_of("abs"))
    assert backend.name == "picky"
    assert (await executable.run({"x": [-1, 2, -3]}))["y"].tolist() == [1, 2, 3]
    refused = await backend.compile(graph_of("sin"))
    assert (await refused.run({"x": [0, 0, 0]}))["y"].tolist() == [0, 0, 0]
    assert (backend.name, backend.inner) == ("numpy", numpy)
    assert told == [backend.reason]
    assert "a device without sin refused a graph" in backend.reason
    assert 'there is no operator "sin"' in backend.reason
    assert numpy.description in backend.reason


async def test_tensors_graphs_and_runners_go_along() -> None:
    backend = automatic(Picky("sin"), ReferenceBackend())
    x, w, y = [await backend.tensor(ROWS, rows(-1, 2, -3)) for _ in range(3)]
    backend.claim("parameters", w)
    bound = await backend.compile(graph_of("abs", weight=True))
    fixed = await backend.compile(graph_of("neg", weight=True), constants={"w": w})
    runner = backend.runner(bound, {"x": x, "w": w}, {"y": y}, ["x"], ["y"])
    before = backend.memory()
    refused = await backend.compile(graph_of("sin"))
    assert backend.name == "numpy"
    after = backend.memory()
    assert (after.tensors, after.bytes, after.graphs) == (3, before.bytes, before.graphs + 1)
    assert after.kinds == {"parameters": 12}
    (found,) = await runner.run([rows(1, -1, 2)])
    assert found.tolist() == [-1, 2, -6]
    backend.dispatch(fixed, {"x": x}, {"y": y})
    assert (await backend.read(y))[0].tolist() == [1, 2, 6]
    backend.write(w, rows(1, 1, 1))
    backend.dispatch(bound, {"x": x, "w": w}, {"y": y})
    assert backend.read_now(y)[0].tolist() == [1, 1, 2]
    swapped = ({"x": y}, {"y": x})
    found = await backend.run_steps(refused, (({"x": x}, {"y": y}), swapped), 0, 1, [(y, y)])
    assert found[0].tolist() == pytest.approx([0.841471, -0.841471, 0.909297])
    runner.close()
    backend.release(x, w, y, bound, fixed, refused)
    left = backend.memory()
    assert (left.tensors, left.graphs, left.bytes) == (0, 0, 0)
    backend.close()


async def test_a_second_refusal_moves_again() -> None:
    backend = automatic(Picky("sin"), Picky("sin", "cos"), Picky("cos"), ReferenceBackend())
    x = await backend.tensor(ROWS, rows(1, 2, 3))
    first = await backend.compile(graph_of("abs"))
    await backend.compile(graph_of("sin"))
    assert backend.device == "a device without cos"
    await backend.compile(graph_of("cos"))
    assert backend.name == "numpy"
    y = await backend.tensor(ROWS)
    backend.dispatch(first, {"x": x}, {"y": y})
    assert (await backend.read(y))[0].tolist() == [1, 2, 3]


async def test_a_backend_that_refuses_an_earlier_graph_is_passed_over() -> None:
    backend = automatic(Picky("sin"), Picky("abs"), ReferenceBackend())
    await backend.compile(graph_of("abs"))
    await backend.compile(graph_of("sin"))
    assert backend.name == "numpy"


async def test_what_every_backend_refuses_is_the_first_refusal() -> None:
    backend = automatic(Picky("sin"), Picky("sin", code="NNM409"))
    executable = await backend.compile(graph_of("abs"))
    with pytest.raises(BackendError, match=r'NNM505: there is no operator "sin"'):
        await backend.compile(graph_of("sin"))
    assert (await executable.run({"x": [-1, 2, -3]}))["y"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("code", ["NNM709", "NNM716", "NNM702"])
async def test_other_errors_move_nothing(code: str) -> None:
    backend = automatic(Picky("sin", code=code), ReferenceBackend())
    with pytest.raises(WebNNMError, match=code):
        await backend.compile(graph_of("sin"))
    assert backend.name == "picky"


async def test_a_backend_that_does_not_open_is_passed_over() -> None:
    async def missing() -> Backend:
        raise BackendError("NNM709", "not installed")

    numpy = ReferenceBackend()
    backend = AutomaticBackend(Picky("sin"), [missing, opening(numpy)], None)
    await backend.compile(graph_of("sin"))
    assert backend.inner is numpy


async def test_what_is_written_during_a_move_is_moved() -> None:
    backend = automatic(Picky("sin"), ReferenceBackend())
    x = await backend.tensor(ROWS, rows(1, 2, 3))

    class Slow(ReferenceBackend):
        async def compile(self, graph: Any, **options: Any) -> Executable:
            if backend.inner is not self:
                backend.write(x, rows(4, 5, 6))
            return await super().compile(graph, **options)

    backend.others[:] = [opening(Slow())]
    await backend.compile(graph_of("sin"))
    assert (await backend.read(x))[0].tolist() == [4, 5, 6]


@pytest.mark.desktop
async def test_a_model_whose_training_is_refused_goes_on(monkeypatch: Any) -> None:
    """Predictions run on the first backend; the training, with other operators, on the next."""
    told: list[str] = []

    async def candidates(*_: Any) -> Any:
        return Picky("log", "logSoftmax", "transpose"), [opening(ReferenceBackend())]

    monkeypatch.setattr("webnnm.backends.selection._candidates", candidates)
    text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), softmax();"
    from webnnm import Dataset

    dataset = Dataset([[0, 1], [1, 0]] * 8, [1, 0] * 8)
    async with await NNModel.create(source=text, dataset=dataset, seed=0, log=told.append) as model:
        before = await model.predict([[0, 1]], raw=True)
        assert model.backend.name == "picky"
        history = await model.train(epochs=2, progress="off")
        assert model.backend.name == "numpy"
        assert history.finished == 2
        assert sum("refused a graph" in line for line in told) == 1
        assert "refused a graph" in model.report()
        after = await model.predict([[0, 1]], raw=True)
    assert str(before) != str(after)


@pytest.mark.parametrize("name", ["auto", "webnn", "onnxruntime", "numpy", "jax"])
@pytest.mark.parametrize("device", ["foo", "GPU", ""])
async def test_unknown_devices_are_refused_with_the_known_ones(name: str, device: str) -> None:
    with pytest.raises(BackendError, match=r"NNM709.*there is no device[\s\S]*(one of|did you)"):
        await open_backend(name, device=device)


async def test_a_model_refuses_an_unknown_device() -> None:
    text = "m:input shape=[2]; m:output shape=[2]; m:layers relu();"
    with pytest.raises(BackendError, match='there is no device "foo"'):
        await NNModel.create(source=text, device="foo")


async def test_inputs_that_are_not_needed_are_taken_and_checked() -> None:
    b = GraphBuilder()
    x, w, c = b.input("x", "float32", [1, 2]), b.input("w", "float32", [2, 2]), None
    c = b.input("c", "float32", [1, 2])
    b.input("unused", "float32", [2])
    executable = await ReferenceBackend().compile(b.build({"y": b.gemm(x, w, c, beta=0)}))
    data: dict[str, Any] = {"x": [[1, 2]], "w": [[1, 0], [0, 1]], "c": [[9, 9]]}
    for more in ({}, {"unused": [1, 2]}):
        assert (await executable.run(data | more))["y"].tolist() == [[1, 2]]
    for wrong in ({"c": [[1, 2, 3]]}, {"unused": [1, 2, 3]}):
        with pytest.raises(DataError, match="NNM702"):
            await executable.run(data | wrong)
    with pytest.raises(DataError, match="NNM710"):
        await executable.run({"x": [[1, 2]], "w": [[1, 0], [0, 1]]})
