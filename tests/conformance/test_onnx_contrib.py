"""Operators of ONNX Runtime's own domain, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.formats.onnx_models import graph, model, node
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.messages import (
    DimensionProto,
    OperatorSetIdProto,
    TensorShapeProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.writer import serialize

np = pytest.importorskip("numpy")
onnxruntime = pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")

CODES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).normal(0, 1, shape).astype("float32")


def bytes_(*shape: int) -> Any:
    return np.random.default_rng(1).integers(0, 255, shape).astype("uint8")


def positions(*values: int, dtype: str = "int64") -> Any:
    return np.asarray(values, dtype)


def cache(length: int, *filled: int) -> Any:
    """Return keys or values in a cache of a length, of which each row has filled a part."""
    rows = floats(len(filled), 2, length, 16, seed=length)
    for row, size in zip(rows, filled, strict=True):
        row[:, size:] = 0
    return rows


X, S, W = floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(8)
CASES: Mapping[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "FastGelu": ("y = com.microsoft.FastGelu(x, b)", {"x": X, "b": W}, {}, {}),
    "BiasGelu": ("y = com.microsoft.BiasGelu(x, b)", {"x": X, "b": W}, {}, {}),
    "QuickGelu": ("y = com.microsoft.QuickGelu(x)", {"x": X}, {}, {"alpha": 1.5}),
    "FusedMatMul": (
        "y = com.microsoft.FusedMatMul(x, z)",
        {"x": X, "z": S},
        {},
        {"transB": 1, "alpha": 0.5},
    ),
    "SkipLayerNormalization": (
        "y, , , t = com.microsoft.SkipLayerNormalization(x, s, g, b, c)",
        {"x": X, "s": S, "g": W, "b": W, "c": W},
        {},
        {},
    ),
    "SkipSimplifiedLayerNormalization": (
        "y = com.microsoft.SkipSimplifiedLayerNormalization(x, s, g)",
        {"x": X, "s": S, "g": W},
        {},
        {"epsilon": 1e-5},
    ),
    "MatMulNBits": (
        "y = com.microsoft.MatMulNBits(x, w, s, z)",
        {"x": floats(2, 48)},
        {"w": bytes_(5, 3, 8), "s": floats(15), "z": bytes_(10)},
        {"K": 48, "N": 5, "bits": 4, "block_size": 16},
    ),
    "MatMulNBits of 8 bits": (
        "y = com.microsoft.MatMulNBits(x, w, s, z)",
        {"x": floats(2, 48)},
        {"w": bytes_(5, 3, 16), "s": floats(15), "z": bytes_(15)},
        {"K": 48, "N": 5, "bits": 8, "block_size": 16},
    ),
    "MatMulNBits without zero points": (
        "y = com.microsoft.MatMulNBits(x, w, s)",
        {"x": floats(2, 32)},
        {"w": bytes_(5, 1, 16), "s": floats(5)},
        {"K": 32, "N": 5, "bits": 4, "block_size": 32},
    ),
    "MultiHeadAttention": (
        "y = com.microsoft.MultiHeadAttention(q, k, v, b)",
        {"q": X, "k": S, "v": X, "b": floats(24)},
        {},
        {"num_heads": 2},
    ),
    "GroupQueryAttention": (
        "y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, c, n, t)",
        {
            "q": floats(1, 2, 32),
            "k": floats(1, 2, 16),
            "v": floats(1, 2, 16, seed=3),
            "a": floats(1, 2, 3, 8),
            "c": floats(1, 2, 3, 8, seed=4),
        },
        {"n": positions(4, dtype="int32"), "t": np.asarray(5, "int32")},
        {"num_heads": 4, "kv_num_heads": 2},
    ),
    "GroupQueryAttention, a prompt": (
        "y, pk, pv = com.microsoft.GroupQueryAttention(q, , , , , n, t, c, s)",
        {"q": floats(2, 3, 128)},
        {
            "n": positions(2, 1, dtype="int32"),
            "t": np.asarray(3, "int32"),
            "c": floats(8, 8),
            "s": floats(8, 8, seed=2),
        },
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "softcap": 2.0},
    ),
    "GroupQueryAttention, rows of different lengths": (
        "y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t, c, s)",
        {
            "q": floats(2, 1, 64),
            "k": floats(2, 1, 32),
            "v": floats(2, 1, 32, seed=3),
            "a": cache(5, 3, 5),
            "b": cache(5, 3, 5),
            "n": positions(3, 5, dtype="int32"),
        },
        {"t": np.asarray(6, "int32"), "c": floats(8, 8), "s": floats(8, 8, seed=2)},
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 3},
    ),
    "GroupQueryAttention, a cache that is written into": (
        "y, pk, pv = com.microsoft.GroupQueryAttention(q, k, v, a, b, n, t, , , , , h)",
        {
            "q": floats(1, 3, 64),
            "k": floats(1, 3, 32),
            "v": floats(1, 3, 32, seed=3),
            "a": cache(9, 4),
            "b": cache(9, 4),
            "n": positions(6, dtype="int32"),
        },
        {"t": np.asarray(8, "int32"), "h": floats(4)},
        {"num_heads": 4, "kv_num_heads": 2},
    ),
    "RotaryEmbedding": (
        "y = com.microsoft.RotaryEmbedding(x, p, c, s)",
        {"x": floats(1, 3, 16), "c": floats(8, 4), "s": floats(8, 4, seed=2)},
        {"p": positions(2)},
        {"num_heads": 2},
    ),
    "MatMulBnb4": (
        "y = com.microsoft.MatMulBnb4(x, w, s)",
        {"x": floats(3, 32)},
        {"w": bytes_(64), "s": floats(8)},
        {"K": 32, "N": 4, "block_size": 16, "quant_type": 1},
    ),
    "MatMulBnb4, FP4": (
        "y = com.microsoft.MatMulBnb4(x, w, s)",
        {"x": floats(3, 32)},
        {"w": bytes_(64), "s": floats(8)},
        {"K": 32, "N": 4, "block_size": 16, "quant_type": 0},
    ),
    "GatherBlockQuantized": (
        "y = com.microsoft.GatherBlockQuantized(w, x, s)",
        {"x": positions(3, 0)},
        {"w": bytes_(5, 16), "s": floats(5, 2)},
        {"block_size": 16, "quantize_axis": 1, "bits": 4},
    ),
    "GatherBlockQuantized, with zero points": (
        "y = com.microsoft.GatherBlockQuantized(w, x, s, z)",
        {"x": positions(3, 0)},
        {"w": bytes_(5, 32), "s": floats(5, 2), "z": bytes_(5, 2)},
        {"block_size": 16, "quantize_axis": 1, "bits": 8},
    ),
    "DynamicQuantizeMatMul": (
        "y = com.microsoft.DynamicQuantizeMatMul(x, w, s)",
        {"x": floats(4, 6)},
        {"w": bytes_(6, 5), "s": np.asarray([0.02], "float32")},
        {},
    ),
    "QGemm": (
        "y = com.microsoft.QGemm(x, a, p, z, c, q, d)",
        {"x": bytes_(3, 4)},
        {
            "a": np.asarray(0.1, "float32"),
            "p": np.asarray(100, "uint8"),
            "z": bytes_(5, 4),
            "c": np.asarray([0.1, 0.2, 0.3, 0.4, 0.5], "float32"),
            "q": np.full(5, 120, "uint8"),
            "d": positions(5, -3, 100, 0, 7, dtype="int32"),
        },
        {"transB": 1, "alpha": 0.5},
    ),
    "QGemm, quantised": (
        "y = com.microsoft.QGemm(x, a, p, z, c, q, , e, r)",
        {"x": bytes_(4, 3)},
        {
            "a": np.asarray(0.1, "float32"),
            "p": np.asarray(100, "uint8"),
            "z": bytes_(4, 5),
            "c": np.asarray(0.1, "float32"),
            "q": np.asarray(120, "uint8"),
            "e": np.asarray(2.5, "float32"),
            "r": np.asarray(128, "uint8"),
        },
        {"transA": 1},
    ),
    "QLinearWhere": (
        "y = com.microsoft.QLinearWhere(k, x, a, p, z, c, q, e, r)",
        {"x": bytes_(3, 4), "z": bytes_(3, 4)},
        {
            "k": np.asarray([True, False, True, True]),
            "a": np.asarray(0.1, "float32"),
            "p": np.asarray(3, "uint8"),
            "c": np.asarray(0.07, "float32"),
            "q": np.asarray(9, "uint8"),
            "e": np.asarray(0.13, "float32"),
            "r": np.asarray(5, "uint8"),
        },
        {},
    ),
    "QLinearAdd": (
        "y = com.microsoft.QLinearAdd(x, a, p, z, c, q, e, r)",
        {"x": bytes_(3, 4), "z": bytes_(3, 4)},
        {
            "a": np.asarray(0.1, "float32"),
            "p": np.asarray(3, "uint8"),
            "c": np.asarray(0.07, "float32"),
            "q": np.asarray(9, "uint8"),
            "e": np.asarray(0.23, "float32"),
            "r": np.asarray(5, "uint8"),
        },
        {},
    ),
}


def _info(name: str, array: Any) -> ValueInfoProto:
    shape = TensorShapeProto([DimensionProto(size) for size in array.shape])
    return ValueInfoProto(name, TypeProto(TensorTypeProto(CODES[array.dtype.name], shape)))


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    text, inputs, constants, attributes = CASES[name]
    call = node(text, **attributes)
    held = [
        tensors.tensor_proto(key, HostArray.of(value), boolean=value.dtype == bool)
        for key, value in constants.items()
    ]
    outputs = [output for output in call.output if output]
    of = graph([call], [_info(key, value) for key, value in inputs.items()], outputs, *held)
    for info in of.output:  # types that ONNX Runtime finds by itself
        info.type = None
    given = model(of, opset=17)
    given.ir_version = 8
    given.opset_import.append(OperatorSetIdProto("com.microsoft", 1))
    expected = onnxruntime.InferenceSession(
        serialize(given), providers=["CPUExecutionProvider"]
    ).run(None, inputs)
    found = import_model(given)
    results = evaluate(found.graph, {**found.parameters, **inputs})
    for value, wanted in zip(results.values(), expected, strict=True):
        assert value.shape == wanted.shape
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
