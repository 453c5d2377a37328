"""Elements or slices picked by coordinates."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import Shape, count, show
from webnnm.ops.declare.index_layer import gather_nd_rules
from webnnm.ops.declare.indices import INDEX_TYPES, positions, wrap_array
from webnnm.ops.declare.operator import Composite, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def check_coordinates(x: TensorType, indices: TensorType) -> tuple[int, Shape]:
    """Return the number of coordinates and the shape of what they pick.

    Raises NNM405 if there are more coordinates than axes.
    """
    k = indices.shape[-1]
    if k > len(x.shape):
        raise OperatorError(
            "NNM405", f"indices {show(indices.shape)} have {k} coordinates, but {x} has fewer axes"
        )
    return k, (*indices.shape[:-1], *x.shape[k:])


def _infer(x: TensorType, indices: TensorType) -> TensorType:
    return TensorType(x.dtype, check_coordinates(x, indices)[1])


def _decompose(b: Builder, x: Tensor, indices: Tensor) -> Tensor:
    box, rest = x.shape[: indices.shape[-1]], x.shape[indices.shape[-1] :]
    cells = b.reshape(x, new_shape=(count(box), *rest))
    return b.gather(cells, positions(b, indices, box))


def _reference(np: Any, x: Any, indices: Any) -> Any:
    columns = [wrap_array(np, indices[..., k], x.shape[k]) for k in range(indices.shape[-1])]
    return x[tuple(columns)]


def _stablehlo(h: Any, x: Any, indices: Any) -> Any:
    return h.take_nd(x, h.coordinates(indices, x.shape[: indices.shape[-1]]))


gather_nd = Composite(
    name="gatherND",
    summary="elements or slices picked by coordinates",
    operands=(
        Slot(name="input", ranks=(1, None)),
        Slot(name="indices", dtypes=INDEX_TYPES, ranks=(1, None)),
    ),
    options={},
    native="gatherND",
    infer=_infer,
    decompose=_decompose,
    reference=_reference,
    stablehlo=_stablehlo,
    layer=gather_nd_rules,
    traits=frozenset({"choosing", "lookup"}),
    samples=(
        sample(
            (3, 2), (3, 2), values=(None, [[0, 1], [2, -1], [0, 1]]), dtypes=("float32", "int32")
        ),
        sample((3, 2, 2), (2, 1), values=(None, [[-4], [1]]), dtypes=("float32", "int64")),
        sample((3, 4), (2,), values=(None, [2, 9]), dtypes=("float16", "uint32")),
    ),
)
