"""Shape inference forward and backward, names, alignment, sequences (spec A.5, B.2–B.4)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import calls, fails, model, network, parameters, plan, run


def features(text: str) -> list[str]:
    """Return the feature shape of every layer."""
    return [str(layer.features[0]) for layer in network(text).layers]


# Forward.


@pytest.mark.parametrize(
    ("input", "layers", "expected"),
    [
        ("[4]", "tanh()", "[4]"),
        ("[2, 4]", "softmax()", "[2, 4]"),
        ("[]", "cast(float16)", "[]"),
        ("[2, 4]", "reverse(axes=[0])", "[2, 4]"),
        ("[2, 4]", "add(1)", "[2, 4]"),
        ("[2, 1]", "add([1, 2, 3])", "[2, 3]"),
        ("[4]", "add([[1], [2]])", "[2, 4]"),
        ("[2, 1, 4]", "mul([[1], [2], [3]])", "[2, 3, 4]"),
        ("[4]", "greater(0)", "[4]"),
        ("[4]", "greater(0), where(1, [[1], [2]])", "[2, 4]"),
        ("[2, 4]", "matmul(w, shape=[2, 3])", "[2, 3]"),
        ("[2, 4]", "matmul([[1], [2], [3], [4]])", "[2, 1]"),
        ("[4]", "matmul([[1], [2], [3], [4]])", "[1]"),
        ("[2, 4]", "matmul([[1], [2]], aTranspose=true)", "[4, 1]"),
        ("[2, 4]", "matmul([[1, 2, 3, 4]], bTranspose=true)", "[2, 1]"),
        ("[4]", "gemm([[1], [2], [3], [4]], 5)", "[1]"),
        ("[2, 4]", "reduceSum()", "[]"),
        ("[2, 4]", "reduceMax(axes=[1])", "[2]"),
        ("[2, 4]", "reduceMean(axes=-1, keepDimensions=true)", "[2, 1]"),
        ("[2, 4]", "reduceVariance(axes=[0])", "[1, 4]"),
        ("[2, 4]", "reshape([8])", "[8]"),
        ("[2, 4]", "reshape([4, -1])", "[4, 2]"),
        ("[2, 1]", "expand([2, 5])", "[2, 5]"),
        ("[2, 4]", "transpose()", "[4, 2]"),
        ("[2, 3, 4]", "transpose(permutation=[1, 2, 0])", "[3, 4, 2]"),
        ("[2, 4]", "slice([0, 1], [2, 3])", "[2, 3]"),
        ("[6]", "slice([1], [5], strides=[2])", "[3]"),
        ("[4]", "identity(name=x), concat(x, axis=0)", "[8]"),
        ("[2, 4]", "identity(name=x), concat(x, axis=1)", "[2, 8]"),
        ("[5, 4]", "gather(data=[0, 2, 2], axis=0)", "[3, 4]"),
        ("[5, 4]", "gather(data=[1], shape=[1, 1], axis=1)", "[5, 1, 1]"),
        ("{rows:5, columns:4}", "gather(shape={columns:-1})", "[5]"),
        ("{rows:5, columns:4}", "gather(shape={rows:50%})", "[2, 4]"),
    ],
    ids=str,
)
def test_forward(input: str, layers: str, expected: str) -> None:
    size = network(f"m:input shape={input}; m:output shape={expected}; m:layers {layers};")
    assert str(size.layers[-1].features[0]) == expected
    fails("NNM402", f"m:input shape={input}; m:output shape=¦[7, 7, 7, 7]; m:layers {layers};")


# Backward: one fact is erased and inferred back.

RULES = {
    "unary": ("matmul(w), tanh(), softmax()", {"w1": (4, 3)}),
    "cast": ("matmul(w), cast(float16)", {"w1": (4, 3)}),
    "reverse": ("matmul(w), reverse()", {"w1": (4, 3)}),
    "add a number": ("matmul(w), add(1)", {"w1": (4, 3)}),
    "number first": ("matmul(w, name=x), add([1, x])", {"w1": (4, 3)}),
    "add a parameter": ("matmul(w), add(b)", {"w1": (4, 3), "b1": (3,)}),
    "add a constant of the shape": ("matmul(w), add([1, 2, 3])", {"w1": (4, 3)}),
    "parameter of the result": ("mul(s), matmul(w)", {"s1": (4,), "w1": (4, 3)}),
    "residual": ("matmul(w), residual(to=r)", {"w1": (4, 3)}),
    "matmul output": ("matmul(w)", {"w1": (4, 3)}),
    "matmul transposed": ("matmul(w, bTranspose=true)", {"w1": (3, 4)}),
    "matmul declared inside": ("matmul(v), matmul(u)", {"v1": (4, 6), "u": (6, 3)}),
    "gemm": ("gemm(w, c)", {"w1": (4, 3), "c1": (3,)}),
    "gemm option": ("gemm(w, c=c0, bTranspose=true)", {"w1": (3, 4), "c01": (3,)}),
    "comparison": ("matmul(w), greater(0), cast(float32)", {"w1": (4, 3)}),
    "transpose": ("matmul(w), reshape([1, 3]), transpose(), reshape([3])", {"w1": (4, 3)}),
    "reshape": ("matmul(w), reshape([3])", {"w1": (4, 3)}),
    "two layers back": ("matmul(w), tanh(), add(1), relu(), mul(2)", {"w1": (4, 3)}),
}


@pytest.mark.parametrize("rule", RULES)
def test_backward(rule: str) -> None:
    layers, expected = RULES[rule]
    declared = ["q:param u shape=[6, 3];"] if "matmul(u)" in layers else []
    assert parameters(model(layers, "r [3] 1;", *declared)) == expected


@pytest.mark.parametrize("axis", ["", ", axis=0", ", axis=features"])
def test_backward_to_the_unknown_part_of_a_concat(axis: str) -> None:
    text = model(f"matmul(w), concat(r{axis})", "r [2] 1;", output="shape=[5]")
    assert parameters(text) == {"w1": (4, 3)}


def test_backward_through_a_transpose_of_names() -> None:
    text = model(
        "matmul(w), transpose(permutation=[1, 0])", input="shape=[2, 4]", output="shape=[3, 2]"
    )
    assert parameters(text) == {"w1": (4, 3)}


def test_backward_keeps_leading_features() -> None:
    text = model("matmul(w), add(b)", input="shape=[2, 4]", output="shape=[2, 3]")
    assert parameters(text) == {"w1": (4, 3), "b1": (2, 3)}


def test_written_shape_is_a_fact_for_both_sides() -> None:
    text = model("matmul(w, shape=[5]), add(b), tanh(), matmul(w)")
    assert parameters(text) == {"w1": (4, 5), "b1": (5,), "w2": (5, 3)}


def test_facts_travel_across_blocks() -> None:
    text = model(
        "matmul(w, name=x), tanh(), matmul(w)", "n:output shape=[7];", "n:layers sin(node=x);"
    )
    assert parameters(text) == {"w1": (4, 7), "w2": (7, 3)}


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ("matmul(¦w), matmul(w)", "[3]"),
        ("matmul(¦w), reduceSum(), add([1, 2, 3])", "[3]"),
    ],
)
def test_underdetermined(layers: str, shape: str) -> None:
    error = fails("NNM403", model(layers, output=f"shape={shape}"), hint="shape=")
    assert '"w1"' in error.message


def test_all_underdetermined_things_are_listed() -> None:
    error = fails("NNM403", model("matmul(¦w), tanh(), matmul(w), relu()"))
    listed = [other.message.split('"')[1] for other in error.others]
    assert listed[:1] == ["w2"]
    assert "tanh1" in listed


# Contradictions.


@pytest.mark.parametrize(
    ("code", "layers", "input", "output"),
    [
        ("NNM401", "¦add([1, 2, 3])", "[4]", "[4]"),
        ("NNM401", "tanh(), ¦mul([[1, 2], [3, 4]])", "[4]", "[4]"),
        ("NNM402", "tanh(shape=¦[5])", "[4]", "[5]"),
        ("NNM402", "matmul(w, shape=[3]), tanh(shape=¦[5])", "[4]", "[5]"),
        ("NNM402", "reduceSum(shape=¦[5])", "[4]", "[5]"),
        ("NNM404", "¦matmul([[1, 2]])", "[4]", "[2]"),
        ("NNM404", "¦gemm([[1, 2]], 3)", "[4]", "[2]"),
        ("NNM405", "¦matmul([1, 2])", "[2]", "[2]"),
        ("NNM407", "¦reshape([5])", "[4]", "[5]"),
        ("NNM410", "identity(name=x), reshape([2, 2]), ¦concat(x)", "[4]", "[8]"),
        ("NNM307", "softmax(¦axis=widht)", "{height:2, width:2}", "[2, 2]"),
        ("NNM307", "reduceSum(¦axes=[widht])", "{height:2, width:2}", "[2]"),
        ("NNM308", "softmax(¦axis=1)", "[4]", "[4]"),
        ("NNM308", "softmax(¦axis=-2)", "[4]", "[4]"),
        ("NNM308", "reduceSum(¦axes=[0, 2])", "[2, 4]", "[2]"),
        ("NNM308", "gather(¦data=[4])", "[4]", "[1]"),
        ("NNM308", "gather(¦shape={features:4})", "[4]", "[]"),
        ("NNM309", "reduceSum(¦axes=[0, -2])", "[2, 4]", "[4]"),
        ("NNM309", "transpose(¦permutation=[0, 0])", "[2, 4]", "[2, 4]"),
        ("NNM309", "transpose(¦permutation=[0])", "[2, 4]", "[2, 4]"),
        ("NNM310", "softmax(¦axis=batch)", "[4]", "[4]"),
        ("NNM310", "reduceSum(¦axes=[batch])", "[4]", "[4]"),
        ("NNM411", "reduceSum(¦axes=[sequence])", "[4]", "[4]"),
    ],
    ids=str,
)
def test_contradictions(code: str, layers: str, input: str, output: str) -> None:
    fails(code, model(layers, input=f"shape={input}", output=f"shape={output}"))


def test_unknown_dimension_has_a_suggestion() -> None:
    fails(
        "NNM307",
        model(
            "reverse(¦axes=[widht])",
            input="shape={height:2, width:2}",
            output="shape={height:2, width:2}",
        ),
        hint='"width"',
    )


# Names.


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("tanh()", ("rows", "columns")),
        ("add(1)", ("rows", "columns")),
        ("transpose()", ("columns", "rows")),
        ("reduceSum(axes=[rows])", ("columns",)),
        ("reduceSum(axes=[rows], keepDimensions=true)", ("rows", "columns")),
        ("matmul(w, shape=[2, 5])", ("rows", "features")),
        ("reshape([6])", (None,)),
        ("tanh(shape={a:2, b:3})", ("a", "b")),
        ("tanh(shape={a:2, b:3}), sin()", ("a", "b")),
        ("matmul(table)", ("rows", "letters")),
        ("reshape([6]), tanh(shape=[6])", ("features",)),
    ],
    ids=str,
)
def test_names_of_results(layers: str, expected: tuple[str | None, ...]) -> None:
    shape = {2: "shape=[7, 7]", 1: "shape=[7]"}[len(expected)]
    text = model(
        layers, "table {x:3, letters:5} 1;", input="shape={rows:2, columns:3}", output=shape
    )
    sizes = str(fails("NNM402", text).message.split("inferred ")[1])
    found = network(text.replace(shape, f"shape={sizes}"))
    assert found.layers[-1].features[0].names == expected


def test_names_of_rank_one() -> None:
    found = network(model("matmul(w)"))
    assert found.inputs[0].features[0].names == ("features",)
    assert found.outputs[0].names == ("labels",)


def test_smaller_operand_aligns_by_name() -> None:
    text = model(
        "add(scale)",
        "scale {channels:2} [10, 20];",
        input="shape={channels:2, width:3}",
        output="shape={channels:2, width:3}",
    )
    assert run(text, {"m": [[[1, 2, 3], [4, 5, 6]]]}) == [[[11, 12, 13], [24, 25, 26]]]


def test_smaller_operand_without_names_aligns_from_the_end() -> None:
    text = model(
        "add([10, 20, 30])",
        input="shape={channels:2, width:3}",
        output="shape={channels:2, width:3}",
    )
    assert run(text, {"m": [[[1, 2, 3], [4, 5, 6]]]}) == [[[11, 22, 33], [14, 25, 36]]]


def test_equal_ranks_do_not_align_by_name() -> None:
    text = model(
        "add(other)",
        "other {b:2, a:2} [1, 2, 3, 4];",
        input="shape={a:2, b:2}",
        output="shape={a:2, b:2}",
    )
    assert run(text, {"m": [[[0, 0], [0, 0]]]}) == [[[1, 2], [3, 4]]]


def test_name_that_occurs_twice_becomes_unnamed() -> None:
    text = model(
        "matmul(table)",
        "table {x:3, rows:5} 1;",
        input="shape={rows:2, columns:3}",
        output="shape=[2, 5]",
    )
    assert network(text).layers[-1].features[0].names == ("rows", None)


# Outputs.


def test_permuted_output_names_transpose() -> None:
    text = model(
        "identity()", input="shape={channels:2, width:3}", output="shape={width:3, channels:2}"
    )
    assert calls(text)[-1] == "transpose"
    assert run(text, {"m": [[[1, 2, 3], [4, 5, 6]]]}) == [[[1, 4], [2, 5], [3, 6]]]


def test_other_output_names_rename_by_position() -> None:
    text = model("identity()", input="shape={channels:2, width:3}", output="shape={a:2, b:3}")
    assert "transpose" not in calls(text)
    assert network(text).outputs[0].names == ("a", "b")


def test_backward_from_a_permuted_output() -> None:
    text = model(
        "matmul(w, name=x), identity(shape={a:2, b:3})",
        input="shape={a:2, c:4}",
        output="shape={b:3, a:2}",
    )
    assert parameters(text) == {"w1": (4, 3)}
    assert plan(text).outputs["m"].shape == (1, 3, 2)


# Sequences.


def test_sequence_stands_behind_the_batch() -> None:
    text = model("matmul(w), add(b)", input="shape=[4] sequence=words")
    found = plan(text, batch=2, sequence={"words": 5})
    assert found.inputs["m"].shape == (2, 5, 4)
    assert found.outputs["m"].shape == (2, 5, 3)
    assert parameters(text) == {"w1": (4, 3), "b1": (3,)}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [("true", "sequence"), ("words", "words"), ("{words:7}", "words"), ("false", None)],
)
def test_kinds_of_sequences(declared: str, expected: str | None) -> None:
    found = network(model("matmul(w)", input=f"shape=[4] sequence={declared}"))
    assert found.outputs[0].source.features.sequence == expected
    assert found.inputs[0].length == (7 if "7" in declared else None)


def test_fixed_length_needs_no_other() -> None:
    found = plan(model("matmul(w)", input="shape=[4] sequence={words:7}"))
    assert found.inputs["m"].shape == (1, 7, 4)


def test_missing_and_contradicting_lengths() -> None:
    from webnnm.core.errors import DataError

    with pytest.raises(DataError) as caught:
        plan(model("matmul(w)", input="shape=[4] sequence=words"))
    assert caught.value.code == "NNM711"
    with pytest.raises(DataError) as caught:
        plan(model("matmul(w)", input="shape=[4] sequence={words:7}"), sequence={"words": 8})
    assert caught.value.code == "NNM711"


@pytest.mark.parametrize(
    ("axes", "shape", "expected"),
    [
        ("[sequence]", "[2]", [[9, 12]]),
        ("[words]", "[2]", [[9, 12]]),
        ("[features]", "[]", [[3, 7, 11]]),
        ("[sequence, features]", "[]", [21]),
    ],
)
def test_reductions_along_the_sequence(axes: str, shape: str, expected: list[object]) -> None:
    text = model(
        f"reduceSum(axes={axes})", input="shape=[2] sequence=words", output=f"shape={shape}"
    )
    assert run(text, {"m": [[[1, 2], [3, 4], [5, 6]]]}, {"words": 3}) == expected


def test_value_without_a_sequence_broadcasts_over_it() -> None:
    text = model(
        "add(side)", "side:input shape=[2];", input="shape=[2] sequence=true", output="shape=[2]"
    )
    found = run(text, {"m": [[[1, 2], [3, 4]]], "side": [[10, 20]]}, {"sequence": 2})
    assert found == [[[11, 22], [13, 24]]]


def test_sequences_of_different_names_do_not_combine() -> None:
    fails(
        "NNM411",
        model(
            "¦add(side)",
            "side:input shape=[4] sequence=frames;",
            input="shape=[4] sequence=words",
            output="shape=[4]",
        ),
        says='"frames" and "words"',
    )


@pytest.mark.parametrize("declared", ["frames", "false", "{frames:3}"])
def test_sequence_of_an_output_is_checked(declared: str) -> None:
    fails(
        "NNM411",
        model(
            "matmul(w)", input="shape=[4] sequence=words", output=f"shape=[3] ¦sequence={declared}"
        ),
    )


def test_transpose_with_batch_and_sequence() -> None:
    text = model(
        "transpose(permutation=[sequence, batch, features])",
        input="shape=[4] sequence=true",
        output="shape=[4]",
    )
    assert plan(text, batch=2, sequence={"sequence": 3}).outputs["m"].shape == (3, 2, 4)
