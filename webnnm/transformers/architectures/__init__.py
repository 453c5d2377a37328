"""The architectures: by `model_type`, the module that writes a model text from a config."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

from webnnm.core.errors import DataError, suggestion
from webnnm.transformers.architectures.model_text import ModelText
from webnnm.transformers.config import Config

ARCHITECTURES: Mapping[str, str] = {
    "albert": "albert",
    "audio-spectrogram-transformer": "ast",
    "bart": "bart",
    "beit": "beit",
    "bert": "bert",
    "blenderbot": "bart",
    "blenderbot-small": "bart",
    "blip": "blip",
    "bloom": "bloom",
    "camembert": "bert",
    "clip": "clip",
    "clip_text_model": "clip",
    "clip_vision_model": "clip",
    "clipseg": "clipseg",
    "codegen": "gptj",
    "cohere": "llama",
    "convnext": "convnext",
    "convnextv2": "convnext",
    "deberta-v2": "deberta",
    "deepseek_v2": "deepseek",
    "deepseek_v3": "deepseek",
    "deit": "vit",
    "depth_anything": "depth",
    "detr": "detr",
    "dinov2": "dinov2",
    "dinov2_with_registers": "dinov2",
    "dinov3_convnext": "convnext",
    "dinov3_vit": "dinov3",
    "distilbert": "bert",
    "dpt": "depth",
    "efficientnet": "efficientnet",
    "electra": "bert",
    "falcon": "bloom",
    "florence2": "florence2",
    "gemma": "llama",
    "gemma2": "llama",
    "gemma3_text": "llama",
    "gpt2": "gpt2",
    "gpt_bigcode": "gpt_neo",
    "gpt_neo": "gpt_neo",
    "gpt_neox": "gpt_neox",
    "gpt_oss": "llama",
    "gptj": "gptj",
    "granite": "llama",
    "granitemoe": "llama",
    "hubert": "wav2vec2",
    "idefics3": "idefics3",
    "led": "bart",
    "lfm2": "lfm2",
    "llama": "llama",
    "m2m_100": "bart",
    "mamba": "mamba",
    "mamba2": "mamba",
    "marian": "bart",
    "maskformer": "maskformer",
    "mbart": "bart",
    "mistral": "llama",
    "mixtral": "llama",
    "mobilenet_v1": "mobilenet",
    "mobilenet_v2": "mobilenet",
    "mobilevit": "mobilevit",
    "mobilevitv2": "mobilevit",
    "modernbert": "modernbert",
    "moonshine": "moonshine",
    "mpnet": "bert",
    "mpt": "bloom",
    "mt5": "t5",
    "nomic_bert": "nomic_bert",
    "olmo2": "llama",
    "olmoe": "llama",
    "opt": "opt",
    "owlv2": "owlvit",
    "owlvit": "owlvit",
    "pegasus": "bart",
    "phi": "phi",
    "phi3": "llama",
    "pvt": "pvt",
    "qwen2": "llama",
    "qwen2_moe": "llama",
    "qwen3": "llama",
    "qwen3_moe": "llama",
    "resnet": "resnet",
    "roberta": "bert",
    "rt_detr": "rt_detr",
    "rt_detr_v2": "rt_detr",
    "sam": "sam",
    "sam_vision_model": "sam",
    "segformer": "segformer",
    "siglip": "siglip",
    "siglip2": "siglip",
    "siglip2_text_model": "siglip",
    "siglip2_vision_model": "siglip",
    "siglip_text_model": "siglip",
    "siglip_vision_model": "siglip",
    "smollm2": "llama",
    "smollm3": "llama",
    "smolvlm": "idefics3",
    "speecht5": "speecht5",
    "stablelm": "llama",
    "starcoder2": "phi",
    "swin": "swin",
    "t5": "t5",
    "timm_wrapper": "timm",
    "vision-encoder-decoder": "vision_encoder_decoder",
    "vit": "vit",
    "vitpose": "vitpose",
    "vits": "vits",
    "wav2vec2": "wav2vec2",
    "wavlm": "wav2vec2",
    "whisper": "whisper",
    "xlm-roberta": "bert",
    "yolos": "yolos",
}
"""`model_type` → module here; its `write_model(config)` is a function of the config alone."""
ANY_SIZE = frozenset(
    {
        "clipseg",
        "convnext",
        "convnextv2",
        "depth_anything",
        "detr",
        "dinov2",
        "dinov3_convnext",
        "dinov3_vit",
        "efficientnet",
        "maskformer",
        "mobilenet_v1",
        "mobilenet_v2",
        "mobilevit",
        "mobilevitv2",
        "resnet",
        "rt_detr",
        "rt_detr_v2",
        "segformer",
        "timm_wrapper",
        "yolos",
    }
)
"""`model_type` of models that read pictures of any size: that of their texts is chosen."""
SIZED_BY_PROCESSOR = ANY_SIZE | {"florence2"}
"""`model_type` of models whose config does not say how large pictures are: their processor does."""
DIFFUSERS: Mapping[str, str] = {"AutoencoderKL": "autoencoder", "UNet2DConditionModel": "unet"}
"""`_class_name` in diffusers folders, which have no `model_type` → module here."""
CLASS = "_class_name"


def write_model(
    config: Mapping[str, Any],
    *,
    ignore: Collection[str] = (),
    tensors: Collection[str] | None = None,
) -> ModelText:
    """Return the text of a model and its name map, from the contents of its `config.json`.

    >>> config = {"model_type": "gpt2", "vocab_size": 9, "n_embd": 4, "n_head": 2, "n_layer": 1}
    >>> found = write_model(config)
    >>> print(found.source.splitlines()[1])
    model:name gpt2;
    >>> found.names["wo{n}"]
    'h.{n-1}.attn.c_proj.weight'

    `ignore` are keys that may have any value, `tensors` the names of the weights in the files, if
    they are known. Raises `DataError` NNM817 for an unknown `model_type` or class, NNM818 for a key
    that is missing or invalid, or asks for something that is not supported.
    """
    read = Config(config, ignore, tensors)
    key = "model_type" if "model_type" in read or CLASS not in read else CLASS
    kind, modules = read.get(key, ""), ARCHITECTURES if key == "model_type" else DIFFUSERS
    if not isinstance(kind, str) or kind not in modules:
        problem = f'{key} "{kind}" is unknown' if kind else f'there is no "{key}"'
        message = f"config.json: {problem}; known: {', '.join(modules)}"
        raise DataError("NNM817", message, hint=suggestion(str(kind), modules))
    module = import_module(f"webnnm.transformers.architectures.{modules[kind]}")
    model: ModelText = module.write_model(read)
    read.finish()
    return model
