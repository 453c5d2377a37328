"""Rules on single layers: what they forget, skip or never see (E316–E323, E331–E337, E408–E413)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from webnnm.core.shapes import count
from webnnm.expert.facts.facts import Facts, FeatureFacts
from webnnm.expert.facts.paths import (
    POSITIONS_REMEDY,
    ancestors,
    avoidable,
    factor,
    keeps_positions,
    origin,
    pools_without_order,
    pools_without_positions,
    propagate,
    tail,
    users,
    weight,
)
from webnnm.expert.facts.structure import numbers, scales
from webnnm.expert.rules.capacity import MAX_DROPOUT
from webnnm.expert.rules.rule import Hit, evidence_by_input, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, OVERFITTING, STUCK, UNSTABLE
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Network,
    ParameterVertex,
    Vertex,
)
from webnnm.ops.declare.operator import no_gradient

MAX_SMALL_NORM = 3
"""A layer normalisation removes mean and scale from its values: of two numbers it leaves which one
is larger, of three an angle. From four numbers on, most of the information is left."""
MAX_FACTOR = 1000.0
"""By how much constant factors may multiply values in total. Attention divides by the root of the
width, pictures are divided by 255; 1,000 is beyond both."""
MAX_INPUT_DROPOUT = 0.2
"""The share of the input that may be dropped (Srivastava et al. 2014, section 10: 20 %)."""
MIN_SIMILAR_FEATURES = 32
"""From this number on, features replace each other when some are dropped; of fewer, each counts."""
BOTTLENECK_RATIO = 4
"""A layer is a bottleneck if it is at most a fourth as wide as what precedes it and as the
classes."""
MIN_LARGE_WINDOW, MIN_PIXELS = 3, 16
"""Convolutions are usually pooled in windows of 2 × 2; in a picture of 16 pixels, figures are a few
pixels large."""
MIN_DEVIATION, MIN_EXTENT, MAX_DEVIATION = 0.03, 0.1, 10.0
"""Inputs that spread less, or more, meet weights that are made for a deviation of 1."""
MIN_SIDE = 3
"""Smaller pictures have no neighbours to see."""
CHANGES: Mapping[str, Callable[[float], tuple[float, float]]] = {
    "add": lambda number: (1.0, number),
    "sub": lambda number: (1.0, -number),
    "mul": lambda number: (number, 0.0),
    "div": lambda number: (1 / number, 0.0),
}
"""The factor and the shift of an operation with a number."""
ZEROS_REMEDY = "Put add(1) before it: log(1 + x) is 0 at 0."


@rule("E316", "warning", "Use tanh, sigmoid or softsign, which have a gradient.", explains=STUCK)
def without_gradient(facts: Facts) -> Hit | None:
    """Parameters reach the outputs only through layers without a gradient.

    Steps, roundings and comparisons are flat wherever they are defined: sign, floor, ceil,
    roundEven, equal, argMax and others. Training moves parameters along gradients, and none flows
    back through these layers.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8]), sign(), matmul(v), softmax();"
    >>> print(review(text).finding("E316"))
    warning E316 line 1, column 71: w1 cannot learn: no gradient through sign1
      → Use tanh, sigmoid or softsign, which have a gradient.

    Ignore it where these parameters were trained elsewhere and should stay as they are.
    """
    reached: set[int] = set()
    waiting = [output.source.vertex for output in facts.network.outputs]
    flat: list[LayerVertex] = []
    while waiting:
        vertex = waiting.pop()
        if id(vertex) in reached:
            continue
        reached.add(id(vertex))
        if isinstance(vertex, LayerVertex):
            if getattr(vertex.operator, "gradient", None) is no_gradient:
                flat.append(vertex)
            else:
                waiting += [source.vertex for source in vertex.sources()]
    stuck = [p.name for p in facts.network.parameters if p.trainable and id(p) not in reached]
    if not stuck or not flat:
        return None
    labels = [layer.label for layer in flat]
    message = f"{join_names(stuck)} cannot learn: no gradient through {join_names(labels)}"
    return Hit(message=message, nodes=labels)


@rule("E317", "warning", "Leave it out.", explains=STUCK)
def negative_logarithm(facts: Facts) -> Hit | None:
    """A logarithm or square root is taken of an input with features that have negative values, or
    of units that have them; or a logarithm of zeros, as relu leaves them, or a root of such units,
    which has an infinite slope there.

    A feature whose lowest value is not known is negative in some rows if its mean is less than one
    standard deviation above 0; standardised features always are. Products have results of both
    signs. The result is NaN or infinite, which spreads to the loss and every parameter.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers log(), matmul(w), add(b);"
    >>> data = Dataset([[i - 10.0] for i in range(20)], [[0.1 * i] for i in range(20)])
    >>> print(review(text, data).finding("E317"))
    warning E317 line 1, column 49: log1 of 0 (from -9 to 9), which has negative values
      → Leave it out.

    Ignore it where all values are known to be positive, as with many small and few large ones.
    """
    messages: dict[str, str] = {}
    remedies: dict[str, None] = {}
    for layer in facts.network.order:
        if not layer.has("positive"):
            continue
        is_root = layer.operator.name == "sqrt"
        vertex = origin(layer.operands[0].vertex)
        if isinstance(vertex, InputVertex):
            features = facts.data.features.get(vertex.block, ())
            below = [f for f in features if _leaves_domain(f, is_root=is_root)]
            zeros = all(f.low == 0 for f in below)
            if below:
                names = join_names(f"{f.name} ({_describe_extent(f)})" for f in below)
                kind = "is 0 in some rows" if zeros else "has negative values"
                messages[layer.label] = f"{layer.label} of {names}, which {kind}"
                remedies[ZEROS_REMEDY if zeros else "Leave it out."] = None
        elif isinstance(vertex, LayerVertex) and (signs := _describe_signs(vertex)):
            messages[layer.label] = f"{layer.label} of {vertex.label}, {signs}"
            remedies["Leave it out, or put softplus() before it."] = None
    return merge_hits(messages, remedy=" ".join(remedies))


def _leaves_domain(feature: FeatureFacts, *, is_root: bool) -> bool:
    """Return whether a logarithm, or a root, of a feature is not a number in some rows."""
    if feature.low == -math.inf:
        return feature.mean < feature.std
    return feature.low < 0 or (feature.low == 0 and not is_root)


def _describe_extent(feature: FeatureFacts) -> str:
    if feature.low == -math.inf:
        return f"mean {feature.mean:.3g}, std {feature.std:.3g}"
    return f"from {feature.low:.3g} to {feature.high:.3g}"


def _describe_signs(layer: LayerVertex) -> str:
    """Return what is wrong with a logarithm or root of the results of a layer, "" if nothing is."""
    if layer.operator.silent_below == 0 and layer.operator.bounds[0] == 0:
        return "whose results are often 0"
    before = layer.operands[0].vertex if layer.has("additive") else layer
    if isinstance(before, LayerVertex) and before.has("product"):
        return "whose results have both signs"
    return ""


@rule(
    "E332", "warning", "Put add(1) before the logarithm instead.", explains=[*STUCK, "E329", "E603"]
)
def logarithm_of_tiny_shift(facts: Facts) -> Hit | None:
    """A logarithm is taken of an input plus a number, or clamped to it, that is so small that zeros
    become extreme: more than three standard deviations of all other logarithms below the lowest of
    them. 1 % or more of the values of a feature are 0.

    log(x + 1e-8) is −18 at 0, and 0.7 at 2: the products after it hardly see anything but which
    values are 0. With a number of the size of the values, zeros are next to them.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers add(1e-8), log(), matmul(w);"
    >>> data = Dataset([[float(i % 4)] for i in range(60)], [[0.1 * i] for i in range(60)])
    >>> print(review(text, data).finding("E332"))
    warning E332 line 1, column 60: log1 of 0 + 1e-08 is far from all others: column 0 ...
      → Put add(2) before log1, in place of add1.

    Ignore it where being 0 is all that matters.
    """
    amounts = evidence_by_input(facts, "E332")
    messages: dict[str, str] = {}
    remedies: list[str] = []
    for layer in facts.network.order:
        if layer.operator.name != "log" or not isinstance(layer.operands[0].vertex, LayerVertex):
            continue
        shift = layer.operands[0].vertex
        vertex, epsilon = origin(shift.operands[0].vertex), _shift(shift)
        if epsilon <= 0 or not isinstance(vertex, InputVertex):
            continue
        far = [one for one in amounts.get(vertex.block, ()) if one.is_far(epsilon)]
        if far:
            names = join_names(f"{one.name} is 0 in {one.zeros:.0%}" for one in far)
            messages[layer.label] = (
                f"{layer.label} of 0 + {epsilon:g} is far from all others: {names} of the rows"
            )
            usual = f"{float(f'{max(1.0, *(one.median for one in far)):.1g}'):g}"
            remedies.append(f"Put add({usual}) before {layer.label}, in place of {shift.label}.")
    return merge_hits(messages, remedy=" ".join(remedies))


def _shift(layer: LayerVertex) -> float:
    """Return the number that a layer adds, or below which it lets nothing through; 0 for others."""
    name = layer.operator.name
    if name == "clamp":
        return float(layer.options["min_value"] or 0.0)
    second = layer.operands[1].vertex if len(layer.operands) > 1 else None
    if name in ("add", "max") and isinstance(second, LiteralVertex):
        return float(second.data) if isinstance(second.data, (int, float)) else 0.0
    return 0.0


@rule(
    "E333",
    "warning",
    "Leave these constants out, and standardise the inputs: standardize=True.",
    explains=[*STUCK, *UNSTABLE, "E310", "E329"],
)
def wrong_constants(facts: Facts) -> Hit | None:
    """Numbers that the text adds to an input, or multiplies it by, leave most features with a
    deviation below 0.03 within an extent of 0.1, with one above 10, or with a mean of more than
    three deviations, of at least 1, from 0; not before a normalisation or a logarithm.

    Dividing bytes by 255 is right, dividing what was divided before, or was standardised, leaves
    numbers around 0.001: the first weights would have to be hundreds of times larger than they
    start. Constants in a text do not adapt to data that come in another scale.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers div(255), matmul(w), add(b);"
    >>> data = Dataset([[i / 60] for i in range(60)], [[0.1 * i] for i in range(60)])
    >>> print(review(text, data).finding("E333"))
    warning E333 line 1, column 49: after div1, inputs of m have a mean of 0.001...
      → Leave div1 out.

    Ignore it where the inputs of use differ from those of the training in this way.
    """
    using = users(facts.network)
    for vertex in facts.network.inputs:
        features = [f for f in facts.data.features.get(vertex.block, ()) if f.std > 0]
        factor, shift, chain, last = _find_constants(vertex, using)
        if not features or not chain or last is None or scales(last):
            continue
        if not _is_badly_scaled(features, factor, shift):
            continue
        names = " and ".join(layer.label for layer in chain)
        right = not _is_badly_scaled(features, 1.0, 0.0)
        return Hit(
            message=f"after {names}, inputs of {vertex.block} have a mean of "
            f"{_describe_scale(features, factor, shift)}; without, "
            f"{_describe_scale(features, 1.0, 0.0)}",
            nodes=[layer.label for layer in chain],
            remedy=f"Leave {names} out." if right else "",
        )
    return None


def _find_constants(
    vertex: InputVertex, using: Mapping[int, list[LayerVertex]]
) -> tuple[float, float, list[LayerVertex], LayerVertex | None]:
    """Return the factor and the shift of the constants that an input first meets, their layers, and
    the layer after them."""
    factor, shift, chain = 1.0, 0.0, list[LayerVertex]()
    before: Vertex = vertex
    while len(following := using.get(id(before), ())) == 1:
        (layer,) = following
        second = layer.operands[1].vertex if len(layer.operands) > 1 else None
        if layer.has("arithmetic") and isinstance(second, LiteralVertex):
            change = _affine(layer.operator.name, second.data)
            if change is None or layer.operands[0].vertex is not before:
                return factor, shift, chain, layer
            factor, shift = factor * change[0], shift * change[0] + change[1]
            chain.append(layer)
        elif not layer.has("passing"):
            return factor, shift, chain, layer
        before = layer
    return factor, shift, chain, None


def _affine(operator: str, number: Any) -> tuple[float, float] | None:
    """Return the factor and the shift of an operation with a number, None for other operands."""
    if not isinstance(number, (int, float)) or not number or not math.isfinite(number):
        return None
    change = CHANGES.get(operator)
    return None if change is None else change(number)


def _summarize(
    features: Sequence[FeatureFacts], factor: float, shift: float
) -> tuple[float, float]:
    """Return the median mean and the median deviation of features after constants."""
    means = sorted(f.mean * factor + shift for f in features)
    deviations = sorted(f.std * abs(factor) for f in features)
    return means[len(means) // 2], deviations[len(deviations) // 2]


def _describe_scale(features: Sequence[FeatureFacts], factor: float, shift: float) -> str:
    mean, deviation = _summarize(features, factor, shift)
    mean = mean if abs(mean) > deviation / 1000 else 0.0
    return f"{mean:.3g} and a deviation of {deviation:.3g}"


def _is_badly_scaled(features: Sequence[FeatureFacts], factor: float, shift: float) -> bool:
    """Return whether most features are too small, too large, or far from 0, after constants."""
    mean, deviation = _summarize(features, factor, shift)
    extent = abs(factor) * (max(f.high for f in features) - min(f.low for f in features))
    small = deviation < MIN_DEVIATION and extent < MIN_EXTENT
    return small or deviation > MAX_DEVIATION or abs(mean) > 3 * max(deviation, 1.0)


@rule(
    "E318",
    "warning",
    "Leave the factors out: weights learn their own scale.",
    explains=[*STUCK, *UNSTABLE, "E310", "E329"],
)
def constant_factors(facts: Facts) -> Hit | None:
    """Constant factors after a product multiply values by more than 1,000 or less than 0.001 on the
    way to the last product.

    Initial weights preserve the size of values from layer to layer. Factors between them change it
    by their product, and the gradients as well, until softmax is certain of random answers or the
    signal vanishes. A normalisation removes all factors before it.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[8]), mul(50), "
    >>> text += "relu(), matmul(v, shape=[8]), mul(50), relu(), matmul(u), softmax();"
    >>> print(review(text).finding("E318"))
    warning E318 line 1, column 127: constant factors before matmul3 multiply to 2.5e+03
      → Leave the factors out: weights learn their own scale.

    Ignore it where init was chosen to compensate for the factors.
    """
    ends = {id(layer) for output in facts.network.outputs for layer in tail(output)}

    def of(large: bool) -> dict[int, float]:
        def step(layer: LayerVertex, before: float) -> float:
            if layer.has("normalization"):
                return 1.0
            own = factor(layer) if id(layer) in learnt and id(layer) not in ends else 1.0
            return before * (own if large else 1 / own)

        return propagate(facts.network, 1.0, step)

    def product(layer: LayerVertex, before: float) -> float:
        return 1.0 if layer.has("product") else before

    behind = propagate(facts.network, 0.0, product)
    learnt = {key for key, value in behind.items() if value}
    for large in (True, False):
        sizes = of(large)
        products = (v for v in facts.network.order if v.has("product"))
        first = next((v for v in products if sizes[id(v)] > MAX_FACTOR), None)
        if first is not None:
            size = sizes[id(first)] if large else 1 / sizes[id(first)]
            message = f"constant factors before {first.label} multiply to {size:.2g}"
            return Hit(message=message, nodes=[first.label], evidence={"factor": size})
    return None


@rule(
    "E319",
    "warning",
    "Insert positionalEmbedding(place, size=…) or positionalEncoding() before it.",
    refuted=True,
    explains=[*BEATEN, "E310", "E902", "E908", "E923"],
)
def attention_without_order(facts: Facts) -> Hit | None:
    """Attention over embedded words without positions; only information where a linear bag-of-words
    model predicts the class of 90 % of rows that it was not trained on, or after a training with a
    skill of 0.95 on other rows; not where everything is pooled in a way that knows no order either,
    and which tokens come first, last or after each other tells the target no better than in one of
    99 random orders of the targets (p = 0.01).

    `attend` weighs tokens by their content, not by their position: without positions a sentence is
    a bag of words. Positions come from positionalEmbedding, positionalEncoding, rope=true, a
    recurrent layer or a convolution before it, or in part from causal=true.

    >>> from webnnm import review
    >>> text = "m:input int32 shape=[6]; m:output shape=[2]; m:layers "
    >>> text += "embedding(t, size=9, shape=[6, 8]), attend(q, k, v), reduceMean(axes=[0]), "
    >>> text += "matmul(w), softmax();"
    >>> print(review(text).finding("E319"))
    warning E319 line 1, column 91: attend1 does not know the order of its tokens
      → Insert positionalEmbedding(place, size=…) or positionalEncoding() before it.

    Ignore it where the order of the words says nothing, as in lists of ingredients.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if layer.operator.name != "attend" or layer.options["rope"] or layer.options["causal"]:
            continue
        before = list(ancestors(layer))
        embedded = any(layer_before.operator.name == "embedding" for layer_before in before)
        table = any(
            isinstance(source.vertex, ParameterVertex) and len(source.features.sizes()) > 1
            for layer_before in before
            if layer_before.operator.name == "add"
            for source in layer_before.operands[1:]
        )
        knows_order = table or any(
            layer_before.has("recurrent", "convolution", "positional") for layer_before in before
        )
        if embedded and not knows_order:
            messages[layer.label] = f"{layer.label} does not know the order of its tokens"
    bag, order = (facts.data.suspicions.get(id) for id in ("E319", "E923"))
    if order is not None and not order.evidence["share"] and pools_without_order(facts.network):
        return None
    if bag is not None:
        return merge_hits(messages, tail=f", and {bag.message}", severity="info")
    return merge_hits(messages)


