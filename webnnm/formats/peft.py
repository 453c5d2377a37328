"""Low-rank adapters as Hugging Face's `peft` writes them: a file of tensors and a config.

Source: huggingface/peft, `LoraConfig` and `save_pretrained`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import show
from webnnm.formats.fields import Fields, shorten
from webnnm.formats.foreign import Form, Part, Transposed, permuted
from webnnm.formats.safetensors import File, chunks, parsed

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
METADATA = "adapter_config"
"""The metadata key under which the file of tensors also has the config, so that it is enough."""
LEAD = "base_model.model."
_NAME = re.compile(r"(?:base_model\.model\.)?(.+)\.lora_(A|B)(?:\.default)?\.weight")

UNSUPPORTED: Mapping[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none", None),
    "use_dora": (False, None),
    "use_rslora": (False, None),
    "lora_bias": (False, None),
    "modules_to_save": (None, []),
    "trainable_token_indices": (None,),
    "layer_replication": (None,),
    "alora_invocation_tokens": (None,),
}
"""Keys of the config → the supported values."""


class LowRank(NamedTuple):
    """The product that is added to a matrix `[in, out]`: scale·a·b, a `[in, rank]`."""

    a: HostArray
    b: HostArray
    scale: float


class Place(NamedTuple):
    """Where a matrix is stored: which layer of `peft` it is, or which columns of one.

    Attributes: `module`, the name of the layer; `first`, its first column there; `columns`, the
    number of columns of the layer; `transposed`, whether the file has `[out, in]`.
    """

    module: str
    first: int
    columns: int
    transposed: bool


def place_of(source: str | Form, columns: int) -> Place | None:
    """Return the place of a matrix with this many columns in a layer, None if it is not a layer's.

    >>> place_of(Part("h.0.attn.c_attn.weight", 1, 3, axis=1), 20)
    Place(module='h.0.attn.c_attn', first=20, columns=60, transposed=False)
    """
    transposed = isinstance(source, Transposed)
    inner = source.source if isinstance(source, Transposed) else source
    name = inner.name if isinstance(inner, Form) else inner
    first, whole = 0, columns
    if isinstance(inner, Part) and isinstance(inner.source, str) and inner.heads == 1:
        sizes = [columns] * inner.of if isinstance(inner.of, int) else [*inner.of]
        first, whole = sum(sizes[: inner.index]), sum(sizes)
    elif isinstance(inner, Form) or not name.endswith(".weight"):
        return None
    return Place(name.removesuffix(".weight"), first, whole, transposed)


def adapter_tensors(
    found: Iterable[tuple[Place, LowRank]], prefix: str
) -> tuple[dict[str, HostArray], dict[str, tuple[int, float]]]:
    """Return the tensors of a file, and the rank and alpha of every layer.

    Several matrices that are one layer there become one product, whose rank is the sum of theirs.
    """
    layers: dict[str, list[tuple[Place, LowRank]]] = {}
    for place, each in found:
        layers.setdefault(f"{prefix}{place.module}", []).append((place, each))
    tensors: dict[str, HostArray] = {}
    numbers: dict[str, tuple[int, float]] = {}
    for module, parts in layers.items():
        rank = sum(each.a.shape[1] for _, each in parts)
        columns, scale = parts[0][0].columns, parts[0][1].scale
        rows = b"".join(bytes(_turned(each.a).data) for _, each in parts)
        tensors[f"{LEAD}{module}.lora_A.weight"] = HostArray(
            "float32", (rank, parts[0][1].a.shape[0]), rows
        )
        wide = bytearray(4 * rank * columns)  # [rank, columns], zero outside its parts
        before = 0
        for place, each in parts:
            size, own = 4 * each.b.shape[1], each.b.data
            for row in range(each.b.shape[0]):
                start = 4 * ((before + row) * columns + place.first)
                wide[start : start + size] = own[row * size : (row + 1) * size]
            before += each.b.shape[0]
        tensors[f"{LEAD}{module}.lora_B.weight"] = _turned(
            HostArray("float32", (rank, columns), wide)
        )
        numbers[module] = rank, scale * rank
    return tensors, numbers


def adapter_config(
    numbers: Mapping[str, tuple[int, float]],
    others: Iterable[str],
    *,
    dropout: float,
    transposed: bool,
    task: str | None,
    base: str | None,
) -> str:
    """Return `adapter_config.json`; `others` are layers of the model that have no adapter."""
    short = {module.rpartition(".")[2] for module in numbers}
    exact = any(module.rpartition(".")[2] in short for module in others)
    rank, alpha = min(numbers.values())
    unlike = {module: pair for module, pair in numbers.items() if pair != (rank, alpha)}
    config = {
        "peft_type": "LORA",
        "task_type": task,
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": _number(alpha),
        "lora_dropout": dropout,
        "target_modules": sorted(numbers if exact else short),
        "rank_pattern": {module: pair[0] for module, pair in unlike.items()},
        "alpha_pattern": {module: _number(pair[1]) for module, pair in unlike.items()},
        "fan_in_fan_out": not transposed,
        "bias": "none",
        "inference_mode": True,
    }
    return json.dumps(config, indent=2) + "\n"


def adapter_file(
    tensors: Mapping[str, HostArray], config: str
) -> Iterator[bytes | memoryview[int]]:
    """Return the file of tensors in parts, with the config in its metadata."""
    return chunks(tensors, {"format": "pt", METADATA: config})


def read_adapter(file: File, text: str | None) -> tuple[dict[str, LowRank], float]:
    """Return the products of a file by the layer's name in the file, and their dropout.

    Raises `DataError` NNM818 for a config that asks for something that is not supported, NNM805 for
    tensors that do not belong to a low-rank adapter or lack their counterpart, NNM806 for shapes
    that do not fit each other, NNM802 for an invalid config.
    """
    config = _read_config(text if text is not None else file.metadata.get(METADATA))
    pairs: dict[str, dict[str, HostArray]] = {}
    for name, tensor in file.tensors.items():
        matched = _NAME.fullmatch(name)
        if matched is None:
            message = f'tensor "{name}" is not a factor of a low-rank adapter of a linear layer'
            raise DataError("NNM805", message, hint="lora_A.weight and lora_B.weight can be loaded")
        pairs.setdefault(matched[1], {})[matched[2]] = HostArray.of(tensor.array(), "float32")
    found: dict[str, LowRank] = {}
    for module, pair in pairs.items():
        if len(pair) < 2:
            message = f'for "{module}" the file has only lora_{next(iter(pair))}'
            raise DataError("NNM805", message, hint="download the file again")
        a, b = pair["A"], pair["B"]
        if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[0] != b.shape[1]:
            message = f'"{module}": lora_A is {show(a.shape)}, lora_B {show(b.shape)}'
            raise DataError("NNM806", message, hint="they are [rank, in] and [out, rank]")
        rank = _pattern(config, "rank_pattern", module, config.integer("r", least=1))
        alpha = _pattern(config, "alpha_pattern", module, config.number("lora_alpha"))
        if rank != a.shape[0]:
            message = f'"{module}": the rank is {rank} in the config, but lora_A is {show(a.shape)}'
            raise DataError("NNM806", message, hint="use the config that belongs to the file")
        found[module] = LowRank(_turned(a), _turned(b), alpha / rank)
    if not found:
        raise DataError("NNM805", "the file has no tensors", hint="download the file again")
    return found, config.number("lora_dropout", 0)


def part_of(given: LowRank, place: Place, columns: int) -> LowRank:
    """Return the part of a product for some of the columns, without ranks that add nothing.

    Raises `DataError` NNM806 for a product of another size.
    """
    a, b = given.a, given.b
    if b.shape[1] != place.columns:
        message = f'"{place.module}" has {place.columns} columns, the adapter {b.shape[1]}'
        raise DataError("NNM806", message, hint="the adapter belongs to another model")
    if columns == place.columns:
        return given
    values, width = b.values(), b.shape[1]
    rows = [
        values[row * width + place.first : row * width + place.first + columns]
        for row in range(b.shape[0])
    ]
    kept = [row for row, own in enumerate(rows) if any(own)] or [0]
    own = [value for row in kept for value in rows[row]]
    return LowRank(
        _turned(_turned(a).rows(kept)),
        HostArray.of(own, "float32", (len(kept), columns)),
        given.scale,
    )


def alike(given: Mapping[str, LowRank]) -> tuple[dict[str, LowRank], int, float]:
    """Return products of one rank and one scale, and both: smaller ranks are padded with zeros."""
    rank = max(each.a.shape[1] for each in given.values())
    scale = next(iter(given.values())).scale
    found: dict[str, LowRank] = {}
    for name, each in given.items():
        a, b = _turned(each.a), each.b
        if each.scale != scale:
            factor = each.scale / scale
            b = HostArray.of([value * factor for value in b.values()], "float32", b.shape)
        more = rank - a.shape[0]
        found[name] = LowRank(_turned(_longer(a, more)), _longer(b, more), scale)
    return found, rank, scale


def _longer(rows: HostArray, more: int) -> HostArray:
    size, width = rows.shape
    return HostArray("float32", (size + more, width), bytes(rows.data) + bytes(4 * more * width))


def _turned(matrix: HostArray) -> HostArray:
    data = permuted(matrix.shape, matrix.data, 4, (1, 0))
    return HostArray("float32", matrix.shape[::-1], data)


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _read_config(text: str | None) -> Fields:
    if text is None:
        raise DataError(
            "NNM715", f"there is no {CONFIG}", hint="give the folder that has both files"
        )
    try:
        config = Fields.of(parsed(text), CONFIG, "NNM802")
    except ValueError as error:
        raise DataError("NNM802", f"this is not a valid {CONFIG}: {str(error)[:200]}") from error
    config.integer("r", least=1)
    config.number("lora_alpha")
    dropout = config.number("lora_dropout", 0)
    if not 0 <= dropout < 1:
        raise config.wrong("lora_dropout", "a number from 0 to below 1")
    for key, values in UNSUPPORTED.items():
        if key in config.given and config.given[key] not in values:
            raise DataError(
                "NNM818",
                f'{CONFIG}: "{key}" is {shorten(config.given[key])}, which is not supported',
                hint=f"{json.dumps(values[0])} can be loaded",
            )
    return config


def _pattern(config: Fields, key: str, module: str, default: float) -> Any:
    """Return the number for a layer: of the first pattern that its name ends in, or the default."""
    patterns = Fields(config.object(key), f'{CONFIG}: "{key}"', "NNM802")
    for pattern in patterns.given:
        if not re.fullmatch(r"[\w.-]+", pattern):  # a regular expression, which is not executed
            message = f'{CONFIG}: "{key}" has {shorten(pattern)}, which is not supported'
            raise DataError("NNM818", message, hint="names of layers, or their ends, are supported")
        if f".{module}".endswith(f".{pattern}"):
            return patterns.number(pattern)
    return default
