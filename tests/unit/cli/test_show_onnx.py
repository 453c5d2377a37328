"""`webnnm show` of an ONNX model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.formats.onnx_models import constant, graph, info, model, node
from webnnm.cli.program import main
from webnnm.formats.onnx.writer import serialize


@pytest.fixture
def path(tmp_path: Path) -> str:
    nodes = [node("h = MatMul(x, w)"), node("y = Relu(h)")]
    weights = constant("w", [[1.0, 2.0]], "float32")
    of = graph(nodes, [info("x", "batch", 1)], ["y"], weights)
    place = tmp_path / "net.onnx"
    place.write_bytes(serialize(model(of)))
    return str(place)


def test_a_model_is_shown(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", path]) == 0
    text = capsys.readouterr().out
    assert "input   x: float32[batch, 1]" in text
    assert "weights 2 numbers in 1 tensors" in text
    assert "nodes   2: MatMul, Relu" in text
    assert main(["show", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == {"w": [1, 2]}


def test_it_has_no_plan(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", path, "--plan"]) != 0
    assert "shown as a whole" in capsys.readouterr().err
