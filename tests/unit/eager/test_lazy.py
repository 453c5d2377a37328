"""Lazy execution: what is compiled, computed and kept, and when."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator

import pytest

from webnnm import grad, jit, tree_map, value_and_grad, vmap, xp
from webnnm.core.errors import BackendError
from webnnm.eager.device import Device
from webnnm.eager.errors import ArrayValueError, TracedValueError


@pytest.fixture
def device() -> Iterator[Device]:
    """A device of its own that leaves nothing to the host, the default one for the test."""
    before = Device.default()
    found = Device(host_elements=0)
    found.make_default()
    yield found
    before.make_default()


def test_operations_run_together_when_a_value_is_asked_for(device: Device) -> None:
    x = xp.asarray([1.0, 2.0])
    for _ in range(20):
        x = x * 1.5 + 1.0
    assert device.dispatches == 0
    float(xp.sum(x))
    assert device.dispatches == 1


def test_a_loop_compiles_nothing_after_its_first_pass(device: Device) -> None:
    x = xp.asarray([1.0, 2.0])
    built: list[int] = []
    for step in range(5):
        x = x - 0.1 * step * x
        float(xp.sum(x))
        built.append(device.builds)
    assert built[1:] == [built[1]] * 4


def test_what_nobody_refers_to_is_not_computed(device: Device) -> None:
    x = xp.asarray([1.0, 2.0])
    dead = xp.exp(x)
    del dead
    alive = x + 1
    assert alive.tolist() == [2.0, 3.0]
    (program,) = device.programs.values()
    assert len(program.outputs) == 1


@pytest.mark.alike
def test_memory_goes_with_the_last_name(device: Device) -> None:
    kept = xp.ones(100) * 2
    float((kept * 3 + kept)[0])
    before = device.memory()
    for _ in range(200):
        x = kept * 3
        y = x + kept
        float(y[0])
    del x, y
    gc.collect()
    after = device.memory()
    assert (after.arrays, after.bytes) == (before.arrays, before.bytes)
    assert after.graphs <= before.graphs + 3


@pytest.mark.desktop
def test_a_hundred_thousand_operations_hold_what_a_few_held(device: Device) -> None:
    x, traced = xp.ones(16), jit(lambda a: xp.tanh(a) + x)

    class Kept:
        def __init__(self, y: xp.Array) -> None:
            self.me, self.y = self, y

    def fails(a: xp.Array) -> xp.Array:
        raise RuntimeError(f"in the middle of {a * 2}")

    def run(operations: int) -> None:
        y = x
        for number in range(operations // 400):
            for _ in range(198):
                y = y * 0.5 + x
            y = traced(y)
            Kept(y + number)
            with pytest.raises(RuntimeError):
                (grad(fails), jit(fails), vmap(fails))[number % 3](y)
            float(y[0])
            gc.collect(0)  # what is kept by itself goes at the latest now

    def held() -> list[int]:
        gc.collect()
        assert device.pending is not None
        memory = device.memory()
        return [memory.arrays, memory.bytes, memory.graphs, len(device.pending.builder.nodes)]

    run(400)  # now the ones are computed
    run(16_000)  # so many numbers that the device keeps no more of them
    before, objects = held(), len(gc.get_objects())
    run(100_000)
    assert held() == before
    assert len(gc.get_objects()) <= objects + 100  # what caches took up
    assert not device.pending.differentiating


def test_memory_goes_with_a_cycle_and_an_exception(device: Device) -> None:
    kept = xp.ones(100)
    float(kept[0])
    before = device.memory().bytes

    class Node:
        def __init__(self) -> None:
            self.me, self.x = self, kept * 2

    node = Node()
    float(node.x[0])
    del node

    @jit
    def fails(x: xp.Array) -> xp.Array:
        y = x * 2
        raise RuntimeError(f"in the middle: {y}")

    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"traced float32\[100\]"):
            fails(kept)
    gc.collect()
    assert device.memory().bytes == before
    assert (kept + 1).tolist() == [2.0] * 100


def test_what_a_function_refers_to_goes_with_it(device: Device) -> None:
    def total() -> float:
        outside = xp.ones(100) * 2
        return float(jit(lambda x: xp.sum(x * outside))(xp.asarray(3.0)))

    assert total() == 600
    gc.collect()
    assert device.memory().arrays == 0


def test_what_is_pending_for_nobody_holds_nothing(device: Device) -> None:
    float(xp.sum(xp.ones(1000)))  # opens the device
    gc.collect()
    before = device.memory()
    x = xp.ones(1000)
    float(x[0])
    y = x + 1
    del x
    assert device.memory().bytes > before.bytes
    del y
    assert device.memory().arrays == before.arrays


def test_many_pending_operations_are_computed_in_parts(device: Device) -> None:
    x = xp.asarray(0.0)
    for _ in range(5000):
        x = x + 1.0
    assert device.dispatches >= 2
    assert float(x) == 5000.0


@pytest.mark.alike
def test_a_loop_that_asks_for_nothing_is_compiled_a_few_times(device: Device) -> None:
    before = [0.5] * 40
    x = xp.asarray(before)
    for each in before:  # what comes before a loop is not repeated
        x = x - each
    for _ in range(4000):
        x = xp.cos(xp.cos(xp.sin(x) * 0.5 + 0.1))
    builds = device.builds
    assert device.dispatches > 4 * builds > 0
    last = 0.0
    for _ in range(200):
        last = math.cos(math.cos(math.sin(last) * 0.5 + 0.1))
    assert x.tolist() == pytest.approx([last] * 40, rel=1e-5)


def test_parts_at_ever_new_places_are_taken_by_few_programs(device: Device) -> None:
    x = xp.reshape(xp.arange(180.0), (30, 3, 2))
    for k in range(0, 30, 2):
        assert float(xp.sum(x[k : k + 2])) == 72 * k + 66
    assert device.builds <= 5
    for k in range(28):
        first = 6 * k
        assert x[k, 1:, ::-1].tolist() == [[first + 3, first + 2], [first + 5, first + 4]]
        assert x[k : k + 2, -1, None, 0].tolist() == [[first + 4], [first + 10]]
        assert x[k, xp.asarray([2, 0]), 1].tolist() == [first + 5, first + 1]
    assert device.builds <= 23


def test_parts_at_ever_new_places_are_set_by_few_programs(device: Device) -> None:
    x, wanted = xp.zeros((20, 3)), [[0.0] * 3 for _ in range(20)]
    for k in range(18):
        x[k : k + 2, ::-1] = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * k
        wanted[k], wanted[k + 1] = [3.0 * k, 2.0 * k, k], [6.0 * k, 5.0 * k, 4.0 * k]
        x[k, k % 3] = -1.0
        wanted[k][k % 3] = -1.0
        x[19 - k, xp.asarray([2, 0])] = 7.0
        wanted[19 - k][2] = wanted[19 - k][0] = 7.0
        assert x.tolist() == wanted
    assert device.builds <= 9
    assert jit(lambda x: x[-1])(x).tolist() == wanted[-1]


@pytest.mark.alike
def test_a_training_that_asks_for_nothing_is_the_same(device: Device) -> None:
    def loss(p: dict[str, xp.Array], x: xp.Array) -> xp.Array:
        return xp.sum((xp.tanh(x @ p["w"] + p["b"]) - p["c"]) ** 2)

    def train(ask: bool) -> list[float]:
        p = {"w": xp.ones((2, 3)) * 0.1, "b": xp.zeros(3), "c": xp.ones(3)}
        for _ in range(300):
            value, gradient = value_and_grad(loss)(p, x)
            p = tree_map(lambda a, g: a - 0.01 * g, p, gradient)
            if ask:
                float(value)
        return [*p["w"].tolist(), p["b"].tolist(), p["c"].tolist()]

    x = xp.reshape(xp.linspace(-1.0, 1.0, 8), (4, 2))
    asked = train(True)
    builds = device.builds
    assert train(False) == asked
    assert device.builds - builds <= 2


def test_arrays_of_two_devices_do_not_mix(device: Device) -> None:
    other = xp.ones(2, device=Device())
    with pytest.raises(ArrayValueError, match="to_device"):
        other + xp.ones(2, device=device)
    assert (other.to_device(device) + xp.ones(2, device=device)).tolist() == [2.0, 2.0]


def test_a_device_that_fails_tells_everyone_who_asks() -> None:
    async def opening() -> object:
        raise BackendError("NNM709", "no such device")

    x = xp.ones(3, device=Device(opening)) + 1  # type: ignore[arg-type]
    y = x * 2
    for each in (x, y, x):
        with pytest.raises(BackendError, match="no such device"):
            each.tolist()


def test_a_value_of_a_trace_is_not_a_value_outside() -> None:
    leaked: list[xp.Array] = []

    @jit
    def leak(x: xp.Array) -> xp.Array:
        leaked.append(x + 1)
        return x

    leak(xp.ones(2))
    with pytest.raises(TracedValueError, match="traced"):
        leaked[0].tolist()
    with pytest.raises(TracedValueError, match="return it"):
        leaked[0] + xp.ones(2)
