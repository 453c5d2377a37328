"""Runs a program of tests/teach, and returns what a review and a training reported on it."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.teach.setup import Setup
from webnnm import Dataset, NNModel, xp
from webnnm.core.errors import WebNNMError


@dataclass
class Run:
    """The outcome of one run of a program.

    Attributes: `before`, the findings of the review, and `after`, those that the training added,
    as `Finding.to_dict` has them; `warnings` of the history and of Python; `log`; the `error`
    that ended it, "" without one; `score`, None where there is none.
    """

    before: list[dict[str, Any]] = field(default_factory=list)
    after: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    error: str = ""
    score: float | None = None
    seconds: float = 0.0


async def run(setup: Setup, seed: int) -> Run:
    """Review, train and test a program on NumPy; an error ends it, and is reported."""
    result = Run()
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            await _run(setup, seed, result)
        except WebNNMError as error:
            result.error = str(error)
        except Exception as error:  # a fault of the library: reported, and the other cases continue
            result.error = f"{type(error).__name__}: {error}"
    result.warnings += [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    result.seconds = round(time.perf_counter() - began, 2)
    return result


async def _run(setup: Setup, seed: int, found: Run) -> None:
    rows = setup.data(seed)
    dataset = await rows if inspect.isawaitable(rows) else rows
    arguments: dict[str, Any] = {"backend": "numpy", "seed": seed, **setup.create}
    model = await NNModel.create(
        source=setup.text, dataset=dataset, log=found.log.append, **arguments
    )
    async with model:
        if setup.begin is not None:
            await setup.begin(model)
        review = [finding.to_dict() for finding in model.review(**setup.train)]
        found.before = review
        history = await model.train(progress="off", **setup.train)
        reviewed = [(each["id"], each["message"]) for each in review]
        later = [finding.to_dict() for finding in history.findings]
        found.after = [each for each in later if (each["id"], each["message"]) not in reviewed]
        found.warnings += history.warnings
        if setup.score == "loss" and callable(setup.train.get("loss")):
            found.score = await _own_loss(model, dataset, setup)
        else:
            found.score = _score(await model.test(setup.subset), setup.score)


async def _own_loss(model: NNModel, dataset: Dataset, setup: Setup) -> float:
    """Return the mean of the loss of a program that is a function, which no test knows."""
    inputs, outputs = dataset.arrays(setup.subset)
    (predictions,) = (await model.predict(inputs, raw=True)).values()
    (targets,) = outputs.values()
    losses = setup.train["loss"](xp.asarray(predictions), xp.asarray(np.array(targets)))
    return float(np.mean(np.array(losses.tolist())))


def _score(result: Any, name: str) -> float:
    block, _, attribute = name.rpartition(".")
    return float(getattr(result.outputs[block] if block else result, attribute))


def is_alarm(finding: Mapping[str, Any]) -> bool:
    """Return whether a finding is above information."""
    return bool(finding["severity"] != "info")
