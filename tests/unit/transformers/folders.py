"""Folders as Hugging Face has them, of a tiny Llama."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.transformers.tokenizer_json import WORDS, tokenizer
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count
from webnnm.snapshots.safetensors import chunks

CONFIG: Mapping[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 31,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "tie_word_embeddings": True,
}

_LAYER = {
    "input_layernorm.weight": (12,),
    "post_attention_layernorm.weight": (12,),
    "self_attn.q_proj.weight": (12, 12),
    "self_attn.k_proj.weight": (6, 12),
    "self_attn.v_proj.weight": (6, 12),
    "self_attn.o_proj.weight": (12, 12),
    "mlp.gate_proj.weight": (20, 12),
    "mlp.up_proj.weight": (20, 12),
    "mlp.down_proj.weight": (12, 20),
}
WIDE = {**CONFIG, "hidden_size": 64, "intermediate_size": 96, "vocab_size": 40}
WIDE_SIZES = {12: 64, 6: 32, 20: 96, 31: 40}
"""The sizes of the tiny model → those of one whose matrices are large enough to be packed."""
SHAPES = {
    "model.embed_tokens.weight": (31, 12),
    **{f"model.layers.{n}.{name}": shape for n in range(2) for name, shape in _LAYER.items()},
    "model.norm.weight": (12,),
}


def weights() -> dict[str, HostArray]:
    """Return weights that are multiples of 1/16: all types of floats hold them."""
    found: dict[str, HostArray] = {}
    for name, shape in SHAPES.items():
        stream = Stream(0, Purpose.RANDOMIZE, name)
        values = [(stream.below(17) - 8) / 16 for _ in range(count(shape))]
        found[name] = HostArray.of(values, "float32", shape)
    return found


def files_with_words() -> dict[str, bytes]:
    """Return the files of the tiny Llama, with a tokenizer of a few words."""
    return {
        "config.json": json.dumps(CONFIG).encode(),
        "model.safetensors": pack(weights()),
        "tokenizer.json": tokenizer(WORDS, {0, 1, 2}).encode(),
    }


def wide_files() -> dict[str, bytes]:
    """Return the files of a Llama whose matrices are large enough to be packed."""
    return sized_files(WIDE, WIDE_SIZES, 0.2)


def sized_files(
    config: Mapping[str, Any], sizes: Mapping[int, int], scale: float
) -> dict[str, bytes]:
    """Return the files of a Llama of other sizes, given by those of the tiny one."""
    tensors: dict[str, HostArray] = {}
    for name, small in SHAPES.items():
        shape = tuple(sizes.get(size, size) for size in small)
        stream = Stream(0, Purpose.RANDOMIZE, name)
        values = [2 * u - 1 for u in stream.uniform(count(shape))]
        factor = 1.0 if len(shape) == 1 else scale
        tensors[name] = HostArray.of([factor * value for value in values], "float32", shape)
    return {"config.json": json.dumps(config).encode(), "model.safetensors": pack(tensors)}


def pack(tensors: Mapping[str, HostArray]) -> bytes:
    """Return a safetensors file."""
    return b"".join(chunks(tensors, {"format": "pt"}))


def bfloat16(file: bytes) -> bytes:
    """Return a file with the upper halves of its float32 numbers, as bfloat16."""
    size = int.from_bytes(file[:8], "little")
    content = json.loads(file[8 : 8 + size])
    for entry in content.values():
        if "dtype" in entry:
            entry["dtype"] = "BF16"
            entry["data_offsets"] = [offset // 2 for offset in entry["data_offsets"]]
    body = bytearray(len(file[8 + size :]) // 2)
    body[0::2], body[1::2] = file[8 + size + 2 :: 4], file[8 + size + 3 :: 4]
    text = json.dumps(content).encode()
    return len(text).to_bytes(8, "little") + text + bytes(body)


def write(
    folder: Path, config: Mapping[str, Any] = CONFIG, files: Mapping[str, bytes] | None = None
) -> Path:
    """Write a folder with a config and files, by default all weights in one."""
    (folder / "config.json").write_text(json.dumps(config))
    for name, data in (files or {"model.safetensors": pack(weights())}).items():
        (folder / name).write_bytes(data)
    return folder


def write_shards() -> dict[str, bytes]:
    """Return the weights in two files and their index."""
    tensors = weights()
    places = {
        name: f"model-0000{1 + (number > 9)}-of-00002.safetensors"
        for number, name in enumerate(tensors)
    }
    files = {
        file: pack({name: tensors[name] for name, place in places.items() if place == file})
        for file in sorted({*places.values()})
    }
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    return {**files, "model.safetensors.index.json": json.dumps(index).encode()}
