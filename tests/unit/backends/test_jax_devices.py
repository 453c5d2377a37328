"""JAX on several devices and in several processes: the same losses as on one device."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.unit.backends.cloud import answers, program
from tests.work import everything

pytest.importorskip("jax", reason="the JAX backend needs JAX")
np = pytest.importorskip("numpy")

pytestmark = pytest.mark.slow

SOME = "" if everything() else "rlion,sgdm,adam"
"""Optimizers with no, one and two states: devices divide those of all alike."""


def compare(found: dict[str, Any], expected: dict[str, Any], limit: float) -> None:
    assert found.keys() == expected.keys()
    for name, losses in expected.items():
        if name != "device":
            np.testing.assert_allclose(found[name], losses, rtol=0, atol=limit, err_msg=name)


@pytest.fixture(scope="module")
def one() -> dict[str, Any]:
    """The losses on one device."""
    (found,) = answers(program(1, SOME))
    assert found["device"].endswith(" on cpu")
    return found


def test_eight_devices_give_the_losses_of_one(one: dict[str, Any]) -> None:
    """Those of one device are near those of NumPy: test_jax_training.py."""
    (found,) = answers(program(8, SOME))
    assert "on 8 devices (cpu)" in found["device"]
    compare(found, one, 1e-5)


def test_batches_that_the_devices_do_not_divide_run_everywhere(one: dict[str, Any]) -> None:
    """Three devices: batches of 16 are computed whole on each."""
    (found,) = answers(program(3, "sgdm"))
    compare(found, {k: v for k, v in one.items() if k.endswith("sgdm") or k == "device"}, 1e-5)


def test_two_processes_give_the_losses_of_one(one: dict[str, Any]) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    found = answers(*(program(2, "adam", address, "2", str(number)) for number in range(2)))
    assert all("on 4 devices (cpu) of 2 processes" in each["device"] for each in found)
    some = {k: v for k, v in one.items() if k.endswith(" adam") or k == "device"}
    compare(found[0], some, 1e-5)
    assert found[0] == found[1], "every process knows the same, to the bit"
