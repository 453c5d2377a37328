"""EfficientNet-Lite0 as a TensorFlow Lite file, for LiteRT: the network of tools/efficientnet.py.

Tables and their fields are those of TensorFlow's schema.fbs, by position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers  # type: ignore[reportMissingTypeStubs]
import numpy as np

from tools.efficientnet import EPSILON, MIDDLE, SIDE, SPREAD, STAGES, Weights, read_weights

ADD, CONVOLUTION, DEPTHWISE, MULTIPLY, MEAN = 0, 3, 4, 18, 40
OPTIONS = {CONVOLUTION: 1, DEPTHWISE: 2, ADD: 11, MULTIPLY: 21, MEAN: 27}
"""The types of the options of operators."""
OPERATORS = list(OPTIONS)
RELU6 = 3
FLOAT32, INT32 = 0, 2


def convert(source: Path, target: Path) -> None:
    """Write the network with the weights of a PyTorch file as a TensorFlow Lite file."""
    network = _Network(read_weights(source))
    image = x = network.add_tensor("image", (1, SIDE, SIDE, 3))
    scale = network.add_constant("scale", np.array(1 / SPREAD, "float32"))
    shift = network.add_constant("shift", np.array(-MIDDLE / SPREAD, "float32"))
    x = network.add_operator(MULTIPLY, [x, scale], (1, SIDE, SIDE, 3))
    x = network.add_operator(ADD, [x, shift], (1, SIDE, SIDE, 3))
    x = network.add_convolution(x, "_conv_stem", "_bn0", stride=2)
    number = 0
    for blocks, stride, expansion in STAGES:
        for index in range(blocks):
            name, y = f"_blocks.{number}.", x
            if expansion > 1:
                y = network.add_convolution(y, f"{name}_expand_conv", f"{name}_bn0")
            first = stride if index == 0 else 1
            y = network.add_convolution(y, f"{name}_depthwise_conv", f"{name}_bn1", stride=first)
            y = network.add_convolution(y, f"{name}_project_conv", f"{name}_bn2", bounded=False)
            x = network.add_operator(ADD, [x, y], network.shapes[y]) if index else y
            number += 1
    x = network.add_convolution(x, "_conv_head", "_bn1")
    axes = network.add_constant("axes", np.array([1, 2], "int32"))
    features = network.add_operator(MEAN, [x, axes], (1, network.shapes[x][3]))
    target.write_bytes(network.finish([image], [features]))


@dataclass
class _Network:
    """A file that is written tensor by tensor and operator by operator."""

    weights: Weights
    builder: Any = field(default_factory=lambda: flatbuffers.Builder(2**24))
    shapes: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    tensors: list[int] = field(default_factory=list[int])
    buffers: list[int] = field(default_factory=list[int])
    operators: list[int] = field(default_factory=list[int])

    def add_tensor(
        self, name: str, shape: tuple[int, ...], content: bytes = b"", kind: int = FLOAT32
    ) -> int:
        """Add a tensor and return its number; one without content is computed."""
        b = self.builder
        data = None
        if content:
            b.StartVector(1, len(content), 16)
            b.head -= len(content)
            b.Bytes[b.head : b.head + len(content)] = content
            data = b.EndVector()
        self.buffers.append(self._table([(0, b.PrependUOffsetTRelativeSlot, data)]))
        label, sizes = b.CreateString(name), self._vector(shape)
        self.tensors.append(
            self._table(
                [
                    (0, b.PrependUOffsetTRelativeSlot, sizes),
                    (1, b.PrependInt8Slot, kind),
                    (2, b.PrependUint32Slot, len(self.buffers)),
                    (3, b.PrependUOffsetTRelativeSlot, label),
                ]
            )
        )
        self.shapes.append(shape)
        return len(self.tensors) - 1

    def add_constant(self, name: str, values: np.ndarray[Any, Any]) -> int:
        """Add a tensor with numbers and return its number."""
        kind = INT32 if values.dtype == np.int32 else FLOAT32
        return self.add_tensor(name, values.shape, np.ascontiguousarray(values).tobytes(), kind)

    def add_operator(
        self,
        operator: int,
        inputs: Sequence[int],
        shape: tuple[int, ...],
        options: Sequence[tuple[int, Callable[..., None], Any]] = (),
    ) -> int:
        """Add an operator and return the number of its result."""
        b = self.builder
        result = self.add_tensor(f"t{len(self.tensors)}", shape)
        chosen = self._table(options)
        offsets = self._vector(inputs), self._vector([result])
        self.operators.append(
            self._table(
                [
                    (0, b.PrependUint32Slot, OPERATORS.index(operator)),
                    (1, b.PrependUOffsetTRelativeSlot, offsets[0]),
                    (2, b.PrependUOffsetTRelativeSlot, offsets[1]),
                    (3, b.PrependUint8Slot, OPTIONS[operator]),
                    (4, b.PrependUOffsetTRelativeSlot, chosen),
                ]
            )
        )
        return result

    def add_convolution(
        self, x: int, name: str, norm: str, *, stride: int = 1, bounded: bool = True
    ) -> int:
        """Add a convolution with its normalisation; `bounded` clips it to 0 … 6."""
        b, weights = self.builder, self.weights
        gain = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
        offset = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * gain
        filters = weights[f"{name}.weight"] * gain[:, None, None, None]
        depthwise = name.endswith("_depthwise_conv")
        order = (1, 2, 3, 0) if depthwise else (0, 2, 3, 1)
        kernel = self.add_constant(name, filters.transpose(order).astype("float32"))
        bias = self.add_constant(f"{name}.bias", offset.astype("float32"))
        _, height, width, _ = self.shapes[x]
        shape = (1, -(-height // stride), -(-width // stride), len(filters))
        # Padding 0 is the same size for each stride, with an odd cell last.
        steps = [(1, b.PrependInt32Slot, stride), (2, b.PrependInt32Slot, stride)]
        multiplier = [(3, b.PrependInt32Slot, 1)] if depthwise else []
        bound = [(4 if depthwise else 3, b.PrependInt8Slot, RELU6 if bounded else 0)]
        operator = DEPTHWISE if depthwise else CONVOLUTION
        return self.add_operator(operator, [x, kernel, bias], shape, [*steps, *multiplier, *bound])

    def finish(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """Return the file."""
        b = self.builder
        empty = self._table([])
        codes = [
            self._table([(0, b.PrependInt8Slot, code), (2, b.PrependInt32Slot, 1),
                         (3, b.PrependInt32Slot, code)])
            for code in OPERATORS
        ]  # fmt: skip
        parts = [
            self._offsets(self.tensors),
            self._vector(inputs),
            self._vector(outputs),
            self._offsets(self.operators),
        ]
        graph = self._table(
            [(slot, b.PrependUOffsetTRelativeSlot, part) for slot, part in enumerate(parts)]
        )
        lists = [self._offsets(codes), self._offsets([graph]), None]
        lists.append(self._offsets([empty, *self.buffers]))
        slots = zip((1, 2, 3, 4), lists, strict=True)
        fields = [(slot, b.PrependUOffsetTRelativeSlot, part) for slot, part in slots]
        b.Finish(self._table([(0, b.PrependUint32Slot, 3), *fields]), file_identifier=b"TFL3")
        return bytes(b.Output())

    def _table(self, fields: Sequence[tuple[int, Callable[..., None], Any]]) -> int:
        self.builder.StartObject(8)
        for slot, prepend, value in fields:
            if value is not None:
                prepend(slot, value, 0)
        return self.builder.EndObject()

    def _vector(self, numbers: Sequence[int]) -> int:
        return self.builder.CreateNumpyVector(np.array(numbers, "int32"))

    def _offsets(self, tables: Sequence[int]) -> int:
        b = self.builder
        b.StartVector(4, len(tables), 4)
        for table in reversed(tables):
            b.PrependUOffsetTRelative(table)
        return b.EndVector()
