"""How the notation uses an operator: operands, options, shape rule, and build rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, Protocol

from webnnm.core.dtypes import DataType
from webnnm.core.naming import camel_case
from webnnm.core.shapes import Shape
from webnnm.notation.syntax import Value
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.tensors import Builder, TensorType

ParameterRole = Literal[
    "weight",
    "projection",
    "additive",
    "ones",
    "zeros",
    "slope",
    "table",
    "recurrent",
    "gates",
    "other",
]
"""What a parameter does in its first layer; determines its initialiser (spec B.6)."""


@dataclass(frozen=True, kw_only=True)
class TensorSlot:
    """An operand that is a tensor, written as an operand or, with `option`, as `name=…`.

    `parameter` is the role of a new parameter that is allowed here, None if the name must exist.
    `promotes=False` keeps the operand out of the layer's type (conditions, indices);
    `trainable=False` makes a new parameter a state, which layers update and training does not.
    `word` names a new parameter that has no written name; by default that of the slot.
    `aside` operands do not count towards the depth of the layers that they come from (spec B.7).
    """

    name: str
    parameter: ParameterRole | None = None
    optional: bool = False
    option: bool = False
    promotes: bool = True
    trainable: bool = True
    word: str = ""
    aside: bool = False


@dataclass(frozen=True, kw_only=True)
class ValueOption:
    """An option with a plain value; `read` turns the syntax into the value or raises ValueError.

    With `operand=True` the value may also be written as an operand, in the order of declaration.
    `words` are the words that the value may be, if the reader takes other values too.
    """

    read: Callable[[Value], Any]
    default: Any = None
    operand: bool = False
    aliases: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class ShapeView(Protocol):
    """What a shape rule sees of a layer; `parameters` are the slots that hold parameters."""

    operands: Sequence[Features]
    results: Sequence[Features]
    options: Mapping[str, Any]
    tensors: Mapping[str, Features]
    parameters: frozenset[str]

    @property
    def input(self) -> Features:
        """The first operand."""
        ...

    @property
    def result(self) -> Features:
        """The first result."""
        ...

    def axes(self, option: str) -> list[Role] | None:
        """Resolve an option of axes against the input: feature indices, "batch", "sequence"."""
        ...

    def infer_result_types(
        self, operands: Sequence[TensorType | None], options: Mapping[str, Any]
    ) -> Sequence[TensorType]:
        """Return the types that the tensor operator gives for operands of these types."""
        ...

    def fail(self, code: str, message: str, *, at: str | None = None, hint: str = "") -> NoReturn:
        """Raise a `ModelError` at the layer word, or at an option."""
        ...


class BuildView(Protocol):
    """What a build rule sees of a layer.

    `training` is true in a training step; `rows` is then a 0/1 mask `[batch]`, float32, of the
    rows that count, None if all do.
    """

    operator: Any
    operands: Sequence[LayoutTensor]
    options: Mapping[str, Any]
    tensors: Mapping[str, LayoutTensor]
    features: Sequence[Features]
    results: Sequence[Features]
    dtype: DataType
    parameters: frozenset[str]
    training: bool
    rows: Any

    def axes(self, option: str) -> list[Role]:
        """Resolve an option of axes against the input."""
        ...

    def update(self, slot: str, value: Any) -> None:
        """Give the state in a slot the value of the next training step."""
        ...

    def uniform(self, shape: Shape) -> Any:
        """Return float32 numbers, uniform in [0, 1), drawn anew in every training step."""
        ...

    def tensor_names(self, option: str) -> Sequence[str | None]:
        """Return the dimension names of a tensor-valued option."""
        ...

    def fail(self, code: str, message: str, *, at: str | None = None, hint: str = "") -> NoReturn:
        """Raise a `ModelError` at the layer word, or at an option."""
        ...


ShapeRule = Callable[[ShapeView], None]
BuildRule = Callable[[Builder, BuildView], "LayoutTensor | tuple[LayoutTensor, ...]"]
TypeRule = Callable[
    [DataType, Mapping[str, Any], Mapping[str, DataType]], DataType | Sequence[DataType]
]


def _keep_type(
    compute: DataType, _options: Mapping[str, Any], _types: Mapping[str, DataType]
) -> DataType:
    return compute


def _nothing_implicit(
    _options: Mapping[str, Any], _words: Mapping[str, str]
) -> Sequence[TensorSlot]:
    return ()


def _one_result(_options: Mapping[str, Any]) -> int:
    return 1


@dataclass(frozen=True, kw_only=True)
class LayerRules:
    """How the notation uses an operator.

    `slots` are the operands after the input, `options` the values; `shape` is a rule in both
    directions on feature shapes, called until nothing changes; `build` writes the layer into a
    tensor graph; `dtype(compute type, options, types)` is the type of the results, or a list of
    them, where `types` are those of the "input" and of the tensor slots by name.

    `results(options)` is the number of results, which are called `.0`, `.1`, … and by
    `result_words`. `implicit(options, words)` are parameters that the layer owns without a word
    for them; `words` are the names of the parameters in the slots, "" where something else was
    written. `fans(shape, options)` are fan-in and fan-out of a weight that is not used in a matrix
    product.
    `folds`: takes lists of two or more, folded from the left. `many`: takes any number of names.
    `condition`: the first operand is a condition, which does not affect the layer's type, and all
    operands may be written. `casts=False`: nothing is cast to the layer's type. `own_type`: the
    input keeps its own type, and does not affect the layer's. `starts`: the layer ignores the input
    and may come first.
    """

    shape: ShapeRule
    build: BuildRule
    slots: tuple[TensorSlot, ...] = ()
    options: Mapping[str, ValueOption] = field(default_factory=dict[str, ValueOption])
    dtype: TypeRule = _keep_type
    results: Callable[[Mapping[str, Any]], int] = _one_result
    result_words: Mapping[str, int] = field(default_factory=dict[str, int])
    implicit: Callable[[Mapping[str, Any], Mapping[str, str]], Sequence[TensorSlot]] = (
        _nothing_implicit
    )
    fans: Callable[[Shape, Mapping[str, Any]], tuple[int, int]] | None = None
    folds: bool = False
    many: bool = False
    condition: bool = False
    casts: bool = True
    own_type: bool = False
    starts: bool = False

    def option_names(self) -> list[str]:
        """Return every name under which an option of this operator may be written."""
        names = [slot.name for slot in self.slots if slot.option]
        for name, option in self.options.items():
            names += [camel_case(name), *option.aliases]
        return names
