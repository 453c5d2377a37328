"""Painters, as far as they are without a page."""

from __future__ import annotations

import pytest

from webnnm import BackendError, NNModel, open_painter

TEXT = "m:input shape=[3, 4, 6]; m:output shape=[3, 4, 6]; m:layers mul(2);"


@pytest.mark.desktop
async def test_painters_need_a_page() -> None:
    async with await NNModel.create(source=TEXT, log=lambda line: None) as model:
        with pytest.raises(BackendError, match="NNM709: painters need a web page") as raised:
            await open_painter(model)
    assert "predict" in raised.value.hint
