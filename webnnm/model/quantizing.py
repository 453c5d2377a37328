"""Quantisation: the matrices of a model in fewer bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webnnm.core.awaiting import require_await

if TYPE_CHECKING:
    from webnnm.model.nnmodel import NNModel


@require_await
async def quantize(model: NNModel, weights: str | None, *, block: int = 32) -> list[str]:
    """Store matrices in fewer bits, or as float32 again; return the names of those packed now.

    >>> import webnnm
    >>> async def small(folder):
    ...     model = await webnnm.from_pretrained(folder)
    ...     names = await webnnm.quantize(model, "int4")
    ...     print(len(names), "matrices,", model.memory())

    - `weights`: "float16"; "int8", integers from -127 to 127 with a scale for each block; "int4",
      from 0 to 15 with a scale and a minimum; None for float32.
    - `block`: how many numbers share a scale, along the axis that products sum over; if it does
      not divide that axis, the next size that does.

    The matrices of `matmul`, `attend` and `embedding` layers are packed, including tied ones;
    norms, biases, and anything with fewer than 1024 elements stay as they are. Computation is in
    float32. Packed matrices are frozen; `add_lora` of a `PretrainedModel` trains alongside them.
    Rounding is not undone: None restores float32, not the original values. `docs/quantization.md`
    reports the cost.

    Raises `DataError` NNM704 for other weights and blocks, NNM712 during training.
    """
    from webnnm.runtime.packed import pack_parameters

    names = await pack_parameters(model.state, weights, block)
    model._forget_network()
    return names
