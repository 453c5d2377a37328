"""The drawing of a network."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from webnnm.core.shapes import count
from webnnm.diagram.boxes import Box, Drawing, Edge
from webnnm.diagram.tree import (
    Group,
    Item,
    layer_tree,
    own_parameters,
    representatives,
)
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    Network,
    Source,
    Vertex,
    result_type,
)
from webnnm.graph.transforms.autodiff import GRADIENT_PREFIX

MAX_OPEN_BOXES = 32
"""The number of boxes up to which blocks are opened, the outermost first."""
MAX_LISTED_PARAMETERS = 3
"""The number of parameters of a layer that are listed by name."""


def network_drawing(
    network: Network,
    *,
    depth: int | None = None,
    toggled: Collection[str] = (),
    rewrites: Sequence[str] = (),
    caption: str = "",
) -> Drawing:
    """Return the boxes and edges of a network.

    - `depth`: blocks nested less deeply than this are open, the others closed; None opens them,
      the outermost first, while there are few boxes.
    - `toggled`: ids of blocks whose state is the opposite of what `depth` says.
    - `rewrites`: what was changed for the device, as `Backend.rewrites` returns it.
    """
    items = layer_tree(network)
    open_ids = _open(items, depth) ^ {*toggled}
    box_of_layer: dict[int, Box] = {}
    boxes = [
        *(_input_box(vertex) for vertex in network.inputs),
        *_boxes(items, open_ids, rewrites, box_of_layer),
        *(
            Box(id=f"{o.name}:output", kind="output", title=f"{o.name}:output")
            for o in network.outputs
        ),
    ]
    inputs = {id(vertex): box for vertex, box in zip(network.inputs, boxes, strict=False)}
    edges = _edges(network, items, box_of_layer | inputs)
    total = sum(count(p.features[0].sizes()) for p in network.parameters)
    title = caption or f"{network.name or 'model'}: {total:,} parameters"
    return Drawing(caption=title, boxes=boxes, edges=edges)


def _open(items: Iterable[Item], depth: int | None) -> set[str]:
    """Return the ids of the blocks that are open."""
    ids: set[str] = set()
    level = [item for item in items if isinstance(item, Group)]
    boxes = sum(1 for _ in items)
    while level and (depth is None or depth > 0):
        if depth is None:
            boxes += sum(len(group.items) for group in level)
            if boxes > MAX_OPEN_BOXES:
                break
        else:
            depth -= 1
        ids |= {group.id for group in level}
        level = [item for group in level for item in group.items if isinstance(item, Group)]
    return ids


def _input_box(vertex: InputVertex) -> Box:
    name = f"{vertex.block}:input"
    return Box(id=name, kind="input", title=name, span=vertex.span)


def _boxes(
    items: Iterable[Item], open_ids: set[str], rewrites: Sequence[str], box_of_layer: dict[int, Box]
) -> list[Box]:
    """Return the boxes of items; note in `box_of_layer` which box represents each layer."""
    result: list[Box] = []
    for item in items:
        layers = [leaf.layer for leaf in item.leaves()]
        box = Box(
            id=item.id,
            kind="block" if isinstance(item, Group) else "layer",
            title=item.block if isinstance(item, Group) else _title(item.layer),
            copies=len(item.copies) or 1,
            parameters=sum(map(_count, layers)),
            rewrites=_rewrites_of(layers, rewrites),
            span=item.span,
        )
        if isinstance(item, Group) and item.id in open_ids:
            box.boxes = _boxes(item.items, open_ids, rewrites, box_of_layer)
        else:
            box_of_layer |= {id(layer): box for layer in layers}
            box.details = _details(item, box.parameters)
        result.append(box)
    return result


def _title(layer: LayerVertex) -> str:
    return f"{layer.operator.name} {layer.name}" if layer.name else layer.operator.name


def _details(item: Item, total: int) -> list[str]:
    if isinstance(item, Group):
        return [f"{total:,} parameters"] if total else []
    own = own_parameters(item.layer)
    lines = [f"{p.name} {p.packing or ''}{p.features[0]}" for p in own[:MAX_LISTED_PARAMETERS]]
    return lines + ([f"… {len(own)} in all"] if len(own) > MAX_LISTED_PARAMETERS else [])


def _count(layer: LayerVertex) -> int:
    return sum(count(p.features[0].sizes()) for p in own_parameters(layer))


def _rewrites_of(layers: Iterable[LayerVertex], rewrites: Sequence[str]) -> list[str]:
    """Return the rewrites of layers and of their gradients, whose labels are quoted."""
    labels = {layer.label for layer in layers}
    return [text for text in rewrites if _layer_of(text) in labels]


def _layer_of(rewrite: str) -> str:
    """Return the label of the layer that a rewrite was made for.

    >>> _layer_of('max "relu1": a reason'), _layer_of('min "gradient of relu1": another')
    ('relu1', 'relu1')
    """
    _, _, label = rewrite.partition(":")[0].partition('"')
    return label.removesuffix('"').removeprefix(GRADIENT_PREFIX)


def _edges(network: Network, items: list[Item], box_of_layer: dict[int, Box]) -> list[Edge]:
    """Return the edges between the boxes that are shown, each once."""
    leaves = representatives(items)
    edges: dict[Edge, None] = {}

    def box_of(vertex: Vertex) -> Box | None:
        shown_layer = leaves[id(vertex)][0].layer if id(vertex) in leaves else vertex
        return box_of_layer.get(id(shown_layer))

    def between_copies(source: Vertex, layer: LayerVertex) -> bool:
        if id(source) not in leaves:
            return False
        before, after = leaves[id(source)][1], leaves[id(layer)][1]
        return any(before[fold] != after[fold] for fold in before.keys() & after.keys())

    for layer in network.layers:
        target = box_of(layer)
        assert target is not None
        for source in layer.sources():
            box = box_of(source.vertex)
            if box and box is not target and not between_copies(source.vertex, layer):
                edges[Edge(source=box.id, target=target.id, label=_label(source))] = None
    for output in network.outputs:
        if box := box_of(output.source.vertex):
            edge = Edge(source=box.id, target=f"{output.name}:output", label=_label(output.source))
            edges[edge] = None
    return [*edges]


def _label(source: Source) -> str:
    """Return the shape of a value and, unless it is float32, its data type."""
    features, dtype = source.features, result_type(source)
    sizes = ", ".join(map(str, features.sizes()))
    sequence = f"{features.sequence}, " if features.sequence and sizes else features.sequence or ""
    return f"{'' if dtype == 'float32' else dtype}[{sequence}{sizes}]"