@rule(
    "E320",
    "warning",
    "Leave it out, and standardise the inputs instead: standardize=True.",
    explains=STUCK,
)
def small_layer_norm(facts: Facts) -> Hit | None:
    """A layer normalisation over three numbers or fewer.

    It removes their mean and scale. Two numbers become −1 and 1, which says only which one is
    larger; of three numbers, one angle is left.

    >>> from webnnm import review
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers layerNorm(), matmul(w), softmax();"
    >>> print(review(text).finding("E320"))
    warning E320 line 1, column 49: layerNormalization1 normalises 2 numbers: little is left of them
      → Leave it out, and standardise the inputs instead: standardize=True.

    Ignore it where only the order of the numbers matters.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if layer.operator.name == "layerNormalization":
            sizes = layer.operands[0].features.sizes()
            axes = [axis for axis in layer.options["axes"] if isinstance(axis, int)]
            if len(axes) != len(layer.options["axes"]) or not sizes:
                continue
            size = count([sizes[axis] for axis in axes if -len(sizes) <= axis < len(sizes)])
            if size <= MAX_SMALL_NORM:
                messages[layer.label] = f"{layer.label} normalises {size} numbers"
    return merge_hits(messages, tail=": little is left of them")


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
    other, and differ more between the targets than in any of 99 random orders of them. In 1 % of
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


@rule("E335", "warning", "Put a product before it.", explains=[*BEATEN, "E902", "E904", "E922"])
def removes_signs(facts: Facts) -> Hit | None:
    """An activation or absolute value, whose results are never negative, is taken of an input with
    negative values, and there is no path around it.

    Behind a product, relu leaves out what that unit is not about. On the input itself it leaves out
    every value below the mean of standardised features: rows that differ only there are the same to
    the model.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers relu(), matmul(w), add(b);"
    >>> data = Dataset([[i - 10.0] for i in range(20)], [[0.1 * i] for i in range(20)])
    >>> print(review(text, data).finding("E335"))
    warning E335 line 1, column 49: relu1 of inputs of m, 1 of 1 of which are also negative
      → Leave relu1 out, or put a product before it.

    Ignore it where values below 0 are meant to be alike.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if not layer.operands or layer.operator.bounds[0] != 0 or layer.has("positive"):
            continue
        vertex = origin(layer.operands[0].vertex)
        is_flat = layer.operator.silent_below is not None or layer.operator.name == "abs"
        if not is_flat or not isinstance(vertex, InputVertex) or avoidable(facts.network, layer):
            continue
        features = facts.data.features.get(vertex.block, ())
        negative = [f for f in features if math.isfinite(f.low) and f.low < 0 and f.mean < f.std]
        if negative:
            messages[layer.label] = (
                f"{layer.label} of inputs of {vertex.block}, {len(negative)} of {len(features)} of "
                "which are also negative"
            )
    names = " and ".join(messages)
    return merge_hits(messages, remedy=f"Leave {names} out, or put a product before it.")


