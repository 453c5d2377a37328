"""What a context is asked for: today's words, and those of older implementations."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import BackendError, backend
from webnnm.backends import pyodide_host, unpacking
from webnnm.backends.automatic import AutomaticBackend
from webnnm.backends.context_options import make_options
from webnnm.backends.preferences import check_request
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.shared import SharedBackend
from webnnm.backends.webnn import WebNNBackend

LOW, HIGH = "low-power", "high-performance"


def in_order(preferences: dict[str, Any]) -> tuple[Any, Any, Any]:
    return (
        preferences.get("device"),
        preferences.get("accelerated"),
        preferences.get("power_preference"),
    )


@pytest.mark.parametrize(
    ("preferences", "today", "older"),
    [
        ({}, {}, {}),
        (
            {"device": "npu"},
            {"accelerated": True, "powerPreference": LOW},
            {"deviceType": "npu"},
        ),
        (
            {"device": "gpu"},
            {"accelerated": True, "powerPreference": HIGH},
            {"deviceType": "gpu"},
        ),
        ({"device": "cpu"}, {"accelerated": False}, {"deviceType": "cpu"}),
        (
            {"device": "npu", "power_preference": HIGH},
            {"accelerated": True, "powerPreference": HIGH},
            {"deviceType": "npu", "powerPreference": HIGH},
        ),
        ({"accelerated": False}, {"accelerated": False}, {"deviceType": "cpu"}),
        ({"accelerated": True}, {"accelerated": True}, {"deviceType": "gpu"}),
        (
            {"accelerated": True, "power_preference": LOW},
            {"accelerated": True, "powerPreference": LOW},
            {"deviceType": "npu", "powerPreference": LOW},
        ),
        ({"power_preference": LOW}, {"powerPreference": LOW}, {"powerPreference": LOW}),
    ],
)
def test_requests_in_both_words(
    preferences: dict[str, Any], today: dict[str, Any], older: dict[str, Any]
) -> None:
    assert make_options(*in_order(preferences)) == (today, older)
    check_request(*in_order(preferences))


@pytest.mark.parametrize(
    ("preferences", "message"),
    [
        ({"device": "tpu"}, 'there is no device "tpu"'),
        ({"power_preference": "fast"}, 'there is no power preference "fast"'),
        ({"accelerated": "yes"}, "accelerated is 'yes', not True or False"),
        ({"device": "cpu", "accelerated": True}, 'accelerated=True contradicts device="cpu"'),
        ({"device": "npu", "accelerated": False}, 'accelerated=False contradicts device="npu"'),
    ],
)
def test_requests_that_nobody_can_fulfil(preferences: dict[str, Any], message: str) -> None:
    with pytest.raises(BackendError, match=message) as caught:
        check_request(*in_order(preferences))
    assert caught.value.code == "NNM709"


@pytest.mark.parametrize("name", ["numpy", "auto", "webnn"])
async def test_preferences_are_checked_whatever_runs(name: str) -> None:
    wrong: Any = 1
    with pytest.raises(BackendError, match="accelerated is 1, not True or False"):
        await backend(name, accelerated=wrong)
    with pytest.raises(BackendError, match='accelerated=False contradicts device="npu"'):
        await backend(name, device="npu", accelerated=False)


async def test_without_an_accelerator_runs_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = ReferenceBackend()
    requests: list[dict[str, Any]] = []
    lines: list[str] = []

    async def open_on(**preferences: Any) -> Any:
        requests.append(preferences)
        if preferences["accelerated"]:
            raise BackendError("NNM709", "no accelerator here")
        return numpy

    monkeypatch.setattr(WebNNBackend, "open", open_on)
    monkeypatch.setattr(pyodide_host, "in_browser", lambda: True)
    await backend("webnn", accelerated=True, power_preference=LOW, log=lines.append)
    rest = {"device": None, "power_preference": LOW}
    assert requests == [{"accelerated": True, **rest}, {"accelerated": None, **rest}]
    assert lines == ["no accelerator here; requested any device in place of an accelerator"]


@pytest.mark.parametrize(
    ("accelerated", "devices", "described", "holds_packed"),
    [
        (True, [], "accelerated", True),
        (False, [], "not accelerated", False),
        (True, ["gpu", "npu"], "gpu+npu, accelerated", True),
        (True, ["cpu"], "cpu, accelerated", False),
        (None, ["cpu"], "cpu", False),
        (None, [], "an unknown device", False),
    ],
)
async def test_backends_tell_what_the_browser_tells(
    accelerated: bool | None, devices: list[str], described: str, holds_packed: bool
) -> None:
    pytest.importorskip("numpy")
    from tests.unit.backends.fake_webnn import FakeWebNN

    fake: Any = FakeWebNN(accelerated=accelerated, devices=devices)
    opened = await WebNNBackend.open(bridge=fake)
    views = (opened, SharedBackend(opened), AutomaticBackend(opened, (), None))
    assert [view.accelerated for view in views] == [accelerated] * 3
    assert opened.device == described
    assert unpacking.holds_packed(opened) == holds_packed
    opened.close()
