"""What WebNN's modules say on a Python outside a browser."""

from __future__ import annotations

import pytest

from webnnm.backends import pyodide_host
from webnnm.backends.probe import probe
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.errors import BackendError

if pyodide_host.in_browser():
    pytest.skip("this Python runs in a browser", allow_module_level=True)


async def test_probe_says_what_runs() -> None:
    found = await probe()
    assert found.webnn is False
    assert found.sentence == str(found) == "no browser: models run on NumPy"
    assert [device.available for device in found.devices.values()] == [False] * 3


async def test_the_backend_is_refused_with_a_remedy() -> None:
    with pytest.raises(BackendError, match="does not run in one") as caught:
        await WebNNBackend.open()
    assert caught.value.code == "NNM709"
    assert "numpy" in caught.value.hint


async def test_an_unknown_device_is_refused_first() -> None:
    with pytest.raises(BackendError, match='no device "tpu"') as caught:
        await WebNNBackend.open(device_type="tpu")
    assert caught.value.hint == 'did you mean "cpu"?'
