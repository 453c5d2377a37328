"""What operators that move data refuse, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails
from webnnm import GraphBuilder
from webnnm.ops.declare.tensors import OperatorError

X = (2, 5)
IMAGE = (1, 2, 4, 6)
INT = "int32"


def catch_error(name: str, shapes: tuple[Any, ...], **options: Any) -> OperatorError:
    b = GraphBuilder()
    typed = (bool(shape) and isinstance(shape[0], str) for shape in shapes)
    types = [s if own else ("float32", s) for s, own in zip(shapes, typed, strict=True)]
    with pytest.raises(OperatorError) as caught:
        operands = [b.input(f"x{i}", *type) for i, type in enumerate(types)]
        getattr(b, name)(*operands, **options)
    return caught.value


PAD = {"beginning_padding": (1, 0), "ending_padding": (0, 2)}


@pytest.mark.parametrize(
    ("name", "shapes", "options", "code", "words"),
    [
        # Padding.
        ("pad", (X,), {}, "NNM304", ("pad", "beginning_padding")),
        ("pad", (X,), {**PAD, "ending_padding": (1,)}, "NNM303", ("1 numbers", "rank 2")),
        ("pad", (X,), {**PAD, "ending_padding": (0, -1)}, "NNM303", ("-1", "ending_padding")),
        ("pad", (X,), {**PAD, "mode": "wrap"}, "NNM303", ("wrap", "constant, edge, reflection")),
        ("pad", (X,), {**PAD, "value": "0"}, "NNM303", ("'0' is not a number",)),
        ("pad", ((INT, X),), {**PAD, "value": 0.5}, "NNM502", ("0.5", "int32")),
        ("pad", (("uint8", X),), {**PAD, "value": -1}, "NNM502", ("-1", "uint8")),
        ("pad", ((2, 2),), {**PAD, "mode": "reflection"}, "NNM303", ("axis 1", "allows 1")),
        (
            "pad",
            ((2, 1),),
            {**PAD, "mode": "symmetric"},
            "NNM303",
            ("padding 2 by symmetric", "allows 1"),
        ),
        ("pad", (X, ("uint32", (2, 2))), {}, "NNM303", ("padding", "constant [2, 2]")),
        ("pad", (X, X, X), PAD, "NNM302", ("pad", "3 given")),
        ("pad", (X,), {**PAD, "axis": 0}, "NNM301", ("pad", "axis")),
        # Boxes.
        ("slice", (X,), {"starts": (0, 3), "sizes": (2, 3)}, "NNM308", ("3 + 3 exceeds 5",)),
        ("slice", (X,), {"starts": (1,), "sizes": (1,), "axes": (2,)}, "NNM308", ("axis 2",)),
        ("slice", (X,), {"starts": (1,), "sizes": (1,), "axes": (0, 1)}, "NNM303", ("1 numbers",)),
        ("slice", (X,), {"starts": ("a", 0), "sizes": (1, 1)}, "NNM303", ("starts", "'a'")),
        ("split", (X,), {"splits": 2, "axis": 1}, "NNM406", ("5 elements do not split into 2",)),
        ("split", (X,), {"splits": (2, 2), "axis": 1}, "NNM406", ("5 elements", "[2, 2]")),
        ("split", (X,), {"splits": ()}, "NNM303", ("splits", "at least one part")),
        ("split", (X,), {"splits": (0, 2)}, "NNM303", ("0 is not an integer 1",)),
        ("split", (X,), {"splits": 2, "axis": 2}, "NNM308", ("axis 2, rank 2",)),
        ("split", ((),), {"splits": 1}, "NNM405", ("input", "split")),
        ("tile", (X,), {"repetitions": (1,)}, "NNM303", ("1 numbers for rank 2",)),
        ("tile", (X,), {"repetitions": (1, 0)}, "NNM303", ("0 is not an integer 1",)),
        ("concat", (X, (INT, X)), {"axis": 0}, "NNM501", ("float32 and int32",)),
        ("expand", (X,), {"new_shape": (2, 2, 3)}, "NNM401", ("[2, 5]", "[2, 2, 3]")),
        # Shapes.
        ("flatten", (X,), {"axis": 3}, "NNM308", ("axis 3, rank 2",)),
        ("squeeze", ((1, 5),), {"axes": (1,)}, "NNM303", ("axis 1 of [1, 5] has 5 elements",)),
        ("squeeze", ((1, 5),), {"axes": (2,)}, "NNM308", ("axes", "axis 2")),
        ("unsqueeze", (X,), {}, "NNM304", ("unsqueeze", "axes")),
        ("unsqueeze", (X,), {"axes": (3,)}, "NNM308", ("axis 3, rank 3",)),
        ("unsqueeze", (X,), {"axes": (0, -4)}, "NNM309", ("twice",)),
        ("reshape", (X,), {"new_shape": (None, None)}, "NNM407", ("10 elements",)),
        ("repeat_sequence", (X,), {"length": 0}, "NNM303", ("length",)),
        # Resampling.
        ("resample2d", (X,), {}, "NNM405", ("input", "rank 4")),
        ("resample2d", ((INT, IMAGE),), {}, "NNM501", ("int32",)),
        ("resample2d", (IMAGE,), {"mode": "cubic"}, "NNM303", ("cubic", "linear")),
        ("resample2d", (IMAGE,), {"scales": 2}, "NNM303", ("scales", "not a pair of numbers")),
        ("resample2d", (IMAGE,), {"scales": (2, 0)}, "NNM303", ("above 0",)),
        ("resample2d", (IMAGE,), {"scales": (0.1, 1)}, "NNM408", ("nothing is left",)),
        ("resample2d", (IMAGE,), {"sizes": (4,)}, "NNM303", ("1 sizes, 2 expected",)),
        ("resample2d", (IMAGE,), {"axes": (1, 1)}, "NNM309", ("twice",)),
        ("resample2d", (IMAGE,), {"axes": (1,)}, "NNM303", ("1 axes, 2 expected",)),
        ("resample2d", (IMAGE,), {"axes": (1, 4)}, "NNM308", ("axis 4",)),
        # Indices.
        ("gather", (X, X), {}, "NNM501", ("indices", "float32")),
        ("gather", (X,), {}, "NNM302", ("gather", "1 given")),
        ("gather_elements", (X, (INT, (2,))), {}, "NNM410", ("[2, 5]", "indices [2]")),
        ("gather_elements", (X, (INT, (1, 4))), {}, "NNM410", ("differ outside axis 0",)),
        ("gather_nd", (X, (INT, (4, 3))), {}, "NNM405", ("3 coordinates", "fewer axes")),
        ("gather_nd", (X, (INT, ())), {}, "NNM405", ("indices",)),
        (
            "scatter_elements",
            (X, (INT, (1, 5)), (2, 5)),
            {},
            "NNM401",
            ("updates [2, 5]", "indices [1, 5]"),
        ),
        (
            "scatter_elements",
            (X, (INT, (1, 5)), ("float16", (1, 5))),
            {},
            "NNM501",
            ("scatterElements", "float32 and float16"),
        ),
        (
            "scatter_nd",
            (X, (INT, (3, 1)), (3, 4)),
            {},
            "NNM401",
            ("updates [3, 4]", "need [3, 5]"),
        ),
        ("scatter_nd", (X, (INT, (3, 1))), {}, "NNM302", ("scatterND", "2 given")),
    ],
    ids=str,
)  # fmt: skip
def test_tensors(
    name: str, shapes: Any, options: dict[str, Any], code: str, words: tuple[str, ...]
) -> None:
    error = catch_error(name, shapes, **options)
    assert error.code == code, error
    for word in words:
        assert word in error.message


@pytest.mark.parametrize(
    ("arguments", "options", "code", "words"),
    [
        (("float8", (2,)), {}, "NNM113", "float8"),
        (("int32", (2, 0)), {}, "NNM303", "0 is not an integer"),
        (("int32",), {}, "NNM304", "shape"),
        (("int32", (2,)), {"start": 0.5}, "NNM502", "0.5"),
        (("uint8", (300,)), {}, "NNM502", "299"),
        (("int32", (2,)), {"step": 1}, "NNM301", "step"),
    ],
    ids=str,
)
def test_sequences_of_numbers(arguments: Any, options: Any, code: str, words: str) -> None:
    with pytest.raises(OperatorError) as caught:
        GraphBuilder().fill_sequence(*arguments, **options)
    assert caught.value.code == code
    assert "fillSequence" in caught.value.message or code == "NNM113"
    assert words in caught.value.message


ROWS = "{rows:4, cols:3}"

MODELS = [
    ("NNM307", ROWS, "pad(¦{colz:1})", 'no dimension "colz"'),
    ("NNM303", ROWS, "pad(¦[1])", "1 numbers for rank 2"),
    ("NNM303", ROWS, "pad(¦beginningPadding={cols:-1})", "integers from 0"),
    ("NNM303", ROWS, "¦pad({cols:3}, mode=reflection)", "allows 2"),
    ("NNM303", ROWS, "pad({cols:3}, ¦mode=wrap)", "constant or edge or reflection or symmetric"),
    ("NNM304", ROWS, "¦tile()", "repetitions"),
    ("NNM303", ROWS, "tile(¦repetitions={rows:0})", "integers from 1"),
    ("NNM304", ROWS, "¦split()", "number of parts"),
    ("NNM406", ROWS, "split(¦3)", "4 elements do not split into 3 equal parts"),
    ("NNM406", ROWS, "split(¦[1, 1])", "4 elements do not split into parts of [1, 1]"),
    ("NNM303", ROWS, "split(¦0)", "from 1"),
    ("NNM405", "[]", "¦split(1)", "no dimension to split"),
    ("NNM307", ROWS, "split(2, ¦axis=height)", 'no dimension "height"'),
    ("NNM310", ROWS, "split(2, ¦axis=batch)", "per sample"),
    ("NNM308", ROWS, "slice(¦{rows:-5})", "of 4"),
    ("NNM303", ROWS, "slice(¦sizes={rows:50%})", "expected integers"),
    ("NNM303", ROWS, "squeeze(¦axes=[cols])", "3 elements in axis 1"),
    ("NNM304", ROWS, "¦unsqueeze()", "axes"),
    ("NNM308", ROWS, "¦unsqueeze(axes=[5])", "axis 5"),
    ("NNM405", "[6]", "¦resample2d(scales=2)", "at least two are needed"),
    ("NNM303", ROWS, "resample2d(¦scales=[1, 2, 3])", "expected a number, or two"),
    ("NNM303", ROWS, "resample2d(¦scales=0)", "above 0"),
    ("NNM408", ROWS, "resample2d(¦scales=0.2)", "nothing is left"),
    ("NNM303", ROWS, "resample2d(¦mode=cubic)", "expected nearest-neighbor"),
    ("NNM303", ROWS, "resample2d(¦sizes=[2, 2, 2])", "3 sizes for 2 dimensions"),
    ("NNM304", ROWS, "¦gatherElements(axis=rows)", "needs data= or indices="),
    ("NNM410", ROWS, "¦gatherElements(data=[0, 1])", "[4, 3] and indices [2]"),
    ("NNM115", ROWS, "gatherElements(shape={rows:1, cols}, ¦data=[0, 1])", "3 indices expected"),
    ("NNM308", ROWS, "gatherElements(shape=[1, 3], ¦data=[0, 1, 4])", "index 4 of 4 elements"),
    ("NNM308", ROWS, "gatherND(coords=[cols], ¦data=[3])", "index 3 of 3 elements"),
    ("NNM405", ROWS, "¦gatherND(shape=[1], data=[0, 1, 2])", "3 coordinates"),
    ("NNM205", ROWS, "gatherND(¦indices=nowhere)", "nowhere"),
    ("NNM205", ROWS, "scatterND(¦nowhere, data=[0])", "nowhere"),
    ("NNM302", ROWS, "¦scatterND(data=[0])", "scatterND"),
    ("NNM401", ROWS, "¦scatterND([[1, 2]], data=[0])", "the indices need [1, 3]"),
    ("NNM401", ROWS, "¦scatterElements([1, 2, 3], shape=[1, 3], data=[0, 0, 0])", "need [1, 3]"),
    ("NNM304", ROWS, "¦fillSequence()", "shape= or like="),
    ("NNM109", ROWS, "fillSequence(¦shape=[2, 0])", "integers from 1"),
    ("NNM411", ROWS, "fillSequence(¦like=m:input)", "no sequence"),
    ("NNM304", ROWS, "¦repeatSequence()", "length= or like="),
    ("NNM303", ROWS, "repeatSequence(¦length=0)", "0 is less than 1"),
    ("NNM411", ROWS, "repeatSequence(¦like=m:input)", "no sequence"),
    ("NNM411", ROWS, "repeatSequence(length=2), ¦repeatSequence(length=2)", "already"),
]


@pytest.mark.parametrize(("code", "input", "layers", "words"), MODELS, ids=str)
def test_models(code: str, input: str, layers: str, words: str) -> None:
    fails(code, f"m:input shape={input}; m:output shape=[9]; m:layers {layers};", says=words)


@pytest.mark.parametrize(
    ("layer", "declared"),
    [
        ("pad({rows:1}, shape=¦[4, 3])", "[4, 3]"),
        ("tile({rows:2}, shape=¦[4, 3])", "[4, 3]"),
        ("resample2d(scales=2, shape=¦[4, 3])", "[4, 3]"),
        ("flatten(shape=¦[4, 3])", "[4, 3]"),
    ],
)
def test_a_declared_result_of_another_size_is_refused(layer: str, declared: str) -> None:
    text = f"m:input shape={ROWS}; m:output shape={declared}; m:layers {layer};"
    fails("NNM402", text, says=f"declared {declared}")
