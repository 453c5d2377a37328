"""ONNX files: every field as ONNX itself numbers it, round trips, damaged files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.formats.onnx import messages, tensors
from webnnm.formats.onnx.messages import (
    AttributeProto,
    DimensionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TensorShapeProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.reader import MAX_NESTING, read_model
from webnnm.formats.onnx.writer import chunks, serialize, varint

WEIGHTS = HostArray.of([[1.0, -2.0], [3.5, 0.0]])


def _type(*dims: int | str) -> TypeProto:
    sizes = [
        DimensionProto(dim_param=dim) if isinstance(dim, str) else DimensionProto(dim_value=dim)
        for dim in dims
    ]
    return TypeProto(tensor_type=TensorTypeProto(1, TensorShapeProto(sizes)))


def _model() -> ModelProto:
    """Return a model that uses most of the fields."""
    attributes = [
        AttributeProto(name="alpha", type=1, f=0.5),
        AttributeProto(name="axis", type=2, i=-1),
        AttributeProto(name="mode", type=3, s=b"edge"),
        AttributeProto(name="pads", type=7, ints=[0, -3, 2**62]),
        AttributeProto(name="scales", type=6, floats=[1.0, 0.25]),
        AttributeProto(name="names", type=8, strings=[b"a", b""]),
        AttributeProto(name="value", type=4, t=TensorProto([2], 7, int64_data=[-1, 5])),
    ]
    graph = GraphProto(
        node=[NodeProto(["x", "", "w"], ["y"], "layer", "Gemm", attributes)],
        name="net",
        initializer=[tensors.tensor_proto("w", WEIGHTS)],
        input=[ValueInfoProto("x", _type("batch", 2))],
        output=[ValueInfoProto("y", _type("batch", 0))],
    )
    return ModelProto(
        ir_version=10,
        producer_name="webnnm",
        graph=graph,
        opset_import=[OperatorSetIdProto("", 21)],
    )


def test_fields_have_the_numbers_of_onnx() -> None:
    onnx = pytest.importorskip("onnx", reason="compares with the package onnx")
    nested = {
        "TensorTypeProto": "TypeProto.Tensor",
        "ElementTypeProto": "TypeProto.Sequence",
        "MapTypeProto": "TypeProto.Map",
        "DimensionProto": "TensorShapeProto.Dimension",
    }
    kinds = {1: "double", 2: "float", 3: "int", 4: "int", 5: "int", 9: "string", 11: "message",
             12: "bytes", 13: "int", 14: "int"}  # fmt: skip
    for name, type in messages.TYPES.items():
        descriptor = onnx.onnx_ml_pb2
        for part in nested.get(name, name).split("."):
            descriptor = getattr(descriptor, part)
        theirs = descriptor.DESCRIPTOR.fields_by_name
        for field_name, field in type.FIELDS.items():
            their = theirs[field_name]
            assert field.number == their.number, (name, field_name)
            assert field.kind == kinds[their.type], (name, field_name)
            assert field.repeated == their.is_repeated, (name, field_name)


def test_a_model_comes_back() -> None:
    model = _model()
    assert read_model(serialize(model)) == model


def test_onnx_reads_what_is_written_and_the_other_way_round() -> None:
    onnx = pytest.importorskip("onnx", reason="compares with the package onnx")
    theirs = onnx.load_model_from_string(serialize(_model()))
    assert [attribute.name for attribute in theirs.graph.node[0].attribute][-1] == "value"
    assert onnx.numpy_helper.to_array(theirs.graph.initializer[0]).tolist() == WEIGHTS.tolist()
    assert list(theirs.graph.node[0].attribute[3].ints) == [0, -3, 2**62]
    assert read_model(theirs.SerializeToString()) == _model()


def test_weights_are_views_of_the_file() -> None:
    data = bytearray(serialize(_model()))
    graph = read_model(data).graph
    assert graph is not None
    assert tensors.host_array(graph.initializer[0]).shares(data)
    piece = next(piece for piece in chunks(_model()) if len(piece) == 16)
    assert memoryview(piece).obj is WEIGHTS.data.obj


@pytest.mark.parametrize(
    ("tensor", "values"),
    [
        (TensorProto([2], 1, float_data=[1.0, 2.5]), [1.0, 2.5]),
        (TensorProto([2], 3, int32_data=[-1, 127]), [-1, 127]),
        (TensorProto([2], 9, int32_data=[1, 0]), [1, 0]),
        (TensorProto([1], 10, int32_data=[0x3C00]), [1.0]),
        (TensorProto([], 7, int64_data=[-(2**60)]), -(2**60)),
        (TensorProto([1], 13, uint64_data=[-1]), [2**64 - 1]),
        (TensorProto([2], 5, raw_data=b"\xff\xff\x00\x80"), [-1, -32768]),
        (TensorProto([2], 4, int32_data=[65535, 1]), [65535, 1]),
        (TensorProto([1], 11, double_data=[0.1]), [0.1]),
        (TensorProto([3], 22, int32_data=[0x7F, 0x08]), [-1, 7, -8]),
        (TensorProto([2, 0], 1), [[], []]),
    ],
)
def test_tensors_by_their_lists(tensor: TensorProto, values: object) -> None:
    assert tensors.host_array(tensor).tolist() == values


@pytest.mark.parametrize(
    ("tensor", "code"),
    [
        (TensorProto([3], 1, float_data=[1.0]), "NNM811"),
        (TensorProto([2**40, 2**40], 1), "NNM811"),
        (TensorProto([-1], 1, raw_data=b""), "NNM811"),
        (TensorProto([1], 3, int32_data=[300]), "NNM702"),
        (TensorProto([1], 10, int32_data=[1 << 20]), "NNM811"),
        (TensorProto([1], 8, string_data=[b"a"]), "NNM814"),
        (TensorProto([1], 5, int32_data=[40000]), "NNM811"),
        (TensorProto([2], 4, raw_data=bytes(8)), "NNM811"),
        (TensorProto([1], 1, data_location=1), "NNM811"),
    ],
)
def test_tensors_that_cannot_be(tensor: TensorProto, code: str) -> None:
    with pytest.raises(DataError, match=code):
        tensors.host_array(tensor)


def test_nesting_is_bounded() -> None:
    inner = b""
    for _ in range(10_000):  # TypeProto.sequence_type.elem_type, within itself
        inner = b"\x0a" + varint(len(inner)) + inner
        inner = b"\x22" + varint(len(inner)) + inner
    info = b"\x12" + varint(len(inner)) + inner
    graph = b"\x5a" + varint(len(info)) + info
    with pytest.raises(DataError, match=f"more than {MAX_NESTING} deep"):
        read_model(b"\x3a" + varint(len(graph)) + graph)


def test_a_file_that_was_cut_off_says_so() -> None:
    data = serialize(_model())
    for end in range(len(data)):
        with pytest.raises(DataError, match=r"NNM801|NNM811"):
            read_model(data[:end])


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8))
def test_damaged_files_raise_our_errors_alone(changes: list[tuple[int, int]]) -> None:
    data = bytearray(serialize(_model()))
    for place, value in changes:
        data[place % len(data)] = value
    try:
        graph = read_model(data).graph
        assert graph is not None
        for tensor in graph.initializer:
            tensors.host_array(tensor)
    except DataError as error:
        assert error.code in ("NNM702", "NNM801", "NNM811", "NNM814")
