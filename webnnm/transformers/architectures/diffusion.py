"""The parts that networks of latent diffusion share: convolution blocks and their names.

Source: R. Rombach et al., "High-resolution image synthesis with latent diffusion models",
arXiv:2112.10752 (2022).
"""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.errors import DataError
from webnnm.transformers.architectures.model_text import layers
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.config import MAX_COUNT, Config

MAX_LEVELS, MAX_WIDTH = 16, 1 << 16
"""The most levels, and the most channels of one."""
DOUBLED = "resample2d(scales=[2, 2])"
"""The layer that doubles height and width: each pixel becomes four."""


class Body(ParameterNames):
    """The layers of a network in order, and the names of their weights in the file."""

    def __init__(self, groups: int, epsilon: float) -> None:
        super().__init__()
        self.rows: list[str] = []
        self.groups, self.epsilon = groups, epsilon

    def add(self, *rows: str) -> None:
        """Add layers."""
        self.rows += rows

    def name_last(self, name: str) -> None:
        """Name the result of the last layer."""
        self.rows[-1] = f"{self.rows[-1][:-1]}, name={name})"

    def convolution(self, parameter: str, layer: str, filters: int, options: str = "") -> None:
        """Add a 3 × 3 convolution."""
        self.add(
            f"conv2d({parameter}, filters={filters}, kernel=3, padding=1, "
            f"bias={parameter}_b{options})"
        )
        self.weight(parameter, layer)

    def norm(self, parameter: str, layer: str) -> None:
        """Add a group normalisation followed by an activation."""
        self.add(f"normed(weight={parameter}, bias={parameter}_b)")
        self.weight(parameter, layer)

    def resnet(self, layer: str, before: int, filters: int, *, timed: bool = False) -> None:
        """Add a residual block of two convolutions."""
        kept = "identity" if before == filters else "projected"
        self.add(f"resnet(filters={filters}, kept={kept})")
        parameters = {
            "first_norm": "norm1",
            "first": "conv1",
            "second_norm": "norm2",
            "second": "conv2",
        }
        for parameter, name in parameters.items():
            self.weight(parameter, f"{layer}.{name}")
        if timed:
            self.matrix("shift", f"{layer}.time_emb_proj")
        if before != filters:
            self.weight("shortcut", f"{layer}.conv_shortcut")

    def blocks(self, activation: str, *, timed: bool) -> list[str]:
        """Return the statements of the blocks that the layers call."""
        norm = f"groupNorm(groups={self.groups}, epsilon={self.epsilon}, scale=weight, bias=bias)"
        shift = (
            activation.replace("(", "(node=time", 1),
            "matmul(shift, shape=[filters])",
            "add(shift_b)",
            "reshape([filters, 1, 1], name=shifted)",
            "add([drawn, shifted])",
        )
        rows = layers(
            "kept(name=past)",
            "normed(node=input, weight=first_norm, bias=first_norm_b)",
            "conv2d(first, filters=filters, kernel=3, padding=1, bias=first_b, name=drawn)",
            *(shift if timed else ()),
            "normed(weight=second_norm, bias=second_norm_b)",
            "conv2d(second, filters=filters, kernel=3, padding=1, bias=second_b)",
            "residual(to=past)",
        )
        projection = "conv2d(shortcut, filters=filters, kernel=1, bias=shortcut_b)"
        projects = any(name.startswith("shortcut") for name in self.names)
        return [
            f"resnet:layers\n{rows}",
            f"projected:layers {projection}" if projects else "",
            f"normed:layers\n{layers(norm, activation)}",
        ]


def widths(config: Config, key: str, default: Sequence[int], groups: int) -> list[int]:
    """Return the channels of each level. Raises NNM818 unless groups divide them evenly."""
    listed = config.integers(key, [*default], 1, MAX_WIDTH)
    if not 0 < len(listed) <= MAX_LEVELS:
        raise config.wrong(key, f"a list of 1 to {MAX_LEVELS} integers")
    if any(width % groups for width in listed):
        message = f'config.json: "{key}" is {listed}, which {groups} groups do not divide evenly'
        raise DataError("NNM818", message, hint='see "norm_num_groups"')
    return listed


def kinds(config: Config, key: str, supported: Sequence[str], count: int) -> list[str]:
    """Return the kinds of blocks. Raises `DataError` NNM818 for unknown kinds."""
    names = config.texts(key, [supported[0]] * count)
    if len(names) != count:
        raise config.wrong(key, f"a list of {count} kinds of blocks, one for each level")
    for kind in names:
        if kind not in supported:
            raise config.not_supported(key, kind, f"supported blocks are {' or '.join(supported)}")
    return names


def per_level(config: Config, key: str, default: int, count: int) -> list[int]:
    """Return a number for each level; a config may give one for all."""
    if not isinstance(config.get(key), list):
        return [config.integer(key, default, 1, MAX_COUNT)] * count
    listed = config.integers(key, None, 1, MAX_COUNT)
    if len(listed) != count:
        raise config.wrong(key, f"an integer from 1, or {count} of them")
    return listed
