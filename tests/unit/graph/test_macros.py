"""Blocks as macros: the six rules of expansion, placeholders, limits (spec A.8)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import codes, fails, labels, model, network, operators, parameters
from webnnm.graph.elaboration.expand import Expander

DENSE = "dense:layers matmul(w), add(b), activation();"


# Rule 1: operator placeholders.


def test_operator_placeholder_is_replaced_by_the_bound_operator() -> None:
    text = model("dense(shape=[3], activation=relu), dense(activation=softmax)", DENSE)
    assert operators(text) == ["matmul", "add", "relu", "matmul", "add", "softmax"]


def test_operator_placeholder_may_be_bound_to_a_block() -> None:
    text = model("dense(activation=twice)", DENSE, "twice:layers tanh(), sin();")
    assert operators(text) == ["matmul", "add", "tanh", "sin"]


def test_operator_placeholder_keeps_its_operands_and_options() -> None:
    text = model("unit(f=reduceSum)", "unit:layers f(axes=[0], keepDimensions=true);", output=None)
    text += "\nm:output shape=[1];"
    assert operators(text) == ["reduceSum"]


@pytest.mark.parametrize("word", ["activation", "normalization"])
def test_unbound_well_known_placeholder_is_the_identity(word: str) -> None:
    text = model("unit()", f"unit:layers matmul(w), {word}();")
    assert operators(text) == ["matmul", "identity"]
    assert codes(text) == ["NNM003"]


def test_unbound_placeholder_that_another_call_binds_is_the_identity() -> None:
    text = model("unit(f=tanh, shape=[3]), unit()", "unit:layers matmul(w), f();")
    assert operators(text) == ["matmul", "tanh", "matmul", "identity"]
    assert codes(text) == ["NNM003"]


def test_unbound_placeholder_with_operands_is_an_unknown_operator() -> None:
    fails("NNM204", model("unit()", "unit:layers matmul(w), ¦activation(2);"))


def test_unknown_word_is_not_a_placeholder() -> None:
    error = fails("NNM204", model("unit()", "unit:layers matmul(w), ¦rellu();"), hint='"relu"')
    assert 'in block "unit"' in error.message


def test_placeholder_bound_to_no_operator() -> None:
    fails("NNM204", model("unit(f=3)", "unit:layers ¦f();"), says='"f" is bound to "3"')


@pytest.mark.parametrize(
    ("word", "hint"),
    [("wobble", "@composite"), ("rellu", '"relu"'), ("swish", '"silu"'), ("3", "such as f=relu")],
)
def test_placeholder_bound_to_no_operator_has_a_hint(word: str, hint: str) -> None:
    text = model(f"unit(f={word})", "unit:layers ¦f();")
    fails("NNM204", text, says=f'"f" is bound to "{word}"', hint=hint)


# Rule 2: value placeholders.


@pytest.mark.parametrize(
    ("call", "body", "expected"),
    [
        ("unit(width=3)", "matmul(w, shape=[width])", {"w1": (4, 3)}),
        ("unit(width=3)", "matmul(w, shape={labels:width})", {"w1": (4, 3)}),
        ("unit(weights=kernel)", "matmul(weights)", {"kernel1": (4, 3)}),
        ("unit(transposed=true)", "matmul(w, bTranspose=transposed)", {"w1": (3, 4)}),
        ("unit(offset=2)", "matmul(w), add(offset)", {"w1": (4, 3)}),
        ("unit(n=3)", "matmul(w, shape=[5]), slice(starts=[1], sizes=[n])", {"w1": (4, 5)}),
        ("unit(c=0.5)", "matmul(w, init=constant(c))", {"w1": (4, 3)}),
    ],
    ids=["size", "named size", "operand", "option", "number", "list element", "call"],
)
def test_value_placeholder(call: str, body: str, expected: dict[str, tuple[int, ...]]) -> None:
    assert parameters(model(call, f"unit:layers {body};")) == expected


def test_value_placeholder_in_a_list_of_names() -> None:
    text = model(
        "matmul(w, shape=[3], name=x), tanh(name=y), unit(left=x, right=y)",
        "unit:layers add([left, right]);",
    )
    last = network(text).layers[-1]
    assert [source.vertex.name for source in last.operands] == ["x", "y"]


def test_option_of_its_own_name_that_is_unbound_is_not_written() -> None:
    text = model("unit()", "unit:layers matmul(w, bTranspose=bTranspose);")
    assert parameters(text) == {"w1": (4, 3)}
    bound = model("unit(bTranspose=true)", "unit:layers matmul(w, bTranspose=bTranspose);")
    assert parameters(bound) == {"w1": (3, 4)}


def test_unbound_size_is_an_error() -> None:
    fails(
        "NNM109",
        model("unit()", "unit:layers matmul(w, shape=[¦width]);"),
        says='"width" is not bound',
    )


def test_bound_reference_belongs_to_the_caller() -> None:
    """A name that is bound is looked up where the call stands, not inside the block."""
    text = model(
        "matmul(w, shape=[3], name=x), tanh(), unit(other=x)",
        "unit:layers sin(name=x), add(other);",
    )
    outer, _, _, add = network(text).layers
    assert add.operands[1].vertex is outer


# Rules 3 to 5: shape, dataType; lrm, init, trainable; name, node.


def test_shape_of_a_call_goes_to_the_last_layer() -> None:
    text = model("unit(shape=[5]), unit()", "unit:layers matmul(w), add(b);")
    assert parameters(text) == {"w1": (4, 5), "b1": (5,), "w2": (5, 3), "b2": (3,)}


def test_shape_of_a_call_wins_over_the_layers_own() -> None:
    text = model("unit(shape=[3])", "unit:layers matmul(w, shape=[7]);")
    assert parameters(text) == {"w1": (4, 3)}


def test_data_type_of_a_call_goes_to_the_last_layer() -> None:
    text = model("unit(dataType=float32)", "unit:layers add(1), mul(2);", input="float16 shape=[3]")
    assert [layer.dtype for layer in network(text).layers] == ["float16", "float32"]


def test_lrm_init_and_trainable_go_to_every_layer_that_does_not_set_them() -> None:
    text = model(
        "unit(lrm=0.5, init=ones, trainable=false)",
        "unit:layers matmul(w, shape=[6]), matmul(w, lrm=2, shape=[5]),"
        " matmul(w, init=zeros, trainable=true);",
    )
    found = [(p.lrm, str(p.init), p.trainable) for p in network(text).parameters]
    assert found == [(0.5, "ones", False), (2, "ones", False), (0.5, "zeros", True)]


def test_name_of_a_call_names_the_result() -> None:
    text = model("dense(name=first, shape=[3]), tanh(), residual(to=first)", DENSE)
    layers = network(text).layers
    assert list(layers[-1].sources())[1].vertex is layers[2]


def test_node_of_a_call_replaces_what_enters() -> None:
    text = model("tanh(name=x), sin(), dense(node=x)", DENSE)
    layers = {layer.operator.name: layer for layer in network(text).layers}
    assert layers["matmul"].operands[0].vertex is layers["tanh"]
    assert "NNM002" in codes(text)


def test_list_of_one_name_is_node() -> None:
    given = model("tanh(name=x), sin(), dense([x])", DENSE)
    named = model("tanh(name=x), sin(), dense(node=x)", DENSE)
    assert labels(given) == labels(named)


@pytest.mark.parametrize("operands", ["x", "3", "[x, y]", "[x], y"])
def test_call_takes_no_other_operands(operands: str) -> None:
    fails("NNM302", model(f"tanh(name=x), sin(name=y), ¦dense({operands})", DENSE))


def test_input_inside_a_block_is_what_enters_it() -> None:
    text = model("tanh(), unit()", "unit:layers matmul(w, shape=[4]), add(input), matmul(w);")
    tanh, _, add, _ = network(text).layers
    assert add.operands[1].vertex is tanh


# Rule 6: other options.


def test_other_option_goes_to_the_layer_that_defines_it() -> None:
    text = model("unit(bTranspose=true)", "unit:layers tanh(), matmul(w), add(b);")
    assert parameters(text) == {"w1": (3, 4), "b1": (3,)}


def test_option_that_several_layers_define() -> None:
    fails(
        "NNM306",
        model("unit(¦bTranspose=true)", "unit:layers matmul(w, shape=[5]), matmul(w);"),
        hint="placeholder",
    )


def test_option_that_nothing_uses() -> None:
    fails("NNM305", model("dense(¦strides=2)", DENSE), says='"dense" does not use "strides"')


def test_option_that_nothing_uses_has_a_suggestion() -> None:
    fails("NNM305", model("dense(¦activatoin=relu)", DENSE), hint='"activation"')


def test_option_that_a_nested_block_uses() -> None:
    text = model("outer(f=tanh)", "outer:layers inner();", "inner:layers matmul(w), f();")
    assert operators(text) == ["matmul", "tanh"]


def test_placeholder_wins_over_the_other_rules() -> None:
    """An option that occurs as a placeholder counts as used: it goes nowhere else."""
    text = model("unit(shape=7)", "unit:layers matmul(w, shape=[shape]), matmul(w);")
    assert parameters(text) == {"w1": (4, 7), "w2": (7, 3)}


def test_inherited_options_only_bind_placeholders() -> None:
    """The environment reaches nested blocks, but rules 3 to 6 apply to written options alone."""
    text = model(
        "outer(shape=[3], f=sin)",
        "outer:layers inner(), matmul(w);",
        "inner:layers matmul(w, shape=[5]), f();",
    )
    assert parameters(text) == {"w1": (4, 5), "w2": (5, 3)}


# Nesting, environments, hiding.


def test_inner_binding_wins() -> None:
    text = model(
        "outer(f=tanh)",
        "outer:layers inner(f=sin), inner();",
        "inner:layers matmul(w, shape=[3]), f();",
    )
    assert operators(text) == ["matmul", "sin", "matmul", "tanh"]


def test_binding_is_passed_on_by_name() -> None:
    text = model(
        "outer(n=3)", "outer:layers inner(width=n);", "inner:layers matmul(w, shape=[width]);"
    )
    assert parameters(text) == {"w1": (4, 3)}


def test_blocks_hide_operators() -> None:
    text = model("relu()", "relu:layers matmul(w), tanh();")
    assert operators(text) == ["matmul", "tanh"]


def test_aliases_and_main_names_count_together() -> None:
    text = model("unit(), unit()", "unit:layers matmul(w, shape=[3]), add(b), relu();")
    assert labels(text) == ["matmul1", "add1", "relu1", "matmul2", "add2", "relu2"]


def test_local_names_carry_the_name_of_the_call() -> None:
    text = model("unit(name=a), unit(name=b)", "unit:layers matmul(w, shape=[3], name=p), tanh();")
    assert labels(text) == ["a.p", "tanh1", "b.p", "tanh2"]


def test_the_same_local_name_in_unnamed_calls() -> None:
    text = model("unit(), unit()", "unit:layers matmul(w, shape=[3], name=p), tanh(), add(p);")
    first, _, add1, second, _, add2 = network(text).layers
    assert (add1.operands[1].vertex, add2.operands[1].vertex) == (first, second)
    assert len({layer.label for layer in network(text).layers}) == 6


# Limits.


@pytest.mark.parametrize(
    ("blocks", "chain"),
    [
        (["a:layers tanh(), ¦a();"], "a > a"),
        (["a:layers b();", "b:layers c();", "c:layers ¦a();"], "a > b > c > a"),
        (["a:layers sin(), b();", "b:layers c(), ¦b();", "c:layers tanh();"], "b > b"),
    ],
)
def test_recursion_is_refused_with_the_chain(blocks: list[str], chain: str) -> None:
    fails("NNM207", model("a()", *blocks), says=chain)


def test_recursion_through_a_placeholder() -> None:
    fails("NNM207", model("a(f=a)", "a:layers tanh(), ¦f();"), says="a > a")


def test_nesting_of_many_blocks() -> None:
    blocks = [f"b{k}:layers b{k + 1}();" for k in range(90)]
    assert operators(model("b0()", *blocks, "b90:layers matmul(w);")) == ["matmul"]


def test_nesting_beyond_the_limit() -> None:
    blocks = [f"b{k}:layers b{k + 1}();" for k in range(150)]
    fails("NNM207", model("b0()", *blocks, "b150:layers matmul(w);"))


LEAF = "b6:layers tanh();"
BOMBS = {
    "repeated": ["relu(¦repeat=6000)"],
    "repeated calls": ["¦b0()", *(f"b{k}:layers b{k + 1}(repeat=20);" for k in range(6)), LEAF],
    "doubled": [
        "¦b0()",
        *(f"b{k}:layers b{k + 1}(), b{k + 1}();" for k in range(40)),
        "b40:layers tanh();",
    ],
    "many shapes": [f"wide(¦shapes=[{', '.join(['[4]'] * 3000)}])", "wide:layers matmul(w);"],
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_before_they_are_expanded(
    bomb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a layer was expanded")

    monkeypatch.setattr(Expander, "expand_root", never)
    fails("NNM303", model(*BOMBS[bomb]), says="at most 5,0")


def test_bombs_by_bound_words_end_at_the_limit() -> None:
    blocks = ["a:layers f(repeat=80);", "b:layers c(repeat=80);", "c:layers tanh();"]
    fails("NNM303", model("a(f=b)", *blocks), says="more than 5,0")


def test_written_layers_are_not_limited_so() -> None:
    assert len(operators(model(", ".join(["tanh()"] * 6000), output="shape=[4]"))) == 6000


@pytest.mark.parametrize("forward", [True, False])
def test_a_layer_that_outlives_its_network_frees_those_before_it(forward: bool) -> None:
    """A chain of objects that own each other overflows the stack of the browser."""
    calls = [f"tanh(node=a{k + 1}, name=a{k})" for k in range(4000)]
    calls = [*calls, "tanh(node=m:input, name=a4000)"][:: 1 if forward else -1]
    layers = network(model(", ".join([*calls, "tanh(node=a0)"]), output="shape=[4]")).layers
    assert len(layers) == 4002
    last = layers[-1]
    del layers
    del last


def test_call_of_a_block_without_layers() -> None:
    fails("NNM203", model("tanh(), ¦head()", "head:name Head;"), says='"head" has no layers')


def test_errors_inside_expansions_name_the_calls() -> None:
    error = fails("NNM301", model("outer()", "outer:layers inner();", "inner:layers tanh(¦p=1);"))
    assert "(in m > outer > inner)" in error.message
