"""EfficientNet-Lite0 as an ONNX file: the trained weights of a PyTorch package in a graph.

The network is that of M. Tan and Q. Le, arXiv:1905.11946, in the variant without squeezing and with
ReLU6. Its weights come from TensorFlow, whose padding puts an odd cell last. Normalisations are
folded into the convolutions. The file takes one picture, [1, 3, 224, 224] in planes of red, green
and blue from 0 to 1, and returns 1,280 features of it instead of the 1,000 classes of ImageNet.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from webnnm import GraphBuilder, export_graph

SIDE = 224
STAGES = ((1, 1, 1), (2, 2, 6), (2, 2, 6), (3, 2, 6), (3, 1, 6), (4, 2, 6), (1, 1, 6))
"""For each stage: blocks, stride of the first block, expansion."""
EPSILON = 1e-3
MIDDLE, SPREAD = 127 / 255, 128 / 255
"""How pictures were normalised in training: the value that became 0, and the scale."""

Weights = dict[str, NDArray[np.float32]]
_TYPES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


def convert(source: Path, target: Path) -> None:
    """Write the network with the weights of a PyTorch file as an ONNX file."""
    network = _Network(read_weights(source))
    b = network.builder
    x = (b.input("image", "float32", [1, 3, SIDE, SIDE]) - MIDDLE) / SPREAD
    x = network.convolution(x, "_conv_stem", "_bn0", stride=2)
    number = 0
    for blocks, stride, expansion in STAGES:
        for index in range(blocks):
            name = f"_blocks.{number}."
            y = network.convolution(x, f"{name}_expand_conv", f"{name}_bn0") if expansion > 1 else x
            first = stride if index == 0 else 1
            y = network.convolution(y, f"{name}_depthwise_conv", f"{name}_bn1", stride=first)
            y = network.convolution(y, f"{name}_project_conv", f"{name}_bn2", bounded=False)
            x = y + x if index else y
            number += 1
    x = network.convolution(x, "_conv_head", "_bn1")
    graph = b.build({"features": b.reduce_mean(x, axes=[2, 3])})
    constants = network.constants
    asyncio.run(export_graph(graph, target, name="efficientnet_lite0", constants=constants))


@dataclass
class _Network:
    """A graph that is built convolution by convolution, with the values of its weights."""

    weights: Weights
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    constants: Weights = field(default_factory=Weights)

    def convolution(
        self, x: Any, name: str, norm: str, *, stride: int = 1, bounded: bool = True
    ) -> Any:
        """Return a convolution with its normalisation; `bounded` clips it to 0 … 6."""
        gain = self.weights[f"{norm}.weight"] / np.sqrt(
            self.weights[f"{norm}.running_var"] + EPSILON
        )
        offset = self.weights[f"{norm}.bias"] - self.weights[f"{norm}.running_mean"] * gain
        filters = self.weights[f"{name}.weight"] * gain[:, None, None, None]
        plain = name.replace("._", ".").removeprefix("_")
        b = self.builder
        kernel = self._constant(plain, filters)
        padding = _same(x.shape[2], filters.shape[2], stride)
        y = b.conv2d(
            x,
            kernel,
            self._constant(f"{plain}.bias", offset),
            padding=(*padding, *padding),
            strides=(stride, stride),
            groups=x.shape[1] if name.endswith("_depthwise_conv") else 1,
        )
        return b.clamp(y, min_value=0.0, max_value=6.0) if bounded else y

    def _constant(self, name: str, values: NDArray[np.floating[Any]]) -> Any:
        self.constants[name] = values.astype(np.float32)
        return self.builder.input(name, "float32", list(values.shape))


def _same(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the padding before and after that yields one output for each stride."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def read_weights(path: Path) -> Weights:
    """Return the tensors of a file written by PyTorch before version 1.6, by name.

    Raises `pickle.UnpicklingError` for a file that holds anything but tensors.
    """
    with path.open("rb") as file:
        for _ in range(3):  # a mark, the version, and sizes of C types
            _Unpickler(file).load()
        tensors: dict[str, _Tensor] = _Unpickler(file).load()
        storages: dict[str, NDArray[Any]] = {}
        kinds = {tensor.storage: tensor.kind for tensor in tensors.values()}
        for key in _Unpickler(file).load():
            (count,) = struct.unpack("<q", file.read(8))
            dtype = np.dtype(_TYPES[kinds[key]])
            storages[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    return {name: tensor.values(storages) for name, tensor in tensors.items()}


@dataclass(frozen=True)
class _Tensor:
    """A tensor in a file: the numbers of a storage that are its elements."""

    kind: str
    storage: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def values(self, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Return its elements."""
        numbers = storages[self.storage][self.offset :]
        strides = [stride * numbers.itemsize for stride in self.strides]
        return as_strided(numbers, self.shape, strides).copy()


class _Unpickler(pickle.Unpickler):
    """Reads names, numbers and tensors, and refuses every other object."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module_name, global_name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module_name == "torch" and global_name in _TYPES:
            return global_name
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not a part of a tensor")

    def persistent_load(self, pid: Any, /) -> tuple[str, str]:
        _, kind, key, *_ = pid
        return kind, key


def _tensor(storage: tuple[str, str], offset: int, shape: Any, strides: Any, *_: Any) -> _Tensor:
    return _Tensor(*storage, offset, tuple(shape), tuple(strides))
