"""Files with labels: those of a folder or a zip archive, or the names in a table."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from webnnm.core.errors import DataError
from webnnm.data.files.existing import is_folder
from webnnm.data.files.references import Reference, Roots, read_reference, refer
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.tables.columns import Table
from webnnm.data.tables.csv_table import read_csv
from webnnm.data.tables.table_dataset import MAX_INTEGER_CLASSES

SUBSETS = {
    **dict.fromkeys(("train", "training"), 0),
    **dict.fromkeys(("val", "valid", "validation", "dev"), 1),
    **dict.fromkeys(("test", "testing"), 2),
}
"""Names of folders that hold a subset, each with folders of labels → its position in `split`."""
MAX_FILE = 2**30
"""The largest file of an archive, in bytes: a small archive can hold one that fills the memory."""
MAX_NAMED = 5
"""The maximum number of files that a message names."""


class ArchivedFile(NamedTuple):
    """A file of a zip archive."""

    archive: ZipFile
    name: str

    def read_bytes(self) -> bytes:
        """Return its content; raises `DataError` NNM801 if it is damaged or too large."""
        size = self.archive.getinfo(self.name).file_size
        if size > MAX_FILE:
            raise DataError("NNM801", f'"{self.name}" has {size:,} bytes', hint="unpack it first")
        try:
            return self.archive.read(self.name)
        except (BadZipFile, RuntimeError, NotImplementedError) as error:
            raise DataError("NNM801", f'"{self.name}" of the archive: {error}') from error


class LabelledFiles(NamedTuple):
    """Files, with the label of each.

    Attributes: `names`, for messages; `sources`, from which they are read; `labels`; `split`, the
    row numbers of three subsets, or None; `ignored`, the names of files of other kinds.
    """

    names: Sequence[str]
    sources: Sequence[Any]
    labels: Sequence[Any]
    split: tuple[list[int], list[int], list[int]] | None = None
    ignored: tuple[str, ...] = ()

    def select(self, rows: Sequence[int]) -> LabelledFiles:
        """Return some of the files."""
        numbers = {row: number for number, row in enumerate(rows)}
        split = self.split
        if split is not None:
            training, validation, testing = (
                [numbers[row] for row in part if row in numbers] for part in split
            )
            split = training, validation, testing
        names, sources, labels = (
            [values[row] for row in rows] for values in (self.names, self.sources, self.labels)
        )
        return LabelledFiles(names, sources, labels, split, self.ignored)


async def count_endings(folder: Any) -> Counter[str]:
    """Return how many files of a folder or a zip archive have each ending, without hidden ones.

    Raises `DataError` NNM802 for what is neither.
    """
    return Counter(PurePosixPath(name).suffix.lower() for name in await list_files(folder))


async def list_folder(folder: Any, endings: Collection[str]) -> LabelledFiles:
    """Return the files `label/name` of a folder, a zip archive, its address or its bytes.

    Files in deeper folders have the label of the outermost one. If the outermost folders are named
    for subsets (train, test), the next ones are labels. Files with other `endings` are ignored, as
    are hidden ones. Raises `DataError` NNM715 if there are none, NNM706 for one outside of folders.
    """
    files = await list_files(folder)
    chosen = [name for name in files if _has_ending(name, endings)]
    ignored = tuple(name for name in files if not _has_ending(name, endings))
    where = f'"{folder}"' if isinstance(folder, (str, Path)) else "the archive"
    if not chosen:
        raise DataError(
            "NNM715",
            f"{where} has no file that ends in {', '.join(sorted(endings))}",
            hint=f"it has {len(ignored)} others" if ignored else "it is empty",
        )
    parts = [PurePosixPath(name).parts for name in chosen]
    # Archives often hold the folder that was packed.
    while len({path[0] for path in parts}) == 1 and all(len(path) > 2 for path in parts):
        if isinstance(folder, (str, Path)) and Path(folder).is_dir():
            break
        parts = [path[1:] for path in parts]
    split = None
    if all(path[0].lower() in SUBSETS and len(path) > 2 for path in parts):
        split = ([], [], [])
        for row, path in enumerate(parts):
            split[SUBSETS[path[0].lower()]].append(row)
        parts = [path[1:] for path in parts]
    loose = [name for name, path in zip(chosen, parts, strict=True) if len(path) < 2]
    if loose:
        raise DataError(
            "NNM706",
            f"{list_names(loose)} {'is' if len(loose) == 1 else 'are'} in no folder of a label",
            hint="folder/label/name is expected; from_files(paths, labels) takes any files",
        )
    return LabelledFiles(
        chosen, [files[name] for name in chosen], [path[0] for path in parts], split, ignored
    )


async def list_table(
    table: Any,
    file: str | None,
    label: str | None,
    folder: str | Path | None,
    references: Roots,
) -> LabelledFiles:
    """Return the files that a column of a CSV table names, with labels from another column.

    By default `file` is the first column and `label` the last one. Names are relative to `folder`,
    by default that of the table. Raises the errors of `read_csv`, `DataError` NNM710 for an unknown
    column, NNM809 for files that `refer` refuses.
    """
    columns = await read_columns(table, [*filter(None, (file, label))])
    order = [*columns]
    names = [str(cell) for cell in select_column(columns, file or order[0])]
    labels = _read_quantities(select_column(columns, label or order[-1]))
    return LabelledFiles(names, locate_files(table, folder, names, references), labels)


async def read_columns(table: Any, known: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the cells of a CSV table by column; it has those whose names are `known`.

    Raises the errors of `read_csv`, `DataError` NNM715 if it cannot be read.
    """
    content = await read_bytes(table) if isinstance(table, (str, Path)) else table
    rows: Table = content if isinstance(content, Table) else read_csv(content, known=[*known])
    return dict(zip(rows.names, rows.columns, strict=True))


