"""The parts of StableHLO texts: open sizes, numbers, values, operations, modules."""

from __future__ import annotations

import math
import struct
from array import array

import pytest

from webnnm.core.arrays import HostArray
from webnnm.formats.sizes import Size, affine, size_of, static
from webnnm.formats.stablehlo.dialect import Dialect
from webnnm.formats.stablehlo.elementwise import common_shape
from webnnm.formats.stablehlo.emitter import Value
from webnnm.formats.stablehlo.error_function import FAR, NEAR
from webnnm.formats.stablehlo.text import dense, integers, number, quote, symbol, tensor_type
from webnnm.formats.stablehlo.writer import Main, module_text
from webnnm.ops.declare.tensors import OperatorError

BATCH, LENGTH = Size((23, 28, 35)), Size((37, 44, 48))


def test_arithmetic_of_open_sizes_is_that_of_every_trial() -> None:
    assert BATCH + 1 == Size((24, 29, 36)) == 1 + BATCH
    assert Size((17, 12, 5)) == 40 - BATCH
    assert BATCH * LENGTH == Size((851, 1232, 1680)) == LENGTH * BATCH
    assert Size((11, 14, 17)) == BATCH // 2
    assert Size((4, 3, 2)) == 100 // BATCH
    assert Size((-23, -28, -35)) == -BATCH
    assert (BATCH + 3) - BATCH == 3
    assert 2 * BATCH // BATCH == 2


def test_a_size_that_is_the_same_everywhere_is_a_number() -> None:
    assert size_of([4, 4, 4]) == 4
    assert isinstance(BATCH - BATCH, int)


@pytest.mark.parametrize(
    ("size", "found"),
    [(BATCH, (1, 0)), (3 * BATCH - 2, (3, -2)), (40 - BATCH, (-1, 40)), (LENGTH, None)],
)
def test_affine_sizes(size: Size, found: tuple[int, int] | None) -> None:
    assert affine(size, BATCH) == found


def test_halves_of_odd_and_even_sizes_are_not_affine() -> None:
    half = BATCH // 2
    assert isinstance(half, Size)
    assert affine(half, BATCH) is None


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-38, 1e-45, 3.4028234663852886e38, -0.0, 16777217])
def test_written_floats_are_read_as_the_same_number(value: float) -> None:
    (single,) = array("f", [value])
    text = number(single, "float32")
    assert struct.pack("<f", float(text)) == struct.pack("<f", single)
    assert "." in text, "MLIR wants a point in every float"


def test_numbers_that_are_not_finite_are_written_as_bits() -> None:
    assert number(math.inf, "float32") == "0x7F800000"
    assert number(-math.inf, "float16") == "0xFC00"
    assert number(math.nan, "float32") == "0x7FC00000"


def test_constants() -> None:
    assert dense(HostArray.of([[1, 1], [1, 1]], "int32")) == "dense<1>"
    assert dense(HostArray.of([0.0, -0.0])) == "dense<[0.000000e+00, -0.000000e+00]>"
    assert dense(HostArray.of([1, -2], "int4")) == "dense<[1, -2]>"
    long = dense(HostArray.of(list(range(100)), "uint8"))
    assert long == f'dense<"0x{bytes(range(100)).hex().upper()}">'


def test_types_and_attributes() -> None:
    assert tensor_type("float16", (2, BATCH)) == "tensor<2x?xf16>"
    assert tensor_type("bool", ()) == "tensor<i1>"
    assert integers([]) == "array<i64>"
    assert quote('a"b\n') == '"a\\22b\\0A"'
    assert symbol("my model") == '@"my model"'
    assert symbol("model_2") == "@model_2"
    assert symbol("2d") == '@"2d"'


def test_what_was_said_is_not_said_again() -> None:
    h = Dialect()
    x = Value("float32", (2, 3))
    assert h.exponential(x) is h.exponential(x)
    assert h.add(x, 1) is h.add(x, 1)
    assert len(h.operations) == 3


