"""Find layers that depend on themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webnnm.graph.elaboration.vertices import LayerVertex


def first_cycle(layers: Sequence[LayerVertex]) -> list[LayerVertex]:
    """Return the first layer that depends on itself, and all layers of its cycles.

    They are in the order of `layers`; the list is empty if no layer depends on itself.
    """
    position = {id(layer): number for number, layer in enumerate(layers)}
    cycle: list[int] = []
    for group in _components(layers):
        first = group[0]
        alone = len(group) == 1 and all(s.vertex is not first for s in first.sources())
        if not alone:
            numbers = sorted(position[id(layer)] for layer in group)
            cycle = min(cycle or numbers, numbers)
    return [layers[number] for number in cycle]


def _components(layers: Sequence[LayerVertex]) -> Iterator[list[LayerVertex]]:
    """Yield the groups of layers that reach one another (Tarjan 1972), without recursion."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    open_: dict[int, LayerVertex] = {}  # visited but in no group yet, in order of visit
    for root in layers:
        walk: list[tuple[LayerVertex, Iterator[LayerVertex]]] = []
        if id(root) not in order:
            walk.append((root, iter(())))
        while walk:
            layer, sources = walk[-1]
            key = id(layer)
            if key not in order:
                order[key] = lowest[key] = len(order)
                open_[key] = layer
                sources = _operands(layer)
                walk[-1] = (layer, sources)
            for other in sources:
                if id(other) not in order:
                    walk.append((other, iter(())))
                    break
                if id(other) in open_:
                    lowest[key] = min(lowest[key], lowest[id(other)])
            else:
                walk.pop()
                if walk:
                    above = id(walk[-1][0])
                    lowest[above] = min(lowest[above], lowest[key])
                if lowest[key] == order[key]:
                    group: list[LayerVertex] = []
                    while not group or group[-1] is not layer:
                        group.append(open_.popitem()[1])
                    yield group


def _operands(layer: LayerVertex) -> Iterator[LayerVertex]:
    for source in layer.sources():
        if isinstance(source.vertex, LayerVertex):
            yield source.vertex
