"""Positions of boxes and edges, from dagre, a JavaScript library that this package contains.

Pages run it themselves; a desktop runs it in V8, from the extra `webnnm[diagram]`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

from webnnm.backends.pyodide_host import script_value
from webnnm.core.errors import BackendError
from webnnm.diagram.boxes import Box, Drawing

GAP = 24
"""Pixels between boxes."""
GAP_WITH_OPEN_BLOCKS = 44
"""Pixels from top to top if titles of open blocks need space, which dagre does not give them."""
Direction = Literal["down", "right"]
"""The direction in which values flow."""
FUNCTION = """\
(text) => {
  const { boxes, parents, edges, gap, rankGap, rankdir } = JSON.parse(text);
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: true });
  const margins = { marginx: 8, marginy: 8 };
  graph.setGraph({ rankdir, nodesep: gap, edgesep: gap / 2, ranksep: rankGap, ...margins });
  for (const [id, size] of boxes) graph.setNode(id, { ...size });
  for (const [id, parent] of parents) graph.setParent(id, parent);
  edges.forEach(([source, target, size], k) =>
    graph.setEdge(source, target, { ...size, labelpos: "c" }, String(k)));
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const found = { width, height, boxes: {}, edges: [] };
  for (const id of graph.nodes()) found.boxes[id] = graph.node(id);
  for (const edge of graph.edges()) found.edges[Number(edge.name)] = graph.edge(edge);
  return JSON.stringify(found);
}
"""
# V8 by itself lacks this function of browsers; dagre copies settings with it.
MISSING = "globalThis.structuredClone ??= (value) => JSON.parse(JSON.stringify(value));"


class Rectangle(NamedTuple):
    """The centre and size of a box in pixels."""

    x: float
    y: float
    width: float
    height: float


class Route(NamedTuple):
    """The corners of an edge and the centre of its label, if it has one, in pixels."""

    points: Sequence[tuple[float, float]]
    x: float | None
    y: float | None


class Layout(NamedTuple):
    """Positions of boxes by id, routes of edges in order, and the size of the whole drawing."""

    width: float
    height: float
    boxes: Mapping[str, Rectangle]
    edges: Sequence[Route]


Size = tuple[float, float]


def lay_out(
    drawing: Drawing,
    size: Callable[[Box], Size],
    label: Callable[[str], Size],
    direction: Direction = "down",
) -> Layout:
    """Return positions for a drawing, whose boxes and labels have sizes in pixels.

    Values flow in the direction.

    Raises `BackendError` NNM709 where nothing runs JavaScript.
    """
    boxes: list[tuple[str, Mapping[str, float]]] = []
    parents: list[tuple[str, str]] = []

    def visit(box: Box, parent: Box | None) -> None:
        boxes.append((box.id, {} if box.boxes else _sides(size(box))))
        if parent:
            parents.append((box.id, parent.id))
        for inner in box.boxes:
            visit(inner, box)

    for box in drawing.boxes:
        visit(box, None)
    edges = [(e.source, e.target, _sides(label(e.label))) for e in drawing.edges]
    request: dict[str, Any] = {"boxes": boxes, "parents": parents, "edges": edges}
    down = direction == "down"
    request["rankGap"] = GAP_WITH_OPEN_BLOCKS if parents and down else GAP
    request["gap"] = GAP_WITH_OPEN_BLOCKS if parents and not down else GAP
    request["rankdir"] = "TB" if down else "LR"
    answer: dict[str, Any] = json.loads(_run(json.dumps(request)))
    return Layout(
        answer["width"],
        answer["height"],
        {
            id: Rectangle(b["x"], b["y"], b["width"], b["height"])
            for id, b in answer["boxes"].items()
        },
        [
            Route([(p["x"], p["y"]) for p in e["points"]], e.get("x"), e.get("y"))
            for e in answer["edges"]
        ],
    )


def _sides(size: Size) -> dict[str, float]:
    return {"width": size[0], "height": size[1]}


def _run(request: str) -> str:
    """Call the layout function, from JSON to JSON."""
    if sys.platform == "emscripten":
        return _in_page()(request)
    try:
        v8 = import_module("py_mini_racer").MiniRacer
    except ImportError as error:
        raise BackendError(
            "NNM709",
            "diagrams are laid out by JavaScript, which needs the package mini-racer",
            hint='pip install "webnnm[diagram]"; Mermaid does its own layout: diagram().mermaid()',
        ) from error
    # A context that is left open keeps Python from exiting.
    with v8() as engine:
        engine.eval(f"{MISSING} globalThis.layOut = {_program()};")
        return engine.call("layOut", request)


@cache
def _in_page() -> Callable[[str], str]:
    return script_value(_program())


def _program() -> str:
    loader: Any = __loader__
    library = loader.get_data(str(Path(__file__).with_name("_dagre") / "dagre.min.js")).decode()
    return f"(() => {{ {library}\nreturn {FUNCTION} }})()"
