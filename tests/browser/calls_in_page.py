"""A model as calls of WebNN, and what it computes: for a page, with nothing but webnnm."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TypedDict

from webnnm import NNModel
from webnnm.compiler.calls import javascript
from webnnm.compiler.plan import lower
from webnnm.compiler.stages import graph_after
from webnnm.core.arrays import HostArray
from webnnm.formats.exporting import model_graph


class Sent(TypedDict):
    """A tensor as JSON."""

    shape: list[int]
    values: list[float]


async def calls_and_results(source: str) -> tuple[str, bytes, dict[str, Sent], dict[str, Sent]]:
    """Return the calls that build a model, their constants, some inputs, and its results."""
    async with await NNModel.create(
        source=source, backend="webnn", review=False, log=lambda line: None
    ) as model:
        device = model.backend
        graph = model_graph(model.state, "inference", 1, None, False, {}).graphs[0]
        plan = lower(graph_after(graph, limits=device.limits)[0])
        executable = await device.compile(graph)
        inputs = {}
        for name, type in executable.inputs.items():
            values = [((7 * k + len(name)) % 11 - 5) / 11 for k in range(type.nbytes // 4)]
            inputs[name] = HostArray("float32", type.shape, array("f", values))
        results = await executable.run_host(inputs)
        return javascript(plan), plan.constants, describe(inputs), describe(results)


def describe(arrays: Mapping[str, HostArray]) -> dict[str, Sent]:
    """Return arrays as JSON."""
    return {
        name: {"shape": [*array.shape], "values": [*array.values()]}
        for name, array in arrays.items()
    }
