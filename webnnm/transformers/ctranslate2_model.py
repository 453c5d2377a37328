"""Whisper in CTranslate2 folders: its tensors under Hugging Face names, and a config."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count
from webnnm.formats.ctranslate2 import SCALE, File, dequantize_rows
from webnnm.snapshots.safetensors import StoredTensor
from webnnm.transformers.gguf_model import Unpacked
from webnnm.transformers.json_tokenizer import read_added_tokens

SPEC = "WhisperSpec"
ACTIVATIONS = ("relu", "gelu_new", "silu", "gelu", "quick_gelu", "tanh", "sigmoid")
"""Hugging Face's names of activations, by number."""
KEYS = {"suppress_ids": "suppress_tokens", "suppress_ids_begin": "begin_suppress_tokens"}
"""Keys of the folder's config that have other names."""
PLACES: Mapping[str, tuple[str, ...]] = {
    "self_attention/layer_norm": ("self_attn_layer_norm",),
    "self_attention/linear_0": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention/linear_1": ("self_attn.out_proj",),
    "attention/layer_norm": ("encoder_attn_layer_norm",),
    "attention/linear_0": ("encoder_attn.q_proj",),
    "attention/linear_1": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "attention/linear_2": ("encoder_attn.out_proj",),
    "ffn/layer_norm": ("final_layer_norm",),
    "ffn/linear_0": ("fc1",),
    "ffn/linear_1": ("fc2",),
}
"""The parts of a layer; several names share the rows of one tensor."""
OTHERS = {
    "decoder/embeddings/weight": "decoder.embed_tokens.weight",
    **{
        f"encoder/{word}": f"encoder.{word.replace('/', '.')}"
        for word in ("conv1/weight", "conv1/bias", "conv2/weight", "conv2/bias")
    },
    **{
        f"{stack}/position_encodings/encodings": f"{stack}.embed_positions.weight"
        for stack in ("encoder", "decoder")
    },
    **{
        f"{stack}/layer_norm/{theirs}": f"{stack}.layer_norm.{word}"
        for stack in ("encoder", "decoder")
        for theirs, word in (("gamma", "weight"), ("beta", "bias"))
    },
}
WORDS = {"gamma": "weight", "beta": "bias"}
_LAYER = re.compile(r"(encoder|decoder)/layer_(\d+)/(\w+/\w+)/(weight|bias|gamma|beta)")
_ASIDE = re.compile(r".*/(activation|alibi|alignment_\w+|num_heads|pre_norm|scale_embeddings)")
_REFUSED = ("decoder/alibi", "decoder/scale_embeddings", "decoder/start_from_zero_embedding")


