"""Declared, shared and tied parameters (spec A.7)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import fails, model, network, parameters, run

TWICE = "matmul(p), matmul(p), matmul(w)"


def test_a_declared_parameter_is_one_tensor_however_often_it_is_named() -> None:
    text = model(TWICE, "q:param p shape=[4, 4];")
    assert parameters(text) == {"p": (4, 4), "w1": (4, 3)}
    first, second, _ = network(text).layers
    assert first.operands[1].vertex is second.operands[1].vertex
    assert run(
        model(TWICE, "q:param p shape=[4, 4];"),
        {
            "m": [[1, 0, 0, 0]],
            "param/p": [[0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
            "param/w1": [[0, 0, 0], [0, 0, 0], [1, 2, 3], [0, 0, 0]],
        },
    ) == [[6, 12, 18]]


def test_tied_weights_stand_in_both_directions() -> None:
    text = model(
        "matmul(p), tanh(), matmul(p, bTranspose=true)",
        "q:param p shape=[4, 2];",
        output="shape=[4]",
    )
    found = network(text)
    assert parameters(text) == {"p": (4, 2)}
    assert found.layers[0].operands[1].vertex is found.layers[2].operands[1].vertex


def test_expansions_share_a_declared_parameter() -> None:
    text = model(
        "unit(), unit()",
        "unit:layers matmul(p), tanh();",
        "unit:param p shape=[4, 4];",
        output="shape=[4]",
    )
    assert parameters(text) == {"p": (4, 4)}


def test_shared_false_gives_every_expansion_a_copy() -> None:
    text = model(
        "unit(), unit(), unit()",
        "unit:layers matmul(p), tanh(), matmul(p);",
        "unit:param p shape=[4, 4] init=ones lrm=0.5 shared=false;",
        output="shape=[4]",
    )
    found = network(text)
    assert parameters(text) == {"p": (4, 4), "p2": (4, 4), "p3": (4, 4)}
    assert {(str(p.init), p.lrm) for p in found.parameters} == {("ones", 0.5)}
    operands = [layer.operands[1].vertex for layer in found.layers if len(layer.operands) > 1]
    assert operands[0] is operands[1] is not operands[2]


def test_copies_have_sizes_that_their_call_binds() -> None:
    text = model(
        "unit(inner=6), unit(inner=2)",
        "unit:param p shape=[4, inner] shared=false, q shape={rows:inner, columns:4} shared=false;",
        "unit:layers matmul(p), tanh(), matmul(q);",
        output="shape=[4]",
    )
    assert parameters(text) == {"p": (4, 6), "q": (6, 4), "p2": (4, 2), "q2": (2, 4)}


def test_a_shared_parameter_has_no_sizes_of_a_call() -> None:
    text = model(
        "unit(inner=4)",
        "unit:param p shape=[4, ¦inner];",
        "unit:layers matmul(p, shape=[inner]);",
        output="shape=[4]",
    )
    fails("NNM109", text, says='"inner" is not bound to a size', hint="shared=false")


def test_declared_parameters_join_in_order_of_use() -> None:
    text = model(
        "matmul(w, shape=[4]), add(b), matmul(a)",
        "q:param a shape=[4, 3], b shape=[4], unused shape=[2];",
    )
    assert list(parameters(text)) == ["w1", "b", "a"]


def test_options_of_a_declaration() -> None:
    text = model(
        "matmul(p)", "q:param p shape=[4, 3] init=normal(0.1) trainable=false lrm=0.25 decay=false;"
    )
    (found,) = network(text).parameters
    assert (found.trainable, found.lrm, found.decay) == (False, 0.25, False)


def test_integer_parameter_that_is_not_trainable() -> None:
    text = model(
        "gather(indices=p), reduceSum()",
        "q:param p int32 shape=[2] trainable=false;",
        output="shape=[]",
    )
    assert network(text).parameters[0].dtype == "int32"


@pytest.mark.parametrize(
    ("declaration", "code"),
    [
        ("¦p int32 shape=[4, 3]", "NNM504"),
        ("p shape=[4, 3] ¦inti=zeros", "NNM301"),
        ("p shape=[4, 3] ¦trainable=2", "NNM303"),
        ("p shape=[4, 3] ¦decay=often", "NNM303"),
        ("p shape=[4, 3] lrm=¦-1", "NNM303"),
        ("p shape=[4, 3] lrm=¦much", "NNM303"),
        ("p shape=[4, ¦n]", "NNM109"),
        ("p shape=[4, ¦2147483648]", "NNM109"),
    ],
)
def test_errors(declaration: str, code: str) -> None:
    fails(code, model("matmul(p)", f"q:param {declaration};"))


def test_shape_of_a_declaration_is_a_fact() -> None:
    fails("NNM404", model("¦matmul(p)", "q:param p shape=[5, 3];"), says="4")
