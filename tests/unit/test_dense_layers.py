"""Networks as columns of units, and the buttons of the playground that edit their text."""

from __future__ import annotations

import doctest
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from webnnm import parse
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network

# A file of the site, which lies on the desktop.
pytestmark = pytest.mark.desktop

SITE = Path(__file__).resolve().parent.parent.parent / "site"
if not SITE.exists():
    pytest.skip("there are no files of the site here", allow_module_level=True)
HEAD = "m:input shape=[2]; m:output shape=[2];\nm:layers\n  "
DENSE = ";\ndense:layers matmul(w), add(b), activation();"
TEXT = (
    HEAD
    + "dense(shape=[8], activation=tanh),  # the first one\n"
    + "  dense( shape=[ 5 ], activation=relu ),\n"
    + "  dense(shape=[2], activation=softmax)"
    + DENSE
)


def load() -> ModuleType:
    spec = spec_from_file_location("dense_layers", SITE / "dense_layers.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


edits = load()


def columns_of(text: str) -> Any:
    return edits.find_columns(elaborate(parse(text)))


def units_of(text: str) -> list[int]:
    return [column.units for column in columns_of(text)]


def test_examples() -> None:
    assert doctest.testmod(edits).attempted > 3
    assert doctest.testmod(edits).failed == 0


def test_a_stack_of_dense_layers_has_columns() -> None:
    first, second, last = columns_of(TEXT)
    assert [first.units, second.units, last.units] == [8, 5, 2]
    assert [first.activation, last.activation] == ["tanh", "softmax"]
    assert (first.weights, first.bias, first.is_transposed) == ("w1", "b1", False)
    assert TEXT[second.start :].startswith("dense( shape")


def test_layers_that_keep_the_shape_belong_to_the_column_before_them() -> None:
    text = HEAD + "matmul(w, shape=[4]), add(b), relu(), dropout(0.5), gemm(v), softmax();"
    first, last = columns_of(text)
    assert (first.units, first.activation, first.result.operator.name) == (4, "relu", "dropout")
    assert (last.units, last.bias, last.start) == (2, None, None)


def test_a_bias_of_gemm_is_found() -> None:
    (column,) = columns_of("m:input shape=[3]; m:output shape=[2]; m:layers gemm(w, c=b);")
    assert (column.weights, column.bias) == ("w1", "b1")


@pytest.mark.parametrize(
    "text",
    [
        "m:input shape=[2]; m:output shape=[2]; m:layers relu();",
        "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w, shape=[2], name=h), relu(),"
        " add(h);",
        "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w, shape=[2]), add(input);",
        "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w);"
        " n:input shape=[1]; n:output shape=[1]; n:layers relu();",
        "m:input shape={channels:1, height:4, width:4}; m:output shape=[2];"
        " m:layers conv2d(k, filters=2, kernel=3), relu(), globalAveragePool();",
        "m:input shape=[2] sequence=true; m:output shape=[2] sequence=true; m:layers matmul(w);",
        HEAD
        + "dense(shape=[3], activation=relu, repeat=9), dense(shape=[2], activation=relu)"
        + DENSE,
    ],
    ids=["no product", "a branch", "the input again", "two", "pictures", "sequences", "too many"],
)
def test_other_networks_have_no_columns(text: str) -> None:
    assert columns_of(text) is None


def test_copies_of_a_layer_have_columns_that_no_button_edits() -> None:
    text = HEAD + "dense(shape=[3], activation=relu, repeat=2), dense(shape=[2], activation=relu)"
    columns = columns_of(text + DENSE)
    assert [column.start is None for column in columns] == [True, True, False]
    with pytest.raises(edits.UneditableError, match="no call of its own"):
        edits.set_units(text + DENSE, 0, 4)


def test_results_of_columns_are_outputs_of_the_same_network() -> None:
    network = elaborate(parse(TEXT))
    exposed = edits.expose_columns(network, edits.find_columns(network))
    outputs = lower_network(exposed, batch=7).outputs
    assert {name: operand.shape for name, operand in outputs.items()} == {
        "0": (7, 8),
        "1": (7, 5),
        "2": (7, 2),
    }


def test_units_are_changed_and_nothing_else() -> None:
    assert edits.set_units(TEXT, 1, 12) == TEXT.replace("[ 5 ]", "[ 12 ]")
    assert edits.set_units(TEXT, 0, 9) == TEXT.replace("[8]", "[9]")


def test_a_size_that_is_not_written_cannot_be_changed() -> None:
    text = HEAD + "hidden(), dense(shape=[2], activation=softmax)" + DENSE
    text += " hidden:layers matmul(w, shape=[3]), relu();"
    with pytest.raises(edits.UneditableError, match="does not say shape"):
        edits.set_units(text, 0, 4)


def test_a_layer_is_inserted_as_a_copy_of_its_neighbour() -> None:
    assert edits.insert_layer(TEXT, 1) == TEXT.replace(
        "  dense( shape", "  dense(shape=[8], activation=tanh),\n  dense( shape"
    )
    assert units_of(edits.insert_layer(TEXT, 2)) == [8, 5, 5, 2]
    assert units_of(edits.insert_layer(TEXT, 0)) == [8, 8, 5, 2]


def test_the_first_hidden_layer_is_made_from_the_output() -> None:
    text = HEAD + "dense(shape=[2], activation=softmax)" + DENSE
    first, last = columns_of(edits.insert_layer(text, 0))
    assert (first.units, first.activation) == (edits.NEW_UNITS, edits.NEW_ACTIVATION)
    assert (last.units, last.activation) == (2, "softmax")


def test_without_an_activation_to_replace_nothing_is_inserted() -> None:
    text = HEAD + "out(shape=[2]); out:layers matmul(w), add(b), softmax();"
    with pytest.raises(edits.UneditableError, match="no hidden layer"):
        edits.insert_layer(text, 0)


@pytest.mark.parametrize(
    "call",
    [
        "dense(name=first, shape=[8], activation=tanh)",
        "dense(shape=[8], name=first, activation=tanh)",
        "dense(shape=[8], activation=tanh, name=first)",
    ],
)
def test_the_copy_of_a_layer_has_no_name(call: str) -> None:
    text = HEAD + f"{call}, dense(shape=[2], activation=softmax)" + DENSE
    inserted = edits.insert_layer(text, 1)
    assert inserted.count("name=first") == 1 and call in inserted
    first, second, _ = columns_of(inserted)
    assert (first.units, first.activation) == (second.units, second.activation) == (8, "tanh")


def test_a_layer_is_removed_with_its_comma() -> None:
    assert units_of(edits.remove_layer(TEXT, 0)) == [5, 2]
    removed = edits.remove_layer(TEXT, 1)
    assert removed == TEXT.replace("  dense( shape=[ 5 ], activation=relu ),\n", "")
    with pytest.raises(edits.UneditableError, match="output"):
        edits.remove_layer(TEXT, 2)


def test_a_layer_that_was_inserted_can_be_removed() -> None:
    for number in range(3):
        assert edits.remove_layer(edits.insert_layer(TEXT, number), number) == TEXT
