"""The arguments of `NNModel.create`: its settings, and the text of the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from webnnm.core.errors import DataError, suggestion
from webnnm.core.naming import snake_case
from webnnm.core.plugins import plugin
from webnnm.notation import parse
from webnnm.notation.syntax import Document, ModelFile
from webnnm.runtime.state import ReviewTime
from webnnm.training.settings import parse_settings

if TYPE_CHECKING:
    from webnnm.backends.base import Backend
    from webnnm.data.protocol import AnyDataset


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The settings of `NNModel.create`, which describes them."""

    source: str | None = None
    url: str | None = None
    path: str | os.PathLike[str] | None = None
    files: Mapping[str, Any] | None = None
    references: str | os.PathLike[str] | None = None
    dataset: AnyDataset | None = None
    backend: str | Backend = "auto"
    device: str | None = None
    optimize_for: str = "size"
    review: ReviewTime = True
    accelerated: bool | None = None
    power_preference: str | None = None
    seed: int = 0
    batch_size: int | None = None
    sequence_length: int | Mapping[str, int] | None = None
    log: Callable[[str], Any] = print
    strict: bool = False

    @property
    def target_device(self) -> str | None:
        """The device that is asked for; `optimize_for="edge"` asks for the NPU (spec F.4)."""
        return self.device or ("npu" if self.optimize_for == "edge" else None)

    @property
    def preferences(self) -> dict[str, Any]:
        """What else is asked of the browser, as keywords of `backend`."""
        return {"accelerated": self.accelerated, "power_preference": self.power_preference}


REVIEW_TIMES = (True, False, "after")
REVIEW_HINT = "True, False for none, or 'after' the training"

SETTINGS = tuple(setting.name for setting in fields(ModelSettings))


def read_model_settings(written: Mapping[str, Any]) -> ModelSettings:
    """Return the settings that a call has; those that are None have their defaults.

    >>> read_model_settings({"optimizeFor": "edge", "seed": None}).target_device
    'npu'

    Raises `DataError` NNM703 for unknown or duplicate settings, NNM704 for values of `seed`,
    `batch_size`, `optimize_for`, `review`, `files` and `log` that are none.
    """
    values: dict[str, Any] = {}
    for spelling, value in written.items():
        name = snake_case(spelling)
        if name not in SETTINGS:
            from webnnm.training.foreign_words import SETTINGS as FOREIGN

            hint = FOREIGN.get(name) or suggestion(spelling, SETTINGS)
            raise DataError("NNM703", f'NNModel.create has no setting "{spelling}"', hint=hint)
        if name in values:
            raise DataError("NNM703", f'"{name}" is given in two spellings')
        values[name] = value
    settings = ModelSettings(**{name: v for name, v in values.items() if v is not None})
    hyperparameters = {
        name: getattr(settings, name)
        for name in ("seed", "batch_size", "optimize_for")
        if getattr(settings, name) is not None
    }
    _check(settings)
    return replace(settings, **parse_settings(hyperparameters).explicit_values())


def _check(settings: ModelSettings) -> None:
    """Raise `DataError` NNM704 for values of wrong types."""
    files, log, review = settings.files or {}, settings.log, settings.review
    types = {
        "files": (isinstance(files, Mapping), "a dict, name in the text → path, URL or bytes"),
        "log": (callable(log), "a function that takes a line, such as print"),
        "review": (review in REVIEW_TIMES, REVIEW_HINT),
    }
    for name, (is_allowed, type) in types.items():
        if not is_allowed:
            message = f"{name} is {getattr(settings, name)!r}"[:60]
            raise DataError("NNM704", message, hint=f"give {type}")


def check_review_time(value: Any) -> ReviewTime:
    """Return the setting `review`. Raises `DataError` NNM704 for any other value."""
    if value not in REVIEW_TIMES:
        raise DataError("NNM704", f"review is {value!r}"[:60], hint=f"give {REVIEW_HINT}")
    return value


async def model_document(settings: ModelSettings) -> Document:
    """Read and parse the text, with the files that it names.

    Raises `DataError` NNM715 unless exactly one place is given, `NotationError`, and what
    `with_files` raises.
    """
    document = parse(await _model_text(settings))
    files = settings.files
    if files or any(isinstance(statement, ModelFile) for statement in document.statements):
        base = settings.url or settings.path or ""
        return await plugin("with_files")(document, files, base, settings.references)
    return document


async def _model_text(settings: ModelSettings) -> str:
    """Read the text. Raises `DataError` NNM715 unless exactly one place is given."""
    locations = {"source": settings.source, "url": settings.url, "path": settings.path}
    given_locations = {
        name: location for name, location in locations.items() if location is not None
    }
    if len(given_locations) != 1:
        names = " and ".join(given_locations) or "none of them"
        raise DataError("NNM715", f"give exactly one of source, url and path; {names} given")
    if settings.source is not None:
        if settings.source.endswith(".nnm") and ";" not in settings.source:
            message = (
                f'source is the text of a model, and "{settings.source}" is the name of a file'
            )
            raise DataError("NNM715", message, hint=f'path="{settings.source}"')
        return settings.source
    from webnnm.data.files.source import read_text

    (location,) = given_locations.values()
    return await read_text(os.fspath(location))
