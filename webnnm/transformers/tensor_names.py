"""The names of tensors in the files of models: those of publications, and those of modules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

WRAPPERS = ("_orig_mod.", "module.")
"""Prefixes of `torch.compile` and of `DataParallel`, which all names of a file then have."""
COMMON = ((r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias"))
"""Names that the first publications have: pattern → replacement."""


def publish_names(
    tensors: Mapping[str, T], module_names: Sequence[tuple[str, str]] = ()
) -> dict[str, T]:
    """Return tensors by the names that published files have.

    >>> publish_names({"module.embeddings.LayerNorm.gamma": 1})
    {'embeddings.LayerNorm.weight': 1}

    `module_names`, pattern → published name, are those of an architecture whose modules have other
    names in transformers 5, which `save_file(model.state_dict())` writes.
    """
    for wrapper in WRAPPERS:
        if tensors and all(name.startswith(wrapper) for name in tensors):
            tensors = {
                name.removeprefix(wrapper): tensor_of_name
                for name, tensor_of_name in tensors.items()
            }
    rules = (*COMMON, *module_names)
    published: dict[str, T] = {}
    for name, tensor in tensors.items():
        new = name
        for pattern, replacement in rules:
            new = re.sub(pattern, replacement, new)
        published[name if new in tensors else new] = tensor
    return published
