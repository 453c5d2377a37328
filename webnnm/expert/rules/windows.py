"""Rules on convolutions and poolings: what their windows never see (E321–E323, E331, E334)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from webnnm.core.shapes import count
from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.paths import (
    POSITIONS_REMEDY,
    ancestors,
    avoidable,
    keeps_positions,
    pools_without_positions,
)
from webnnm.expert.rules.rule import Hit, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN
from webnnm.graph.elaboration.vertices import (
    LayerVertex,
    Network,
)

MIN_LARGE_WINDOW, MIN_PIXELS = 3, 16
"""Convolutions are usually pooled in windows of 2 × 2; in a picture of 16 pixels, figures are a few
pixels large."""
MIN_SIDE = 3
"""Smaller pictures have no neighbours to see."""


def _is_convolution(layer: LayerVertex) -> bool:
    """Return whether a layer is a convolution, which is not transposed."""
    return layer.has("convolution") and layer.operator.name != "convTranspose2d"


def _has_windows(layer: LayerVertex) -> bool:
    """Return whether a layer takes windows of a picture, which its strides may skip."""
    return layer.has("windowed") and layer.operator.name != "convTranspose2d"


def _taps(layer: LayerVertex) -> Sequence[tuple[int, int]]:
    """Return for each dimension how many values a window takes, and how far apart they are."""
    options = layer.options
    kernel: Any = options.get("kernel") or options.get("window_dimensions")
    if kernel is None:  # that of the filters; a pool without a window takes the whole picture
        filters = layer.operands[1].features.sizes()[2:] if len(layer.operands) > 1 else ()
        kernel = filters or _spatial(layer)
    return [*zip(_to_list(kernel), _to_list(options["dilations"]), strict=False)]


def _window(layer: LayerVertex) -> Sequence[int]:
    return [(number - 1) * dilation + 1 for number, dilation in _taps(layer)]


def _strides(layer: LayerVertex) -> Sequence[int]:
    return _to_list(layer.options["strides"] or _window(layer))


def _to_list(value: Any) -> Sequence[int]:
    return (value,) if isinstance(value, int) else value


@rule(
    "E321",
    "warning",
    "Use strides no larger than the kernel.",
    explains=[*BEATEN, "E902", "E903", "E922"],
)
def stride_gaps(facts: Facts) -> Hit | None:
    """Values between the windows of a convolution or pooling are never read: strides are larger
    than the kernel, or share a factor with its dilation.

    Skipped values cannot contribute, whatever is learnt. Residual networks have strided kernels of
    one pixel: these are excepted after layers whose windows reach as far, and where there is a path
    around them.

    >>> from webnnm import review
    >>> text = "m:input shape={channels:1, height:8, width:8}; m:output shape=[2]; m:layers "
    >>> text += "conv2d(f, filters=4, kernel=2, strides=4), flatten(), matmul(w), softmax();"
    >>> print(review(text).finding("E321"))
    warning E321 line 1, column 77: conv2d1 looks at 2 × 2 values in steps of 4 × 4: 12 of 16 ...
      → Use strides no larger than the kernel.

    Ignore it where neighbouring values are nearly equal and skipping is meant to save time.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if _has_windows(layer):
            taps, steps = _taps(layer), _strides(layer)
            total = count(steps)
            seen = count(
                len({n * dilation % step for n in range(number)})
                for (number, dilation), step in zip(taps, steps, strict=False)
            )
            if seen < total and (max(_window(layer)) > 1 or _leaves_gaps(facts.network, layer)):
                size = " × ".join(str(number) for number, _ in taps)
                spacing = " × ".join(str(dilation) for _, dilation in taps)
                wide = f", {spacing} apart," * any(dilation > 1 for _, dilation in taps)
                messages[layer.label] = (
                    f"{layer.label} looks at {size} values{wide} in steps of "
                    f"{' × '.join(map(str, steps))}: {total - seen} of {total} are skipped"
                )
    return merge_hits(messages)


def _leaves_gaps(network: Network, layer: LayerVertex) -> bool:
    """Return whether values that a layer skips are seen by no other layer, nor by windows before
    it."""
    if avoidable(network, layer):
        return False
    reach = step = 1
    for before in network.order:
        if before is layer:
            break
        if _has_windows(before):
            reach += (max(_window(before)) - 1) * step
            step *= max(_strides(before))
        elif not (keeps_positions(before) or before.has("normalization")):  # mixes distant values
            return False
    return max(_strides(layer)) * step > reach


