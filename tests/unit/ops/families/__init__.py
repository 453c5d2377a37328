"""Families of operators: each sibling module draws random cases of its operators.

A module has one function, `cases() -> SearchStrategy[Drawn]`. It is discovered by itself; what is
drawn runs on the reference (tests/unit/ops/test_families.py) and on WebNN
(tests/browser/test_families.py).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tests.unit.ops.cases import Case
from webnnm import ops
from webnnm.core.dtypes import DataType
from webnnm.core.shapes import Shape
from webnnm.ops.declare.operator import Sample


@dataclass(frozen=True)
class Drawn:
    """One random case: the operator's name in the registry, and the fields of a `Sample`."""

    name: str
    shapes: tuple[Shape | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dtypes: tuple[DataType, ...] = ()
    values: tuple[Any, ...] = ()
    low: float = -2.0
    high: float = 2.0
    kinks: tuple[float, ...] = ()

    @property
    def case(self) -> Case:
        """The same as a case of the operator laws, so that it is drawn and built like these."""
        sample = Sample(
            shapes=tuple(shape and tuple(shape) for shape in self.shapes),
            options=self.options,
            low=self.low,
            high=self.high,
            kinks=self.kinks,
            values=self.values,
            dtypes=self.dtypes,
        )
        return Case(ops.registry()[self.name], sample, 0)


Family = Callable[[], "SearchStrategy[Drawn]"]


@cache
def families() -> Mapping[str, Family]:
    """Return the function `cases` of every sibling module, by the module's name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: importlib.import_module(f"{__name__}.{name}").cases for name in sorted(names)}


def some(family: Family, count: int) -> list[Drawn]:
    """Return cases of a family: always the same ones, no two alike."""
    found: dict[str, Drawn] = {}

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(family())
    def collect(drawn: Drawn) -> None:
        found[repr(drawn)] = drawn

    collect()
    return list(found.values())
