"""Models of one's own in fewer bits: they predict as before, and come back."""

from __future__ import annotations

import pytest

from webnnm import DataError, NNModel, quantize

SOURCE = """
m:input shape=[64]; m:output shape=[2];
m:layers matmul(w, shape=[64]), tanh(), matmul(v);
"""
ROW = [[((7 * k) % 11) / 11 for k in range(64)]]


async def test_predictions_go_on_in_fewer_bits_and_back() -> None:
    async with await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None) as model:
        (whole,) = (await model.predict(ROW)).tolist()
        assert await quantize(model, "int8") == ["w1"]
        (packed,) = (await model.predict(ROW)).tolist()
        assert packed == pytest.approx(whole, abs=0.05)
        assert packed != whole
        assert await quantize(model, None) == []
        assert (await model.predict(ROW)).tolist()[0] == pytest.approx(packed, rel=1e-5)
        await model.compile()
        await quantize(model, "int8")
        assert (await model.predict(ROW)).tolist()[0] == pytest.approx(packed, rel=1e-5)


async def test_packed_values_are_not_set() -> None:
    async with await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None) as model:
        values = model.param_arrays()
        await quantize(model, "int4")
        with pytest.raises(DataError, match="packed") as raised:
            await model.load_params(values)
        assert "await webnnm.quantize(model, None)" in raised.value.hint
        assert await model.load_params(values, only="v*") == ["v1"]


async def test_a_model_says_where_the_function_is() -> None:
    async with await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None) as model:
        with pytest.raises(AttributeError, match=r"use await webnnm.quantize\(model, …\)"):
            _ = model.quantize
