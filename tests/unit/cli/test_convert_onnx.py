"""The command `convert` on ONNX models."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.formats.test_onnx_blocks import network, rows
from webnnm.formats.onnx.writer import serialize

np = pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli.program").main


def scores(place: Path, data: Any) -> Any:
    async def run() -> Any:
        async with await webnnm.load_onnx(place, backend="numpy") as net:
            return (await net.predict({"x": data}))["scores"]

    return asyncio.run(run())


def test_models_of_onnx_are_converted_there_and_back(tmp_path: Path) -> None:
    first, kept, again = (tmp_path / name for name in ("a.onnx", "b.safetensors", "c.onnx"))
    first.write_bytes(serialize(network("rows")))
    data, _ = rows(3)
    for source, target in ((first, kept), (kept, again)):
        assert main(["convert", str(source), "--out", str(target)]) == 0
        assert np.array_equal(scores(target, data), scores(first, data))
    module, sizes = tmp_path / "d.mlir", ["--shape", "x=2x1x8x8"]
    assert main(["convert", str(kept), *sizes, "--out", str(module)]) == 0
    assert "stablehlo.convolution" in module.read_text()


def test_weights_of_onnx_go_into_a_text(tmp_path: Path) -> None:
    source, text = tmp_path / "a.onnx", tmp_path / "head.nnm"
    source.write_bytes(serialize(network("rows")))
    text.write_text("m:input shape=[40]; m:output shape=[5]; m:layers matmul(w), softmax();")
    (tmp_path / "names.json").write_text('{"w1": "head.weight", "conv.*": null, "norm.*": null}')
    words = ["--model", str(text), "--mapping", str(tmp_path / "names.json"), "--backend", "numpy"]
    target = tmp_path / "head.safetensors"
    assert main(["convert", str(source), *words, "--out", str(target)]) == 0
    assert target.exists()


@pytest.mark.parametrize("words", [["--out", "x.bin"], ["--shape", "n", "--out", "x.mlir"]])
def test_mistakes_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    source = tmp_path / "a.onnx"
    source.write_bytes(serialize(network("rows")))
    assert main(["convert", str(source), *words]) != 0
    assert "NNM704" in capsys.readouterr().err


def test_values_of_onnx_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.onnx"
    source.write_bytes(serialize(network("rows")))
    assert main(["show", str(source), "--values"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["pooled", "Flatten"] in rows
    assert rows[-1] == ["scores", "MatMul"]
