"""The operators of plain JavaScript compute what the NumPy kernels compute."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from tests.browser.exported_cases import CASES as MODELS
from tests.browser.test_exported_pages import find_answers
from tests.unit.ops.cases import CASES, build
from webnnm.backends.reference import evaluate
from webnnm.cli.serve import SiteServer
from webnnm.formats.page.plans import PlanSet, Weights

RUN = """async (cases) => {
  const { openScript } = await import("./webnnm/inference/script.js");
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return Promise.all(cases.map(async ({ plan, weights, inputs }) => {
    try {
      const engine = openScript({ plans: [plan], script: 0 }, bytes(weights));
      const outputs = await engine.run(inputs);
      return Object.fromEntries(
        Object.entries(outputs).map(([name, values]) => [name, Array.from(values, String)]));
    } catch (error) {
      return String(error);
    }
  }));
}"""


async def test_operators_are_computed_as_by_numpy(
    tmp_path: Path, webnn_context: Any, page_log: Any
) -> None:
    cases: list[dict[str, Any]] = []
    expected: list[tuple[str, dict[str, Any]]] = []
    for case in CASES:
        built = build(case, default="float32")
        graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.results)})
        weights = Weights()
        plans = PlanSet(graph, {}, weights)
        number = plans.find_script_plan()
        if number is None:
            continue
        data = built.feeds
        cases.append(
            {
                "plan": plans.plans[number],
                "weights": base64.b64encode(weights.join()).decode(),
                "inputs": {n: np.asarray(data[n]).ravel().tolist() for n in graph.inputs},
            }
        )
        expected.append((str(case), evaluate(graph, data)))
    assert len(cases) > 100
    await find_answers(MODELS[0], tmp_path / "page")
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(tmp_path / "page") as server:
        await page.goto(server.url)
        results = await page.evaluate(RUN, cases)
    wrong: list[str] = []
    for (name, right), actual in zip(expected, results, strict=True):
        if isinstance(actual, str):
            wrong.append(f"{name}: {actual}")
            continue
        for output, values in right.items():
            mine = np.array([float(v.replace("Infinity", "inf")) for v in actual[output]])
            theirs = np.asarray(values, dtype=float).ravel()
            if not np.allclose(mine, theirs, rtol=2e-5, atol=2e-5, equal_nan=True):
                wrong.append(f"{name}: {mine[:5]} {theirs[:5]}")
    await page.close()
    assert wrong == []
