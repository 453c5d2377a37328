"""The matrices of experts are packed like others."""

from __future__ import annotations

import pytest

from webnnm import NNModel, quantize

np = pytest.importorskip("numpy")
SOURCE = """
model:input shape=[64];
model:output shape=[32];
model:layers
  matmul(router, shape=[4]), softmax(), keepLargest(count=2, name=shares),
  expertMatmul(up, node=model:input, experts=4, size=32), expertSum(shares);
"""
NEAR = {"float16": 1e-3, "int8": 2e-2, "int4": 0.2}
"""How far results may be from those of float32, relative to the largest."""


@pytest.mark.parametrize("kind", NEAR)
async def test_matrices_of_experts_are_packed(kind: str) -> None:
    rows = np.random.default_rng(3).normal(size=(5, 64)).astype("float32")
    async with await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None) as model:
        expected = np.asarray(await model.predict(rows))
        await quantize(model, kind)
        (packing,) = (v.packing for v in model.state.network.parameters if v.name == "up1")
        assert packing is not None and (str(packing), packing.axis) == (kind, 1)
        apart = abs(np.asarray(await model.predict(rows)) - expected).max()
    assert 0 < apart < NEAR[kind] * abs(expected).max()
