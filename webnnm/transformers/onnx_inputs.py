"""The inputs of ONNX files that generate texts, as those of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from webnnm.core.dtypes import DataType
from webnnm.core.errors import Span
from webnnm.formats.fields import Fields
from webnnm.formats.onnx.described import ValueInfo
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.ops.declare.features import Changes, Features
from webnnm.transformers.onnx_files import OnnxFile

SEQUENCE, OF_SOURCE = "tokens", "source"
"""The sequences of a text and of what an encoder reads."""
HIDDEN, HIDDEN_MASK = "encoder_hidden_states", "encoder_attention_mask"
SOUND = "input_features"
TEXT_INPUTS = frozenset({"input_ids", "attention_mask", "position_ids", "token_type_ids"})


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
