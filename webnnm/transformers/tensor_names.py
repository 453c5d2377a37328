"""The names of tensors in the files of models: those of publications, and those of modules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from webnnm.core.errors import DataError
from webnnm.snapshots.safetensors import StoredTensor

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


_EXPERT = re.compile(r"(.*\bexperts)\.(\d{1,6})(\..*)")


class Stacked(StoredTensor):
    """Tensors of equal shapes as one, with a new first axis; joined whenever they are read."""

    parts: Sequence[StoredTensor]

    def __init__(self, parts: Sequence[StoredTensor]) -> None:
        object.__setattr__(self, "code", parts[0].code)
        object.__setattr__(self, "shape", (len(parts), *parts[0].shape))
        object.__setattr__(self, "parts", parts)

    @property
    def data(self) -> memoryview[int]:  # pyrefly: ignore[bad-override]
        """The bytes of all tensors."""
        return memoryview(b"".join(part.data for part in self.parts))


def stack_experts(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return tensors with those of all experts of a layer as one, whose name has no number.

    >>> stored = StoredTensor("F32", (2,), memoryview(bytes(8)))
    >>> stacked = stack_experts({f"experts.{n}.w1.weight": stored for n in range(3)})
    >>> stacked["experts.w1.weight"].shape
    (3, 2)

    Raises `DataError` NNM805 if one is missing, NNM806 if their shapes or types differ.
    """
    stacked: dict[str, StoredTensor] = {}
    groups: defaultdict[str, dict[int, StoredTensor]] = defaultdict(dict)
    for name, tensor in tensors.items():
        match = _EXPERT.fullmatch(name)
        if match is None:
            stacked[name] = tensor
        else:
            groups[match[1] + match[3]][int(match[2])] = tensor
    for name, parts in groups.items():
        missing = next((number for number in range(len(parts)) if number not in parts), None)
        if missing is not None:
            raise DataError("NNM805", f"{name}: the tensor of expert {missing} is missing")
        if len({(part.code, part.shape) for part in parts.values()}) > 1:
            raise DataError("NNM806", f"{name}: the tensors of experts differ in shape or type")
        stacked[name] = Stacked([parts[number] for number in range(len(parts))])
    return stacked
