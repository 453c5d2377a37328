"""The names of ONNX files in a model's folder, in the layout published for transformers.js."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from webnnm.core.errors import DataError, suggestion
from webnnm.data.files.existing import is_file
from webnnm.transformers.pretrained import BINARY, INDEX, WEIGHTS, Folder

SUFFIXES = {
    "fp32": "",
    "fp16": "_fp16",
    "q8": "_quantized",
    "int8": "_int8",
    "uint8": "_uint8",
    "q4": "_q4",
    "q4f16": "_q4f16",
    "bnb4": "_bnb4",
}
"""The names that transformers.js has for types of weights → the end of the names of files."""
FOLDERS = ("onnx/", "")
"""Where the files are: below the folder of the config, or beside it."""
ENCODER, DECODERS = "encoder_model", ("decoder_model_merged", "decoder_model")
WITH_PAST = "decoder_with_past_model"
MODELS = ("model", *DECODERS)
"""What the file of a model without an encoder is called; the first that exists is taken."""
PAST, PRESENT = ("past_key_values", "past"), "present"
"""How the names of keys and values begin: as inputs, and as outputs."""

Dtype = str | Mapping[str, str]
"""One of `SUFFIXES` for all files, or for each by its name without the suffix."""


def find_onnx_dtype(folder: Folder, dtype: Dtype) -> Dtype:
    """Return the type of the ONNX files to open, "" if the model is to be opened from its weights.

    >>> find_onnx_dtype({"config.json": b"", "onnx/model.onnx": b""}, "float32")
    'fp32'
    >>> find_onnx_dtype({"config.json": b"", "model.safetensors": b""}, "float32")
    ''

    Without weights in the folder they are ONNX files; addresses are not asked what they have.
    Raises `DataError` NNM704 for an unknown type.
    """
    if not isinstance(dtype, str) or dtype in SUFFIXES:
        return dtype
    if dtype not in ("float32", "float16"):
        dtypes = ("float32", "float16", *SUFFIXES)
        hint = suggestion(dtype, dtypes) or f"one of {', '.join(dtypes)}"
        raise DataError("NNM704", f"dtype is {dtype!r}", hint=hint)
    weights = (WEIGHTS, INDEX.format(WEIGHTS), BINARY)
    if any(_exists(folder, name) for name in weights) or not [*list_files(folder)]:
        return ""
    return "fp32" if dtype == "float32" else "fp16"


def _exists(folder: Folder, path: str) -> bool:
    """Return whether a folder has a file, False for an address."""
    if isinstance(folder, Mapping):
        return path in folder
    return "://" not in str(folder) and is_file(Path(folder, path))


def find_suffix(dtype: Dtype, stem: str) -> str:
    """Return the end of the name of a file.

    >>> find_suffix("q8", "model"), find_suffix({"encoder_model": "fp16"}, "encoder_model")
    ('_quantized', '_fp16')

    Raises `DataError` NNM704 for an unknown type.
    """
    name = dtype if isinstance(dtype, str) else dtype.get(stem, "fp32")
    if name not in SUFFIXES:
        hint = suggestion(str(name), SUFFIXES) or f"one of {', '.join(SUFFIXES)}"
        raise DataError("NNM704", f'there are no ONNX files of the dtype "{name}"', hint=hint)
    return SUFFIXES[name]


def list_files(folder: Folder, stems: Sequence[str] = (*MODELS, ENCODER)) -> Iterator[str]:
    """Yield the files of other types of weights, and the types; none for a URL."""
    for stem in stems:
        for dtype, suffix in SUFFIXES.items():
            path = f"{FOLDERS[0]}{stem}{suffix}.onnx"
            if _exists(folder, path):
                yield f'{path} (dtype="{dtype}")'
