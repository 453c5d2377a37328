"""Cross-validation: a model of its own for each fold of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.evaluation.cross_validation import CrossValidation
from webnnm.evaluation.result import TestResult

if TYPE_CHECKING:
    from webnnm.model.nnmodel import NNModel


async def cross_validated(
    model: NNModel, k: int, subset: str, hyperparameters: Mapping[str, Any]
) -> CrossValidation:
    """Return the tests of k models, see `NNModel.cross_validate`."""
    dataset = model.state.binding().dataset
    if not isinstance(dataset, Dataset):
        raise DataError(
            "NNM704",
            f"{dataset.name} is no Dataset, whose rows could be divided anew",
            hint="give the rows as a Dataset",
        )
    settings: dict[str, Any] = {
        "source": model.source,
        "backend": model.backend,
        "seed": model.seed,
        "batch_size": model.batch_size,
        "sequence_length": dict(model.sequence) or None,
        "optimize_for": model.state.optimize_for,
        "log": _nowhere,
    }
    results: list[TestResult] = []
    for number, fold in enumerate(dataset.folds(k, subset=subset, seed=model.seed), 1):
        async with await type(model).create({**settings, "dataset": fold}) as one:
            await one.train({"progress": "off", **hyperparameters})
            results.append(await one.test())
        model.log(f"fold {number} of {k}: {results[-1]}")
    return CrossValidation(tuple(results))


def _nowhere(_text: str) -> None:
    """Log nothing: of a fold its test is told."""
