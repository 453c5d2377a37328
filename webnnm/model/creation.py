"""The arguments of `NNModel.create`: its settings, and the text of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError, suggestion
from webnnm.core.naming import snake_case
from webnnm.core.plugins import plugin
from webnnm.notation import parse
from webnnm.notation.syntax import Document, ModelFile
from webnnm.training.settings import parse_settings

SETTINGS = (
    "source",
    "url",
    "path",
    "files",
    "references",
    "dataset",
    "backend",
    "device",
    "optimize_for",
    "review",
    "power_preference",
    "seed",
    "batch_size",
    "sequence_length",
    "log",
    "strict",
)


def create_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in snake_case; `optimize_for="edge"` requests the NPU (spec F.4).

    >>> create_settings({"optimizeFor": "edge"})
    {'optimize_for': 'edge', 'device': 'npu'}

    Raises `DataError` NNM703 for unknown or duplicate settings, NNM704 for values of `seed`,
    `batch_size`, `optimize_for`, `review`, `files` and `log` that are none.
    """
    found: dict[str, Any] = {}
    for word, value in given.items():
        name = snake_case(word)
        if name not in SETTINGS:
            from webnnm.training.foreign_words import SETTINGS as FOREIGN

            hint = FOREIGN.get(name) or suggestion(word, SETTINGS)
            raise DataError("NNM703", f'NNModel.create has no setting "{word}"', hint=hint)
        if name in found:
            raise DataError("NNM703", f'"{name}" is given in two spellings')
        found[name] = value
    for name in ("seed", "batch_size"):
        if found.get(name) is not None:
            found |= parse_settings({name: found[name]}).explicit_values()
    if not isinstance(found.get("files") or {}, Mapping):
        hint = "give a dict, name in the text → path, URL or bytes"
        raise DataError("NNM704", f"files is {found['files']!r}"[:60], hint=hint)
    if not (found.get("log") is None or callable(found["log"])):
        hint = "give a function that takes a line, such as print"
        raise DataError("NNM704", f"log is {found['log']!r}"[:60], hint=hint)
    if not isinstance(found.get("review", True), bool):
        hint = "review=False leaves out the expert system"
        raise DataError("NNM704", f"review is {found['review']!r}"[:60], hint=hint)
    if found.get("optimize_for") is not None:
        found |= parse_settings({"optimize_for": found["optimize_for"]}).explicit_values()
        if found["optimize_for"] == "edge" and not found.get("device"):
            found["device"] = "npu"
    return found


async def model_document(given: Mapping[str, Any]) -> Document:
    """Read and parse the text, with the files that it names.

    Raises `DataError` NNM715 unless exactly one place is given, `NotationError`, and what
    `with_files` raises.
    """
    document = parse(await _model_text(given))
    files = given.get("files")
    if files or any(isinstance(statement, ModelFile) for statement in document.statements):
        base = given.get("url") or given.get("path") or ""
        return await plugin("with_files")(document, files, base, given.get("references"))
    return document


async def _model_text(given: Mapping[str, Any]) -> str:
    """Read the text. Raises `DataError` NNM715 unless exactly one place is given."""
    places: Sequence[str] = [n for n in ("source", "url", "path") if given.get(n) is not None]
    if len(places) != 1:
        listed = " and ".join(places) or "none of them"
        raise DataError("NNM715", f"give exactly one of source, url and path; {listed} given")
    if places[0] == "source":
        return given["source"]
    from webnnm.data.files.source import read_text

    return await read_text(given[places[0]])
