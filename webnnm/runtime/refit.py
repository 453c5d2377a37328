"""Another text for an existing model: what both have stays where it is on the device."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.backends.base import DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation.syntax import Document
from webnnm.runtime.parameters import KIND, ParameterStore
from webnnm.runtime.state import ModelState
from webnnm.training.initialisation import build_initial_graph, draw_initial_bytes


async def refit(
    state: ModelState, document: Document, values: Mapping[str, HostArray] | None = None
) -> None:
    """Give a model another text; parameters of the same name keep their tensors.

    New parameters start with `values`, or else with what their initialisers draw; parameters that
    the text no longer has are freed. Raises `DataError` NNM712 while the model is trained or
    tested.
    """
    state.occupancy.check()
    network, before = elaborate(document), state.parameters
    packings = {vertex.name: vertex.packing for vertex in state.network.parameters}
    for vertex in network.parameters:
        vertex.packing = packings.get(vertex.name)
    store = ParameterStore(network, state.backend, state.occupancy)
    fresh = {name: type for name, type in store.types.items() if name not in before.types}
    tensors_made: dict[str, DeviceTensor] = {}
    try:
        for name, type in fresh.items():
            tensors_made[name] = await state.backend.tensor(type, (values or {}).get(name))
        initialised = {n: type for n, type in fresh.items() if n not in (values or {})}
        if initialised:
            graph = build_initial_graph(initialised, store.initialisers)
            data = draw_initial_bytes(state.seed, initialised, store.initialisers)
            await state.backend.fill(
                graph, data, {name: tensors_made[name] for name in initialised}
            )
        arrays = dict(
            zip(tensors_made, await state.backend.read(*tensors_made.values()), strict=True)
        )
    except BaseException:
        state.backend.release(*tensors_made.values())
        raise
    # Packed parameters have tensors for their parts, such as "w/scale".
    unchanged = {
        name: tensor
        for name, tensor in before.tensors.items()
        if name in store.types or name.rpartition("/")[0] in store.types
    }
    store.show({**unchanged, **tensors_made})
    store.follow(before)
    store.hold(arrays)
    store.version = before.version + 1
    state.backend.claim(KIND, *tensors_made.values())
    removed = [tensor for name, tensor in before.tensors.items() if name not in unchanged]
    dataset = state.binding().dataset if state.has_dataset else None
    state.network, state.parameters = network, store
    state.sequence = dict(state.sequence)  # drops everything that was derived from the old text
    if dataset is not None:
        state.bind(dataset)
    state.backend.release(*removed)
