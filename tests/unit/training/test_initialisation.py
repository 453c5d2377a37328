"""Start values equal what the bytes of the streams say, computed here by another way (spec B.6)."""

from __future__ import annotations

import math
import random

import pytest

from webnnm.graph.elaboration.initialise import Initialiser
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.initialisation import build_initial_graph, draw_initial_bytes

np = pytest.importorskip("numpy")


def start(initialiser: Initialiser, shape: tuple[int, ...], seed: int = 0) -> object:
    """Return the start value of a parameter "w1", by graph."""
    from webnnm.backends.reference import evaluate

    types, chosen = {"w1": TensorType("float32", shape)}, {"w1": initialiser}
    drawn = draw_initial_bytes(seed, types, chosen)
    feeds = {name: np.frombuffer(array.data, "uint8") for name, array in drawn.items()}
    return evaluate(build_initial_graph(types, chosen), feeds)["w1"]


def uniforms(seed: int, n: int) -> list[float]:
    """Return n uniform numbers of the stream (seed, 1, "w1"), by the formula."""
    b = random.Random(f"{seed}:1:w1").randbytes(3 * n)
    return [(b[j] + 256 * b[n + j] + 65536 * b[2 * n + j] + 0.5) * 2**-24 for j in range(n)]


@pytest.mark.parametrize("seed", [0, 1, 99])
def test_uniform(seed: int) -> None:
    found = start(Initialiser("uniform", -0.5, 2.0), (5, 7), seed)
    expected = [-0.5 + 2.5 * u for u in uniforms(seed, 35)]
    assert found.shape == (5, 7)
    assert found.ravel().tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_normal(seed: int) -> None:
    found = start(Initialiser("normal", 0.1, 3.0), (4, 5), seed)
    u = uniforms(seed, 40)
    expected = [
        3 + 0.1 * math.sqrt(-2 * math.log(a)) * math.cos(2 * math.pi * b)
        for a, b in zip(u[:20], u[20:], strict=True)
    ]
    assert found.ravel().tolist() == pytest.approx(expected, abs=1e-5)


def test_truncated_normal_stays_within_two_deviations() -> None:
    found = start(Initialiser("truncatedNormal", 0.5, 1.0), (50, 100))
    assert float(abs(found - 1).max()) <= 1.0 + 1e-6
    # Of a normal distribution cut at ±2σ: mean unchanged, deviation 0.8796 σ.
    assert float(found.mean()) == pytest.approx(1, abs=0.02)
    assert float(found.std()) == pytest.approx(0.5 * 0.8796, abs=0.01)
    # The tails are drawn anew, not piled up at the bounds.
    assert float((abs(found - 1) > 0.9999).mean()) < 0.002


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_constant(shape: tuple[int, ...]) -> None:
    found = start(Initialiser("constant", 0.25), shape)
    assert found.tolist() == np.full(shape, 0.25).tolist()


@pytest.mark.parametrize("kind", ["uniform", "normal", "truncatedNormal"])
def test_scalars(kind: str) -> None:
    assert start(Initialiser(kind, 1.0, 2.0), ()).shape == ()  # type: ignore[arg-type]


def test_every_parameter_has_a_stream_of_its_own() -> None:
    """Adding a parameter does not change the others."""
    one = {"a": TensorType("float32", (4,))}
    two = {"z": TensorType("float32", (9,)), **one}
    init = dict.fromkeys(two, Initialiser("uniform", 0, 1))
    assert (
        draw_initial_bytes(0, one, init)["a"].tolist()
        == draw_initial_bytes(0, two, init)["a"].tolist()
    )


def test_constants_draw_nothing() -> None:
    types = {"w1": TensorType("float32", (4,))}
    assert draw_initial_bytes(0, types, {"w1": Initialiser("constant", 1)}) == {}


def test_type_of_the_parameter() -> None:
    from webnnm.backends.reference import evaluate

    types = {"n": TensorType("int32", (2,))}
    found = evaluate(build_initial_graph(types, {"n": Initialiser("constant", 3)}), {})["n"]
    assert (found.dtype.name, found.tolist()) == ("int32", [3, 3])
