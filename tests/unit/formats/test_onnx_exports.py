"""Imported models and graphs of builders as files: snapshots, ONNX, StableHLO, by the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.formats.test_onnx_blocks import network, rows
from webnnm import GraphBuilder, NNModel
from webnnm.core.errors import DataError
from webnnm.formats.onnx.writer import serialize

np = pytest.importorskip("numpy")

FILE = serialize(network("rows"))
SIZES = {"x": [3, 1, 8, 8]}


async def scores(source: Any, data: Any) -> Any:
    async with await webnnm.load_onnx(source, backend="numpy") as net:
        return (await net.predict({"x": data}))["scores"]


async def test_a_snapshot_is_loaded_again(tmp_path: Path) -> None:
    data, _ = rows(3)
    expected = await scores(FILE, data)
    async with await webnnm.load_onnx(FILE, backend="numpy") as net:
        saved = await net.save()
        path = await net.save(tmp_path / "net.safetensors")
    for source in (saved, path, str(path)):
        assert np.array_equal(await scores(source, data), expected)
    with pytest.raises(DataError, match="NNM803"):
        await webnnm.load_onnx(saved[:-1] + bytes([saved[-1] ^ 1]), backend="numpy")
    with pytest.raises(DataError, match="NNM804"):
        await NNModel.load(saved, backend="numpy")
    async with await NNModel.create(
        source="m:input shape=[2]; m:output shape=[2]; m:layers matmul(w);",
        backend="numpy",
        log=lambda line: None,
    ) as model:
        with pytest.raises(DataError, match="NNM804"):
            await webnnm.load_onnx(await model.save(), backend="numpy")


async def test_imported_models_are_exported(tmp_path: Path) -> None:
    data, _ = rows(3)
    expected = await scores(FILE, data)
    async with await webnnm.load_onnx(FILE, backend="numpy") as net:
        path = await net.export(tmp_path / "again.onnx", SIZES)
        open_ones = await net.export(tmp_path / "open.onnx", SIZES, constants=False)
        module, whole = [
            await net.export(None, SIZES, format="stablehlo", constants=fixed)
            for fixed in (False, True)
        ]
    assert np.allclose(await scores(path, data), expected, atol=1e-6)
    assert 'jax.arg_info = "conv.weight"' in module or "conv.weight" in module
    assert module.count("%arg") > whole.count("%arg")
    async with await webnnm.load_onnx(open_ones, backend="numpy") as net:
        assert "conv.weight" in net.inputs


async def test_graphs_of_builders_are_exported(tmp_path: Path) -> None:
    b = GraphBuilder()
    x, w = b.input("x", "float32", [2, 3]), b.input("w", "float32", [3, 4])
    graph = b.build({"y": b.matmul(x, w)})
    weights = [[0.5] * 4] * 3
    path = await webnnm.export_graph(graph, tmp_path / "graph.onnx", constants={"w": weights})
    async with await webnnm.load_onnx(path, backend="numpy") as net:
        assert list(net.inputs) == ["x"]
        found = await net.predict({"x": [[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]})
        assert found["y"].tolist() == [[3.0] * 4, [0.5] * 4]
    assert "stablehlo.dot_general" in await webnnm.export_graph(graph, format="stablehlo")
    with pytest.raises(DataError, match="NNM710"):
        await webnnm.export_graph(graph, format="stablehlo", constants={"v": weights})
    with pytest.raises(DataError, match="NNM702"):
        await webnnm.export_graph(graph, tmp_path / "no.onnx", constants={"w": [1.0]})
