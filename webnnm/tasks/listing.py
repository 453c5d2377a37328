"""Finds the tasks that a model can carry out."""

from __future__ import annotations

from importlib import import_module

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import TASKS, Pipeline
from webnnm.transformers.pretrained_model import PretrainedModel


def list_tasks(model: PretrainedModel) -> list[str]:
    """Return the tasks that an open model can carry out, those that it was made for first.

    >>> import webnnm
    >>> async def open_first_task(folder):
    ...     model = await webnnm.from_pretrained(folder)
    ...     return await webnnm.pipeline(webnnm.list_tasks(model)[0], model)

    The list is empty if there is no pipeline for the model.
    """
    fitting = [(kind.general, task) for task, kind in _pipelines() if _fits(kind, task, model)]
    return [task for _, task in sorted(fitting)]


def _pipelines() -> list[tuple[str, type[Pipeline]]]:
    """Return all tasks with the classes of their pipelines."""
    return [
        (task, getattr(import_module(f"webnnm.tasks.{module}"), name))
        for task, (module, name) in TASKS.items()
    ]


def _fits(kind: type[Pipeline], task: str, model: PretrainedModel) -> bool:
    try:
        kind(task, model, owned=False)
    except DataError as error:
        if error.code != "NNM717":
            raise
        return False
    return True
