"""Tasks of sounds, with tiny models, and what `transformers.pipeline` gave, recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.parity.pretrained.fixtures import SEED, draw_weights
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks

FILE = Path(__file__).with_name("speech.json")
LENGTHS = (9000, 3001)
CALLS: tuple[dict[str, Any], ...] = (
    {"return_timestamps": "char"},
    {"return_timestamps": "word", "chunk_length_s": 0.2, "stride_length_s": [0.05, 0.02]},
    {"return_timestamps": "word", "chunk_length_s": 0.15},
)
"""Settings of models of letters."""
VOCABULARY = {
    "<pad>": 0,
    "<s>": 1,
    "</s>": 2,
    "<unk>": 3,
    "|": 4,
    **{letter: number for number, letter in enumerate("abcdefg", 5)},
}
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "conv_dim": (8, 8, 8),
    "conv_kernel": (10, 3, 3),
    "conv_stride": (5, 4, 4),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": len(VOCABULARY),
    "classifier_proj_size": 8,
    "num_labels": 4,
}
MOONSHINE = {
    "vocab_size": 18,
    "hidden_size": 16,
    "intermediate_size": 16,
    "encoder_num_hidden_layers": 1,
    "decoder_num_hidden_layers": 2,
    "encoder_num_attention_heads": 2,
    "decoder_num_attention_heads": 2,
    "pad_token_id": 2,
    "decoder_start_token_id": 10,
    "tie_word_embeddings": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 9.0, "partial_rotary_factor": 0.75},
}


class SpeechCase(NamedTuple):
    """A task, and the family and the head of a model."""

    task: str
    family: str
    head: str


def list_speech_cases() -> Iterator[SpeechCase]:
    """Yield all cases."""
    for family in ("Wav2Vec2", "Hubert"):
        yield SpeechCase("automatic-speech-recognition", family, "ForCTC")
        yield SpeechCase("audio-classification", family, "ForSequenceClassification")
    yield SpeechCase("automatic-speech-recognition", "Moonshine", "ForConditionalGeneration")


def make_files(fixture: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of the model of a fixture."""
    weights = draw_weights(fixture["shapes"], SEED)
    tensors = {name: HostArray.of(values) for name, values in weights.items()}
    files = {name: json.dumps(values).encode() for name, values in fixture["files"].items()}
    return files | {"model.safetensors": b"".join(chunks(tensors, {}))}


def read_fixtures() -> list[Mapping[str, Any]]:
    """Return what was recorded."""
    return json.loads(FILE.read_text())
