"""Which backend runs (spec H): on a desktop ONNX Runtime or NumPy, and clear words for others."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from webnnm import BackendError, backend
from webnnm.backends import pyodide_host
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.webnn import WebNNBackend

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(pyodide_host.in_browser(), reason="a browser has other backends")


async def test_numpy_on_a_desktop() -> None:
    found = await backend("numpy")
    assert found.name == "numpy"
    assert np.__version__ in found.device


@pytest.mark.parametrize("installed", [True, False])
async def test_auto_takes_onnxruntime_where_it_is_installed(
    installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if installed:
        pytest.importorskip("onnxruntime")
    else:
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert (await backend("auto")).name == ("onnxruntime" if installed else "numpy")


async def test_auto_says_nothing_on_a_desktop() -> None:
    said: list[str] = []
    await backend("auto", log=said.append)
    assert said == []


async def test_webnn_on_a_desktop_is_refused() -> None:
    with pytest.raises(BackendError) as caught:
        await backend("webnn")
    assert caught.value.code == "NNM709"


@pytest.mark.parametrize(("name", "hint"), [("numpi", '"numpy"'), ("cuda", "webnn")])
async def test_unknown_backends(name: str, hint: str) -> None:
    with pytest.raises(BackendError) as caught:
        await backend(name)
    assert caught.value.code == "NNM709"
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["webnn", "auto"])
async def test_without_an_npu_other_devices_are_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    said: list[str] = []
    numpy = ReferenceBackend()

    async def open_on(*, device: str | None, **preferences: Any) -> Any:
        asked.append(device)
        if device != "cpu":
            raise BackendError("NNM709", f"no {device} here")
        return numpy

    monkeypatch.setattr(WebNNBackend, "open", open_on)
    monkeypatch.setattr(pyodide_host, "in_browser", lambda: True)
    await backend(name, device="npu", log=said.append)
    assert (asked, said) == (["npu", "gpu", "cpu"], ["no npu here; requested cpu in place of npu"])
    with pytest.raises(BackendError, match="no gpu here"):
        await backend("webnn", device="gpu")
    assert asked[3:] == ["gpu"], "what was asked for otherwise is not replaced"


async def test_every_backend_is_a_fresh_one() -> None:
    first, second = await backend("numpy"), await backend("numpy")
    assert first is not second
    first.close()
    assert second.memory().tensors == 0


@pytest.mark.parametrize("given", [3, object(), ReferenceBackend])
async def test_what_is_neither_a_name_nor_a_backend(given: Any) -> None:
    with pytest.raises(BackendError, match="there is no backend") as caught:
        await backend(given)
    assert caught.value.code == "NNM709"
    assert "auto, webnn, onnxruntime, numpy, jax" in caught.value.hint


@pytest.mark.parametrize("name", ["auto", "numpy"])
@pytest.mark.parametrize("preference", ["lowpower", 3])
async def test_an_unknown_power_preference_is_refused_whatever_runs(
    name: str, preference: Any
) -> None:
    with pytest.raises(BackendError) as caught:
        await backend(name, power_preference=preference)
    assert caught.value.code == "NNM709" and "low-power" in caught.value.hint
