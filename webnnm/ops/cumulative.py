"""Running products and extrema along an axis: cumulativeProduct, cumulativeMax, cumulativeMin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.dtypes import ANY, FLOAT, DataType
from webnnm.ops.declare import checks
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Sample, Slot, sample
from webnnm.ops.declare.tensors import Builder, Tensor

Combine = Callable[[Builder, Tensor, Tensor], Tensor]


def _scan(combine: Combine) -> Callable[..., Tensor]:
    """Return a decomposition that combines each element with all before it, in log₂ n steps.

    W. D. Hillis, G. L. Steele, Data parallel algorithms (1986).
    """

    def decompose(b: Builder, x: Tensor, *, axis: int) -> Tensor:
        n, step = x.shape[axis], 1
        while step < n:
            head = slice_axis(b, x, axis, 0, step)
            earlier, later = (
                slice_axis(b, x, axis, 0, n - step),
                slice_axis(b, x, axis, step, n - step),
            )
            x = b.concat([head, combine(b, earlier, later)], axis=axis)
            step *= 2
        return b.identity(x) if n <= 1 else x

    return decompose


def _scan_kernel(name: str) -> Callable[..., Any]:
    def reference(np: Any, x: Any, *, axis: int) -> Any:
        n, step = x.shape[axis], 1
        while step < n:
            head, earlier, later = (
                np.take(x, np.arange(first, last), axis=axis)
                for first, last in ((0, step), (0, n - step), (step, n))
            )
            x = np.concat([head, getattr(np, name)(earlier, later)], axis=axis)
            step *= 2
        return x

    return reference


def _product(np: Any, x: Any, *, axis: int) -> Any:
    wide = np.astype(x, np.float32) if x.dtype == np.float16 else x
    return np.astype(np.cumulative_prod(wide, axis=axis, dtype=wide.dtype), x.dtype)


def _declare(
    name: str,
    summary: str,
    combine: Combine,
    reference: Callable[..., Any],
    dtypes: frozenset[DataType],
    *samples: Sample,
) -> Composite:
    return Composite(
        name=name,
        summary=summary,
        operands=(Slot(name="input", dtypes=dtypes, ranks=(1, None)),),
        options={"axis": Option(REQUIRED, checks.axis, positional=True)},
        # The gradient follows from it, and is right at zeros.
        decompose=_scan(combine),
        infer=same_as_first,
        reference=reference,
        native=name,  # WebNN has no such method: backends detect that and decompose it
        layer=None,
        batch="axes",
        samples=(
            sample((5,), axis=0),
            sample((2, 3), axis=-1),
            sample((3, 2, 2), axis=0),
            *samples,
        ),
    )


cumulative_product = _declare(
    "cumulativeProduct",
    "running products along an axis",
    lambda b, earlier, later: earlier * later,
    _product,
    FLOAT.union(("int32", "uint32", "int64", "uint64")),
    sample((2, 3), axis=1, values=([[0.0, 2.0, 3.0], [2.0, 0.0, 0.0]],)),
)
cumulative_max = _declare(
    "cumulativeMax",
    "largest element so far along an axis",
    lambda b, earlier, later: b.max(earlier, later),
    _scan_kernel("maximum"),
    ANY,
)
cumulative_min = _declare(
    "cumulativeMin",
    "smallest element so far along an axis",
    lambda b, earlier, later: b.min(earlier, later),
    _scan_kernel("minimum"),
    ANY,
)
