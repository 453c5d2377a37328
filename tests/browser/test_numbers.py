"""Numbers out of range and NaN in the browser: the same as on the reference, not lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tests.browser import jobs
from tests.browser.harness import PyodidePage
from tests.browser.in_page import Application, Chain, Failure, Packed
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType

NAN, INF = math.nan, math.inf
FRONT, BACK = [NAN, 0.5, 2.0], [0.5, 2.0, NAN]
FAR = [NAN, INF, -INF, 300.7, -300.7, 127.5, -128.9, 255.6, -1.5, 3e9, -3e9, 1e20, -1e20]
INTEGERS: tuple[DataType, ...] = ("int4", "uint4", "int8", "uint8", "int32", "uint32", "int64")
FOUR_BITS: dict[DataType, list[int]] = {"int4": [-8, 7, 3, -1, 2], "uint4": [15, 1, 9, 8, 2]}


def job(
    operator: str, *operands: Sequence[float], dtype: DataType = "float32", **options: Any
) -> Application:
    """Return an operator applied to vectors."""
    packed = tuple(Packed.of(HostArray.of(list(values), dtype)) for values in operands)
    return Application(operator, packed, options)


SORTED: tuple[DataType, ...] = ("float32", "int32", "int64", "uint32", "int8", "uint8")


def sorted_before(operator: str, dtype: DataType, axis: int) -> Chain:
    """Return an operator that orders elements, applied to what is in descending order."""
    operand = Packed.of(HostArray.of([3, 1, 2, 5, 4, 6, 9, 7, 8, 2, 1, 0], dtype, [3, 4]))
    down = {"axis": axis, "descending": True}
    last: dict[str, Any] = {"axis": axis, "k": 3} if operator == "topK" else down
    return Chain(operand, (("sort", down), (operator, last)))


JOBS = {
    **{
        f"{name} of NaN at {place}": job(name, values)
        for name in ("exp", "sign", "relu", "reduceMax", "reduceMin", "reduceSum", "sigmoid")
        for place, values in (("the front", FRONT), ("the back", BACK))
    },
    **{
        f"{name} of NaN on either side": job(name, FRONT, BACK)
        for name in ("max", "min", "equal", "greater", "lesserOrEqual")
    },
    **{
        f"cast to {type} of {dtype}": job(
            "cast", FAR[: 9 if dtype == "float16" else None], dtype=dtype, type=type
        )
        for type in INTEGERS
        for dtype in ("float32", "float16")
    },
    **{f"{name} of NaN alone": job(name, [NAN]) for name in ("exp", "sign", "sqrt")},
    **{
        f"{name} of NaN and several": job(name, *values)
        for name in ("max", "min")
        for values in (([NAN], [1.0]), ([1.0], [NAN]), ([1.0], FRONT), (FRONT, [1.0]))
    },
    "roots of infinity": job("sqrt", [INF, 4.0, -1.0, NAN, 0.0, 8e37]),
    "norm of infinity": job("reduceL2", [INF, 4.0]),
    "exponentials that overflow": job("reduceLogSumExp", [100.0, 101.0]),
    "exponentials that vanish": job("reduceLogSumExp", [-1000.0, -1001.0]),
    "logarithms": job("log", [INF, NAN, 3.4e38, 1.8e38, 1e38, 2.0, 0.0, -1.0]),
    "logarithms of halves": job("log", [INF, NAN, 65504.0, 2.0, 0.0], dtype="float16"),
    "log of a sum with infinity": job("reduceLogSumExp", [INF, 1.0]),
    "log of no sum": job("reduceLogSumExp", [-INF, -INF]),
    "negative integer exponents": job(
        "pow", [2, -2, 1, -1, 0, 5], [-1, -2, -3, -3, -1, 3], dtype="int32"
    ),
    "long integers and their zero points": Application(
        "dequantizeLinear",
        (
            Packed.of(HostArray.of([16777217, -5], "int32")),
            Packed.of(HostArray.of([0.5], "float32")),
            Packed.of(HostArray.of([16777216], "int32")),
        ),
    ),
    **{
        f"{name} of {dtype} that overflows": job(name, ends, ends[::-1], dtype=dtype)
        for name in ("add", "sub", "mul", "pow", "min", "div")
        for dtype, ends in FOUR_BITS.items()
    },
    **{
        f"{name} of {dtype}": job(name, ends, dtype=dtype, **options)
        for dtype, ends in FOUR_BITS.items()
        for name, options in (
            ("cast", {"type": "float16"}),
            ("cast", {"type": "int32"}),
            ("pad", {"beginning_padding": [2], "ending_padding": [1], "value": 5}),
            ("reshape", {"new_shape": [5, 1]}),
            ("argMax", {"axis": 0}),
        )
    },
    **{
        f"{name} to {dtype} in blocks": Application(
            name,
            (
                Packed.of(HostArray.of([7, 3, 1, 6, 0, 5], given, [2, 3])),
                Packed.of(HostArray.of([[0.5], [0.1]], "float32")),
                Packed.of(HostArray.of([[2], [1]], dtype)),
            ),
        )
        for dtype in FOUR_BITS
        for name, given in (("quantizeLinear", "float32"), ("dequantizeLinear", dtype))
    },
    **{
        f"{name} of {dtype} along {axis}, sorted before": sorted_before(name, dtype, axis)
        for dtype in SORTED
        for name in ("sort", "argsort", "topK")
        for axis in (0, 1)
    },
    "slices with strides beyond their sizes": Application(
        "slice",
        (Packed.of(HostArray.of([*range(12)], "float32", [3, 4])),),
        {"starts": [1, 0], "sizes": [1, 3], "strides": [2, 4]},
    ),
    "integer powers": job("pow", [2, -2, 0, 5], [3, 3, 0, 2], dtype="int32"),
}


async def test_numbers_are_those_of_the_reference(pyodide_page: PyodidePage) -> None:
    await check(pyodide_page, JOBS)


async def test_numbers_are_those_of_the_reference_in_the_second_browser(
    second_pyodide_page: PyodidePage,
) -> None:
    await check(second_pyodide_page, JOBS)


async def check(page: PyodidePage, applications: Mapping[str, Application | Chain]) -> None:
    """Run jobs in the page; fail with the list of those that differ from the reference."""
    answers = await jobs.answers(page, applications)
    wrong: list[str] = []
    for name, own in applications.items():
        answer = answers[name]
        graph, feeds = own.graph()
        values = {key: array.values() for key, array in feeds.items()}
        expected = [float(v) for v in evaluate(graph, values)["y0"].reshape(-1)]
        if isinstance(answer, Failure):
            wrong.append(f"{name}: {answer.text}")
            continue
        found = [float(v) for v in answer["y0"].array.values()]
        if not all(map(same, found, expected)):
            wrong.append(f"{name}: {found}, the reference has {expected}")
    assert not wrong, "\n".join(wrong)


def same(a: float, b: float) -> bool:
    """Return whether two numbers are the same, up to rounding."""
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6)


HIGH = (2, 1, 2, 1, 2, 1, 2, 2)
RANKS = {
    f"{name} of {len(HIGH)} dimensions along {axes}": Application(
        name,
        (Packed.of(HostArray.of([0.5 + k / 64 for k in range(32)], "float32", HIGH)),),
        {"axes": axes, "keep_dimensions": keep},
    )
    for name in ("reduceSum", "reduceMax", "reduceMean", "reduceL2", "reduceLogSumExp")
    for axes, keep in (((0, 2, 4, 6), False), ((1, 2, 3, 7), True))
}


async def test_reductions_of_many_dimensions(pyodide_page: PyodidePage) -> None:
    await check(pyodide_page, RANKS)
