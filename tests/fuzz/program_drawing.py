"""Random programs over arrays: statements that are drawn one by one, and computed with NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.fuzz.dice import Dice
from tests.fuzz.program_case import NUMPY, Given, Program, Statement
from tests.fuzz.statements import KINDS, Sketch, Unfit, Value

LEAST, MOST = 5, 30
"""Statements of a program."""
MOST_ELEMENTS, MOST_AXES, LARGEST = 120, 4, 30.0
"""What an array may have, so that programs stay quick and can be measured."""


def program(seed: int) -> Program:
    """Draw a program of 5 to 30 statements, whose results are what none of them reads."""
    dice = Dice(seed)
    sketch = Sketch(dice)
    given = tuple(_given(dice, sketch) for _ in range(dice.number(1, 3)))
    statements: list[Statement] = []
    wanted = dice.number(LEAST, MOST)
    while len(statements) < wanted:
        found = _draw(dice, sketch)
        if found is not None:
            statements.append(found)
    read = {name for each in statements for name in each.reads}
    results = tuple(each.name for each in statements if each.name not in read)
    return Program(given, tuple(statements), results)


def _given(dice: Dice, sketch: Sketch) -> Given:
    shape = tuple(dice.sizes(0, 3))
    values = np.random.default_rng(dice.number(0, 2**32 - 1)).uniform(-2, 2, shape)
    value = _added(sketch, np.asarray(values, np.longdouble))
    return Given(value.name, shape, tuple(values.reshape(-1).tolist()))


def _draw(dice: Dice, sketch: Sketch) -> Statement | None:
    """Return a statement, None where what was drawn does not fit."""
    try:
        expression = KINDS[dice.one([*KINDS])](sketch)
    except Unfit:
        return None
    names = vars(NUMPY) | {each.name: each.numbers for each in sketch.values}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        numbers = eval(expression, names)
    numbers = np.asarray(numbers)
    tame = np.all(np.isfinite(numbers)) and np.all(np.abs(numbers) <= LARGEST)
    if not (0 < numbers.size <= MOST_ELEMENTS and numbers.ndim <= MOST_AXES and tame):
        return None
    found = Statement(f"v{len(sketch.values)}", expression)
    sketch.unread -= found.reads
    _added(sketch, numbers)
    return found


def _added(sketch: Sketch, numbers: Any) -> Value:
    value = Value(f"v{len(sketch.values)}", numbers)
    sketch.values.append(value)
    sketch.unread.add(value.name)
    return value