@rule(
    "E336",
    "warning",
    "Leave it out, and standardise the inputs instead: standardize=True.",
    confidence=0.7,
    refuted=True,
    explains=[*BEATEN, "E310", "E627", "E902", "E903", "E904", "E905", "E908", "E922", "E924"],
)
def removes_level(facts: Facts) -> Hit | None:
    """A normalisation of each row on its own takes an input, there is no path around it, and the
    mean or the deviation of a row tells the target; only information after a training with a skill
    of 0.95 on other rows.

    Layer and instance normalisation remove the mean and the scale of a row: how bright a picture
    is, how loud a sound, how large all measurements are. Whether that tells the target is tried:
    the targets explain 0.3 of its variance or more, and more than in any of 99 random orders of
    them, as happens by chance in 1 % of data without a relation. Standardising, and batch
    normalisation, treat all rows alike and keep it.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[4]; m:output shape=[1]; m:layers layerNorm(), matmul(w), add(b);"
    >>> rows = [[i + k * i % 3 for k in range(4)] for i in range(60)]
    >>> data = Dataset([[x / 30 for x in row] for row in rows], [[i / 30] for i in range(60)])
    >>> print(review(text, data).finding("E336"))
    warning E336 line 1, column 49: layerNormalization1 removes the mean and the scale of each ...
      → Leave it out, and standardise the inputs instead: standardize=True.

    Ignore it where level and scale are accidents of the measurement, such as the light.
    """
    levels = evidence_by_input(facts, "E336")
    messages: dict[str, str] = {}
    for layer in facts.network.order if levels else ():
        if not layer.has("normalization") or layer.operator.name == "batchNormalization":
            continue
        vertex = origin(layer.operands[0].vertex, "arithmetic")
        if (
            isinstance(vertex, InputVertex)
            and vertex.block in levels
            and not avoidable(facts.network, layer)
        ):
            messages[layer.label] = (
                f"{layer.label} removes the mean and the scale of each row of {vertex.block}, and "
                f"{levels[vertex.block]}"
            )
    return merge_hits(messages)


