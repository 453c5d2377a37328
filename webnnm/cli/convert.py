"""The command `convert`: snapshots from weights, snapshots in half the size, ONNX models."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from webnnm.cli.common import (
    OK,
    Parsers,
    add_backend,
    add_references,
    command,
    open_model,
    print_json,
    read_bytes,
    say,
    wrong_kind_error,
)
from webnnm.core.errors import DataError
from webnnm.data.files.source import read_text
from webnnm.formats.onnx.conversion import convert_onnx, onnx_weights
from webnnm.formats.onnx.snapshot import is_onnx_snapshot
from webnnm.snapshots.kinds import ONNX, SNAPSHOT, recognise_file
from webnnm.snapshots.name_map import read_name_map
from webnnm.snapshots.safetensors import read
from webnnm.snapshots.snapshot import is_snapshot


def add(commands: Parsers) -> None:
    """Add the command."""
    help = "make a snapshot from weights or a snapshot; convert an ONNX model"
    one = command(commands, "convert", help, _convert)
    help = "a snapshot, another safetensors file, or an ONNX model"
    one.add_argument("weights", metavar="WEIGHTS", help=help)
    help = "path of the result; for an ONNX model .safetensors, .onnx or .mlir (StableHLO)"
    one.add_argument("--out", required=True, metavar="FILE", help=help)
    help = "size of a free ONNX dimension, or all sizes of an input: batch=1, image=1x3x224x224"
    one.add_argument("--shape", action="append", default=[], metavar="NAME=N", help=help)
    one.add_argument(
        "--model", metavar="MODEL", help="text of the model, if the file contains only weights"
    )
    one.add_argument("--mapping", metavar="JSON", help="name map: parameter → tensor in the file")
    one.add_argument("--partial", action="store_true", help="load only the weights that fit")
    one.add_argument(
        "--dtype", choices=("float32", "float16"), help="of the parameters in the result"
    )
    add_references(one)
    add_backend(one)


def _convert(arguments: argparse.Namespace) -> int:
    facts = asyncio.run(_convert_weights(arguments))
    if arguments.json:
        print_json({"weights": arguments.weights, "saved": arguments.out, **facts})
    else:
        say(f"saved {arguments.out}")
    return OK


async def _convert_weights(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.mapping and arguments.model is None:
        raise DataError("NNM704", "--mapping without --model", hint="--model names the text")
    data = read_bytes(arguments.weights)
    kind = recognise_file(data, arguments.weights)
    if kind == ONNX or (kind == SNAPSHOT and is_onnx_snapshot(data)):
        if arguments.model is None:
            return await _onnx(arguments)
        data, kind = await onnx_weights(arguments.weights, arguments.references), SNAPSHOT
    if kind is not None and kind != SNAPSHOT:
        raise wrong_kind_error(arguments.weights, kind, "a safetensors file")
    is_bare = not is_snapshot(read(data))
    if is_bare and arguments.model is None:
        raise DataError(
            "NNM715",
            f'"{arguments.weights}" holds weights without a model',
            hint="--model MODEL names the text of the model to which they belong",
        )
    mapping = read_name_map(await read_text(arguments.mapping)) if arguments.mapping else None
    path = arguments.model or arguments.weights
    async with await open_model(
        path, references=arguments.references, backend=arguments.backend
    ) as model:
        loaded = [parameter.name for parameter in model.params()]
        if arguments.model is not None:
            loaded = await model.load_params(data, mapping=mapping, strict=not arguments.partial)
        await model.save(arguments.out, optimizer=False, dtype=arguments.dtype)
    return {"parameters": loaded}


async def _onnx(arguments: argparse.Namespace) -> dict[str, Any]:
    """Write an ONNX model, or a snapshot of it, in the format given by the name of the file."""
    for option in ("dtype", "partial"):
        if getattr(arguments, option):
            raise DataError("NNM704", f"--{option} with an ONNX model", hint="leave it out")
    sizes = _sizes(arguments.shape)
    return {
        "parameters": await convert_onnx(
            arguments.weights, arguments.out, sizes, arguments.references
        )
    }


def _sizes(texts: Sequence[str]) -> dict[str, int | list[int]]:
    """Read sizes: "batch=1" or "image=1x3x224x224"."""
    result: dict[str, int | list[int]] = {}
    for argument in texts:
        name, _, text = argument.partition("=")
        sizes = text.split("x")
        if not name or not all(size.isdecimal() for size in sizes):
            raise DataError(
                "NNM704", f"--shape {argument}", hint="give --shape NAME=N or NAME=1x3x8x8"
            )
        result[name] = int(text) if len(sizes) == 1 else [int(size) for size in sizes]
    return result
