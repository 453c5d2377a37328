"""The same trainings in PyTorch: its layers, its losses, its optimizers.

Of the focal loss, that of boxes, and of what PyTorch's functions do not take, the formula stands
here.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch.nn import functional

from tests.parity.training.formulas import FORMULAS, Adafactor, Lion, formula
from tests.parity.training.runs import BATCH, CLASSES, CNN, Outcome, Run, data, starts

Array = torch.Tensor
Weights = Mapping[str, Array]


def logits(run: Run, x: Array, w: Weights) -> Array:
    """Return what the network gives before its head."""
    if run.network is CNN:
        y = functional.relu(functional.conv2d(x, w["f1"], w["c1"]))
        return functional.max_pool2d(y, 2, 2).flatten(1) @ w["w1"] + w["b1"]
    y = x @ w["w1"] + w["b1"]
    return torch.tanh(y) @ w["w2"] + w["b2"] if "w2" in w else y


def _of_outputs(function: Callable[[Array, Array, Run], Array]) -> Callable[..., Array]:
    """Return a loss of outputs as one of logits: the head is applied first."""
    heads: dict[str, Callable[[Array], Array]] = {
        "": lambda z: z,
        "softmax": lambda z: functional.softmax(z, -1),
        "sigmoid": functional.sigmoid,
    }
    return lambda z, y, run: function(heads[run.head](z), y, run)


def _cross_entropy(z: Array, y: Array, run: Run) -> Array:
    """Return the mean over rows and positions, without those of class -1."""
    smoothing = run.settings.get("label_smoothing", 0.0)
    flat = y.flatten() if y.dtype == torch.long else y.flatten(0, -2)
    return functional.cross_entropy(
        z.flatten(0, -2), flat, ignore_index=-1, label_smoothing=smoothing
    )


def _cross_entropy_of_probabilities(z: Array, y: Array, _run: Run) -> Array:
    return functional.nll_loss(torch.log(functional.sigmoid(z)), y.argmax(-1))


def _binary(p: Array, y: Array, run: Run) -> Array:
    smoothing = run.settings.get("label_smoothing", 0.0)
    return functional.binary_cross_entropy(p, y * (1 - smoothing) + smoothing / 2)


def _hinge(z: Array, y: Array, _run: Run) -> Array:
    zero = torch.zeros_like(z)
    each = functional.margin_ranking_loss(z, zero, y, margin=1.0, reduction="none")
    return each.sum(-1).mean()


def _focal(z: Array, y: Array, run: Run) -> Array:
    """−α(1 − p)^γ ln p (Lin et al. 2017), ln p by PyTorch."""
    gamma, alpha = run.numbers["gamma"], run.numbers["alpha"]
    if run.head == "softmax":
        log_p = -functional.cross_entropy(z, y.argmax(-1), reduction="none")
        weights = torch.tensor(alpha)[y.argmax(-1)]
    else:
        log_p = -functional.binary_cross_entropy_with_logits(z, y, reduction="none")
        weights = y * alpha + (1 - y) * (1 - alpha)
    return (-weights * (1 - log_p.exp()) ** gamma * log_p).mean()


def _pinball(p: Array, y: Array, run: Run) -> Array:
    """The greater of α(y − p) and (α − 1)(y − p) (Koenker & Bassett 1978)."""
    error, alpha = y - p, run.numbers["alpha"]
    return torch.maximum(alpha * error, (alpha - 1) * error).mean()


def _boxes(z: Array, y: Array, _run: Run) -> Array:
    """The loss of CenterNet (Zhou, Wang & Krähenbühl 2019, equations 1 to 4)."""
    scores, heat = z[..., :CLASSES], y[..., :CLASSES]
    p, centers = torch.sigmoid(scores), (heat == 1).float()
    focal = centers * (1 - p) ** 2 * functional.logsigmoid(scores)
    focal = focal + (1 - heat) ** 4 * p**2 * functional.logsigmoid(-scores)
    errors = (z[..., CLASSES:] - y[..., CLASSES:]).abs() * centers.amax(-1, keepdim=True)
    shapes = errors @ torch.tensor([1.0, 1.0, 0.1, 0.1])
    count = centers.sum((1, 2, 3)).clamp(min=1)
    return ((shapes.sum((1, 2)) - focal.sum((1, 2, 3))) / count).mean()


LOSSES: Mapping[str, Callable[[Array, Array, Run], Array]] = {
    "MSE": _of_outputs(lambda p, y, _: functional.mse_loss(p, y)),
    "MAE": _of_outputs(lambda p, y, _: functional.l1_loss(p, y)),
    "HUL": _of_outputs(lambda p, y, run: functional.huber_loss(p, y, delta=run.numbers["delta"])),
    "QUL": _of_outputs(_pinball),
    "BCE": _of_outputs(_binary),
    "BCEL": lambda z, y, _: functional.binary_cross_entropy_with_logits(z, y),
    "CCE": _cross_entropy,
    "CCE of sigmoid": _cross_entropy_of_probabilities,
    "CCEL": _cross_entropy,
    "SCE": _cross_entropy,
    "HIL": _hinge,
    "KLD": lambda z, y, _: functional.kl_div(z.log_softmax(-1), y, reduction="batchmean"),
    "FOL": _focal,
    "BOX": _boxes,
}
"""By the loss, or by loss and head: the mean over a batch, of logits and labels."""


def expected(run: Run, seed: int) -> tuple[Outcome, float]:
    """Train in PyTorch, in float32; return the outcome, and Lion's margin (infinite for others)."""
    flat_x, flat_y = data(run, seed)
    x = torch.tensor(flat_x).reshape(run.rows, *run.network.row)
    y = torch.tensor(flat_y).reshape(run.rows, *_label_shape(run))
    y = y.long() if run.labels.startswith("classes") else y
    shapes = run.network.parameters
    w = {name: torch.tensor(v).reshape(shapes[name]) for name, v in starts(run, seed).items()}
    for value in w.values():
        value.requires_grad_()
    loss_of = LOSSES.get(f"{run.loss} of {run.head}") or LOSSES[run.loss]
    losses = array("f")
    step, lions = _stepper(run, w)
    for start in range(0, run.rows, BATCH):
        rows = slice(start, start + BATCH)
        for value in w.values():
            value.grad = None
        loss = loss_of(logits(run, x[rows], w), y[rows], run)
        loss.backward()
        losses.append(loss.item())
        step()
    values = {name: array("f", value.detach().flatten().tolist()) for name, value in w.items()}
    margin = min((lion.margin for lion in lions), default=float("inf"))
    return Outcome.of(run, seed, losses, values), margin


