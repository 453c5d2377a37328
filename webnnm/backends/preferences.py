"""Checks what is asked of a context: its device, acceleration and power."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.backends.base import DEVICES
from webnnm.core.errors import BackendError, suggestion

POWER_PREFERENCES = ("default", "high-performance", "low-power")


def check_request(
    device: str | None, accelerated: bool | None, power_preference: str | None
) -> None:
    """Raise `BackendError` NNM709 for what cannot be asked of a context, or contradicts itself.

    >>> check_request("npu", True, "low-power")
    """
    _check("device", device, DEVICES)
    _check("power preference", power_preference, POWER_PREFERENCES)
    if accelerated is None:
        return
    if not isinstance(accelerated, bool):
        raise BackendError("NNM709", f"accelerated is {accelerated!r}, not True or False")
    if device and accelerated is (device == "cpu"):
        message = f'accelerated={accelerated} contradicts device="{device}"'
        raise BackendError("NNM709", message, hint="leave one of them out")


def _check(what: str, value: str | None, choices: Sequence[str]) -> None:
    if value is not None and value not in choices:
        hint = suggestion(str(value), choices) or f"one of {', '.join(choices)}"
        raise BackendError("NNM709", f'there is no {what} "{value}"', hint=hint)
