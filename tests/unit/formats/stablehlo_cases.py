"""Networks that are exported in tests, and the golden texts of some: run it to write them anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.formats.export_graphs import Lengths, inference_graph, loss_graph, train_graph
from webnnm.formats.graph_files import stablehlo_text
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network
from webnnm.notation import parse
from webnnm.runtime.testing.objectives import objectives
from webnnm.trainer.decisions import make_update_settings, resolve_loss_weights
from webnnm.training.forward import OutputLoss
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import parse_settings
from webnnm.training.step_settings import StepSettings

FOLDER = Path(__file__).resolve().parent / "golden"

IRIS = """
iris:name iris;
iris:input shape=[4];
iris:output shape=[3];
iris:layers matmul(w, shape=[8]), add(b), relu(), matmul(w), add(b), softmax();
"""
CNN = """
digits:name digits;
digits:input shape={channels:1, height:8, width:8};
digits:output shape=[4];
digits:layers conv2d(f, filters=4, kernel=3, padding=same), batchNorm(scale=g, bias=h), relu(),
  maxPool2d(windowDimensions=2, strides=2), averagePool2d(windowDimensions=2, strides=2),
  flatten(), dropout(0.25), matmul(w), add(b), softmax();
"""
TRANSFORMER = """
words:name block;
words:input shape=[8] sequence=words;
words:output shape=[8] sequence=words;
words:layers layerNormalization(scale=s, bias=h),
  attend(q, k, v, o, heads=2, causal=true), residual(to=input), gelu();
"""


def inference_text(
    network: Network,
    batch: int | None = None,
    sequence: Lengths | None = None,
    *,
    constants: Mapping[str, HostArray] | None = None,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module that computes the outputs of a network.

    Arguments are the inputs and the parameters; those that `constants` has become constants.
    `batch` and the lengths in `sequence` that are None are left open. With `loops` what runs over
    steps is a loop, in place of a copy for each step.

    Raises `ModelError` NNM901, NNM902.
    """
    found = inference_graph(network, batch, sequence or {}, constants)
    return stablehlo_text(found, chlo=chlo, loops=loops)


def loss_text(
    network: Network,
    losses: Mapping[str, OutputLoss],
    batch: int | None = None,
    sequence: Lengths | None = None,
    *,
    constants: Mapping[str, HostArray] | None = None,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module that computes the mean loss of every output over the rows that count.

    Arguments are inputs, labels (`target/…`), `valid_count`, parameters; results are `loss/…`.
    """
    found = loss_graph(network, losses, batch, sequence or {}, constants)
    return stablehlo_text(found, chlo=chlo, loops=loops)


def train_text(
    network: Network,
    settings: StepSettings,
    batch: int | None = None,
    sequence: Lengths | None = None,
    *,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module of one training step; its batch size and lengths replace the settings'.

    Arguments are inputs, labels, `valid_count`, parameters, the states of the optimizer and of
    layers, `lr`, `1/S`; results are the new parameters and states, `loss/…` and `overflow`.
    """
    found = train_graph(network, settings, batch, sequence or {})
    return stablehlo_text(found, chlo=chlo, loops=loops)


def network(source: str) -> Network:
    """Return the network of a text."""
    return elaborate(parse(source))


def losses(found: Network, sequence: Mapping[str, int]) -> dict[str, OutputLoss]:
    """Return the losses of a network without data, as its outputs suggest them."""
    chosen = objectives(found, sequence, None)
    return {name: objective.loss() for name, objective in chosen.items()}


def step_settings(found: Network, chosen: Mapping[str, OutputLoss], **given: Any) -> StepSettings:
    """Return the settings of a step with these hyperparameters, all that is automatic off."""
    off = {"regularization": "off", "gradient_scaling": "off", "gradient_clipping": "off"}
    written = parse_settings({"loss_weights": "off", **off, **given})
    settings = written.finish_without_data()
    return StepSettings(
        batch=0,
        rows=0,
        steps=1,
        sequence={},
        losses=chosen,
        optimizer=OPTIMIZERS[settings.optimizer],
        weights=resolve_loss_weights(settings),
        update=make_update_settings(found, settings),
    )


def train(source: str, batch: int | None, **given: Any) -> str:
    """Return the module of a step of a network without sequences."""
    found = network(source)
    return train_text(found, step_settings(found, losses(found, {}), **given), batch)


GOLDEN: Mapping[str, Callable[[], str]] = {
    "iris_inference": lambda: inference_text(network(IRIS), 5),
    "iris_loss": lambda: loss_text(network(IRIS), losses(network(IRIS), {})),
    "iris_train": lambda: train(
        IRIS, 5, optimizer="rlion", gradient_scaling="on", gradient_clipping="global"
    ),
    "digits_inference": lambda: inference_text(network(CNN)),
    "block_inference": lambda: inference_text(network(TRANSFORMER)),
}
"""Golden texts by name; those without numbers for their sizes have open ones."""


def golden_file(name: str) -> Path:
    """Return where a golden text is kept."""
    return FOLDER / f"{name}.mlir"


if __name__ == "__main__":
    for name, write in GOLDEN.items():
        golden_file(name).write_text(write())
