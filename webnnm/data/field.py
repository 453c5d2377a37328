"""The description of one array of a dataset: shape, type, names, kind of content."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from webnnm.core.dtypes import DataType
from webnnm.core.shapes import Shape

Kind = Literal["continuous", "onehot", "classes", "multilabel", "distribution", "boxes"]
"""What the numbers mean: measurements, one-hot rows, class numbers, yes/no rows, probabilities, the
numbers of a `BoxGrid`."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Subset = Literal["training", "validation", "testing", "full"]

SUBSETS: tuple[Subset, ...] = get_args(Subset)


@dataclass(frozen=True, slots=True)
class Field:
    """The description of one input or output of a dataset (spec G.1).

    >>> Field((4,), "float32", features=("height", "width", "length", "weight")).kind
    'continuous'

    Attributes: `shape` of one row, `dtype`, `names` of the dimensions (or none), `sequence` (the
    name of the sequence dimension, False without one), `kind`, `features` (names along the last
    dimension, or none), `classes` (how many, 0 if there are none), `declared` (whether its kind was
    given, not detected).
    """

    shape: Shape
    dtype: DataType
    names: tuple[str, ...] = ()
    sequence: str | Literal[False] = False
    kind: Kind = "continuous"
    features: tuple[str, ...] = ()
    classes: int = 0
    declared: bool = field(default=False, repr=False, compare=False)

    def of_position(self) -> Field:
        """Return the field of one position of a sequence along the first axis.

        >>> steps = Field((8, 3), "float32", ("time", "axis"), sequence="time")
        >>> steps.of_position().shape, steps.of_position().names
        ((3,), ('axis',))
        """
        return replace(self, shape=self.shape[1:], names=self.names[1:], sequence=False)
