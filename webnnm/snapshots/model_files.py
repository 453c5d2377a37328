"""The files that a model text names, in its snapshots: graphs whose weights are the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.part import ModelFile, opened
from webnnm.formats.onnx.tensors import External
from webnnm.formats.safetensors import File, StoredTensor, invalid
from webnnm.graph.vertices import Network

FILE = "file/"
"""Tensors with the bytes of files: file/name, as the text names them."""


def stored(network: Network, names: Mapping[str, str]) -> dict[str, HostArray]:
    """Return the files of a network by their names in a snapshot.

    Large weights lie in the snapshot once, as parameters: `names` are the names of these there.
    """
    found: dict[str, HostArray] = {}
    for file, graph in network.outline.document.files.items():
        places = {
            name.removeprefix(f"{block.name}."): stored
            for block in network.outline.blocks.values()
            if block.source is not None and block.source.file == file
            for name, stored in names.items()
            if name.startswith(f"{block.name}.")
        }
        data = graph.kept(places)
        found[FILE + file] = HostArray("uint8", [len(data)], data)
    return found


def restored(file: File) -> dict[str, ModelFile]:
    """Return the files of a snapshot by their names in the text.

    Raises `DataError` NNM801, NNM802 or NNM811 for one that is damaged.
    """
    return {
        name.removeprefix(FILE): opened(tensor.data, beside(file))
        for name, tensor in file.tensors.items()
        if name.startswith(FILE)
    }


def beside(file: File) -> External:
    """Return what fetches the weights of a graph from the tensors beside it."""

    def external(location: str, offset: int, length: int | None) -> Any:
        tensor = file.tensors.get(location)
        data = None if tensor is None else _bytes(tensor)
        if data is None or offset or len(data) != length:
            raise invalid(f'its files have no weights in "{location}"')
        return data

    return external


def _bytes(tensor: StoredTensor) -> Any:
    """Return the bytes of a weight; those stored in half of them as the model has them."""
    array = tensor.array()
    if array.dtype == "float16":
        array = HostArray.of(array, "float32")
    return memoryview(array.data).cast("B")
