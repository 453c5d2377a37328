"""The record in which an operator is declared, and what its rules see of a graph.

Everything the system knows about an operator stands in one `Operator`: fields without a default
make a forgotten rule an error at import. Rules take values positionally and options by keyword;
options are snake_case in Python and WebNN's camelCase in plans and in the notation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from webnnm.core.dtypes import ANY, DataType
from webnnm.core.naming import snake_case
from webnnm.core.shapes import Shape
from webnnm.ops.declare.layer import LayerRules
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType
from webnnm.ops.declare.traits import Trait


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One operand of an operator: its name in WebNN and the types and ranks it takes.

    `keyword` operands travel in WebNN's options dictionary; a `variadic` operand is a list and
    stands alone. `like` names the operand (by position) whose type this one shall have.
    """

    name: str
    dtypes: frozenset[DataType] = ANY
    ranks: tuple[int, int | None] = (0, None)
    like: int | None = None
    optional: bool = False
    keyword: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class Option:
    """One option of an operator: default, how values are checked, how it is emitted.

    `check(value, *operand types)` returns the canonical value or raises `OperatorError`;
    `positional` options are arguments of the WebNN method rather than members of its dictionary.
    """

    default: Any
    check: Callable[..., Any]
    positional: bool = False


class Required:
    """The default of an option that has none."""


REQUIRED = Required()

UNBOUNDED = (-math.inf, math.inf)

Infer = Callable[..., TensorType | tuple[TensorType, ...]]
Gradient = Callable[..., Sequence[Any]]
Decompose = Callable[..., Any]
Reference = Callable[..., Any]
StableHLO = Callable[..., Any]
Earlier = Callable[..., tuple[Any, ...] | None]
Batch = Literal[
    "axes",
    "blocks",
    "convolution",
    "elementwise",
    "expand",
    "gather",
    "gemm",
    "matmul",
    "matrices",
    "normalization",
    "pool",
    "recurrence",
    "resample",
    "scatterND",
]
"""The rules of webnnm/ops/declare/batching.py."""


