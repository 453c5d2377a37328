"""The networks of timm that can be loaded: their layers in order, by the name of the network.

Sources: A. Howard et al., "Searching for MobileNetV3", arXiv:1905.02244 (2019); D. Qin et al.,
"MobileNetV4: universal models for the mobile ecosystem", arXiv:2404.10518 (2024).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple


class Layer(NamedTuple):
    """A layer, or `times` of them one after the other.

    Attributes: `kernel`, of the convolution of each channel alone, 0 for none, or of the only
    convolution; `channels` of the result; `stride`, of the first one; `growth`, how many times as
    many channels as the input there are in between; `first`, the kernel of a convolution of each
    channel before they grow, 0 for none; `squeezes`, whether channels are weighted by what the
    whole picture has; `rectifies`, whether the activation is relu in any case; `heads` and `size`
    of attention, which reads a picture that is `shrunk` times as small.
    """

    kind: Literal["plain", "separable", "inverted", "fused", "universal", "attention"]
    kernel: int
    channels: int
    stride: int = 1
    growth: float = 1
    times: int = 1
    first: int = 0
    squeezes: bool = False
    rectifies: bool = False
    heads: int = 1
    size: int = 1
    shrunk: int = 1


Stages = Sequence[Sequence[Layer]]


class Network(NamedTuple):
    """A network: `stem` and `head` are the channels before and after its stages.

    `factor` multiplies channels, that of the stem only if `scales_stem`; `scales_layers`, whether
    the layers of MobileNet 4 have scales; `same`, whether pictures are padded as in TensorFlow.
    """

    version: int
    stages: Stages
    stem: int
    head: int
    activation: str
    factor: float
    scales_stem: bool
    scales_layers: bool
    same: bool
    epsilon: float


def _v3(
    kernel: int,
    channels: int,
    stride: int = 1,
    growth: float = 1,
    times: int = 1,
    *,
    squeezes: bool = False,
    rectifies: bool = False,
) -> Layer:
    kind = "inverted" if growth > 1 else "separable"
    more = {"squeezes": squeezes, "rectifies": rectifies}
    return Layer(kind, kernel, channels, stride, growth, times, **more)


def _v4(
    first: int, kernel: int, channels: int, growth: float, stride: int = 1, times: int = 1
) -> Layer:
    return Layer("universal", kernel, channels, stride, growth, times, first)


def _look(heads: int, size: int, channels: int, shrunk: int = 1) -> Layer:
    return Layer("attention", 3, channels, heads=heads, size=size, shrunk=shrunk)


def _conv(kernel: int, channels: int, stride: int = 1) -> Layer:
    return Layer("plain", kernel, channels, stride)


SMALL3: Stages = (
    (_v3(3, 16, 2, squeezes=True, rectifies=True),),
    (_v3(3, 24, 2, 4.5, rectifies=True), _v3(3, 24, 1, 3.67, rectifies=True)),
    (_v3(5, 40, 2, 4, squeezes=True), _v3(5, 40, 1, 6, 2, squeezes=True)),
    (_v3(5, 48, 1, 3, 2, squeezes=True),),
    (_v3(5, 96, 2, 6, 3, squeezes=True),),
    (_conv(1, 576),),
)
LARGE3: Stages = (
    (_v3(3, 16, rectifies=True),),
    (_v3(3, 24, 2, 4, rectifies=True), _v3(3, 24, 1, 3, rectifies=True)),
    (_v3(5, 40, 2, 3, 3, squeezes=True, rectifies=True),),
    (_v3(3, 80, 2, 6), _v3(3, 80, 1, 2.5), _v3(3, 80, 1, 2.3, 2)),
    (_v3(3, 112, 1, 6, 2, squeezes=True),),
    (_v3(5, 160, 2, 6, 3, squeezes=True),),
    (_conv(1, 960),),
)
LAST4 = (_conv(1, 960),)
FUSED4 = (Layer("fused", 3, 48, 2, 4),)
SMALL4: Stages = (
    (_conv(3, 32, 2), _conv(1, 32)),
    (_conv(3, 96, 2), _conv(1, 64)),
    (_v4(5, 5, 96, 3, 2), _v4(0, 3, 96, 2, times=4), _v4(3, 0, 96, 4)),
    (
        _v4(3, 3, 128, 6, 2),
        _v4(5, 5, 128, 4),
        _v4(0, 5, 128, 4),
        _v4(0, 5, 128, 3),
        _v4(0, 3, 128, 4, times=2),
    ),
    LAST4,
)
MEDIUM4: Stages = (
    FUSED4,
    (_v4(3, 5, 80, 4, 2), _v4(3, 3, 80, 2)),
    (
        _v4(3, 5, 160, 6, 2),
        _v4(3, 3, 160, 4, times=2),
        _v4(3, 5, 160, 4),
        _v4(3, 3, 160, 4),
        _v4(3, 0, 160, 4),
        _v4(0, 0, 160, 2),
        _v4(3, 0, 160, 4),
    ),
    (
        _v4(5, 5, 256, 6, 2),
        _v4(5, 5, 256, 4),
        _v4(3, 5, 256, 4, times=2),
        _v4(0, 0, 256, 4),
        _v4(3, 0, 256, 4),
        _v4(3, 5, 256, 2),
        _v4(5, 5, 256, 4),
        _v4(0, 0, 256, 4, times=2),
        _v4(5, 0, 256, 2),
    ),
    LAST4,
)
LARGE4_BEGIN = FUSED4, (_v4(3, 5, 96, 4, 2), _v4(3, 3, 96, 4))
LARGE4_THIRD = (_v4(3, 5, 192, 4, 2), _v4(3, 3, 192, 4, times=3), _v4(3, 5, 192, 4))
LARGE4_FOURTH = (
    _v4(5, 5, 512, 4, 2, times=4),
    _v4(5, 0, 512, 4),
    _v4(5, 3, 512, 4),
    _v4(5, 0, 512, 4, times=2),
    _v4(5, 3, 512, 4),
    _v4(5, 5, 512, 4),
)
LARGE4: Stages = (
    *LARGE4_BEGIN,
    (*LARGE4_THIRD, _v4(5, 3, 192, 4, times=5), _v4(3, 0, 192, 4)),
    (*LARGE4_FOURTH, _v4(5, 0, 512, 4, times=3)),
    LAST4,
)
LOOK_MEDIUM, LOOK_LARGE = _look(4, 64, 160, 2), _look(8, 48, 192, 2)
HYBRID_MEDIUM4: Stages = (
    *MEDIUM4[:2],
    (
        _v4(3, 5, 160, 6, 2),
        _v4(0, 0, 160, 2),
        _v4(3, 3, 160, 4),
        _v4(3, 5, 160, 4),
        LOOK_MEDIUM,
        _v4(3, 3, 160, 4),
        LOOK_MEDIUM,
        _v4(3, 0, 160, 4),
        LOOK_MEDIUM,
        _v4(3, 3, 160, 4),
        LOOK_MEDIUM,
        _v4(3, 0, 160, 4),
    ),
    (
        _v4(5, 5, 256, 6, 2),
        _v4(5, 5, 256, 4),
        _v4(3, 5, 256, 4, times=2),
        _v4(0, 0, 256, 2),
        _v4(3, 5, 256, 2),
        _v4(0, 0, 256, 2),
        _v4(0, 0, 256, 4),
        _look(4, 64, 256),
        _v4(3, 0, 256, 4),
        _look(4, 64, 256),
        _v4(5, 5, 256, 4),
        _look(4, 64, 256),
        _v4(5, 0, 256, 4),
        _look(4, 64, 256),
        _v4(5, 0, 256, 4),
    ),
    LAST4,
)
HYBRID_LARGE4: Stages = (
    *LARGE4_BEGIN,
    (
        *LARGE4_THIRD,
        _v4(5, 3, 192, 4, times=2),
        *(LOOK_LARGE, _v4(5, 3, 192, 4)) * 3,
        LOOK_LARGE,
        _v4(3, 0, 192, 4),
    ),
    (*LARGE4_FOURTH, *(_look(8, 64, 512), _v4(5, 0, 512, 4)) * 4),
    LAST4,
)
STAGES: Mapping[str, Stages] = {
    "mobilenetv3_small": SMALL3,
    "mobilenetv3_large": LARGE3,
    "mobilenetv4_conv_small": SMALL4,
    "mobilenetv4_conv_medium": MEDIUM4,
    "mobilenetv4_conv_large": LARGE4,
    "mobilenetv4_hybrid_medium": HYBRID_MEDIUM4,
    "mobilenetv4_hybrid_large": HYBRID_LARGE4,
}
"""The name without its factor → the stages."""
FACTORS = {
    "mobilenetv3_small": ("050", "075", "100"),
    "mobilenetv3_large": ("075", "100"),
    "tf_mobilenetv3_small": ("075", "100", "minimal_100"),
    "tf_mobilenetv3_large": ("075", "100", "minimal_100"),
    "mobilenetv4_conv_small": ("", "035", "050"),
    "mobilenetv4_conv_medium": ("",),
    "mobilenetv4_conv_large": ("",),
    "mobilenetv4_hybrid_medium": ("", "075"),
    "mobilenetv4_hybrid_large": ("", "075"),
}
"""What may follow it: a factor in hundredths, "minimal" for layers without what is slow."""
NAMES = tuple(
    f"{stem}_{factor}".rstrip("_") for stem, factors in FACTORS.items() for factor in factors
)


def find_network(name: str) -> Network | None:
    """Return a network by its name in timm, None for an unknown one.

    >>> network = find_network("tf_mobilenetv3_small_075")
    >>> network.factor, network.head, network.same
    (0.75, 1024, True)
    """
    if name not in NAMES:
        return None
    plain = name.removeprefix("tf_")
    factor = int(re.sub(r".*_(\d\d\d)$|.*", r"\1", plain) or 100) / 100
    stem = next(stem for stem in sorted(STAGES, key=len, reverse=True) if plain.startswith(stem))
    stages, tensorflow = STAGES[stem], plain != name
    epsilon = 1e-3 if tensorflow else 1e-5
    if "v3" in plain:
        small, minimal = "small" in plain, "minimal" in plain
        return Network(
            version=3,
            stages=_simplify(stages) if minimal else stages,
            stem=16,
            head=1024 if small else 1280,
            activation="relu" if minimal else "hardSwish",
            factor=factor,
            scales_stem=factor >= 0.75,
            scales_layers=False,
            same=tensorflow,
            epsilon=epsilon,
        )
    return Network(
        version=4,
        stages=stages,
        stem=24 if "large" in plain else 32,
        head=1280,
        activation="gelu" if stem == "mobilenetv4_hybrid_large" else "relu",
        factor=factor,
        scales_stem=factor >= 1,
        scales_layers="hybrid" in plain,
        same=False,
        epsilon=epsilon,
    )


def _simplify(stages: Stages) -> Stages:
    """Return the stages of a network with small kernels that weights no channels."""
    return [
        [layer._replace(kernel=min(layer.kernel, 3), squeezes=False) for layer in stage]
        for stage in stages
    ]
