"""Reads a Hugging Face model from a folder or a URL: its config, then its weights."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from webnnm.backends import pyodide_host
from webnnm.core.errors import DataError, WebNNMError
from webnnm.data.files.downloads import Downloads
from webnnm.data.files.references import Roots, read_path, refer
from webnnm.data.files.source import read_text
from webnnm.formats import ctranslate2, gguf
from webnnm.formats.fields import Fields
from webnnm.snapshots.safetensors import File, StoredTensor, read
from webnnm.transformers.architectures import CLASS
from webnnm.transformers.chat_template import ChatTemplate
from webnnm.transformers.config import caption_tokens, read_config, read_object, text_config
from webnnm.transformers.ctranslate2_model import config_of_ctranslate2
from webnnm.transformers.texts import end_tokens
from webnnm.transformers.tokenizer import Tokenizer

CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, OF_DIFFUSERS = "model.safetensors", "diffusion_pytorch_model.safetensors"
BINARY, GGUF = "model.bin", ".gguf"
INDEX = "{}.index.json"
DATA_OF_TIMM = "pretrained_cfg"
"""The key of configs of timm that says, among others, how pictures are prepared."""
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
TEMPLATE, SPECIAL_TOKENS = "chat_template.jinja", "special_tokens_map.json"
OLD_TEMPLATE = "chat_template.json"
"""The file of models of pictures that were written before there was the other."""
NO_LIMIT = 1e20
"""Limits from this on are none."""
SPECIAL = tuple(f"{word}_token" for word in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))

Folder = str | Path | Mapping[str, Any]
"""Where the files of a model are: a folder, a URL, or their bytes, paths or URLs by name.

Browsers report a file that a server lacks as an error: what files by name do not list is not asked
for.
"""


async def config_of(folder: Folder) -> dict[str, Any]:
    """Return the config of a model in a folder, or at the URL of one.

    Those that timm writes name an `architecture` and no `model_type`. Raises `DataError` NNM715 if
    there is none, NNM818 for an invalid config.
    """
    config = read_config(await text_of_folder(folder, CONFIG))
    of_timm = "model_type" not in config and {"architecture", DATA_OF_TIMM} <= config.keys()
    return {"model_type": "timm_wrapper", **config} if of_timm else config


async def generation_config_of(folder: Folder, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the generation settings of a folder: its own file, or the config if there is none."""
    settings = await _generation_config_of(folder, config)
    return {**settings, **caption_tokens(config)}


