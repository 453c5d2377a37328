"""Moves the tensors and graphs of a backend to another one that builds what it refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor, Executable, type_of
from webnnm.backends.recipes import Rebuilt, Recipe, Tensors
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, ModelError, WebNNMError

REFUSALS = frozenset({"NNM405", "NNM409", "NNM505", "NNM901"})
"""Errors by which a backend refuses a graph: its ranks, sizes, data types, operators."""


def is_refusal(error: WebNNMError) -> bool:
    """Return whether another backend may build the graph that raised this.

    >>> [is_refusal(BackendError(code, "")) for code in ("NNM505", "NNM709")]
    [True, False]
    """
    return isinstance(error, (BackendError, ModelError)) and error.code in REFUSALS


@dataclass(frozen=True, slots=True)
class Source:
    """What is moved from a backend, by the handles that the outside has.

    `read` reads a tensor, and `count_uses` returns how often tensors have been written.
    """

    tensors: Tensors
    recipes: Mapping[Any, Recipe]
    read: Callable[[DeviceTensor], Awaitable[list[HostArray]]]
    count_uses: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Target:
    """A backend with the copies of what was moved, and the graph that was refused."""

    backend: Backend
    executable: Executable
    tensors: dict[Any, DeviceTensor]
    graphs: dict[Any, Rebuilt]


async def move(
    source: Source,
    others: list[Callable[[], Awaitable[Backend]]],
    recipe: Recipe,
    refusal: WebNNMError,
) -> Target:
    """Move to the first of other backends that builds a graph; those tried leave the list.

    Raises `refusal` if there is none.
    """
    while others and is_refusal(refusal):
        opening = others.pop(0)
        try:
            backend = await opening()
        except BackendError:
            continue  # it is not installed, or the page does not serve it
        try:
            return await _copy_all(backend, source, recipe)
        except WebNNMError as error:
            backend.close()
            if not is_refusal(error):
                raise
    raise refusal


async def _copy_all(backend: Backend, source: Source, recipe: Recipe) -> Target:
    """Copy all tensors, and build all graphs and the one that was refused."""
    copies: dict[Any, DeviceTensor] = {}
    uses = source.count_uses()
    await _copy_tensors(backend, source, copies)
    graphs = {
        handle: await rebuild(backend, recipe, copies)
        for handle, recipe in [*source.recipes.items()]
    }
    executable = await recipe.build(backend, copies)
    while uses != source.count_uses():  # other tasks have written tensors meanwhile
        uses = source.count_uses()
        await _copy_tensors(backend, source, copies)
    return Target(backend, executable, copies, graphs)


async def _copy_tensors(backend: Backend, source: Source, copies: dict[Any, DeviceTensor]) -> None:
    for handle, tensor in [*source.tensors.items()]:
        (data,) = await source.read(tensor)
        if handle in copies:
            backend.write(copies[handle], data)
        else:
            copies[handle] = await backend.tensor(tensor.type, data)


async def rebuild(inner: Backend, recipe: Recipe, tensors: Tensors) -> Rebuilt:
    """Build a graph again."""
    built = await recipe.build(inner, tensors)
    fixed: dict[str, DeviceTensor] = {}
    own: list[DeviceTensor] = []
    for name, value in (recipe.constants or {}).items():
        if name in built.inputs:
            if isinstance(value, HostArray):
                own.append(await inner.tensor(type_of(value), value))
            fixed[name] = own[-1] if isinstance(value, HostArray) else tensors[value.handle]
    return Rebuilt(built, fixed, own)