def _label_shape(run: Run) -> tuple[int, ...]:
    features = run.network.features
    return features[:-1] if run.labels.startswith("classes") else features


def _stepper(run: Run, w: Weights) -> tuple[Callable[[], object], list[Lion | Adafactor]]:
    """Return what makes a step with the gradients that `w` have then."""
    s = run.settings
    if s["optimizer"] in FORMULAS:
        formulas = {name: formula(s) for name in w}

        def step() -> None:
            for name, value in w.items():
                assert value.grad is not None
                moved = formulas[name].step(value.detach().numpy(), value.grad.numpy())
                value.data = torch.from_numpy(moved.astype(np.float32))

        return step, list(formulas.values())
    groups = [
        {"params": [value for value in w.values() if value.ndim > 1]},
        {"params": [value for value in w.values() if value.ndim == 1], "weight_decay": 0.0},
    ]
    if s["optimizer"] in ("sgd", "sgdm", "nesterov"):
        made: torch.optim.Optimizer = torch.optim.SGD(
            groups,
            lr=s["lr"],
            momentum=s.get("momentum_factor", 0.0),
            weight_decay=s["weight_decay"],
            nesterov=s["optimizer"] == "nesterov",
        )
    else:
        kind = torch.optim.AdamW if s["optimizer"] == "adamw" else torch.optim.Adam
        made = kind(
            groups,
            lr=s["lr"],
            betas=(s["beta1"], s["beta2"]),
            eps=s["epsilon"],
            weight_decay=s["weight_decay"],
        )
    return made.step, []
