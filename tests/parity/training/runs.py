"""The trainings that are compared with PyTorch, as data, and how webnnm does them.

Imports webnnm alone, so that it runs in a page as well. Everything is drawn from streams of a
seed: every implementation starts from the same parameters and takes the same batches.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webnnm import Dataset, NNModel
from webnnm.core.arrays import HostArray
from webnnm.core.random import Stream
from webnnm.core.shapes import Shape, count

CLASSES = 3
STEPS = 100
BATCH = 8
ROWS = STEPS * BATCH - 3
"""Rows of a training: its last batch is short."""

SILENT = {
    "epochs": 1,
    "schedule": "constant",
    "seeds": 0,
    "shuffle": False,
    "compute_type": "float32",
    "gradient_clipping": "off",
    "gradient_scaling": "off",
    "regularization": "off",
    "restore_best": False,
    "progress": "off",
}
"""What is left to a training then is its optimizer. A single epoch has no warm-up."""


@dataclass(frozen=True)
class Network:
    """A network: its layers in notation, the shape of a row, its parameters in elaboration order.

    `features` is the shape of what it gives for a row.
    """

    layers: str
    row: Shape
    parameters: Mapping[str, Shape]
    features: Shape = (CLASSES,)


MLP = Network(
    "matmul(w, shape=[8]), add(b), tanh(), matmul(w), add(b)",
    (5,),
    {"w1": (5, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)},
)
CNN = Network(
    "conv2d(f, kernel=3, filters=4, bias=c), relu(),"
    " maxPool2d(windowDimensions=[2, 2], strides=[2, 2]), flatten(), matmul(w), add(b)",
    (1, 8, 8),
    {"f1": (4, 1, 3, 3), "c1": (4,), "w1": (36, 3), "b1": (3,)},
)
LINEAR = Network("matmul(w), add(b)", (5,), {"w1": (5, 3), "b1": (3,)})
POSITIONS = Network("matmul(w), add(b)", (4, 5), {"w1": (5, 3), "b1": (4, 3)}, features=(4, 3))
GRID = Network("matmul(w), add(b)", (2, 3, 5), {"w1": (5, 7), "b1": (2, 3, 7)}, features=(2, 3, 7))


@dataclass(frozen=True)
class Run:
    """One training over one epoch.

    - `head`: the layer that ends the network, "" for none; `loss` by its short name, with its
      `numbers` as the notation has them.
    - `labels`: "one-hot", "distribution", "classes", "classes with gaps" (some are -1),
      "decisions" (0 or 1), "values", "signs" or "boxes" (in a grid).
    - `settings`: hyperparameters; `rows`: of the dataset.
    - `limit`: the largest difference from what is expected, relative to the largest element.
    """

    about: str
    network: Network
    head: str
    loss: str
    labels: str
    settings: Mapping[str, Any]
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rows: int = ROWS
    limit: float = 1e-4

    def __str__(self) -> str:
        return self.about.replace(" ", "-")

    @property
    def source(self) -> str:
        """The model in notation."""
        head = f", {self.head}()" if self.head else ""
        numbers = "".join(f" model:{name} {value};" for name, value in self.numbers.items())
        return (
            f"model:input shape={list(self.network.row)};"
            f" model:output shape={list(self.network.features)};"
            f" model:loss {self.loss};{numbers} model:layers {self.network.layers}{head};"
        )


OPTIMIZERS: Mapping[str, Mapping[str, float]] = {
    "sgdm": {"lr": 0.05, "momentum_factor": 0.9, "weight_decay": 0.01},
    "nesterov": {"lr": 0.05, "momentum_factor": 0.8, "weight_decay": 0.01},
    "adam": {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01},
    "adamw": {"lr": 0.01, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-3, "weight_decay": 0.1},
    "lion": {"lr": 2e-3, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1},
    "rlion": {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "alpha": 10.0, "weight_decay": 0.1},
    "sgd": {"lr": 0.05, "weight_decay": 0.01},
    "adafactor": {"lr": 0.01, "epsilon": 1e-30, "weight_decay": 0.1},
}
TRAININGS = tuple(
    Run(
        f"{name} {optimizer}",
        network,
        "softmax",
        "CCE",
        "one-hot",
        {"optimizer": optimizer, **settings},
        limit=1e-5 if optimizer in ("lion", "rlion") else 1e-4,
    )
    for name, network in (("mlp", MLP), ("cnn", CNN))
    for optimizer, settings in OPTIMIZERS.items()
)
"""A hundred steps of every optimizer; lion, rlion and adafactor are formulas."""

DESCENT = {"optimizer": "sgdm", "lr": 1.0, "momentum_factor": 0.0, "weight_decay": 0.0}
"""With it the change of a parameter is the gradient, but for its sign."""


def _losses(*listed: tuple[Any, ...]) -> tuple[Run, ...]:
    """Return a single step for each of (about, head, loss, labels, numbers, network)."""
    found: list[Run] = []
    for about, head, loss, labels, *rest in listed:
        numbers, network, more = (*rest, *({}, LINEAR, {})[len(rest) :])
        settings = {**DESCENT, **more}
        found.append(
            Run(about, network, head, loss, labels, settings, numbers, rows=BATCH, limit=1e-5)
        )
    return tuple(found)


LOSSES = _losses(
    ("MSE", "", "MSE", "values"),
    ("MSE of softmax", "softmax", "MSE", "distribution"),
    ("MSE of positions", "", "MSE", "values", {}, POSITIONS),
    ("MAE", "", "MAE", "values"),
    ("HUL", "", "HUL", "values", {"delta": 0.6}),
    ("QUL", "", "QUL", "values", {"alpha": 0.3}),
    ("BCE", "sigmoid", "BCE", "decisions"),
    ("BCE of softmax", "softmax", "BCE", "distribution"),
    ("BCE smoothed", "sigmoid", "BCE", "decisions", {}, LINEAR, {"label_smoothing": 0.2}),
    ("BCEL", "", "BCEL", "decisions"),
    ("CCE", "softmax", "CCE", "distribution"),
    ("CCE of positions", "softmax", "CCE", "distribution", {}, POSITIONS),
    ("CCE of logSoftmax", "logSoftmax", "CCE", "one-hot"),
    ("CCE of sigmoid", "sigmoid", "CCE", "one-hot"),
    ("CCE smoothed", "softmax", "CCE", "one-hot", {}, LINEAR, {"label_smoothing": 0.2}),
    ("CCEL", "", "CCEL", "distribution"),
    ("SCE", "softmax", "SCE", "classes"),
    ("SCE of logits", "", "SCE", "classes"),
    ("SCE of positions", "softmax", "SCE", "classes with gaps", {}, POSITIONS),
    ("HIL", "", "HIL", "signs"),
    ("KLD", "softmax", "KLD", "distribution"),
    ("KLD of logSoftmax", "logSoftmax", "KLD", "distribution"),
    ("FOL of softmax", "softmax", "FOL", "one-hot", {"gamma": 2, "alpha": [0.5, 1, 1.5]}),
    ("FOL of sigmoid", "sigmoid", "FOL", "decisions", {"gamma": 1.5, "alpha": 0.25}),
    ("BOX", "", "BOX", "boxes", {}, GRID),
)
"""One step of plain descent for every loss and head."""

RUNS = TRAININGS + LOSSES


@dataclass(frozen=True)
class Outcome:
    """What a training gives: the loss of every batch, and one array for each parameter.

    After several steps these are the parameters. After a single one they are by how much each of
    them fell: its gradient, if the step was plain descent.
    """

    losses: array[float]
    parameters: Mapping[str, array[float]]

    @classmethod
    def of(
        cls, run: Run, seed: int, losses: array[float], values: Mapping[str, array[float]]
    ) -> Outcome:
        """Return the outcome of a run that ended with these values of its parameters."""
        if len(losses) > 1:
            return cls(losses, values)
        first = starts(run, seed)
        pairs = {name: zip(first[name], value, strict=True) for name, value in values.items()}
        return cls(losses, {n: array("f", (a - b for a, b in pair)) for n, pair in pairs.items()})


def difference(found: Outcome, expected: Outcome) -> float:
    """Return the largest difference: of losses each to its own size, of arrays to the largest."""
    apart = [abs(a - b) / abs(b) for a, b in zip(found.losses, expected.losses, strict=True)]
    if found.parameters.keys() != expected.parameters.keys():
        raise AssertionError(f"{list(found.parameters)}, expected {list(expected.parameters)}")
    for name, wanted in expected.parameters.items():
        size = max(map(abs, wanted))
        pairs = zip(found.parameters[name], wanted, strict=True)
        apart += [abs(a - b) / size for a, b in pairs]
    return max(apart) if all(map(math.isfinite, apart)) else math.inf


def steps(run: Run) -> int:
    """Return how many batches a run has."""
    return -(-run.rows // BATCH)


def starts(run: Run, seed: int) -> dict[str, array[float]]:
    """Return the values that the parameters begin with: uniform, with variance 1/fan-in."""
    found: dict[str, array[float]] = {}
    for name, shape in run.network.parameters.items():
        fans = shape[1:] if len(shape) == 4 else shape[:1]  # filters are [out, in, height, width]
        radius = (3 / count(fans)) ** 0.5 if len(shape) > 1 else 0.3
        uniform = Stream(seed, 1, name).uniform(count(shape))
        found[name] = array("f", ((2 * u - 1) * radius for u in uniform))
    return found


def data(run: Run, seed: int) -> tuple[array[float], array[Any]]:
    """Return inputs and labels, row after row: a feature in every three tells of the class."""
    positions = count(run.network.features[:-1])
    stream = Stream(seed, 2, "classes")
    classes = [stream.below(CLASSES) for _ in range(run.rows * positions)]
    width = count(run.network.row) // positions
    noise = Stream(seed, 3, "inputs").uniform(len(classes) * width)
    x = array(
        "f",
        (
            4 * noise[k * width + j] - 2 + (j % CLASSES == wanted)
            for k, wanted in enumerate(classes)
            for j in range(width)
        ),
    )
    return x, _labels(run.labels, classes, Stream(seed, 4, "labels"))


def _labels(kind: str, classes: list[int], stream: Stream) -> array[Any]:
    if kind.startswith("classes"):
        gap = 5 if kind == "classes with gaps" else len(classes) + 1
        return array("i", (c if (k + 1) % gap else -1 for k, c in enumerate(classes)))
    drawn = stream.uniform(len(classes) * CLASSES)
    made: list[float] = []
    for k, wanted in enumerate(classes):
        row = drawn[k * CLASSES : (k + 1) * CLASSES]
        hot = [float(c == wanted) for c in range(CLASSES)]
        if kind == "one-hot":
            made += hot
        elif kind == "distribution":
            # Shares in sixteenths, so that they sum to 1 exactly; one of them is often 0.
            first = int(16 * row[0])
            second = int((16 - first) * row[1])
            made += [first / 16, second / 16, (16 - first - second) / 16]
        elif kind == "values":
            made += [4 * u - 2 + h for u, h in zip(row, hot, strict=True)]
        elif kind == "decisions":
            made += [float(u < 0.5) for u in row]
        elif kind == "signs":
            made += [1.0 if u < 0.5 else -1.0 for u in row]
        elif kind == "boxes":  # a center where a number is small, with offsets and sizes
            heat = [1.0 if u < 0.2 else u for u in row]
            made += [*heat, row[0], row[1], 1 + 4 * row[1], 1 + 4 * row[2]]
        else:
            raise ValueError(kind)
    return array("f", made)


async def train(run: Run, backend: str, seed: int) -> Outcome:
    """Train as everybody does: a dataset, a model, `train`."""
    x, y = data(run, seed)
    classes = run.labels.startswith("classes")
    kind = "classes" if classes else "boxes" if run.labels == "boxes" else None
    features = run.network.features[: -1 if classes else None]
    dataset = Dataset(
        HostArray.of(x, "float32", (run.rows, *run.network.row)),
        HostArray.of(y, "int32" if classes else "float32", (run.rows, *features)),
        kinds={"model": kind} if kind else None,
        split=(1, 0, 0),
        method="sequential",
        batch_size=BATCH,
    )
    model = await NNModel.create(
        source=run.source, dataset=dataset, backend=backend, log=lambda _: None
    )
    try:
        initial = starts(run, seed)
        for name, values in initial.items():
            model.state.parameters.set(
                name, HostArray.of(values, "float32", run.network.parameters[name])
            )
        losses = array("f")
        await model.train(
            **SILENT, **run.settings, on_batch=lambda record: losses.append(record.loss)
        )
        final = {name: array("f", model.state.parameters.value(name).values()) for name in initial}
    finally:
        model.close()
    return Outcome.of(run, seed, losses, final)


async def train_all(runs: Mapping[str, Run], backend: str, seed: int) -> dict[str, Outcome]:
    """Do several trainings one after the other."""
    return {name: await train(run, backend, seed) for name, run in runs.items()}
