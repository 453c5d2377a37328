"""The ONNX files of a model's folder, in the layout that is published for transformers.js."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.data.files.downloads import Downloads
from webnnm.data.files.references import Roots, refer
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.described import ValueInfo, inputs, values
from webnnm.formats.onnx.files import open_onnx_data
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.transformers.onnx_names import (
    DECODERS,
    ENCODER,
    FOLDERS,
    MODELS,
    PAST,
    PRESENT,
    WITH_PAST,
    Dtype,
    find_suffix,
    list_files,
)
from webnnm.transformers.pretrained import Folder, join_path

DECODER, READER, FOLLOWER = "decoder/", "encoder/", "follower/"
"""Prefixes of the names of weights: of a model's file, its encoder, its file for further tokens."""


class OnnxFile(NamedTuple):
    """A file: its message, and a function that fetches the weights next to it."""

    model: ModelProto
    external: tensors.External

    @property
    def graph(self) -> GraphProto:
        """The graph; an empty one if the file has none."""
        return self.model.graph or GraphProto()

    @property
    def inputs(self) -> dict[str, ValueInfo]:
        """The types of the inputs by name."""
        return inputs(self.graph)

    @property
    def outputs(self) -> dict[str, ValueInfo]:
        """The types of the outputs by name."""
        return values(self.graph.output)


class OnnxFiles(NamedTuple):
    """The files of a model: the one that computes its outputs, and its encoder if it has one.

    `with_past` computes the outputs of further tokens, if the first file does not.
    """

    model: OnnxFile
    encoder: OnnxFile | None = None
    with_past: OnnxFile | None = None

    @property
    def follower(self) -> OnnxFile:
        """The file that computes further tokens."""
        return self.model if self.with_past is None else self.with_past

    @property
    def by_prefix(self) -> dict[str, OnnxFile]:
        """The files by the prefix that the names of their weights have."""
        files = {DECODER: self.model, READER: self.encoder, FOLLOWER: self.with_past}
        return {name: file for name, file in files.items() if file is not None}


async def read_onnx_folder(
    folder: Folder,
    dtype: Dtype,
    how: Downloads,
    references: Roots = None,
    *,
    has_encoder: bool,
) -> OnnxFiles:
    """Return the files of a folder for a type of weights.

    Raises `DataError` NNM704 for an unknown type, NNM715 if a file is missing, NNM801 and NNM811
    for damaged ones, NNM809 for weights elsewhere.
    """
    read = partial(_read_first, folder, dtype, how, references)
    encoder = await read((ENCODER,)) if has_encoder else None
    model = await read(DECODERS if has_encoder else MODELS)
    with_past = None
    if not _takes_past(model) and any(name.startswith(PRESENT) for name in model.outputs):
        with_past = await _find_first(folder, dtype, how, references, (WITH_PAST,))
    return OnnxFiles(model, encoder, with_past)


def _takes_past(file: OnnxFile) -> bool:
    """Return whether a file takes the keys and values of earlier tokens."""
    return any(name.startswith(PAST) for name in file.inputs)


async def _read_first(
    folder: Folder, dtype: Dtype, how: Downloads, references: Roots, stems: Sequence[str]
) -> OnnxFile:
    """Return the first file that exists, among those of some names."""
    file = await _find_first(folder, dtype, how, references, stems)
    if file is not None:
        return file
    present = [*list_files(folder, stems)]
    hint = f"there are: {', '.join(present)}" if present else "export the model to ONNX"
    name = f"{stems[0]}{find_suffix(dtype, stems[0])}.onnx"
    raise DataError("NNM715", f"the folder has no {FOLDERS[0]}{name}", hint=hint)


async def _find_first(
    folder: Folder, dtype: Dtype, how: Downloads, references: Roots, stems: Sequence[str]
) -> OnnxFile | None:
    """Return the first file that exists, None if there is none."""
    names = [f"{stem}{find_suffix(dtype, stem)}.onnx" for stem in stems]
    for path in (subfolder + name for name in names for subfolder in FOLDERS):
        try:
            data = await _fetch(folder, path, how)
        except DataError as error:
            if error.code != "NNM715":
                raise
            continue
        fetch = partial(_fetch_weights, folder, path, how, references)
        return OnnxFile(*await open_onnx_data(data, fetch))
    return None


async def _fetch(folder: Folder, path: str, how: Downloads) -> Any:
    if not isinstance(folder, Mapping):
        return await how.bytes(join_path(folder, path))
    data = folder.get(path)
    if data is None:
        raise DataError("NNM715", f"there is no {path} among the files")
    return await how.bytes(data) if isinstance(data, str | Path) else data


async def _fetch_weights(
    folder: Folder, path: str, how: Downloads, references: Roots, name: str
) -> Any:
    """Return the bytes of a file that an ONNX file names."""
    if isinstance(folder, Mapping):
        return await _fetch(folder, posixpath.join(posixpath.dirname(path), name), how)
    location, guarded = refer(join_path(folder, path), name, references)
    return await how.bytes(location, guarded=guarded)
