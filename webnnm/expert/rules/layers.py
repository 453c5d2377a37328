"""Rules on single layers: what they forget, drop or never reach (E316, E319, E320, E337, E408…)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from webnnm.core.shapes import count
from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.paths import (
    ancestors,
    avoidable,
    origin,
    pools_without_order,
    users,
    weight,
)
from webnnm.expert.facts.structure import numbers
from webnnm.expert.rules.capacity import MAX_DROPOUT
from webnnm.expert.rules.rule import Hit, join_names, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, OVERFITTING, STUCK
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    ParameterVertex,
)
from webnnm.ops.declare.operator import no_gradient

MAX_SMALL_NORM = 3
"""A layer normalisation removes mean and scale from its values: of two numbers it leaves which one
is larger, of three an angle. From four numbers on, most of the information is left."""
MAX_INPUT_DROPOUT = 0.2
"""The share of the input that may be dropped (Srivastava et al. 2014, section 10: 20%)."""
MIN_SIMILAR_FEATURES = 32
"""From this number on, features replace each other when some are dropped; of fewer, each counts."""
BOTTLENECK_RATIO = 4
"""A layer is a bottleneck if it is at most a fourth as wide as what precedes it and as the
classes."""


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


@rule(
    "E319",
    "warning",
    "Insert positionalEmbedding(place, size=…) or positionalEncoding() before it.",
    refuted=True,
    explains=[*BEATEN, "E310", "E902", "E908", "E923"],
)
def attention_without_order(facts: Facts) -> Hit | None:
    """Attention over embedded words without positions; only information where a linear bag-of-words
    model predicts the class of 90% of rows that it was not trained on, or after a training with a
    skill of 0.95 on other rows; not where everything is pooled in a way that knows no order either,
    and which tokens come first, last or after each other tells the target no better than in one of
    499 random orders of the targets (p = 0.002).

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
    """More than 20% of fewer than 32 features are dropped at an input.

    Dropping units of a wide layer makes them independent. Features of an input have different
    meanings: nothing replaces a missing one. Usually at most 20% of an input is dropped
    (Srivastava et al. 2014), and only where it has many similar features, such as pixels. E404
    already reports more than 70%.

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
