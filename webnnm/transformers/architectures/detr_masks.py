"""The mask head of DETR: where each query looks, enlarged with features of earlier stages.

Source: N. Carion et al., "End-to-end object detection with transformers", arXiv:2005.12872 (2020),
section 4.4.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.transformers.architectures.conv_net import ConvNet
from webnnm.transformers.architectures.detection import record_dense
from webnnm.transformers.architectures.model_text import layers
from webnnm.transformers.config import Config

LOOK, HEAD = "bbox_attention", "mask_head"
MASK_MODULE_NAMES = (
    (r"^bbox_attention\.([qk])_proj\.", r"bbox_attention.\1_linear."),
    (r"^mask_head\.conv([12])\.conv\.", r"mask_head.lay\1."),
    (r"^mask_head\.conv([12])\.norm\.", r"mask_head.gn\1."),
    *(
        rule
        for stage in range(3)
        for rule in (
            (rf"^mask_head\.fpn_stages\.{stage}\.fpn_adapter\.", f"mask_head.adapter{stage + 1}."),
            (rf"^mask_head\.fpn_stages\.{stage}\.refine\.conv\.", f"mask_head.lay{stage + 3}."),
            (rf"^mask_head\.fpn_stages\.{stage}\.refine\.norm\.", f"mask_head.gn{stage + 3}."),
        )
    ),
    (r"^mask_head\.output_conv\.", "mask_head.out_lay."),
)
"""Names of the modules of transformers 5: pattern → the published name."""
STAGES = 4
"""The stages of the backbone: masks have the size of the first one's result."""
MAX_QUERIES = 1 << 10
GROUPS = 8
"""The most groups of a norm."""


class MaskSizes(NamedTuple):
    """The sizes of the head; `grids`, those of the results of stages, last one first."""

    queries: int
    width: int
    heads: int
    grids: tuple[tuple[int, int], ...]
    activation: str

    @property
    def channels(self) -> list[int]:
        """The channels of the results of the head's convolutions."""
        return [self.width + self.heads, *(self.width // 2**n for n in range(1, STAGES + 1))]


def read_mask_sizes(config: Config, body: ConvNet) -> MaskSizes:
    """Return the sizes of a head. Raises `DataError` NNM818 for those that it cannot have."""
    width, heads = config.size("d_model", 256), config.size("encoder_attention_heads", 8)
    sizes = MaskSizes(
        queries=config.size("num_queries", 100),
        width=width,
        heads=heads,
        grids=tuple(body.grids[name] for name in reversed(body.grids)),
        activation=config.activation("activation_function", "relu"),
    )
    if sizes.queries > MAX_QUERIES:
        raise config.not_supported("num_queries", sizes.queries, f"masks of up to {MAX_QUERIES}")
    divisible = all(size and size % min(GROUPS, size) == 0 for size in sizes.channels)
    if not divisible or width % heads or width % 2**STAGES:
        hint = f"{GROUPS} groups divide it with encoder_attention_heads, its half and its quarter"
        raise config.not_supported("d_model", width, hint)
    backbone = config.object("backbone_config")
    expected = {
        "out_features": [f"stage{number}" for number in range(1, STAGES + 1)],
        "out_indices": [*range(1, STAGES + 1)],
    }
    for key, values in expected.items():
        if backbone.get(key) not in (None, values) or len(body.grids) != STAGES:
            hint = f"masks need the features of {STAGES} stages, {values}"
            raise config.not_supported(f"backbone_config.{key}", backbone.get(key), hint)
    return sizes


def write_masks(names: ConvNet, sizes: MaskSizes, states: str, memory: str) -> list[str]:
    """Return the statements of masks, one for each query, and record their tensors.

    `states` are those of queries, `memory` those of cells. Queries become a sequence: convolutions
    are applied to each of them. What does not depend on queries is computed once for all.
    """
    _, *larger = sizes.grids
    wide, *channels = sizes.channels
    rows = [*_look(names, sizes, states, memory), *_stack_queries(sizes)]
    rows += [
        f"repeatSequence(node=projected, length={sizes.queries})",
        "concat(looks, axis=0)",
        _convolve(names, wide, 1),
        _convolve(names, channels[0], 2),
    ]
    for number, (height, across) in enumerate(larger, 1):
        names.weight("adapter", f"{HEAD}.adapter{number}")
        size = channels[number - 1]
        rows += [
            "resample2d(scales=2)",
            f"slice([0, 0, 0], [{size}, {height}, {across}], name=enlarged{number})",
            f"conv2d(adapter, node=stage{STAGES - number}, filters={size}, kernel=1, "
            "bias=adapter_b)",
            f"add(enlarged{number})",
            _convolve(names, channels[number], number + 2),
        ]
    names.weight("drawn", f"{HEAD}.out_lay")
    height, across = larger[-1]
    rows += [
        "conv2d(drawn, filters=1, kernel=3, padding=1, bias=drawn_b)",
        f"reshape([{height}, {across}])",
    ]
    block = layers(
        "conv2d(refine, filters=filters, kernel=3, padding=1, bias=refine_b)",
        "groupNorm(groups=groups, scale=refine_norm, bias=refine_norm_b)",
        sizes.activation,
    )
    one = layers("gather(node=maps, shape={queries:number})", "repeatSequence(length=1)")
    return [
        f"pred_masks:output shape={{height:{height}, width:{across}}} sequence=true",
        f"pred_masks:layers\n{layers(*rows)}",
        f"refined:layers\n{block}",
        f"look_of:layers\n{one}",
    ]


def _convolve(names: ConvNet, filters: int, number: int) -> str:
    """Return the call of a convolution with its norm, and record its tensors."""
    names.weight("refine", f"{HEAD}.lay{number}")
    names.weight("refine_norm", f"{HEAD}.gn{number}")
    return f"refined(filters={filters}, groups={min(GROUPS, filters)})"


def _look(names: ConvNet, sizes: MaskSizes, states: str, memory: str) -> list[str]:
    """Return the layers of how much each head of a query looks at each cell: a share of all."""
    queries, heads, (height, across) = sizes.queries, sizes.heads, sizes.grids[0]
    depth, cells = sizes.width // heads, height * across
    for letter in "qk":
        record_dense(names, f"{LOOK}.{letter}_linear")
    return [
        f"dense(node={states}, rows={queries}, size={sizes.width})",
        f"mul({depth**-0.5})",
        f"reshape([{queries}, {heads}, {depth}])",
        "transpose([1, 0, 2], name=asked)",
        f"dense(node={memory}, rows={cells}, size={sizes.width})",
        f"reshape([{cells}, {heads}, {depth}])",
        "transpose([1, 2, 0], name=offered)",
        "matmul(offered, node=asked)",
        "transpose([1, 0, 2])",
        f"reshape([{queries}, {heads * cells}])",
        "softmax(axis=1)",
        f"reshape({{queries:{queries}, heads:{heads}, height:{height}, "
        f"width:{across}}}, name=maps)",
    ]


def _stack_queries(sizes: MaskSizes) -> list[str]:
    """Return the layers that make a sequence of the maps of queries."""
    if sizes.queries == 1:
        return ["look_of(number=0, name=looks)"]
    numbers = range(sizes.queries)
    looks = ", ".join(f"look{number}" for number in numbers)
    return [
        *(f"look_of(number={number}, name=look{number})" for number in numbers),
        f"concat([{looks}], axis=sequence, name=looks)",
    ]
