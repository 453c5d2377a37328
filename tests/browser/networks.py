"""Small networks in ONNX, for pages that take pictures."""

from __future__ import annotations

from webnnm.formats.onnx.messages import (
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
from webnnm.formats.onnx.writer import serialize


def negative(weights: str | None = None) -> bytes:
    """Return a network that subtracts pictures of any size from 1, or the largest of weights."""

    def value(name: str, *sizes: int | str) -> ValueInfoProto:
        dimensions = [
            DimensionProto(dim_param=size) if isinstance(size, str) else DimensionProto(size)
            for size in sizes
        ]
        return ValueInfoProto(name, TypeProto(TensorTypeProto(1, TensorShapeProto(dimensions))))

    largest = [NodeProto([weights], ["one"], op_type="ReduceMax")] if weights else []
    graph = GraphProto(
        name="negative",
        node=[*largest, NodeProto(["one", "image"], ["stylized"], op_type="Sub")],
        initializer=[] if weights else [TensorProto([], 1, float_data=[1.0], name="one")],
        input=[value("image", 1, 3, "height", "width"), *([value(weights, 26)] if weights else [])],
        output=[value("stylized", 1, 3, "height", "width")],
    )
    return serialize(ModelProto(8, graph=graph, opset_import=[OperatorSetIdProto("", 17)]))
