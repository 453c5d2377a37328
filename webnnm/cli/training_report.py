"""Writes a page about a training: the columns, the model, the course, the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from webnnm.cli.output_paths import write
from webnnm.cli.report_charts import draw_test
from webnnm.core.errors import DataError
from webnnm.core.markup import Markup, light_dark, page, stylesheet, tag
from webnnm.runtime.testing.importance import permutation_importance

if TYPE_CHECKING:
    from webnnm.cli.training_run import TrainingOutcome
    from webnnm.model.nnmodel import NNModel

MAX_IMPORTANCE_ROWS = 1000
"""Rows whose columns are shuffled."""

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}"
    "caption,th{text-align:left}td{text-align:right}th,td{padding:.25rem .75rem .25rem 0}"
    ".training table:last-child td{text-align:left}"
    "pre{overflow-x:auto;padding:1rem}"
    "img{max-width:100%}"
    + light_dark("pre", "background", "#f4f2ee", "#1d2025")
    + light_dark("tr", "border-bottom", "1px solid #dfdcd6", "1px solid #3b414b")
)


async def write_report(
    path: str,
    model: NNModel,
    outcome: TrainingOutcome,
    reasons: Sequence[str] = (),
) -> None:
    """Write the page; what cannot be written is an error of the outcome."""
    try:
        write(path, await build_report(model, outcome, reasons))
    except DataError as error:
        outcome.errors.append(error)


async def build_report(model: NNModel, outcome: TrainingOutcome, reasons: Sequence[str]) -> Markup:
    """Return a page about a training and its test."""
    name = model.name
    dataset = model.state.binding().dataset
    sizes = ", ".join(
        f"{dataset.size(part):,} for {part}"
        for part in ("training", "validation", "testing")
        if dataset.size(part)
    )
    parts: list[Markup] = [tag("h1", name), tag("p", f"Rows: {sizes}.")]
    if reasons:
        parts += [
            tag("h2", "Why this model"),
            tag("ul", *(tag("li", reason) for reason in reasons)),
        ]
    if outcome.test is not None:
        parts += [tag("h2", "Test"), outcome.test.to_html()]
    if outcome.test is not None:
        parts += draw_test(dataset, outcome.test)
    if outcome.test is not None and getattr(dataset, "encoders", ()):
        worth = await permutation_importance(
            model, max_samples=_choose_samples(outcome.test.samples)
        )
        parts += [tag("h2", "Importance of the columns"), worth.to_html()]
    parts += [tag("h2", "Training")]
    parts += [tag("section", outcome.history.to_html(), class_="training")]
    if report := getattr(dataset, "report", None):
        parts += [tag("h2", "Data"), tag("pre", str(report))]
    parts += [tag("h2", "Model"), tag("pre", model.source)]
    head = [tag("meta", name="viewport", content="width=device-width"), stylesheet(STYLE)]
    return page(f"{name}: a trained model", *parts, head=head)


def _choose_samples(rows: int) -> float:
    return min(1.0, MAX_IMPORTANCE_ROWS / rows)