@rule(
    "E337",
    "warning",
    "Use transpose(permutation=[…]), which moves the dimensions; reshape keeps the order of the "
    "numbers.",
    explains=[*STUCK, *OVERFITTING, "E310", "E323", "E908", "E923", "E924"],
)
def reshape_for_transpose(facts: Facts) -> Hit | None:
    """A reshape gives the sizes of a transpose: the last dimension becomes the first one or vice
    versa, others may be divided or joined, and numbers that were together in one of them are
    distributed over several; not where everything is flattened afterwards without another layer.

    A reshape reads the numbers in the same order as before, in rows of another length. From height
    × width × channels to channels × height × width, the three numbers of a pixel become three
    neighbours in a plane, and a plane has a third of the picture. Dimensions that are only divided
    or joined, such as heads of attention or windows of a signal, keep what belongs together.

    >>> from webnnm import review
    >>> text = "m:input shape=[12, 12, 3]; m:output shape=[2]; m:layers reshape([3, 12, 12]), "
    >>> text += "conv2d(f, filters=4, kernel=3, inputLayout=nchw), relu(), flatten(), matmul(w), "
    >>> text += "softmax();"
    >>> print(review(text).finding("E337"))
    warning E337 line 1, column 57: reshape1 writes 12 × 12 × 3 numbers as 3 × 12 × 12 in their ...
      → Use transpose(permutation=[2, 0, 1]), which moves the dimensions; reshape keeps the ...

    Ignore it where the numbers were stored in the order of the new shape.
    """
    using = users(facts.network)
    messages: dict[str, str] = {}
    remedies: dict[str, None] = {}
    for layer in facts.network.order:
        if layer.operator.name != "reshape" or layer.features[0].sequence:
            continue
        before = layer.operands[0].vertex.features[0].sizes()
        after = layer.features[0].sizes()
        if not _is_moved(before, after):
            continue
        following = using.get(id(layer), ())
        if following and all(one.operator.name in ("flatten", "reshape") for one in following):
            continue
        sizes = (" × ".join(map(str, shape)) for shape in (before, after))
        messages[layer.label] = f"{layer.label} writes {' numbers as '.join(sizes)} in their order"
        if (order := _permutation(before, after)) is not None:
            remedies[f"transpose(permutation={order})"] = None
    why = ": no dimension moves, and what belonged together is distributed"
    remedy = (
        f"Use {' and '.join(remedies)}, which moves the dimensions; reshape keeps the order of the "
        "numbers."
    )
    return merge_hits(messages, tail=why, remedy=remedy if remedies else "")


