"""Data types: which layer computes in what, where casts stand (spec B.5)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import calls, fails, model, network, run

EXAMPLE = """
model:input int32 shape=[5];
model:output float32 shape=[5];
model:layers add(1, dataType=float16), pow(2);
"""


def test_the_example_of_the_specification() -> None:
    assert calls(EXAMPLE) == ["cast float16", "add", "pow", "cast float32"]
    assert run(EXAMPLE, {"model": [[1, 2, 3, 4, 5]]}) == [[4, 9, 16, 25, 36]]


def compute(input: str, layers: str, *more: str) -> list[str]:
    """Return the type in which every layer computes."""
    text = model(layers, *more, input=f"{input} shape=[3]", output=None)
    text += "\nm:output shape=[3];"
    return [layer.dtype for layer in network(text).layers]


@pytest.mark.parametrize(
    ("input", "layers", "more", "expected"),
    [
        # 1: declared types; literals take the type of their layer.
        ("", "add(1)", (), ["float32"]),
        ("float16", "add(0.5)", (), ["float16"]),
        ("int8", "add(1), mul(2)", (), ["int8", "int8"]),
        ("int64", "add(1)", (), ["int64"]),
        # 2: the highest among flow, operands and constants, parameters excepted.
        ("int32", "add(c)", ("c float16 [3] 1;",), ["float16"]),
        ("float16", "add(c)", ("c [3] 1;",), ["float32"]),
        ("uint8", "add(c)", ("c int8 [3] 1;",), ["int8"]),
        ("int8", "add(c)", ("c uint32 [3] 1;",), ["uint32"]),
        ("uint32", "add(c)", ("c int32 [3] 1;",), ["int32"]),
        ("float16", "add(b)", (), ["float16"]),
        ("float16", "add(b)", ("q:param b shape=[3];",), ["float16"]),
        ("float16", "add(b)", ("q:param b shape=[3] trainable=false;",), ["float32"]),
        ("float16", "matmul(w), add(b), relu()", (), ["float16"] * 3),
        # 2: dataType, which goes on flowing.
        ("float16", "add(1, dataType=float32), mul(2)", (), ["float32", "float32"]),
        ("int8", "add(1, dataType=int32), mul(2)", (), ["int32", "int32"]),
        # 3: parameters and operators that take floats only.
        ("int32", "add(b)", (), ["float32"]),
        ("int32", "sqrt()", (), ["float32"]),
        ("uint8", "matmul([[1, 2, 3], [1, 2, 3], [1, 2, 3]])", (), ["float32"]),
        ("int32", "add(1), softmax()", (), ["int32", "float32"]),
        # 6: comparisons compute in the type of the flow.
        ("int32", "greater(1)", (), ["int32"]),
        ("float16", "greater(1)", (), ["float16"]),
        ("", "greater(1), where(1, 2)", (), ["float32", "float32"]),
    ],
    ids=str,
)
def test_type_of_a_layer(
    input: str, layers: str, more: tuple[str, ...], expected: list[str]
) -> None:
    assert compute(input, layers, *more) == expected


@pytest.mark.parametrize(
    ("input", "output", "layers", "more", "expected"),
    [
        ("int32", "", "add(1), mul(2)", (), ["add", "mul"]),
        ("int32", "float32", "add(1)", (), ["add", "cast float32"]),
        ("int32", "", "add(1), add(b)", (), ["add", "cast float32", "add"]),
        (
            "int32",
            "",
            "add(c), mul(c)",
            ("c float16 [3] [1, 2, 3];",),
            ["cast float16", "add", "mul"],
        ),
        ("float16", "", "add(c)", ("c int32 [3] [1, 2, 3];",), ["cast float16", "add"]),
        # One cast per value and type, shared by all users.
        (
            "int32",
            "",
            "sqrt(name=x), sin(node=m:input), add(x)",
            (),
            ["cast float32", "sin", "sqrt", "add"],
        ),
        # 5: parameters are float32 and read through a cast.
        ("float16", "", "add(b)", (), ["cast float16", "add"]),
        # 6: a condition that is not a uint8 is compared with 0; casts keep their own type.
        ("int32", "", "where(1, 2)", (), ["notEqual", "where"]),
        ("", "", "greater(1)", (), ["greater"]),
        ("", "", "greater(1), cast(float32)", (), ["greater", "cast float32"]),
        ("", "", "cast(int32), cast(float16)", (), ["cast int32", "cast float16"]),
        # 7: float16 flows through softmax in float32.
        ("float16", "", "softmax()", (), ["cast float32", "softmax", "cast float16"]),
        ("float16", "", "softmax(dataType=float16)", (), ["softmax"]),
        ("float16", "", "exp(), tanh()", (), ["cast float32", "exp", "cast float16", "tanh"]),
        (
            "float16",
            "float32",
            "softmax()",
            (),
            ["cast float32", "softmax", "cast float16", "cast float32"],
        ),
    ],
    ids=str,
)
def test_where_casts_are_put(
    input: str, output: str, layers: str, more: tuple[str, ...], expected: list[str]
) -> None:
    text = model(layers, *more, input=f"{input} shape=[3]", output=f"{output} shape=[3]")
    assert calls(text) == expected


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("tanh()", "float32"),
        ("greater(0)", "uint8"),
        ("cast(float16)", "float16"),
        ("cast(dataType=int32)", "int32"),
        ("tanh(), cast(uint8)", "uint8"),
    ],
)
def test_output_without_a_type_has_the_inferred_one(layers: str, expected: str) -> None:
    assert network(model(layers, output="shape=[4]")).outputs[0].dtype == expected


@pytest.mark.parametrize(
    ("code", "input", "layers", "output", "more"),
    [
        ("NNM502", "int32 ", "add(¦0.5)", "", ()),
        ("NNM502", "uint8 ", "add(¦256)", "", ()),
        ("NNM502", "uint8 ", "add(¦-1)", "", ()),
        ("NNM502", "int8 ", "add(¦[1, 2, 300, 4])", "", ()),
        ("NNM502", "int32 ", "add(¦Infinity)", "", ()),
        ("NNM503", "", "add(1, ¦dataType=float16)", "", ()),
        ("NNM503", "float16 ", "add(1, ¦dataType=int32)", "", ()),
        ("NNM503", "", "tanh()", "¦float16 ", ()),
        ("NNM503", "", "tanh()", "¦int32 ", ()),
        ("NNM503", "int32 ", "add(1)", "¦uint8 ", ()),
        ("NNM501", "int32 ", "sqrt(¦dataType=int32)", "", ()),
        ("NNM501", "int32 ", "add(b, ¦dataType=int32)", "", ()),
        ("NNM501", "uint8 ", "¦neg()", "", ()),
        ("NNM303", "", "add(1, ¦dataType=float8)", "", ()),
        ("NNM304", "", "¦cast()", "", ()),
        ("NNM115", "", "add(c)", "", ("¦c uint8 [4] [1, 2, 3, 256];",)),
        ("NNM115", "", "add(c)", "", ("¦c int32 [4] 0.5;",)),
    ],
    ids=str,
)
def test_errors(code: str, input: str, layers: str, output: str, more: tuple[str, ...]) -> None:
    fails(code, model(layers, *more, input=f"{input}shape=[4]", output=f"{output}shape=[4]"))


def test_downward_cast_is_written() -> None:
    error = fails("NNM503", model("tanh()", output="¦float16 shape=[4]"))
    assert "cast(float16)" in error.hint
    assert calls(model("tanh(), cast(float16)", output="float16 shape=[4]")) == [
        "tanh",
        "cast float16",
    ]


def test_integers_stay_exact_until_floats_are_needed() -> None:
    text = model("add(16777217), sub(16777216)", input="int32 shape=[1]", output="shape=[1]")
    assert run(text, {"m": [[0]]}) == [[1]]
