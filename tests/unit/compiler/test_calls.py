"""Plans as calls of WebNN; tests/browser/test_explorables.py runs such calls."""

from __future__ import annotations

from webnnm.compiler.calls import javascript
from webnnm.compiler.plan import lower
from webnnm.graph.builder import GraphBuilder


def lines(b: GraphBuilder, **outputs: object) -> list[str]:
    """Return the calls after that of the builder."""
    return javascript(lower(b.build(outputs))).splitlines()[1:]


def test_names_are_those_of_javascript_and_differ() -> None:
    b = GraphBuilder()
    x, y = b.input("digits:input", "float32", [2]), b.input("digits/input", "float32", [2])
    result = lines(b, graph=b.add(b.add(x, y), b.input("1st", "float32", [2])))
    assert [line.split(" = ")[0] for line in result] == [
        "const digits_input",
        "const digits_input2",
        "const _1st",
        "const add1",
        "const add2",
        "const graph",
    ]
    assert result[-1].endswith("builder.build({graph: add2});")


def test_parameters_have_their_own_names() -> None:
    b = GraphBuilder()
    result = lines(b, y=b.relu(b.input("param/w", "float32", [2])))
    assert result[0].startswith('const w = builder.input("param/w", {')


def test_few_numbers_are_written_and_many_are_part_of_the_buffer() -> None:
    b = GraphBuilder()
    few = b.constant([1.5, float("-inf"), 0.1], "float32")
    many = b.constant([float(k) for k in range(9)], "float32")
    whole = b.constant([2**53 + 1], "int64")
    result = lines(b, few=b.neg(few), many=b.neg(many), whole=b.abs(whole))
    assert "new Float32Array([1.5, -Infinity, 0.100000001])" in result[0]
    assert "new Float32Array(constants, 16, 9)" in result[1]
    assert "new BigInt64Array([9007199254740993n])" in result[2]


def test_lists_options_and_several_results() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 6])
    left, right = b.split(x, [2, 4], axis=1)
    scale = b.input("s", "float32", [6])
    normal = b.layer_normalization(b.concat([right, left], 1), scale=scale, axes=[1])
    result = lines(b, y=normal)
    assert "const [split1, split2] = builder.split(x, [2, 4], {axis: 1});" in result
    assert "const concat1 = builder.concat([split2, split1], 1);" in result
    assert (
        "const layerNormalization1 = builder.layerNormalization(concat1, {axes: [1], scale: s});"
        in (result)
    )
