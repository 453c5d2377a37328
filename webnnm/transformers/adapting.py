"""Low-rank adapters of a Hugging Face model: adding, saving, loading, merging, removing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.data.files.references import Reference, read_reference
from webnnm.data.files.source_bytes import read_bytes
from webnnm.editing.low_rank import Adapter, adapters, add_adapters
from webnnm.formats import peft
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.packing.packing import Packing
from webnnm.notation.syntax import Document
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.refit import refit
from webnnm.runtime.state import ModelState
from webnnm.snapshots.name_map import Names, source_names
from webnnm.snapshots.safetensors import read
from webnnm.snapshots.storage import BROWSER, DOWNLOAD, fetch, store
from webnnm.transformers.pretrained import join_path, text_at


class Origin(NamedTuple):
    """Where the parameters of a model are in Hugging Face files.

    Attributes: `names`, the name map; `prefix`, what precedes the names of its layers;
    `task`, the `peft` task type; `base`, the name of the model.
    """

    names: Names
    prefix: str
    task: str | None
    base: str | None


CAUSAL = ("CausalLM", "LMHeadModel")
"""Endings of class names for which all versions of `peft` have a task type."""


def origin_of(config: Mapping[str, Any], names: Names, prefix: str) -> Origin:
    """Return where the parameters of a model with this config are; `prefix` is that of a head."""
    kind = str((config.get("architectures") or [""])[0])
    headless = kind.endswith("Model") and not kind.endswith("LMHeadModel")
    task = "CAUSAL_LM" if kind.endswith(CAUSAL) else None
    return Origin(names, "" if headless else prefix, task, config.get("_name_or_path"))


async def add_lora(
    state: ModelState,
    targets: str | Iterable[str],
    *,
    rank: int,
    alpha: float,
    dropout: float,
) -> list[str]:
    """Add adapters to a model; return the names of their matrices."""
    document = add_adapters(state.network, targets, rank=rank, alpha=alpha, dropout=dropout)
    await refit(state, document)
    return [adapter.weight for adapter in adapters(state.network)]


def require_adapters(state: ModelState) -> list[Adapter]:
    """Return the adapters of a model. Raises `DataError` NNM710 if there are none."""
    existing = adapters(state.network)
    if not existing:
        raise DataError("NNM710", "the model has no adapter", hint="await model.add_lora()")
    return existing


async def save_lora(state: ModelState, origin: Origin, target: Any) -> Any:
    """Write an adapter as `peft` does; see `PretrainedModel.save_lora`."""
    saved, types = require_adapters(state), state.parameters.types
    with state.occupancy.by("a save"):
        tensors = state.parameters.tensors
        names = [name for adapter in saved for name in (adapter.a, adapter.b)]
        values = await state.backend.read(*(tensors[name] for name in names))
    arrays = dict(zip(names, values, strict=True))
    sources = source_names(types, origin.names)
    matrices: list[tuple[peft.MatrixSlice, peft.LowRank]] = []
    for adapter in saved:
        matrix = peft.locate_matrix(sources[adapter.weight], types[adapter.weight].shape[-1])
        if matrix is None:
            message = f'"{adapter.weight}" is not a layer that an adapter file can name'
            raise DataError("NNM805", message, hint="call add_lora(targets=…) with other matrices")
        matrices.append((matrix, peft.LowRank(arrays[adapter.a], arrays[adapter.b], adapter.scale)))
    tensors_of_file, numbers = peft.adapter_tensors(matrices, origin.prefix)
    config = peft.adapter_config(
        numbers,
        _modules_without_adapter(sources, types, numbers, origin.prefix),
        dropout=saved[0].dropout,
        transposed=matrices[0][0].transposed,
        task=origin.task,
        base=origin.base,
    )
    file = peft.adapter_file(tensors_of_file, config)
    if target is None or str(target).startswith((BROWSER, DOWNLOAD)):
        return await store(target, file)
    folder = Path(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError("NNM807", f'"{folder}" cannot be made: {error}') from error
    await store(folder / peft.WEIGHTS, file)
    await store(folder / peft.CONFIG, [config.encode()])
    return target


async def load_lora(state: ModelState, origin: Origin, source: Any) -> list[str]:
    """Add the adapter of a file; see `PretrainedModel.load_lora`."""
    products, dropout = peft.read_adapter(*await _open_adapter(source))
    types, sources = state.parameters.types, source_names(state.parameters.types, origin.names)
    chosen: dict[str, peft.LowRank] = {}
    used: set[str] = set()
    for name, stored in sources.items():
        shape = types[name].shape
        matrix = peft.locate_matrix(stored, shape[-1]) if len(shape) == 2 else None
        modules = (origin.prefix + matrix.module, matrix.module) if matrix else ()
        matching = [module for module in modules if module in products]
        if matrix and matching:
            chosen[name] = peft.select_columns(products[matching[0]], matrix, shape[-1])
            used.add(matching[0])
    unmatched = [module for module in products if module not in used]
    if unmatched:
        message = (
            f'the model has no layer "{unmatched[0]}", nor {len(unmatched) - 1} more of the adapter'
        )
        raise DataError("NNM805", message, hint="the adapter belongs to another model")
    chosen, rank, scale = peft.equalize_ranks(chosen)
    for name, product in chosen.items():
        if product.a.shape[0] != types[name].shape[0]:
            message = f'"{name}" has {types[name].shape[0]} rows, the adapter {product.a.shape[0]}'
            raise DataError("NNM806", message, hint="the adapter belongs to another model")
    document = add_adapters(state.network, chosen, rank=rank, alpha=scale * rank, dropout=dropout)
    await refit(state, document)
    added = adapters(state.network)
    for adapter in added:
        state.parameters.put(adapter.a, chosen[adapter.weight].a)
        state.parameters.put(adapter.b, chosen[adapter.weight].b)
    return _weight_names(added)


async def merge_lora(state: ModelState, plain: Document) -> list[str]:
    """Add the products to their matrices, and restore the text without adapters."""
    state.occupancy.check()
    backend, parameters, merging = state.backend, state.parameters, require_adapters(state)
    packings = {vertex.name: vertex.packing for vertex in state.network.parameters}
    merged: dict[str, Any] = {}
    executables: dict[Any, Any] = {}
    try:
        for adapter in merging:
            kinds = [parameters.types[name] for name in adapter[:3]]
            _check_float(adapter.weight, kinds[0], packings[adapter.weight])
            key = (*kinds, adapter.scale)
            if key not in executables:
                b = GraphBuilder()
                w, a, c = (b.input(n, *type) for n, type in zip("wab", kinds, strict=True))
                graph = b.build({"y": w + b.matmul(a, c) * adapter.scale})
                executables[key] = await backend.compile(graph)
            merged[adapter.weight] = await backend.tensor(kinds[0])
            factors = {
                n: parameters.tensors[name] for n, name in zip("wab", adapter[:3], strict=True)
            }
            backend.dispatch(executables[key], factors, {"y": merged[adapter.weight]})
        values = await backend.read(*merged.values())
    except BaseException:
        backend.release(*merged.values())
        raise
    finally:
        backend.release(*executables.values())
    parameters.replace(merged)
    parameters.hold(dict(zip(merged, values, strict=True)))
    await refit(state, plain)
    return _weight_names(merging)


def _check_float(name: str, type: TensorType, packing: Packing | None) -> None:
    if packing is not None or type.dtype != "float32":
        raise DataError(
            "NNM704",
            f'an adapter cannot be merged into "{name}", which is {packing or type.dtype}',
            hint="keep the adapter separate, or await webnnm.quantize(model, None) first"
            if packing
            else "keep the adapter separate, or load the model with float32 weights",
        )


def _weight_names(pairs: Iterable[Adapter]) -> list[str]:
    return [adapter.weight for adapter in pairs]


def _modules_without_adapter(
    sources: Mapping[str, Any],
    types: Mapping[str, TensorType],
    numbers: Mapping[str, Any],
    prefix: str,
) -> list[str]:
    """Return the layers of the model that have no adapter."""
    modules: list[str] = []
    for name, source in sources.items():
        if len(types[name].shape) == 2:
            module = (source if isinstance(source, str) else source.name).removesuffix(".weight")
            if prefix + module not in numbers:
                modules.append(prefix + module)
    return modules


async def _open_adapter(source: Any) -> tuple[Any, str | None]:
    """Return a file of tensors and the config next to it, None if there is none."""
    if not isinstance(source, (str, Path)):
        return read(source), None
    if str(source).startswith(BROWSER):
        return read(await fetch(source)), None
    if str(source).endswith(".safetensors"):
        return read(await read_bytes(source)), None
    weights = Reference(join_path(source, peft.WEIGHTS), guarded=False)
    data, config = await asyncio.gather(
        read_reference(weights), text_at(join_path(source, peft.CONFIG))
    )
    return read(data), config
