"""The files that graphs are exported to: ONNX and StableHLO, chosen by their endings."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.formats.onnx.exporting.file import store_model
from webnnm.formats.onnx.exporting.lowering import graph_model
from webnnm.formats.sizes import Size
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.graph.node import Graph
from webnnm.snapshots.storage import store

Path = str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class ExportedGraph:
    """A graph, for several sizes if some are left open, with its names outside.

    `names` are the external names of inputs and outputs that have others inside, `constants` the
    values of inputs that become constants, `dimensions` the names of open sizes, `source` the text
    that the places of nodes refer to.
    """

    graphs: Sequence[Graph]
    name: str
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: Mapping[str, HostArray] = field(default_factory=dict[str, HostArray])
    dimensions: Mapping[Size, str] = field(default_factory=dict[Size, str])
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class GraphFormat:
    """A format of files that graphs are exported to.

    `embeds_parameters`: whether parameters are part of the file unless one asks otherwise;
    `options`: the further arguments of `write`.
    """

    ending: str
    embeds_parameters: bool
    write: Callable[..., Awaitable[Any]]
    options: tuple[str, ...] = ()


async def _write_onnx(exported: ExportedGraph, path: Path) -> Any:
    model = graph_model(
        exported.graphs,
        exported.name,
        names=exported.names,
        constants=exported.constants,
        dimensions=exported.dimensions,
        source=exported.source,
    )
    return await store_model(path, model)


async def _write_stablehlo(
    exported: ExportedGraph, path: Path, *, chlo: bool = True, loops: bool = False
) -> Any:
    text = stablehlo_text(exported, chlo=chlo, loops=loops)
    return text if path is None else await store(path, [text.encode()])


def stablehlo_text(exported: ExportedGraph, *, chlo: bool = True, loops: bool = False) -> str:
    """Return a graph as a StableHLO module."""
    return graph_text(
        exported.graphs,
        exported.name,
        names=exported.names,
        constants=exported.constants,
        chlo=chlo,
        loops=loops,
        source=exported.source,
    )


FORMATS = {
    "onnx": GraphFormat(ending=".onnx", embeds_parameters=True, write=_write_onnx),
    "stablehlo": GraphFormat(
        ending=".mlir",
        embeds_parameters=False,
        write=_write_stablehlo,
        options=("chlo", "loops"),
    ),
}


PAGE = "page"
"""The name of the format of a folder, or archive, that runs a model in browsers."""


def format_name(path: Path) -> str | None:
    """Return the name of the format that the ending of a path stands for, None for other endings.

    >>> format_name("net.ONNX"), format_name("net.h5")
    ('onnx', None)
    """
    ending = "" if path is None else PurePath(os.fspath(path)).suffix.lower()
    return next((name for name, format in FORMATS.items() if format.ending == ending), None)


def graph_format(path: Path, name: str | None) -> GraphFormat:
    """Return the format of a name, or else of the ending of a path.

    >>> graph_format("net.mlir", None).options
    ('chlo', 'loops')

    Raises `DataError` NNM704 if there is none.
    """
    if name is not None:
        if name in FORMATS:
            return FORMATS[name]
        hint = suggestion(name, FORMATS) or f"one of {', '.join(map(repr, FORMATS))}"
        raise DataError("NNM704", f"graphs are not exported as {name!r}", hint=hint)
    if (by_ending := format_name(path)) is not None:
        return FORMATS[by_ending]
    formats = ", ".join(f"{format.ending} ({name})" for name, format in FORMATS.items())
    where = "without a path" if path is None else f'"{os.fspath(path)}"'
    hint = f"give a path that ends in one of {formats}, or format=; model.save keeps all of a model"
    raise DataError("NNM704", f"the format of an export {where} is not known", hint=hint)


async def write_graph(
    exported: ExportedGraph, path: Path, format: GraphFormat, options: Mapping[str, Any]
) -> Any:
    """Write a graph and return the path; without a path, return the bytes or the text.

    Raises `DataError` NNM703 for options that the format does not have, NNM807 if writing fails,
    `ModelError` NNM901 or NNM902 for graphs that cannot be written in it.
    """
    for name in options:
        if name not in format.options:
            having = [key for key, other in FORMATS.items() if name in other.options]
            message = f'exports to {format.ending} have no option "{name}"'
            hint = f'{name} is an option of "{having[0]}"' if having else "leave it out"
            raise DataError("NNM703", message, hint=hint)
    return await format.write(exported, path, **options)
