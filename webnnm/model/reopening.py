"""Reopens the backend of a model after its device was lost."""

from __future__ import annotations

from webnnm.backends.selection import backend as open_backend
from webnnm.backends.shared import SharedBackend
from webnnm.core.errors import DataError
from webnnm.runtime.parameters import ParameterStore
from webnnm.runtime.state import ModelState


async def reopen(state: ModelState) -> None:
    """Give a model a new backend of the same name, with the parameters known to the host.

    Raises `DataError` NNM712 while the model is being trained or tested, NNM704 if it did not open
    its backend itself, `BackendError` NNM709.
    """
    state.occupancy.check()
    if isinstance(state.backend, SharedBackend):
        raise DataError(
            "NNM704",
            "reopen opens only backends that the model opened itself; this one was passed to it",
            hint="open a new one, then NNModel.load(await model.save(), backend=new)",
        )
    device = state.device or None
    backend = await open_backend(
        state.backend.name, device=device, log=state.log, **state.preferences
    )
    try:
        parameters = ParameterStore(state.network, backend, state.occupancy)
        old_parameters = state.parameters
        await parameters.begin(
            (name, old_parameters.get_stored(name)) for name in old_parameters.types
        )
    except BaseException:
        backend.close()
        raise
    state.backend.close()
    checkpoint = state.checkpoint
    state.backend, state.parameters = backend, parameters
    state.keep(checkpoint)
