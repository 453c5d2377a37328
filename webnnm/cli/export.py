"""The command `export`: a model in formats of other programs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable

from webnnm.cli.common import (
    FINE,
    Parsers,
    add_backend,
    add_model,
    add_references,
    add_sequence,
    command,
    lengths,
    opened,
    print_json,
    say,
)
from webnnm.core.errors import DataError
from webnnm.formats.atomic import write_atomically
from webnnm.formats.safetensors import chunks

FORMATS = ("stablehlo", "onnx", "params")
GRAPHS = ("inference", "loss", "train")


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "export", "export a model to other formats", _export)
    add_model(one)
    add_references(one)
    one.add_argument(
        "--format",
        choices=FORMATS,
        required=True,
        help="a graph as StableHLO or ONNX, or the named parameters as plain safetensors",
    )
    one.add_argument("--out", metavar="FILE", help="default: StableHLO goes to the standard output")
    one.add_argument("--graph", choices=GRAPHS, default=GRAPHS[0], help="default: %(default)s")
    one.add_argument("--batch", type=int, metavar="N", help="batch size; default: any")
    add_sequence(one)
    add_backend(one)


def _export(given: argparse.Namespace) -> int:
    if given.format != "stablehlo" and given.out is None:
        what = "parameters are" if given.format == "params" else "an ONNX model is"
        raise DataError("NNM704", f"{what} binary", hint="give --out FILE")
    if given.format == "onnx":
        asyncio.run(_onnx(given))
        return _saved(given)
    parts: Iterable[bytes | memoryview[int]] = asyncio.run(_parts(given))
    if given.out is None:
        print(b"".join(parts).decode(), end="")
        return FINE
    write_atomically(given.out, parts)
    return _saved(given)


def _saved(given: argparse.Namespace) -> int:
    if given.json:
        print_json({"model": given.model, "format": given.format, "saved": given.out})
    else:
        say(f"saved {given.out}")
    return FINE


async def _onnx(given: argparse.Namespace) -> None:
    async with await opened(
        given.model, references=given.references, backend=given.backend
    ) as model:
        sequence = lengths(given.sequence) or None
        model.export_onnx(given.out, given.graph, given.batch, sequence)


async def _parts(given: argparse.Namespace) -> Iterable[bytes | memoryview[int]]:
    async with await opened(
        given.model, references=given.references, backend=given.backend
    ) as model:
        if given.format == "params":
            return chunks({p.name: model.parameters.value(p.name) for p in model.params()}, {})
        sequence = lengths(given.sequence) or None
        return [model.export_stablehlo(given.graph, given.batch, sequence).encode()]
