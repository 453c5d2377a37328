"""Labels that are words: which arrays are looked at."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.data.tables.word_labels import encode_word_labels


class Typed:
    """An array of a library that tells the type of its elements."""

    def __init__(self, dtype: str, labels: list[Any] | None = None) -> None:
        self.dtype = dtype
        self._labels = labels

    def tolist(self) -> list[Any]:
        """Return the elements; of an array of numbers no one asks for them."""
        assert self._labels is not None
        return self._labels


@pytest.mark.parametrize("dtype", ["float32", "uint8", "Int64", "torch.float16", "bool"])
def test_elements_of_numbers_are_not_looked_at(dtype: str) -> None:
    assert encode_word_labels("labels", Typed(dtype)) is None


@pytest.mark.parametrize("dtype", ["object", "str", "<U3", "category", "string"])
def test_arrays_of_words_are_encoded(dtype: str) -> None:
    assert encode_word_labels("labels", Typed(dtype, ["b", "a"])) == ([1, 0], ["a", "b"])


def test_arrays_of_the_standard_library_have_no_words() -> None:
    for values in (array("i", [1]), b"ab", memoryview(b"ab"), HostArray.of([1.5])):
        assert encode_word_labels("labels", values) is None
