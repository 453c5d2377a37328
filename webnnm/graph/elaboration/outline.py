"""Collect the statements of a document into blocks, constants and declared parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from webnnm import ops
from webnnm.core.dtypes import is_float
from webnnm.core.errors import Edit, ModelError, Span
from webnnm.core.spelling import Neighbours
from webnnm.notation.syntax import (
    BlockStatement,
    Constant,
    Constants,
    Declaration,
    Document,
    GlobalConstant,
    Layer,
    Layers,
    Loss,
    LossParameter,
    ModelFile,
    Name,
    NamedShape,
    Parameters,
    Port,
)

START = Span(0, 0)


@dataclass
class Block:
    """A block with the contents of its statements."""

    name: str
    input: Port | None = None
    output: Port | None = None
    layers: Layers | None = None
    source: ModelFile | None = None
    loss: Loss | None = None
    loss_parameters: dict[str, LossParameter] = field(default_factory=dict[str, LossParameter])
    title: Name | None = None

    @property
    def is_root(self) -> bool:
        """Whether the block has an input or an output."""
        return self.input is not None or self.output is not None


@dataclass(frozen=True)
class Warning:
    """A finding about the text that is not an error (spec A.10, NNM001–007).

    `meant` is what was probably meant at its place, "" if that is not obvious.
    """

    code: str
    message: str
    span: Span = START
    line: int = 1
    column: int = 1
    meant: str = ""

    @property
    def fix(self) -> Edit | None:
        """The edit of the text that resolves it, or None."""
        return Edit(self.span.start, self.span.end, self.meant) if self.meant else None

    def __str__(self) -> str:
        return f"{self.code} line {self.line}, column {self.column}: {self.message}"


@dataclass
class Outline:
    """A document by block, in order of first mention."""

    document: Document
    blocks: dict[str, Block] = field(default_factory=dict[str, Block])
    constants: dict[str, Constant] = field(default_factory=dict[str, Constant])
    parameters: dict[str, Declaration] = field(default_factory=dict[str, Declaration])
    warnings: list[Warning] = field(default_factory=list[Warning])
    _warned: set[tuple[str, str, Span]] = field(default_factory=set[tuple[str, str, Span]])

    @property
    def roots(self) -> list[Block]:
        """The root blocks."""
        return [block for block in self.blocks.values() if block.is_root]

    @property
    def name(self) -> str:
        """The document's name: the first root block's, else the first found, else empty."""
        titles = [block.title for block in self.blocks.values() if block.title is not None]
        own = [block.title for block in self.roots if block.title is not None]
        return (own or titles)[0].text if titles else ""

    def error(self, code: str, message: str, span: Span, hint: str = "") -> ModelError:
        """Return an error at a span of this document."""
        return ModelError(code, message, hint=hint, source=self.document.source, span=span)

    def warn(self, code: str, message: str, span: Span = START, meant: str = "") -> None:
        """Record a warning, once."""
        if (code, message, span) not in self._warned:
            self._warned.add((code, message, span))
            position = span.position(self.document.source)
            self.warnings.append(Warning(code, message, span, *position, meant))

    def calls(self) -> Iterator[Layer]:
        """Yield every layer that calls a block."""
        for block in self.blocks.values():
            for layer in block.layers.layers if block.layers else ():
                if layer.operator in self.blocks:
                    yield layer


def collect_outline(document: Document) -> Outline:
    """Collect the statements of a document.

    Raises `ModelError` NNM201, NNM202, NNM203 (an output without layers), NNM206 (a name declared
    twice), NNM504, NNM603.
    """
    outline = Outline(document)
    for statement in document.statements:
        if isinstance(statement, GlobalConstant):
            _declare_constants(outline, [statement.constant])
        else:
            _add(
                outline,
                outline.blocks.setdefault(statement.block, Block(statement.block)),
                statement,
            )
    _check(outline)
    _warn(outline)
    return outline


def _add(outline: Outline, block: Block, statement: BlockStatement) -> None:
    match statement:
        case Name():
            block.title = statement
        case Port(direction="input"):
            block.input = statement
        case Port():
            block.output = statement
        case Layers():
            block.layers = statement
        case ModelFile():
            block.source = statement
        case Loss():
            block.loss = statement
        case LossParameter():
            block.loss_parameters[statement.parameter] = statement
        case Constants():
            _declare_constants(outline, statement.constants)
        case Parameters():
            _declare_parameters(outline, statement.parameters)
        case _:
            raise AssertionError(statement)


def _declare_constants(outline: Outline, constants: Iterable[Constant]) -> None:
    for constant in constants:
        _check_new(outline, constant.name, constant.span)
        outline.constants[constant.name] = constant


def _declare_parameters(outline: Outline, parameters: Iterable[Declaration]) -> None:
    for parameter in parameters:
        _check_new(outline, parameter.name, parameter.span)
        outline.parameters[parameter.name] = parameter
        frozen = next((o for o in parameter.options if o.name == "trainable"), None)
        trainable = frozen is None or str(frozen.value) != "false"
        if parameter.dtype is not None and not is_float(parameter.dtype) and trainable:
            raise outline.error(
                "NNM504",
                f'"{parameter.name}" is {parameter.dtype} and trainable',
                parameter.span,
                "integer parameters need trainable=false",
            )


def _check_new(outline: Outline, name: str, span: Span) -> None:
    if name in outline.constants or name in outline.parameters:
        raise outline.error("NNM206", f'"{name}" is already declared', span)


def _check(outline: Outline) -> None:
    if not any(block.input for block in outline.blocks.values()):
        raise outline.error(
            "NNM201", "no block has an input", START, "write model:input shape=[…];"
        )
    if not any(block.output for block in outline.blocks.values()):
        raise outline.error(
            "NNM202", "no block has an output", START, "write model:output shape=[…];"
        )
    for block in outline.blocks.values():
        if block.output is not None and block.layers is None:
            raise outline.error(
                "NNM203",
                f'block "{block.name}" has an output but no layers',
                block.output.property_span,
            )
        stray = block.loss or next(iter(block.loss_parameters.values()), None)
        if stray is not None and block.output is None:
            raise outline.error(
                "NNM603", f'block "{block.name}" has no output for a loss', stray.property_span
            )
    for declared in (*outline.constants.values(), *outline.parameters.values()):
        if declared.name in outline.blocks:
            raise outline.error("NNM206", f'"{declared.name}" is already a block', declared.span)


def _warn(outline: Outline) -> None:
    known_blocks = Neighbours(
        b.name for b in outline.blocks.values() if b.is_root or b.layers or b.source
    )
    for block in outline.blocks.values():
        title = block.title
        idle = not (block.is_root or block.layers or block.source)
        if title is not None and idle and (near := known_blocks.of(block.name)):
            message = f'block "{block.name}" has only a name; meant "{near[0]}"?'
            outline.warn("NNM006", message, title.span, near[0])
        for port in (block.input, block.output):
            shape = port.shape if port else None
            if shape is not None and not isinstance(shape, NamedShape) and len(shape.items) > 1:
                outline.warn(
                    "NNM005",
                    f'the {len(shape.items)} dimensions of "{block.name}" have no names',
                    shape.span,
                )


def operator_or_block(outline: Outline) -> list[str]:
    """Return the names of all operators and blocks."""
    return [*ops.operator_names(), *outline.blocks]
