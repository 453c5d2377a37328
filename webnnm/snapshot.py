"""Snapshots: a model with its parameters as one safetensors file (spec I)."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from webnnm.arrays import HostArray
from webnnm.dtypes import DataType
from webnnm.errors import DataError
from webnnm.formats.name_map import Found, Names, assigned
from webnnm.formats.safetensors import File, StoredTensor, chunks, header, invalid, parsed, read
from webnnm.restored import NORM, known, restored

if TYPE_CHECKING:
    from webnnm.model import NNModel

FORMAT = 1
"""The version of the format."""
NOTATION = "1.0"
KEY = "webnnm."
PARAMETER, STATE = "param/", "state/"
MODEL, CHECKSUM = KEY + "model", KEY + "checksum"
STORED = (None, "float32", "float16")


def snapshot(model: NNModel, dtype: DataType | None = None) -> Iterator[bytes]:
    """Yield the snapshot of a model for inference, part by part.

    With `dtype` "float16" float32 parameters are stored in half of the bytes. Raises `DataError`
    NNM704 for another type.
    """
    if dtype not in STORED:
        raise DataError("NNM704", f"dtype is {dtype!r}", hint='None, "float32" or "float16"')
    tensors: dict[str, HostArray] = {}
    packed: dict[str, Any] = {}
    for parameter in model.params():
        value = model.parameters.value(parameter.name)
        name = (PARAMETER if parameter.trainable else STATE) + parameter.name
        if dtype == "float16" and value.dtype == "float32":
            value = HostArray.of(value, "float16")
        if value.dtype in ("int4", "uint4"):
            packed[name] = [value.dtype, list(value.shape)]
        tensors[name] = value
    kept = known(model)
    for block, fitted in kept.inputs.items():
        for word, numbers in (("mean", fitted.mean), ("std", fitted.std)):
            tensors[f"{NORM}{block}/{word}"] = HostArray.of(array("f", numbers))
    metadata = {
        KEY + "format": str(FORMAT),
        MODEL: model.serialize(),
        KEY + "name": model.name,
        KEY + "notation": NOTATION,
        KEY + "package": _version(),
        KEY + "step": str(model.step),
        KEY + "normalisation": _json(kept.to_dict()),
    }
    if packed:
        metadata[KEY + "packed"] = _json(packed)
    body = (tensor.data for tensor in tensors.values())
    metadata[CHECKSUM] = _checksum(body, header(tensors, metadata))
    return chunks(tensors, metadata)


def is_snapshot(file: File) -> bool:
    """Tell whether a file is a snapshot, perhaps a damaged one."""
    return any(name.startswith(KEY) for name in file.metadata)


def verified(file: File) -> File:
    """Return a file that is a snapshot and is as it was written.

    Raises `DataError` NNM804 for another file or a newer format, NNM803 where bytes changed.
    """
    given = file.metadata
    if KEY + "format" not in given or MODEL not in given:
        raise DataError(
            "NNM804",
            "the file holds no snapshot of a model",
            hint="parameters alone are loaded into a model that exists: model.load_params",
        )
    found = given[KEY + "format"]
    if found != str(FORMAT):
        raise DataError(
            "NNM804",
            f"the snapshot has format {found[:20]!r}, this package knows {FORMAT}",
            hint="use a newer webnnm",
        )
    signed = {name: text for name, text in given.items() if name != CHECKSUM}
    if _checksum([file.body], {**file.header, "__metadata__": signed}) != given.get(CHECKSUM):
        raise DataError(
            "NNM803",
            "the checksum of the snapshot does not fit its contents",
            hint="it was damaged or changed: get it again",
        )
    return file


def parameters(file: File) -> dict[str, StoredTensor | HostArray]:
    """Return the parameters of a snapshot by their names in the model."""
    packed = _metadata(file, "packed")
    found: dict[str, StoredTensor | HostArray] = {}
    for name, tensor in file.tensors.items():
        prefix, _, rest = name.partition("/")
        if f"{prefix}/" in (PARAMETER, STATE):
            found[rest] = _unpacked(name, tensor, packed)
    return found


def load_parameters(
    model: NNModel, source: Any, *, strict: bool, names: Names | None = None
) -> list[str]:
    """Set the parameters of a model from a file or bytes; return the names of those it took.

    All of it is checked before anything changes, then one tensor after the other is read.
    """
    file = opened(source)
    given = parameters(verified(file)) if is_snapshot(file) else file.tensors
    found = assigned(given, model.parameters.types, names, strict=strict)
    if not found:
        raise DataError("NNM710", f"none of the {len(given)} tensors there fits a parameter here")
    return _take(model, found)


def opened(source: Any) -> File:
    """Return a safetensors file from a path or from bytes.

    Raises `DataError` NNM715 where there is no such file, NNM801, NNM802 for a broken one.
    """
    if not isinstance(source, str | os.PathLike):
        return read(source)
    try:
        return read(Path(cast("str", source)).read_bytes())
    except OSError as error:
        raise DataError(
            "NNM715", f"{source} cannot be read: {error.strerror or error}", hint="check the path"
        ) from error


def restore(model: NNModel, file: File) -> None:
    """Give a model the parameters of its snapshot; all of them or, where one is wrong, none."""
    found = assigned(parameters(file), model.parameters.types)
    kept, step = (
        restored(_metadata(file, "normalisation") or {"inputs": {}}, file.tensors),
        _step(file),
    )
    _take(model, found)
    model.step = step
    model.restored = kept
    model.trained = True


def _take(model: NNModel, found: Mapping[str, Found]) -> list[str]:
    for name, tensor in found.items():
        model.parameters.set(name, tensor.array())
    return list(found)


def _unpacked(
    name: str, tensor: StoredTensor, packed: Mapping[str, Any]
) -> StoredTensor | HostArray:
    if name not in packed:
        return tensor
    try:
        dtype, shape = packed[name]
        return HostArray(dtype, shape, tensor.data)
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise invalid(f'tensor "{name}" is no packed one: {error}') from error


def _step(file: File) -> int:
    text = file.metadata.get(KEY + "step", "0")
    if not text.isdecimal() or len(text) > 18:
        raise invalid(f"its step is {text[:20]!r}")
    return int(text)


def _metadata(file: File, key: str) -> dict[str, Any]:
    """Return structured metadata; empty where there are none."""
    try:
        found = parsed(file.metadata.get(KEY + key, "{}"))
    except ValueError as error:
        raise invalid(f"its metadata {key} are no JSON: {error}") from error
    if not isinstance(found, dict):
        raise invalid(f"its metadata {key} are no JSON object")
    return cast("dict[str, Any]", found)


def _checksum(body: Iterable[memoryview[int]], content: Mapping[str, Any]) -> str:
    found = hashlib.sha256()
    for part in body:
        found.update(part)
    found.update(_json(content).encode())
    return f"sha256:{found.hexdigest()}"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _version() -> str:
    try:
        return version("webnnm")
    except PackageNotFoundError:  # run from a checkout
        return "unknown"
