"""Jobs for the page: made from cases of operators, run in a few calls, compared with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest

from tests.browser import in_page
from tests.browser.harness import PyodidePage
from tests.browser.in_page import Answer, Application, Failure, Job, Packed
from tests.conformance.verdict import as_numpy
from tests.unit.ops.cases import Case, build, np
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType

AT_A_TIME = 150
"""Jobs in one call of the page, which ends well before its time limit."""

RESULT = 2e-4
"""How far a result may be from that of the reference, relatively."""
GRADIENT = 1e-4
"""How far a gradient may be, relatively to the largest element of the two."""
LONG_GRADIENT = 1e-3
"""How far a gradient may be for operators of many steps."""
LONG = frozenset({"attend", "gru", "gruCell", "lstm", "lstmCell"})
HALF = 5e-3
"""How far anything with halves in it may be: each operator rounds to eleven bits."""
NOISE = 1e-6
"""What remains of terms that cancel, in float32."""


async def answers(
    page: PyodidePage, jobs: Mapping[str, Job], *modules: ModuleType
) -> dict[str, Answer]:
    """Run jobs on WebNN in the page; `modules` are those that define them."""
    return (await answers_of_each(page, jobs, *modules, backends=["webnn"]))["webnn"]


async def answers_of_each(
    page: PyodidePage, jobs: Mapping[str, Job], *modules: ModuleType, backends: Sequence[str]
) -> dict[str, dict[str, Answer]]:
    """Run jobs on each of several backends in the page."""
    names, keys = [module.__name__ for module in modules], list(jobs)
    found: dict[str, dict[str, Answer]] = {backend: {} for backend in backends}
    for start in range(0, len(keys), AT_A_TIME):
        some = {key: jobs[key] for key in keys[start : start + AT_A_TIME]}
        given = await page.call(in_page.run_on_each, some, *backends, modules=names)
        for backend, those in given.items():
            found[backend] |= those
    return found


def application(case: Case, *, gradients: bool = False) -> Application:
    """Return a case as a job: the first draw of its operands, for gradients with weights."""
    built = build(case)
    rng = np.random.default_rng(1)
    weights = [(rng.uniform(-1, 1, y.shape), y.dtype) for y in built.float_results]
    return Application(
        case.operator.name,
        tuple(x and _pack(built.feeds[f"x{i}"], x.dtype) for i, x in enumerate(built.given)),
        case.sample.options,
        tuple(_pack(*weight) for weight in weights) if gradients else (),
    )


def kind_of_failure(answer: Answer) -> str:
    """Return the code of the error instead of an answer; an answer is a wrong one."""
    return (answer.code or "crashed") if isinstance(answer, Failure) else "wrong"


async def compare(page: PyodidePage, cases: Mapping[str, Case], *, gradients: bool = False) -> None:
    """Run cases in the page; fail with the list of those that differ from the reference."""
    jobs = {name: application(case, gradients=gradients) for name, case in cases.items()}
    found = await answers(page, jobs)
    wrong: list[str] = []
    for name, case in cases.items():
        limit = LONG_GRADIENT if case.operator.name in LONG else GRADIENT
        text = difference(jobs[name], found[name], limit)
        wrong += [f"{name}: {text}"] if text else []
    operators = {case.operator.name for case in cases.values()}
    print(f"{len(cases)} cases of {len(operators)} operators on WebNN, {len(wrong)} differ")
    if wrong:
        pytest.fail("\n".join(wrong))


def _pack(value: Any, dtype: DataType) -> Packed:
    return Packed.of(HostArray.of(np.asarray(value), dtype))


def difference(job: Job, answer: Answer, limit: float = GRADIENT) -> str:
    """Return how an answer differs from the reference, "" if it does not."""
    if isinstance(answer, Failure):
        return answer.text
    graph, feeds = job.graph()
    arrays = {name: as_numpy(array) for name, array in feeds.items()}
    narrow, wide = (evaluate(graph, arrays, wide=wide) for wide in (False, True))
    for name, operand in graph.outputs.items():
        found = as_numpy(answer[name].array)
        if answer[name][:2] != operand.type:
            return f"{name} is {answer[name][:2]}, expected {operand.type}"
        types = {operand.dtype, *(array.dtype for array in feeds.values())}
        if name.startswith("g"):
            text = _gradient_apart(found, wide[name], HALF if "float16" in types else limit)
        else:
            text = _result_apart(found, narrow[name], HALF if "float16" in types else RESULT)
        if text:
            return f"{name} {text}"
    return ""


def _result_apart(found: Any, expected: Any, limit: float) -> str:
    a, b = (np.asarray(x, "float64") for x in (found, expected))
    if np.allclose(a, b, rtol=limit, atol=limit / 20, equal_nan=True):
        return ""
    return f"{a.ravel()[:6]}, expected {b.ravel()[:6]}"


def _gradient_apart(found: Any, expected: Any, limit: float) -> str:
    a, b = (np.asarray(x, "float64") for x in (found, expected))
    apart, size = np.max(np.abs(a - b)), np.max(np.abs(a)) + np.max(np.abs(b))
    if apart <= limit * size + NOISE:
        return ""
    return f"{a.ravel()[:6]}, expected {b.ravel()[:6]} ({apart / size:.1e} relative)"
