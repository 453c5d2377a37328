"""Every operator's samples on WebNN, against the reference backend."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.harness import PyodidePage
from tests.unit.ops.cases import CASES, Case, build, np
from webnnm.backends.reference import evaluate

# Case by case, so that one refusal does not hide the others; answers stand by the case's name.
PROGRAM = """
from webnnm import ops
from webnnm.arrays import HostArray
from webnnm.backends.webnn import WebNNBackend
from webnnm.graph.builder import GraphBuilder

async def answer(name, number, feeds):
    operator = ops.registry()[name]
    sample = operator.samples[number]
    b = GraphBuilder()
    inputs = {n: b.input(n, given["dtype"], given["shape"]) for n, given in feeds.items()}
    operands = [inputs.get(f"x{k}") for k in range(len(sample.shapes))]
    several = operator.operands and operator.operands[0].variadic
    result = b.apply(operator, [operands] if several else operands, sample.options)
    results = result if isinstance(result, tuple) else (result,)
    runner = await backend.compile(b.build({f"y{k}": y for k, y in enumerate(results)}))
    given = {
        n: await backend.tensor(
            runner.inputs[n], HostArray.of(f["values"], f["dtype"], f["shape"]))
        for n, f in feeds.items() if n in runner.inputs
    }
    found = {n: await backend.tensor(type) for n, type in runner.outputs.items()}
    backend.dispatch(runner, given, found)
    arrays = await backend.read(*found.values())
    backend.release(runner, *given.values(), *found.values())
    return {
        n: {"values": list(map(str, a.values())), "dtype": a.dtype, "shape": list(a.shape)}
        for n, a in zip(found, arrays)
    }

backend = await WebNNBackend.open()
answers = {}
for key, (name, number, feeds) in cases.items():
    try:
        answers[key] = await answer(name, number, feeds)
    except Exception as error:
        answers[key] = f"{type(error).__name__}: {error}"
backend.close()
answers
"""


def feeds(case: Case) -> dict[str, Any]:
    """Return the operands of a case, in their types, in a form that JSON can carry."""
    built = build(case)
    return {
        name: {
            "values": np.asarray(value, operand.dtype).ravel().tolist(),
            "dtype": operand.dtype,
            "shape": list(operand.shape),
        }
        for (name, value), operand in zip(built.feeds.items(), built.operands, strict=True)
    }


def difference(case: Case, answer: Any) -> str:
    """Return how the answer of WebNN differs from the reference, "" if it does not."""
    if isinstance(answer, str):
        return answer
    built = build(case)
    graph = built.builder.build({f"y{k}": y for k, y in enumerate(built.results)})
    for name, expected in evaluate(graph, built.feeds).items():
        found = answer[name]
        if (found["dtype"], tuple(found["shape"])) != (expected.dtype.name, expected.shape):
            return f"{found['dtype']}{found['shape']}, expected {expected.dtype}{expected.shape}"
        values = np.array([float(v) for v in found["values"]]).reshape(expected.shape)
        wide = expected.astype("float64")
        if not np.allclose(values, wide, rtol=2e-4, atol=1e-5, equal_nan=True):
            return f"{values.ravel()[:6]}, expected {expected.ravel()[:6]}"
    return ""


async def test_samples_of_every_operator(pyodide_page: PyodidePage) -> None:
    cases = {str(case): [case.operator.name, case.number, feeds(case)] for case in CASES}
    answers = await pyodide_page.run_python(PROGRAM, cases=cases)
    assert answers.keys() == cases.keys()
    wrong = {str(case): difference(case, answers[str(case)]) for case in CASES}
    wrong = {name: text for name, text in wrong.items() if text}
    print(f"{len(cases)} samples of {len({c.operator.name for c in CASES})} operators on WebNN")
    if wrong:
        pytest.fail("\n".join(f"{name}: {text}" for name, text in wrong.items()))
