"""The part of a test result that a chart shows: the report on its one output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from webnnm.core.errors import DataError


def report_of(result: Any, *, has: str, instead: str) -> Any:
    """Return the report on the output of a test result, or a report that is passed itself.

    >>> from webnnm.evaluation.compare import regression
    >>> report_of(regression([[1.0]], [[2.0]]), has="pairs", instead="numbers").mae
    1.0

    Raises `DataError` NNM702 if there are several outputs, or if the report lacks what the chart
    shows, the attribute `has`; `instead` says what can be passed.
    """
    report, outputs = result, getattr(result, "outputs", None)
    if isinstance(outputs, Mapping):
        reports = cast("Mapping[str, Any]", outputs)
        if len(reports) != 1:
            raise DataError(
                "NNM702",
                f"the result is of {len(reports)} outputs: {', '.join(reports)}",
                hint=f'pass the report on one of them, result.outputs["{next(iter(reports), "")}"]',
            )
        (report,) = reports.values()
    if getattr(report, has, None) is None:
        raise DataError(
            "NNM702", f"a {type(report).__name__} has no {has} to show", hint=f"pass {instead}"
        )
    return report