def test_numbers_take_the_type_of_the_tensor_beside_them() -> None:
    h = Dialect()
    assert h.add(1, Value("int8", (2,))).dtype == "int8"
    assert h.compare("GT", Value("float16", (2,)), 0).dtype == "bool"


def test_regions_see_nothing_of_what_stands_outside() -> None:
    h = Dialect()
    x = Value("float32", (2, 3))
    outer = h.constant(0, "float32")
    region = h.region([("float32", ())], lambda a: [h.add(a, h.constant(0, "float32"))])
    assert outer not in region.operations[0].results
    assert h.reduce("add", x, [1]).shape == (2,)
    assert h.constant(0, "float32") is outer


def test_a_truth_that_became_a_number_is_still_known() -> None:
    h = Dialect()
    truth = h.compare("GT", Value("float32", (2,)), 0)
    shown = h.convert(truth, "uint8")
    assert h.truth(shown) is truth
    assert h.truth(Value("uint8", (2,))).dtype == "bool"


def test_only_what_results_need_is_written() -> None:
    h = Dialect()
    x = Value("float32", (2,))
    h.tanh(x)
    text = module_text("m", Main([("x", x)], [("y", h.abs(x))], h.operations))
    assert "tanh" not in text
    assert text.splitlines()[:3] == [
        "module @m {",
        '  func.func public @main(%arg0: tensor<2xf32> {webnnm.name = "x"}) -> '
        '(tensor<2xf32> {webnnm.name = "y"}) {',
        '    %0 = "stablehlo.abs"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>',
    ]


def test_open_sizes_are_read_off_tensors_and_computed() -> None:
    h = Dialect()
    x = Value("float32", (BATCH, LENGTH, 4))
    h.record_sizes(x)
    y = h.reshape(x, (BATCH * LENGTH, 4))
    assert [o.name for o in h.operations if "constant" not in o.name] == [
        "stablehlo.get_dimension_size",
        "stablehlo.get_dimension_size",
        "stablehlo.multiply",
        "stablehlo.reshape",
        "stablehlo.concatenate",
        "stablehlo.dynamic_reshape",
    ]
    assert str(y) == "tensor<?x4xf32>"


def test_a_size_that_follows_from_none_is_refused_until_a_tensor_has_it() -> None:
    h = Dialect()
    h.record_sizes(Value("float32", (BATCH,)))
    half = Value("float32", (BATCH // 2,))
    with pytest.raises(OperatorError) as caught:
        h.size(half.shape[0])
    assert caught.value.code == "NNM902"
    h.record_sizes(half)
    assert h.size(half.shape[0]).dtype == "int32"


def test_sizes_that_have_to_be_numbers() -> None:
    assert static(3, "a padding") == 3
    with pytest.raises(OperatorError, match="a padding depends on a size that is left open"):
        static(BATCH, "a padding")


def test_shapes_that_broadcast_for_some_sizes_alone_are_refused() -> None:
    assert common_shape((BATCH, 1), (1, 3)) == (BATCH, 3)
    with pytest.raises(OperatorError):
        common_shape((BATCH,), (LENGTH,))


def test_an_unknown_method_is_an_error() -> None:
    with pytest.raises(AttributeError, match='the dialect has no method "sinus"'):
        Dialect().sinus(Value("float32", ()))


def test_the_polynomials_of_the_error_function() -> None:
    def horner(coefficients: tuple[float, ...], x: float) -> float:
        total = 0.0
        for coefficient in reversed(coefficients):
            total = total * x + coefficient
        return total

    for step in range(-6000, 6001):
        x = step / 1000
        size, t = abs(x), 2 / (2 + abs(x))
        near = x * horner(NEAR, min(x * x, 1))
        far = math.copysign(1 - t * math.exp(horner(FAR, t) - x * x), x)
        assert abs((near if size < 1 else far) - math.erf(x)) < 1e-8
