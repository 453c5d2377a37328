"""The graphs that generate: a network that continues texts, and the choice of the next token.

Both graphs read a state and write the next one. *Prefill* takes the tokens of a prompt, *decode*
the token that was chosen last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.position_limits import find_position_limits
from webnnm.graph.elaboration.vertices import InputVertex, LayerVertex, Network
from webnnm.graph.node import Graph, Operand, OperatorNode
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.beams import ORDER, log_probabilities, step_beams
from webnnm.transformers.choice import (
    HISTORY,
    PROMPT,
    SEEN,
    SOURCE_NGRAMS,
    SUPPRESSED_FIRST,
    append_tokens,
    choose_tokens,
    mark_tokens,
    ngram_sizes,
    process_scores,
    reads_history,
)
from webnnm.transformers.inputs import DEFAULTS
from webnnm.transformers.key_values import SOURCE, KeyValues
from webnnm.transformers.towers import towers

TOKEN = "token"
"""The tokens that were chosen last, int32 `[batch]`."""
POSITION = "position"
"""Their positions in the texts, int32 `[batch]`."""
EMITTED = "emitted"
"""The tokens that were chosen, the last one at the end, int32 `[batch, MAX_STEPS]`."""
MAX_STEPS = 16
"""How many tokens may be chosen before the host reads them."""
IDS, START, COUNT = "ids", "start", "count"
"""Inputs of prefill: tokens int32 `[batch, tokens]`, the number of tokens before them `[1]`, the
number of them in each row `[batch]`."""
SCORES = "scores"
"""The scores from which the host chooses, if it does: float32 `[batch, vocabulary]`."""


@dataclass(frozen=True, kw_only=True)
class GraphSpec:
    """What a graph of a network is compiled for.

    `tokens`, the length of the prompt that prefill takes, 0 for decode; `length`, the capacity of
    the cache in tokens; `source`, the lengths of sequences other than the text; `encodes`, whether
    it computes what all tokens attend to; `sampling`, the settings of the choice; `beams`, the
    number of rows of a text, and `ends`, the tokens that end one, in beam search; `on_host`,
    whether scores are returned instead; `version`, that of the parameters if they are constants;
    `ragged`, whether rows have different numbers of tokens, for a language that `restarts`.
    """

    batch: int
    tokens: int
    length: int
    source: tuple[tuple[str, int], ...] = ()
    encodes: bool = False
    sampling: tuple[str, ...] = ()
    beams: int = 1
    ends: tuple[int, ...] = ()
    on_host: bool = False
    version: int = 0
    ragged: bool = False


class Language:
    """The facts about a network that generation needs; refuses networks that do not generate.

    Attributes: `sequence`, the name of its tokens; `vocabulary`, its size; `max_length`, that of a
    text, None if positions are not limited; `source`, inputs other than the text, such as those of
    an encoder; `max_lengths`, the greatest lengths of other sequences; `restarts`, whether prompts
    are computed from their first token, whatever the cache has.

    Raises `DataError` NNM717 for networks that are not language models.
    """

    restarts = False

    def __init__(self, network: Network) -> None:
        # Other towers are computed before, such as that of pictures.
        network = next(one for one in towers(network) if network.outputs[0] in one.outputs)
        self.network = network
        self.sequence, self.vocabulary = _find_scores(network)
        text_inputs = [v for v in network.inputs if v.features[0].sequence == self.sequence]
        self.ids = _find_ids(text_inputs)
        self.source = [vertex for vertex in network.inputs if vertex not in text_inputs]
        self.max_length: int | None = None
        self.max_lengths: dict[str, int] = {}
        for sequence, rows in find_position_limits(network).items():
            self._limit(sequence, rows)
        for layer in network.order:
            self._check(layer)

    def _check(self, layer: LayerVertex) -> None:
        along = layer.operands[0].features.sequence if layer.operands else self.sequence
        operator = layer.operator.name
        if operator == "embedding":
            source, table = (operand.vertex for operand in layer.operands[:2])
            if isinstance(source, InputVertex) and default_kind(source) == "position_ids":
                self._limit(along, table.features[0].sizes()[0])
        if along != self.sequence:
            return
        axes: list[Any] = [layer.options.get("axis"), *_to_list(layer.options.get("axes"))]
        if layer.has("sequential") or "sequence" in axes or self.sequence in axes:
            raise _not_generative(f'layer "{layer.label}" reads other tokens')

    def _limit(self, sequence: str | None, rows: int) -> None:
        if sequence == self.sequence:
            self.max_length = min(rows, self.max_length or rows)
        elif sequence is not None:
            self.max_lengths[sequence] = min(rows, self.max_lengths.get(sequence, rows))

    @property
    def encodes(self) -> bool:
        """Whether something is computed of the source once for all tokens."""
        layers = [layer for layer in self.network.order if layer.operands]
        return any(layer.operands[0].features.sequence != self.sequence for layer in layers)

    def _source_graph(self, spec: GraphSpec) -> tuple[Graph, dict[str, TensorType]]:
        """Return the graph of what all tokens attend to, and the types of its outputs."""
        builder = GraphBuilder()
        nothing = builder.input(START, "int32", [1])
        cache = KeyValues(builder, self.sequence, 1, spec.batch, 1, nothing)
        ids = builder.input(IDS, "int32", [spec.batch, 1])
        self._scores(builder, ids, cache, spec)
        outputs = {
            name: _repeat_rows(builder, value, spec.beams) if value.rank == 4 else value
            for name, value in cache.source.items()
        }
        return builder.build(outputs), _types(outputs)

    def graph(self, spec: GraphSpec) -> tuple[Graph, dict[str, TensorType]]:
        """Return a graph, and the types of its state by name."""
        if spec.encodes:
            return self._source_graph(spec)
        builder = GraphBuilder()
        tokens = spec.tokens or 1
        if not spec.tokens:  # a text has started
            later = tuple(name for name in spec.sampling if name != SUPPRESSED_FIRST)
            spec = replace(spec, sampling=later)
        if spec.tokens:
            ids = builder.input(IDS, "int32", [spec.batch, tokens])
            start = builder.input(START, "int32", [1])
            count = builder.input(COUNT, "int32", [spec.batch])
            position = start + count
        else:
            ids = builder.input(TOKEN, "int32", [spec.batch])
            ids = builder.reshape(ids, new_shape=(spec.batch, 1))
            start = builder.input(POSITION, "int32", [spec.batch])
            count, position = None, start + builder.constant(1, "int32")
        order = builder.input(ORDER, "int32", [spec.batch]) if spec.beams > 1 else None
        cache = KeyValues(
            builder, self.sequence, spec.length, spec.batch, tokens, start, order, count
        )
        scores = _last_scores(builder, self._scores(builder, ids, cache, spec), count)
        outputs: dict[str, Operand] = {**cache.following, POSITION: position}
        if spec.on_host:
            host_outputs = {SCORES: builder.identity(scores)}
            # The token is written by the host.
            return builder.build(outputs | host_outputs), _types(outputs)
        if order is not None:
            outputs |= _search_step(
                builder, scores, spec, order, self._source_tokens(builder, spec)
            )
            return builder.build(outputs), _types(outputs)
        history = _history(builder, spec)
        token, states = choose_tokens(
            builder, scores, spec.sampling, history, self._source_tokens(builder, spec)
        )
        emitted = builder.input(EMITTED, "int32", [spec.batch, MAX_STEPS])
        later = builder.slice(emitted, starts=(0, 1), sizes=(spec.batch, MAX_STEPS - 1))
        last = builder.reshape(token, new_shape=(spec.batch, 1))
        outputs |= {TOKEN: token, EMITTED: builder.concat([later, last], axis=1), **states}
        return builder.build(outputs), _types(outputs)

    @property
    def source_ids(self) -> InputVertex | None:
        """The input that takes the tokens of a source, None if it has none."""
        return next((vertex for vertex in self.source if _takes_tokens(vertex)), None)

    def _source_tokens(self, b: GraphBuilder, spec: GraphSpec) -> Any:
        """Return the tokens of the source, or of the prompt, if the choice depends on them.

        They are float32 `[batch, tokens]`, −1 for padding.
        """
        if not ngram_sizes(spec.sampling, SOURCE_NGRAMS):
            return None
        if not self.source:
            return b.input(PROMPT, "float32", [spec.batch, spec.length])

        def read(vertex: InputVertex) -> Any:
            name = SOURCE + vertex.block
            type = source_type(vertex, spec.batch // spec.beams, dict(spec.source))
            tokens = b.inputs[name] if name in b.inputs else b.input(name, *type)
            return b.cast(tokens, type="float32")

        if self.source_ids is None:
            raise DataError(
                "NNM704",
                f"{SOURCE_NGRAMS} is set, but the model does not read texts",
                hint=f"set {SOURCE_NGRAMS}=0",
            )
        tokens = read(self.source_ids)
        sequence = self.source_ids.features[0].sequence
        for vertex in self.source:
            is_mask = default_kind(vertex) == "attention_mask"
            if is_mask and vertex.features[0].sequence == sequence:
                tokens = b.where(b.greater(read(vertex), 0.0), tokens, -1.0)
        return _repeat_rows(b, tokens, spec.beams)

    def _scores(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of all tokens, `[batch, tokens, vocabulary]`."""
        b.cache = cache
        lengths = {**dict(spec.source), self.sequence: ids.shape[1]}
        values: dict[str, Operand] = {}
        for vertex in self.network.inputs:
            if vertex in self.source:
                # All beams attend to the same source; an encoder computes it once.
                beams = 1 if spec.encodes else spec.beams
                type = source_type(vertex, ids.shape[0] // beams, lengths)
                source = b.input(SOURCE + vertex.block, *type)
                values[vertex.block] = _repeat_rows(b, source, beams)
                continue
            value: Any = ids
            if vertex is not self.ids:
                numbers = {"position_ids": cache.positions, "attention_mask": ids * 0 + 1}
                value = numbers.get(default_kind(vertex), ids * 0)
            values[vertex.block] = _cast(b, value, vertex.dtype)
        lowered = lower_network(
            self.network, batch=ids.shape[0], sequence=lengths, builder=b, inputs=values
        )
        output = lowered.outputs[self.network.outputs[0].name]
        return _cast(b, _find_logits(b, output), "float32")


def default_kind(vertex: InputVertex) -> str:
    """Return the name in `DEFAULTS` of an input that follows from the tokens, "" for others."""
    name = vertex.block.removeprefix("decoder_")
    return name if name in DEFAULTS else ""


def source_type(vertex: InputVertex, batch: int, lengths: Mapping[str, int]) -> TensorType:
    """Return the type of an input other than the text, for a length of its sequence."""
    features = vertex.features[0]
    along = () if features.sequence is None else (vertex.length or lengths[features.sequence],)
    return TensorType(vertex.dtype, (batch, *along, *features.sizes()))


def _find_scores(network: Network) -> tuple[str, int]:
    """Return the sequence along which the first output has scores, and the size of these."""
    first, *others = [output.source.features for output in network.outputs]
    same = [features for features in others if features.sequence == first.sequence]
    if first.sequence is None or first.rank != 1 or same:
        raise _not_generative("its output is not one score per token of the vocabulary")
    return first.sequence, first.sizes()[0]


def _find_ids(inputs: Sequence[InputVertex]) -> InputVertex:
    """Return the input that takes the tokens of the text, among those along it."""
    for vertex in inputs:
        if vertex.features[0].rank or not vertex.dtype.startswith(("i", "u")):
            raise _not_generative(f'its input "{vertex.block}" does not take tokens')
        if vertex.length is not None:
            raise _not_generative(f'its input "{vertex.block}" has a fixed length')
    candidates = [vertex for vertex in inputs if not default_kind(vertex)]
    if len(candidates) != 1:
        raise _not_generative(f"it has {len(candidates)} inputs of tokens")
    return candidates[0]


def _takes_tokens(vertex: InputVertex) -> bool:
    """Return whether an input of a source takes its tokens."""
    is_number = not vertex.features[0].rank and vertex.features[0].sequence is not None
    return is_number and vertex.dtype.startswith(("i", "u")) and not default_kind(vertex)


def _not_generative(why: str) -> DataError:
    return DataError(
        "NNM717",
        f"the model does not generate texts: {why}",
        hint="it must take tokens, return scores of the vocabulary, and have causal attention",
    )


def _to_list(value: Any) -> Sequence[Any]:
    items: Any = getattr(value, "names", value)
    return cast("Sequence[Any]", items) if isinstance(items, (list, tuple)) else ()


def _types(outputs: dict[str, Operand]) -> dict[str, TensorType]:
    return {name: operand.type for name, operand in outputs.items()}


def _cast(b: GraphBuilder, value: Any, dtype: Any) -> Any:
    return value if value.dtype == dtype else b.cast(value, type=dtype)


def _operands(b: GraphBuilder, value: Operand, operator: str) -> tuple[Any, ...]:
    """Return the operands if an operator of this name computed the value, otherwise nothing."""
    node = b.nodes[value.number]
    if isinstance(node, OperatorNode) and node.operator.name == operator:
        return node.operands
    return ()


def _find_logits(b: GraphBuilder, output: Operand) -> Any:
    """Return logits: the operand of a final softmax."""
    return next(iter(_operands(b, output, "softmax")), output)


def _repeat_rows(b: GraphBuilder, value: Any, times: int) -> Any:
    """Return a batch with each row repeated."""
    if times == 1:
        return value
    rows = [row for row in range(value.shape[0]) for _ in range(times)]
    return b.gather(value, b.constant(rows, "int32", [len(rows)]), axis=0)


def _search_step(
    b: GraphBuilder, scores: Any, spec: GraphSpec, order: Any, source: Any
) -> dict[str, Operand]:
    """Return the states after a step of beam search."""
    states: dict[str, Operand] = {}
    seen: Any = None
    if "repetition_penalty" in spec.sampling:
        seen = b.gather(b.input(SEEN, "float32", scores.shape), order, axis=0)
        if not spec.tokens:  # results of prompts are returned
            seen = mark_tokens(b, seen, b.inputs[TOKEN])
        states[SEEN] = seen
    history = _history(b, spec, order)
    scores, following = process_scores(
        b, log_probabilities(b, scores), spec.sampling, seen, history, source
    )
    states |= following
    token, more = step_beams(b, scores, spec.beams, spec.ends, MAX_STEPS)
    return {TOKEN: token, **states, **more}


def _history(b: GraphBuilder, spec: GraphSpec, order: Any = None) -> Any:
    """Return the tokens so far, if the choice needs them; for beams, those of continued texts."""
    if not reads_history(spec.sampling):
        return None
    history: Any = b.input(HISTORY, "float32", [spec.batch, spec.length])
    if order is not None:
        history = b.gather(history, order, axis=0)
    return history if spec.tokens else append_tokens(b, history, b.inputs[TOKEN])


def _last_scores(b: GraphBuilder, scores: Any, count: Any) -> Any:
    """Return the scores of the last token of each row, `[batch, vocabulary]`."""
    batch, tokens, vocabulary = scores.shape
    if count is None:
        return b.reshape(scores, new_shape=(batch, vocabulary))
    positions = b.constant([*range(1, tokens + 1)], "int32", [1, tokens])
    last = b.equal(positions, b.reshape(count, new_shape=(batch, 1)))
    rows = b.reshape(last, new_shape=(batch, 1, tokens))
    return _cast(
        b, b.reshape(_select_rows(b, scores, rows), new_shape=(batch, vocabulary)), "float32"
    )


def _select_rows(b: GraphBuilder, scores: Any, rows: Any) -> Any:
    """Return the scores `[batch, 1, vocabulary]` of the tokens that `rows [batch, 1, tokens]` mark.

    If they come from a matrix product, only these tokens are multiplied, since vocabularies are
    large; a bias, a factor or a smooth limit is then applied to them alone.
    """
    node: Any = b.nodes[scores.number]
    if isinstance(node, OperatorNode) and node.operator.elementwise:
        large = [operand for operand in node.operands if operand and _has_tokens(operand)]
        # Products of integers become floats before rows of them are selected, by a product too.
        if len(large) == 1 and large[0].shape == scores.shape and is_float(large[0].dtype):
            operands = [
                _select_rows(b, operand, rows) if operand is large[0] else operand
                for operand in node.operands
            ]
            return b.apply(node.operator, operands, node.options)
    factors = _operands(b, scores, "matmul")
    if factors and factors[0].dtype == scores.dtype and factors[1].rank == 2:
        return b.matmul(b.matmul(_cast(b, rows, scores.dtype), factors[0]), factors[1])
    return b.matmul(_cast(b, rows, scores.dtype), scores)


def _has_tokens(operand: Operand) -> bool:
    """Return whether an operand may differ between tokens."""
    return operand.rank > 1 and operand.shape[-2] != 1