def select_column(columns: Mapping[str, Sequence[Any]], name: str) -> Sequence[Any]:
    """Return the cells of a column. Raises `DataError` NNM710 if there is none of this name."""
    if name not in columns:
        hint = f"columns: {', '.join(columns)}"
        raise DataError("NNM710", f'the table has no column "{name}"', hint=hint)
    return columns[name]


def locate_files(
    table: Any, folder: str | Path | None, names: Sequence[str], references: Roots
) -> list[Reference]:
    """Return where the files are that a table names, relative to `folder` or else to the table.

    Raises `DataError` NNM809 for files that `refer` refuses.
    """
    owner: str | Path = "" if folder is None else f"{folder}/table"
    if not owner and isinstance(table, (str, Path)):
        owner = table
    return [refer(owner, name.replace("\\", "/"), references) for name in names]


def number_labels(
    labels: Sequence[Any], class_names: Sequence[str] | None
) -> tuple[Sequence[Any], Sequence[str] | None]:
    """Return labels that are words as numbers of classes, and the names of these.

    >>> number_labels(["10", "9", "", "10"], None)
    ([1, 0, -1, 1], ['9', '10'])

    Names are sorted, those with numbers by these, unless `class_names` has them. A label that is
    empty is none, -1. Labels that are no words are unchanged. Raises `DataError` NNM706 for a label
    that is not among the names.
    """
    if not all(isinstance(label, str) or label is None for label in labels):
        return labels, class_names
    present = {str(label) for label in labels if label}
    names = sorted(present, key=_sorting_key) if class_names is None else [*class_names]
    unknown = sorted(present - {*names})
    if unknown:
        hint = f"class_names has {', '.join(names)}"
        raise DataError("NNM706", f"there is no class {list_names(unknown)}", hint=hint)
    numbers = {name: number for number, name in enumerate(names)}
    return [numbers[label] if label else -1 for label in labels], names


def _sorting_key(name: str) -> list[tuple[int, int, str]]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


async def load_file(source: Any) -> Any:
    """Return the bytes of a file on this machine, at an address, or of an archive.

    Anything that is no file is returned unchanged.
    """
    if isinstance(source, (str, Path)):
        return await read_bytes(source)
    if isinstance(source, Reference):
        return await read_reference(source)
    if isinstance(source, ArchivedFile):
        return source.read_bytes()
    if hasattr(source, "read"):
        return source.read()
    return source


def list_names(names: Sequence[str]) -> str:
    """Return the names of files as a message lists them.

    >>> list_names(["a.png", "b.png"])
    '"a.png", "b.png"'
    """
    shown = ", ".join(f'"{name}"' for name in names[:MAX_NAMED])
    return shown + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def index_files(keys: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return the row of each file by its key, which is what other files call it.

    >>> index_files(["a", "b"], ["a.png", "b.png"])
    {'a': 0, 'b': 1}

    Raises `DataError` NNM706 for two files with one key.
    """
    rows: dict[str, int] = {}
    for row, key in enumerate(keys):
        if key in rows:
            hint = "rename one of them and what belongs to it, or move it away"
            both = list_names([names[rows[key]], names[row]])
            raise DataError("NNM706", f'two files are "{key}": {both}', hint=hint)
        rows[key] = row
    return rows


async def list_files(folder: Any) -> dict[str, Any]:
    """Return the files of a folder or an archive by their paths in it, without hidden ones.

    `folder` is a path, or that of a zip archive, its address, its bytes or an open file. Raises
    `DataError` NNM802 for what is neither.
    """
    files = await _list_all(folder)
    return {name: files[name] for name in sorted(files) if not _is_hidden(name)}


async def _list_all(folder: Any) -> dict[str, Any]:
    content = folder
    if isinstance(folder, (str, Path)):
        path = Path(folder)
        if "://" not in str(folder) and is_folder(path):
            files = (file for file in path.rglob("*") if file.is_file())
            return {file.relative_to(path).as_posix(): file for file in files}
        content = await read_bytes(folder)
    try:
        archive = ZipFile(content if hasattr(content, "read") else io.BytesIO(content))
    except (BadZipFile, TypeError) as error:
        raise DataError(
            "NNM802", f"this is neither a folder nor a zip archive: {error}", hint="pack it as .zip"
        ) from error
    return {
        one.filename: ArchivedFile(archive, one.filename)
        for one in archive.infolist()
        if not one.is_dir()
    }


def _read_quantities(cells: Sequence[Any]) -> Sequence[Any]:
    """Return cells as numbers if they are quantities, unchanged if they are names of classes."""
    try:
        numbers = [float(cell) for cell in cells]
    except (TypeError, ValueError):
        return cells
    is_classes = all(number.is_integer() for number in numbers)
    return cells if is_classes and len({*numbers}) <= MAX_INTEGER_CLASSES else numbers


def _has_ending(name: str, endings: Collection[str]) -> bool:
    return PurePosixPath(name).suffix.lower() in endings


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
