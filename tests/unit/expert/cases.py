"""For every rule facts that make it speak, and the facts after its remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from webnnm import Dataset, review
from webnnm.expert.facts.facts import (
    DataFacts,
    DeviceFacts,
    Facts,
    FeatureFacts,
    OutputFacts,
    ScoutingFacts,
)
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse
from webnnm.training.loss_choice import LabelFacts
from webnnm.training.settings import Settings

SETTINGS: Mapping[str, Any] = {
    "epochs": 200,
    "batch_size": None,
    "optimizer": "sgdm",
    "lr": 0.005,
    "weight_decay": 0.0,
    "patience": 50,
    "seeds": 100,
    "freeze": 0,
    "loss_weights": "auto",
    "regularization": "auto",
    "lambda1": 0,
    "lambda2": 0,
    "optimize_for": "size",
    "gradient_scaling": "auto",
    "gradient_clipping": "auto",
    "compute_type": "auto",
    "scale": 1000,
    "shuffle": True,
}
"""Settings that no rule has anything to say about."""

IRIS = "matmul(w, shape=[3]), add(b), relu(), matmul(v), softmax()"
EXACT = LabelFacts(kind="onehot", classes=3, class_counts=(35, 35, 35), single=True, binary=True)


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")


MAX_DIGITS = 5


def find_long_numbers(text: str) -> list[str]:
    """Return the numbers of a message with more digits than a reader can use.

    >>> find_long_numbers("from 0.999998 to 450, of 65504 and 1,234,567")
    ['0.999998', '65504']
    """
    found = NUMBER.findall(text)
    fractions = [n for n in found if "." in n and len(n.replace(".", "").strip("0")) > MAX_DIGITS]
    return fractions + [n for n in found if n.isdigit() and len(n) >= MAX_DIGITS]


def model(layers: str, *, kind: str = "", features: str = "4", sequence: bool = False) -> str:
    """Return the text of a model with one input and an output of three."""
    tail = " sequence=true" * sequence
    return f"m:input {kind} shape=[{features}]{tail}; m:output shape=[3]{tail}; m:layers {layers};"


def facts(text: str = IRIS, settings: Mapping[str, Any] | None = None, **known: Any) -> Facts:
    """Return facts on a model, or on one with these layers; settings are also given."""
    given = dict(settings or {})
    network = elaborate(parse(text if ":layers" in text else model(text)))
    written = Settings(**{**SETTINGS, **given}, explicit=frozenset(given))
    return Facts(network=network, settings=written, **known)


def repeat(words: str, times: int) -> str:
    """Return layers that follow each other many times."""
    return ", ".join([words.replace("#", str(number)) for number in range(times)])


class Case(NamedTuple):
    """Facts on which the rule speaks, words of its message, and facts after the remedy."""

    id: str
    before: Facts
    words: str
    after: Facts


def output(
    loss: str, labels: LabelFacts | None = None, activation: Any = "softmax", **more: Any
) -> Any:
    """Return facts with this one output."""
    written = more.pop("written", True)
    text = more.pop("text", IRIS)
    scouting = more.pop("scouting", ScoutingFacts())
    one = OutputFacts(
        name="m", activation=activation, loss=loss, labels=labels, written=written, **more
    )
    return facts(text, outputs=[one], scouting=scouting)


def data(settings: Mapping[str, Any] | None = None, **known: Any) -> Facts:
    """Return facts on a dataset."""
    sizes = {"training": 105, "validation": 0, "testing": 45}
    return facts(
        settings={"epochs": 50, **(settings or {})}, data=DataFacts(**{"sizes": sizes, **known})
    )


def feature(mean: float, std: float, *, binary: bool = False) -> Facts:
    """Return facts on an input with one feature beside a good one."""
    every = [FeatureFacts("good", 0, 1), FeatureFacts("length", mean, std, binary, raw=mean)]
    return data(features={"m": every})


def classes(training: Any, testing: Any = (15, 15, 15), validation: Any = (0, 0, 0)) -> Facts:
    """Return facts on how often classes occur."""
    counts = {"training": training, "validation": validation, "testing": testing}
    sizes = {name: sum(rows) for name, rows in counts.items()}
    names = {"m": ("setosa", "versicolor", "virginica")}
    return data(sizes=sizes, class_counts={"m": counts}, class_names=names)


def numbers(mean: float, std: float, **more: Any) -> LabelFacts:
    """Return facts on measurements."""
    return LabelFacts(kind="continuous", mean=mean, std=std, **more)


def device(**known: Any) -> DeviceFacts:
    """Return facts on a device."""
    return DeviceFacts(backend="webnn", **known)


HALF = model(IRIS, kind="float16")
TANH = "matmul(w#, shape=[4]), tanh()"
RELU = "matmul(w#, shape=[4]), relu()"
DEEP = f"{repeat(RELU, 9)}, matmul(v)"
NORMAL = f"{repeat(RELU, 9)}, layerNormalization(), matmul(v)"
RESIDUAL = f"{repeat(RELU + ', residual(skip=2)', 9)}, matmul(v)"
RECURRENT = model("lstm(w, r, hiddenSize=4, returnSequence=true), matmul(v)", sequence=True)
TWO = (
    "m:input {kind} shape=[4]; m:layers matmul(w, shape=[3]), relu(); "
    "a:output shape=[3]; a:layers matmul(u, node=m); "
    "b:output shape=[2]; b:layers matmul(v, node=m);"
)
WIDE = "matmul(w, shape=[600]), relu(), matmul(v)"
PIXELS = model("matmul(w)", features="6000")


def told(text: str, data: Dataset) -> dict[str, str]:
    """Return the rules that speak in a review of a text and its data, with their severity."""
    return {finding.id: finding.severity for finding in review(text, data).findings}
