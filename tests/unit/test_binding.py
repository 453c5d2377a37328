"""How a dataset is bound to a model: which field, in which form (spec G.2)."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.binding import bind
from webnnm.data.dataset import Dataset
from webnnm.errors import DataError
from webnnm.graph.elaborate import elaborate
from webnnm.graph.vertices import Network
from webnnm.notation import parse

ALL = {"split": (1, 0, 0)}


def network(text: str) -> Network:
    return elaborate(parse(text))


ONE = network("net:input shape=[2]; net:output shape=[3]; net:layers matmul(w);")
TWO = network("""
    a:input shape=[2]; b:input int32 shape=[]; c:output shape=[2]; d:output shape=[];
    c:layers add([a, b]); d:layers reduceSum(node=c);
""")


def test_only_field_and_only_block_bind_whatever_they_are_called() -> None:
    found = bind(ONE, Dataset({"x": [[1.0, 2.0]]}, {"y": [[0.5, 1.5, 2.5]]}, **ALL))
    inputs, outputs = found.arrays("training")
    assert inputs["net"].tolist() == [[1, 2]]
    assert outputs["net"].tolist() == [[0.5, 1.5, 2.5]]


def test_several_fields_bind_by_name_and_get_the_models_types() -> None:
    data = Dataset(
        {"b": [1, 2], "a": [[1.0, 2.0], [3.0, 4.0]]},
        {"d": [0.5, 1.5], "c": [[1.0, 2.5]] * 2},
        **ALL,
    )
    inputs, outputs = bind(TWO, data).arrays("training")
    assert list(inputs) == ["a", "b"]
    assert (inputs["b"].dtype, inputs["b"].tolist()) == ("int32", [1, 2])
    assert outputs["d"].tolist() == [0.5, 1.5]


def test_mapping_renames_fields() -> None:
    data = Dataset({"x": [[1.0, 2.0]], "y": [3]}, {"c": [[1.5, 2.0]], "d": [0.5]}, **ALL)
    with pytest.raises(DataError) as caught:
        bind(TWO, data)
    assert caught.value.code == "NNM701"
    assert bind(TWO, data, {"x": "a", "y": "b"}).inputs["a"].field == "a"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 2, 1], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 0], [1, 0, 0], [0, 1, 0]]),
    ],
    ids=["classes", "one-hot"],
)
def test_class_numbers_become_one_hot(labels: Any, expected: Any) -> None:
    data = Dataset([[1.0, 2.0]] * 3, labels, **ALL)
    _, outputs = bind(ONE, data).arrays("training")
    assert outputs["net"].tolist() == expected


def test_named_dimensions_are_brought_into_the_models_order() -> None:
    image = network("""
        m:input shape={channels:2, width:3}; m:output shape={channels:2, width:3};
        m:layers identity();
    """)
    data = Dataset(
        {"x": [[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]]},
        {"y": [[[0.5] * 3] * 2]},
        names={"x": ("width", "channels")},
        **ALL,
    )
    inputs, _ = bind(image, data).arrays("training")
    assert inputs["m"].tolist() == [[[1, 2, 3], [4, 5, 6]]]


@pytest.mark.parametrize(
    ("inputs", "outputs", "code"),
    [
        ([[1.0, 2.0, 3.0]], [[0.5, 0.5, 0.0]], "NNM702"),
        ([[1.0, 2.0]], [[0.5, 0.5]], "NNM702"),
        ([[1.0, 2.0]] * 4, [0, 1, 2, 3], "NNM706"),
    ],
)
def test_what_does_not_fit(inputs: Any, outputs: Any, code: str) -> None:
    with pytest.raises(DataError) as caught:
        bind(ONE, Dataset(inputs, outputs, **ALL))
    assert caught.value.code == code


def test_sequence_length_comes_from_the_data() -> None:
    words = network("""
        m:input shape=[2] sequence=words; m:output shape=[]; m:layers reduceSum(axes=[words, 0]);
    """)
    found = bind(words, Dataset([[[1.0, 2.0]] * 5] * 2, [0.5, 1.5], **ALL))
    assert found.sequence == {"words": 5}
    inputs, _ = found.arrays("training")
    assert inputs["m"].shape == (2, 5, 2)


def test_fixed_sequence_length_is_checked() -> None:
    words = network("""
        m:input shape=[2] sequence={words:4}; m:output shape=[];
        m:layers reduceSum(axes=[words, 0]);
    """)
    with pytest.raises(DataError) as caught:
        bind(words, Dataset([[[1.0, 2.0]] * 5] * 2, [0.5, 1.5], **ALL))
    assert caught.value.code == "NNM702"


def test_subset_without_rows() -> None:
    found = bind(ONE, Dataset([[1.0, 2.0]], [[0.5, 1.5, 2.5]], **ALL))
    with pytest.raises(DataError) as caught:
        found.arrays("testing")
    assert caught.value.code == "NNM705"
