"""ONNX models that run: sizes from data, weights as constants, files beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.formats.onnx_models import INT64, constant, graph, info, model, node
from webnnm.backends.budget import Budget
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, WebNNMError
from webnnm.formats.onnx.messages import ModelProto, StringStringEntryProto, TensorProto
from webnnm.formats.onnx.onnx_model import MOST_COMPILED
from webnnm.formats.onnx.writer import serialize

WEIGHTS = [[1.0, 2.0], [3.0, 4.0]]


def linear() -> ModelProto:
    nodes = [node("y = MatMul(x, w)")]
    return model(graph(nodes, [info("x", "batch", 2)], ["y"], constant("w", WEIGHTS, "float32")))


async def test_sizes_follow_from_the_data_and_weights_are_constants() -> None:
    async with await webnnm.load_onnx(serialize(linear()), backend="numpy") as net:
        assert isinstance(net, webnnm.OnnxModel)
        for rows in (1, 2, 1):
            found = await net.predict({"x": [[1.0, 1.0]] * rows})
            assert found["y"].tolist() == [[4.0, 6.0]] * rows
        assert str(net.inputs["x"]) == "float32[batch, 2]"
        assert net.params["w"].tolist() == WEIGHTS
        held = net.backend.memory()
        assert (held.graphs, held.tensors, held.kinds) == (2, 4, {})
        assert "compiled for x float32[2, 2]" in net.report()


async def test_the_number_of_compiled_graphs_is_bounded() -> None:
    async with await webnnm.load_onnx(serialize(linear()), backend="numpy") as net:
        for rows in range(1, MOST_COMPILED + 4):
            await net.predict({"x": [[1.0, 1.0]] * rows})
        assert net.backend.memory().graphs == MOST_COMPILED


async def test_what_the_weights_in_compiled_graphs_take_is_bounded() -> None:
    async with await webnnm.load_onnx(serialize(linear()), backend="numpy") as net:
        net.backend.budget = Budget(graph_bytes=2 * 16)  # those of two graphs
        for rows in range(1, 5):
            await net.predict({"x": [[1.0, 1.0]] * rows})
            assert net.backend.memory().graphs == min(rows, 2)
        net.backend.budget = Budget(graph_bytes=1)
        await net.predict({"x": [[1.0, 1.0]] * 9})
        assert net.backend.memory().graphs == 1
        assert (await net.predict({"x": [[1.0, 0.0]] * 9}))["y"].tolist() == [[1.0, 2.0]] * 9


async def test_weights_that_are_too_large_for_constants_are_put_on_the_device_once() -> None:
    numpy = await webnnm.backend("numpy")
    compile = numpy.compile

    async def compile_graph(graph: Any, **_: Any) -> Any:
        return await compile(graph)

    numpy.compile = compile_graph  # type: ignore[method-assign]
    async with await webnnm.load_onnx(serialize(linear()), backend=numpy) as net:
        for rows in (1, 2):
            found = await net.predict({"x": [[1.0, 1.0]] * rows})
            assert found["y"].tolist() == [[4.0, 6.0]] * rows
        held = numpy.memory()
        assert (held.graphs, held.tensors, held.kinds["parameters"]) == (2, 5, 16)
    assert (numpy.memory().graphs, numpy.memory().tensors) == (0, 0)


async def test_a_model_whose_sizes_are_given_is_compiled_at_once() -> None:
    shapes = {"batch": 3}
    async with await webnnm.load_onnx(serialize(linear()), shapes, backend="numpy") as net:
        assert net.backend.memory().graphs == 1
        await net.predict({"x": [[1.0, 1.0]] * 3})
        assert net.backend.memory().graphs == 1
        assert net.graph().outputs["y"].shape == (3, 2)
        await net.compile({"batch": 5})
        assert net.backend.memory().graphs == 2


async def test_inputs_that_decide_shapes_are_taken_from_the_data() -> None:
    of = graph([node("y = Reshape(x, s)")], [info("x", 4), info("s", 2, code=INT64)], ["y"])
    async with await webnnm.load_onnx(serialize(model(of)), backend="numpy") as net:
        for shape in ([2, 2], [4, 1], [2, 2]):
            found = await net.predict({"x": [1.0, 2.0, 3.0, 4.0], "s": shape})
            assert list(found["y"].shape) == shape
        assert net.backend.memory().graphs == 2


async def test_a_backend_that_was_given_stays_open() -> None:
    numpy = await webnnm.backend("numpy")
    net = await webnnm.load_onnx(serialize(linear()), {"batch": 1}, backend=numpy)
    net.close()
    held = numpy.memory()
    assert (held.graphs, held.tensors) == (0, 0)
    numpy.close()


def external(location: str) -> bytes:
    of = linear()
    assert of.graph is not None
    entries = [StringStringEntryProto("location", location), StringStringEntryProto("offset", "4")]
    of.graph.initializer = [
        TensorProto([2, 2], 1, name="w", external_data=entries, data_location=1)
    ]
    return serialize(of)


async def test_weights_lie_in_a_file_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(external("net.data"))
    (tmp_path / "net.data").write_bytes(bytes(4) + bytes(HostArray.of(WEIGHTS).data))
    async with await webnnm.load_onnx(tmp_path / "net.onnx", backend="numpy") as net:
        assert (await net.predict({"x": [[1.0, 0.0]]}))["y"].tolist() == [[1.0, 2.0]]
    (tmp_path / "net.onnx").write_bytes(external("../net.data"))
    with pytest.raises(DataError, match="outside its folder"):
        await webnnm.load_onnx(tmp_path / "net.onnx", backend="numpy")
    (tmp_path / "net.onnx").write_bytes(external("gone.data"))
    with pytest.raises(DataError, match="NNM715"):
        await webnnm.load_onnx(tmp_path / "net.onnx", backend="numpy")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({}, "NNM710"),
        ({"x": [[1.0, 2.0]], "z": [1.0]}, "NNM710"),
        ({"x": [[1.0, 2.0, 3.0]]}, "NNM813"),
        ({"x": [1.0, 2.0]}, "NNM813"),
        ({"x": "abc"}, "NNM702"),
    ],
)
async def test_data_that_do_not_fit(data: Any, code: str) -> None:
    async with await webnnm.load_onnx(serialize(linear()), backend="numpy") as net:
        with pytest.raises(WebNNMError, match=code):
            await net.predict(data)


async def test_models_that_cannot_be_imported_fail_when_they_are_loaded() -> None:
    of = graph([node("y = Sofmax(x)")], [info("x", "n")], ["y"])
    with pytest.raises(DataError, match="NNM812"):
        await webnnm.load_onnx(serialize(model(of)), {"n": 2}, backend="numpy")
    with pytest.raises(DataError, match='did you mean "batch"'):
        await webnnm.load_onnx(serialize(linear()), {"bach": 2}, backend="numpy")


async def test_a_single_input_takes_its_data_alone() -> None:
    async with await webnnm.load_onnx(serialize(linear()), backend="numpy") as net:
        named = (await net.predict({"x": WEIGHTS}))["y"].tolist()
        assert (await net.predict(WEIGHTS))["y"].tolist() == named
        assert (await net.predict(HostArray.of(WEIGHTS)))["y"].tolist() == named
        with pytest.raises(DataError, match='no input "input"') as caught:
            await net.predict({"input": WEIGHTS})
        assert caught.value.hint == 'available: "x"'


async def test_several_inputs_need_names() -> None:
    both = model(graph([node("y = Add(a, b)")], [info("a", 2), info("b", 2)], ["y"]))
    async with await webnnm.load_onnx(serialize(both), backend="numpy") as net:
        with pytest.raises(DataError, match="the model has 2 inputs") as caught:
            await net.predict([1.0, 2.0])
        assert caught.value.hint == 'predict({"a": …, "b": …})'
        with pytest.raises(DataError, match='input "b" has no data'):
            await net.predict({"a": [1.0, 2.0]})


async def test_models_in_memory_are_loaded_and_other_things_refused() -> None:
    class Proto:
        """What the package onnx makes."""

        def SerializeToString(self) -> bytes:
            return serialize(linear())

    async with await webnnm.load_onnx(Proto(), backend="numpy") as net:
        assert (await net.predict([[1.0, 1.0]]))["y"].tolist() == [[4.0, 6.0]]
    with pytest.raises(DataError, match="NNM715: a dict is not an ONNX model"):
        await webnnm.load_onnx({"x": 1}, backend="numpy")
