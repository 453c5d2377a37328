"""The sentence that tells what WebNN runs on."""

from __future__ import annotations

import pytest

from webnnm.backends.probe import DeviceProbe, describe_devices


@pytest.mark.parametrize(
    ("npu", "gpu", "expected"),
    [
        ("cpu (npu requested)", "cpu (gpu requested)", "cpu, whichever device is requested"),
        ("cpu (npu requested)", "gpu+cpu (gpu requested)", "cpu; if gpu is requested: gpu+cpu"),
        ("npu", "gpu", "npu; if gpu is requested: gpu; if cpu is requested: cpu"),
    ],
)
def test_devices_that_run_alike_are_told_once(npu: str, gpu: str, expected: str) -> None:
    reasons = {"npu": npu, "gpu": gpu, "cpu": "cpu"}
    devices = {name: DeviceProbe(True, reason) for name, reason in reasons.items()}
    assert describe_devices(devices) == expected


def test_a_device_that_is_refused_is_told_with_the_reason() -> None:
    devices = {name: DeviceProbe(True, "cpu") for name in ("gpu", "cpu")}
    devices["npu"] = DeviceProbe(False, "no such device")
    assert describe_devices(devices) == "cpu; if npu is requested: no such device"
