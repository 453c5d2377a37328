"""The command `probe`: which backends run models on this machine."""

from __future__ import annotations

import argparse
import asyncio
from importlib.metadata import PackageNotFoundError, version

from webnnm.backends.probe import probe
from webnnm.cli.common import FINE, Parsers, command, pairs, print_json

LIBRARIES = ("numpy", "onnxruntime", "jax")
"""Packages used by a backend of the same name."""


def add(commands: Parsers) -> None:
    """Add the command."""
    command(commands, "probe", "show which devices can run models here", _probe)


def _probe(given: argparse.Namespace) -> int:
    found = asyncio.run(probe())
    libraries = {name: version_of(name) for name in LIBRARIES}
    if given.json:
        devices = {name: one.available for name, one in found.devices.items()}
        told = {"sentence": found.sentence, "webnn": found.webnn, "devices": devices}
        print_json({**told, "libraries": libraries})
    else:
        print(found.sentence)
        print(pairs({name: text or "not installed" for name, text in libraries.items()}))
    return FINE


def version_of(name: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