async def _generation_config_of(folder: Folder, config: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        text = await text_of_folder(folder, GENERATION)
    except DataError as error:
        if error.code != "NNM715":
            raise
        settings = {key: value for key, value in config.items() if value is not None}
        is_joint = "decoder" in config or config.get("is_encoder_decoder")
        return {**text_config(config), **settings} if is_joint else config
    defaults = {key: config.get(key) for key in ("model_type", "eos_token_id")}
    if defaults["eos_token_id"] is None:
        defaults["eos_token_id"] = text_config(config).get("eos_token_id")
    return {**defaults, **read_config(text, GENERATION)}


async def weights_of(
    folder: Folder, how: Downloads, file: str = WEIGHTS, references: Roots = None
) -> dict[str, StoredTensor]:
    """Return the tensors of all files of a folder, as they are stored, without copies.

    `file` is the name of the file if all of them are in one; `references` is what the index of
    several may refer to.

    Raises `DataError` NNM715 for a missing file, NNM801 and NNM802 for a damaged one, NNM805 for a
    shard that lacks a tensor that the index lists, NNM809 for a shard that must not be opened.
    """
    try:
        files = {file: read(await _data_of(folder, file, how))}
        shard_of = None
    except DataError as error:
        if error.code != "NNM715":
            raise
        shard_of = await _index(folder, file, error)
        files = await _shards(folder, INDEX.format(file), shard_of, how, references)
    tensors: dict[str, StoredTensor] = {}
    for tensor_file in files.values():
        tensors |= tensor_file.tensors
    for name, shard in (shard_of or {}).items():
        if name not in files[shard].tensors:
            message = (
                f'{INDEX.format(file)} says that tensor "{name}" is in {shard}, which lacks it'
            )
            raise DataError(
                "NNM805", message, hint="download both files again, from the same version"
            )
    return tensors


async def gguf_of(source: Folder, how: Downloads) -> gguf.File | None:
    """Return the contents of a GGUF file, without copying tensors; None for other sources.

    Raises `DataError` NNM715 if it cannot be read, NNM801 and NNM802 if it is damaged.
    """
    if isinstance(source, Mapping):
        data = next((data for name, data in source.items() if name.endswith(GGUF)), None)
    elif str(source).partition("?")[0].endswith(GGUF):
        data = await how.bytes(source)
    else:
        data = None
    if data is None:
        return None
    file = gguf.read(data)
    # Loops of Python are some sixty times as slow as JavaScript and NumPy.
    if file.block_types and pyodide_host.in_browser():
        file = replace(file, unpack=(await pyodide_host.load_module("page/downloads")).unpack)
    if file.block_types - gguf.IN_PAGES and pyodide_host.offers("numpy"):
        await pyodide_host.load_package("numpy")
    return file


async def folder_of(
    folder: Folder, how: Downloads
) -> tuple[dict[str, Any], ctranslate2.File | None]:
    """Return the config of a folder, and the contents of its `model.bin` if CTranslate2 wrote it.

    Such a folder is recognised by its config, which has no `model_type`, and that file. Raises
    `DataError` NNM715 if there is neither, NNM818 for an invalid config, NNM801 and NNM802 for a
    damaged file.
    """
    missing, config = None, dict[str, Any]()
    try:
        config = await config_of(folder)
    except DataError as error:
        if error.code != "NNM715":
            raise
        missing = error
    if "model_type" in config or CLASS in config:
        return config, None
    try:
        file = ctranslate2.read(await _data_of(folder, BINARY, how))
    except DataError as error:
        if error.code != "NNM715":
            raise
        if missing is not None:
            raise missing from error
        return config, None
    return config_of_ctranslate2(file, config), file


async def tokenizer_of(folder: Folder, *, takes_pictures: bool = False) -> tuple[str, ChatTemplate]:
    """Return the text of a folder's `tokenizer.json`, "" if missing, and its chat templates.

    Models that take pictures in texts may have theirs in a file of its own.

    Raises `DataError` NNM818 for a damaged `tokenizer_config.json`.
    """
    texts: dict[str, str] = {}
    for name in (TOKENIZER, TEMPLATE, OLD_TEMPLATE, TOKENIZER_CONFIG, SPECIAL_TOKENS):
        if name == OLD_TEMPLATE and (not takes_pictures or TEMPLATE in texts):
            continue
        try:
            texts[name] = await text_of_folder(folder, name)
        except DataError as error:
            if error.code != "NNM715":
                raise
    named, special, limit = dict[str, str](), dict[str, str](), None
    for name in (SPECIAL_TOKENS, TOKENIZER_CONFIG, OLD_TEMPLATE):
        if name in texts:
            fields = read_object(texts[name], name)
            named |= _templates(fields)
            special |= _special_tokens(fields)
            limit = _read_limit(fields) or limit
    if TEMPLATE in texts:
        named["default"] = texts[TEMPLATE]
    return texts.get(TOKENIZER, ""), ChatTemplate(named, special, limit)


async def load_tokenizer(
    config: Mapping[str, Any], text: str, template: ChatTemplate
) -> Callable[[], Tokenizer]:
    """Return a function that returns the tokenizer of a folder, or raises why it has none."""
    if not text:
        return partial(
            _raise,
            DataError(
                "NNM718",
                "the folder has no tokenizer.json",
                hint="put it next to config.json, or use generate_ids with tokens",
            ),
        )
    from webnnm.transformers.json_tokenizer import json_tokenizer

    try:
        tokenizer = await json_tokenizer(text, end_tokens(config), template)
    except WebNNMError as error:  # a model without one has other uses
        return partial(_raise, error)
    return lambda: tokenizer


def _raise(error: WebNNMError) -> Tokenizer:
    raise error


def _templates(fields: Fields) -> dict[str, str]:
    """Return the chat templates of a config by name: it has one, or a list of several."""
    key = "chat_template"
    value = fields.get(key, [])
    if not isinstance(value, list):
        return {"default": fields.text(key)} if value else {}
    parts = [
        Fields.of(template, f'{fields.file}: each "{key}"') for template in cast("list[Any]", value)
    ]
    return {part.text("name"): part.text("template") for part in parts}


def _read_limit(fields: Fields) -> int | None:
    """Return the most tokens of a text, None without a limit, for which files have 1e30."""
    if fields.get("model_max_length") is None:
        return None
    limit = fields.number("model_max_length", above=0)
    return int(limit) if 1 <= limit < NO_LIMIT else None


def _special_tokens(fields: Fields) -> dict[str, str]:
    """Return the texts of special tokens by their names, such as "bos_token"."""
    texts: dict[str, str] = {}
    for key in SPECIAL:
        value = fields.get(key)
        if isinstance(value, dict):
            texts[key] = Fields(cast("dict[str, Any]", value), fields.file).text("content")
        elif value is not None:
            texts[key] = fields.text(key)
    return texts


def text_reader(folder: Folder) -> Callable[[str], Awaitable[str]]:
    """Return a function that reads a JSON file of a folder; it does not hold on to the weights."""
    if isinstance(folder, Mapping):
        folder = {name: data for name, data in folder.items() if name.endswith(".json")}
    return partial(text_of_folder, folder)


def join_path(folder: str | Path, name: str) -> str | Path:
    """Return the path or URL of a file in a folder.

    >>> join_path("https://example.org/smol/", "config.json")
    'https://example.org/smol/config.json'
    """
    if isinstance(folder, str) and ("://" in folder or sys.platform == "emscripten"):
        return f"{folder.rstrip('/')}/{name}"
    return Path(folder) / name


async def text_at(location: str | Path) -> str:
    """Return the text of a file of a folder: a regular one on disk, or that of a URL.

    Raises `DataError` NNM715 if it cannot be read.
    """
    return (
        await read_text(location)
        if isinstance(location, str)
        else _decode(read_path(location), location)
    )


async def _index(folder: Folder, file: str, missing: DataError) -> Mapping[str, str]:
    """Return tensor → file, for weights in several files."""
    index = INDEX.format(file)
    try:
        text = await text_of_folder(folder, index)
    except DataError as error:
        if error.code != "NNM715":
            raise
        words = f"{missing.message}; {index} is not there either"
        hint = f"weights are read from {file}, or from the shards that {index} lists"
        raise DataError("NNM715", words, hint=hint) from error
    listed = read_object(text, index, "NNM802").object("weight_map")
    shards = Fields(listed, f'{index}: "weight_map"', "NNM802")
    if not listed:
        raise DataError("NNM802", f'{index} has no "weight_map" of files', hint="download it again")
    return {name: shards.text(name) for name in shards.given}


async def _shards(
    folder: Folder, index: str, places: Mapping[str, str], how: Downloads, references: Roots
) -> dict[str, File]:
    names = sorted({*places.values()})
    shards: dict[str, File] = {}
    for number, name in enumerate(names, 1):
        try:
            if isinstance(folder, Mapping):
                shards[name] = read(await _data_of(folder, name, how))
                continue
            location, guarded = refer(join_path(folder, index), name, references)
            shards[name] = read(await how.bytes(location, guarded=guarded))
        except DataError as error:
            message = f"shard {number} of {len(names)}, {name}: {error.message}"
            raise DataError(error.code, message, hint=error.hint) from error
    return shards


async def text_of_folder(folder: Folder, name: str) -> str:
    """Return the text of a file of a folder. Raises `DataError` NNM715 if it cannot be read."""
    if isinstance(folder, Mapping):
        data = _get_file(folder, name)
        return await text_at(data) if isinstance(data, str | Path) else _decode(data, name)
    return await text_at(join_path(folder, name))


def _decode(data: Any, name: str | Path) -> str:
    try:
        return bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("NNM715", f"{name} cannot be read: {error}") from error


async def _data_of(folder: Folder, name: str, how: Downloads) -> Any:
    if isinstance(folder, Mapping):
        data = _get_file(folder, name)
        return await how.bytes(data) if isinstance(data, str | Path) else data
    return await how.bytes(join_path(folder, name))


def _get_file(files: Mapping[str, Any], name: str) -> Any:
    if name not in files:
        names = ", ".join(files) or "none"
        raise DataError("NNM715", f"there is no {name} among the files: {names}")
    return files[name]
