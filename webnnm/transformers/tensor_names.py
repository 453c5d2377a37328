"""The names of tensors in the files of models: those of publications, and those of modules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

WRAPPERS = ("_orig_mod.", "module.")
"""Prefixes of `torch.compile` and of `DataParallel`, which all names of a file then have."""
COMMON = ((r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias"))
"""Names that the first publications have: pattern → replacement."""
_VIT = r"(^|\.)layers\.(\d+)\."
MODULES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vit": (
        (_VIT + r"attention\.q_proj\.", r"\1encoder.layer.\2.attention.attention.query."),
        (_VIT + r"attention\.k_proj\.", r"\1encoder.layer.\2.attention.attention.key."),
        (_VIT + r"attention\.v_proj\.", r"\1encoder.layer.\2.attention.attention.value."),
        (_VIT + r"attention\.o_proj\.", r"\1encoder.layer.\2.attention.output.dense."),
        (_VIT + r"mlp\.fc1\.", r"\1encoder.layer.\2.intermediate.dense."),
        (_VIT + r"mlp\.fc2\.", r"\1encoder.layer.\2.output.dense."),
        (_VIT + r"(layernorm_(?:before|after))\.", r"\1encoder.layer.\2.\3."),
    ),
}
"""Names of the modules of transformers 5, which `save_file(model.state_dict())` writes, by
`model_type`: pattern → the published name. Other architectures have the same names for both."""


def publish_names(tensors: Mapping[str, T], kind: str) -> dict[str, T]:
    """Return tensors by the names that published files have.

    >>> publish_names({"module.layers.0.attention.q_proj.bias": 1}, "vit")
    {'encoder.layer.0.attention.attention.query.bias': 1}
    """
    for wrapper in WRAPPERS:
        if tensors and all(name.startswith(wrapper) for name in tensors):
            tensors = {
                name.removeprefix(wrapper): tensor_of_name
                for name, tensor_of_name in tensors.items()
            }
    rules = (*COMMON, *MODULES.get(kind, ()))
    published: dict[str, T] = {}
    for name, tensor in tensors.items():
        new = name
        for pattern, replacement in rules:
            new = re.sub(pattern, replacement, new)
        published[name if new in tensors else new] = tensor
    return published
