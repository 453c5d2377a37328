"""Opens a model of Hugging Face from the ONNX files of its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webnnm.backends.base import Backend
from webnnm.core.errors import DataError
from webnnm.data.files.downloads import Downloads
from webnnm.data.files.references import Roots
from webnnm.transformers.architectures import write_model
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.onnx_files import read_onnx_folder
from webnnm.transformers.onnx_hub_model import PretrainedOnnxModel
from webnnm.transformers.onnx_names import Dtype
from webnnm.transformers.pretrained import (
    Folder,
    config_of,
    generation_config_of,
    load_tokenizer,
    text_reader,
    tokenizer_of,
)


async def open_onnx_folder(
    folder: Folder,
    dtype: Dtype,
    how: Downloads,
    references: Roots,
    *,
    backend: str | Backend,
    device: str | None,
    require_tokenizer: bool,
    log: Callable[[str], None],
) -> Any:
    """Return a `PretrainedOnnxModel` for the files of a type of weights.

    Raises what `read_onnx_folder` raises, NNM715 and NNM818 for a missing or invalid config, NNM718
    for a required tokenizer that is missing or invalid.
    """
    config = await config_of(folder)
    has_encoder = bool(config.get("is_encoder_decoder"))
    tokenizer, template = await tokenizer_of(folder)
    generation = await generation_config_of(folder, config)
    read_tokenizer = await load_tokenizer(generation, tokenizer, template)
    if require_tokenizer:
        read_tokenizer()
    files = await read_onnx_folder(folder, dtype, how, references, has_encoder=has_encoder)
    model = await PretrainedOnnxModel.open(files, config, backend, device, log)
    model.generation_config, model.read_tokenizer = generation, read_tokenizer
    model.input_rules, model.read_file = _find_rules(config), text_reader(folder)
    return model


def _find_rules(config: Mapping[str, Any]) -> InputRules:
    """Return how the model reads its inputs, as far as its architecture is known."""
    try:
        return write_model(config).input_rules
    except DataError:  # of another architecture, which a file needs no text of
        return InputRules()
