"""Vertices of what is declared: inputs, constants and parameters of an outline."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from webnnm.core.shapes import MAX_DIMENSION
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.vertices import (
    ConstantVertex,
    InputVertex,
    ParameterVertex,
    options_by_name,
)
from webnnm.notation.syntax import (
    Call,
    Constant,
    Declaration,
    Dimension,
    Items,
    NamedShape,
    Number,
    Option,
    Reference,
    ShapeValue,
    Value,
)
from webnnm.ops.declare.features import Changes, Features
from webnnm.ops.declare.values import BOOLEANS


class Declared:
    """The inputs, constants and parameters that a document declares.

    Inputs without a written type are float32, or float16 if they are in `half`.
    """

    def __init__(self, outline: Outline, half: Collection[str] = ()) -> None:
        self.outline = outline
        self._half = half
        self.changes = Changes()
        self.inputs = {
            block.name: self._input(block.name) for block in outline.roots if block.input
        }
        self.constants = {name: self._constant(c) for name, c in outline.constants.items()}
        self.scalars: dict[str | None, float] = {
            name: vertex.data
            for name, vertex in self.constants.items()
            if isinstance(vertex.data, (int, float)) and not vertex.features[0].dims
        }

    def _input(self, name: str) -> InputVertex:
        port = self.outline.blocks[name].input
        assert port is not None
        sizes, names = shape_of(self.outline, port.shape)
        option = sequence_option(self.outline, port.options)
        sequence, length = (None, None) if option is None else self._sequence(option.value)
        features = Features(
            self.changes,
            sizes,
            names if len(sizes) != 1 else [names[0] or "features"],
            sequence=sequence,
        )
        return InputVertex(
            span=port.shape.span,
            features=[features],
            dtype=port.dtype or ("float16" if name in self._half else "float32"),
            block=name,
            length=length,
        )

    def _sequence(self, value: Value) -> tuple[str | None, int | None]:
        """Read `true`, `false`, a name, or `{name:length}`."""
        match value:
            case NamedShape(dimensions=(Dimension(name=name, size=Number(value=int() as length)),)):
                return name, length
            case Reference(word="true"):
                return "sequence", None
            case Reference(word="false"):
                return None, None
            case Reference(word=str() as word) if word.lower() not in BOOLEANS:
                return word, None
            case _:
                message = "sequence= takes true, false, a name or {name:length}"
                raise self.outline.error("NNM303", message, value.span)

    def _constant(self, constant: Constant) -> ConstantVertex:
        sizes, names = shape_of(self.outline, constant.shape)
        return ConstantVertex(
            span=constant.span,
            features=[Features(self.changes, sizes, names)],
            dtype=constant.dtype or "float32",
            name=constant.name,
            data=_flat(constant.data),
        )

    def is_copied(self, name: str) -> bool:
        """Return whether every expansion has its own copy of a declared parameter."""
        option = options_by_name(self.outline.parameters[name].options).get("shared")
        return option is not None and str(option.value) == "false"

    def parameter(self, word: str, name: str, shape: ShapeValue) -> ParameterVertex:
        """Return a vertex for a declared parameter, under its own name or that of a copy."""
        declaration = self.outline.parameters[word]
        options = options_by_name(declaration.options)
        for option in declaration.options:
            if option.name not in ("init", "trainable", "lrm", "decay", "shared"):
                message = f'parameters have no option "{option.name}"'
                raise self.outline.error("NNM301", message, option.span)
        sizes, names = shape_of(self.outline, shape)
        init, lrm = options.get("init"), options.get("lrm")
        return ParameterVertex(
            span=declaration.span,
            features=[Features(self.changes, sizes, names)],
            dtype=declaration.dtype or "float32",
            name=name,
            role="other",
            trainable=self._flag(declaration, "trainable") is not False,
            init=init.value
            if init is not None and isinstance(init.value, (Call, Reference))
            else None,
            lrm=self._lrm(lrm.value) if lrm is not None else None,
            decay=self._flag(declaration, "decay"),
        )

    def _flag(self, declaration: Declaration, name: str) -> bool | None:
        option = options_by_name(declaration.options).get(name)
        if option is None or (name == "decay" and str(option.value) == "auto"):
            return None
        if not isinstance(option.value, Reference) or option.value.word not in ("true", "false"):
            raise self.outline.error("NNM303", f"{name}= takes true or false", option.span)
        return option.value.word == "true"

    def _lrm(self, value: Value) -> float:
        if not isinstance(value, Number) or value.value < 0:
            raise self.outline.error("NNM303", "lrm= takes a number from 0", value.span)
        return value.value


def sequence_option(outline: Outline, options: Iterable[Option]) -> Option | None:
    """Return the option `sequence` of an input or output. Raises NNM301 for any other."""
    for option in options:
        if option.name != "sequence":
            from webnnm.graph.hints.foreign_words import port_hint

            message = f'inputs and outputs have no option "{option.name}"'
            raise outline.error("NNM301", message, option.span, port_hint(option.name))
    return options_by_name(options).get("sequence")


def shape_of(outline: Outline, shape: ShapeValue) -> tuple[list[int], list[str | None]]:
    """Return the sizes and names of a declared shape. Raises NNM109 for invalid sizes."""
    if isinstance(shape, NamedShape):
        pairs: list[tuple[Any, str | None]] = [(d.size, d.name) for d in shape.dimensions]
    else:
        pairs = [(item, None) for item in shape.items]
    sizes: list[int] = []
    for size, _ in pairs:
        value = size.value if isinstance(size, Number) else None
        if not isinstance(value, int) or not 1 <= value <= MAX_DIMENSION:
            from webnnm.graph.hints.remedies import bad_size

            raise bad_size(outline, size, shape.span)
        sizes.append(value)
    return sizes, [name for _, name in pairs]


def _flat(data: Value) -> float | list[float]:
    """Return the numbers of a constant: one number, or a flat list."""
    if isinstance(data, Number):
        return data.value
    flat: list[float] = []
    stack: list[Value] = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, Items):
            stack.extend(reversed(value.items))
        elif isinstance(value, Number):
            flat.append(value.value)
    return flat
