"""Diagrams as SVG and as Mermaid: where things are placed, and what a text may hold."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from tests.unit.diagram.test_networks import NESTED, REPEATED, drawing
from webnnm import BackendError, DataError, NNModel, plot_model
from webnnm.diagram import layout
from webnnm.diagram.boxes import Box, Drawing, Edge
from webnnm.diagram.diagram import Diagram
from webnnm.diagram.layout import Rectangle, lay_out
from webnnm.diagram.svg import STYLE, box_size, label_size

if TYPE_CHECKING:
    from webnnm.diagram.layout import Direction

SVG = "{http://www.w3.org/2000/svg}"


def inside(inner: Rectangle, outer: Rectangle) -> bool:
    return (
        abs(inner.x - outer.x) <= (outer.width - inner.width) / 2
        and abs(inner.y - outer.y) <= (outer.height - inner.height) / 2
    )


def apart(a: Rectangle, b: Rectangle) -> bool:
    return abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("text", [REPEATED, NESTED])
def test_boxes_lie_apart_in_their_blocks_and_values_flow_in_the_direction(
    text: str, direction: Direction
) -> None:
    found = drawing(text, depth=9)
    places = lay_out(found, box_size, label_size, direction)

    def check(boxes: list[Box], within: Rectangle) -> None:
        for number, box in enumerate(boxes):
            place = places.boxes[box.id]
            assert inside(place, within)
            assert all(apart(place, places.boxes[other.id]) for other in boxes[:number])
            check(box.boxes, place)

    width, height = places.width, places.height
    check([*found.boxes], Rectangle(width / 2, height / 2, width, height))
    for edge in found.edges:
        before, after = places.boxes[edge.source], places.boxes[edge.target]
        assert before.y < after.y if direction == "down" else before.x < after.x


def test_an_svg_is_xml_with_every_box_and_the_places_of_their_texts() -> None:
    found = Diagram(drawing(REPEATED))
    root = ElementTree.fromstring(found.svg())
    boxes = {g.get("data-id"): g for g in root.iter(f"{SVG}g") if g.get("data-id")}
    assert [*boxes] == [
        *("m:input", "block#1", "inner", "relu1", "residual1", "matmul1", "m:output")
    ]
    start, end = (int(boxes["relu1"].get(f"data-{name}", "")) for name in ("start", "end"))
    assert REPEATED[start:end] == "relu"
    assert boxes["inner"].get("class") == "layer learns"
    texts = [text.text for text in boxes["block#1"].iter(f"{SVG}text")]
    assert texts == ["− block × 3", "matmul inner", "w1 [8, 8]", "relu", "residual"]
    assert root.get("aria-label") == "model: 256 parameters"
    assert found._repr_mimebundle_()["image/svg+xml"] == found.svg()


def test_a_page_gets_it_without_styles() -> None:
    found = Diagram(drawing(REPEATED))
    assert STYLE in found.svg()
    assert "<style" not in found.svg(standalone=False)


def test_marks_of_both_languages_are_escaped() -> None:
    odd = '<a> & "b" #1'
    boxes = [Box(id=odd, kind="layer", title=odd), Box(id="2", kind="output", title="end")]
    found = Diagram(Drawing(caption=odd, boxes=boxes, edges=[Edge(source=odd, target="2")]))
    root = ElementTree.fromstring(found.svg())
    assert root.get("aria-label") == odd
    assert odd in [text.text for text in root.iter(f"{SVG}text")]
    assert found.mermaid() == (
        'flowchart TB\n  n0["#60;a#62; #38; #34;b#34; #35;1"]\n  n1(["end"])\n  n0 --> n1\n'
    )


def test_mermaid_has_blocks_within_blocks() -> None:
    lines = Diagram(drawing(NESTED, depth=2)).mermaid().splitlines()
    assert lines[2:4] == ['  subgraph n1["outer"]', '    subgraph n2["dense"]']
    assert lines.count("  end") + lines.count("    end") == sum(
        "subgraph" in line for line in lines
    )
    assert '    n3[["pair × 2"]]' in Diagram(drawing(NESTED, depth=1)).mermaid().splitlines()


def test_files_are_written_by_their_endings(tmp_path: Path) -> None:
    found = Diagram(drawing(REPEATED))
    found.save(tmp_path / "a.svg")
    found.save(str(tmp_path / "a.MMD"))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == found.svg()
    assert (tmp_path / "a.MMD").read_text(encoding="utf-8") == found.mermaid()
    with pytest.raises(DataError, match=r"does not end in \.svg or \.mmd"):
        found.save(tmp_path / "a.png")


def test_a_model_tells_what_runs_it() -> None:
    async def main() -> Diagram:
        async with await NNModel.create(source=REPEATED, log=lambda _: None) as model:
            return plot_model(model, depth=0)

    found = asyncio.run(main())
    assert "running on" in found.drawing.caption
    assert [box.heading for box in found.drawing.boxes][1] == "block × 3"


@pytest.mark.desktop
def test_without_v8_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    with pytest.raises(BackendError, match="mini-racer") as caught:
        Diagram(drawing(REPEATED)).svg()
    assert caught.value.code == "NNM709"
    assert "webnnm[diagram]" in caught.value.hint


@pytest.mark.desktop
def test_the_library_is_the_one_of_its_package() -> None:
    package = Path(__file__).parents[3] / "node_modules/@dagrejs/dagre"
    own = Path(layout.__file__).with_name("_dagre")
    published, comment, _ = (package / "dist/dagre.min.js").read_text().rpartition("//# sourceMap")
    assert comment
    assert (own / "dagre.min.js").read_text() == published
    assert (own / "LICENSE").read_text() == (package / "LICENSE").read_text()
