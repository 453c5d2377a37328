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
from webnnm.core.json_text import parse_json
from webnnm.core.shapes import show
from webnnm.formats.fields import Fields, shorten
from webnnm.snapshots.foreign import Form, Part, Transposed, permute
from webnnm.snapshots.safetensors import File, chunks

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


class MatrixSlice(NamedTuple):
    """Where a matrix is stored: which layer of `peft` it is, or which columns of one.

    Attributes: `module`, the name of the layer; `first`, its first column there; `columns`, the
    number of columns of the layer; `transposed`, whether the file has `[out, in]`.
    """

    module: str
    first: int
    columns: int
    transposed: bool


def locate_matrix(source: str | Form, columns: int) -> MatrixSlice | None:
    """Return the place of a matrix with this many columns in a layer, None if it is not a layer's.

    >>> locate_matrix(Part("h.0.attn.c_attn.weight", 1, 3, axis=1), 20)
    MatrixSlice(module='h.0.attn.c_attn', first=20, columns=60, transposed=False)
    """
    transposed = isinstance(source, Transposed)
    inner = source.source if isinstance(source, Transposed) else source
    name = inner.name if isinstance(inner, Form) else inner
    first, total = 0, columns
    if isinstance(inner, Part) and isinstance(inner.source, str) and inner.heads == 1:
        sizes = [columns] * inner.of if isinstance(inner.of, int) else [*inner.of]
        first, total = sum(sizes[: inner.index]), sum(sizes)
    elif isinstance(inner, Form) or not name.endswith(".weight"):
        return None
    return MatrixSlice(name.removesuffix(".weight"), first, total, transposed)


def adapter_tensors(
    matrices: Iterable[tuple[MatrixSlice, LowRank]], prefix: str
) -> tuple[dict[str, HostArray], dict[str, tuple[int, float]]]:
    """Return the tensors of a file, and the rank and alpha of every layer.

    Several matrices that are one layer there become one product, whose rank is the sum of theirs.
    """
    layers: dict[str, list[tuple[MatrixSlice, LowRank]]] = {}
    for matrix, product in matrices:
        layers.setdefault(f"{prefix}{matrix.module}", []).append((matrix, product))
    tensors: dict[str, HostArray] = {}
    numbers: dict[str, tuple[int, float]] = {}
    for module, parts in layers.items():
        rank = sum(product.a.shape[1] for _, product in parts)
        columns, scale = parts[0][0].columns, parts[0][1].scale
        rows = b"".join(bytes(_transpose(product.a).data) for _, product in parts)
        tensors[f"{LEAD}{module}.lora_A.weight"] = HostArray(
            "float32", (rank, parts[0][1].a.shape[0]), rows
        )
        wide = bytearray(4 * rank * columns)  # [rank, columns], zero outside its parts
        before = 0
        for matrix, product in parts:
            size, values = 4 * product.b.shape[1], product.b.data
            for row in range(product.b.shape[0]):
                start = 4 * ((before + row) * columns + matrix.first)
                wide[start : start + size] = values[row * size : (row + 1) * size]
            before += product.b.shape[0]
        tensors[f"{LEAD}{module}.lora_B.weight"] = _transpose(
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
        match = _NAME.fullmatch(name)
        if match is None:
            message = f'tensor "{name}" is not a factor of a low-rank adapter of a linear layer'
            raise DataError("NNM805", message, hint="lora_A.weight and lora_B.weight can be loaded")
        pairs.setdefault(match[1], {})[match[2]] = HostArray.of(tensor.array(), "float32")
    products: dict[str, LowRank] = {}
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
        products[module] = LowRank(_transpose(a), _transpose(b), alpha / rank)
    if not products:
        raise DataError("NNM805", "the file has no tensors", hint="download the file again")
    return products, config.number("lora_dropout", 0)


def select_columns(product: LowRank, matrix: MatrixSlice, columns: int) -> LowRank:
    """Return the part of a product for some of the columns, without ranks that add nothing.

    Raises `DataError` NNM806 for a product of another size.
    """
    a, b = product.a, product.b
    if b.shape[1] != matrix.columns:
        message = f'"{matrix.module}" has {matrix.columns} columns, the adapter {b.shape[1]}'
        raise DataError("NNM806", message, hint="the adapter belongs to another model")
    if columns == matrix.columns:
        return product
    values, width = b.values(), b.shape[1]
    rows = [
        values[row * width + matrix.first : row * width + matrix.first + columns]
        for row in range(b.shape[0])
    ]
    used_rows = [row for row, row_values in enumerate(rows) if any(row_values)] or [0]
    row_values = [value for row in used_rows for value in rows[row]]
    return LowRank(
        _transpose(_transpose(a).rows(used_rows)),
        HostArray.of(row_values, "float32", (len(used_rows), columns)),
        product.scale,
    )


def equalize_ranks(products: Mapping[str, LowRank]) -> tuple[dict[str, LowRank], int, float]:
    """Return products of one rank and one scale, and both: smaller ranks are padded with zeros."""
    rank = max(product.a.shape[1] for product in products.values())
    scale = next(iter(products.values())).scale
    equal: dict[str, LowRank] = {}
    for name, product in products.items():
        a, b = _transpose(product.a), product.b
        if product.scale != scale:
            factor = product.scale / scale
            b = HostArray.of([value * factor for value in b.values()], "float32", b.shape)
        more = rank - a.shape[0]
        equal[name] = LowRank(_transpose(_pad_rows(a, more)), _pad_rows(b, more), scale)
    return equal, rank, scale


def _pad_rows(rows: HostArray, more: int) -> HostArray:
    size, width = rows.shape
    return HostArray("float32", (size + more, width), bytes(rows.data) + bytes(4 * more * width))


def _transpose(matrix: HostArray) -> HostArray:
    data = permute(matrix.shape, matrix.data, 4, (1, 0))
    return HostArray("float32", matrix.shape[::-1], data)


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _read_config(text: str | None) -> Fields:
    if text is None:
        raise DataError(
            "NNM715", f"there is no {CONFIG}", hint="give the folder that has both files"
        )
    try:
        config = Fields.of(parse_json(text), CONFIG, "NNM802")
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
