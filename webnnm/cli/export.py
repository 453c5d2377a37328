"""The command `export`: a model in formats of other programs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable

from webnnm.cli.common import (
    OK,
    Parsers,
    add_backend,
    add_model,
    add_references,
    add_sequence,
    command,
    lengths,
    open_model,
    print_json,
    say,
)
from webnnm.core.atomic import write_atomically
from webnnm.core.errors import DataError
from webnnm.snapshots.safetensors import chunks

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


def _export(arguments: argparse.Namespace) -> int:
    if arguments.format != "stablehlo" and arguments.out is None:
        what = "parameters are" if arguments.format == "params" else "an ONNX model is"
        raise DataError("NNM704", f"{what} binary", hint="give --out FILE")
    if arguments.format == "onnx":
        asyncio.run(_onnx(arguments))
        return _report_saved(arguments)
    parts: Iterable[bytes | memoryview[int]] = asyncio.run(_parts(arguments))
    if arguments.out is None:
        print(b"".join(parts).decode(), end="")
        return OK
    write_atomically(arguments.out, parts)
    return _report_saved(arguments)


def _report_saved(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json({"model": arguments.model, "format": arguments.format, "saved": arguments.out})
    else:
        say(f"saved {arguments.out}")
    return OK


async def _onnx(arguments: argparse.Namespace) -> None:
    async with await open_model(
        arguments.model, references=arguments.references, backend=arguments.backend
    ) as model:
        sequence = lengths(arguments.sequence) or None
        model.export_onnx(arguments.out, arguments.graph, arguments.batch, sequence)


async def _parts(arguments: argparse.Namespace) -> Iterable[bytes | memoryview[int]]:
    async with await open_model(
        arguments.model, references=arguments.references, backend=arguments.backend
    ) as model:
        if arguments.format == "params":
            return chunks(
                {p.name: model.state.parameters.value(p.name) for p in model.params()}, {}
            )
        sequence = lengths(arguments.sequence) or None
        return [model.export_stablehlo(arguments.graph, arguments.batch, sequence).encode()]
