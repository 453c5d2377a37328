"""Rules on words and series: embedding tables, looking ahead, states of recurrent layers."""

from __future__ import annotations

from typing import Any

from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.paths import ancestors
from webnnm.expert.facts.structure import numbers
from webnnm.expert.rules.rule import Hit, evidence_by_input, merge_hits, rule
from webnnm.graph.elaboration.vertices import InputVertex, LayerVertex, ParameterVertex

MAX_ROWS_RATIO = 10
"""A table with this many times the rows in use is larger than future words will need."""
MIN_TABLE_SIZE = 10_000
"""A table with fewer numbers costs nothing."""


@rule("E330", "warning", "Write causal=true for attend, direction=forward for a recurrent layer.")
def look_ahead(facts: Facts) -> Hit | None:
    """The targets of a sequence are its next values, and a layer sees them in its input.

    To predict what comes next, a position may only look at earlier ones. Attention without
    causal=true, a recurrent layer that runs backwards and a convolution centred on the position can
    read the target from the next position: the loss falls to nearly 0, and in use, where the next
    value is not there yet, the model is worthless.

    >>> from webnnm import TextDataset, review
    >>> text = "m:input int32 shape=[] sequence=true; m:output shape=[4]; m:layers "
    >>> text += "embedding(t, size=4, shape=[8]), positionalEncoding(), attend(q, k, v, o), "
    >>> text += "matmul(w), softmax();"
    >>> data = TextDataset([n * n % 7 % 4 for n in range(200)], 8)
    >>> print(review(text, data).finding("E330"))
    warning E330 line 1, column 123: attend1 sees the next positions, which are the targets
      → Write causal=true for attend, direction=forward for a recurrent layer.

    Ignore it where the targets are meant to be in the input, as in a copying task.
    """
    if not evidence_by_input(facts, "E330"):
        return None
    messages: dict[str, str] = {}
    for output in facts.network.outputs:
        last = output.source.vertex
        if not output.source.features.sequence or not isinstance(last, LayerVertex):
            continue
        for layer in (last, *ancestors(last)):
            if layer.features[0].sequence and _ahead(layer):
                messages[layer.label] = (
                    f"{layer.label} sees the next positions, which are the targets"
                )
    return merge_hits(messages)


def _ahead(layer: LayerVertex) -> bool:
    """Return whether a layer takes later positions of a sequence into account."""
    name, options = layer.operator.name, layer.options
    if name == "attend":
        return not options["causal"]
    if layer.has("recurrent"):
        return options.get("direction", "forward") != "forward"
    if name == "conv1d":
        padding: Any = options["padding"]
        return padding == "same" or padding[1] > 0
    return name == "reverse"


@rule(
    "E416",
    "advice",
    "Give the table as many rows as there are words: size=… of the embedding.",
    confidence=0.6,
)
def spare_embedding_rows(facts: Facts) -> Hit | None:
    """The table of an embedding has more than ten times as many rows as the data have words, and
    10,000 numbers or more.

    Rows of words that never occur keep their random initial values: they take memory and time in
    each update, and are subject to weight decay. The number of rows needed is the highest token id
    plus 1.

    >>> from webnnm import Dataset, review
    >>> text = "m:input int32 shape=[3]; m:output shape=[2]; m:layers "
    >>> text += "embedding(t, size=5000, shape=[3, 16]), flatten(), matmul(w), softmax();"
    >>> data = Dataset([[i % 7, i % 5, i % 3] for i in range(40)], [i % 2 for i in range(40)])
    >>> print(review(text, data).finding("E416"))
    advice E416 line 1, column 65: table t1 has 5,000 rows of 16 numbers, the words of m are 0 … 6
      → Give the table as many rows as there are words: size=… of the embedding.

    Ignore it where the table comes from a larger model, or more words will be added.
    """
    highest_ids = evidence_by_input(facts, "E416")
    messages: dict[str, str] = {}
    for layer in facts.network.layers:
        if layer.operator.name != "embedding":
            continue
        words, table = (source.vertex for source in layer.operands[:2])
        if not isinstance(words, InputVertex) or not isinstance(table, ParameterVertex):
            continue
        rows, highest_id = table.features[0].sizes()[0], highest_ids.get(words.block)
        if (
            highest_id is None
            or rows <= MAX_ROWS_RATIO * (highest_id + 1)
            or numbers(table) < MIN_TABLE_SIZE
        ):
            continue
        messages[table.name] = (
            f"table {table.name} has {rows:,} rows of {numbers(table) // rows} numbers, the words "
            f"of {words.block} are 0 … {highest_id:g}"
        )
    return merge_hits(messages)


@rule("E417", "info", "Leave returnSequence out: the layer then returns the last state.")
def mean_of_states(facts: Facts) -> Hit | None:
    """The states of a recurrent layer are averaged over the positions, and the last one is not
    used.

    The last state has seen the whole sequence, the first ones almost nothing of it. The average is
    a fair summary where all positions matter equally, as in sentiment; where the order or the end
    decides, only the last state knows.

    >>> from webnnm import review
    >>> text = "m:input shape=[2] sequence=true; m:output shape=[3]; m:layers gru(w, r, bias=c, "
    >>> text += "hiddenSize=8, returnSequence=true), reduceMean(axes=[sequence]), matmul(v), "
    >>> text += "softmax();"
    >>> print(review(text).finding("E417"))
    info E417 line 1, column 117: reduceMean1 averages all states of gru1, ...
      → Leave returnSequence out: the layer then returns the last state.

    Ignore it where all positions matter equally.
    """
    messages: dict[str, str] = {}
    for layer in facts.network.order:
        if layer.has("reduction") and layer.has("linear") and not layer.features[0].sequence:
            before = layer.operands[0].vertex
            if isinstance(before, LayerVertex) and before.has("recurrent"):
                messages[layer.label] = (
                    f"{layer.label} averages all states of {before.label}, whose last one has read "
                    "everything"
                )
    return merge_hits(messages)
