"""Snapshots: a model with its parameters in one safetensors file (spec I)."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.notation.formatter import format_document
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.rebinding import check_meaning
from webnnm.runtime.restored import Restored
from webnnm.runtime.state import ModelState
from webnnm.snapshots.checkpoint_file import (
    BEST,
    TASKS,
    build_metadata,
    collect_tensors,
    read_checkpoint,
)
from webnnm.snapshots.name_map import LazyTensor, Names, assign_tensors
from webnnm.snapshots.restored_file import NORM, build_content, check, read_restored
from webnnm.snapshots.safetensors import File, StoredTensor, chunks, header, invalid, read
from webnnm.snapshots.storage import fetch
from webnnm.training.update import SLOT

if TYPE_CHECKING:
    from webnnm.runtime.packed import Packed

FORMAT = 1
"""The version of the format."""
NOTATION = "1.0"
KEY = "webnnm."
PARAMETER, STATE = "param/", "state/"
MODEL, CHECKSUM = KEY + "model", KEY + "checksum"
STRUCTURED = (*("hyperparameters", "schedule", "scale", "clip", "loss", "rng", "cursor", "best"),)
"""The keys of training metadata that are JSON."""
STORED = (None, "float32", "float16")
PACKED = ("int4", "uint4")
"""Types with two elements per byte, which safetensors does not have."""


def snapshot(
    state: ModelState,
    dtype: DataType | None = None,
    checkpoint: Checkpoint | None = None,
    *,
    training: bool = True,
) -> Iterator[bytes | memoryview[int]]:
    """Yield the snapshot of a model, part by part.

    With a `checkpoint`, the parameters are the latest ones, and everything that a training needs
    to resume is written with them; unless `training`, only its best parameters are. With `dtype`
    "float16", float32 parameters are stored in half the bytes, and the training cannot be resumed.
    Raises `DataError` NNM704 for another type.
    """
    if dtype not in STORED:
        raise DataError("NNM704", f"dtype is {dtype!r}", hint='None, "float32" or "float16"')
    resumable = checkpoint if training and dtype != "float16" else None
    latest: Mapping[str, HostArray] = {}
    if checkpoint is not None:
        latest = resumable.parameters if resumable else checkpoint.best or checkpoint.parameters
    facts = state.data_facts()
    tensors = {
        **_parameters(state, latest, dtype),
        **(_training_tensors(state, resumable) if resumable else {}),
        **_scales(facts),
        **_files(state),
    }
    step = checkpoint.applied if checkpoint else state.step
    metadata = {
        **_description(state, facts, step),
        **{
            KEY + key: _json(value)
            for key, value in (build_metadata(resumable) if resumable else {}).items()
        },
    }
    packings = {v.name: v.packing[:3] for v in state.network.parameters if v.packing}
    if packings:
        metadata[KEY + "weights"] = _json(packings)
    packed = {n: [t.dtype, list(t.shape)] for n, t in tensors.items() if t.dtype in PACKED}
    if packed:
        metadata[KEY + "packed"] = _json(packed)
    body = (tensor.data for tensor in tensors.values())
    metadata[CHECKSUM] = compute_checksum(body, header(tensors, metadata))
    return chunks(tensors, metadata)


def _parameters(
    state: ModelState, latest: Mapping[str, HostArray], dtype: DataType | None
) -> dict[str, HostArray]:
    """Return the parameters by their names in a file, with the `latest` values if there are any."""
    tensors: dict[str, HostArray] = {}
    for name, tensor_name in _name_tensors(state).items():
        if arrays := getattr(state.parameters.get_stored(name), "arrays", None):
            tensors |= {
                tensor_name + part.removeprefix(name): array for part, array in arrays.items()
            }
            continue
        value = latest[name] if name in latest else state.parameters.value(name)
        if dtype == "float16" and value.dtype == "float32":
            value = HostArray.of(value, "float16")
        tensors[tensor_name] = value
    return tensors


def _training_tensors(state: ModelState, checkpoint: Checkpoint) -> dict[str, HostArray]:
    """Return what a checkpoint has in addition to the latest parameters, by name in a file."""
    names = _name_tensors(state)
    best = {BEST + names[name]: array for name, array in checkpoint.best.items()}
    return collect_tensors(checkpoint) | best


def _name_tensors(state: ModelState) -> dict[str, str]:
    """Return the names of the parameters in a file by those in the model."""
    return {
        vertex.name: (PARAMETER if vertex.trainable else STATE) + vertex.name
        for vertex in state.network.parameters
    }


def _files(state: ModelState) -> dict[str, HostArray]:
    """Return the files that the text names, by their names in a file; few texts name any."""
    if not state.network.outline.document.files:
        return {}
    from webnnm.snapshots.model_files import store_files

    return store_files(state.network, _name_tensors(state))


def text_and_files(file: File) -> tuple[str, dict[str, Any]]:
    """Return the text of a snapshot's model, and the files that it names."""
    if not any(name.startswith("file/") for name in file.tensors):
        return file.metadata[MODEL], {}
    from webnnm.snapshots.model_files import restore_files as files

    return file.metadata[MODEL], files(file)


