"""Matrices in few bits: what is rounded how far, block by block."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import GraphBuilder, backend
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.packing.packed_parameters import packings
from webnnm.graph.packing.packing import Packing
from webnnm.notation import parse
from webnnm.runtime.packed import Packed, Packer

pytestmark = pytest.mark.desktop


async def pack(matrix: HostArray, packing: Packing) -> Packed:
    packer = Packer(await backend("numpy"))
    found = await packer.pack("w", packing, matrix)
    assert found is not None
    return found


def draw_matrix(rows: int, columns: int, size: float = 1.0) -> HostArray:
    stream = Stream(0, Purpose.RANDOMIZE, "w")
    values = [size * (2 * u - 1) for u in stream.uniform(rows * columns)]
    return HostArray.of(values, "float32", [rows, columns])


@pytest.mark.parametrize(("rows", "columns", "axis"), [(96, 5, 0), (7, 64, 1), (3, 9, 1)])
@pytest.mark.parametrize(("dtype", "step"), [("int8", 1 / 127), ("uint4", 2 / 15)])
async def test_numbers_are_off_by_half_a_step_at_most(
    rows: int, columns: int, axis: int, dtype: str, step: float
) -> None:
    matrix = draw_matrix(rows, columns)
    block = 9 if columns == 9 else 32
    found = await pack(matrix, Packing(dtype, axis, block))  # type: ignore[arg-type]
    off = [abs(a - b) for a, b in zip(found().values(), matrix.values(), strict=True)]
    # What the line of least squares cuts off is of the size of a step.
    assert max(off) < step * (0.51 if dtype == "int8" else 1.3)
    assert sum(off) / len(off) < step * 0.3


@pytest.mark.parametrize("dtype", ["int8", "uint4", "float16"])
async def test_python_unpacks_what_numpy_does(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for axis in (0, 1):
        found = await pack(draw_matrix(64, 32), Packing(dtype, axis, 16))  # type: ignore[arg-type]
        expected = found().tolist()
        with monkeypatch.context() as patch:
            patch.setattr("webnnm.runtime.packed.has_numpy", lambda: False)
            assert _flat(found().tolist()) == pytest.approx(_flat(expected))


def _flat(rows: list[list[float]]) -> list[float]:
    return [value for row in rows for value in row]


async def test_blocks_of_ggml_are_packed_without_a_loss() -> None:
    """Multiples of a scale of float16 above a least value, as Q4_1 and Q8_0 have them."""
    stream = Stream(0, Purpose.RANDOMIZE, "w")
    fours = [0, 15, *(stream.below(16) for _ in range(30))]
    values = [0.25 * n - 1.5 for n in fours] + [0.0078125 * n for n in fours]
    matrix = HostArray.of(values, "float32", [2, 32])
    assert (await pack(matrix, Packing("uint4", 1)))().tolist() == matrix.tolist()
    eights = [127, *(stream.below(255) - 127 for _ in range(31))]
    matrix = HostArray.of([0.0078125 * n for n in eights], "float32", [1, 32])
    assert (await pack(matrix, Packing("int8", 1)))().tolist() == matrix.tolist()


async def test_blocks_of_equal_and_of_tiny_numbers() -> None:
    for value in (0.0, 0.5, -3.0):
        matrix = HostArray.of([value] * 64, "float32", [32, 2])
        for dtype in ("int8", "uint4"):
            found = await pack(matrix, Packing(dtype))  # type: ignore[arg-type]
            assert _flat(found().tolist()) == pytest.approx([value] * 64, rel=1e-3)
    matrix = HostArray.of([1e-12] * 64, "float32", [32, 2])
    assert max(map(abs, (await pack(matrix, Packing("int8")))().values())) < 1e-7


async def test_numbers_that_float16_does_not_hold_stay() -> None:
    packer = Packer(await backend("numpy"))
    for value in (1e6, float("inf"), float("nan")):
        matrix = HostArray.of([1.0, value] * 32, "float32", [32, 2])
        assert await packer.pack("w", Packing("int8"), matrix) is None


def test_blocks_divide_the_axis_that_is_summed_over() -> None:
    text = """m:input int32 shape=[] sequence=words; m:output shape=[70] sequence=words;
        m:param table shape=[70, 100];
        m:layers embedding(table), matmul(wide, shape=[97]), matmul(odd, shape=[100]), add(b),
        matmul(table, bTranspose=true);"""
    found = packings(elaborate(parse(text)), "int4")
    assert found == {
        "table": Packing("int8", 1, 25),
        "wide1": Packing("uint4", 0, 25),
        "odd1": Packing("uint4", 0, 97),
    }


@pytest.mark.parametrize("on_host", [True, False])
@pytest.mark.parametrize("fits", [True, False])
async def test_weights_that_are_constants_are_unpacked_once(
    fits: bool, on_host: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    numpy = await backend("numpy")
    b = GraphBuilder()
    whole = b.input("whole", "int8", [64, 2])
    weights = Packing("int8").unpack(b, {"whole": whole, "scale": b.input("s", "float16", [2, 2])})
    graph = b.build({"y": b.matmul(b.input("x", "float32", [1, 64]), weights)})
    given = {
        "whole": HostArray.of([3] * 128, "int8", [64, 2]),
        "s": HostArray.of([0.5] * 4, "float16", [2, 2]),
    }
    tensors: dict[str, Any] = {}
    if not on_host:
        for name, array in given.items():
            tensors[name] = await numpy.tensor(graph.inputs[name].type, array)
    if not fits:  # as backends do with constants that are too large
        compile = numpy.compile

        async def compile_graph(
            graph: Any, *, constants: Any = None, recompute: bool = False
        ) -> Any:
            large = any(name.startswith("unpacked/") for name in constants or {})
            return await compile(graph, constants={} if large else constants)

        monkeypatch.setattr(numpy, "compile", compile_graph)
    executable = await numpy.compile(graph, constants=tensors or given)
    assert [*executable.inputs] == ["x"]
    assert (await executable.run({"x": [[1.0] * 64]}))["y"].tolist() == [[96.0, 96.0]]
    assert numpy.memory().tensors == len(tensors)
