"""The notebooks of the documentation run from an empty folder, and show what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.document_files import DOCS

nbformat: Any = pytest.importorskip("nbformat", reason="reads notebooks")
nbclient: Any = pytest.importorskip("nbclient", reason="runs notebooks")
pytest.importorskip("ipykernel", reason="is the kernel that notebooks run on")

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
HTML, SVG = "text/html", "image/svg+xml"
VEGA = "application/vnd.vegalite.v5+json"
SHOWN = {
    "model": HTML,
    "plot_model(model)": SVG,
    "model.review(epochs=60)": HTML,
    "history": HTML,
    "result": HTML,
    "worth": HTML,
    "review(source, dataset)": HTML,
    "await model.test()": HTML,
    "await find_lr(model)": HTML,
    'await cross_validate(model, 5, epochs=60, progress="off")': HTML,
}
"""The last line of a cell → how what it returns is to be shown. Charts are known by their name."""


def outputs(cell: Any, kind: str) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is written into the home folder.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / ".jupyter"))
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": tmp_path}}
    )
    client.execute()  # which raises what a cell raises
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        last = cell.source.rstrip().split("\n")[-1]
        results = outputs(cell, "execute_result")
        if kind := VEGA if last.startswith("charts.") else SHOWN.get(last):
            (result,) = results
            assert kind in result.data, last
            assert "text/plain" in result.data
        # Progress is one bar, which at the end says how the training went.
        displayed = outputs(cell, "display_data")
        if "model.train(" in cell.source or "second.train(" in cell.source:
            (bar,) = displayed
            assert bar.data[HTML].startswith("<progress")
            assert re.search(r"\d+ epochs on (numpy|onnxruntime)", bar.data[HTML])
            told = "".join(output.text for output in outputs(cell, "stream"))
            assert "epoch 2/" not in told
        else:
            assert displayed == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_results(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert notebook.metadata.keys() == {"kernelspec", "language_info"}


def test_every_kind_of_result_is_in_some_notebook() -> None:
    lines = {
        cell.source.rstrip().split("\n")[-1]
        for path in NOTEBOOKS
        for cell in nbformat.read(path, as_version=4).cells
    }
    assert set(SHOWN) <= lines