def config_of_ctranslate2(file: File, folder_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a model as Hugging Face writes it, with keys of the folder's config.

    Raises `DataError` NNM817 for models other than Whisper, NNM818 for missing tensors.
    """
    if file.spec != SPEC:
        message = f'models of the kind "{file.spec[:40]}" cannot be loaded from CTranslate2 files'
        raise DataError("NNM817", message, hint=f"supported is {SPEC}")
    activation = file.value("decoder/activation")
    if activation is None or not 0 <= activation < len(ACTIVATIONS):
        raise DataError("NNM818", f"model.bin: the activation {activation} is unknown")
    for name in _REFUSED:
        if file.value(name):
            raise DataError("NNM818", f"model.bin: {name} is not supported")
    if not file.value("decoder/pre_norm"):
        raise DataError("NNM818", "model.bin: post-norm layers are not supported")
    words, width = _shape(file, "decoder/embeddings/weight", 2)
    config: dict[str, Any] = {
        "model_type": "whisper",
        "architectures": ["WhisperForConditionalGeneration"],
        "is_encoder_decoder": True,
        "vocab_size": words,
        "d_model": width,
        "num_mel_bins": _shape(file, "encoder/conv1/weight", 3)[1],
        "activation_function": ACTIVATIONS[activation],
        "tie_word_embeddings": _is_tied(file),
    }
    for stack, key in (("encoder", "max_source_positions"), ("decoder", "max_target_positions")):
        numbers = [
            int(match[2])
            for name in file.tensors
            if (match := _LAYER.match(name)) and match[1] == stack
        ]
        config |= {
            key: _shape(file, f"{stack}/position_encodings/encodings", 2)[0],
            f"{stack}_layers": max(numbers, default=-1) + 1,
            f"{stack}_attention_heads": file.value(f"{stack}/num_heads"),
            f"{stack}_ffn_dim": _shape(file, f"{stack}/layer_0/ffn/linear_0/weight", 2)[0],
        }
    return {**{KEYS.get(key, key): value for key, value in folder_config.items()}, **config}


def ends_of_ctranslate2(tokenizer: str) -> dict[str, int]:
    """Return what the config lacks: the tokens of a `tokenizer.json` that begin and end texts."""
    numbers = read_added_tokens(tokenizer) if tokenizer else {}
    names = {"decoder_start_token_id": "startoftranscript", "eos_token_id": "endoftext"}
    return {key: numbers[f"<|{name}|>"] for key, name in names.items() if f"<|{name}|>" in numbers}


def tensors_of_ctranslate2(file: File) -> Mapping[str, StoredTensor]:
    """Return the tensors by the names of Hugging Face; int8 is unpacked when its data are
    accessed."""
    tensors: dict[str, StoredTensor] = {}
    for name in file.tensors:
        if name.endswith(SCALE) or _ASIDE.fullmatch(name) or name in _REFUSED:
            continue
        if name == "decoder/projection/weight" and not _is_tied(file):
            tensors["proj_out.weight"] = _make_tensor(file, name, 0, 1)
        elif name != "decoder/projection/weight":
            names = [*_names(name)]
            for index, file_name in enumerate(names):
                part = _make_tensor(file, name, index, len(names))
                if not file_name.endswith("k_proj.bias"):
                    tensors[f"model.{file_name}"] = part
                elif any(bytes(part.data)):
                    raise DataError("NNM818", f"{name}: a bias for keys is not supported")
    return tensors


def _names(name: str) -> Iterator[str]:
    """Yield Hugging Face's names for the parts of a tensor; unknown ones keep their names."""
    match = _LAYER.fullmatch(name)
    if match is None or match[3] not in PLACES:
        yield OTHERS.get(name, name)
        return
    for part in PLACES[match[3]]:
        yield f"{match[1]}.layers.{match[2]}.{part}.{WORDS.get(match[4], match[4])}"


def _make_tensor(file: File, name: str, index: int, parts: int) -> StoredTensor:
    """Return one of several equal parts of a tensor's rows, as a view of the file."""
    tensor = _part(file.tensors[name], index, parts)
    scale = file.tensors.get(f"{name}{SCALE}")
    if scale is None:
        return tensor
    return Unpacked(tensor.shape, partial(dequantize_rows, tensor, _part(scale, index, parts)))


def _part(tensor: StoredTensor, index: int, parts: int) -> StoredTensor:
    if parts == 1:
        return tensor
    rows, *rest = tensor.shape or (0,)
    if rows % parts:
        message = f"a tensor {list(tensor.shape)} does not split into {parts} parts"
        raise DataError("NNM806", message)
    size = len(tensor.data) // parts
    shape: Shape = (rows // parts, *rest)
    return StoredTensor(tensor.code, shape, tensor.data[index * size : (index + 1) * size])


def _is_tied(file: File) -> bool:
    scores = file.tensors.get("decoder/projection/weight")
    return scores is None or scores is file.tensors.get("decoder/embeddings/weight")


def _shape(file: File, name: str, rank: int) -> Shape:
    tensor = file.tensors.get(name)
    if tensor is None or len(tensor.shape) != rank or not count(tensor.shape):
        raise DataError("NNM818", f"model.bin has no tensor {name} of {rank} dimensions")
    return tensor.shape
