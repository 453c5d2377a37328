"""Settings of trainings in sound ranges, and models of usual sizes, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.teach.texts import DENSE, dense

Draw = np.random.Generator

RATES: Mapping[str, tuple[float, float]] = {
    "adam": (0.002, 0.02),
    "adamw": (0.002, 0.02),
    "nesterov": (0.02, 0.1),
    "sgdm": (0.02, 0.1),
    "lion": (0.001, 0.003),
}
"""The lowest and the highest rate that is drawn for each optimizer."""
UPDATES = (500, 1500)
ACTIVATIONS = ("relu", "relu", "tanh", "gelu", "elu", "leakyRelu")


def between(draw: Draw, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform, with three digits."""
    return float(f"{np.exp(draw.uniform(np.log(low), np.log(high))):.3g}")


def chance(draw: Draw, share: float) -> bool:
    """Return True in this share of the draws."""
    return bool(draw.random() < share)


def training(draw: Draw, rows: int, *, slow: bool = False, rated: bool = True) -> dict[str, Any]:
    """Return settings for a training: the defaults, or a written choice of the usual ones.

    `rows` is the number of training rows; a `slow` model gets fewer updates; `rated` allows losses
    to be validated.
    """
    updates = int(between(draw, *UPDATES)) // (3 if slow else 1)
    if chance(draw, 0.3):
        return {"epochs": max(10, updates * 32 // rows)} if slow else {}
    result: dict[str, Any] = {}
    batch = int(draw.choice([16, 32, 64])) if rows >= 200 else 16
    result["batch_size"] = batch
    result["epochs"] = int(np.clip(updates * batch // rows, 15, 250))
    optimizer = str(draw.choice([*RATES]))
    result |= {"optimizer": optimizer, "lr": between(draw, *RATES[optimizer])}
    if optimizer == "adamw" and chance(draw, 0.5):
        result["weight_decay"] = between(draw, 0.001, 0.1)
    schedule = draw.random()
    if schedule < 0.15:
        low = RATES[optimizer][0]
        result |= {"schedule": "constant", "lr": low, "epochs": min(250, 2 * result["epochs"])}
    elif schedule < 0.3:
        drop = max(5, result["epochs"] * 2 // 5)
        result |= {"schedule": "step", "step_epochs": drop, "step_factor": 0.2}
    elif schedule < 0.4:
        result |= {"warmup_epochs": max(1, result["epochs"] // 12)}
    if rated and chance(draw, 0.3):
        result |= {"validation_split": 0.2, "patience": int(draw.integers(15, 30))}
    if chance(draw, 0.15):
        result["gradient_clipping"] = "global"
    if chance(draw, 0.1) and optimizer != "lion":
        result |= {"regularization": "L2", "lambda2": between(draw, 1e-5, 1e-3)}
    if chance(draw, 0.1):
        result["compute_type"] = "float16"
    if chance(draw, 0.1) and not slow:
        result["seeds"] = int(draw.integers(2, 5))
    return result


def hidden_layers(draw: Draw, *, width: tuple[int, int] = (12, 48), depth: int = 2) -> str:
    """Return one or more hidden layers, with normalisation or dropout now and then."""
    activation = str(draw.choice(ACTIVATIONS))
    units = int(draw.integers(*width))
    layers = [dense(units, activation) for _ in range(int(draw.integers(1, depth + 1)))]
    if units >= 24 and chance(draw, 0.2):
        layers.append(f"dropout({draw.choice([0.1, 0.2])})")
    elif chance(draw, 0.1):
        layers.insert(1, "layerNorm(scale=g, bias=h)")
    return ", ".join(layers)


def text_of(inputs: int | str, layers: str, outputs: int, loss: str = "") -> str:
    """Return the text of a model with these hidden layers and this head."""
    shape = f"shape=[{inputs}]" if isinstance(inputs, int) else inputs
    written = f" model:loss {loss};\n" if loss else ""
    head = f"model:input {shape};\nmodel:output shape=[{outputs}];\n{written}"
    return f"{head}model:layers {layers};\n{DENSE if 'dense(' in layers else ''}\n"
