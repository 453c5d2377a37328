"""Other libraries on the rows of a problem: scikit-learn's models, and PyTorch's usual recipe.

PyTorch trains the network of the problem with Adam at 1e-3, batches of 32, until the loss of 15 %
of the training rows has not fallen for 20 epochs, for at most 300 epochs, and takes the best
parameters.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import (  # type: ignore[reportMissingTypeStubs]
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import (  # type: ignore[reportMissingTypeStubs]
    accuracy_score,
    average_precision_score,
    f1_score,
    mean_absolute_error,
    r2_score,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor  # type: ignore[reportMissingTypeStubs]
from torch import nn

from bench.datasets import Problem

RATE, BATCH, EPOCHS, PATIENCE, HELD_BACK = 1e-3, 32, 300, 20, 0.15
Values = NDArray[Any]
Peer = Callable[[Problem, int], dict[str, float]]
"""Returns the scores of a library on a problem for a seed."""


def scores(wanted: Sequence[str], target: Values, found: Values) -> dict[str, float]:
    """Return scores of predictions: class numbers, probabilities of yes, or measurements."""
    every: Mapping[str, Any] = {
        "accuracy": lambda: accuracy_score(target, found),
        "f1": lambda: f1_score(target, found > 0.5),
        "average precision": lambda: average_precision_score(target, found),
        "r2": lambda: r2_score(target, found),
        "mae": lambda: mean_absolute_error(target, found),
    }
    return {name: float(every[name]()) for name in wanted}


def with_sklearn(problem: Problem, seed: int) -> dict[str, float]:
    """Return the scores of scikit-learn's network with its own defaults."""
    return _with_estimator(problem, seed, MLPRegressor, MLPClassifier)


def with_boosting(problem: Problem, seed: int) -> dict[str, float]:
    """Return the scores of scikit-learn's boosted trees with their own defaults."""
    return _with_estimator(
        problem, seed, HistGradientBoostingRegressor, HistGradientBoostingClassifier
    )


def _with_estimator(
    problem: Problem, seed: int, regressor: Any, classifier: Any
) -> dict[str, float]:
    x, y, test_x, test_y = problem.rows(seed)
    network: Any = (regressor if problem.outputs == 1 else classifier)(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that 200 epochs were too few
        network.fit(x, y.ravel())
    predictions = (
        network.predict_proba(test_x)[:, 1] if not problem.outputs else network.predict(test_x)
    )
    return scores(problem.scores, test_y.ravel(), predictions)


def with_torch(problem: Problem, seed: int) -> dict[str, float]:
    """Return the scores of the same network in PyTorch."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    x, y, test_x, test_y = problem.rows(seed)
    classes = problem.outputs > 1
    loss: Any = {0: nn.BCEWithLogitsLoss(), 1: nn.MSELoss()}.get(
        problem.outputs, nn.CrossEntropyLoss()
    )
    network = _network(problem, x.shape[1])
    inputs = torch.tensor(x, dtype=torch.float32)
    targets = torch.tensor(y, dtype=torch.long if classes else torch.float32)
    if not classes:
        targets = targets.reshape(len(x), 1)
    order = torch.randperm(len(x))
    held = int(len(x) * HELD_BACK)
    _fit(network, loss, (inputs, targets), order[held:], order[:held])
    with torch.no_grad():
        answer = network(torch.tensor(test_x, dtype=torch.float32))
    if not problem.outputs:
        answer = torch.sigmoid(answer)
    predictions = cast(Values, (answer.argmax(1) if classes else answer[:, 0]).numpy())
    return scores(problem.scores, test_y.ravel(), predictions)


def _network(problem: Problem, width: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for units in problem.hidden:
        layers += [nn.Linear(width, units), nn.ReLU()]
        width = units
    if problem.dropout:
        layers.append(nn.Dropout(problem.dropout))
    return nn.Sequential(*layers, nn.Linear(width, max(1, problem.outputs)))


def _fit(
    network: nn.Module, loss: Any, data: tuple[Any, Any], rows: torch.Tensor, held: torch.Tensor
) -> None:
    x, y = data
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    best, since, kept = np.inf, 0, copy.deepcopy(network.state_dict())
    for _ in range(EPOCHS):
        network.train()
        for batch in rows[torch.randperm(len(rows))].split(BATCH):
            optimizer.zero_grad()
            loss(network(x[batch]), y[batch]).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            value = float(loss(network(x[held]), y[held]))
        since += 1
        if value < best:
            best, since, kept = value, 0, copy.deepcopy(network.state_dict())
        if since >= PATIENCE:
            break
    network.load_state_dict(kept)
    network.eval()


PEERS: Mapping[str, Peer] = {"scikit-learn": with_sklearn, "PyTorch": with_torch}
TREES: Mapping[str, Peer] = {"boosted trees": with_boosting}
