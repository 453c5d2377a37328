"""How steps fetch their numbers and rows from resident tables and data (spec E.9)."""

from __future__ import annotations

from typing import Protocol

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import row_mask
from webnnm.training.step_settings import COUNT, CURSOR, EPOCH, ORDER, TABLE, StepSettings

BATCH, VALID = "batch/", "valid"


class Source(Protocol):
    """The source of the numbers and rows of a step."""

    def number(self, name: str) -> Operand:
        """Return a number of the step, a float32 scalar."""
        ...

    def row_mask(self) -> Operand:
        """Return float32 `[batch]`: 1 for valid rows, 0 for padding rows."""
        ...

    def rows(self, name: str, type: TensorType) -> Operand:
        """Return the rows of the batch; `type` is that of all resident rows."""
        ...


class TableSource:
    """The numbers and rows of the next step, or of the next `steps` together."""

    def __init__(self, b: GraphBuilder, settings: StepSettings, steps: int = 1) -> None:
        self._b, self._settings, self._steps = b, settings, steps
        cursor = b.input(CURSOR, "int32", [])
        self.cursor = cursor + steps
        self._positions = cursor if steps == 1 else cursor + b.constant(range(steps), "int32")
        shape = [settings.steps, len(settings.columns)]
        self._columns = b.gather(b.input(TABLE, "float32", shape), self._positions)
        self._indices: Operand | None = None

    def numbers(self, name: str) -> Operand:
        """Return a number of every step, float32 `[steps]`."""
        b, index = self._b, self._settings.columns.index(name)
        lead = [0] * (self._columns.rank - 1)
        sizes = [*self._columns.shape[:-1], 1]
        column = b.slice(self._columns, starts=[*lead, index], sizes=sizes)
        return b.reshape(column, new_shape=[self._steps])

    def number(self, name: str) -> Operand:
        """Return a number of the only step."""
        return self._b.reshape(self.numbers(name), new_shape=[])

    def row_mask(self) -> Operand:
        """Return the masks of all steps, concatenated."""
        b, batch = self._b, self._settings.batch
        valid = b.reshape(self.numbers(COUNT), new_shape=[self._steps, 1])
        return b.reshape(row_mask(b, valid, batch), new_shape=[self._steps * batch])

    def rows(self, name: str, type: TensorType) -> Operand:
        """Return the rows of all steps, concatenated."""
        b, s = self._b, self._settings
        if self._indices is None:
            order = b.input(ORDER, "int32", [s.steps, s.batch])
            indices = b.gather(order, self._positions)
            self._indices = b.reshape(indices, new_shape=[self._steps * s.batch])
        return b.gather(b.input(name, *type), self._indices)


class SliceSource:
    """The numbers and rows of one step: its slice of what several steps fetch together."""

    def __init__(self, b: GraphBuilder, settings: StepSettings) -> None:
        self._b, self._settings = b, settings
        self._numbers: list[str] = []
        self._rows: dict[str, TensorType] = {}
        self._uses_mask = False

    def number(self, name: str) -> Operand:
        """Return a number of the step."""
        self._numbers.append(name)
        return self._b.reshape(self._b.input(BATCH + name, "float32", [1]), new_shape=[])

    def row_mask(self) -> Operand:
        """Return the mask of the step."""
        self._uses_mask = True
        return self._b.input(BATCH + VALID, "float32", [self._settings.batch])

    def rows(self, name: str, type: TensorType) -> Operand:
        """Return the rows of the step."""
        self._rows[name] = type
        shape = (self._settings.batch, *type.shape[1:])
        return self._b.input(BATCH + name, type.dtype, shape)

    def fetch(self, b: GraphBuilder, steps: int) -> dict[str, Operand]:
        """Fetch all of this for `steps` steps, and advance the cursor."""
        source = TableSource(b, self._settings, steps)
        values = {name: source.numbers(name) for name in self._numbers}
        if self._settings.epochs > 1:
            values[EPOCH] = source.numbers(EPOCH)
        if self._uses_mask:
            values[VALID] = source.row_mask()
        values |= {name: source.rows(name, type) for name, type in self._rows.items()}
        inputs = {BATCH + name: value for name, value in values.items()}
        return {CURSOR: source.cursor, **inputs}
