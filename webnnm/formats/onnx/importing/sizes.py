"""The sizes of a model's inputs: those in the file, and those that are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import MAX_DIMENSION, is_integer, show
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.messages import DimensionProto, ValueInfoProto
from webnnm.ops.declare.tensors import TensorType

Shapes = Mapping[str, int | Sequence[int]]
"""Sizes of free dimensions by name, and shapes of whole inputs."""


class FreeDimension(DataError):
    """NNM813: a dimension has no size yet."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__("NNM813", message, hint=f"give its size: shapes={{{key}}}")


class Sizes:
    """The sizes that were given for the free dimensions of a model's inputs.

    Raises `DataError` NNM813 for names that no input and no dimension of the model has.
    """

    def __init__(self, shapes: Shapes, inputs: Sequence[ValueInfoProto]) -> None:
        self._given = shapes
        names = {info.name for info in inputs} | {dim.dim_param for dim in _dims(inputs)} - {""}
        if unknown := shapes.keys() - names:
            name = min(unknown)
            raise DataError(
                "NNM813",
                f'no input or free dimension of the model is called "{name}"',
                hint=suggestion(name, names) or f"it has {', '.join(sorted(names))}",
            )

    def type(self, info: ValueInfoProto) -> TensorType:
        """Return the type of an input."""
        where = f'input "{info.name}"'
        if info.type is None or info.type.tensor_type is None:
            raise DataError(
                "NNM814",
                f"{where} is not a tensor",
                hint="WebNN has no sequences, maps, optional or sparse values",
            )
        dtype = tensors.dtype(info.type.tensor_type.elem_type, where)
        shape = info.type.tensor_type.shape
        sizes = self._input_sizes(info.name, where, None if shape is None else len(shape.dim))
        for axis, dim in enumerate([] if shape is None else shape.dim):
            sizes[axis] = self._dimension(dim, sizes[axis], f"dimension {axis} of {where}")
        sizes_found: list[int] = []
        for axis, size in enumerate(sizes):
            if size is None:
                name = shape.dim[axis].dim_param if shape is not None else ""
                key = f'"{name}": …' if name else f'"{info.name}": […]'
                named = f', "{name}",' if name else ""
                raise FreeDimension(f"dimension {axis}{named} of {where} is free", key)
            sizes_found.append(size)
        if not all(is_integer(size) and 0 <= size <= MAX_DIMENSION for size in sizes_found):
            raise misfit(
                f"{where} has the shape {show(sizes_found)}: sizes are 0 … {MAX_DIMENSION}"
            )
        return TensorType(dtype, tuple(sizes_found))

    def _input_sizes(self, name: str, where: str, rank: int | None) -> list[int | None]:
        """Return the sizes that were given for an input as a whole, None for missing ones."""
        sizes = self._given.get(name)
        if isinstance(sizes, Sequence):
            if rank is not None and rank != len(sizes):
                raise misfit(f"{where} has {rank} dimensions, but {show(sizes)} was given")
            return list(sizes)
        if rank is None:
            raise FreeDimension(f"{where} can have any shape", f'"{name}": […]')
        return [None] * rank

    def _dimension(self, dim: DimensionProto, size: int | None, where: str) -> int | None:
        """Return the size of a dimension, None if it is free."""
        if dim.dim_value is not None and dim.dim_value >= 0:  # some write −1 for a free one
            if size not in (None, dim.dim_value):
                raise misfit(f"{where} is {dim.dim_value}, but {size} was given")
            return dim.dim_value
        size_of_name = self._given.get(dim.dim_param) if dim.dim_param else None
        return size_of_name if size is None and isinstance(size_of_name, int) else size


def misfit(message: str) -> DataError:
    """Return NNM813, the error for sizes that a model does not allow."""
    return DataError("NNM813", message, hint="give sizes that the model allows")


def _dims(inputs: Sequence[ValueInfoProto]) -> Iterator[DimensionProto]:
    for info in inputs:
        tensor = info.type.tensor_type if info.type is not None else None
        yield from [] if tensor is None or tensor.shape is None else tensor.shape.dim
