"""Operators that users declare: in graph builders, in the notation, in listings."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.unit.compiler.legalising import legalise
from tests.unit.graph.texts import fails, model, network, parameters, run
from tests.unit.ops.cases import np
from webnnm import GraphBuilder, WebNNMError, composite, gradients, ops
from webnnm.backends.reference import evaluate
from webnnm.core.naming import snake_case
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops.declare.operator import Composite, Option, Slot


@pytest.fixture(autouse=True)
def own() -> Generator[None]:
    """Take back what a test registers."""
    before = set(ops.registry())
    yield
    for name in set(ops.registry()) - before:
        ops.unregister(name)


def swish() -> Composite:
    @composite("swish", "swoosh")
    def swish(b: Any, x: Any, *, beta: float = 1.0) -> Any:
        """x · σ(βx)."""
        return x * b.sigmoid(x * beta)

    return swish


def film() -> Composite:
    @composite(
        parameters={
            "scale": ("ones", lambda x, _: x[-1:]),
            "shift": ("zeros", lambda x, _: x[-1:]),
        }
    )
    def film(b: Any, x: Any, scale: Any, shift: Any = None, *, gain: float = 1.0) -> Any:
        y = x * scale * gain
        return y if shift is None else y + shift

    return film


def inputs(*shapes: tuple[int, ...], dtype: Any = "float32") -> list[Operand]:
    b = GraphBuilder()
    return [b.input(f"x{i}", dtype, shape) for i, shape in enumerate(shapes)]


def call(name: str, *operands: Operand, **options: Any) -> Any:
    return getattr(operands[0].builder, name)(*operands, **options)


# Graph builders.


def test_record_is_read_from_the_signature() -> None:
    found = film()
    assert (found.name, swish().summary) == ("film", "x · σ(βx)")
    assert [(s.name, s.optional, s.keyword, s.like) for s in found.operands] == [
        ("x", False, False, None),
        ("scale", False, False, 0),
        ("shift", True, True, 0),
    ]
    assert {name: option.default for name, option in found.options.items()} == {"gain": 1.0}


def test_every_name_is_a_method() -> None:
    swish()
    (x,) = inputs((2, 3))
    y = call("swish", x, beta=2)
    assert call("swoosh", x, beta=2) == y
    found = evaluate(x.builder.build({"y": y}), {"x0": np.ones((2, 3))})["y"]
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-2.0)), rtol=1e-6)


def test_gradient_follows_from_the_decomposition() -> None:
    swish()
    (x,) = inputs((1,))
    (dx,) = gradients(call("swish", x).reduce_sum(), [x])
    found = evaluate(x.builder.build({"y": dx}), {"x0": [1]}, wide=True)["y"]
    s = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(found, s + s * (1 - s))


def test_optional_operands_come_by_place_or_by_name() -> None:
    film()
    x, scale, shift = inputs((2, 3), (3,), (3,))
    assert call("film", x, scale, shift) == call("film", x, scale, shift=shift)
    assert call("film", x, scale) != call("film", x, scale, shift)


def test_lists_of_operands() -> None:
    @composite()
    def total(b: Any, *xs: Any) -> Any:
        return sum(xs[1:], xs[0])

    x, y, z = inputs((2,), (2,), (2,))
    assert call("total", x, y, z).shape == (2,)
    text = model("total([input, c, input])", "c [3] [1, 2, 3];", input="shape=[3]")
    assert run(text, {"m": [[1, 1, 1]]}) == [[3, 4, 5]]


def test_several_results() -> None:
    @composite(results=("low", "high"))
    def halves(b: Any, x: Any) -> Any:
        n = x.shape[-1] // 2
        ends = [(0,) * (x.rank - 1) + (k * n,) for k in (0, 1)]
        return [b.slice(x, starts=start, sizes=(*x.shape[:-1], n)) for start in ends]

    (x,) = inputs((2, 6))
    assert [y.shape for y in call("halves", x)] == [(2, 3), (2, 3)]
    text = model("halves(name=h), sub(h.high)", input="shape=[6]", output="shape=[3]")
    assert run(text, {"m": [[1, 2, 3, 4, 5, 7]]}) == [[-3, -3, -4]]


def test_given_gradient_replaces_the_derived_one() -> None:
    @composite("step", gradient=lambda b, g, y, x: g)
    def step(b: Any, x: Any) -> Any:
        return b.cast(b.greater(x, 0), type=x.dtype)

    (x,) = inputs((3,))
    y = call("step", x)
    (dx,) = gradients((y * 2).reduce_sum(), [x])
    graph = x.builder.build({"y": y, "dx": dx})
    found = evaluate(graph, {"x0": [-1, 0, 2]})
    assert (found["y"].tolist(), found["dx"].tolist()) == ([0, 0, 1], [2, 2, 2])
    known = {name: {} for name in ("greater", "cast", "mul", "expand", "identity")}
    fitted, _ = legalise(x.builder.build({"y": y}), known)
    assert [n.operator.name for n in fitted.nodes() if isinstance(n, OperatorNode)] == [
        "greater",
        "cast",
    ]


def test_given_kernel_replaces_the_decomposition() -> None:
    @composite(reference=lambda np, x: np.full_like(x, 7))
    def seven(b: Any, x: Any) -> Any:
        return x

    (x,) = inputs((2,))
    graph = x.builder.build({"y": call("seven", x)})
    assert evaluate(graph, {"x0": [1, 2]})["y"].tolist() == [7, 7]


def test_native_target_stays_one_node() -> None:
    @composite("mySoftmax", native="softmax")
    def my_softmax(b: Any, x: Any, *, axis: int = -1) -> Any:
        e = b.exp(x)
        return e / b.reduce_sum(e, axes=[axis], keep_dimensions=True)

    (x,) = inputs((2, 3))
    y = call("my_softmax", x)
    assert isinstance(y.node, OperatorNode)
    assert y.node.operator.native == "softmax"
    assert y.type == x.type


def test_slots_and_options_may_be_given() -> None:
    @composite(
        operands=(Slot(name="input", ranks=(2, 2)),),
        options={"by": Option(2, lambda value, *_: 10 * value)},
    )
    def grown(b: Any, x: Any, *, by: Any = 2) -> Any:
        return x * by

    (x,) = inputs((1, 1))
    y = call("grown", x, by=3)
    assert evaluate(x.builder.build({"y": y}), {"x0": [[1]]})["y"].tolist() == [[30]]
    with pytest.raises(WebNNMError, match="needs rank 2"):
        call("grown", *inputs((1,)))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"flag": 1}, "1 is neither true nor false"),
        ({"units": 1.5}, "1.5 is not an integer"),
        ({"units": -1}, "units are positive"),
        ({"rate": "x"}, "'x' is not a number"),
        ({"mode": 3}, "3 is not a word"),
        ({"sizes": [1, "a"]}, "'a' is not a number"),
    ],
)
def test_options_are_of_the_kind_of_their_default(options: Any, says: str) -> None:
    def positive(value: int) -> int:
        if value < 1:
            raise ValueError("units are positive")
        return value

    @composite("kinds", checks={"units": positive})
    def kinds(
        b: Any, x: Any, *, flag: bool = True, units: int = 1, rate: float = 0.5,
        mode: str = "fast", sizes: tuple[int, ...] = (1,), free: Any = None,
    ) -> Any:  # fmt: skip
        assert (type(flag), type(units), type(rate), type(mode)) == (bool, int, float, str)
        assert hash(sizes) is not None
        return x

    (x,) = inputs((2,))
    assert call("kinds", x, rate=1, sizes=[1, [2, 3]], free=[1, "a"]).shape == (2,)
    text = model("kinds(flag=false, units=2, rate=1, mode=slow, sizes=[1, 2], free=[a, 1])")
    assert network(text.replace("shape=[3]", "shape=[4]")).layers
    with pytest.raises(WebNNMError) as caught:
        call("kinds", x, **options)
    assert caught.value.code == "NNM303"
    assert says in caught.value.message


# The notation.


def test_layer_by_every_name_with_options() -> None:
    swish()
    text = model("swoosh(beta=0), swish(beta=0)", input="shape=[1]", output="shape=[1]")
    assert run(text, {"m": [[4]]}) == [[1]]
    assert [layer.label for layer in network(text).layers] == ["swish1", "swish2"]


def test_operator_stands_for_a_placeholder() -> None:
    swish()
    text = model("unit(activation=swish)", "unit:layers activation();", output="shape=[4]")
    assert [layer.operator.name for layer in network(text).layers] == ["swish"]


def test_new_parameters_have_the_given_shapes_and_roles() -> None:
    film()
    text = model("film(a, shift=b)", input="shape=[2, 4] sequence=true", output="shape=[2, 4]")
    assert parameters(text) == {"a1": (4,), "b1": (4,)}
    found = initialisers(network(text))
    assert [str(found[name]) for name in ("a1", "b1")] == ["constant(1)", "constant(0)"]
    feeds = {"m": np.ones((1, 3, 2, 4)), "param/a1": [1, 2, 3, 4], "param/b1": [1, 0, 0, 0]}
    assert run(text, feeds, {"sequence": 3}) == [[[[2, 2, 3, 4]] * 2] * 3]


def test_layers_as_operands_share_the_leading_dimensions() -> None:
    film()
    text = model(
        "film(n)",
        "n:input shape=[4];",
        input="shape=[4] sequence=true",
        output="shape=[4] sequence=true",
    )
    feeds = {"m": np.ones((2, 3, 4)), "n": np.arange(8).reshape(2, 4)}
    found = run(text, feeds, {"sequence": 3})
    assert found == [[[0, 1, 2, 3]] * 3, [[4, 5, 6, 7]] * 3]


def test_shape_that_is_kept_keeps_its_names() -> None:
    swish()
    text = model("swish()", input="shape={a:2, b:3} sequence=words", output="shape=[2, 3]")
    (layer,) = network(text).layers
    assert (layer.features[0].names, layer.features[0].sequence) == (("a", "b"), "words")


def test_shape_that_changes_is_tried_out() -> None:
    @composite()
    def energy(b: Any, x: Any, *, times: int = 1) -> Any:
        kept = b.reduce_sum_square(x, axes=[-1], keep_dimensions=True)
        return b.concat([kept] * times, axis=-1)

    text = model("energy(times=3)", input="shape=[2, 4] sequence=true", output="shape=[2, 3]")
    (layer,) = network(text).layers
    assert str(layer.features[0]) == "[2, 3]"
    found = run(text, {"m": np.ones((2, 5, 2, 4))}, {"sequence": 5})
    assert np.asarray(found).tolist() == np.full((2, 5, 2, 3), 4).tolist()


def test_shapes_flow_backwards_through_what_keeps_them() -> None:
    swish()
    film()
    text = model("matmul(w), swish(), film(a), matmul(v, shape=[7]), swish(), matmul(u)")
    assert parameters(model("matmul(w), swish(), film(a)")) == {"w1": (4, 3), "a1": (3,)}
    fails("NNM403", text, says='"w1": [4, ?]')


def test_shapes_do_not_flow_backwards_through_what_changes_them() -> None:
    @composite()
    def doubled(b: Any, x: Any) -> Any:
        return b.concat([x, x], axis=-1)

    fails("NNM403", model("matmul(w), doubled()", output="shape=[6]"), says='"w1": [4, ?]')


def test_results_of_a_type_of_their_own() -> None:
    @composite("big", result="uint8")
    def big(b: Any, x: Any, *, than: float = 1.0) -> Any:
        return b.greater(x, than)

    text = model("big(than=2)", output="uint8 shape=[4]")
    assert [layer.result_types for layer in network(text).layers] == [["uint8"]]
    assert run(text, {"m": [[1, 2, 3, 4]]}) == [[0, 0, 1, 1]]


def test_integer_flows_are_cast_unless_the_operator_takes_them() -> None:
    swish()

    @composite(types="any")
    def doubled(b: Any, x: Any) -> Any:
        return x + x

    text = model("doubled(), swish()", input="int32 shape=[4]", output="shape=[4]")
    assert [layer.result_types for layer in network(text).layers] == [["int32"], ["float32"]]


def test_indices_have_no_say_in_the_type() -> None:
    @composite(
        types={"x": "integer"},
        parameters={"table": ("table", lambda x, options: (options["rows"], 2))},
    )
    def looked_up(b: Any, x: Any, table: Any, *, rows: int) -> Any:
        return b.gather(table, x)

    text = model("lookedUp(t, rows=5)", input="int32 shape=[] sequence=true", output="shape=[2]")
    assert parameters(text) == {"t1": (5, 2)}
    assert [layer.result_types for layer in network(text).layers] == [["float32"]]
    fails("NNM304", text.replace("lookedUp(t, rows=5)", "¦lookedUp(t)"), says="needs rows=")


def test_composites_of_composites() -> None:
    swish()
    film()

    @composite()
    def both(b: Any, x: Any, scale: Any) -> Any:
        return b.film(b.swish(x), scale)

    x, scale = inputs((2, 3), (3,))
    assert call("both", x, scale) == call("film", call("swish", x), scale)


# Errors.


def nothing(b: Any, x: Any) -> Any:
    return None


def pair(b: Any, x: Any) -> Any:
    return x, x


def misspelt(b: Any, x: Any) -> Any:
    return b.sigmod(x)


def endless(b: Any, x: Any) -> Any:
    return b.broken(x)


def foreign(b: Any, x: Any) -> Any:
    return GraphBuilder().input("y", "float32", [3])


@pytest.mark.parametrize(
    ("function", "code", "says"),
    [
        (nothing, "NNM303", 'the decomposition of "broken" returns None, not a tensor'),
        (foreign, "NNM303", "not a tensor of its builder"),
        (pair, "NNM302", "returns 2 results, not 1"),
        (misspelt, "NNM204", 'no operator "sigmod"; did you mean "sigmoid"?'),
        (endless, "NNM207", "does not terminate"),
    ],
)
def test_decompositions_that_are_wrong(function: Any, code: str, says: str) -> None:
    composite("broken")(function)
    with pytest.raises(WebNNMError) as caught:
        call("broken", *inputs((3,)))
    assert caught.value.code == code
    assert says in caught.value.message
    fails(code, model("¦broken()", output="shape=[4]"), says=says)


def test_other_errors_of_a_decomposition_stay_what_they_are() -> None:
    composite("broken")(lambda b, x: x.shape.nothing)
    with pytest.raises(AttributeError, match="'tuple' object"):
        call("broken", *inputs((3,)))


def test_gradient_rules_give_one_gradient_per_operand() -> None:
    composite("broken", gradient=lambda b, g, y, x, z: [g])(lambda b, x, z: x + z)
    x, z = inputs((3,), (3,))
    with pytest.raises(WebNNMError, match="returns 1 gradients for 2 operands"):
        gradients(call("broken", x, z).reduce_sum(), [x])


@pytest.mark.parametrize(
    ("function", "code", "says", "hint"),
    [
        (lambda b, x: b.reduce_sum(x), "NNM405", "for batch [2]", "count axes from the end"),
        (lambda b, x: b.transpose(x), "NNM405", "for batch [2]", "count axes from the end"),
        (lambda b, x: b.greater(x, 1), "NNM501", "returns uint8, not float32", 'result="uint8"'),
    ],
)
def test_layers_that_cannot_be_derived(function: Any, code: str, says: str, hint: str) -> None:
    composite("broken")(function)
    fails(code, model("¦broken()", output="shape=[4]"), says=says, hint=hint)


def test_wrong_layers() -> None:
    film()
    swish()
    fails("NNM301", model("swish(¦bta=1)"), hint='did you mean "beta"?')
    fails("NNM303", model("swish(¦beta=true)"), says="expected a number")
    fails("NNM302", model("¦film()"), says="takes 1 to 2 operands")
    fails("NNM404", model("film(¦p)", "m:param p shape=[7];"), says="scale is [7], not [4]")
    fails("NNM402", model("swish(shape=¦[7])"), says="declared [7], inferred [4]")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("my-operator", "NNM101"),
        ("3d", "NNM101"),
        ("", "NNM101"),
        ("relu", "NNM206"),
        ("reduce_sum", "NNM206"),
        ("build", "NNM206"),
        ("shape", "NNM206"),
    ],
)
def test_names_that_cannot_be_had(name: str, code: str) -> None:
    before = dict(ops.registry())
    with pytest.raises(WebNNMError) as caught:
        composite("mine", name)(lambda b, x: x)
    assert caught.value.code == code
    assert ops.registry() == before


def test_builders_and_tensors_keep_their_names() -> None:
    names = {*dir(GraphBuilder()), *dir(Operand)}
    assert {name for name in names if not name.startswith("_")} == ops.RESERVED


def test_own_redefinition_replaces() -> None:
    swish()
    composite("swish")(lambda b, x: x)
    (x,) = inputs((2,))
    assert call("swish", x) == x
    assert ops.method("swoosh") is None


def test_operators_of_other_modules_stay() -> None:
    def theirs(b: Any, x: Any) -> Any:
        return x

    theirs.__module__ = "their.package"
    composite("swish")(theirs)
    with pytest.raises(WebNNMError, match="already names an operator of their"):
        swish()


def test_listings_have_the_operator_until_it_is_taken_back() -> None:
    operator = swish()
    assert ops.registry()["swish"] is operator
    assert ops.lookup("swoosh") is ops.method(snake_case("swoosh")) is operator
    assert {"swish", "swoosh"} <= {*ops.operator_names()} & {*ops.methods()}
    ops.unregister("swish")
    assert ops.lookup("swoosh") is None
    ops.unregister("relu")
    assert ops.lookup("relu") is not None


def test_operator_without_a_layer_is_not_a_word_of_the_notation() -> None:
    composite("hidden", layer=None)(lambda b, x: x)
    assert ops.method("hidden") is not None
    fails("NNM204", model("¦hidden()"))


@pytest.mark.parametrize(
    ("declaration", "function", "says"),
    [
        ({}, lambda b: b, "has no operand"),
        ({}, lambda: None, "has no operand"),
        ({}, lambda b, x, **options: x, "has **options"),
        ({}, lambda b, x, y=1: x, "has the default of y"),
        ({}, lambda b, x, *xs: x, "has *xs next to other operands"),
        ({"checks": {"bta": abs}}, lambda b, x, *, beta=1: x, 'has no option "bta"'),
        ({"types": "flaot"}, lambda b, x: x, 'unknown data type "flaot"'),
        ({"types": {"y": "any"}}, lambda b, x: x, 'has no operand "y"'),
        ({"ranks": {"y": (1, 2)}}, lambda b, x: x, 'has no operand "y"'),
        ({"parameters": {"x": ("ones", len)}}, lambda b, x: x, 'no operand "x" that may be'),
    ],
)
def test_declarations_that_make_no_sense(declaration: Any, function: Any, says: str) -> None:
    with pytest.raises(WebNNMError) as caught:
        composite("mine", **declaration)(function)
    assert says in caught.value.message
    assert caught.value.code in ("NNM113", "NNM303")
