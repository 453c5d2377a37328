"""`export` to ONNX: graphs with open sizes, accepted by ONNX, run by ONNX Runtime as by NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.onnx_runs import check, np, onnx, run
from tests.unit.formats.stablehlo_cases import (
    CNN,
    IRIS,
    TRANSFORMER,
    losses,
    network,
    step_settings,
)
from webnnm import DataError, Dataset, GraphBuilder, ModelError, NNModel
from webnnm.backends.reference import evaluate
from webnnm.formats.export_graphs import inference_graph, train_graph
from webnnm.formats.onnx.exporting.file import write_model
from webnnm.formats.onnx.exporting.lowering import graph_model
from webnnm.graph.elaboration.lowering import lower_network

TAGS = """
m:name tags;
m:input shape=[4] sequence=words;
m:output shape=[3] sequence=words;
m:layers matmul(w, shape=[8]), add(b), gelu(), dropout(0.5), matmul(w), add(b), softmax();
"""


async def model(source: str = TAGS, **settings: Any) -> NNModel:
    return await NNModel.create(source=source, backend="numpy", log=lambda line: None, **settings)


def dimensions(value: Any) -> list[Any]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize("graph", ["inference", "loss", "train"])
@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("sequence", [None, 5])
async def test_graphs_and_sizes(tmp_path: Path, graph: str, batch: Any, sequence: Any) -> None:
    async with await model() as tags:
        path = await tags.export(tmp_path / "tags.onnx", graph, batch, sequence)
    found = onnx.load(path)
    onnx.checker.check_model(found, full_check=True)
    assert dimensions(found.graph.input[0]) == [batch or "batch", sequence or "words", 4]
    names = [value.name for value in found.graph.input]
    assert ("w1" in names) == ("lr" in names) == (graph == "train")
    assert ("w1/out" in [value.name for value in found.graph.output]) == (graph == "train")


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("source", [IRIS, CNN, TRANSFORMER, TAGS], ids=["mlp", "cnn", "tr", "tag"])
def test_one_file_runs_for_every_size(source: str, batch: int, length: int) -> None:
    net = network(source)
    exported = inference_graph(net, None, {})
    names = exported.names
    data = check(graph_model(exported.graphs, names=names))
    graph = lower_network(net, batch=batch, sequence={"words": length}).graph()
    rng = np.random.default_rng(5)
    given = {n: rng.normal(size=o.shape).astype(o.dtype) for n, o in graph.inputs.items()}
    found = run(data, {names[name]: value for name, value in given.items()})
    for name, value in evaluate(graph, given).items():
        np.testing.assert_allclose(found[f"{names[name]}/out"], value, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("optimizer", ["rlion", "adam", "sgdm"])
@pytest.mark.parametrize("source", [IRIS, CNN])
def test_ten_steps_of_training_are_those_of_the_reference(source: str, optimizer: str) -> None:
    net = network(source)
    settings = step_settings(net, losses(net, {}), optimizer=optimizer)
    exported = train_graph(net, settings, 6, {})
    graph, names = exported.graphs[0], exported.names
    data = check(graph_model(exported.graphs, names=names))
    rng = np.random.default_rng(3)
    given: dict[str, Any] = {}
    for name, o in graph.inputs.items():
        given[name] = rng.normal(size=o.shape).astype(o.dtype) * 0.3
        if name.startswith("target/"):
            given[name] = np.eye(o.shape[-1], dtype=o.dtype)[rng.integers(0, o.shape[-1], 6)]
        elif not o.shape or "random" in name:
            given[name] = np.full(o.shape, {"rate": 0.01}.get(name, 1)).astype(o.dtype)
    other = dict(given)
    for _ in range(10):
        expected = evaluate(graph, given)
        found = run(data, {names[name]: value for name, value in other.items()})
        for name, value in expected.items():
            outside = f"{names[name]}/out" if name in graph.inputs else names[name]
            np.testing.assert_allclose(found[outside], value, rtol=1e-4, atol=1e-4, err_msg=name)
            if name in graph.inputs:
                given[name], other[name] = value, found[outside]


async def test_parameters_can_be_inputs(tmp_path: Path) -> None:
    async with await model(IRIS) as iris:
        path = await iris.export(tmp_path / "iris.onnx", constants=False)
        with pytest.raises(DataError, match="constants=True"):
            await iris.export(tmp_path / "no.onnx", "train", constants=True)
        with pytest.raises(ModelError, match='there is no graph "training"'):
            await iris.export(tmp_path / "no.onnx", "training")
    names = [value.name for value in onnx.load(path).graph.input]
    assert names[0] == "iris" and len(names) == 5


def test_large_weights_lie_in_a_file_beside_the_model(tmp_path: Path) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 40])
    w = np.arange(1600, dtype="float32").reshape(40, 40)
    graph = b.build({"y": x.matmul(b.constant(w)).add(b.constant([1.0] * 40))})
    path = write_model(tmp_path / "net.onnx", graph_model([graph]), limit=1000)
    assert (tmp_path / "net.onnx.data").stat().st_size >= 6400
    onnx.checker.check_model(path, full_check=True)
    (found,) = run(path, {"x": np.ones((1, 40), dtype="float32")}).values()
    np.testing.assert_allclose(found, w.sum(0, keepdims=True) + 1)


RECURRENT = (
    "m:input shape=[2] sequence=time; m:output shape=[1]; "
    "m:layers {}, matmul(v, shape=[1]), add(b);"
)


@pytest.mark.parametrize(
    "layers",
    [
        "lstm(w, r, hiddenSize=3)",
        "gru(w, r, hiddenSize=3)",
        "positionalEncoding(), reduceMean(axes=[time])",
    ],
)
async def test_layers_that_need_a_length_take_that_of_the_data(tmp_path: Path, layers: str) -> None:
    lines: list[str] = []
    rows = [[[float(t), float(n)] for t in range(5)] for n in range(8)]
    data = Dataset(rows, [float(n) for n in range(8)], length="max")
    source = RECURRENT.format(layers)
    async with await NNModel.create(source=source, dataset=data, log=lines.append) as trained:
        path = await trained.export(tmp_path / "open.onnx")
        saved = await trained.save()
    assert dimensions(onnx.load(path).graph.input[0]) == ["batch", 5, 2]
    assert lines[-1].startswith('in the file, "time" has 5 positions, as in the data: ')
    async with await NNModel.load(saved, log=lines.append) as loaded:
        path = await loaded.export(tmp_path / "loaded.onnx")
        assert dimensions(onnx.load(path).graph.input[0]) == ["batch", 5, 2]
        # Who asks for an open length is not given another one.
        with pytest.raises(ModelError, match="NNM902"):
            await loaded.export(tmp_path / "no.onnx", sequence={"time": None})


async def test_without_data_the_hint_says_how_to_fix_the_length() -> None:
    async with await model(RECURRENT.format("lstm(w, r, hiddenSize=3)")) as untrained:
        with pytest.raises(ModelError, match="NNM902") as caught:
            await untrained.export(format="onnx")
        assert caught.value.message == '"lstm1": its graph differs between sizes'
        assert caught.value.hint.startswith("sequence=128 fixes the length of sequences")
        await untrained.export(format="onnx", sequence=128)
