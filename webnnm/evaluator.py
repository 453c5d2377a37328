"""Evaluates a network over a subset: outputs and losses, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.arrays import HostArray, joined
from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.data.batch import take
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.vertices import Network
from webnnm.ops.operator import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.step import evaluation_step
from webnnm.training.step_settings import COUNT, LOSS, MASK, ROWS, TARGET

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True)
class Evaluation:
    """Mean loss per output over all rows that count, and the outputs of all rows if asked for."""

    losses: dict[str, float]
    outputs: dict[str, HostArray]


class Evaluator:
    """A compiled evaluation graph with its tensors; `close` frees them."""

    def __init__(
        self, backend: Backend, executable: Executable, losses: Mapping[str, OutputLoss], batch: int
    ) -> None:
        self.batch = batch
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
        losses: Mapping[str, OutputLoss],
        *,
        batch: int,
        sequence: Mapping[str, int],
        masks: Arrays | None = None,
    ) -> Evaluator:
        """Compile the evaluation of one batch size; `masks` are those of the rows to come."""
        types = {n: TensorType("float32", (batch, *m.shape[1:])) for n, m in (masks or {}).items()}
        graph = evaluation_step(network, losses, batch=batch, sequence=sequence, masks=types)
        self = cls(backend, await backend.compile(graph), losses, batch)
        try:
            for name, type in self._executable.inputs.items():
                if not name.startswith(PARAMETER_PREFIX):
                    self._given[name] = await backend.tensor(type)
            for name, type in self._executable.outputs.items():
                self._results[name] = await backend.tensor(type)
        except BaseException:
            self.close()
            raise
        backend.claim("evaluation", *self._given.values(), *self._results.values())
        return self

    async def run(
        self,
        inputs: Arrays,
        targets: Arrays,
        parameters: Mapping[str, DeviceTensor],
        masks: Arrays | None = None,
        *,
        outputs: bool = False,
    ) -> Evaluation:
        """Evaluate whole subsets with these parameters."""
        data = dict(inputs) | {TARGET + name: values for name, values in targets.items()}
        data |= {MASK + name: values for name, values in (masks or {}).items()}
        rows = len(next(iter(targets.values())))
        bound = {PARAMETER_PREFIX + name: tensor for name, tensor in parameters.items()}
        bound = {n: t for n, t in bound.items() if n in self._executable.inputs} | self._given
        wanted = [prefix + name for prefix in (LOSS, ROWS) for name in self._losses]
        wanted += list(self._losses) if outputs else []
        totals = dict.fromkeys(wanted, 0.0)
        parts: dict[str, list[HostArray]] = {name: [] for name in self._losses}
        for start in range(0, rows, self.batch):
            indices = range(start, min(start + self.batch, rows))
            for name, values in data.items():
                if name in self._given:
                    self._backend.write(self._given[name], take(values, indices, self.batch))
            if COUNT in self._given:
                count = HostArray.of(float(len(indices)), "float32")
                self._backend.write(self._given[COUNT], count)
            self._backend.dispatch(self._executable, bound, self._results)
            arrays = await self._backend.read(*(self._results[name] for name in wanted))
            for name, array in zip(wanted, arrays, strict=True):
                if name in self._losses:
                    parts[name].append(array.rows(range(len(indices))))
                else:
                    totals[name] += array.values()[0]
        return Evaluation(
            {name: totals[LOSS + name] / (totals[ROWS + name] or 1) for name in self._losses},
            {name: joined(arrays) for name, arrays in parts.items() if arrays},
        )

    def close(self) -> None:
        """Free the graph and its tensors."""
        self._backend.release(*self._given.values(), *self._results.values(), self._executable)
