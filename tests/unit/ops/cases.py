"""The cases that the registry's samples stand for: operands drawn, graphs built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from webnnm import ops
from webnnm.core.dtypes import FORMATS, DataType, is_data_type, is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.operator import AnyOperator, Sample

np = pytest.importorskip("numpy")

NEAR = 0.05
"""Drawn values come no closer than this to a kink."""


@dataclass(frozen=True)
class Case:
    """One sample of one operator."""

    operator: AnyOperator
    sample: Sample
    number: int

    def __str__(self) -> str:
        return f"{self.operator.name}-{self.number}"

    def dtype(self, index: int, default: DataType = "float32") -> DataType:
        """Return the type of an operand: the sample's, or the one that is asked for."""
        return self.sample.dtypes[index] if self.sample.dtypes else default

    def fixed(self, index: int) -> Any:
        """Return the value that the sample gives an operand, or None."""
        return self.sample.values[index] if index < len(self.sample.values) else None

    def allows(self, dtype: DataType) -> bool:
        """Return whether every operand may have this type."""
        slots = self.operator.operands
        return not self.sample.dtypes and bool(slots) and all(dtype in s.dtypes for s in slots)


@dataclass(frozen=True)
class Built:
    """An operator applied to inputs, with values for them; `given` has None for absent ones."""

    builder: GraphBuilder
    operands: list[Operand]
    given: list[Operand | None]
    results: tuple[Operand, ...]
    feeds: Mapping[str, Any]

    @property
    def float_operands(self) -> list[Operand]:
        return [x for x in self.operands if is_float(x.dtype)]

    @property
    def float_results(self) -> list[Operand]:
        return [y for y in self.results if is_float(y.dtype)]

    @property
    def differentiable(self) -> bool:
        return bool(self.float_operands and self.float_results)


CASES = [
    Case(operator, sample, number)
    for operator in ops.registry().values()
    for number, sample in enumerate(operator.samples)
]
TYPES = tuple(filter(is_data_type, FORMATS))


def draw(case: Case, seed: int, default: DataType = "float32") -> list[Any]:
    """Return values for the operands: no two drawn floats alike, none near a kink."""
    rng = np.random.default_rng(seed)
    sample = case.sample
    present = [i for i, shape in enumerate(sample.shapes) if shape is not None]
    drawn = [i for i in present if case.fixed(i) is None]
    total = sum(int(np.prod(sample.shapes[i])) for i in drawn)
    # One value per stretch of low … high, shuffled: ties are as improbable as near ties.
    places = rng.permutation(total) + 0.5 + rng.uniform(-0.3, 0.3, total)
    pool = list(sample.low + (sample.high - sample.low) * places / max(1, total))
    values = []
    for i in present:
        shape = sample.shapes[i]
        if i not in drawn:
            value = np.reshape(np.asarray(case.fixed(i)), shape)
        elif is_float(case.dtype(i, default)):
            value = np.asarray([pool.pop() for _ in range(int(np.prod(shape)))])
            for kink in sample.kinks:
                value = np.where(np.abs(value - kink) < NEAR, kink + 2 * NEAR, value)
            value = np.reshape(value, shape)
        else:
            value = rng.integers(0, 2, shape) if sample.dtypes else rng.integers(1, 4, shape)
        values.append(value.astype(np.float64 if is_float(case.dtype(i, default)) else np.int64))
    return values


def build(case: Case, seed: int = 0, default: DataType = "float32") -> Built:
    """Apply the operator of a case to inputs x0, x1, …"""
    b = GraphBuilder()
    given = [
        None if shape is None else b.input(f"x{i}", case.dtype(i, default), shape)
        for i, shape in enumerate(case.sample.shapes)
    ]
    xs = [x for x in given if x is not None]
    result = b.apply(case.operator, given, case.sample.options)
    feeds = {
        x.node.name: value  # type: ignore[attr-defined]
        for x, value in zip(xs, draw(case, seed, default), strict=True)
    }
    return Built(b, xs, given, result if isinstance(result, tuple) else (result,), feeds)
