"""Rules on the numbers that layers compute with (E317, E318, E332, E333, E335, E336)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webnnm.expert.facts.facts import Facts, FeatureFacts
from webnnm.expert.facts.paths import (
    avoidable,
    factor,
    origin,
    propagate,
    tail,
    users,
)
from webnnm.expert.facts.structure import scales
from webnnm.expert.rules.rule import Hit, evidence_by_input, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, STUCK, UNSTABLE
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Vertex,
)

MAX_FACTOR = 1000.0
"""By how much constant factors may multiply values in total. Attention divides by the root of the
width, pictures are divided by 255; 1,000 is beyond both."""
MIN_DEVIATION, MIN_EXTENT, MAX_DEVIATION = 0.03, 0.1, 10.0
"""Inputs that spread less, or more, meet weights that are made for a deviation of 1."""
CHANGES: Mapping[str, Callable[[float], tuple[float, float]]] = {
    "add": lambda number: (1.0, number),
    "sub": lambda number: (1.0, -number),
    "mul": lambda number: (number, 0.0),
    "div": lambda number: (1 / number, 0.0),
}
"""The factor and the shift of an operation with a number."""
ZEROS_REMEDY = "Put add(1) before it: log(1 + x) is 0 at 0."


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
    them. 1% or more of the values of a feature are 0.

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
    if not isinstance(second, LiteralVertex) or not isinstance(second.data, (int, float)):
        return 0.0
    if name == "max":
        return float(second.data)
    change = _affine(name, second.data) if layer.has("additive") else None
    return 0.0 if change is None else change[1]


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
    the targets explain 0.3 of its variance or more, and more than in any of 499 random orders of
    them, as happens by chance in 1% of data without a relation. Standardising, and batch
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
