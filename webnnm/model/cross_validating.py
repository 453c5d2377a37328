"""Cross-validation: a separate model for each fold of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.evaluation.cross_validation import CrossValidation
from webnnm.evaluation.result import TestResult
from webnnm.model.keywords import read_hyperparameters
from webnnm.runtime.state import ModelState

if TYPE_CHECKING:
    from webnnm.model.keywords import Hyperparameters
    from webnnm.model.nnmodel import NNModel


@require_await
async def cross_validate(
    model: NNModel,
    k: int = 5,
    hyperparameters: Mapping[str, Any] | None = None,
    *,
    subset: str = "full",
    **more: Unpack[Hyperparameters],
) -> CrossValidation:
    """Train and test k models, each tested on a different one of k folds of the rows.

    >>> print(await cross_validate(model, 5, epochs=50))  # doctest: +SKIP
    5 folds
    loss      0.1213 ± 0.0301  0.0605 0.1934 …
    accuracy  0.9533 ± 0.0170  0.9667 0.9000 …

    All rows of the dataset take part, or those of `subset`; classes have equal shares in every
    fold (`Dataset.folds`). The hyperparameters are those of `train`. The result has the test of
    each fold, and the mean and standard error of each score. This model does not change.

    Raises `DataError` NNM704 for fewer than two folds or more folds than rows, and for datasets
    that are not a `Dataset`; NNM714 without a dataset; and what `train` raises.
    """
    settings = read_hyperparameters(
        hyperparameters, more, "cross_validate", "cross_validate(model, epochs=20)"
    )
    state = model.state
    dataset = state.binding().dataset
    if not isinstance(dataset, Dataset):
        raise DataError(
            "NNM704",
            f"{dataset.name} is not a Dataset, so its rows cannot be split again",
            hint="give the rows as a Dataset",
        )
    results: list[TestResult] = []
    with state.occupancy.by("a cross-validation"):
        for number, fold in enumerate(dataset.folds(k, subset=subset, seed=state.seed), 1):
            config = {**read_copy_settings(state), "dataset": fold}
            async with await type(model).create(config) as copy:
                await copy.train({"progress": "off", **settings.explicit_values()})
                results.append(await copy.test(baselines=False))
            state.log(f"fold {number} of {k}: {results[-1]}")
    return CrossValidation(tuple(results))


def read_copy_settings(state: ModelState) -> Mapping[str, Any]:
    """Return the settings of `NNModel.create` for another model like this one, but no dataset."""
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