def _is_moved(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a reshape has the sizes of a transpose of the first or last dimension, and
    does more than to divide or join dimensions."""
    old, new = ([size for size in shape if size > 1] for shape in (before, after))
    if min(len(old), len(new)) < 2 or not (old[-1] == new[0] or old[0] == new[-1]):
        return False
    ends = [{*accumulate(shape, mul)} for shape in (old, new)]
    return not (ends[0] <= ends[1] or ends[1] <= ends[0])


def _permutation(before: Sequence[int], after: Sequence[int]) -> list[int] | None:
    """Return the order in which dimensions have these sizes, None if there is none."""
    if sorted(before) != sorted(after):
        return None
    left = [*range(len(before))]
    order: list[int] = []
    for size in after:
        order.append(next(axis for axis in left if before[axis] == size))
        left.remove(order[-1])
    return order


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


@rule(
    "E408",
    "warning",
    "Give it as many units as there are classes, or more.",
    raises=["capacity"],
    explains=[*BEATEN, "E902", "E904", "E922"],
)
def narrow_layer(facts: Facts) -> Hit | None:
    """A product has at most a fourth as many units as the layer before it and as the classes after
    it, and there is no path around it.

    The layers after it know about a row only the few numbers that pass through. One unit can only
    arrange classes on a line, two in a plane. Autoencoders, whose output has the size of their
    input, and outputs whose labels are measurements are excepted.

    >>> from webnnm import review
    >>> text = "m:input shape=[8]; m:output shape=[8]; m:layers matmul(w, shape=[32]), relu(), "
    >>> text += "matmul(u, shape=[1]), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E408"))
    warning E408 line 1, column 80: matmul2 passes 1 of 32 numbers on to 8 classes
      → Give it as many units as there are classes, or more.

    Ignore it where the purpose of the model is a code of few numbers.
    """
    ends = {
        o.name: o.activation
        for o in facts.outputs
        if o.labels is None or o.labels.kind != "continuous"
    }
    scores = [
        numbers(output.source.vertex)
        for output in facts.network.outputs
        if ends.get(output.name) in ("softmax", "sigmoid")
    ]
    if len(scores) < len(facts.network.outputs) or not scores:
        return None
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if not layer.has("product") or weight(layer) is None:
            continue
        width, before = numbers(layer), numbers(layer.operands[0].vertex)
        if BOTTLENECK_RATIO * width <= min(before, *scores) and not avoidable(facts.network, layer):
            messages[layer.label] = (
                f"{layer.label} passes {width} of {before} numbers on to {min(scores)} classes"
            )
    return merge_hits(messages)


@rule("E411", "warning", "Leave it out.", lowers=["regularisation"], explains=STUCK)
def input_dropout(facts: Facts) -> Hit | None:
    """More than 20 % of fewer than 32 features are dropped at an input.

    Dropping units of a wide layer makes them independent. Features of an input have different
    meanings: nothing replaces a missing one. Usually at most 20 % of an input is dropped
    (Srivastava et al. 2014), and only where it has many similar features, such as pixels. E404
    already reports more than 70 %.

    >>> from webnnm import review
    >>> text = "m:input shape=[6]; m:output shape=[1]; m:layers dropout(0.5), matmul(w), add(b);"
    >>> print(review(text).finding("E411"))
    warning E411 line 1, column 49: dropout1 drops 50% of 6 features of m
      → Leave it out.

    Ignore it where features will be missing in use as well.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if (
            layer.operator.name == "dropout"
            and MAX_INPUT_DROPOUT < layer.options["p"] <= MAX_DROPOUT
        ):
            vertex = origin(layer.operands[0].vertex)
            if isinstance(vertex, InputVertex) and numbers(vertex) < MIN_SIMILAR_FEATURES:
                messages[layer.label] = (
                    f"{layer.label} drops {layer.options['p']:.0%} of {numbers(vertex)} features "
                    f"of {vertex.block}"
                )
    return merge_hits(messages)


