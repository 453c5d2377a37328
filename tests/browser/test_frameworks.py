"""What docs/frameworks.md and docs/own-page.md show for pages of other kinds works as written."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools import wheel
from tools.common import ROOT, SITE
from tools.components import ESBUILD
from webnnm import NNModel, TableDataset
from webnnm.cli.serve import SiteServer

pytestmark = pytest.mark.projects("webnn")
FILE = re.compile(r"^`([\w./-]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROWS = {
    "area": [30, 60, 90, 120] * 5,
    "city": ["Ulm", "Bonn"] * 10,
    "dear": ["no", "no", "yes", "yes"] * 5,
}
TEXT = "flats:input shape=[3]; flats:output shape=[2]; flats:layers matmul(w), add(b), softmax();"
PYTHON = """<!doctype html><meta charset="utf-8" /><title>Iris</title><output id="answer">…</output>
<script type="module">
  import { predictSpecies } from "./python.js";
  const rows = [[5.1, 3.5, 1.4, 0.2], [6.5, 3.0, 5.8, 2.2]];
  const species = await Promise.all(rows.map(predictSpecies));
  document.querySelector("#answer").textContent = species.join();
</script>"""
MICROPIP = """async (address) => {
  const { loadPyodide } = await import(`${location.origin}/vendor/pyodide/pyodide.mjs`);
  const pyodide = await loadPyodide({ packages: ["micropip"] });
  return pyodide.runPythonAsync(`
import micropip

await micropip.install("${address}")
from webnnm import NNModel

text = "m:input shape=[2]; m:output shape=[2]; m:layers mul(2);"
model = await NNModel.create(source=text, log=lambda line: None)
str((await model.predict([[1, 2]])).tolist())
`);
}"""


async def export_flats(folder: Path) -> None:
    """Export the model of the document as a page."""
    dataset = TableDataset(ROWS, label="dear", standardize=["area"], split=(1, 0, 0))
    model = await NNModel.create(source=TEXT, dataset=dataset, log=lambda line: None)
    await model.train(epochs=100, progress="off")
    await model.export(folder, format="page")


def bundle(source: Path, target: Path) -> None:
    """Bundle a module as a project does."""
    command = ["node", ESBUILD, source, "--bundle", "--format=esm", "--log-level=warning"]
    subprocess.run([*command, f"--outfile={target}"], check=True)


@pytest.fixture
async def project_url(tmp_path: Path) -> Any:
    """The address of a project with the files of the document, bundled."""
    files = dict(FILE.findall((ROOT / "docs" / "frameworks.md").read_text()))
    assert {"src/flats.js", "plain.html", "public/python-worker.js", "src/python.js"} < {*files}
    for name, text in files.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    public = tmp_path / "project" / "public"
    await export_flats(public / "flats")
    bundle(tmp_path / "project/src/flats.js", public / "src" / "flats.js")
    bundle(tmp_path / "project/src/python.js", public / "python.js")
    (public / "plain.html").write_text(files["plain.html"])
    (public / "python.html").write_text(PYTHON)
    with SiteServer(public, extra_roots={"vendor": SITE / "vendor"}) as server:
        yield server.url


async def test_a_bundled_module_asks_an_exported_model(
    page: Any, project_url: str, project: Any
) -> None:
    await page.goto(f"{project_url}/plain.html")
    answer = page.locator("#answer")
    await answer.get_by_text("no", exact=True).wait_for()


async def test_a_bundled_module_asks_python_in_a_worker(
    page: Any, project_url: str, project: Any
) -> None:
    await page.goto(f"{project_url}/python.html")
    await page.get_by_text("setosa,virginica", exact=True).wait_for()


@pytest.fixture
def wheel_url(tmp_path: Path) -> Iterator[str]:
    """The address of an empty page, beside the wheel that `make wheel` writes."""
    built = wheel.current()
    (tmp_path / built.name).write_bytes(built.read_bytes())
    (tmp_path / "index.html").write_text("<!doctype html><title>Empty</title>")
    with SiteServer(tmp_path, extra_roots={"vendor": SITE / "vendor"}) as server:
        yield f"{server.url}/{built.name}"


async def test_micropip_installs_the_wheel(page: Any, wheel_url: str, project: Any) -> None:
    document = (ROOT / "docs" / "own-page.md").read_text()
    name = wheel_url.rpartition("/")[2]
    assert f'micropip.install("./{name}")' in document
    await page.goto(wheel_url.removesuffix(name))
    assert await page.evaluate(MICROPIP, f"./{name}") == "[[2.0, 4.0]]"
