"""Rules on initial values, and on what keeps them (E313–E315, E410)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from webnnm.expert.facts import Facts
from webnnm.expert.paths import ELEMENTWISE, ancestors, behind, carried, users, weight
from webnnm.expert.profile import NORMALISATIONS, PRODUCTS, SATURATING, heavy_in
from webnnm.expert.rule import Hit, grouped, listed, rule
from webnnm.expert.structure import numbers
from webnnm.graph.initialise import WEIGHTS, Initialiser, fans, initialisers
from webnnm.graph.vertices import LayerVertex, Network, ParameterVertex

GAIN = (0.01, 10.0)
"""The standard deviation of weights times √fan-in, which is 1.4 for He and about 1 for Glorot. Each
layer multiplies values by it: two layers of 10 make softmax certain of chance answers, two of 0.01
leave a ten-thousandth of the signal."""
COMPOUNDED = (1e-3, 1e3)
"""What layers one behind the other may multiply values by, in units of He's."""
LOW = -5.0
"""Before relu He's weights give values around 0 with a deviation of 1.4; from a bias of −5 on fewer
than one of 5,000 is above 0."""
EXPANDED = 4
"""A layer of random features gives so many times the numbers that it gets, and more."""
DEAD_BELOW = ("relu",)
"""Activations without gradient below 0."""


@rule("E313", "warning", "Leave init out: weights then start at random.")
def equal(facts: Facts) -> Hit | None:
    """The weights of two products that follow each other start at one number, or those before relu
    at 0.

    Units with equal weights get equal gradients and stay one unit for ever. One such product alone
    is harmless, as the random weights behind or before it tell its units apart; a last layer of
    zeros is even usual.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8], init=zeros), relu(), matmul(v, init=zeros), softmax();"
    >>> print(review(text).finding("E313"))
    warning E313 line 1, column 49: all weights of matmul1 start at 0: its units stay equal
      → Leave init out: weights then start at random.

    Ignore it where the values are replaced before the training, as by take_parameters.
    """
    if facts.trained_before:
        return None
    starts, using = initialisers(facts.network), users(facts.network)

    def constant(layer: LayerVertex) -> Initialiser | None:
        own = weight(layer) if layer.operator.name in PRODUCTS else None
        start = starts[own.name] if own is not None and own.trainable else None
        return start if start is not None and start.kind == "constant" else None

    found: dict[str, str] = {}
    for layer in facts.network.order:
        start, activation = constant(layer), behind(layer, using)
        if start is None or activation is None:
            continue
        after = activation
        if activation.operator.name not in PRODUCTS:
            after = behind(activation, using)
        rectified = activation.operator.name in DEAD_BELOW and not start.a
        if after is not None and (rectified or constant(after) is not None):
            found[layer.label] = f"all weights of {layer.label} start at {start.a:g}"
    return grouped(found, tail=": its units stay equal")


@rule("E314", "warning", "Leave init out, or take heNormal or glorot, which fit to the width.")
def badly_scaled(facts: Facts) -> Hit | None:
    """The standard deviation of initial weights, times the root of the fan-in, is outside
    0.01 … 10; or of several layers, each in units of He's, the product outside 0.001 … 1000.

    A product of standardised values and such weights has about this deviation, and layers multiply
    theirs: He's initialisation has 1.4, Glorot's about 1. Too large, and softmax is certain of
    chance answers; too small, and neither values nor gradients come through.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8], init=normal(20)), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E314"))
    warning E314 line 1, column 56: w1 starts as normal(20, 0), which multiplies values by 40
      → Leave init out, or take heNormal or glorot, which fit to the width.

    Ignore it where a normalisation follows the product at once, which takes out the scale.
    """
    if facts.trained_before:
        return None
    starts, found = initialisers(facts.network), dict[str, str]()
    for parameter in facts.network.parameters:
        start = starts[parameter.name]
        gain = _gain(parameter, start)
        if gain is not None and not GAIN[0] <= gain <= GAIN[1]:
            found[parameter.name] = (
                f"{parameter.name} starts as {start}, which multiplies values by {gain:.2g}"
            )
    return grouped(found) or _compounded(facts, starts)


def _gain(parameter: ParameterVertex, start: Initialiser) -> float | None:
    """Return what written random weights multiply values by, None of others."""
    if parameter.init is None or parameter.role not in WEIGHTS:
        return None
    if start.kind not in ("normal", "truncatedNormal", "uniform"):
        return None
    spread = (start.b - start.a) / math.sqrt(12) if start.kind == "uniform" else start.a
    return spread * math.sqrt(fans(parameter)[0])