@dataclass(frozen=True)
class Sample:
    """A small case from which the generic tests of an operator are made.

    `shapes` are the operand shapes (None: absent), `options` the options. Values are drawn from
    `low … high` and kept away from `kinks`; `values` fixes operands instead (None: drawn).
    """

    shapes: tuple[Shape | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    low: float = -2.0
    high: float = 2.0
    kinks: tuple[float, ...] = ()
    values: tuple[Any, ...] = ()
    dtypes: tuple[DataType, ...] = ()


def sample(*shapes: Shape | None, **keywords: Any) -> Sample:
    """Return a sample; keywords that are not fields of `Sample` are options of the operator."""
    fields = {key: keywords.pop(key) for key in tuple(keywords) if key in _SAMPLE_FIELDS}
    return Sample(shapes, keywords, **fields)


_SAMPLE_FIELDS = ("low", "high", "kinks", "values", "dtypes")


class Signature:
    """What calls of an operator need of its declaration again and again."""

    operands: tuple[Slot, ...]
    options: Mapping[str, Option]
    batch: Batch | None

    @cached_property
    def operand_names(self) -> tuple[str, ...]:
        """The operands' names in Python."""
        return tuple(snake_case(slot.name) for slot in self.operands)

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The names of the operands that WebNN has among the options."""
        pairs = zip(self.operand_names, self.operands, strict=True)
        return frozenset(name for name, slot in pairs if slot.keyword)

    @cached_property
    def ahead(self) -> int:
        """How many operands come before the arguments."""
        return len(self.operands) - len(self.keywords)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The names of the options that WebNN has as arguments."""
        return tuple(name for name, option in self.options.items() if option.positional)

    @cached_property
    def required(self) -> int:
        """How many operands cannot be left out."""
        return sum(not slot.optional for slot in self.operands)

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """Of each operand, the position of the one whose type it shall have."""
        return tuple(k if slot.like is None else slot.like for k, slot in enumerate(self.operands))

    @cached_property
    def variadic(self) -> bool:
        """Whether the operands are one list."""
        return bool(self.operands) and self.operands[0].variadic

    @property
    def elementwise(self) -> bool:
        """Whether operands broadcast, and each element follows from theirs at its position."""
        return self.batch == "elementwise"


@dataclass(frozen=True, kw_only=True, eq=False)
class Operator(Signature):
    """An operator with rules of its own.

    `infer(*types, **options)` gives the result type, or a tuple of them.
    `gradient(b, g, y, *operands, **options)` gives one gradient per operand, None where the
    gradient is cut; gradients of broadcast operands are summed by the caller.
    `reference(np, *arrays, **options)` computes the result with a NumPy-like namespace.
    `stablehlo(h, *values, **options)` writes the operator in StableHLO, with the methods of `h`
    (webnnm/formats/stablehlo/dialect.py); `lower_by_parts` does it by way of other operators, None
    says that there is no mapping (NNM901).
    `layer` says how the notation uses the operator, None if it does not.
    `hazards` are read by the precision rules: "overflow" leaves the range of float16 easily,
    "wide" operators compute in float32 when their operands are float16 (spec B.5, rule 7).
    The decomposition of an "approximate" operator has the digits of float32 alone.
    `decompose(b, *operands, **options)` writes the operator with others, for backends without it.
    `earlier(b, operator, operands, options)` turns calls as earlier drafts had them into today's:
    it returns operands and options, and what shall be done to the result, if anything; None where
    the call is one of today's.
    `batch` names the rule by which it is applied to a batch of examples at once; without one it is
    applied to one example after the other.
    `traits` say what rules and initialisers ask; `bounds` are the least and the largest result
    that there can be; below `silent_below` the result and its gradient are 0, or nearly so.
    `summary` is the one-line description for listings.
    """

    name: str
    summary: str
    operands: tuple[Slot, ...]  # pyrefly: ignore[bad-override]
    options: Mapping[str, Option]  # pyrefly: ignore[bad-override]
    infer: Infer
    gradient: Gradient
    reference: Reference
    stablehlo: StableHLO | None
    layer: LayerRules | None
    samples: tuple[Sample, ...]
    aliases: tuple[str, ...] = ()
    hazards: frozenset[str] = frozenset()
    decompose: Decompose | None = None
    earlier: Earlier | None = None
    batch: Batch | None = None  # pyrefly: ignore[bad-override]
    traits: frozenset[Trait] = frozenset()
    bounds: tuple[float, float] = UNBOUNDED
    silent_below: float | None = None

    @property
    def native(self) -> str:
        """The method of WebNN that computes this."""
        return self.name


def lower_by_parts(h: Any, *values: Any, **options: Any) -> Any:
    """The lowering to StableHLO by way of `decompose`: graphs are decomposed before."""
    raise NotImplementedError(values, options)


@dataclass(frozen=True)
class Looped:
    """The lowering to StableHLO as a loop, where that is asked for; else it is decomposed."""

    lower: StableHLO

    def __call__(self, h: Any, *values: Any, **options: Any) -> Any:
        """Write the operator."""
        return self.lower(h, *values, **options)


def covers_all(**_options: Any) -> bool:
    """The native method of a composite has every option."""
    return True


@dataclass(frozen=True, kw_only=True, eq=False)
class Composite(Signature):
    """An operator written with others: `decompose(b, *operands, **options)` builds its result.

    Types, gradient and result follow from the decomposition; `infer`, `gradient`, `reference` and
    `stablehlo` replace what follows where it would be slow, imprecise or wrong at a kink.

    `native` is the method of WebNN that computes the same: the composite stays one node then, so
    that backends can use the method, wherever `covers(**options)` says that it has these options.
    Without one the composite is inlined. A `straight_through` composite has an integer result that
    carries a gradient all the same. Without a `batch` rule its decomposition is applied to batches.
    The other fields are those of `Operator`.
    """

    name: str
    summary: str
    operands: tuple[Slot, ...]  # pyrefly: ignore[bad-override]
    options: Mapping[str, Option]  # pyrefly: ignore[bad-override]
    decompose: Decompose
    layer: LayerRules | None
    samples: tuple[Sample, ...]
    aliases: tuple[str, ...] = ()
    hazards: frozenset[str] = frozenset()
    native: str = ""
    covers: Callable[..., bool] = covers_all
    infer: Infer | None = None
    gradient: Gradient | None = None
    reference: Reference | None = None
    stablehlo: StableHLO | None = lower_by_parts
    earlier: Earlier | None = None
    straight_through: bool = False
    batch: Batch | None = None  # pyrefly: ignore[bad-override]
    traits: frozenset[Trait] = frozenset()
    bounds: tuple[float, float] = UNBOUNDED
    silent_below: float | None = None


AnyOperator = Operator | Composite


def no_gradient(_builder: Builder, _g: Tensor, _y: Tensor, *operands: Any, **_: Any) -> Any:
    """The gradient rule of operators through which no gradient flows (spec C.10)."""
    return (None,) * len(operands)
