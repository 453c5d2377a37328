"""Models in GGUF files: their metadata as a config, their tensors under Hugging Face names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape
from webnnm.formats.fields import Fields, shorten
from webnnm.formats.gguf import File
from webnnm.snapshots.safetensors import StoredTensor
from webnnm.transformers.architectures.rotary_rates import MAX_HEAD, yarn_factor

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
    "attention.scale": "attention_multiplier",
    "rope.freq_base": "rope_theta",
    "context_length": "max_position_embeddings",
}
"""Keys of the metadata → those of the config."""
SCALING = {
    "factor": "factor",
    "original_context_length": "original_max_position_embeddings",
    "attn_factor": "attention_factor",
    "yarn_attn_factor": "attention_factor",
    "yarn_beta_fast": "beta_fast",
    "yarn_beta_slow": "beta_slow",
}
"""Keys of the metadata below `rope.scaling` → those of the scaling in the config."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "rope.scaling.yarn_ext_factor": (1.0, -1.0),
    "rope.scaling.yarn_log_multiplier": (0.0,),
    "attention.causal": (True,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.sliding_window": (0,),
    "attn_logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "router_logit_softcapping": (0.0,),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "expert_shared_count": (0,),
    "leading_dense_block_count": (0,),
    "nextn_predict_layers": (0,),
    "logit_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "embedding_scale": (0.0, 1.0),
    "use_parallel_residual": (False,),
    "swin_norm": (False,),
    "tensor_data_layout": ("Meta AI original pth",),
}
"""Keys that would change the numbers → the values with which they do not: others are refused."""
HARMLESS = frozenset(
    ("vocab_size", "pooling_type", "rope.scaling.finetuned", "attention.layer_norm_epsilon")
)
"""Keys on which no score depends: the vocabulary has the rows of its table, pooling is for
embeddings, and these models have no other norms."""
ROTATION = "rope_freqs.weight"
"""The tensor with the factors by which the rates of angles are divided."""
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


