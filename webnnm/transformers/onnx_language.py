"""Language models in ONNX files: the graphs that generate, around the graph of a file.

Files take keys and values of any length, and return them with those of the new tokens appended.
Here they have a fixed length: the past is a cache in which each token has its position, and what
follows the last token is masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.lru_cache import LruCache
from webnnm.core.shapes import Shape, count
from webnnm.formats.fields import Fields
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph, Operand
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.decoding import GraphSpec, Language, default_kind, source_type
from webnnm.transformers.key_values import SOURCE, KeyValues
from webnnm.transformers.onnx_files import DECODER, FOLLOWER, READER, OnnxFile, OnnxFiles
from webnnm.transformers.onnx_inputs import (
    HIDDEN,
    HIDDEN_MASK,
    SEQUENCE,
    TEXT_INPUTS,
    source_vertices,
)
from webnnm.transformers.onnx_past import PaddedPast, find_padded_past
from webnnm.transformers.onnx_states import (
    OF_ENCODER,
    State,
    choose_branch,
    find_states,
    is_cache,
    keep_outputs,
)

MAX_IMPORTS, MAX_FOLLOWERS = 2, 2
"""How many graphs of a file are kept for further ones of the same sizes."""
MIN_CACHE = 4
"""The least length of a cache for which a graph is compared with that of a shorter past."""
MAX_POSITIONS = (
    "max_target_positions",
    "max_decoder_position_embeddings",
    "max_position_embeddings",
)
"""What configs call the number of positions of a decoder behind an encoder."""
IDS = "ids"
"""The tokens so far, in the cache of a model that computes them anew for each token."""


class OnnxLanguage(Language):
    """The facts about ONNX files that generation needs, and its graphs.

    Files with keys and values compute only new tokens. With a mask and positions as inputs, they
    take a past of a fixed length as it is; others, such as those of models with an encoder, after
    the changes of `PaddedPast`, and a prompt is computed without a past. The rest compute all
    tokens for each new one: what follows a token does not change its scores.

    Raises `DataError` NNM717 for files that do not generate texts.
    """

    def __init__(self, files: OnnxFiles, config: Mapping[str, Any]) -> None:
        self._states = find_states(files.follower)
        self.steps = files.encoder is None and _can_step(files.follower, self._states)
        self._decoder = choose_branch(files.model, has_past=self.steps)
        self._follower = choose_branch(files.follower, has_past=True)
        self._encoder = files.encoder
        self._prefix = DECODER if files.with_past is None else FOLLOWER
        self.sequence = SEQUENCE
        self.max_length = None if files.encoder is None else _find_max_length(config)
        self.max_lengths = dict[str, int]()
        self.vocabulary = _find_vocabulary(files.model, config)
        self.source = [] if files.encoder is None else source_vertices(files.encoder, config)
        self._own_states = [state for state in self._states if OF_ENCODER not in state.past]
        self._source_states = [state for state in self._states if OF_ENCODER in state.past]
        self.restarts = not self.steps and self._can_follow()
        self._source_types: dict[object, dict[str, TensorType]] = {}
        self._imports = LruCache[object, Imported](MAX_IMPORTS)
        self._followers = LruCache[object, _Follower](MAX_FOLLOWERS)
        self._refused = set[object]()
        self._check_inputs()

    def _can_follow(self) -> bool:
        """Return whether the files may compute one token with the keys and values of earlier ones.

        The branch, or the file, without a past has to return all of them.
        """
        presents = {state.present for state in self._own_states}
        return (
            bool(presents)
            and all(is_cache(state) and not state.written for state in self._own_states)
            and presents <= self._follower.outputs.keys() & self._decoder.outputs.keys()
            and {state.present for state in self._source_states} <= self._decoder.outputs.keys()
            and (self._encoder is not None or not self._source_states)
        )

    def _check_inputs(self) -> None:
        expected = {*TEXT_INPUTS, HIDDEN, HIDDEN_MASK, *(state.past for state in self._states)}
        more = [name for name in self._decoder.inputs if name not in expected]
        if more or "input_ids" not in self._decoder.inputs:
            what = f"its inputs are {', '.join(self._decoder.inputs)}"
            raise DataError(
                "NNM717",
                f"the model does not generate texts: {what}",
                hint="it must take tokens, and return scores of the vocabulary",
            )

    @property
    def encodes(self) -> bool:
        """Whether there is an encoder."""
        return bool(self.source)

    def _source_graph(self, spec: GraphSpec) -> tuple[Graph, dict[str, TensorType]]:
        """Return the graph of what the decoder attends to, and the types of its outputs.

        They are what the encoder returns, and the keys and values that the decoder computes of it.
        """
        assert self._encoder is not None
        b, lengths = GraphBuilder(), dict(spec.source)
        values: dict[str, Any] = {
            vertex.block: b.input(SOURCE + vertex.block, *source_type(vertex, spec.batch, lengths))
            for vertex in self.source
        }
        hidden = next(iter(self._embed(b, self._encoder, values, READER).values()))
        results = {HIDDEN: hidden}
        if self.restarts and self._source_states:
            names = {state.present: state.past for state in self._source_states}
            ids = b.constant([0] * spec.batch, "int32", [spec.batch, 1])
            own: dict[str, Any] = self._text_inputs(b, ids) | {HIDDEN: hidden}
            for name in self._mask_names:
                own[HIDDEN_MASK] = values[name]
            empty = self._empty_states(b, spec.batch, own)
            decoder = keep_outputs(self._decoder, names)
            presents = self._embed(b, decoder, own, DECODER, empty)
            results |= {past: presents[present] for present, past in names.items()}
        outputs = {SOURCE + name: _repeat(b, value, spec.beams) for name, value in results.items()}
        types = {name: operand.type for name, operand in outputs.items()}
        self._source_types[spec.batch, spec.source, spec.beams] = types
        return b.build(outputs), types

    @property
    def _mask_names(self) -> list[str]:
        """The input of the encoder that masks its tokens, if the decoder takes it as well."""
        masks = [v.block for v in self.source if default_kind(v) == "attention_mask"]
        return masks if HIDDEN_MASK in self._decoder.inputs else []

    def _scores(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of all tokens, `[batch, tokens, vocabulary]`."""
        follower = None if self.steps else self._find_follower(spec)
        if self.steps:
            scores = self._step(b, ids, cache, spec)
        elif follower is None:
            scores = self._recompute(b, ids, cache, spec)
        elif spec.tokens:
            scores = self._begin(b, ids, cache, spec)
        else:
            scores = self._follow(b, ids, cache, spec, follower)
        return scores if scores.dtype == "float32" else b.cast(scores, type="float32")

    def _step(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of new tokens, and add their keys and values to the cache."""
        batch, tokens = ids.shape
        length = spec.length
        values: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": _mask_past(b, cache, length, tokens),
            "position_ids": cache.positions,
            "token_type_ids": ids * 0,
        }
        pasts = {
            state.past: cache.read(state.past, TensorType(state.dtype, state.shape(batch, length)))
            for state in self._states
        }
        results = self._embed(b, self._follower, values | pasts, self._prefix)
        for state in self._states:
            present, past = results[state.present], pasts[state.past]
            if state.written:
                cache.keep(state.past, _slice_tokens(b, present, 0, length))
            else:
                cache.write(state.past, past, _slice_tokens(b, present, length, tokens))
        return results["logits"]

    def _begin(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of the first tokens of texts, and begin the cache with theirs."""
        batch, tokens = ids.shape
        values = self._text_inputs(b, ids) | self._read_encoder(b, spec, batch)
        empty = self._empty_states(b, batch, values)
        results = self._embed(b, self._decoder, values, DECODER, empty)
        for state in self._own_states:
            present = results[state.present]
            if spec.length > tokens:
                zero = b.constant(HostArray.of(0, state.dtype, []))
                rest = b.expand(zero, new_shape=state.shape(batch, spec.length - tokens))
                present = b.concat([present, rest], axis=2)
            cache.keep(state.past, present)
        return results["logits"]

    def _follow(
        self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec, follower: _Follower
    ) -> Any:
        """Return the scores of the next tokens, and add their keys and values to the cache."""
        batch, length = spec.batch, spec.length
        values = self._text_inputs(b, ids) | self._read_encoder(b, spec, batch)
        values["position_ids"] = cache.positions
        for state in self._source_states:
            name = SOURCE + state.past
            values[state.past] = b.input(name, *self._types_of_source(spec)[name])
        pasts: dict[str, Any] = {}
        for state in self._own_states:
            type = TensorType(state.dtype, state.shape(batch, length))
            pasts[state.past] = cache.read(state.past, type)
            values[state.past] = _slice_tokens(b, pasts[state.past], 0, length - 1)
        inputs = _bind(b, follower.imported, values, self._prefix)
        results = follower.past.apply(b, follower.imported.graph, inputs, cache.positions)
        for state in self._own_states:
            fresh = _slice_tokens(b, results[state.present], length - 1, 1)
            cache.write(state.past, pasts[state.past], fresh)
        return results["logits"]

    def _find_follower(self, spec: GraphSpec) -> _Follower | None:
        """Return the graph of the next token, None if it has to be computed with all others."""
        key = spec.batch, spec.length, spec.source, spec.beams, spec.ragged
        if not self.restarts or spec.length < MIN_CACHE or key in self._refused:
            return None
        follower = self._followers.get(key) or self._import_follower(spec)
        if follower is None:
            self._refused.add(key)
        else:
            self._followers[key] = follower
        return follower

    def _import_follower(self, spec: GraphSpec) -> _Follower | None:
        size = spec.length - 1
        file = keep_outputs(
            self._follower, {"logits", *(state.present for state in self._own_states)}
        )
        for folds_floats in (True, False):  # what is folded may hide a position
            try:
                imported, shorter = (
                    self._import_past(file, spec, past, folds_floats=folds_floats)
                    for past in (size, size - 1)
                )
            except DataError:  # the other branch, or file, may do without what this one has
                return None
            past = find_padded_past(imported.graph, shorter.graph, size, spec.batch)
            if past is not None:
                is_refused = past.needs_equal_lengths and spec.ragged
                return None if is_refused else _Follower(imported, past)
        return None

    def _import_past(
        self, file: OnnxFile, spec: GraphSpec, past: int, *, folds_floats: bool
    ) -> Imported:
        """Return the graph of the next token after a past of some size, all of which counts."""
        shapes: dict[str, Shape] = dict.fromkeys(TEXT_INPUTS, (spec.batch, 1))
        mask = "attention_mask"
        shapes[mask] = (spec.batch, past + 1)
        shapes |= {state.past: state.shape(spec.batch, past) for state in self._own_states}
        if self._encoder is not None:
            types = self._types_of_source(spec)
            names = [state.past for state in self._source_states]
            shapes |= {name: types[SOURCE + name].shape for name in (*names, HIDDEN)}
            shapes[HIDDEN_MASK] = types[SOURCE + HIDDEN].shape[:2]
        ones = HostArray("uint8", shapes[mask], bytes([1]) * count(shapes[mask]))
        constants = {mask: ones} if mask in file.inputs else {}
        shapes = {name: shape for name, shape in shapes.items() if name in file.inputs}
        return import_model(
            file.model,
            shapes,
            constants=constants,
            external=file.external,
            folds_floats=folds_floats,
        )

    def _types_of_source(self, spec: GraphSpec) -> dict[str, TensorType]:
        """Return the types of the results of the encoder's graph."""
        rows = spec.batch // spec.beams
        key = rows, spec.source, spec.beams
        if key not in self._source_types:
            self._source_graph(replace(spec, batch=rows))
        return self._source_types[key]

    def _recompute(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of new tokens, computed with all tokens so far."""
        batch, tokens = ids.shape
        length = spec.length
        before = cache.read(IDS, TensorType("int32", (batch, 1, length, 1)))
        fresh = b.reshape(ids, new_shape=(batch, 1, tokens, 1))
        text = b.reshape(cache.write(IDS, before, fresh), new_shape=(batch, length))
        values = self._text_inputs(b, text) | self._read_encoder(b, spec, batch)
        empty = self._empty_states(b, batch, values)
        logits = self._embed(b, self._decoder, values, DECODER, empty)["logits"]
        return _select(b, logits, cache.positions)

    def _text_inputs(self, b: GraphBuilder, ids: Any) -> dict[str, Any]:
        """Return the inputs for tokens at the beginning of texts."""
        batch, tokens = ids.shape
        return {
            "input_ids": ids,
            "attention_mask": b.constant([1] * (batch * tokens), "int32", [batch, tokens]),
            "position_ids": b.constant([*range(tokens)] * batch, "int32", [batch, tokens]),
            "token_type_ids": b.constant([0] * (batch * tokens), "int32", [batch, tokens]),
        }

    def _empty_states(
        self, b: GraphBuilder, batch: int, values: dict[str, Any]
    ) -> dict[str, Shape]:
        """Return the sizes of states before a text; those with elements are added to the values."""
        empty: dict[str, Shape] = {}
        for state in self._states:
            if state.past not in self._decoder.inputs:
                continue
            empty[state.past] = shape = state.shape(batch, 0)
            if 0 not in shape:  # not of tokens, but of the last ones: there are none
                zeros = b.constant(HostArray.of(0, state.dtype, []))
                values[state.past] = b.expand(zeros, new_shape=shape)
        return empty

    def _read_encoder(self, b: GraphBuilder, spec: GraphSpec, batch: int) -> dict[str, Any]:
        """Return what the decoder attends to."""
        if self._encoder is None:
            return {}
        name = SOURCE + HIDDEN
        values: dict[str, Any] = {HIDDEN: b.input(name, *self._types_of_source(spec)[name])}
        for vertex in self.source:
            if vertex.block in self._mask_names:
                type = source_type(vertex, batch // spec.beams, dict(spec.source))
                mask = b.input(SOURCE + vertex.block, *type)
                values[HIDDEN_MASK] = _repeat(b, mask, spec.beams)
        return values

    def _embed(
        self,
        b: GraphBuilder,
        file: OnnxFile,
        values: Mapping[str, Any],
        prefix: str,
        empty: Mapping[str, Shape] | None = None,
    ) -> dict[str, Operand]:
        """Return the outputs of a file for values of its inputs; the weights become inputs.

        `values` may have more than the inputs; `empty` are the shapes of inputs without elements.
        """
        operands = {name: values[name] for name in file.inputs if name in values}
        shapes = {**(empty or {}), **{name: x.shape for name, x in operands.items()}}
        key = prefix, (*file.outputs,), (*shapes.items(),)
        imported = self._imports.get(key)
        if imported is None:
            imported = import_model(file.model, shapes, external=file.external)
            self._imports[key] = imported
        return copy_graph_into(b, imported.graph, _bind(b, imported, operands, prefix))


class _Follower(NamedTuple):
    """The graph of a file for the next token, and what it computes otherwise in a longer past."""

    imported: Imported
    past: PaddedPast


def _bind(
    b: GraphBuilder, imported: Imported, operands: Mapping[str, Any], prefix: str
) -> dict[str, Operand]:
    """Return the inputs of an imported graph: weights, and operands in its types."""
    inputs: dict[str, Operand] = {}
    for name, x in imported.graph.inputs.items():
        if name in imported.parameters:
            inputs[name] = b.input(PARAMETER_PREFIX + prefix + name, *x.type)
        else:
            operand = operands[name]
            inputs[name] = operand if operand.dtype == x.dtype else b.cast(operand, type=x.dtype)
    return inputs


def _mask_past(b: GraphBuilder, cache: KeyValues, length: int, tokens: int) -> Any:
    """Return the mask of a past of this length, 0 for what is not there, and of new tokens."""
    batch = cache.positions.shape[0]
    places = b.constant([*range(length)], "int32", [1, length])
    first = b.slice(cache.positions, starts=(0, 0), sizes=(batch, 1))
    is_past = b.cast(b.lesser(places, first), type="int32")
    new = b.constant([1] * (batch * tokens), "int32", [batch, tokens])
    return b.concat([is_past, new], axis=1)


def _slice_tokens(b: GraphBuilder, state: Any, start: int, tokens: int) -> Any:
    """Return a state `[batch, heads, tokens, size]` of some tokens."""
    batch, heads, _, size = state.shape
    return b.slice(state, starts=(0, 0, start, 0), sizes=(batch, heads, tokens, size))


def _repeat(b: GraphBuilder, value: Any, times: int) -> Any:
    """Return a batch with each row repeated."""
    if times == 1:
        return value
    rows = [row for row in range(value.shape[0]) for _ in range(times)]
    return b.gather(value, b.constant(rows, "int32", [len(rows)]), axis=0)


def _select(b: GraphBuilder, scores: Any, positions: Any) -> Any:
    """Return the scores `[batch, tokens, vocabulary]` at positions `[batch, tokens]`.

    For several tokens they are those of the first row.
    """
    batch, tokens = positions.shape
    if tokens > 1:
        row = b.slice(positions, starts=(0, 0), sizes=(1, tokens))
        return b.gather(scores, b.reshape(row, new_shape=(tokens,)), axis=1)
    places = b.constant([*range(scores.shape[1])], "int32", [1, scores.shape[1]])
    here = b.cast(b.equal(places, positions), type=scores.dtype)
    return b.matmul(b.reshape(here, new_shape=(batch, 1, scores.shape[1])), scores)


def _can_step(file: OnnxFile, states: Collection[State]) -> bool:
    """Return whether a file computes new tokens alone, with a past that is masked."""
    inputs, outputs = file.inputs, file.outputs
    return (
        bool(states)
        and "attention_mask" in inputs
        and ("position_ids" in inputs or all(state.written for state in states))
        and all(is_cache(state) and state.present in outputs for state in states)
    )


def _find_max_length(config: Mapping[str, Any]) -> int | None:
    """Return the number of positions of a decoder behind an encoder, None if it has no such."""
    sizes = [config[name] for name in MAX_POSITIONS if isinstance(config.get(name), int)]
    return sizes[0] if sizes else None


def _find_vocabulary(file: OnnxFile, config: Mapping[str, Any]) -> int:
    """Return the number of scores of a token. Raises `DataError` NNM717 if there are none."""
    info = file.outputs.get("logits")
    if info is None or info.shape is None or len(info.shape) != 3:
        raise DataError(
            "NNM717",
            f"the model does not generate texts: its outputs are {', '.join(file.outputs)}",
            hint="it must take tokens, and return scores of the vocabulary",
        )
    size = info.shape[2]
    if isinstance(size, int):
        return size
    return Fields(dict(config.get("text_config") or config), "config.json").integer("vocab_size")
