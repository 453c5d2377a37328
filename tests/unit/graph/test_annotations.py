"""Depth and path ratio (spec B.7)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import model, network
from webnnm.graph.elaboration.annotate import Depth, parameter_depths

IRIS = model(
    "dense(shape=[3], activation=relu), dense(shape=[3], activation=softmax)",
    "dense:layers matmul(w), add(b), activation();",
)


def test_iris_has_the_ratios_of_the_specification() -> None:
    found = parameter_depths(network(IRIS))
    assert found == {"w1": Depth(1, 6), "b1": Depth(2, 5), "w2": Depth(4, 3), "b2": Depth(5, 2)}
    ratios = [round(depth.path_ratio, 3) for depth in found.values()]
    assert ratios == [0.143, 0.286, 0.571, 0.714]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("matmul(w)", {"w1": Depth(1, 1)}),
        # The longest path counts, on both sides.
        ("tanh(), sin(), matmul(w), residual(to=x)", {"w1": Depth(3, 2)}),
        ("matmul(w, shape=[3], name=a), tanh(), sin(), residual(to=a)", {"w1": Depth(1, 4)}),
        # Casts do not count.
        ("cast(float16), add(1, dataType=float32), matmul(w)", {"w1": Depth(3, 1)}),
    ],
)
def test_longest_paths(layers: str, expected: dict[str, Depth]) -> None:
    assert parameter_depths(network(model(layers, "x [3] 1;"))) == expected


def test_first_user_of_a_shared_parameter_counts() -> None:
    text = model(
        "matmul(p), tanh(), matmul(p), sin(), reduceSum()",
        "q:param p shape=[4, 4];",
        output="shape=[]",
    )
    assert parameter_depths(network(text)) == {"p": Depth(1, 5)}


def test_several_outputs() -> None:
    text = model(
        "matmul(w, name=x, shape=[3]), tanh()",
        "n:output shape=[3];",
        "n:layers sin(node=x), cos(), exp();",
    )
    assert parameter_depths(network(text)) == {"w1": Depth(1, 4)}
