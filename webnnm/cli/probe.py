"""The command `probe`: which backends run models on this machine."""

from __future__ import annotations

import argparse
import asyncio
from importlib.metadata import PackageNotFoundError, version

from webnnm.backends.probe import probe
from webnnm.cli.common import OK, Parsers, command, pairs, print_json

LIBRARIES = ("numpy", "onnxruntime", "jax")
"""Packages used by a backend of the same name."""


def add(commands: Parsers) -> None:
    """Add the command."""
    command(commands, "probe", "show which devices can run models here", _probe)


def _probe(arguments: argparse.Namespace) -> int:
    report = asyncio.run(probe())
    libraries = {name: version_of(name) for name in LIBRARIES}
    if arguments.json:
        devices = {name: one.available for name, one in report.devices.items()}
        facts = {"sentence": report.sentence, "webnn": report.webnn, "devices": devices}
        print_json({**facts, "libraries": libraries})
    else:
        print(report.sentence)
        print(pairs({name: text or "not installed" for name, text in libraries.items()}))
    return OK


def version_of(name: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
