"""What is drawn of a network: which boxes, which edges."""

from __future__ import annotations

import pytest

from tests.places import VALID
from tests.unit.notation.test_examples import examples
from webnnm.diagram.boxes import Box, Drawing
from webnnm.diagram.networks import network_drawing
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse

REPEATED = """
m:input shape=[8]; m:output shape=[8];
m:layers block(repeat=3), matmul(w);
block:layers
  matmul(w, name=inner), relu(),
  residual(to=input);
"""
NESTED = """
m:input shape=[4]; m:output shape=[4];
m:layers outer(name=first), outer(repeat=2), dense(shapes=[[6], [4]]);
outer:layers dense(shape=[4]), pair(repeat=2);
pair:layers relu(repeat=2), sigmoid();
dense:layers matmul(w), add(b);
"""


def drawing(text: str, **options: object) -> Drawing:
    return network_drawing(elaborate(parse(text)), **options)  # type: ignore[arg-type]


def edges(found: Drawing) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in found.edges}


def outline_boxes(boxes: list[Box]) -> list[object]:
    return [[box.heading, outline_boxes(box.boxes)] if box.boxes else box.heading for box in boxes]


def test_copies_are_one_box_and_lead_on_to_what_follows() -> None:
    found = drawing(REPEATED)
    assert outline_boxes([*found.boxes]) == [
        "m:input",
        ["block × 3", ["matmul inner", "relu", "residual"]],
        "matmul",
        "m:output",
    ]
    assert edges(found) == {
        ("m:input", "inner"),
        ("m:input", "residual1"),
        ("inner", "relu1"),
        ("relu1", "residual1"),
        ("residual1", "matmul1"),
        ("matmul1", "m:output"),
    }
    (block,) = (box for box in found.boxes if box.kind == "block")
    assert (block.copies, block.parameters) == (3, 64)
    assert REPEATED[block.span.start : block.span.end].startswith("block")  # type: ignore[union-attr]


def test_calls_of_other_places_and_other_shapes_stay_apart() -> None:
    found = drawing(NESTED, depth=9)
    inside = [["dense", ["matmul", "add"]], ["pair × 2", ["relu × 2", "sigmoid"]]]
    assert outline_boxes([*found.boxes]) == [
        "m:input",
        ["outer", inside],
        ["outer × 2", inside],
        *[["dense", ["matmul", "add"]]] * 2,
        "m:output",
    ]


@pytest.mark.parametrize(("depth", "count"), [(0, 6), (1, 10), (2, 14), (None, 14)])
def test_blocks_are_open_up_to_a_depth(depth: int | None, count: int) -> None:
    assert len([*drawing(NESTED, depth=depth).leaves()]) == count


def test_a_block_is_opened_and_closed_on_its_own() -> None:
    closed = drawing(NESTED, depth=0)
    outer = next(box for box in closed.boxes if box.title == "outer")
    assert not outer.boxes
    assert outer.details == ["20 parameters"]
    opened = drawing(NESTED, depth=0, toggled={outer.id})
    assert outline_boxes([*opened.boxes])[1:3] == [["outer", ["dense", "pair × 2"]], "outer × 2"]
    assert drawing(NESTED, depth=1, toggled={outer.id}).boxes[1].boxes == []


def test_edges_tell_shapes_with_sequences_and_unusual_types() -> None:
    found = drawing(
        "m:input int32 shape=[] sequence=t; m:output shape=[2] sequence=t;"
        "m:layers embedding(table, shape=[2], size=5), tanh();"
    )
    assert [edge.label for edge in found.edges] == ["int32[t]", "[t, 2]", "[t, 2]"]


def test_what_was_rewritten_is_at_its_layer() -> None:
    texts = ['matmul "matmul1": a reason', 'min "gradient of relu1": another']
    found = drawing(REPEATED, rewrites=[*texts, 'matmul "matmul11": more', "sqrt: anywhere"])
    assert [(box.id, box.rewrites) for box in found.leaves() if box.rewrites] == [
        ("relu1", texts[1:]),
        ("matmul1", texts[:1]),
    ]


def test_layers_of_the_same_name_are_boxes_of_their_own() -> None:
    found = drawing(REPEATED.replace("block(repeat=3)", "block(), block()"))
    named = [box.id for box in found.leaves() if box.title == "matmul inner"]
    assert named == ["inner", "inner2"]
    assert ("residual1", "inner2") in edges(found)


@pytest.mark.parametrize("depth", [0, 1, None])
def test_every_box_of_every_example_is_between_inputs_and_outputs(depth: int | None) -> None:
    for name, text in examples(VALID):
        found = drawing(text, depth=depth)
        ids = [box.id for box in found.leaves()]
        assert len({*ids}) == len(ids), name
        assert {end for pair in edges(found) for end in pair} <= {*ids}, name
        leading = {source for source, _ in edges(found)}
        ends = {box.id for box in found.leaves() if box.kind == "output"}
        assert {*ids} - leading == ends, name
