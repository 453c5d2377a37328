"""The architectures: by `model_type`, which module writes the text of a model from its config."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

from webnnm.core.errors import DataError, suggestion
from webnnm.transformers.architectures.written import Written
from webnnm.transformers.config import Config

ARCHITECTURES: Mapping[str, str] = {
    "bart": "bart",
    "bert": "bert",
    "clip": "clip",
    "clip_text_model": "clip",
    "clip_vision_model": "clip",
    "distilbert": "distilbert",
    "gemma": "llama",
    "gpt2": "gpt2",
    "llama": "llama",
    "m2m_100": "bart",
    "marian": "bart",
    "mistral": "llama",
    "qwen2": "llama",
    "qwen3": "llama",
    "smollm2": "llama",
    "t5": "t5",
    "vit": "vit",
    "whisper": "whisper",
}
"""`model_type` → module here; its `written(config)` is a function of the config alone."""


def written(
    config: Mapping[str, Any],
    *,
    ignore: Collection[str] = (),
    tensors: Collection[str] | None = None,
) -> Written:
    """Return the text of a model and its name map, from what its `config.json` says.

    >>> config = {"model_type": "gpt2", "vocab_size": 9, "n_embd": 4, "n_head": 2, "n_layer": 1}
    >>> found = written(config)
    >>> print(found.source.splitlines()[1])
    model:name gpt2;
    >>> found.names["wo{n}"]
    'h.{n-1}.attn.c_proj.weight'

    `ignore` are keys that may say what they like, `tensors` the names of the weights in the files,
    if they are known. Raises `DataError` NNM817 for an unknown
    `model_type` or class, NNM818 for a key that is missing, wrong, or asks for what no text has.
    """
    read = Config(config, ignore, tensors)
    kind = read.get("model_type", "")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        told = f'model_type "{kind}" is unknown' if kind else 'there is no "model_type"'
        message = f"config.json: {told}; known are {', '.join(ARCHITECTURES)}"
        raise DataError("NNM817", message, hint=suggestion(str(kind), ARCHITECTURES))
    module = import_module(f"{__name__}.{ARCHITECTURES[kind]}")
    found: Written = module.written(read)
    read.finish()
    return found
