"""The heads of networks that find objects: for each query scores of classes, and a box.

Source: N. Carion et al., "End-to-end object detection with transformers", arXiv:2005.12872 (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.transformers.architectures.model_text import layers
from webnnm.transformers.architectures.parameter_names import ParameterNames

DENSE = (
    "dense:param dense_b shape=[size] shared=false",
    "dense:layers matmul(dense_w, shape=[rows, size]), add(dense_b)",
)
"""The block of a linear layer with the same bias for all rows."""


class Attention(NamedTuple):
    """The numbers of queries and keys of attention; `prefix`, that of the names of layers."""

    queries: int
    keys: int
    width: int
    heads: int
    prefix: str = ""


BOX_LAYERS = 3
"""The layers of the network that computes boxes."""


def record_dense(names: ParameterNames, layer: str) -> None:
    """Record the tensors of a call of `dense`."""
    names.matrix("dense_w", layer, bias=False)
    names.declare("dense_b", f"{layer}.bias")


def write_mlp(names: ParameterNames, layer: str, rows: int, sizes: Sequence[int]) -> list[str]:
    """Return the calls of linear layers with relu between them, and record their tensors."""
    calls: list[str] = []
    for number, size in enumerate(sizes):
        calls += ["relu()"] if number else []
        calls.append(f"dense(rows={rows}, size={size})")
        record_dense(names, f"{layer}.layers.{number}")
    return calls


def write_attention(
    names: ParameterNames, layer: str, sizes: Attention, sources: Sequence[str]
) -> list[str]:
    """Return the layers of attention whose queries, keys and values have sources of their own.

    `layer` is its name in files.
    """
    calls: list[str] = []
    prefix = sizes.prefix
    parts = (
        ("queries", "q", sizes.queries),
        ("keys", "k", sizes.keys),
        ("values", "v", sizes.keys),
    )
    for (name, letter, rows), source in zip(parts, sources, strict=True):
        calls.append(f"dense(node={source}, rows={rows}, size={sizes.width}, name={prefix}{name})")
        record_dense(names, f"{layer}.{letter}_proj")
    record_dense(names, f"{layer}.out_proj")
    return [
        *calls,
        f"attend({prefix}queries, {prefix}keys, {prefix}values, node={prefix}queries, "
        f"heads={sizes.heads})",
        f"dense(rows={sizes.queries}, size={sizes.width})",
    ]


def write_scores(
    names: ParameterNames, body: Sequence[str], count: int, width: int, labels: int
) -> list[str]:
    """Return the statements of the scores of classes, which the last class says are none."""
    head = write_mlp(names, "class_labels_classifier", count, (width, width, labels))
    return [
        f"logits:output shape={{queries:{count}, labels:{labels}}}",
        f"logits:layers\n{layers(*body, *head)}",
    ]


def write_boxes(
    names: ParameterNames, count: int, width: int, node: str = "objects", owner: str = ""
) -> list[str]:
    """Return the statements of boxes: centre, width and height, in parts of the picture's.

    `owner` is what the names of tensors begin with.
    """
    head = write_mlp(names, f"{owner}bbox_predictor", count, (width,) * (BOX_LAYERS - 1) + (4,))
    head[0] = head[0].replace("(", f"(node={node}, ", 1)
    return [
        f"pred_boxes:output shape={{queries:{count}, coordinates:4}}",
        f"pred_boxes:layers\n{layers(*head, 'sigmoid()')}",
    ]
