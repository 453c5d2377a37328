"""What a context is asked for: today's words, and those of older implementations."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import BackendError, backend
from webnnm.backends import pyodide_host
from webnnm.backends.context_options import make_options
from webnnm.backends.preferences import check_wishes
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.webnn import WebNNBackend

LOW, HIGH = "low-power", "high-performance"


def in_order(wish: dict[str, Any]) -> tuple[Any, Any, Any]:
    return wish.get("device"), wish.get("accelerated"), wish.get("power_preference")


@pytest.mark.parametrize(
    ("wish", "today", "older"),
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
def test_wishes_in_both_words(
    wish: dict[str, Any], today: dict[str, Any], older: dict[str, Any]
) -> None:
    assert make_options(*in_order(wish)) == (today, older)
    check_wishes(*in_order(wish))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"device": "tpu"}, 'there is no device "tpu"'),
        ({"power_preference": "fast"}, 'there is no power preference "fast"'),
        ({"accelerated": "yes"}, "accelerated is 'yes', not True or False"),
        ({"device": "cpu", "accelerated": True}, 'accelerated=True contradicts device="cpu"'),
        ({"device": "npu", "accelerated": False}, 'accelerated=False contradicts device="npu"'),
    ],
)
def test_wishes_that_nobody_can_fulfil(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(BackendError, match=message) as caught:
        check_wishes(*in_order(wish))
    assert caught.value.code == "NNM709"


@pytest.mark.parametrize("name", ["numpy", "auto"])
async def test_preferences_are_checked_whatever_runs(name: str) -> None:
    wrong: Any = "yes"
    with pytest.raises(BackendError, match="accelerated is 'yes'"):
        await backend(name, accelerated=wrong)


async def test_without_an_accelerator_runs_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[dict[str, Any]] = []
    lines: list[str] = []

    async def open_on(**wish: Any) -> Any:
        requests.append(wish)
        if wish["accelerated"]:
            raise BackendError("NNM709", "no accelerator here")
        return ReferenceBackend()

    monkeypatch.setattr(WebNNBackend, "open", open_on)
    monkeypatch.setattr(pyodide_host, "in_browser", lambda: True)
    await backend("webnn", accelerated=True, power_preference=LOW, log=lines.append)
    rest = {"device": None, "power_preference": LOW}
    assert requests == [{"accelerated": True, **rest}, {"accelerated": None, **rest}]
    assert lines == ["no accelerator here; requested any device in place of an accelerator"]
