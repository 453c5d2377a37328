"""The matrices of experts are packed like others."""

from __future__ import annotations

from typing import Any

import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from webnnm.graph.packing import packed_parameters

np = pytest.importorskip("numpy")
NEAR = {"float16": 2e-3, "int8": 2e-2, "int4": 0.3}
"""How far hidden states may be from those of float32, relative to the largest."""


@pytest.mark.parametrize(
    ("name", "kind"),
    # In 4 bits the router of so small a gpt-oss chooses other experts.
    [*(("mixtral-plain", kind) for kind in NEAR), ("gpt-oss-plain", "int8")],
)
async def test_matrices_of_experts_are_packed(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.setattr(packed_parameters, "MIN_ELEMENTS", 100)
    fixture = fixtures.read()[name]
    folder = files(fixture, fixtures.SEED)
    quiet: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
    async with await webnnm.from_pretrained(folder, weights=kind, **quiet) as model:
        stored = {
            vertex.name: vertex.packing
            for vertex in model.state.network.parameters
            if vertex.packing is not None
        }
        for parameter in ("up1", "gate1", "down1"):
            packing = stored[parameter]
            assert (str(packing), packing.axis) == (kind, 1)
        tokens = (await model.predict(**fixture.inputs))["logits"]
    expected = fixture.outputs["logits"]
    counts = fixture.inputs["attention_mask"].astype(bool)
    apart = abs(np.asarray(tokens) - expected)[counts].max() / abs(expected).max()
    assert 0 < apart < NEAR[kind]
