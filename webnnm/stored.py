"""What a model takes from elsewhere and leaves behind: parameters, snapshots, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self, cast

from webnnm.backends.selection import backend as open_backend
from webnnm.description import Described
from webnnm.dtypes import DataType
from webnnm.errors import DataError, ModelError
from webnnm.occupancy import Occupancy
from webnnm.parameters import ParameterStore

if TYPE_CHECKING:
    from webnnm.checkpoint import Checkpoint
    from webnnm.formats.name_map import Names
    from webnnm.model import NNModel
    from webnnm.prediction import Predictor
    from webnnm.session import Training


class Stored(Described):
    """The part of a model that is saved, loaded and resumed."""

    step: int
    trained: bool
    log: Callable[[str], None]
    training: Training | None
    occupancy: Occupancy
    device_type: str
    _predictor: Predictor
    _predictions: Callable[[], Predictor]
    _opened: Callable[..., Any]
    _introduce: Callable[[], None]
    _checkpoint: tuple[int, Checkpoint | None]

    def take_parameters(
        self,
        other: Stored | Mapping[str, Any],
        names: Iterable[str] | None = None,
        mapping: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Take parameters from another model, or name → array; return the names of those taken.

        Taken is what has the name and the shape of a parameter here; or `names`, and `mapping`,
        name there → name here. `train` then tries no other starts unless `seeds` asks for them.
        `docs/transfer-learning.md` has an example.

        Raises `DataError` NNM710 for unknown names and where nothing fits, NNM702 for other
        shapes; then nothing is taken. NNM712 while either model is being trained.
        """
        if isinstance(other, Stored):
            other.occupancy.check()
            other = other.parameters.values()
        return self._took(self.parameters.take(other, names, mapping))

    async def save(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        optimizer: bool = True,
        dtype: DataType | None = None,
    ) -> Any:
        """Write text, parameters and standardisation as one safetensors file (spec I).

        Returns the path, or without one bytes. An older file is replaced as a whole. With
        `optimizer` the file also holds where the training stands, the present one or the last, so
        that `train(resume=True)` goes on there. `dtype="float16"` stores float32 parameters in
        half of the bytes, for inference alone. Raises `DataError` NNM704 for another type, NNM807
        where writing fails.
        """
        from webnnm.snapshot import snapshot
        from webnnm.storage import store

        running = self.training
        with nullcontext() if running else self.occupancy.by("a save"):
            standing = await running.checkpoint() if running else self.checkpoint
            return await store(
                path, snapshot(cast("NNModel", self), dtype, standing, training=optimizer)
            )

    @classmethod
    async def load(cls, snapshot: Any = None, /, **settings: Any) -> Self:
        """Create a model from a snapshot: bytes, a path, or "browser:" and a name.

        `settings` are those of `create`. A snapshot of a training can be resumed.

        Raises `DataError` NNM801 … NNM806 for a file that is damaged or no snapshot, NNM703 for
        wrong settings, NNM715.
        """
        from webnnm.snapshot import MODEL, opened, restore, verified

        if snapshot is None:  # by the name that a text has in `create`
            snapshot = settings.pop("source", None)
        for name in ("source", "url", "path"):
            if name in settings:
                raise DataError(
                    "NNM703",
                    f'NNModel.load takes no "{name}": the snapshot has the text of its model',
                    hint="NNModel.create(source=…), then load_params, for other texts",
                )
        file = verified(await opened(snapshot))
        try:
            model = await cls._opened({"source": file.metadata[MODEL], **settings})
        except ModelError as error:
            raise DataError("NNM802", f"the model in the snapshot is none: {error}") from error
        try:
            await restore(model, file)
            model._introduce()
        except BaseException:
            model.close()
            raise
        return model

    async def load_params(
        self, source: Any, *, strict: bool = True, names: Names | None = None
    ) -> list[str]:
        """Take parameters from any safetensors file; return their names.

        `names` says what they are called there, and how they lie (`docs/foreign-weights.md`).
        Unless `strict`, what has name and shape is taken. Raises `DataError` NNM801 … NNM803 for
        a damaged file, NNM805, NNM806, NNM710 where parameters do not fit; nothing is taken then.
        """
        from webnnm.snapshot import load_parameters

        with self.occupancy.by("a load of parameters", changes=True):
            return self._took(
                await load_parameters(cast("NNModel", self), source, strict=strict, names=names)
            )

    async def reopen(self) -> None:
        """Open the backend anew, after its device was lost, with the parameters that are known.

        Those are the ones of the last training or checkpoint: `step` tells which, and
        `train(resume=True)` goes on there. Contexts for inference have to be made again.

        Raises `DataError` NNM712 while the model is trained or tested, `BackendError` NNM709.
        """
        self.occupancy.check()
        backend = await open_backend(
            self.backend.name, device=self.device_type or None, log=self.log
        )
        try:
            parameters = ParameterStore(self.network, backend, self.occupancy)
            await parameters.begin(self.parameters.values().items())
        except BaseException:
            backend.close()
            raise
        self.backend.close()
        standing = self.checkpoint
        self.backend, self.parameters = backend, parameters
        self._predictor = self._predictions()
        self.keep(standing)

    def _took(self, taken: Collection[str]) -> list[str]:
        self.trained = True
        left = ", ".join(name for name in self.parameters.types if name not in taken)
        self.log(f"took {len(taken)} parameters" + (f", not {left}" if left else ""))
        return list(taken)

    @property
    def checkpoint(self) -> Checkpoint | None:
        """Where the last training stands, until parameters are changed otherwise; else None."""
        version, found = self._checkpoint
        return found if version == self.parameters.version else None

    def keep(self, checkpoint: Checkpoint | None) -> None:
        """Take the state of a training as that to go on with."""
        self._checkpoint = (self.parameters.version, checkpoint)
