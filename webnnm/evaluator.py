"""Evaluates a network over a subset: outputs and losses, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.arrays import HostArray, joined
from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.data.batch import take
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.vertices import Network
from webnnm.training.losses import Loss
from webnnm.training.step import COUNTS, LOSS, TARGET, evaluation_step

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True)
class Evaluation:
    """Mean loss per output over all rows, and the outputs of all rows if they were asked for."""

    losses: dict[str, float]
    outputs: dict[str, HostArray]


class Evaluator:
    """A compiled evaluation graph with its tensors; `close` frees the tensors."""

    def __init__(
        self, backend: Backend, executable: Executable, losses: Mapping[str, Loss]
    ) -> None:
        self._backend = backend
        self._executable = executable
        self._losses = losses
        self._given: dict[str, DeviceTensor] = {}
        self._results: dict[str, DeviceTensor] = {}

    @classmethod
    async def open(
        cls,
        network: Network,
        backend: Backend,
        losses: Mapping[str, Loss],
        *,
        batch: int,
        sequence: Mapping[str, int],
    ) -> Evaluator:
        """Compile the evaluation of one batch size."""
        graph = evaluation_step(network, losses, batch=batch, sequence=sequence)
        self = cls(backend, await backend.compile(graph), losses)
        for name, type in self._executable.inputs.items():
            if not name.startswith(PARAMETER_PREFIX):
                self._given[name] = await backend.tensor(type)
        for name, type in self._executable.outputs.items():
            self._results[name] = await backend.tensor(type)
        return self

    @property
    def batch(self) -> int:
        """The number of rows of one dispatch."""
        name = next(name for name in self._given if name.startswith(TARGET))
        return self._given[name].type.shape[0]

    async def run(
        self,
        inputs: Arrays,
        targets: Arrays,
        parameters: Mapping[str, DeviceTensor],
        *,
        outputs: bool = False,
    ) -> Evaluation:
        """Evaluate whole subsets with these parameters."""
        data = dict(inputs) | {TARGET + name: values for name, values in targets.items()}
        rows = len(next(iter(targets.values())))
        bound = {PARAMETER_PREFIX + name: tensor for name, tensor in parameters.items()}
        bound = {n: t for n, t in bound.items() if n in self._executable.inputs} | self._given
        wanted = [LOSS + name for name in self._losses] + (list(self._losses) if outputs else [])
        sums = dict.fromkeys(self._losses, 0.0)
        parts: dict[str, list[HostArray]] = {name: [] for name in self._losses}
        for start in range(0, rows, self.batch):
            indices = range(start, min(start + self.batch, rows))
            for name, values in data.items():
                if name in self._given:
                    self._backend.write(self._given[name], take(values, indices, self.batch))
            self._backend.write(self._given[COUNTS], HostArray.of(float(len(indices)), "float32"))
            self._backend.dispatch(self._executable, bound, self._results)
            arrays = await self._backend.read(*(self._results[name] for name in wanted))
            found = dict(zip(wanted, arrays, strict=True))
            for name in self._losses:
                sums[name] += found[LOSS + name].values()[0]
                if outputs:
                    parts[name].append(found[name].rows(range(len(indices))))
        return Evaluation(
            {name: total / rows for name, total in sums.items()},
            {name: joined(arrays) for name, arrays in parts.items() if arrays},
        )

    def close(self) -> None:
        """Free the graph and its tensors."""
        self._backend.release(*self._given.values(), *self._results.values(), self._executable)
