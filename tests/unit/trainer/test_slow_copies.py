"""What a training copies on the device stays right where steps overtake the copying."""

from __future__ import annotations

import asyncio
import random
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.trainer.budgets import exactly
from tests.unit.trainer.test_interrupted import SETTINGS as INTERRUPTED
from tests.unit.trainer.test_interrupted import SEVERAL, VALIDATED, create, rows, values
from webnnm.backends.base import Binding, DeviceTensor, Executable
from webnnm.backends.reference import ReferenceBackend
from webnnm.core.arrays import HostArray

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="copies are slow by threads")

SETTINGS = {**INTERRUPTED, "epochs": 9, "seeds": 0}


@dataclass
class Copying:
    """Copies that were queued; `shared` are the tensors that others have read meanwhile."""

    executable: Executable
    inputs: Binding
    outputs: Binding
    shared: set[int] = field(default_factory=set[int])


class Overtaking(ReferenceBackend):
    """Copies as late as Chromium does on a busy machine.

    Who reads what is being copied waits for nobody; who writes to it waits for the copying, unless
    another reader has ended before; who takes the copies waits for them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.queue: list[Copying] = []

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        read = {inputs[name].handle for name in executable.inputs}
        written = {outputs[name].handle for name in executable.outputs}
        self.reach(read, written)
        if executable.inputs == executable.outputs:
            names = executable.outputs
            given = {name: inputs[name] for name in names}
            self.queue.append(Copying(executable, given, {name: outputs[name] for name in names}))
        else:
            super().dispatch(executable, inputs, outputs)

    def reach(self, read: set[Any], written: set[Any]) -> None:
        """Copy what has to be copied before tensors are read and written."""
        for copying in [*self.queue]:
            sources = {tensor.handle for tensor in copying.inputs.values()}
            targets = {tensor.handle for tensor in copying.outputs.values()}
            if targets & (read | written) or sources & written - copying.shared:
                self.queue.remove(copying)
                super().dispatch(copying.executable, copying.inputs, copying.outputs)
            else:
                copying.shared |= read & sources

    def release(self, *things: DeviceTensor | Executable) -> None:
        while self.queue:  # what was queued before is done
            copying = self.queue.pop(0)
            super().dispatch(copying.executable, copying.inputs, copying.outputs)
        super().release(*things)

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        self.reach(set(), {tensor.handle})
        super().write(tensor, data)

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        self.reach({tensor.handle for tensor in tensors}, set())
        return await super().read(*tensors)


@pytest.mark.parametrize(
    ("split", "steps_per_call"), [(VALIDATED, 3), (SEVERAL, 18)], ids=["epoch by epoch", "several"]
)
async def test_best_and_interrupted_states_are_whole(
    split: tuple[int, int, int], steps_per_call: int
) -> None:
    whole = await create(rows(split), backend=ReferenceBackend())
    history = await whole.train(SETTINGS)
    assert history.best_epoch > 1
    backend = Overtaking()
    backend.budget = exactly(steps_per_call, yield_steps=1)
    model = await create(rows(split), backend=backend)
    assert (await model.train(SETTINGS)).losses == history.losses
    assert values(model) == values(whole)
    draw = random.Random(3)
    for turns in (draw.randrange(10, 40) for _ in range(6)):
        model = await create(rows(split), backend=backend)
        training = asyncio.ensure_future(model.train(SETTINGS))
        for _ in range(turns):
            await asyncio.sleep(0)
        training.cancel()
        await asyncio.wait([training])
        assert training.cancelled(), "this is what the test is about"
        await model.train(resume=model.state.checkpoint is not None, **SETTINGS)
        assert values(model) == values(whole), f"stopped after {turns} turns"
