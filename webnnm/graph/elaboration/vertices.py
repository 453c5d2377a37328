"""The layer graph: a document after macros and references are resolved, before tensors.

Layers refer to each other by their numbers in a list: chains of any length are freed without
recursion, which in Pyodide would overflow the stack of the browser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import Span
from webnnm.graph.elaboration.outline import Block, Outline, Warning
from webnnm.notation.syntax import Call, Option, Reference, ShapeValue
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import LayerRules, ParameterRole
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.traits import Trait

if TYPE_CHECKING:
    from webnnm.graph.packing.packing import Packing


@dataclass(eq=False, kw_only=True)
class Vertex:
    """The base of all vertices: a span of the text, and results with shapes and a type."""

    span: Span
    features: list[Features]
    dtype: DataType = "float32"


class Source:
    """One result of a vertex."""

    __slots__ = ("_number", "_vertices", "result")

    def __init__(self, vertex: Vertex, result: int = 0) -> None:
        is_layer = isinstance(vertex, LayerVertex)
        self._vertices: Sequence[Vertex] = vertex.all_layers if is_layer else (vertex,)
        self._number = vertex.number if is_layer else 0
        self.result = result

    @property
    def vertex(self) -> Vertex:
        """The vertex."""
        return self._vertices[self._number]

    @property
    def features(self) -> Features:
        """What is known about its shape."""
        return self.vertex.features[self.result]


@dataclass(eq=False, kw_only=True)
class InputVertex(Vertex):
    """The input of a root block; `length` is the fixed length of its sequence, if it has one."""

    block: str
    length: int | None = None


@dataclass(eq=False, kw_only=True)
class ConstantVertex(Vertex):
    """A named constant; `data` is a flat list, or one number that fills it."""

    name: str
    data: float | list[float]


@dataclass(eq=False, kw_only=True)
class LiteralVertex(Vertex):
    """A number or list among the operands; takes the type of its layer."""

    data: Any


@dataclass(eq=False, kw_only=True)
class ParameterVertex(Vertex):
    """A declared or new parameter.

    `init` is the written initialiser or None; `user` is the layer that uses it first, in `role`;
    `value` is its initial value from a file, in place of an initialiser; `packing` is how it is
    stored, None if it is not packed.
    """

    name: str
    role: ParameterRole
    trainable: bool = True
    init: Call | Reference | None = None
    lrm: float | None = None
    decay: bool | None = None
    user: LayerVertex | None = None
    value: HostArray | None = None
    packing: Packing | None = None


class BlockCall(NamedTuple):
    """A call of a block: its span of the text, and its number among all calls of the document.

    The copies that `repeat=` makes have numbers of their own.
    """

    number: int
    span: Span


@dataclass(eq=False, kw_only=True)
class LayerVertex(Vertex):
    """A layer: an operator with its operands resolved and its options read.

    `operands` begin with the flow; `tensors` are tensor-valued options; `places` the spans of
    written options and operands; `chain` the blocks that led here, the root first, and `calls` the
    calls of those after it; `parameters` the slots that hold parameters. `all_layers` are those of
    the document, which this one joins as `number`.
    """

    operator: AnyOperator
    rules: LayerRules
    all_layers: list[LayerVertex] = field(repr=False)
    number: int = field(init=False)
    name: str = ""
    label: str = ""
    operands: list[Source] = field(default_factory=list[Source])
    tensors: dict[str, Source] = field(default_factory=dict[str, Source])
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    places: dict[str, Span] = field(default_factory=dict[str, Span])
    shape: ShapeValue | None = None
    written_type: DataType | None = None
    result_types: list[DataType] = field(default_factory=list[DataType])
    chain: tuple[str, ...] = ()
    calls: tuple[BlockCall, ...] = ()
    parameters: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.number = len(self.all_layers)
        self.all_layers.append(self)

    def sources(self) -> Iterator[Source]:
        """Yield every source that the layer depends on."""
        yield from self.operands
        yield from self.tensors.values()

    def has(self, *traits: Trait) -> bool:
        """Return whether the operator has one of these traits."""
        return not self.operator.traits.isdisjoint(traits)


@dataclass(eq=False)
class Output:
    """The output of a root block: where it comes from and what was declared.

    `order` lists the features of the source in the declared order; `dtype` is the output's type.
    """

    block: Block
    source: Source
    names: tuple[str | None, ...] = ()
    order: tuple[int, ...] = ()
    dtype: DataType = "float32"

    @property
    def name(self) -> str:
        """The name of the block."""
        return self.block.name


@dataclass(eq=False)
class Network:
    """An elaborated document, independent of batch size and sequence lengths.

    Everything is listed in elaboration order; what no output depends on is culled.
    """

    outline: Outline
    inputs: list[InputVertex]
    outputs: list[Output]
    layers: list[LayerVertex]
    parameters: list[ParameterVertex]
    order: list[LayerVertex]

    @property
    def name(self) -> str:
        """The document's name."""
        return self.outline.name

    @property
    def warnings(self) -> list[Warning]:
        """The warnings of the notation, in order."""
        return self.outline.warnings


def result_type(source: Source) -> DataType:
    """Return the data type of a source, once types have been inferred."""
    vertex = source.vertex
    if isinstance(vertex, LayerVertex) and vertex.result_types:
        return vertex.result_types[source.result]
    return vertex.dtype


def layers_before(roots: Iterable[Vertex]) -> list[LayerVertex]:
    """Return the layers that the roots depend on, operands before users."""
    order: list[LayerVertex] = []
    done: set[int] = set()
    stack: list[tuple[Vertex, bool]] = [(vertex, False) for vertex in roots][::-1]
    while stack:
        vertex, expanded = stack.pop()
        if id(vertex) in done or not isinstance(vertex, LayerVertex):
            continue
        if expanded:
            done.add(id(vertex))
            order.append(vertex)
            continue
        stack.append((vertex, True))
        stack.extend((source.vertex, False) for source in list(vertex.sources())[::-1])
    return order


def options_by_name(options: Iterable[Option]) -> Mapping[str, Option]:
    """Return options by name."""
    return {option.name: option for option in options}
