"""Checks what is asked of a context: its device, acceleration and power."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.backends.base import DEVICES
from webnnm.core.errors import BackendError, suggestion

POWER_PREFERENCES = ("default", "high-performance", "low-power")


def check_preferences(accelerated: bool | None, power_preference: str | None) -> None:
    """Raise `BackendError` NNM709 for preferences that do not exist.

    >>> check_preferences(True, "low-power")
    """
    _check("power preference", power_preference, POWER_PREFERENCES)
    if accelerated not in (None, True, False):
        raise BackendError("NNM709", f"accelerated is {accelerated!r}, not True or False")


def check_request(
    device: str | None, accelerated: bool | None, power_preference: str | None
) -> None:
    """Raise the same for unknown devices, and for a device that contradicts `accelerated`."""
    _check("device", device, DEVICES)
    check_preferences(accelerated, power_preference)
    if device and accelerated is (device == "cpu"):
        message = f'accelerated={accelerated} contradicts device="{device}"'
        raise BackendError("NNM709", message, hint="leave one of them out")


def _check(what: str, value: str | None, choices: Sequence[str]) -> None:
    if value is not None and value not in choices:
        hint = suggestion(str(value), choices) or f"one of {', '.join(choices)}"
        raise BackendError("NNM709", f'there is no {what} "{value}"', hint=hint)
