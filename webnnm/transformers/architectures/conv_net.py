"""Networks of convolutions with batch norms: their layers in order, and the names of weights.

The norms use running statistics, which are parameters: S. Ioffe, C. Szegedy, "Batch
normalization", arXiv:1502.03167 (2015).
"""

from __future__ import annotations

from webnnm.transformers.architectures.model_text import (
    count_classes,
    layers,
    linear_layers,
    output,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import Picture
from webnnm.transformers.config import Config

STATES = "last_hidden_state"
BASE, CLASSES = "Model", "ForImageClassification"
COUNTERS = "*num_batches_tracked"
"""Tensors of files that only trainings read."""


class ConvNet(ParameterNames):
    """The layers of a network, and the channels, height and width of the last one's result.

    Attribute `grids`: the height and width of named results.
    """

    def __init__(self, seen: Picture) -> None:
        super().__init__()
        self.rows: list[str] = []
        self.grids: dict[str, tuple[int, int]] = {}
        self.channels, self.height, self.width = seen.channels, seen.height, seen.width

    @property
    def shape(self) -> str:
        """The shape of the result of the last layer."""
        return f"{{channels:{self.channels}, height:{self.height}, width:{self.width}}}"

    def add(self, *rows: str) -> None:
        """Add layers."""
        self.rows += rows

    def call(self, row: str) -> None:
        """Add a layer; one that is equal to the last one is its repetition."""
        last, _, times = (self.rows[-1] if self.rows else "").partition(", repeat=")
        if f"{last})" == row if times else last == row:
            self.rows[-1] = f"{row[:-1]}, repeat={int(times[:-1] or 1) + 1 if times else 2})"
        else:
            self.rows.append(row)

    def name_last(self, name: str) -> None:
        """Name the result of the last layer."""
        self.grids[name] = self.height, self.width
        self.rows[-1] = f"{self.rows[-1][:-1]}, name={name})".replace("(, ", "(")

    def shrink(self, stride: int, *, kernel: int = 1, padding: int = 0) -> None:
        """Divide height and width by a stride: as many windows as fit, by default rounded up."""
        for side in ("height", "width"):
            setattr(self, side, (getattr(self, side) + padding - kernel) // stride + 1)

    def unit(
        self, filters: int, kernel: int, stride: int = 1, *, activation: str = "act", **more: object
    ) -> str:
        """Return the call of a convolution with its norm; `more` are further options of it."""
        options: dict[str, object] = {"filters": filters, "kernel": kernel}
        options |= {"strides": stride} if stride > 1 else {}
        options |= {name: value for name, value in more.items() if value}
        return f"unit({', '.join(f'{k}={v}' for k, v in options.items())}, activation={activation})"

    def record_unit(self, convolution: str, norm: str) -> None:
        """Record the tensors of a convolution and of its norm."""
        self.weight("filter", convolution, bias=False)
        self.record_norm(norm)

    def record_norm(self, norm: str) -> None:
        """Record the tensors of a batch norm."""
        number = self.weight("batch_norm", norm)
        self.names[f"mean{number}"] = f"{norm}.running_mean"
        self.names[f"variance{number}"] = f"{norm}.running_var"


def unit_statements(activation: str, epsilon: float = 1e-5) -> list[str]:
    """Return the statements of the blocks `unit`, of a convolution and its norm, and `act`."""
    rows = layers(
        "conv2d(filter, filters=filters, kernel=kernel, strides=strides, padding=padding, "
        "dilations=dilations, groups=groups)",
        f"batchNorm(scale=batch_norm, bias=batch_norm_b, epsilon={epsilon})",
        "activation()",
    )
    return [f"unit:layers\n{rows}", f"act:layers {activation}"]


def weight_channels(activation: str = "act()", gate: str = "sigmoid()") -> str:
    """Return the statement of the block `weighted`: channels times what all of them decide.

    Source: J. Hu et al., "Squeeze-and-excitation networks", arXiv:1709.01507 (2017).
    """
    rows = layers(
        "globalAveragePool()",
        "reshape([inner, 1, 1])",
        "conv2d(squeeze, filters=squeezed, kernel=1, bias=squeeze_b)",
        activation,
        "conv2d(excite, filters=inner, kernel=1, bias=excite_b)",
        gate,
        "mul(input)",
    )
    return f"weighted:layers\n{rows}"


def write_outputs(
    config: Config,
    kind: str,
    body: ConvNet,
    *pooled: str,
    pooled_shape: str,
    classes: int | None = None,
) -> list[str]:
    """Return the statements of the outputs of a class; `pooled` are the layers after its body.

    A base model gives the states and what is pooled from them, a classifier logits of `classes`, by
    default those of the config.
    """
    if kind == BASE:
        rows = pooled[0].replace("(", f"(node={STATES}", 1), *pooled[1:]
        return [
            f"{STATES}:output shape={body.shape}",
            f"{STATES}:layers\n{layers(*body.rows)}",
            f"pooler_output:output shape={pooled_shape}",
            f"pooler_output:layers\n{layers(*rows)}",
        ]
    size = classes or count_classes(config)
    rows = (*body.rows, *pooled, "flatten()", *linear_layers("classifier", size))
    return output("logits", size, *rows, tokens=False)