def config_of_gguf(file: File, ignore: Collection[str] = ()) -> dict[str, Any]:
    """Return the config of a model in a file; `ignore` are keys whose values are not checked.

    Raises `DataError` NNM817 for an architecture whose tensors this package does not know, NNM818
    for incomplete metadata, and for those that ask for something that is not supported.
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
    if file.metadata.get("split.count", 1) != 1:
        count = shorten(file.metadata["split.count"])
        message = f"the file is one of {count} parts of a model"
        raise DataError("NNM818", message, hint="llama-gguf-split --merge makes one file of them")
    lead = f"{family}."
    values = {k.removeprefix(lead): v for k, v in file.metadata.items() if k.startswith(lead)}
    metadata = Metadata(values, f"the metadata of the file: {family}", ignore, lead)
    config: dict[str, Any] = {
        "model_type": family,
        "vocab_size": table.shape[0],
        "tie_word_embeddings": "output.weight" not in file.tensors,
    }
    for key, name in KEYS.items():
        if key in metadata:
            config[name] = metadata.number(key)
    if family == "llama" and "blk.0.attn_q.bias" in file.tensors:
        config["attention_bias"] = True
    config |= _scaling(file, metadata, config)
    metadata.finish(config)
    end = file.metadata.get("tokenizer.ggml.eos_token_id")
    return config | ({"eos_token_id": end} if type(end) is int else {})


class Metadata(Fields):
    """The metadata about an architecture, none of which is ignored."""

    def __init__(
        self, values: Mapping[str, Any], file: str, ignore: Collection[str], lead: str
    ) -> None:
        super().__init__(values, file)
        self._read |= {key.removeprefix(lead) for key in ignore}

    def finish(self, config: Mapping[str, Any]) -> None:
        """Raise `DataError` NNM818 for keys that change numbers and were not applied."""
        width = _width(config)
        neutral = {
            **NEUTRAL,
            "rope.dimension_count": (width,),
            "attention.value_length": (width,),
        }
        for key, value in self.given.items():
            if key in self._read or key in HARMLESS:
                continue
            if key not in neutral or not any(
                value == value_allowed
                and isinstance(value, bool) == isinstance(value_allowed, bool)
                for value_allowed in neutral[key]
            ):
                has_neutral = key in neutral
                hint = f"only {shorten(neutral[key][0])} is supported; " if has_neutral else ""
                raise DataError(
                    "NNM818",
                    f"{self.file}.{key} is {shorten(value)}, which is not supported",
                    hint=f'{hint}ignore=["{key}"], if results do not depend on it',
                )


def _width(config: Mapping[str, Any]) -> int:
    """Return the size of a head; what is wrong with the sizes is said later."""
    heads = config.get("num_attention_heads") or 1
    width = int(config.get("head_dim", config.get("hidden_size", 0) // heads))
    return min(max(width, 0), MAX_HEAD)


def _scaling(file: File, metadata: Metadata, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scaling of rotary angles as a config has it; without a type it is linear."""
    kind = metadata.text("rope.scaling.type", "linear")
    scaling_of_file: dict[str, Any] = {}
    for key, name in SCALING.items():
        if f"rope.scaling.{key}" in metadata:
            scaling_of_file[name] = metadata.number(f"rope.scaling.{key}", above=0)
    linear = metadata.number("rope.scale_linear", 0)
    factors = file.tensors.get(ROTATION)
    if kind == "none":
        scaling_of_file = {"factor": 1}
    if kind in ("none", "linear"):
        factor, attention = (
            scaling_of_file.get("factor", linear or 1),
            scaling_of_file.get("attention_factor", 1),
        )
        if factors is None and attention == 1:
            scaling = {"rope_type": "linear", "factor": factor}
            return {} if factor == 1 else {"rope_scaling": scaling}
        longest = config.get("max_position_embeddings", 2048)
        pairs: list[float] = [1.0] * (_width(config) // 2)
        if factors is not None:
            pairs = [*factors.array().values()]
        return {
            "rope_scaling": {
                "rope_type": "longrope",
                "short_factor": [value * factor for value in pairs],
                "attention_factor": attention,
                "original_max_position_embeddings": longest,
            }
        }
    if factors is not None:
        message = f'the file scales angles as "{kind[:40]}" and by the tensor {ROTATION}'
        raise DataError("NNM818", message, hint="files with one of them can be loaded")
    if kind == "yarn" and "attention_factor" in scaling_of_file:  # besides that of the scaling
        attention_of_file: float = scaling_of_file["attention_factor"]
        factor: float = scaling_of_file.get("factor", 1.0)
        scaling_of_file["attention_factor"] = attention_of_file * yarn_factor(factor)
    return {"rope_scaling": {"rope_type": kind, **scaling_of_file}}


def tensors_of_gguf(file: File, prefix: str = "") -> Mapping[str, StoredTensor]:
    """Return the tensors by the names of Hugging Face, without a prefix; each is unpacked when its
    data are accessed.

    Raises `DataError` NNM806 for a type of tensors that this package does not read.
    """
    for tensor in file.tensors.values():
        tensor.check_type()
    return {
        _name(name).removeprefix(prefix): Unpacked(
            tensor.shape,
            partial(file.rope_order, name),
            partial(file.rope_order, name, transposed=True),
        )
        for name, tensor in file.tensors.items()
        if name != ROTATION
    }


def _name(name: str) -> str:
    """Return Hugging Face's name of a tensor; an unknown one keeps its name, and is refused."""
    match = _PLACE.fullmatch(name)
    if match is None or match[2] not in LAYER:
        return OTHERS.get(name, name)
    return f"model.layers.{match[1]}.{LAYER[match[2]]}.{match[3]}"


class Unpacked(StoredTensor):
    """A tensor whose float32 values are computed when they are accessed, and not kept."""

    def __init__(
        self,
        shape: Shape,
        make: Callable[[], HostArray],
        make_transposed: Callable[[], HostArray] | None = None,
    ) -> None:
        object.__setattr__(self, "code", "F32")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "make", make)
        object.__setattr__(self, "make_transposed", make_transposed)

    make: Callable[[], HostArray]
    make_transposed: Callable[[], HostArray] | None

    @property
    def data(self) -> memoryview[int]:  # pyrefly: ignore[bad-override]
        """The bytes of the values."""
        return HostArray.of(self.make(), "float32").data

    def transpose(self) -> memoryview[int]:
        """Return the bytes of the transposed matrix."""
        if self.make_transposed is None:
            return super().transpose()
        return HostArray.of(self.make_transposed(), "float32").data
