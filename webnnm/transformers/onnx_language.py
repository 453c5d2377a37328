"""Language models in ONNX files: the graphs that generate, around the graph of a file.

Files take keys and values of any length, and return them with those of the new tokens appended.
Here they have a fixed length: the past is a cache in which each token has its position, and what
follows the last token is masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, Span
from webnnm.core.lru_cache import LruCache
from webnnm.core.shapes import Shape
from webnnm.formats.fields import Fields
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.described import ValueInfo
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.graph.node import Graph, Operand
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.ops.declare.features import Changes, Features
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.decoding import GraphSpec, Language, default_kind, source_type
from webnnm.transformers.key_values import SOURCE, KeyValues
from webnnm.transformers.onnx_files import OnnxFile, OnnxFiles

SEQUENCE, OF_SOURCE = "tokens", "source"
"""The sequences of a text and of what an encoder reads."""
PAST, PRESENT = ("past_key_values", "past"), "present"
"""How the names of keys and values begin: as inputs, and as outputs."""
BRANCH, LOGITS_KEPT = "use_cache_branch", "num_logits_to_keep"
HIDDEN, HIDDEN_MASK = "encoder_hidden_states", "encoder_attention_mask"
SOUND = "input_features"
TEXT_INPUTS = frozenset({"input_ids", "attention_mask", "position_ids", "token_type_ids"})
GROUPED = "GroupQueryAttention"
MAX_IMPORTS = 2
"""How many graphs of a file are kept for further ones of the same sizes."""
IDS = "ids"
"""The tokens so far, in the cache of a model that computes them anew for each token."""


class State(NamedTuple):
    """Keys or values, or another state, that a graph takes and returns.

    `past` and `present` are their names, `info` the type of the input; `written` tells that the
    graph writes new ones at their positions, rather than append them.
    """

    past: str
    present: str
    info: ValueInfo
    written: bool

    @property
    def dtype(self) -> DataType:
        """The type."""
        return cast("DataType", self.info.dtype)

    def shape(self, batch: int, length: int) -> tuple[int, ...]:
        """Return the sizes for a number of rows, and a number of tokens."""
        first, *others = self.info.shape or ()
        del first
        sizes = [size if isinstance(size, int) else length for size in others]
        return (batch, *sizes)


class OnnxLanguage(Language):
    """The facts about ONNX files that generation needs, and its graphs.

    With keys and values of fixed sizes, a mask and positions as inputs, only new tokens are
    computed. Other decoders, such as those of models with an encoder, compute all tokens for each
    new one: what follows a token does not change its scores.

    Raises `DataError` NNM717 for files that do not generate texts.
    """

    def __init__(self, files: OnnxFiles, config: Mapping[str, Any]) -> None:
        decoder = files.model
        self._states = find_states(decoder)
        self.steps = files.encoder is None and _can_step(decoder, self._states)
        self._decoder, self._encoder = choose_branch(decoder, has_past=self.steps), files.encoder
        self.sequence, self.max_length = SEQUENCE, None
        self.max_lengths = dict[str, int]()
        self.vocabulary = _find_vocabulary(decoder, config)
        self.source = [] if files.encoder is None else source_vertices(files.encoder, config)
        self._hidden: dict[tuple[int, tuple[tuple[str, int], ...], int], TensorType] = {}
        self._imports = LruCache[object, Imported](MAX_IMPORTS)
        self._check_inputs()

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

    def _source_graph(self, spec: GraphSpec) -> tuple[Graph, dict[str, TensorType]]:
        """Return the graph of the encoder, and the types of its outputs."""
        assert self._encoder is not None
        b, lengths = GraphBuilder(), dict(spec.source)
        values = {
            vertex.block: b.input(SOURCE + vertex.block, *source_type(vertex, spec.batch, lengths))
            for vertex in self.source
        }
        results = self._embed(b, self._encoder, values, "encoder/")
        hidden = _repeat(b, next(iter(results.values())), spec.beams)
        self._hidden[spec.batch, spec.source, spec.beams] = hidden.type
        outputs = {SOURCE + HIDDEN: hidden}
        return b.build(outputs), {name: operand.type for name, operand in outputs.items()}

    def _scores(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of all tokens, `[batch, tokens, vocabulary]`."""
        scores = (self._step if self.steps else self._recompute)(b, ids, cache, spec)
        return scores if scores.dtype == "float32" else b.cast(scores, type="float32")

    def _step(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of new tokens, and add their keys and values to the cache."""
        batch, tokens = ids.shape
        length = spec.length
        places = b.constant([*range(length)], "int32", [1, length])
        first = b.slice(cache.positions, starts=(0, 0), sizes=(batch, 1))
        is_past = b.cast(b.lesser(places, first), type="int32")
        new = b.constant([1] * (batch * tokens), "int32", [batch, tokens])
        values: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": b.concat([is_past, new], axis=1),
            "position_ids": cache.positions,
            "token_type_ids": ids * 0,
        }
        pasts = {
            state.past: cache.read(state.past, TensorType(state.dtype, state.shape(batch, length)))
            for state in self._states
        }
        results = self._embed(b, self._decoder, values | pasts, "decoder/")
        for state in self._states:
            present, past = results[state.present], pasts[state.past]
            start = 0 if state.written else length
            sizes = list(present.shape)
            sizes[2] = length if state.written else tokens
            fresh = b.slice(present, starts=(0, 0, start, 0), sizes=sizes)
            if state.written:
                cache.keep(state.past, fresh)
            else:
                cache.write(state.past, past, fresh)
        return results["logits"]

    def _recompute(self, b: GraphBuilder, ids: Any, cache: KeyValues, spec: GraphSpec) -> Any:
        """Return the scores of new tokens, computed with all tokens so far."""
        batch, tokens = ids.shape
        length = spec.length
        before = cache.read(IDS, TensorType("int32", (batch, 1, length, 1)))
        fresh = b.reshape(ids, new_shape=(batch, 1, tokens, 1))
        text = b.reshape(cache.write(IDS, before, fresh), new_shape=(batch, length))
        positions = b.constant([*range(length)] * batch, "int32", [batch, length])
        values: dict[str, Any] = {
            "input_ids": text,
            "attention_mask": b.constant([1] * (batch * length), "int32", [batch, length]),
            "position_ids": positions,
            "token_type_ids": b.constant([0] * (batch * length), "int32", [batch, length]),
        }
        empty: dict[str, Shape] = {}
        for state in self._states:
            empty[state.past] = shape = state.shape(batch, 0)
            if 0 not in shape:  # not of tokens, but of the last ones: there are none
                zeros = b.constant(HostArray.of(0, state.dtype, []))
                values[state.past] = b.expand(zeros, new_shape=shape)
        if self._encoder is not None:
            values |= self._read_encoder(b, spec, batch)
        logits = self._embed(b, self._decoder, values, "decoder/", empty)["logits"]
        return _select(b, logits, cache.positions)

    def _read_encoder(self, b: GraphBuilder, spec: GraphSpec, batch: int) -> dict[str, Any]:
        """Return what the decoder attends to."""
        assert self._encoder is not None
        rows = batch // spec.beams
        key = rows, spec.source, spec.beams
        if key not in self._hidden:
            self._source_graph(replace(spec, batch=rows))
        values: dict[str, Any] = {HIDDEN: b.input(SOURCE + HIDDEN, *self._hidden[key])}
        if HIDDEN_MASK in self._decoder.inputs:
            (mask,) = (v for v in self.source if default_kind(v) == "attention_mask")
            type = source_type(mask, rows, dict(spec.source))
            values[HIDDEN_MASK] = _repeat(b, b.input(SOURCE + mask.block, *type), spec.beams)
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
        key = prefix, (*shapes.items(),)
        imported = self._imports.get(key)
        if imported is None:
            imported = import_model(file.model, shapes, external=file.external)
            self._imports[key] = imported
        inputs: dict[str, Operand] = {}
        for name, x in imported.graph.inputs.items():
            if name in imported.parameters:
                inputs[name] = b.input(PARAMETER_PREFIX + prefix + name, *x.type)
            else:
                operand = operands[name]
                inputs[name] = (
                    operand if operand.dtype == x.dtype else b.cast(operand, type=x.dtype)
                )
        return copy_graph_into(b, imported.graph, inputs)


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


def source_vertices(file: OnnxFile, config: Mapping[str, Any]) -> list[InputVertex]:
    """Return the inputs of an encoder, as those of a network."""
    vertices: list[InputVertex] = []
    for name, info in file.inputs.items():
        if name == SOUND:
            info = replace(info, shape=(None, *sound_sizes(config)))
        vertices.append(make_vertex(name, info, OF_SOURCE))
    return vertices


def sound_sizes(config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bands and frames of the features that a Whisper takes.

    >>> sound_sizes({"num_mel_bins": 80, "max_source_positions": 1500})
    (80, 3000)
    """
    fields = Fields(dict(config), "config.json")
    return fields.integer("num_mel_bins"), 2 * fields.integer("max_source_positions")


def make_vertex(name: str, info: ValueInfo, sequence: str) -> InputVertex:
    """Return an input of a file as that of a network; dimensions of unknown size have none."""
    _, *sizes = info.shape or (None,)
    along = sequence if name.removeprefix("decoder_") in TEXT_INPUTS else None
    dims = [size if isinstance(size, int) else None for size in (sizes[1:] if along else sizes)]
    features = Features(Changes(), dims, sequence=along)
    dtype = cast("DataType", info.dtype)
    return InputVertex(span=Span(0, 0), features=[features], dtype=dtype, block=name)


def choose_branch(file: OnnxFile, *, has_past: bool) -> OnnxFile:
    """Return a file that computes with or without a past, and the scores of all tokens.

    Files with a branch for each have an input that says which; it becomes a constant.
    """
    fixed = {BRANCH: HostArray.of([int(has_past)], "uint8"), LOGITS_KEPT: HostArray.of(0, "int64")}
    graph = file.graph
    constants = [
        tensors.tensor_proto(name, array, boolean=name == BRANCH)
        for name, array in fixed.items()
        if name in file.inputs
    ]
    inputs = [info for info in graph.input if info.name not in fixed]
    graph = replace(graph, input=inputs, initializer=[*graph.initializer, *constants])
    return file._replace(model=replace(file.model, graph=graph))


def find_states(file: OnnxFile) -> list[State]:
    """Return the keys, values and other states that a file takes and returns."""
    makers = {name: node.op_type for node in file.graph.node for name in node.output}
    states: list[State] = []
    for name, info in file.inputs.items():
        prefix = next((prefix for prefix in PAST if name.startswith(prefix)), None)
        if prefix is not None:
            present = PRESENT + name.removeprefix(prefix)
            states.append(State(name, present, info, makers.get(present) == GROUPED))
    return states


def _can_step(file: OnnxFile, states: Collection[State]) -> bool:
    """Return whether a file computes new tokens alone, with a past that is masked."""
    inputs, outputs = file.inputs, file.outputs
    return (
        bool(states)
        and "attention_mask" in inputs
        and ("position_ids" in inputs or all(state.written for state in states))
        and all(_is_cache(state) and state.present in outputs for state in states)
    )


def _is_cache(state: State) -> bool:
    """Return whether a state is `[batch, heads, tokens, size]`, of which two are fixed."""
    shape = state.info.shape or ()
    return len(shape) == 4 and [isinstance(size, int) for size in shape[1:]] == [True, False, True]


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
