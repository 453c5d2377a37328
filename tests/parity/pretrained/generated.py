"""Texts that models write, greedy and by beam search: the cases, and the committed file.

The weights are drawn from a seed, as those of `fixtures`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import webnnm
from tests.parity.pretrained.case import Case
from tests.parity.pretrained.families.decoders import LLAMA, OPT
from tests.parity.pretrained.families.sequence_to_sequence import BART, T5
from tests.parity.pretrained.fixtures import Fixture
from tests.parity.pretrained.outcome import files
from webnnm import PretrainedModel

FILE = Path(__file__).with_name("generated.json")
ENDS = [2, 5, 8, 13, 21]
LONG = {**BART, "vocab_size": 65, "max_position_embeddings": 80}
CASES = [
    Case("t5", "T5ForConditionalGeneration", {**T5, "vocab_size": 57, "decoder_start_token_id": 0}),
    Case("bart", "BartForConditionalGeneration", LONG),
    Case("bart-ends", "BartForConditionalGeneration", {**LONG, "eos_token_id": ENDS}),
    Case(
        "marian",
        "MarianMTModel",
        {**LONG, "pad_token_id": 64, "decoder_start_token_id": 64, "eos_token_id": [0, 4, 11]},
    ),
    Case("m2m", "M2M100ForConditionalGeneration", {**LONG, "eos_token_id": 11}),
    Case("blenderbot", "BlenderbotForConditionalGeneration", LONG),
    Case("llama", "LlamaForCausalLM", {**LLAMA, "max_position_embeddings": 90}),
    Case("opt", "OPTForCausalLM", {**OPT, "max_position_embeddings": 90}),
]
ROWS = 7, 12, 3
"""How many tokens the rows have."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "greedy": {"max_new_tokens": 64},
    "forced": {"max_new_tokens": 9, "forced_bos_token_id": 9, "repetition_penalty": 1.4},
    "beams": {"max_new_tokens": 20, "num_beams": 4},
    "early": {
        "max_new_tokens": 20,
        "num_beams": 3,
        "length_penalty": 2.0,
        "early_stopping": True,
        "forced_bos_token_id": 7,
    },
    "never": {
        "max_new_tokens": 20,
        "num_beams": 3,
        "length_penalty": 0.5,
        "early_stopping": "never",
        "repetition_penalty": 1.3,
        "suppress_tokens": [3, 6],
    },
    "short": {"max_new_tokens": 20, "num_beams": 2, "length_penalty": -1.0},
    "no repeats": {"max_new_tokens": 24, "no_repeat_ngram_size": 2, "min_new_tokens": 12},
    "nothing of the source": {"max_new_tokens": 24, "encoder_no_repeat_ngram_size": 1},
    "no pairs of the source in beams": {
        "max_new_tokens": 24,
        "num_beams": 3,
        "encoder_no_repeat_ngram_size": 2,
        "no_repeat_ngram_size": 3,
    },
    "no repeats in beams": {
        "max_new_tokens": 24,
        "num_beams": 3,
        "no_repeat_ngram_size": 3,
        "min_new_tokens": 9,
        "repetition_penalty": 1.2,
    },
}

Texts = dict[str, list[list[int]]]


def draw_rows(vocabulary: int, seed: int) -> list[list[int]]:
    """Draw the tokens that are read."""
    random = np.random.default_rng([seed, 3])
    return [random.integers(4, vocabulary - 4, length).tolist() for length in ROWS]


def select_settings(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings by name; only models with an encoder have a forced first token."""
    ignored = () if config.get("is_encoder_decoder") else ("forced_bos_token_id",)
    return {
        name: {key: value for key, value in settings.items() if key not in ignored}
        for name, settings in SETTINGS.items()
    }


def load(fixture: Fixture, seed: int, backend: str = "numpy") -> PretrainedModel:
    """Return the model of a case."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files(fixture, seed).items():
            Path(folder, name).write_bytes(data)
        opened = webnnm.from_pretrained(folder, backend=backend, log=lambda line: None)
        return asyncio.run(opened)


def write(found: Mapping[str, tuple[Fixture, Texts]]) -> None:
    """Write the file anew."""
    content = {
        name: {"config": fixture.config, "shapes": fixture.shapes, "texts": texts}
        for name, (fixture, texts) in found.items()
    }
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in content.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read() -> dict[str, tuple[Fixture, Texts]]:
    """Return what the file has, by the names of the cases."""
    return {
        name: (
            Fixture(
                each["config"], {n: tuple(shape) for n, shape in each["shapes"].items()}, {}, {}
            ),
            each["texts"],
        )
        for name, each in json.loads(FILE.read_text()).items()
    }
