"""Random programs over arrays: what their derivatives and batches can be compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.frame import Target
from tests.fuzz.program_case import ARRAYS, NUMPY, Program, read_program, weigh
from tests.fuzz.program_drawing import program
from tests.fuzz.program_shrinking import shrink
from webnnm import backend, grad, hessian, jit, jvp, vjp, vmap
from webnnm.eager.device import Device

LIMIT = 1e-6
"""How far a derivative may be from the measured one, relatively to the largest of the gradient."""
EXACT = 1e-9
"""How far two ways of computing the same may be apart, relatively to the largest number."""
STEP = 1e-4
ELEMENTS = 6
"""So many elements of each argument are measured, and all together along one direction."""
LARGEST_HESSIAN = 6
"""Elements of arguments for which all second derivatives are measured."""
EXAMPLES = 3
"""Examples of a batch."""

Arrays = Sequence[Any]


def check(case: Program) -> str | None:
    """Check everything that the derivatives of a program can be compared with."""
    before, device = Device.default(), Device(partial(backend, "numpy"))
    device.make_default()
    try:
        return _check(case)
    finally:
        before.make_default()
        device.close()


def _check(case: Program) -> str | None:
    given = [each.array() for each in case.given]
    f, arrays = weigh(case, ARRAYS), [ARRAYS.array(each) for each in given]
    plain = case.function(NUMPY)
    wanted = plain(*[each.astype(np.longdouble) for each in given])
    for run in (case.function(ARRAYS), jit(case.function(ARRAYS))):
        for found, value in zip(run(*arrays), wanted, strict=True):
            _close(found, value, EXACT, "a result")
    gradient = grad(f, range(len(arrays)))
    slopes = [np.asarray(each) for each in gradient(*arrays)]
    for found, value in zip(jit(gradient)(*arrays), slopes, strict=True):
        _close(found, value, EXACT, "a gradient under jit")
    counted = _measure(weigh(case, NUMPY), given, slopes)
    _transpose(case, arrays)
    _batches(case, given, arrays)
    _second(case, arrays)
    return counted


def _close(found: Any, wanted: Any, limit: float, what: str) -> None:
    a, b = np.asarray(found), np.asarray(wanted)
    assert a.shape == b.shape, f"{what} has the shape {a.shape}, not {b.shape}"
    scale = max(1.0, float(np.max(np.abs(b), initial=0, where=~np.isnan(b))))
    # Where an example meets a kink, both may be NaN.
    apart = np.max(np.abs(a - b), initial=0, where=~(np.isnan(a) & np.isnan(b)))
    assert apart <= limit * scale, (
        f"{what} is off by {apart:.1e} of {scale:.1e}: {a} instead of {b}"
    )


def _measure(loss: Callable[..., Any], given: Arrays, slopes: Arrays) -> str | None:
    """Compare gradients with differences of a function of NumPy's arrays."""
    scale = max([1e-3, *(float(np.max(np.abs(each), initial=0)) for each in slopes)])
    compared = left_out = 0
    for place, x in enumerate(given):
        rng = np.random.default_rng(place)
        directions = [rng.uniform(-1, 1, x.shape)]
        for at in rng.permutation(x.size)[:ELEMENTS].tolist():
            directions.append(np.eye(1, x.size, at).reshape(x.shape))
        for direction in directions:

            def at(by: float, place: int = place, direction: Any = direction) -> Any:
                moved = [each.astype(np.longdouble) for each in given]
                moved[place] = moved[place] + by * direction
                return loss(*moved)

            slope, doubt = _slope(at)
            if not doubt <= LIMIT * scale / 4:
                left_out += 1  # a kink, or a curve too steep to be measured
                continue
            compared += 1
            analytic = float(np.sum(slopes[place] * direction))
            apart = abs(analytic - slope)
            assert apart <= LIMIT * scale, (
                f"the gradient of argument {place} along {direction.tolist()} is {analytic}, "
                f"measured {slope} ± {doubt:.1e}"
            )
    return "passed, some slopes not measurable" if left_out else None


