"""Models in GGUF files: their metadata as a config, their tensors under Hugging Face names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape
from webnnm.formats.gguf import File
from webnnm.formats.safetensors import StoredTensor

FAMILIES = ("llama", "qwen2", "qwen3")
"""Values of `general.architecture` with the tensors of Hugging Face under other names."""
KEYS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
    "context_length": "max_position_embeddings",
}
"""Keys of the metadata → those of the config."""
LAYER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OTHERS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_PLACE = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")


def config_of_gguf(file: File) -> dict[str, Any]:
    """Return the config of a model in a file.

    Raises `DataError` NNM817 for an architecture whose tensors this package does not know, NNM818
    for incomplete metadata.
    """
    family = file.metadata.get("general.architecture")
    if family not in FAMILIES:
        message = (
            f'models of the architecture "{str(family)[:40]}" cannot be loaded from GGUF files'
        )
        raise DataError("NNM817", message, hint=f"supported are {', '.join(FAMILIES)}")
    table = file.tensors.get("token_embd.weight")
    if table is None or len(table.shape) != 2:
        raise DataError("NNM818", "the file has no token embeddings, token_embd.weight")
    config: dict[str, Any] = {
        "model_type": family,
        "vocab_size": table.shape[0],
        "tie_word_embeddings": "output.weight" not in file.tensors,
    }
    for key, name in KEYS.items():
        value = file.metadata.get(f"{family}.{key}")
        if isinstance(value, (int, float)):
            config[name] = value
        elif value is not None:
            raise DataError("NNM818", f'"{family}.{key}" is {str(value)[:40]}, not one number')
    scaling = file.metadata.get(f"{family}.rope.scaling.type", "none")
    if scaling != "none":
        config["rope_scaling"] = {"rope_type": scaling}
        told = {"factor": "factor", "original_context_length": "original_max_position_embeddings"}
        for key, name in told.items():
            value = file.metadata.get(f"{family}.rope.scaling.{key}")
            if value is not None:
                config["rope_scaling"][name] = value
    end = file.metadata.get("tokenizer.ggml.eos_token_id")
    return config | ({"eos_token_id": end} if isinstance(end, int) else {})


def tensors_of_gguf(file: File, prefix: str = "") -> Mapping[str, StoredTensor]:
    """Return the tensors by the names of Hugging Face, without a prefix; each is unpacked when its
    data are accessed."""
    return {
        _name(name).removeprefix(prefix): Unpacked(tensor.shape, partial(file.rope_order, name))
        for name, tensor in file.tensors.items()
    }


def _name(name: str) -> str:
    """Return Hugging Face's name of a tensor; an unknown one keeps its name, and is refused."""
    place = _PLACE.fullmatch(name)
    if place is None or place[2] not in LAYER:
        return OTHERS.get(name, name)
    return f"model.layers.{place[1]}.{LAYER[place[2]]}.{place[3]}"


class Unpacked(StoredTensor):
    """A tensor whose float32 values are computed when they are accessed, and not kept."""

    def __init__(self, shape: Shape, make: Callable[[], HostArray]) -> None:
        object.__setattr__(self, "code", "F32")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "make", make)

    make: Callable[[], HostArray]

    @property
    def data(self) -> memoryview[int]:  # pyrefly: ignore[bad-override]
        """The bytes of the values."""
        return HostArray.of(self.make(), "float32").data
