"""What snapshots take: bytes of the file, and memory while they are saved and loaded (spec I)."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from webnnm import Dataset, IrisDataset, NNModel
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import count

np = pytest.importorskip("numpy")

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
IRIS = """
model:input shape=[4]; model:output shape=[3];
model:layers matmul(w, shape=[8]), add(b), tanh(), matmul(w), add(b), softmax();
"""
LARGE = """
m:input shape=[1024]; m:output shape=[8]; m:loss MSE;
m:layers matmul(w, shape=[4096]), add(b), tanh(), matmul(w, shape=[256]), tanh(), matmul(w);
"""


@contextmanager
def trace_memory() -> Generator[list[int]]:
    """Yield a list that holds at the end the most bytes that were taken meanwhile."""
    found: list[int] = []
    tracemalloc.start()
    try:
        yield found
        found.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


async def large(**hyperparameters: Any) -> NNModel:
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(16, 1024)), draw.normal(size=(16, 8))
    dataset = Dataset(x.tolist(), y.tolist(), split=(8, 8, 0))
    model = await NNModel.create(source=LARGE, dataset=dataset, **QUIET)
    if hyperparameters:
        await model.train(hyperparameters, epochs=1, seeds=0, batch_size=4, progress="off")
    return model


def own_bytes(model: NNModel) -> int:
    """Return what the parameters of a model take: on the device, and as they were read back."""
    types = model.state.parameters.types.values()
    return 2 * sum(byte_length(type.dtype, count(type.shape)) for type in types)


@pytest.mark.skipif(sys.platform == "emscripten", reason="pages have no tracemalloc to rely on")
@pytest.mark.parametrize("training", [{}, {"optimizer": "adam"}], ids=["parameters", "training"])
async def test_saving_and_loading_take_little_more_memory_than_the_file(
    training: dict[str, Any], tmp_path: Path
) -> None:
    model, path = await large(**training), tmp_path / "m.webnnm.safetensors"
    with trace_memory() as saving:
        await model.save(path)
    size = path.stat().st_size
    with trace_memory() as collecting:
        data = await model.save()
    assert data == path.read_bytes()
    with trace_memory() as loading:
        again = await NNModel.load(path, **QUIET)
    own = own_bytes(again)
    with trace_memory() as taking:
        await again.load_params(path)
    print(
        f"{size / 1e6:.1f} MB: saving {saving[0] / size:.2f}, collecting "
        f"{collecting[0] / size:.2f}, loading {(loading[0] - own) / size:.2f}, "
        f"taking {(taking[0] - own) / size:.2f} times the file"
    )
    assert size > 20_000_000
    assert saving[0] < 0.2 * size
    assert collecting[0] < 1.2 * size
    assert loading[0] - own < 1.2 * size
    assert taking[0] - own < 1.2 * size
    for one, other in zip(model.params(), again.params(), strict=True):
        np.testing.assert_array_equal(one.value, other.value)


@pytest.mark.skipif(sys.platform == "emscripten", reason="pages have no tracemalloc to rely on")
async def test_half_of_the_bytes_take_no_more_memory_than_they_are(tmp_path: Path) -> None:
    model, path = await large(), tmp_path / "m.webnnm.safetensors"
    with trace_memory() as saving:
        await model.save(path, dtype="float16")
    size = path.stat().st_size
    assert size > 10_000_000
    assert saving[0] < 1.2 * size


def test_halves_are_rounded_as_ever() -> None:
    numbers = np.random.default_rng(0).normal(size=5001).astype("float32") * 100
    found = HostArray.of(HostArray.of(numbers), "float16")
    assert bytes(found.data) == numbers.astype("float16").tobytes()


async def test_the_snapshot_of_iris_is_small() -> None:
    dataset = await IrisDataset.create(standardize=True)
    model = await NNModel.create(source=IRIS, dataset=dataset, **QUIET)
    await model.train(epochs=30, progress="off")
    whole, lean = len(await model.save()), len(await model.save(optimizer=False))
    print(f"Iris: {lean} bytes, {whole} with the state of its training")
    assert lean < 3000
    assert whole < 8000
    await model.train(epochs=3, optimizer="adam", progress="off")
    whole = len(await model.save())
    print(f"Iris: {whole} bytes with the moments of Adam")
    assert whole < 8000