def _scales(facts: Restored) -> dict[str, HostArray]:
    """Return mean and deviation of every standardised input, by their names in a file."""
    return {
        f"{NORM}{block}/{statistic}": HostArray.of(array("f", numbers))
        for block, fitted in facts.inputs.items()
        for statistic, numbers in (("mean", fitted.mean), ("std", fitted.std))
    }


def _description(state: ModelState, facts: Restored, step: int) -> dict[str, str]:
    """Return the metadata that every snapshot has."""
    return {
        KEY + "format": str(FORMAT),
        MODEL: format_document(state.network.outline.document),
        KEY + "name": state.network.name,
        KEY + "notation": NOTATION,
        # importlib.metadata has it too, but imports email, which takes 0.3 s in pages.
        KEY + "package": sys.modules["webnnm"].__version__,
        KEY + "step": str(step),
        KEY + "normalisation": _json(build_content(facts)),
    }


def is_snapshot(file: File) -> bool:
    """Return whether a file is a snapshot, possibly a damaged one."""
    return any(name.startswith(KEY) for name in file.metadata)


def verify(file: File) -> File:
    """Return a file if it is an unchanged snapshot.

    Raises `DataError` NNM804 for another file or a newer format, NNM803 if bytes have changed.
    """
    metadata = file.metadata
    if KEY + "format" not in metadata or MODEL not in metadata:
        raise DataError(
            "NNM804",
            "the file is not a snapshot of a model",
            hint="load bare parameters into an existing model with model.load_params",
        )
    return check_integrity(file)


def check_integrity(file: File) -> File:
    """Return a file if its format is supported and its checksum matches."""
    metadata = file.metadata
    version = metadata[KEY + "format"]
    if version != str(FORMAT):
        raise DataError(
            "NNM804",
            f"the snapshot has format {version[:20]!r}, this package supports {FORMAT}",
            hint="use a newer webnnm",
        )
    signed = {name: text for name, text in metadata.items() if name != CHECKSUM}
    if compute_checksum([file.body], {**file.header, "__metadata__": signed}) != metadata.get(
        CHECKSUM
    ):
        raise DataError(
            "NNM803",
            "the checksum of the snapshot does not match its contents",
            hint="it was damaged or changed: download or save it again",
        )
    return file


def parameters(file: File) -> dict[str, StoredTensor | HostArray]:
    """Return the parameters of a snapshot by their names in the model."""
    packed = _metadata(file, "packed")
    result: dict[str, StoredTensor | HostArray] = {}
    for name, tensor in file.tensors.items():
        prefix, _, rest = name.partition("/")
        if f"{prefix}/" in (PARAMETER, STATE):
            result[rest] = _view_packed(name, tensor, packed)
    return result


async def load_parameters(
    state: ModelState,
    source: Any,
    *,
    mapping: Names | None = None,
    only: str | Iterable[str] | None = None,
    strict: bool = True,
) -> list[str]:
    """Set the parameters of a model from a file, a dict or the state of another model.

    Returns the names that were set.
    """
    options: dict[str, Any] = {"mapping": mapping, "only": only, "strict": strict}
    if isinstance(source, ModelState):
        return set_parameters(state, source.parameters.values(), "the other model", **options)
    if isinstance(source, Mapping):
        values = cast("Mapping[str, Any]", source)
        arrays = {name: HostArray.of(await _settle(value)) for name, value in values.items()}
        return set_parameters(state, arrays, "the dict", **options)
    file = await open_file(source)
    tensors: Mapping[str, StoredTensor | HostArray] = file.tensors
    if is_snapshot(file):
        parameters_of_file = parameters(verify(file))
        packed = _take_packed(file, parameters_of_file, state)
        tensors = {**parameters_of_file, **{name: unpack() for name, unpack in packed.items()}}
    matched = assign_tensors(tensors, state.parameters.types, **options)
    return _set(state, matched, len(tensors))


async def _settle(value: Any) -> Any:
    """Return an array whose values are known: those of a device may have to be awaited."""
    return await value if inspect.isawaitable(value) else value


def set_parameters(
    state: ModelState,
    arrays: Mapping[str, HostArray],
    source: str,
    **options: Any,
) -> list[str]:
    """Set the parameters of a model from arrays, which are converted to the types of the model.

    `options` are those of `load_params`, `source` is how messages call what holds the arrays.
    """
    types = state.parameters.types
    matched = assign_tensors(arrays, types, convert=True, source=source, **options)
    return _set(state, matched, len(arrays))


