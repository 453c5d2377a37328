"""Which initialiser every parameter gets (spec B.6)."""

from __future__ import annotations

import math

import pytest

from tests.unit.graph.texts import fails, model, network
from webnnm import ModelError, check
from webnnm.graph.elaboration.initialise import Initialiser, initialisers
from webnnm.graph.elaboration.unknown_initialiser import FORMS


def uniform(radius: float) -> Initialiser:
    return Initialiser("uniform", -radius, radius)


def constant(value: float) -> Initialiser:
    return Initialiser("constant", value)


HE = uniform(math.sqrt(6 / 4))
GLOROT = uniform(math.sqrt(6 / 7))


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("matmul(w)", {"w1": GLOROT}),
        ("matmul(w), relu()", {"w1": HE}),
        ("matmul(w), add(b), relu()", {"w1": HE, "b1": constant(0.01)}),
        ("matmul(w), add(b), tanh()", {"w1": GLOROT, "b1": constant(0)}),
        ("matmul(w), add(b), softmax()", {"w1": GLOROT, "b1": constant(0)}),
        ("matmul(w), reshape([3]), add(b), relu()", {"w1": HE, "b1": constant(0.01)}),
        ("matmul(w), tanh(), relu()", {"w1": GLOROT}),
        ("matmul(w), residual(to=k), relu()", {"w1": HE}),
        ("gemm(w, c), relu()", {"w1": HE, "c1": constant(0.01)}),
        ("gemm(w, c=z)", {"w1": GLOROT, "z1": constant(0)}),
        ("matmul(w, bTranspose=true), relu()", {"w1": HE}),
        ("matmul(w, bTranspose=true)", {"w1": GLOROT}),
        ("mul(s), matmul(k2)", {"s1": constant(1)}),
        ("div(s), matmul(k2)", {"s1": constant(1)}),
        ("pow(s), matmul(k2)", {"s1": constant(1)}),
        ("sub(s), matmul(k2)", {"s1": constant(0)}),
        ("max(s), matmul(k2)", {"s1": constant(0)}),
        ("min(s), matmul(k2)", {"s1": constant(0)}),
    ],
    ids=str,
)
def test_defaults(layers: str, expected: dict[str, Initialiser]) -> None:
    text = model(layers, "k [3] 1;", "k2 [4, 3] 1;")
    assert initialisers(network(text)) == expected


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("zeros", constant(0)),
        ("ones", constant(1)),
        ("constant(0.5)", constant(0.5)),
        ("normal(0.02)", Initialiser("normal", 0.02, 0)),
        ("normal(0.02, 1)", Initialiser("normal", 0.02, 1)),
        ("truncatedNormal(0.02)", Initialiser("truncatedNormal", 0.02, 0)),
        ("truncatedNormal(0.02, -1)", Initialiser("truncatedNormal", 0.02, -1)),
        ("uniform(-2, 3)", Initialiser("uniform", -2, 3)),
        ("he", HE),
        ("heNormal", Initialiser("normal", math.sqrt(2 / 4))),
        ("glorot", GLOROT),
        ("glorotNormal", Initialiser("normal", math.sqrt(2 / 7))),
    ],
)
def test_written(init: str, expected: Initialiser) -> None:
    on_layer = model(f"matmul(w, init={init}), relu()")
    declared = model("matmul(w1), relu()", f"q:param w1 shape=[4, 3] init={init};")
    assert initialisers(network(on_layer)) == initialisers(network(declared)) == {"w1": expected}


@pytest.mark.parametrize(
    "init", ["he(2)", "normal", "normal(1, 2, 3)", "uniform(1)", "constant", "zeros(1)", "haus"]
)
def test_errors(init: str) -> None:
    [error] = check(model(f"matmul(w, init={init})"))
    assert (error.code, error.message[-22:]) == ("NNM303", " is not an initialiser")


@pytest.mark.parametrize(
    ("init", "hint"),
    [
        ("glorott", 'did you mean "glorot"?'),
        ("xavier", "write glorot"),
        ("kaiming_normal_", "write heNormal"),
        ("0", "write zeros"),
        ("-0.5", "write constant(-0.5)"),
        ("he(2)", "write he"),
        ("normal", "write normal(0.02)"),
        ("haus", "one of zeros, ones, constant(0.5), normal(0.02)"),
    ],
)
def test_the_hint_is_an_initialiser_that_exists(init: str, hint: str) -> None:
    [error] = check(model(f"matmul(w, init={init})"))
    assert isinstance(error, ModelError)
    assert error.hint.startswith(hint)
    assert "Number(" not in str(error)


@pytest.mark.parametrize("form", FORMS.values())
def test_the_forms_in_hints_are_initialisers(form: str) -> None:
    assert check(model(f"matmul(w, init={form})")) == []


def test_init_of_a_layer_is_for_weights_only() -> None:
    found = initialisers(network(model("gemm(w, c, init=ones), relu()")))
    assert found == {"w1": constant(1), "c1": constant(0.01)}


def test_shared_parameter_is_judged_by_its_first_use() -> None:
    text = model(
        "matmul(p), relu(), matmul(p, bTranspose=true)",
        "q:param p shape=[4, 2];",
        output="shape=[4]",
    )
    assert initialisers(network(text)) == {"p": uniform(math.sqrt(6 / 4))}


def test_declared_parameter_takes_the_role_of_its_first_use() -> None:
    text = model("matmul(w), mul(s), add(b)", "q:param s shape=[3], b shape=[3];")
    found = initialisers(network(text))
    assert (found["s"], found["b"]) == (constant(1), constant(0))


def test_declared_parameter_of_another_role() -> None:
    """Anything else starts as Glorot uniform from rank 2 on, else with zeros."""
    text = model(
        "matmul(w), residual(to=p), reduceSum(), add(q)",
        "k:param p shape=[2, 3];",
        "k:param q shape=[];",
        input="shape=[2, 4]",
        output="shape=[]",
    )
    found = initialisers(network(text.replace("matmul(w)", "matmul(w, shape=[2, 3])")))
    assert (found["p"], found["q"]) == (uniform(math.sqrt(6 / 5)), constant(0))


def test_fans_of_higher_ranks() -> None:
    found = initialisers(
        network(
            model(
                "matmul(p)",
                "q:param p shape=[2, 5, 3];",
                input="shape=[2, 4, 5]",
                output="shape=[2, 4, 3]",
            )
        )
    )
    assert found["p"].kind == "uniform"


def test_lrm_of_a_layer_shall_be_a_number() -> None:
    fails("NNM303", model("matmul(w, ¦lrm=-1)"))


@pytest.mark.parametrize("value", ["False", "no", "banana", "0", "1", "[w]"])
def test_whether_a_layer_is_trained_is_true_or_false(value: str) -> None:
    fails("NNM303", model(f"matmul(w, ¦trainable={value})"), says="true or false")
    text = (
        f"d:layers matmul(w); m:input shape=[4]; m:output shape=[3]; m:layers d(trainable={value});"
    )
    fails("NNM303", text, says="true or false")
