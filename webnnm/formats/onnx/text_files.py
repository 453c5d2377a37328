"""The files that a model text names: read from its folder, or from what is given for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from webnnm.core.errors import DataError, ModelError, suggestion
from webnnm.data.files.references import Roots, refer
from webnnm.formats.onnx.files import read_onnx, read_onnx_file
from webnnm.formats.onnx.part import ModelFile as OpenedFile
from webnnm.formats.onnx.reader import read_model
from webnnm.notation.syntax import Document, ModelFile


async def with_files(
    document: Document,
    files: Mapping[str, Any] | None = None,
    base: str | Path = "",
    references: Roots = None,
) -> Document:
    """Open the files that a document names, and return the document with them.

    `files` says where they are: name in the text → path, URL, bytes or an open file. Other files
    are below the folder of the text, at `base`, or else below the current folder or that of the
    page; `references` allows others, see `refer`.

    Raises `ModelError` NNM809 for a file that must not be opened, NNM715 for one that cannot be
    read, NNM801 and NNM811 for a damaged one; `DataError` NNM710 for files that the text does not
    name.
    """
    sources = _check_names(document, files)
    opened: dict[str, OpenedFile] = {}
    for statement in _statements(document):
        source = sources.get(statement.file)
        if isinstance(source, OpenedFile):
            opened[statement.file] = source
        elif statement.file not in opened:
            try:
                if source is None:
                    source = refer(base, statement.file, references)
                opened[statement.file] = OpenedFile(*await read_onnx(_to_path(source), references))
            except DataError as error:
                raise _locate_error(document, statement, error) from error
    return replace(document, files=opened)


def with_local_files(document: Document, files: Mapping[str, Any] | None = None) -> Document:
    """Do the same as `with_files` without awaiting, for files on disk and bytes."""
    sources = _check_names(document, files)
    opened: dict[str, OpenedFile] = {}
    for statement in _statements(document):
        source = _to_path(sources.get(statement.file))
        try:
            if source is None:
                source = Path(refer("", statement.file).location)
            if isinstance(source, OpenedFile):
                opened[statement.file] = source
            elif isinstance(source, (str, Path)):
                opened[statement.file] = OpenedFile(*read_onnx_file(source))
            else:
                opened[statement.file] = OpenedFile(read_model(source))
        except DataError as error:
            raise _locate_error(document, statement, error) from error
    return replace(document, files=opened)


def _statements(document: Document) -> list[ModelFile]:
    return [statement for statement in document.statements if isinstance(statement, ModelFile)]


def _check_names(document: Document, files: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what is given for files; the text has to name all of them."""
    named = {statement.file for statement in _statements(document)}
    for name in files or {}:
        if name not in named:
            hint = suggestion(name, named) or 'backbone:source "net.onnx"; names one'
            raise DataError("NNM710", f'the text names no file "{name}"', hint=hint)
    return files or {}


def _to_path(source: Any) -> Any:
    if isinstance(source, os.PathLike):
        return Path(cast("os.PathLike[str]", source))
    return source


def _locate_error(document: Document, statement: ModelFile, error: DataError) -> ModelError:
    """Return an error of a file at the place where the text names it."""
    return ModelError(
        error.code,
        error.message,
        hint=error.hint or f'NNModel.create(files={{"{statement.file}": path, URL or bytes}})',
        source=document.source,
        span=statement.file_span,
    )
