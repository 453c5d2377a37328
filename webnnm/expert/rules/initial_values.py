"""Rules on initial values, and on parameters that keep them (E313–E315, E410)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.paths import ancestors, behind, keeps_positions, propagate, users, weight
from webnnm.expert.facts.profile import heavy_in
from webnnm.expert.facts.structure import numbers
from webnnm.expert.rules.rule import Hit, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import STUCK, UNSTABLE
from webnnm.graph.elaboration.initialise import WEIGHTS, Initialiser, fans, initialisers
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex

GAIN_RANGE = (0.01, 10.0)
"""The standard deviation of weights times √fan-in, which is 1.4 for He and about 1 for Glorot. Each
layer multiplies values by it: two layers with 10 make softmax certain of random answers, two with
0.01 leave a ten-thousandth of the signal."""
COMPOUND_GAIN_RANGE = (1e-3, 1e3)
"""By how much consecutive layers may multiply values, relative to He's initialisation."""
MIN_BIAS = -5.0
"""Before relu, He's weights give values around 0 with a deviation of 1.4; with a bias of −5 fewer
than one in 5,000 is above 0."""
MIN_EXPANSION = 4
"""A layer of random features has at least this many times as many outputs as inputs."""


@rule(
    "E313", "warning", "Leave init out: weights then start at random.", explains=[*STUCK, *UNSTABLE]
)
def equal_weights(facts: Facts) -> Hit | None:
    """The weights of two consecutive products start at a single value, or those before relu at 0.

    Units with equal weights get equal gradients and remain identical forever. A single such product
    is harmless, as the random weights before or after it break the symmetry; a last layer of zeros
    is even usual.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8], init=zeros), relu(), matmul(v, init=zeros), softmax();"
    >>> print(review(text).finding("E313"))
    warning E313 line 1, column 49: all weights of matmul1 start at 0: its units stay equal
      → Leave init out: weights then start at random.

    Ignore it where the values are replaced before the training, for instance by load_params.
    """
    if facts.trained_before:
        return None
    starts, using = initialisers(facts.network), users(facts.network)

    def constant(layer: LayerVertex) -> Initialiser | None:
        own = weight(layer) if layer.has("product") else None
        start = starts[own.name] if own is not None and own.trainable else None
        return start if start is not None and start.kind == "constant" else None

    messages: dict[str, str] = {}
    for layer in facts.network.order:
        start, activation = constant(layer), behind(layer, using)
        if start is None or activation is None:
            continue
        after = activation
        if not activation.has("product"):
            after = behind(activation, using)
        rectified = activation.operator.silent_below == 0 and not start.a
        if after is not None and (rectified or constant(after) is not None):
            messages[layer.label] = f"all weights of {layer.label} start at {start.a:g}"
    return merge_hits(messages, tail=": its units stay equal")


@rule(
    "E314",
    "warning",
    "Leave init out, or use heNormal or glorot, which adapt to the width.",
    explains=[*STUCK, *UNSTABLE, "E310", "E329"],
)
def weight_scale(facts: Facts) -> Hit | None:
    """The standard deviation of initial weights, times the root of the fan-in, is outside 0.01 …
    10; or the product of several layers, each relative to He's, is outside 0.001 … 1000.

    A product of standardised values and such weights has about this deviation, and the factors of
    layers multiply: He's initialisation has 1.4, Glorot's about 1. If it is too large, softmax is
    certain of random answers; if it is too small, neither values nor gradients get through.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8], init=normal(20)), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E314"))
    warning E314 line 1, column 56: w1 starts as normal(20, 0), which multiplies values by 40
      → Leave init out, or use heNormal or glorot, which adapt to the width.

    Ignore it where a normalisation, which removes the scale, directly follows the product.
    """
    if facts.trained_before:
        return None
    starts, messages = initialisers(facts.network), dict[str, str]()
    for parameter in facts.network.parameters:
        start = starts[parameter.name]
        gain = _gain(parameter, start)
        if gain is not None and not GAIN_RANGE[0] <= gain <= GAIN_RANGE[1]:
            messages[parameter.name] = (
                f"{parameter.name} starts as {start}, which multiplies values by {gain:.2g}"
            )
    return merge_hits(messages) or _find_compound_scale(facts, starts)


