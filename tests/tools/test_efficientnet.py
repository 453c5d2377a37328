"""The file of weights is read without PyTorch, and nothing in it runs."""

from __future__ import annotations

import pickle
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import pytest

from tools.efficientnet import read_weights

HEAD = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
"""What files of PyTorch before version 1.6 begin with."""


@dataclass(frozen=True)
class Storage:
    """A file's array of numbers, which tensors are views of."""

    name: str


@dataclass(frozen=True)
class View:
    """A tensor, as PyTorch pickles it."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __reduce__(self) -> Any:
        rebuild = sys.modules["torch._utils"].__dict__["_rebuild_tensor_v2"]
        return rebuild, (self.storage, self.offset, self.shape, self.strides, False, {})


class FilePickler(pickle.Pickler):
    """Writes tensors with their storages named."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, 2)

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Storage):
            return None
        return "storage", sys.modules["torch"].__dict__["FloatStorage"], obj.name, "cpu", 6


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two names of PyTorch that such files refer to."""

    def _rebuild_tensor_v2() -> None: ...

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    package, utils = ModuleType("torch"), ModuleType("torch._utils")
    package.__dict__["FloatStorage"] = type("FloatStorage", (), {"__module__": "torch"})
    utils.__dict__["_rebuild_tensor_v2"] = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


def write(path: Path, contents: Any) -> Path:
    """Write a file of one storage with the numbers from 0 to 5."""
    with path.open("wb") as file:
        for each in (*HEAD, contents, ["0"]):
            FilePickler(file).dump(each)
        file.write(struct.pack("<q6f", 6, *range(6)))
    return path


def test_tensors_are_views_of_storages(tmp_path: Path) -> None:
    storage = Storage("0")
    views = {"w": View(storage, 0, (2, 2), (1, 2)), "b": View(storage, 4, (2,), (1,))}
    found = read_weights(write(tmp_path / "a.pth", views))
    np.testing.assert_array_equal(found["w"], np.asarray([[0, 2], [1, 3]], "f4"))
    np.testing.assert_array_equal(found["b"], np.asarray([4, 5], "f4"))


def test_what_is_not_a_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"PosixPath is not a part of a tensor"):
        read_weights(write(tmp_path / "a.pth", {"w": Path("a")}))
