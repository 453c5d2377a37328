"""The command `convert`: weights of other programs as a snapshot, snapshots in half the size."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from webnnm.cli.common import (
    FINE,
    Parsers,
    add_backend,
    command,
    mistaken,
    opened,
    print_json,
    read_bytes,
    say,
)
from webnnm.core.errors import DataError
from webnnm.data.source import read_text
from webnnm.formats.kinds import SNAPSHOT, recognised
from webnnm.formats.name_map import read_names
from webnnm.formats.safetensors import read
from webnnm.snapshots.snapshot import is_snapshot


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "convert", "make a snapshot of weights, or of a snapshot", _convert)
    one.add_argument("weights", metavar="WEIGHTS", help="a snapshot or another safetensors file")
    one.add_argument("--out", required=True, metavar="FILE", help="where the snapshot goes")
    one.add_argument("--model", metavar="MODEL", help="text of the model, for weights alone")
    one.add_argument("--names", metavar="JSON", help="name map: parameter → tensor of the file")
    one.add_argument("--partial", action="store_true", help="take what fits of the weights")
    one.add_argument("--dtype", choices=("float32", "float16"), help="of the parameters there")
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
    kind = recognised(data, given.weights)
    if kind is not None and kind != SNAPSHOT:
        raise mistaken(given.weights, kind, "a safetensors file")
    alone = not is_snapshot(read(data))
    if alone and given.model is None:
        raise DataError(
            "NNM715",
            f'"{given.weights}" holds weights without a model',
            hint="--model MODEL names the text of the model that they belong to",
        )
    names = read_names(await read_text(given.names)) if given.names else None
    place = given.model or given.weights
    async with await opened(place, backend=given.backend) as model:
        taken = [parameter.name for parameter in model.params()]
        if given.model is not None:
            taken = await model.load_params(data, strict=not given.partial, names=names)
        await model.save(given.out, optimizer=False, dtype=given.dtype)
    return {"parameters": taken}
