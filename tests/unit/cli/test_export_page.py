"""`export --page`: a model as a folder that runs without Python."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from webnnm import NNModel

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli").main
runtime_package = pytest.importorskip("webnnm.cli.runtime_package")

Printed = pytest.CaptureFixture[str]
SOURCE = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);"


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """The path of a saved model."""

    async def save() -> str:
        model = await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None)
        return str(await model.save(tmp_path / "sums.safetensors"))

    return asyncio.run(save())


def test_a_page_is_written_and_served_as_it_is(tmp_path: Path, snapshot: str) -> None:
    assert main(["export", snapshot, "--page", str(tmp_path / "page")]) == 0
    manifest = json.loads((tmp_path / "page" / "model.json").read_text())
    assert manifest["engines"] == ["script", "webnn"]
    assert "<webnnm-model" in (tmp_path / "page" / "index.html").read_text()


def test_a_page_has_onnx_runtime_on_request(tmp_path: Path, snapshot: str) -> None:
    package = tmp_path / "package"
    facts = {"name": "webnnm-runtime", "version": runtime_package.VERSION}
    contents = {
        "package.json": json.dumps(facts),
        "vendor/onnxruntime/ort-wasm-simd-threaded.mjs": "module",
        "vendor/onnxruntime/ort-wasm-simd-threaded.wasm": "binary",
        "vendor/onnxruntime/ort.webgpu.min.mjs": "not needed",
        "licenses/onnxruntime.txt": "MIT",
    }
    for name, text in contents.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    page = tmp_path / "page"
    given = ["--with", "onnxruntime", "--runtime", str(package)]
    assert main(["export", snapshot, "--page", str(page), *given]) == 0
    assert {path.name for path in (page / "onnxruntime").iterdir()} == {
        "ort-wasm-simd-threaded.mjs",
        "ort-wasm-simd-threaded.wasm",
        "onnxruntime.txt",
    }
    model = json.loads((page / "model.json").read_text())["onnxruntime"]["model"]
    assert (page / model).stat().st_size > 0
    assert "'wasm-unsafe-eval'" in (page / "_headers").read_text()


@pytest.mark.parametrize(
    "options",
    [
        ["--page", "page", "--out", "page"],
        ["--page", "page", "--format", "onnx"],
        ["--format", "page"],
        ["--out", "sums.onnx", "--with", "onnxruntime"],
        ["--page", "page", "--graph", "train"],
        ["--out", "sums.onnx", "--rows", "m=picture"],
        ["--page", "page", "--rows", "m=picture"],
    ],
)
def test_contradictions_are_refused(snapshot: str, options: list[str], capsys: Printed) -> None:
    assert main(["export", snapshot, *options]) != 0
    assert "NNM70" in capsys.readouterr().err