def _spatial(layer: LayerVertex) -> Sequence[int]:
    """Return the spatial sizes of the input of a convolution or pooling."""
    features, options = layer.operands[0].features, layer.options
    names, sizes = features.names, features.sizes()
    axes = range(len(sizes))
    named = [axis for axis in axes if names[axis] in ("height", "width", "length")]
    layout = options.get("input_layout") or options.get("layout") or "nchw"
    if layer.operator.name == "conv1d":
        layout = "ncl" if names[0] == "channels" else "nlc"
    channels_last = layout.endswith("c")
    return [sizes[axis] for axis in named or (axes[:-1] if channels_last else axes[1:])]


@rule(
    "E322",
    "warning",
    "Pool less, or after the convolutions.",
    explains=[*BEATEN, "E310", "E902", "E903", "E908", "E922", "E924"],
)
def single_pixel(facts: Facts) -> Hit | None:
    """A convolution with a kernel larger than 1 gets a picture of a single pixel.

    All but one of its weights only see padding. The content of the picture was averaged away by the
    pooling before.

    >>> from webnnm import review
    >>> text = "m:input shape={channels:1, height:2, width:2}; m:output shape=[2]; m:layers "
    >>> text += "averagePool2d(windowDimensions=2, strides=2), "
    >>> text += "conv2d(f, filters=4, kernel=3, padding=same), flatten(), matmul(w), softmax();"
    >>> print(review(text).finding("E322"))
    warning E322 line 1, column 123: conv2d1 has a kernel of 3 × 3 for a single pixel
      → Pool less, or after the convolutions.

    Ignore it where the weights come from a model for larger pictures.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if _is_convolution(layer) and not layer.features[0].sequence:
            sizes, kernel = _spatial(layer), _window(layer)
            if sizes and max(sizes) == 1 and max(kernel) > 1:
                size = " × ".join(map(str, kernel))
                messages[layer.label] = f"{layer.label} has a kernel of {size} for a single pixel"
    return merge_hits(messages)


@rule(
    "E323",
    "warning",
    POSITIONS_REMEDY,
    confidence=0.7,
    refuted=True,
    explains=[*BEATEN, "E310", "E329", "E902", "E903", "E908", "E922", "E924"],
)
def positions_pooled_away(facts: Facts) -> Hit | None:
    """Where something is tells the target, and everything is pooled over all positions after
    windows that reach over less than half of the picture or signal, or less than all of it if the
    target is a place: if the centre of what is there explains half of its variance; only
    information after a training with a skill of 0.95 on other rows.

    The mean, sum or maximum over all positions keeps how much of a pattern there is and forgets
    where it is. What windows see is kept; those that reach over half of a picture know how most of
    it is arranged. Whether positions matter is tried: the parts of a picture are compared with each
    other, and differ more between the targets than in any of 499 random orders of them. In 0.2% of
    the data in which positions mean nothing, that happens by chance.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape={channels:1, height:8, width:8}; m:output shape=[2]; m:layers "
    >>> text += "conv2d(f, filters=4, kernel=3), relu(), globalAveragePool(), matmul(w), softmax();"
    >>> spots = [(i * 7 % 8, i * 5 % 8) for i in range(100)]
    >>> rows = [[[[float((y, x) == p) for x in range(8)] for y in range(8)]] for p in spots]
    >>> data = Dataset(rows, [x // 4 for _, x in spots])
    >>> print(review(text, data).finding("E323"))
    warning E323 line 1, column 117: globalAveragePool1 takes all places together, after windows ...
      → Use flatten() in place of the pooling, or pool to a few parts, such as averagePool2d ...

    Ignore it where the same things will be elsewhere in new pictures.
    """
    positions = facts.data.suspicions.get("E323")
    pools = pools_without_positions(facts.network)
    if positions is None or not pools:
        return None
    reach, sides = _reach(facts.network, pools)
    farthest = 1 if positions.evidence.get("is_place") else 2
    if not sides or farthest * reach >= min(sides):
        return None
    verb = "takes" if len(pools) == 1 else "take"
    return Hit(
        message=f"{' and '.join(pools)} {verb} all places together, after windows of {reach} of "
        f"{' × '.join(map(str, sides))} values, and {positions.message}",
        nodes=pools,
    )


def _reach(network: Network, pools: Sequence[str]) -> tuple[int, Sequence[int]]:
    """Return over how many values windows reach before everything is pooled, and how many values
    there are along each dimension."""
    reach = step = 1
    sides: Sequence[int] = ()
    for layer in network.order:
        if layer.label in pools:
            break
        if _has_windows(layer):
            sides = sides or _spatial(layer)
            reach += (max(_window(layer)) - 1) * step
            step *= max(_strides(layer))
    return reach, sides


@rule(
    "E334",
    "advice",
    "Give the convolutions kernels of 3.",
    confidence=0.6,
    refuted=True,
    explains=[*BEATEN, "E310", "E902", "E903", "E908", "E922", "E924"],
)
def single_values_seen(facts: Facts) -> Hit | None:
    """Everything is pooled over all positions, and no window before that is larger than one value;
    only information after a training with a skill of 0.95 on other rows.

    Kernels of 1 combine the channels of one pixel. Without a larger one, and with all pixels
    pooled, the model knows which values occur, in any order: a picture of shuffled pixels is the
    same to it.

    >>> from webnnm import review
    >>> text = "m:input shape={channels:1, height:8, width:8}; m:output shape=[2]; m:layers "
    >>> text += "conv2d(f, filters=4, kernel=1), relu(), globalAveragePool(), matmul(w), softmax();"
    >>> print(review(text).finding("E334"))
    advice E334 line 1, column 117: globalAveragePool1 pools what windows of a single value see
      → Give the convolutions kernels of 3.

    Ignore it where only colours matter.
    """
    pools = pools_without_positions(facts.network)
    reach, sides = _reach(facts.network, pools)
    if not pools or reach > 1 or not sides or min(sides) < MIN_SIDE:
        return None
    names = " and ".join(pools)
    return Hit(message=f"{names} pools what windows of a single value see", nodes=pools)


@rule(
    "E331",
    "warning",
    "Put a convolution before it, and pool after that with strides of 2.",
    confidence=0.7,
    refuted=True,
    explains=[*BEATEN, "E310", "E902", "E903", "E908", "E922", "E924"],
)
def early_pooling(facts: Facts) -> Hit | None:
    """Windows of 3 × 3 or more, by one pooling or several, are pooled before the first convolution,
    and leave a picture of fewer than 16 pixels a side; only information after a training with a
    skill of 0.95 on other rows.

    A mean or maximum of raw pixels is all that is left of a window: lines and edges within it are
    gone before a filter can see them. Large pictures can be reduced in this way: what is larger
    than the window is kept.

    >>> from webnnm import review
    >>> text = "m:input shape={channels:1, height:16, width:16}; m:output shape=[2]; m:layers "
    >>> text += "averagePool2d(windowDimensions=4, strides=4), conv2d(f, filters=4, kernel=3), "
    >>> text += "relu(), flatten(), matmul(w), softmax();"
    >>> print(review(text).finding("E331"))
    warning E331 line 1, column 79: averagePool2d1 leaves 4 × 4 of 16 × 16 pixels to the first ...
      → Put a convolution before it, and pool after that with strides of 2.

    Ignore it where the figures to recognise are larger than the windows.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if not _is_convolution(layer):
            continue
        before = list(ancestors(layer))
        pools = [
            layer_before
            for layer_before in before
            if layer_before.has("pooling") and layer_before.has("windowed")
        ]
        if not pools or any(layer_before.has("product") for layer_before in before):
            continue
        pools.sort(key=facts.network.order.index)
        first, last = pools[0], pools[-1]
        sizes_before, sizes_after = _spatial(first), _spatial(layer)
        window = math.prod(min(_window(pool), default=1) for pool in pools)
        if window >= MIN_LARGE_WINDOW and max(sizes_after, default=0) < MIN_PIXELS:
            parts, pixels = (" × ".join(map(str, sizes)) for sizes in (sizes_after, sizes_before))
            names = " and ".join(pool.label for pool in pools)
            verb = "leaves" if len(pools) == 1 else "leave"
            messages[last.label] = (
                f"{names} {verb} {parts} of {pixels} pixels to the first convolution"
            )
    return merge_hits(messages)