async def open_file(source: Any) -> File:
    """Open a safetensors file from bytes or from a path that `storage.fetch` reads.

    Raises `DataError` NNM715 if there is no such file, NNM801, NNM802 if it is damaged.
    """
    name = ""
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(cast("str", source))
        source = await fetch(name)
    try:
        return read(source)
    except DataError as error:
        from webnnm.snapshots.kinds import BEGINNING_BYTES, SNAPSHOT, recognise_file

        kind = recognise_file(bytes(memoryview(source)[:BEGINNING_BYTES]), name)
        if kind is None or kind == SNAPSHOT:
            raise
        message = f"this is not a safetensors file: it is {kind.name}"
        raise DataError("NNM802", message, hint=kind.remedy) from error


async def restore(state: ModelState, file: File) -> None:
    """Set up a model without parameters from its snapshot.

    Everything is checked before memory is allocated: the file says how large the model is.
    """
    tensors, types = parameters(file), state.parameters.types
    packed = _take_packed(file, tensors, state)
    if unknown := [n for n, p in packed.items() if n not in types or types[n].shape != p.shape]:
        raise invalid(f'"{unknown[0]}" is packed, but is not a matrix of the model')
    matched = assign_tensors(
        tensors, {name: type for name, type in types.items() if name not in packed}
    )
    content = _metadata(file, "normalisation") or {"inputs": {}}
    facts, step = read_restored(content, file.tensors), _step(file)
    check(facts, state.network)
    if state.has_dataset:
        check_meaning(facts, state.binding(), state.log)
    checkpoint = _checkpoint(state, file) if KEY + "cursor" in file.metadata else None
    best: Mapping[str, HostArray] = {}
    if checkpoint is not None and checkpoint.restored:
        best = checkpoint.best
    for vertex in state.network.parameters:
        if vertex.name in packed:
            vertex.packing = packed[vertex.name].packing
    await state.parameters.begin(
        (name, packed.get(name) or (best[name].copy() if name in best else matched[name].array()))
        for name in types
    )
    state.step = step
    state.restored = facts
    state.trained = True
    state.keep(checkpoint)


def _checkpoint(state: ModelState, file: File) -> Checkpoint:
    keys = [key.removeprefix(KEY) for key in file.metadata if key.startswith(KEY)]
    content = {key: _metadata(file, key) for key in keys if key in STRUCTURED}
    best: dict[str, HostArray] = {}
    others: dict[str, HostArray] = {}
    for name, tensor in file.tensors.items():
        if name.startswith(BEST):
            best[name.split("/", 2)[-1]] = tensor.array()
        elif name.startswith(SLOT) or name == TASKS:
            others[name] = tensor.array()
    latest = {
        name: tensor.array() if isinstance(tensor, StoredTensor) else tensor
        for name, tensor in parameters(file).items()
    }
    types = state.parameters.types
    outputs = [output.name for output in state.network.outputs]
    return read_checkpoint(
        content, others, latest, best, types, outputs=outputs, applied=_step(file)
    )


def _take_packed(
    file: File, tensors: dict[str, StoredTensor | HostArray], state: ModelState
) -> dict[str, Packed]:
    """Remove the parts of packed parameters from a snapshot's tensors; few models have any."""
    if KEY + "weights" not in file.metadata:
        return {}
    from webnnm.snapshots.packed_weights import take_packed

    return take_packed(_metadata(file, "weights"), tensors, state)


def _set(state: ModelState, tensors: Mapping[str, LazyTensor], offered: int) -> list[str]:
    """Set parameters; all is checked before anything changes, then tensors are read one by one."""
    if not tensors:
        raise DataError(
            "NNM710",
            f"none of the {offered} tensors matches a parameter of the model by name and shape",
            hint="mapping={parameter: name there} maps names",
        )
    for name in tensors:
        state.parameters.settable(name)
    for name, tensor in tensors.items():
        state.parameters.put(name, tensor.array())
    state.forget_intervals()
    return list(tensors)


def _view_packed(
    name: str, tensor: StoredTensor, packed: Mapping[str, Any]
) -> StoredTensor | HostArray:
    if name not in packed:
        return tensor
    try:
        dtype, shape = packed[name]
        return HostArray(dtype, shape, tensor.data)
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise invalid(f'tensor "{name}" is not packed correctly: {error}') from error


def _step(file: File) -> int:
    text = file.metadata.get(KEY + "step", "0")
    if not text.isdecimal() or len(text) > 18:
        raise invalid(f"its step is {text[:20]!r}")
    return int(text)


def _metadata(file: File, key: str) -> dict[str, Any]:
    """Return structured metadata; empty if there is none."""
    try:
        value = parse_json(file.metadata.get(KEY + key, "{}"))
    except ValueError as error:
        raise invalid(f"its metadata {key} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise invalid(f"its metadata {key} is not a JSON object")
    return cast("dict[str, Any]", value)


def compute_checksum(body: Iterable[memoryview[int]], content: Mapping[str, Any]) -> str:
    """Return the checksum of the body and the header of a snapshot."""
    hasher = hashlib.sha256()
    for part in body:
        hasher.update(part)
    hasher.update(_json(content).encode())
    return f"sha256:{hasher.hexdigest()}"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
