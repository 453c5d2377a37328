"""The command `export`: a model in formats of other programs."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from webnnm.cli import runtime_package
from webnnm.cli.common import (
    OK,
    CommandError,
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

FORMATS = ("stablehlo", "onnx", "params", "page")
GRAPHS = ("inference", "loss", "train")


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "export", "export a model to other formats", _export)
    add_model(one)
    add_references(one)
    one.add_argument(
        "--format",
        choices=FORMATS,
        help="a graph as StableHLO or ONNX, the named parameters as plain safetensors, or a page "
        "that runs the model without Python; default: by the ending of FILE",
    )
    one.add_argument(
        "--out",
        metavar="FILE",
        help="for a page, a folder or a .zip; default: StableHLO goes to the standard output",
    )
    one.add_argument("--page", metavar="FOLDER", help="short for --format page --out FOLDER")
    one.add_argument(
        "--with",
        action="append",
        default=[],
        choices=("onnxruntime",),
        dest="further",
        help="for a page, also ONNX Runtime Web, which runs large models in browsers without WebNN "
        "(14 MB, fetched when needed)",
    )
    one.add_argument(
        "--rows",
        metavar="INPUT=KIND",
        action="append",
        default=[],
        type=_parse_rows,
        help="for a page, say that an input is a picture or a sound, where no dataset does",
    )
    runtime_package.add_option(one)
    one.add_argument("--graph", choices=GRAPHS, default=GRAPHS[0], help="default: %(default)s")
    one.add_argument("--batch", type=int, metavar="N", help="batch size; default: any")
    add_sequence(one)
    add_backend(one)


def _parse_rows(text: str) -> tuple[str, str]:
    """Return the input and the kind of its rows."""
    name, _, kind = text.partition("=")
    return name, kind


def _export(arguments: argparse.Namespace) -> int:
    if arguments.page is not None:
        if arguments.format or arguments.out:
            raise CommandError(
                "NNM704", "--page takes neither --format nor --out", hint="leave them out"
            )
        arguments.format, arguments.out = "page", arguments.page
    arguments.format = arguments.format or _format_of(arguments.out)
    if arguments.further and arguments.format != "page":
        raise CommandError("NNM704", "--with is an option of pages", hint="add --format page")
    if arguments.rows and arguments.format != "page":
        raise CommandError("NNM704", "--rows is an option of pages", hint="add --format page")
    binary = {"onnx": "an ONNX model is", "params": "parameters are", "page": "a page is"}.get(
        arguments.format
    )
    if binary and arguments.out is None:
        raise DataError("NNM704", f"{binary} binary", hint="give --out FILE")
    text = asyncio.run(_write(arguments))
    if arguments.out is None:
        print(text, end="")
    elif arguments.json:
        print_json({"model": arguments.model, "format": arguments.format, "saved": arguments.out})
    else:
        say(f"saved {arguments.out}")
    return OK


def _format_of(path: str | None) -> str:
    """Return the format that the ending of a path stands for."""
    from webnnm.formats.graph_files import format_name

    name = "params" if path and path.lower().endswith(".safetensors") else format_name(path)
    if name is None:
        message = "the format is not known" + (f' from "{path}"' if path else " without --out")
        raise DataError("NNM704", message, hint=f"give --format: {', '.join(FORMATS)}")
    return name


async def _write(arguments: argparse.Namespace) -> Any:
    """Write the file, or return its text if there is none."""
    async with await open_model(
        arguments.model, references=arguments.references, backend=arguments.backend
    ) as model:
        if arguments.format == "params":
            store = model.state.parameters
            return write_atomically(
                arguments.out, chunks({p.name: store.value(p.name) for p in model.params()}, {})
            )
        model.state.log = say
        sequence = lengths(arguments.sequence) or None
        rows = dict(arguments.rows)
        if arguments.further and arguments.format == "page":
            from webnnm.formats.page.exporting import export_page

            runtime = _read_runtime(arguments)
            return await export_page(model.state, arguments.out, sequence, runtime, rows)
        graph, batch = arguments.graph, arguments.batch
        return await model.export(
            arguments.out, graph, batch, sequence, format=arguments.format, rows=rows
        )


def _read_runtime(arguments: argparse.Namespace) -> dict[str, bytes]:
    """Return the files of ONNX Runtime Web by their names, and its licences."""
    from webnnm.formats.page.onnx_runtime import FILES

    paths = {f"vendor/onnxruntime/{name}": name for name in FILES}
    paths |= {
        f"licenses/{name}": name for name in ("onnxruntime.txt", "onnxruntime-third-party.txt")
    }
    package = runtime_package.files(
        arguments.runtime, lambda path: path in paths or path == "package.json", say
    )
    return {name: package[path] for path, name in paths.items() if path in package}
