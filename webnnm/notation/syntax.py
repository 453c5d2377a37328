"""The syntax tree of a document (spec part A), every node with the span it was read from.

Spans and comments do not take part in comparisons: two trees are equal if they say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webnnm.core.dtypes import DataType
from webnnm.core.errors import Span

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """The base of every node of the tree."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# Values: operands, what follows `=`, and items of lists.


@dataclass(frozen=True, slots=True)
class Number(Syntax):
    """`3`, `-.5`, `0x10`, `Infinity`: an int where it was written as one."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Percent(Syntax):
    """`50%` has the value 50."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Text(Syntax):
    """A string or hyphenated word; a string that reads as a bare word is a `Reference`."""

    value: str


@dataclass(frozen=True, slots=True)
class Reference(Syntax):
    """`x`, `call.x`, `x.0`, `block:input`: dotted parts, and the port after the colon."""

    parts: tuple[str, ...]
    port: str | None = None

    @property
    def word(self) -> str | None:
        """The name if it is one bare word, else None."""
        return self.parts[0] if len(self.parts) == 1 and self.port is None else None

    def __str__(self) -> str:
        """Return the reference as it is written."""
        return ".".join(self.parts) + (f":{self.port}" if self.port else "")


@dataclass(frozen=True, slots=True)
class Call(Syntax):
    """`normal(0.02)`, `half.dimension('sequence')`: a function with arguments, not a layer."""

    function: Reference
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Items(Syntax):
    """`[1, [2, x]]`."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Dimension(Syntax):
    """`height:28` in a named shape; the size is None for a bare name."""

    name: str
    size: Value | None


@dataclass(frozen=True, slots=True)
class NamedShape(Syntax):
    """`{channels:3, height, width:50%}`."""

    dimensions: tuple[Dimension, ...]


Value = Number | Percent | Text | Reference | Call | Items | NamedShape
ShapeValue = Items | NamedShape


# Statements and what they hold.


@dataclass(frozen=True, slots=True)
class Option(Syntax):
    """`axis=width`; the span is the name's, the value has its own."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Layer(Syntax):
    """`matmul(w, bTranspose=true)`; the span is the operator word's."""

    operator: str
    operands: tuple[Value, ...] = ()
    options: tuple[Option, ...] = ()

    def option(self, name: str) -> Option | None:
        """Return the option of that name, or None."""
        return next((option for option in self.options if option.name == name), None)


@dataclass(frozen=True, slots=True)
class Declaration(Syntax):
    """`w float32 shape=[4, 3] init=he`: a declared parameter; the span is the name's."""

    name: str
    dtype: DataType | None
    shape: ShapeValue
    options: tuple[Option, ...] = ()
    dtype_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant(Syntax):
    """`foo int32 {a:2, b:3} [0, 1, 2, 3, 4, 5]`; the span is the name's."""

    name: str
    dtype: DataType | None
    shape: ShapeValue
    data: Number | Items
    dtype_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Syntax):
    """The base of statements: the comments before it, as written, without surrounding blanks."""

    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStatement(Statement):
    """A statement `block:property …`; the span is the block word's."""

    block: str
    property_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(BlockStatement):
    """`b:name free text`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Port(BlockStatement):
    """`b:input …` or `b:output …` (`direction`)."""

    direction: str
    dtype: DataType | None
    shape: ShapeValue
    options: tuple[Option, ...] = ()
    dtype_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers(BlockStatement):
    """`b:layers l1, l2`."""

    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile(BlockStatement):
    """`b:source "net.onnx" at="features"`: the layers of a block are a graph in a file."""

    file: str
    options: tuple[Option, ...] = ()
    file_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(BlockStatement):
    """`b:loss MSE`."""

    loss: str
    loss_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossParameter(BlockStatement):
    """`b:delta 2.1`, `b:gamma 2`, `b:alpha [0.2, 0.8]` (`parameter`)."""

    parameter: str
    value: Number | Items


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants(BlockStatement):
    """`b:constants …, …`."""

    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters(BlockStatement):
    """`b:param …, …`."""

    parameters: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalConstant(Statement):
    """A constant without a block."""

    constant: Constant


AnyStatement = (
    Name
    | Port
    | Layers
    | ModelFile
    | Loss
    | LossParameter
    | Constants
    | Parameters
    | GlobalConstant
)


@dataclass(frozen=True, slots=True)
class Version(Syntax):
    """`webnnm 1.0;` as (major, minor); the minor is None if it was not written."""

    major: int
    minor: int | None = None
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole document; `source` is the text that spans refer to.

    `files` are the files that its statements name, opened: whoever reads a text puts them there.
    """

    version: Version | None
    statements: tuple[AnyStatement, ...]
    trailing_comments: tuple[str, ...] = field(default=(), compare=False)
    source: str = field(default="", compare=False, repr=False)
    files: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    def blocks(self) -> Iterator[str]:
        """Yield the block of every statement that has one, in source order, with repeats."""
        for statement in self.statements:
            if isinstance(statement, BlockStatement):
                yield statement.block
