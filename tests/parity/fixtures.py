"""The committed file: for every case operands, weights, and what PyTorch made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.outcome import Arrays, Outcome

FILE = Path(__file__).with_name("fixtures.npz")
SEED = 0
KINDS = {"x": "operand", "w": "weight", "y": "result", "g": "gradient"}
"""The letter before the position in the name of an array: "conv2d-plain/x0"."""


@dataclass(frozen=True)
class Fixture:
    """What the file has of one case."""

    operands: Arrays
    weights: Arrays
    outcome: Outcome


def write(fixtures: Mapping[str, Fixture]) -> None:
    """Write the file anew."""
    named: dict[str, Any] = {}
    for name, fixture in fixtures.items():
        outcome = fixture.outcome
        parts = (fixture.operands, fixture.weights, outcome.results, outcome.gradients)
        for letter, arrays in zip(KINDS, parts, strict=True):
            named |= {f"{name}/{letter}{index}": array for index, array in arrays.items()}
    np.savez_compressed(FILE, **named)


def read() -> dict[str, Fixture]:
    """Return the fixtures by the names of their cases."""
    found: dict[str, dict[str, dict[int, Any]]] = {}
    with np.load(FILE) as file:
        for name in file.files:
            case, _, array = name.rpartition("/")
            kinds = found.setdefault(case, {letter: {} for letter in KINDS})
            kinds[array[0]][int(array[1:])] = file[name]
    return {
        case: Fixture(kinds["x"], kinds["w"], Outcome(kinds["y"], kinds["g"]))
        for case, kinds in found.items()
    }
