"""Files go both ways between the package and the library of the format's inventors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from webnnm import NNModel
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks, read

np = pytest.importorskip("numpy")
library = pytest.importorskip("safetensors.numpy", reason="the package safetensors is not there")

SOURCE = """
m:name both; m:input shape=[3]; m:output shape=[2];
m:layers matmul(w, shape=[4]), add(b), batchNormalization(), relu(), matmul(w), softmax();
"""
TYPES = ["float32", "float16", "int64", "uint64", "int32", "uint32", "int8", "uint8"]


def draw(dtype: str, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(3).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 0), (2, 1, 3)])
def test_their_files_open_here(shape: tuple[int, ...], tmp_path: Path) -> None:
    given = {dtype: draw(dtype, shape) for dtype in TYPES}
    path = tmp_path / "theirs.safetensors"
    library.save_file(given, path, metadata={"made by": "sie"})
    file = read(path.read_bytes())
    assert file.metadata == {"made by": "sie"}
    for dtype, array in given.items():
        found = file.tensors[dtype].array()
        assert (found.dtype, found.shape) == (dtype, shape)
        assert bytes(found.data) == array.tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 0), (2, 1, 3)])
def test_our_files_open_there(shape: tuple[int, ...], tmp_path: Path) -> None:
    given = {dtype: draw(dtype, shape) for dtype in TYPES}
    arrays = {dtype: HostArray(dtype, shape, a.tobytes()) for dtype, a in given.items()}  # type: ignore[arg-type]
    path = tmp_path / "ours.safetensors"
    path.write_bytes(b"".join(chunks(arrays, {"made by": "us"})))
    found = library.load_file(path)
    assert found.keys() == given.keys()
    for dtype, array in given.items():
        assert found[dtype].dtype == array.dtype
        np.testing.assert_array_equal(found[dtype], array)


async def test_snapshots_open_there() -> None:
    model = await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None)
    found = library.load(await model.save())
    trainable = {f"param/{p.name}": p.value for p in model.params() if p.trainable}
    states = {f"state/{p.name}": p.value for p in model.params() if not p.trainable}
    assert found.keys() == {**trainable, **states}.keys()
    for name, value in {**trainable, **states}.items():
        np.testing.assert_array_equal(found[name], value)


async def test_their_weights_go_into_a_model(tmp_path: Path) -> None:
    model = await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None)
    values = {p.name: np.random.default_rng(1).random(p.shape, "float32") for p in model.params()}
    path = tmp_path / "theirs.safetensors"
    library.save_file(values, path)
    assert set(await model.load_params(path)) == set(values)
    for parameter in model.params():
        np.testing.assert_array_equal(parameter.value, values[parameter.name])
