"""What a context of WebNN is asked for, in the words of today's specification or of older ones."""

from __future__ import annotations

from typing import Any

LIKELY_POWER = {"npu": "low-power", "gpu": "high-performance"}


def make_options(
    device: str | None, accelerated: bool | None, power_preference: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a context in today's words and in older ones.

    The specification of 26 June 2026 has no devices any more. `accelerated: false` "prefers CPU
    inference" (section MLContextOptions); "low-power" "will likely map to an NPU" and
    "high-performance" "to GPU" (examples of its device selection explainer). Implementations whose
    contexts do not tell `accelerated` know `deviceType` in its place.

    >>> make_options("npu", None, None)
    ({'accelerated': True, 'powerPreference': 'low-power'}, {'deviceType': 'npu'})
    """
    power = power_preference
    if device is not None:
        accelerated, power = device != "cpu", power or LIKELY_POWER.get(device)
    elif accelerated is not None:
        device = "cpu" if not accelerated else "npu" if power == "low-power" else "gpu"
    return (
        _without_none(accelerated=accelerated, powerPreference=power),
        _without_none(deviceType=device, powerPreference=power_preference),
    )


def _without_none(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
