"""The command `convert`: snapshots from weights, snapshots in half the size, ONNX models."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from webnnm.cli.common import (
    FINE,
    Parsers,
    add_backend,
    add_references,
    command,
    mistaken,
    opened,
    print_json,
    read_bytes,
    say,
)
from webnnm.core.errors import DataError
from webnnm.data.files.source import read_text
from webnnm.formats.kinds import ONNX, SNAPSHOT, recognise_file
from webnnm.formats.name_map import read_names
from webnnm.formats.safetensors import read
from webnnm.model.onnx_files import convert_onnx, onnx_weights
from webnnm.snapshots.onnx_snapshot import is_onnx_snapshot
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
    one.add_argument("--names", metavar="JSON", help="name map: parameter → tensor in the file")
    one.add_argument("--partial", action="store_true", help="load only the weights that fit")
    one.add_argument(
        "--dtype", choices=("float32", "float16"), help="of the parameters in the result"
    )
    add_references(one)
    add_backend(one)


def _convert(given: argparse.Namespace) -> int:
    told = asyncio.run(_converted(given))
    if given.json:
        print_json({"weights": given.weights, "saved": given.out, **told})
    else:
        say(f"saved {given.out}")
    return FINE


async def _converted(given: argparse.Namespace) -> dict[str, Any]:
    if given.names and given.model is None:
        raise DataError("NNM704", "--names without --model", hint="--model names the text")
    data = read_bytes(given.weights)
    kind = recognise_file(data, given.weights)
    if kind == ONNX or (kind == SNAPSHOT and is_onnx_snapshot(data)):
        if given.model is None:
            return await _onnx(given)
        data, kind = await onnx_weights(given.weights, given.references), SNAPSHOT
    if kind is not None and kind != SNAPSHOT:
        raise mistaken(given.weights, kind, "a safetensors file")
    alone = not is_snapshot(read(data))
    if alone and given.model is None:
        raise DataError(
            "NNM715",
            f'"{given.weights}" holds weights without a model',
            hint="--model MODEL names the text of the model to which they belong",
        )
    names = read_names(await read_text(given.names)) if given.names else None
    place = given.model or given.weights
    async with await opened(place, references=given.references, backend=given.backend) as model:
        taken = [parameter.name for parameter in model.params()]
        if given.model is not None:
            taken = await model.load_params(data, strict=not given.partial, names=names)
        await model.save(given.out, optimizer=False, dtype=given.dtype)
    return {"parameters": taken}


async def _onnx(given: argparse.Namespace) -> dict[str, Any]:
    """Write an ONNX model, or a snapshot of it, in the format given by the name of the file."""
    for option in ("dtype", "partial"):
        if getattr(given, option):
            raise DataError("NNM704", f"--{option} with an ONNX model", hint="leave it out")
    sizes = _sizes(given.shape)
    return {"parameters": await convert_onnx(given.weights, given.out, sizes, given.references)}


def _sizes(words: Sequence[str]) -> dict[str, int | list[int]]:
    """Read sizes: "batch=1" or "image=1x3x224x224"."""
    found: dict[str, int | list[int]] = {}
    for word in words:
        name, _, text = word.partition("=")
        sizes = text.split("x")
        if not name or not all(size.isdecimal() for size in sizes):
            raise DataError("NNM704", f"--shape {word}", hint="give --shape NAME=N or NAME=1x3x8x8")
        found[name] = int(text) if len(sizes) == 1 else [int(size) for size in sizes]
    return found
