"""The files that a model text names, in snapshots: graphs whose weights are the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.plugins import plugin
from webnnm.graph.elaboration.vertices import Network
from webnnm.snapshots.safetensors import File, StoredTensor, invalid

FILE = "file/"
"""Tensors with the bytes of files: file/name, with the names of the text."""


def store_files(network: Network, names: Mapping[str, str]) -> dict[str, HostArray]:
    """Return the files of a network by their names in a snapshot.

    Large weights are in the snapshot only once, as parameters: `names` are their names there.
    """
    tensors: dict[str, HostArray] = {}
    for file, graph in network.outline.document.files.items():
        stored_names = {
            name.removeprefix(f"{block.name}."): tensor_name
            for block in network.outline.blocks.values()
            if block.source is not None and block.source.file == file
            for name, tensor_name in names.items()
            if name.startswith(f"{block.name}.")
        }
        data = graph.pack_used(stored_names)
        tensors[FILE + file] = HostArray("uint8", [len(data)], data)
    return tensors


def restore_files(file: File) -> dict[str, Any]:
    """Return the files of a snapshot by their names in the text.

    Raises `DataError` NNM801, NNM802 or NNM811 for a damaged file.
    """
    open_onnx = plugin("open_onnx")
    return {
        name.removeprefix(FILE): open_onnx(tensor.data, beside(file))
        for name, tensor in file.tensors.items()
        if name.startswith(FILE)
    }


def beside(file: File) -> Callable[[str, int, int | None], Any]:
    """Return a function that fetches the weights of a graph from the other tensors of its file."""

    def external(location: str, offset: int, length: int | None) -> Any:
        tensor = file.tensors.get(location)
        data = None if tensor is None else _bytes(tensor)
        if data is None or offset or len(data) != length:
            raise invalid(f'its files have no weights in "{location}"')
        return data

    return external


def _bytes(tensor: StoredTensor) -> Any:
    """Return the bytes of a weight in the model's type, also if it is stored as float16."""
    array = tensor.array()
    if array.dtype == "float16":
        array = HostArray.of(array, "float32")
    return memoryview(array.data).cast("B")
