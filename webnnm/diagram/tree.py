"""The layers of a network by the block calls they come from, with repetitions folded."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from webnnm.core.errors import Span
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex


@dataclass(eq=False)
class Leaf:
    """A layer; `copies` are the layers that it represents, itself first."""

    layer: LayerVertex
    copies: list[Leaf] = field(default_factory=list["Leaf"])

    @property
    def id(self) -> str:
        """The label of the layer, which is unique."""
        return self.layer.label

    @property
    def span(self) -> Span:
        """Its span of the text."""
        return self.layer.span

    def alike(self) -> Hashable:
        """Return what all copies have in common."""
        shapes = tuple(features.sizes() for features in self.layer.features)
        own = tuple(p.features[0].sizes() for p in own_parameters(self.layer))
        return self.span, self.layer.operator.name, shapes, own

    def leaves(self) -> Iterator[Leaf]:
        """Yield the layer itself."""
        yield self


@dataclass(eq=False)
class Group:
    """A call of a block with its contents; `copies` are the calls that it represents."""

    id: str
    block: str
    span: Span | None
    items: list[Item] = field(default_factory=list["Item"])
    copies: list[Group] = field(default_factory=list["Group"])

    def alike(self) -> Hashable:
        """Return what all copies have in common."""
        return self.span, self.block, tuple(item.alike() for item in self.items)

    def leaves(self) -> Iterator[Leaf]:
        """Yield the layers in it."""
        for item in self.items:
            yield from item.leaves()


Item = Leaf | Group


def own_parameters(layer: LayerVertex) -> list[ParameterVertex]:
    """Return the parameters of a layer, except those that belong to an earlier one."""
    vertices = (source.vertex for source in layer.sources())
    return [v for v in vertices if isinstance(v, ParameterVertex) and v.user is layer]


def layer_tree(network: Network) -> list[Item]:
    """Return the layers of a network in groups, by root block if there are several."""
    roots: dict[str, Group] = {}
    groups: dict[int, Group] = {}
    for layer in network.layers:
        name = layer.chain[0]
        group = roots.setdefault(name, Group(name, name, None))
        for block, call in zip(layer.chain[1:], layer.calls, strict=True):
            inner = groups.get(call.number)
            if inner is None:
                inner = groups[call.number] = Group(f"{block}#{call.number}", block, call.span)
                group.items.append(inner)
            group = inner
        group.items.append(Leaf(layer))
    items: list[Item] = [*roots.values()]
    if len(roots) == 1:
        items = [item for group in roots.values() for item in group.items]
    return fold(items)


def fold(items: Sequence[Item]) -> list[Item]:
    """Return items with each run of equal copies, written by one call, folded into one."""
    result: list[Item] = []
    for item in items:
        if isinstance(item, Group):
            item.items = fold(item.items)
        last = result[-1] if result else None
        match last, item:
            case (Leaf(), Leaf()) | (Group(), Group()) if last.alike() == item.alike():
                last.copies = [*(last.copies or [last]), item]  # pyrefly: ignore[bad-assignment]
            case _:
                result.append(item)
    return result


Copies = dict[int, int]
"""Which copy a layer lies in, by the id of what stands for all copies."""


def representatives(items: Iterable[Item]) -> dict[int, tuple[Leaf, Copies]]:
    """Return, by layer id, the layer that represents it and the copies that it lies in."""
    result: dict[int, tuple[Leaf, Copies]] = {}

    def visit(item: Item, shown: Item, copies: Copies) -> None:
        if isinstance(item, Leaf) and isinstance(shown, Leaf):
            result[id(item.layer)] = shown, copies
        elif isinstance(item, Group) and isinstance(shown, Group):
            for inner, other in zip(item.items, shown.items, strict=True):
                visit_copies(inner, other, copies)

    def visit_copies(item: Item, shown: Item, copies: Copies) -> None:
        for number, copy in enumerate(item.copies):
            visit(copy, shown, copies | {id(shown): number})
        if not item.copies:
            visit(item, shown, copies)

    for item in items:
        visit_copies(item, item, {})
    return result
