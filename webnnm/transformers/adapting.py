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
    return [each.weight for each in adapters(state.network)]


def known_adapters(state: ModelState) -> list[Adapter]:
    """Return the adapters of a model. Raises `DataError` NNM710 if there are none."""
    found = adapters(state.network)
    if not found:
        raise DataError("NNM710", "the model has no adapter", hint="await model.add_lora()")
    return found


async def save_lora(state: ModelState, origin: Origin, place: Any) -> Any:
    """Write an adapter as `peft` does; see `PretrainedModel.save_lora`."""
    found, types = known_adapters(state), state.parameters.types
    with state.occupancy.by("a save"):
        tensors = state.parameters.tensors
        names = [name for each in found for name in (each.a, each.b)]
        values = await state.backend.read(*(tensors[name] for name in names))
    arrays = dict(zip(names, values, strict=True))
    sources = source_names(types, origin.names)
    own: list[tuple[peft.MatrixSlice, peft.LowRank]] = []
    for each in found:
        where = peft.locate_matrix(sources[each.weight], types[each.weight].shape[-1])
        if where is None:
            message = f'"{each.weight}" is not a layer that an adapter file can name'
            raise DataError("NNM805", message, hint="call add_lora(targets=…) with other matrices")
        own.append((where, peft.LowRank(arrays[each.a], arrays[each.b], each.scale)))
    written, numbers = peft.adapter_tensors(own, origin.prefix)
    config = peft.adapter_config(
        numbers,
        _others(sources, types, numbers, origin.prefix),
        dropout=found[0].dropout,
        transposed=own[0][0].transposed,
        task=origin.task,
        base=origin.base,
    )
    file = peft.adapter_file(written, config)
    if place is None or str(place).startswith((BROWSER, DOWNLOAD)):
        return await store(place, file)
    folder = Path(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError("NNM807", f'"{folder}" cannot be made: {error}') from error
    await store(folder / peft.WEIGHTS, file)
    await store(folder / peft.CONFIG, [config.encode()])
    return place


async def load_lora(state: ModelState, origin: Origin, source: Any) -> list[str]:
    """Add the adapter of a file; see `PretrainedModel.load_lora`."""
    given, dropout = peft.read_adapter(*await _opened(source))
    types, sources = state.parameters.types, source_names(state.parameters.types, origin.names)
    own: dict[str, peft.LowRank] = {}
    taken: set[str] = set()
    for name, each in sources.items():
        shape = types[name].shape
        place = peft.locate_matrix(each, shape[-1]) if len(shape) == 2 else None
        modules = (origin.prefix + place.module, place.module) if place else ()
        known = [module for module in modules if module in given]
        if place and known:
            own[name] = peft.select_columns(given[known[0]], place, shape[-1])
            taken.add(known[0])
    lost = [module for module in given if module not in taken]
    if lost:
        message = f'the model has no layer "{lost[0]}", nor {len(lost) - 1} more of the adapter'
        raise DataError("NNM805", message, hint="the adapter belongs to another model")
    own, rank, scale = peft.equalize_ranks(own)
    for name, each in own.items():
        if each.a.shape[0] != types[name].shape[0]:
            message = f'"{name}" has {types[name].shape[0]} rows, the adapter {each.a.shape[0]}'
            raise DataError("NNM806", message, hint="the adapter belongs to another model")
    document = add_adapters(state.network, own, rank=rank, alpha=scale * rank, dropout=dropout)
    await refit(state, document)
    found = adapters(state.network)
    for each in found:
        state.parameters.put(each.a, own[each.weight].a)
        state.parameters.put(each.b, own[each.weight].b)
    return _weights(found)


async def merge_lora(state: ModelState, plain: Document) -> list[str]:
    """Add the products to their matrices, and restore the text without adapters."""
    state.occupancy.check()
    backend, parameters, found = state.backend, state.parameters, known_adapters(state)
    packings = {vertex.name: vertex.packing for vertex in state.network.parameters}
    merged: dict[str, Any] = {}
    executables: dict[Any, Any] = {}
    try:
        for each in found:
            kinds = [parameters.types[name] for name in each[:3]]
            _check_float(each.weight, kinds[0], packings[each.weight])
            key = (*kinds, each.scale)
            if key not in executables:
                b = GraphBuilder()
                w, a, c = (b.input(n, *type) for n, type in zip("wab", kinds, strict=True))
                graph = b.build({"y": w + b.matmul(a, c) * each.scale})
                executables[key] = await backend.compile(graph)
            merged[each.weight] = await backend.tensor(kinds[0])
            given = {n: parameters.tensors[name] for n, name in zip("wab", each[:3], strict=True)}
            backend.dispatch(executables[key], given, {"y": merged[each.weight]})
        values = await backend.read(*merged.values())
    except BaseException:
        backend.release(*merged.values())
        raise
    finally:
        backend.release(*executables.values())
    parameters.replace(merged)
    parameters.hold(dict(zip(merged, values, strict=True)))
    await refit(state, plain)
    return _weights(found)


def _check_float(name: str, type: TensorType, packing: Packing | None) -> None:
    if packing is not None or type.dtype != "float32":
        raise DataError(
            "NNM704",
            f'an adapter cannot be merged into "{name}", which is {packing or type.dtype}',
            hint="keep the adapter separate, or await model.quantize(None) first"
            if packing
            else "keep the adapter separate, or load the model with float32 weights",
        )


def _weights(found: Iterable[Adapter]) -> list[str]:
    return [each.weight for each in found]


def _others(
    sources: Mapping[str, Any],
    types: Mapping[str, TensorType],
    numbers: Mapping[str, Any],
    prefix: str,
) -> list[str]:
    """Return the layers of the model that have no adapter."""
    found: list[str] = []
    for name, source in sources.items():
        if len(types[name].shape) == 2:
            module = (source if isinstance(source, str) else source.name).removesuffix(".weight")
            if prefix + module not in numbers:
                found.append(prefix + module)
    return found


async def _opened(source: Any) -> tuple[Any, str | None]:
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