def _compounded(facts: Facts, starts: Mapping[str, Initialiser]) -> Hit | None:
    """Tell of layers that together multiply values far more than each of them does."""

    def step(layer: LayerVertex, before: float) -> float:
        if layer.operator.name in NORMALISATIONS or layer.operator.name in SATURATING:
            return 1.0
        own = weight(layer) if layer.operator.name in PRODUCTS else None
        gain = _gain(own, starts[own.name]) if own is not None else None
        return before * gain / math.sqrt(2) if gain else before

    sizes = carried(facts.network, 1.0, step)
    for layer in facts.network.order:
        size = sizes[id(layer)]
        if not COMPOUNDED[0] <= size <= COMPOUNDED[1]:
            message = f"initial weights up to {layer.label} multiply values by {size:.2g}"
            return Hit(message=message, nodes=[layer.label])
    return None


@rule("E315", "warning", "Leave init out: biases then start near 0.")
def killed(facts: Facts) -> Hit | None:
    """Biases before relu start at −5 or below.

    What is below 0 before relu is 0 behind it and has no gradient. With weights of the default
    initialisation values have a deviation of about 1.4, so that a bias of −5 leaves next to none
    above 0: the units are dead from the start. Gates may start low, because sigmoid has a gradient
    everywhere.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:param low shape=[8] init=constant(-10); "
    >>> text += "m:layers matmul(w), add(low), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E315"))
    warning E315 line 1, column 48: low starts at -10 before relu1
      → Leave init out: biases then start near 0.

    Ignore it where few units shall be active, and the features are not standardised.
    """
    if facts.trained_before:
        return None
    starts, using = initialisers(facts.network), users(facts.network)
    found: dict[str, str] = {}
    for parameter in facts.network.parameters:
        start, user = starts[parameter.name], parameter.user
        if parameter.init is None or user is None or start.kind != "constant" or start.a > LOW:
            continue
        after = behind(user, using)
        if after is not None and after.operator.name in DEAD_BELOW:
            found[parameter.name] = f"{parameter.name} starts at {start.a:g} before {after.label}"
    return grouped(found)


@rule(
    "E410",
    "warning",
    "Let them learn, or load trained values: model.take_parameters(other).",
    lowers=["freeze"],
)
def frozen_at_random(facts: Facts) -> Hit | None:
    """Weights that are not trainable start at random, and nothing was loaded; information where
    they are of a single layer, the first one, that gives at least four times the numbers that it
    gets.

    Values that were drawn and never change know nothing of the data. Layers before them must learn
    to get through them, layers behind see features of chance. Among many such features, as random
    sines, a learned layer can choose (Rahimi & Recht 2007); behind few, or several layers of
    chance, little is left to choose from.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers "
    >>> text += "matmul(w, shape=[8], trainable=false), relu(), matmul(v), softmax();"
    >>> print(review(text).finding("E410"))
    warning E410 line 1, column 56: w1 keep the values that chance gave them
      → Let them learn, or load trained values: model.take_parameters(other).

    Ignore it where random features are meant, as in an echo state network, or where the values are
    loaded only after the review.
    """
    if facts.trained_before or facts.learning == 0:
        return None
    starts = initialisers(facts.network)
    found = [
        parameter.name
        for parameter in facts.network.parameters
        if not (parameter.trainable and parameter.lrm != 0)
        and starts[parameter.name].kind not in ("constant", "parts", "file")
    ]
    if not found:
        return None
    return Hit(
        message=f"{listed(found)} keep the values that chance gave them",
        nodes=found,
        severity="info" if _random_features(facts.network, {*found}) else None,
    )


def _random_features(network: Network, frozen: set[str]) -> bool:
    """Tell whether frozen weights are those of one first layer much wider than what it gets."""
    layers = [
        layer
        for layer in network.order
        if layer.operator.name not in ELEMENTWISE
        and any(
            isinstance(source.vertex, ParameterVertex) and source.vertex.name in frozen
            for source in layer.sources()
        )
    ]
    if len(layers) != 1 or not heavy_in(layers[0]) or any(map(heavy_in, ancestors(layers[0]))):
        return False
    return numbers(layers[0]) >= EXPANDED * numbers(layers[0].operands[0].vertex)
