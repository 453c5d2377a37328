"""Patches of pictures of any shape: a sequence, with positions from a table of another size.

The table is resized to the patches of each picture, by sums over its rows that a triangle weights,
which is as wide as a row of the table or, where it gets smaller, as one of the result. Source:
B. Dehghani et al., "Patch n' Pack: NaViT, a vision transformer for any aspect ratio and
resolution", arXiv:2307.06304 (2023).
"""

from __future__ import annotations

from webnnm.transformers.architectures.model_text import layers, linear_layers

SEQUENCE = "patches"
MASK, SHAPES = "pixel_attention_mask", "spatial_shapes"
HIDDEN = "1e9"
"""What is subtracted from the scores of padding."""


def declare_patches(size: int, side: int) -> list[str]:
    """Return the inputs of patches with `size` numbers, and the middles of a table's rows."""
    return [
        f"pixel_values:input shape=[{size}] sequence={SEQUENCE}",
        f"{MASK}:input int32 shape=[] sequence={SEQUENCE}",
        f"{SHAPES}:input int32 shape=[2]",
        f"middles [{side}] {[index + 0.5 for index in range(side)]}",
    ]


def embed_patches(width: int) -> list[str]:
    """Return the layers from patches to tokens with positions."""
    product, bias = linear_layers("patch", width)
    return [
        product.replace("(patch,", "(patch, node=pixel_values,"),
        f"{bias[:-1]}, name=plain)",
        "positions(name=resized)",
        "add([plain, resized])",
    ]


def resize_positions(side: int) -> list[str]:
    """Return the statements of the block `positions`: those of each patch."""
    positions = layers(
        f"cast(float32, node={SHAPES}, name=sizes)",
        "slice([0], [1], node=sizes, name=down)",
        "slice([1], [1], node=sizes, name=across)",
        f"cast(float32, node={MASK})",
        "mul(0)",
        "add(1)",
        "cumulativeSum(axis=sequence)",
        "sub(1)",
        "reshape([1], name=number)",
        "mul([down, across], name=count)",
        "lesser([number, count])",
        "cast(float32)",
        # Padding has the position of the first patch; half a patch keeps off whole quotients.
        "mul(number, name=patch)",
        "add(0.5)",
        "div(across)",
        "floor(name=row)",
        "mul([row, across], name=start)",
        "sub([patch, start], name=column)",
        "triangle(node=row, count=down, name=rows)",
        "triangle(node=column, count=across, name=columns)",
        f"reshape([{side}, 1], node=rows, name=tall)",
        f"reshape([1, {side}], node=columns, name=wide)",
        "mul([tall, wide])",
        f"reshape([{side**2}])",
        "matmul(position_embeddings)",
    )
    triangle = layers(
        f"div([{side}, count], name=scale)",
        "max([scale, 1], name=reach)",
        "add([input, 0.5], name=middle)",
        "mul([middle, scale], name=center)",
        "sub([middles, center])",
        "abs()",
        "div(reach)",
        "neg()",
        "add(1)",
        "relu(name=weights)",
        "reduceSum(axes=[-1], keepDimensions=true, name=total)",
        "div([weights, total])",
    )
    return [f"positions:layers\n{positions}", f"triangle:layers\n{triangle}"]


def pool_patches(width: int, heads: int) -> list[str]:
    """Return the layers of attention of one query, `image_probe`, to all patches."""
    size = width // heads
    split = f"reshape([{heads}, {size}]"
    return [
        f"matmul(pool_wq, node=image_probe, shape=[1, {width}])",
        "add(pool_wq_b)",
        f"{split}, name=query)",
        f"matmul(pool_wk, node=input, shape=[{width}])",
        "add(pool_wk_b)",
        f"{split})",
        "mul(query)",
        "reduceSum(axes=[-1])",
        f"mul({size**-0.5}, name=scores)",
        f"cast(float32, node={MASK})",
        "sub(1)",
        f"mul({HIDDEN})",
        "reshape([1], name=hidden)",
        "add([scores, hidden])",
        "softmax(axis=sequence)",
        f"reshape([{heads}, 1], name=shares)",
        f"matmul(pool_wv, node=input, shape=[{width}])",
        "add(pool_wv_b)",
        f"{split})",
        "mul(shares)",
        "reduceSum(axes=[sequence])",
        f"reshape([{width}])",
        f"matmul(pool_wo, shape=[{width}])",
        "add(pool_wo_b, name=pooled)",
    ]


def average_patches() -> list[str]:
    """Return the layers that compute the mean of the patches that are no padding."""
    return [
        "identity(name=states)",
        f"cast(float32, node={MASK})",
        "reshape([1], name=present)",
        "reduceSum(axes=[sequence], name=count)",
        "mul([states, present])",
        "reduceSum(axes=[sequence])",
        "div(count)",
    ]
