"""Moves an automatic backend to the next one, with all of its tensors and graphs."""

from __future__ import annotations

from typing import Any

from webnnm.backends.automatic import AutomaticBackend, Rebuilt, Recipe, Tensors, is_refusal
from webnnm.backends.base import Backend, DeviceTensor, Executable, type_of
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, WebNNMError


async def move(backend: AutomaticBackend, wanted: Recipe, refusal: WebNNMError) -> Executable:
    """Move to the first of the other backends that builds a graph, and return the graph.

    Raises `refusal`, and leaves the backend as it is, if there is none.
    """
    refused = backend.inner.description
    while backend.others:
        opening = backend.others.pop(0)
        try:
            inner = await opening()
        except BackendError:
            continue  # it is not installed, or the page does not serve it
        try:
            built = await _take_along(backend, inner, wanted)
        except WebNNMError as error:
            inner.close()
            if not is_refusal(error):
                raise
            continue
        reason = f"{refused} refused a graph: {refusal.message}; {inner.description} runs the model"
        backend.follow(inner, reason)
        if backend.log is not None:
            backend.log(reason)
        return built
    raise refusal


async def _take_along(backend: AutomaticBackend, inner: Backend, wanted: Recipe) -> Executable:
    """Copy all tensors to another backend, build all graphs there, and close the present one."""
    copies: dict[Any, DeviceTensor] = {}
    uses = backend.uses
    await _copy(backend, inner, copies)
    graphs = {
        handle: await _rebuilt(inner, recipe, copies)
        for handle, recipe in [*backend.recipes.items()]
    }
    built = await wanted.build(inner, copies)
    while uses != backend.uses:  # other tasks have written tensors meanwhile
        uses = backend.uses
        await _copy(backend, inner, copies)
    backend.claim_on(inner, copies)
    backend.inner.close()
    backend.moved_tensors, backend.moved_graphs = copies, graphs
    return built


async def _copy(backend: AutomaticBackend, inner: Backend, copies: dict[Any, DeviceTensor]) -> None:
    for handle, tensor in [*backend.tensors_held.items()]:
        (data,) = await backend.read(tensor)
        if handle in copies:
            inner.write(copies[handle], data)
        else:
            copies[handle] = await inner.tensor(tensor.type, data)


async def _rebuilt(inner: Backend, recipe: Recipe, tensors: Tensors) -> Rebuilt:
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
