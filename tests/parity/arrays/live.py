"""Compares values and gradients of random programs over arrays with JAX's: `make parity`.

A seed as argument repeats a run.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from tests.fuzz.program_case import ARRAYS, Library, Program, weigh
from tests.fuzz.program_drawing import program
from webnnm import value_and_grad

PROGRAMS = 200
LIMIT = 1e-5
"""How far a number may be from JAX's, relatively to the largest of its array and at least 1."""
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Programs run once each: XLA takes as little time as it can to make them fast."""


def _put(x: Any, key: Any, value: Any) -> Any:
    if isinstance(key, jax.Array):  # traced masks have no places
        return jax.numpy.where(key, value, x)
    return x.at[key].set(value)


JAX = Library(
    xp=jax.numpy,
    array=jax.numpy.asarray,
    put=_put,
    scan=jax.lax.scan,
    cond=jax.lax.cond,
    checkpoint=jax.checkpoint,
    custom_gradient=jax.custom_gradient,
)


def apart(case: Program) -> float:
    """Return how far the loss of a program and its gradients are from JAX's, relatively."""
    given = [each.array() for each in case.given]
    places = tuple(range(len(given)))
    value, slopes = value_and_grad(weigh(case, ARRAYS), places)(*map(ARRAYS.array, given))
    theirs = jax.jit(jax.value_and_grad(weigh(case, JAX), places))
    wanted, gradients = theirs.lower(*given).compile(QUICKLY)(*given)
    return max(_apart([value], [wanted]), _apart(slopes, gradients))


def _apart(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(found, wanted, strict=True)]
    scale = max(1.0, *(float(np.max(np.abs(b))) for _, b in pairs))
    return max(float(np.max(np.abs(a - b))) for a, b in pairs) / scale


def main() -> None:
    """Print the largest difference; fail where one is above the limit."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(10**6)
    jax.config.update("jax_enable_x64", True)
    print(f"JAX {jax.__version__}, {PROGRAMS} random programs from seed {seed}, limit {LIMIT:g}")
    largest, wrong = 0.0, 0
    for number in range(seed, seed + PROGRAMS):
        case = program(number)
        found = apart(case)
        largest = max(largest, found)
        if not found <= LIMIT:
            wrong += 1
            print(f"program {number}: {found:.1e}  <- above\n{case.source()}")
    print(f"{PROGRAMS - wrong} programs agree with JAX, largest difference {largest:.1e}")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