def _gain(parameter: ParameterVertex, start: Initialiser) -> float | None:
    """Return the factor by which random weights with a written init multiply values, else None."""
    if parameter.init is None or parameter.role not in WEIGHTS:
        return None
    if start.kind not in ("normal", "truncatedNormal", "uniform"):
        return None
    spread = (start.b - start.a) / math.sqrt(12) if start.kind == "uniform" else start.a
    return spread * math.sqrt(fans(parameter)[0])


def _find_compound_scale(facts: Facts, starts: Mapping[str, Initialiser]) -> Hit | None:
    """Report layers that together multiply values by far more than each of them does."""

    def step(layer: LayerVertex, before: float) -> float:
        if layer.has("normalization", "saturating"):
            return 1.0
        own = weight(layer) if layer.has("product") else None
        gain = _gain(own, starts[own.name]) if own is not None else None
        return before * gain / math.sqrt(2) if gain else before

    sizes = propagate(facts.network, 1.0, step)
    for layer in facts.network.order:
        size = sizes[id(layer)]
        if not COMPOUND_GAIN_RANGE[0] <= size <= COMPOUND_GAIN_RANGE[1]:
            message = f"initial weights up to {layer.label} multiply values by {size:.2g}"
            return Hit(message=message, nodes=[layer.label])
    return None


@rule(
    "E315",
    "warning",
    "Leave init out: biases then start near 0.",
    explains=[*STUCK, "E310", "E908"],
)
def negative_bias(facts: Facts) -> Hit | None:
    """Biases before relu start at −5 or below.

    Values below 0 before relu are 0 after it and have no gradient. With the default initialisation
    values have a deviation of about 1.4, so that a bias of −5 leaves almost none above 0: the units
    are dead from the start. Gates may start low, because sigmoid has a gradient everywhere.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:param low shape=[8] init=constant(-10); "
    >>> text += "m:layers matmul(w), add(low), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E315"))
    warning E315 line 1, column 48: low starts at -10 before relu1
      → Leave init out: biases then start near 0.

    Ignore it where few units are meant to be active, and the features are not standardised.
    """
    if facts.trained_before:
        return None
    starts, using = initialisers(facts.network), users(facts.network)
    messages: dict[str, str] = {}
    for parameter in facts.network.parameters:
        start, user = starts[parameter.name], parameter.user
        if parameter.init is None or user is None or start.kind != "constant" or start.a > MIN_BIAS:
            continue
        after = behind(user, using)
        silent = after.operator.silent_below if after is not None else None
        if after is not None and silent is not None and start.a <= MIN_BIAS + silent:
            messages[parameter.name] = (
                f"{parameter.name} starts at {start.a:g} before {after.label}"
            )
    return merge_hits(messages)


@rule(
    "E410",
    "warning",
    "Let them learn, or load trained values: await model.load_params(other).",
    lowers=["freeze"],
    explains=STUCK,
)
def random_frozen_weights(facts: Facts) -> Hit | None:
    """Weights that are not trainable start at random, and nothing was loaded; only information
    where they belong to a single layer, the first one, with at least four times as many outputs as
    inputs.

    Random values that never change know nothing about the data. Layers before them must learn to
    get through them, layers after them see random features. From many such features, such as random
    sines, a trained layer can choose (Rahimi & Recht 2007); after few, or several random layers,
    little is left to choose from.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8], trainable=false), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E410"))
    warning E410 line 1, column 56: w1 keep their random initial values
      → Let them learn, or load trained values: await model.load_params(other).

    Ignore it where random features are intended, as in an echo state network, or where the values
    are loaded only after the review.
    """
    if facts.trained_before or facts.learning == 0:
        return None
    starts = initialisers(facts.network)
    names = [
        parameter.name
        for parameter in facts.network.parameters
        if not (parameter.trainable and parameter.lrm != 0)
        and starts[parameter.name].kind not in ("constant", "parts", "file")
    ]
    if not names:
        return None
    return Hit(
        message=f"{join_names(names)} keep their random initial values",
        nodes=names,
        severity="info" if _random_features(facts.network, {*names}) else None,
    )


def _random_features(network: Network, frozen: set[str]) -> bool:
    """Return whether frozen weights belong to one first layer that is much wider than its input."""
    layers = [
        layer
        for layer in network.order
        if not keeps_positions(layer)
        and any(
            isinstance(source.vertex, ParameterVertex) and source.vertex.name in frozen
            for source in layer.sources()
        )
    ]
    if len(layers) != 1 or not heavy_in(layers[0]) or any(map(heavy_in, ancestors(layers[0]))):
        return False
    return numbers(layers[0]) >= MIN_EXPANSION * numbers(layers[0].operands[0].vertex)
