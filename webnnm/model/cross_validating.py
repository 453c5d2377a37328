"""Cross-validation: a separate model for each fold of the rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.evaluation.cross_validation import CrossValidation
from webnnm.evaluation.result import TestResult
from webnnm.runtime.state import ModelState

Tested = Callable[[Dataset], Awaitable[TestResult]]
"""Trains and tests a model on a fold."""


async def cross_validated(
    state: ModelState, k: int, subset: str, tested: Tested
) -> CrossValidation:
    """Return the tests of k models, see `NNModel.cross_validate`."""
    dataset = state.binding().dataset
    if not isinstance(dataset, Dataset):
        raise DataError(
            "NNM704",
            f"{dataset.name} is not a Dataset, so its rows cannot be split again",
            hint="give the rows as a Dataset",
        )
    results: list[TestResult] = []
    for number, fold in enumerate(dataset.folds(k, subset=subset, seed=state.seed), 1):
        results.append(await tested(fold))
        state.log(f"fold {number} of {k}: {results[-1]}")
    return CrossValidation(tuple(results))


def fold_settings(state: ModelState) -> Mapping[str, Any]:
    """Return the settings of `NNModel.create` for the model of a fold, except its dataset."""
    return {
        "source": state.network.outline.document.source,
        "files": state.network.outline.document.files,
        "backend": getattr(state.backend, "given", None) or state.backend,
        "seed": state.seed,
        "batch_size": state.batch_size,
        "sequence_length": dict(state.sequence) or None,
        "optimize_for": state.optimize_for,
        "review": state.review,
        "log": _nowhere,
    }


def _nowhere(_text: str) -> None:
    """Log nothing: only the test of a fold is reported."""