@rule(
    "E412",
    "advice",
    "Put a gru, conv1d or attend before the average.",
    confidence=0.7,
    explains=[*BEATEN, "E902", "E923"],
)
def early_sequence_mean(facts: Facts) -> Hit | None:
    """The positions of a sequence are averaged or summed before anything but linear layers.

    The average of a linear function is that function of the average: of all positions one mean row
    is left, without order or shape. Embedded words are excepted, as a bag of words often suffices
    for topics.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1] sequence=true; m:output shape=[3]; m:layers "
    >>> text += "reduceMean(axes=[sequence]), matmul(w), softmax();"
    >>> data = Dataset([[[0.1], [0.3], [0.2]]] * 9, [0, 1, 2] * 3, length="max")
    >>> print(review(text, data).finding("E412"))
    advice E412 line 1, column 63: reduceMean1 leaves one mean of the whole sequence of m
      → Put a gru, conv1d or attend before the average.

    Ignore it where only the level of a series matters.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        sums = layer.has("reduction") and (layer.has("linear") or layer.operator.name == "reduceL1")
        if not sums:
            continue
        before = layer.operands[0]
        if before.features.sequence and not layer.features[0].sequence:
            vertex = origin(before.vertex, "linear", "product")
            if isinstance(vertex, InputVertex) and vertex.dtype.startswith("float"):
                messages[layer.label] = (
                    f"{layer.label} leaves one mean of the whole sequence of {vertex.block}"
                )
    return merge_hits(messages)


@rule("E413", "warning", "Join it to the others: concat([a, b], axis=0).", explains=STUCK)
def dead_input(facts: Facts) -> Hit | None:
    """A declared input, with or without layers after it, reaches no output.

    Whatever no output needs is left out of the network: the data of this input are read and never
    used.

    >>> from webnnm import review
    >>> text = "a:input shape=[2]; b:input shape=[2]; a:output shape=[3]; "
    >>> text += "a:layers matmul(w), softmax(); b:layers relu();"
    >>> print(review(text).finding("E413"))
    warning E413 line 1, column 22: b:input reaches no output
      → Join it to the others: concat([a, b], axis=0).

    Ignore it while the model is being written.
    """
    reached: set[str] = set()
    for output in facts.network.outputs:
        last = output.source.vertex
        before = [last, *ancestors(last)] if isinstance(last, LayerVertex) else []
        ends = [last, *(source.vertex for layer in before for source in layer.sources())]
        reached |= {vertex.block for vertex in ends if isinstance(vertex, InputVertex)}
    declared = [b.name for b in facts.network.outline.blocks.values() if b.is_root and b.input]
    unused = [name for name in declared if name not in reached]
    if not unused or len(unused) == len(declared):
        return None
    nodes = [f"{name}:input" for name in unused]
    return Hit(message=f"{join_names(nodes)} reaches no output", nodes=nodes)