def _slope(at: Callable[[float], Any]) -> tuple[float, float]:
    """Return a slope at 0 by Richardson's extrapolation, and how far its two estimates differ."""
    near, far = ((at(h) - at(-h)) / (2 * h) for h in (STEP, 2 * STEP))
    return float((4 * near - far) / 3), float(abs(near - far)) / 3


def _transpose(case: Program, arrays: Arrays) -> None:
    """Compare ⟨u, J·v⟩ with ⟨Jᵀ·u, v⟩."""
    function = case.function(ARRAYS)
    rng = np.random.default_rng(1)

    def like(several: Arrays) -> list[Any]:
        return [ARRAYS.array(rng.uniform(-1, 1, x.shape)) for x in several]

    vs = like(arrays)
    results, moved = jvp(function, arrays, vs)
    same, pull = vjp(function, *arrays)
    us = like(results)
    back = pull(us)
    for a, b in zip(results, same, strict=True):
        _close(a, b, EXACT, "the result of jvp")
    there, again = _inner(us, moved), _inner(back, vs)
    scale = sum(
        float(np.sum(np.abs(np.asarray(b) * np.asarray(v)))) for b, v in zip(back, vs, strict=True)
    )
    assert abs(there - again) <= EXACT * max(1.0, scale), f"⟨u, Jv⟩ = {there}, ⟨Jᵀu, v⟩ = {again}"


def _inner(xs: Arrays, ys: Arrays) -> float:
    return sum(float(np.sum(np.asarray(x) * np.asarray(y))) for x, y in zip(xs, ys, strict=True))


def _batches(case: Program, given: Arrays, arrays: Arrays) -> None:
    """Compare `vmap` of results and gradients with a loop, one argument the same for all."""
    rng = np.random.default_rng(2)
    moved = [x + 0.1 * rng.uniform(-1, 1, (EXAMPLES, *x.shape)) for x in given]
    batches = [ARRAYS.array(each) for each in moved]
    shared = len(given) > 1 and rng.integers(2)
    axes: list[int | None] = [0] * len(given)
    if shared:
        axes[-1], batches[-1] = None, arrays[-1]

    def example(number: int) -> list[Any]:
        return [x if axis is None else x[number] for x, axis in zip(batches, axes, strict=True)]

    for what, function in (
        ("a result", case.function(ARRAYS)),
        ("a gradient", grad(weigh(case, ARRAYS), range(len(given)))),
    ):
        loop = [[np.asarray(y) for y in function(*example(k))] for k in range(EXAMPLES)]
        found = vmap(function, axes)(*batches)
        for y, several in zip(found, zip(*loop, strict=True), strict=True):
            _close(y, np.stack(several), EXACT, f"{what} of a batch")


def _second(case: Program, arrays: Arrays) -> None:
    """Compare second derivatives of the first small argument with differences of gradients."""
    small = [place for place, each in enumerate(arrays) if each.size <= LARGEST_HESSIAN]
    if not small:
        return
    place = small[0]
    f, x = weigh(case, ARRAYS), np.asarray(arrays[place])
    found = np.asarray(hessian(f, place)(*arrays)).reshape(x.size, x.size)
    _close(found, found.T, EXACT, "the transposed second derivative")
    slope = grad(f, place)

    for column in range(x.size):

        def at(by: float, column: int = column) -> Any:
            moved = [*arrays]
            by_element = (by * np.eye(1, x.size, column)).reshape(x.shape)
            moved[place] = ARRAYS.array(x + by_element)
            return np.asarray(slope(*moved)).reshape(-1)

        near, far = ((at(h) - at(-h)) / (2 * h) for h in (STEP, 2 * STEP))
        measured, doubt = (4 * near - far) / 3, np.max(np.abs(near - far)) / 3
        scale = max(1.0, float(np.max(np.abs(found))))
        if doubt <= LIMIT * scale / 4:
            _close(found[:, column], measured, LIMIT * scale, f"second derivative {column}")


TARGET = Target(
    name="programs",
    cases=st.integers(0, 2**40).map(program),
    check=check,
    save=str,
    load=read_program,
    shrink=shrink,
    suffix=".json",
    examples=8,
)
