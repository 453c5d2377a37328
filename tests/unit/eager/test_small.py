"""Small work on the host: what is computed there, what is left to the device, if they agree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from webnnm import grad, jit, xp
from webnnm.backends import kernels
from webnnm.backends.reference import ReferenceBackend
from webnnm.eager import small
from webnnm.eager.device import Device
from webnnm.eager.errors import ArrayValueError

LIMIT = small.HOST_ELEMENTS


class FarBackend(ReferenceBackend):
    """NumPy in the part of a device that takes its time."""

    on_host = False


@pytest.fixture
def device() -> Iterator[Device]:
    """A device that is asked for large work only; the default one for the test."""
    before = Device.default()
    found = Device.of(FarBackend())
    found.make_default()
    yield found
    before.make_default()


def test_a_small_array_is_computed_without_the_device(device: Device) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    y = (x * 2 + 1) ** 2
    assert y.tolist() == [9.0, 25.0, 49.0]
    assert (xp.sum(y) > 80).item() is True
    assert (device.dispatches, device.builds, device.memory().arrays) == (0, 0, 0)


def test_the_same_structure_is_prepared_once(device: Device) -> None:
    x = xp.asarray([1.0] * 4)
    for step in range(20):
        x = x * (1 + step) - step
        assert x.tolist() == [1.0] * 4
    assert len(device.host_programs) == 1


def test_many_structures_are_not_kept(device: Device) -> None:
    for size in range(1, 400):
        assert float(xp.sum(xp.ones(size) * 2)) == 2 * size
    assert len(device.host_programs) <= 256


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda: xp.sum(xp.ones(LIMIT + 1)), id="a large operand"),
        pytest.param(lambda: xp.sum(xp.ones((LIMIT, 1)) * xp.ones((1, 2))), id="on the way"),
        pytest.param(lambda: xp.zeros(3, dtype=xp.int64) + 1, id="64 bits"),
        pytest.param(lambda: jit(lambda x: x + 1)(xp.ones(3)), id="jit"),
        pytest.param(lambda: many(small.HOST_OPERATIONS + 1), id="many operations"),
    ],
)
def test_other_work_is_left_to_the_device(device: Device, work: Callable[[], xp.Array]) -> None:
    work().tolist()
    assert device.dispatches == 1


def many(operations: int) -> xp.Array:
    x = xp.ones(2)
    for _ in range(operations):
        x = xp.sin(x)
    return x


def test_what_the_device_has_stays_there_until_it_is_read(device: Device) -> None:
    total = xp.sum(xp.ones(5000))
    assert float(total + 1) == 5001.0  # one dispatch for both
    half = total / 2
    assert float(half) == 2500.0
    assert device.dispatches == 2
    assert float(half * 2) == 5000.0
    assert device.dispatches == 3

    async def read() -> xp.Array:
        return await half

    assert float(asyncio.run(read()) * 3) == 7500.0
    assert device.dispatches == 3


def test_small_values_come_to_the_device_with_large_ones(device: Device) -> None:
    scale = xp.asarray(2.0) * 1.5
    assert float(scale) == 3.0
    assert float(xp.sum(xp.ones(5000) * scale)) == 15000.0
    assert device.dispatches == 1
    assert float(scale + 1) == 4.0  # the host has kept them
    assert device.dispatches == 1


def test_nothing_is_computed_on_the_host_where_that_is_not_wanted() -> None:
    device = asyncio.run(xp.open_device(FarBackend(), host_elements=0))
    assert (xp.ones(3, device=device) + 1).tolist() == [2.0] * 3
    assert device.dispatches == 1


def test_nothing_is_computed_on_the_host_without_numpy(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webnnm.eager.device.numpy_is_loaded", lambda: False)
    assert (xp.ones(3) + 1).tolist() == [2.0] * 3
    assert device.dispatches == 1


def test_a_donated_array_is_still_an_error(device: Device) -> None:
    x = xp.ones(3)
    jit(lambda x: x * 2, donate_argnames=["x"])(x)
    with pytest.raises(ArrayValueError, match="donated"):
        (x + 1).tolist()


def test_a_fault_on_the_host_is_told_to_everyone_who_asks(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(kernels.Program, "__call__", fails)
    x = xp.ones(3) + 1
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room"):
            x.tolist()


def test_an_outer_gradient_sees_what_was_asked_for_on_the_way(device: Device) -> None:
    seen: list[float] = []

    def cube(x: xp.Array) -> xp.Array:
        square = x * x
        seen.append(float(square))
        return square * x

    assert float(grad(cube)(xp.asarray(3.0))) == 27.0
    assert seen == [9.0]
    assert device.dispatches == 0


UNARY: list[Callable[[xp.Array], xp.Array]] = [
    xp.exp,
    xp.tanh,
    xp.abs,
    lambda x: xp.sort(x, axis=-1),
    lambda x: x[::-1],
    lambda x: xp.where(x > 0, x, x * 0.1),
    lambda x: x - xp.max(x, axis=-1, keepdims=True),
    lambda x: xp.cumulative_sum(x, axis=0),
    lambda x: x @ xp.matrix_transpose(x) @ x * 0.1,
    lambda x: xp.astype(xp.astype(xp.round(x * 3), xp.int32) % 5, xp.float32),
]


@pytest.mark.parametrize("seed", range(20))
def test_the_host_computes_what_the_device_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(5, 6)).astype("float32")
    chosen = rng.integers(0, len(UNARY), 8)

    def run(host_elements: int) -> tuple[Any, int]:
        device = Device.of(FarBackend(), host_elements=host_elements)
        x = xp.asarray(values, device=device)
        for place, each in enumerate(chosen):
            x = UNARY[each](xp.clip(x, -4, 4))
            if place % 3 == 0:
                x.tolist()
        return np.asarray(x), device.dispatches

    (here, none), (there, some) = run(LIMIT), run(0)
    assert none == 0 < some
    np.testing.assert_array_equal(here, there)
