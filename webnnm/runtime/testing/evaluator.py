"""Evaluates a network over a subset: outputs and losses, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.core.arrays import HostArray, concatenate
from webnnm.data.batch import take
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.elaboration.vertices import Network
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.step import build_evaluation_step
from webnnm.training.step_settings import COUNT, LOSS, MASK, ROWS, TARGET

Arrays = Mapping[str, HostArray]
PREDICTION_BATCH = 64
"""Rows of one dispatch by default."""


@dataclass(frozen=True)
class Evaluation:
    """Mean loss per output over all rows that count, and the outputs of all rows if requested."""

    losses: dict[str, float]
    outputs: dict[str, HostArray]


class Evaluator:
    """A compiled evaluation graph with its tensors; `close` frees them.

    `take` sets the rows that are evaluated; after `hold` they stay on the device.
    """

    def __init__(
        self, backend: Backend, executable: Executable, losses: Mapping[str, OutputLoss], batch: int
    ) -> None:
        self.batch = batch
        self._backend = backend
        self._executable = executable
        self._losses = losses
        self._device_batches: list[dict[str, DeviceTensor]] = [{}]
        self._data: Arrays = {}
        self._rows = 0
        self._is_resident = False
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
        """Compile the evaluation for one batch size; `masks` have the shapes of later ones."""
        types = {n: TensorType("float32", (batch, *m.shape[1:])) for n, m in (masks or {}).items()}
        graph = build_evaluation_step(network, losses, batch=batch, sequence=sequence, masks=types)
        self = cls(backend, await backend.compile(graph), losses, batch)
        try:
            self._device_batches = [await backend.tensors(self._types)]
            for name, type in self._executable.outputs.items():
                self._results[name] = await backend.tensor(type)
        except BaseException:
            self.close()
            raise
        backend.claim("evaluation", *self._device_batches[0].values(), *self._results.values())
        return self

    @property
    def _types(self) -> dict[str, TensorType]:
        types = self._executable.inputs.items()
        return {name: type for name, type in types if not name.startswith(PARAMETER_PREFIX)}

    def take(self, inputs: Arrays, targets: Arrays, masks: Arrays | None = None) -> None:
        """Set the rows to evaluate, a whole subset."""
        data = dict(inputs) | {TARGET + name: values for name, values in targets.items()}
        data |= {MASK + name: values for name, values in (masks or {}).items()}
        self._data = {name: values for name, values in data.items() if name in self._types}
        self._rows = len(next(iter(targets.values())))
        self._is_resident = False

    async def hold(self) -> None:
        """Keep the rows on the device, a set of tensors per batch, unless they are too many.

        Those are uploaded again each time they are evaluated.
        """
        size = sum(array.data.nbytes for array in self._data.values())
        if size > self._backend.budget.resident_bytes:
            return
        for _ in range(len(self._device_batches), -(-self._rows // self.batch)):
            self._device_batches.append(await self._backend.tensors(self._types))
            self._backend.claim("evaluation", *self._device_batches[-1].values())
        for start, tensors in zip(
            range(0, self._rows, self.batch), self._device_batches, strict=True
        ):
            self._write(start, tensors)
        self._is_resident = True

    def _write(self, start: int, tensors: Mapping[str, DeviceTensor]) -> None:
        """Upload the batch that begins at row `start`."""
        indices = range(start, min(start + self.batch, self._rows))
        for name, values in self._data.items():
            self._backend.write(tensors[name], take(values, indices, self.batch))
        if COUNT in tensors:
            self._backend.write(tensors[COUNT], HostArray.of(float(len(indices)), "float32"))

    async def run(
        self, parameters: Mapping[str, DeviceTensor], *, outputs: bool = False
    ) -> Evaluation:
        """Evaluate the rows with these parameters."""
        bound = {PARAMETER_PREFIX + name: tensor for name, tensor in parameters.items()}
        bound = {n: t for n, t in bound.items() if n in self._executable.inputs}
        names = [prefix + name for prefix in (LOSS, ROWS) for name in self._losses]
        names += list(self._losses) if outputs else []
        totals = dict.fromkeys(names, 0.0)
        parts: dict[str, list[HostArray]] = {name: [] for name in self._losses}
        for number, start in enumerate(range(0, self._rows, self.batch)):
            tensors = self._device_batches[number if self._is_resident else 0]
            if not self._is_resident:
                self._write(start, tensors)
            self._backend.dispatch(self._executable, bound | tensors, self._results)
            arrays = await self._backend.read(*(self._results[name] for name in names))
            count = min(self.batch, self._rows - start)
            for name, array in zip(names, arrays, strict=True):
                if name in self._losses:
                    parts[name].append(array.rows(range(count)))
                else:
                    totals[name] += array.values()[0]  # pyrefly: ignore[unknown-argument-type]
        return Evaluation(
            {name: totals[LOSS + name] / (totals[ROWS + name] or 1) for name in self._losses},
            {name: concatenate(arrays) for name, arrays in parts.items() if arrays},
        )

    def close(self) -> None:
        """Free the graph and its tensors."""
        tensors_of_rows = [tensor for inputs in self._device_batches for tensor in inputs.values()]
        self._backend.release(*tensors_of_rows, *self._results.values(), self._executable)
