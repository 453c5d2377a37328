"""What WebNN's modules say on a Python outside a browser."""

from __future__ import annotations

import pytest

from webnnm.backends import pyodide_host
from webnnm.backends.probe import probe
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.errors import BackendError

if pyodide_host.in_browser():
    pytest.skip("this Python runs in a browser", allow_module_level=True)


@pytest.mark.parametrize("installed", [True, False])
async def test_probe_says_what_runs(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webnnm.backends.probe.has_onnxruntime", lambda: installed)
    found = await probe(trials=False)
    assert found.webnn is False
    runs = "ONNX Runtime" if installed else "NumPy"
    assert found.sentence == str(found) == f"no browser: models run on {runs}"
    for device in ("npu", "gpu", "cpu"):
        assert not found.devices[device].available
        assert found.devices[device].reason == "no browser"


@pytest.mark.parametrize("name", ["numpy", "onnxruntime"])
async def test_probe_times_what_is_installed(name: str) -> None:
    pytest.importorskip(name)
    found = (await probe()).devices[name]
    assert found.available and found.seconds and found.seconds > 0
    assert (await probe(trials=False)).devices.keys() == {"npu", "gpu", "cpu"}


async def test_the_backend_is_refused_with_a_remedy() -> None:
    with pytest.raises(BackendError, match="does not run in one") as caught:
        await WebNNBackend.open()
    assert caught.value.code == "NNM709"
    assert "numpy" in caught.value.hint


async def test_an_unknown_device_is_refused_first() -> None:
    with pytest.raises(BackendError, match='no device "tpu"') as caught:
        await WebNNBackend.open(device="tpu")
    assert caught.value.hint == 'did you mean "cpu"?'
