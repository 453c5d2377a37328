"""Adapters on WebNN: trained as on NumPy, what is frozen stays; SmolLM2 learns a style."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.browser import adapters_in_page
from tests.browser.harness import PyodidePage
from tests.browser.site_pages import SMOLLM2, needs
from tests.unit.transformers.folders import CONFIG, pack, weights
from webnnm.snapshots.safetensors import read

pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parent.parent.parent


async def test_adapters_learn_on_webnn_as_on_numpy(pyodide_page: PyodidePage) -> None:
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": pack(weights())}
    wanted = await adapters_in_page.train_adapter(files, "numpy")
    found = await pyodide_page.call(adapters_in_page.train_adapter, files, "webnn")
    for name in ("losses", "held_back", "trained", "merged"):
        assert found[name] == pytest.approx(wanted[name], rel=1e-3, abs=1e-3), name
    assert found["told"] == wanted["told"]
    assert found["same"] and found["unchanged"]
    assert found["size"] == wanted["size"]
    assert found["losses"][-1] < found["losses"][0]
    assert found["merged"] == pytest.approx(found["trained"], abs=1e-4)


@pytest.mark.slow
async def test_smollm2_learns_a_style(pyodide_page: PyodidePage, site_url: str) -> None:
    needs(SMOLLM2)
    address = f"{site_url}/models/{SMOLLM2}"
    sentences = (ROOT / "site" / "pirate.txt").read_text().splitlines()
    found = await pyodide_page.call(
        adapters_in_page.train_style, address, sentences[:16], sentences[-4:]
    )
    print({name: found[name] for name in ("first", "last", "seconds", "usages")})
    assert found["last"] <= 0.8 * found["first"]
    assert found["unchanged"]
    assert len({*found["usages"]}) == 1
    tensors = read(bytes(found["adapter"])).tensors
    assert len(tensors) == 2 * 4 * 30
