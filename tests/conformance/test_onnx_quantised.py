"""Models that ONNX Runtime's own tools quantised, compared with ONNX Runtime."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from webnnm.backends.reference import evaluate
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.reader import read_model

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx", reason="makes the models")
runtime = pytest.importorskip("onnxruntime", reason="quantises the models, and runs them")
quantization = pytest.importorskip("onnxruntime.quantization")

RANDOM = np.random.default_rng(0)
Values = dict[str, Any]


def weights(*shape: int) -> Any:
    return RANDOM.normal(0, 0.5, shape).astype("float32")


def network(text: str, inputs: Mapping[str, list[int]], outputs: str, **constants: Any) -> Any:
    """Return a model from lines as "y = Relu(x) {}", the attributes last."""
    nodes: list[Any] = []
    for line in text.strip().splitlines():
        call, _, attributes = line.partition(" {")
        left, _, right = call.strip().partition(" = ")
        operator, _, operands = right.rstrip(")").partition("(")
        given = [name.strip() for name in operands.split(",")]
        results = left.split(", ")
        more = eval(f"dict({attributes.rstrip('}')})")
        nodes.append(onnx.helper.make_node(operator, given, results, **more))
    infos = [onnx.helper.make_tensor_value_info(n, 1, shape) for n, shape in inputs.items()]
    results = [onnx.ValueInfoProto(name=name) for name in outputs.split(", ")]
    held = [onnx.numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()]
    of = onnx.helper.make_graph(nodes, "net", infos, results, held)
    model = onnx.helper.make_model(of, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    return onnx.shape_inference.infer_shapes(model)


IMAGE = {"x": [1, 3, 8, 8]}
MODELS = {
    "one channel": network(
        "y = Conv(x, w, b) {pads=[1, 1, 1, 1]}", IMAGE, "y", w=weights(1, 3, 3, 3), b=weights(1)
    ),
    "convolutions": network(
        """
        a = Conv(x, w, b) {pads=[1, 1, 1, 1]}
        c = Relu(a)
        p = MaxPool(c) {kernel_shape=[2, 2], strides=[2, 2]}
        y = Conv(p, v, d)
        """,
        IMAGE,
        "y",
        w=weights(4, 3, 3, 3),
        b=weights(4),
        v=weights(5, 4, 1, 1),
        d=weights(5),
    ),
    "depthwise": network(
        """
        a = Conv(x, w) {pads=[1, 1, 1, 1], group=3}
        l = LeakyRelu(a)
        t = ConvTranspose(l, v) {strides=[2, 2]}
        g = GlobalAveragePool(t)
        q = AveragePool(t) {kernel_shape=[2, 2]}
        y = Mul(g, q)
        """,
        IMAGE,
        "y",
        w=weights(3, 1, 3, 3),
        v=weights(3, 4, 2, 2),
    ),
    "matrices": network(
        """
        m = MatMul(x, w)
        a = Add(m, b)
        s = Sigmoid(a)
        t = Transpose(s) {perm=[0, 2, 1]}
        z = MatMul(s, t)
        p = Softmax(z)
        k = Concat(p, z) {axis=2}
        y = ReduceMean(k) {axes=[1]}
        """,
        {"x": [2, 3, 6]},
        "y",
        w=weights(6, 7),
        b=weights(7),
    ),
    "rows": network(
        """
        g = Gemm(x, w, b) {transB=1}
        r = Relu(g)
        y = Gemm(r, v, d)
        """,
        {"x": [3, 6]},
        "y",
        w=weights(5, 6),
        b=weights(5),
        v=weights(5, 1),
        d=weights(1),
    ),
    "sequences": network(
        """
        a, h, c = LSTM(x, w, r, b) {hidden_size=4, direction="bidirectional"}
        y = Transpose(h) {perm=[1, 0, 2]}
        """,
        {"x": [5, 2, 3]},
        "a, y",
        w=weights(2, 16, 3),
        r=weights(2, 16, 4),
        b=weights(2, 32),
    ),
}
TYPE, FORMAT = quantization.QuantType, quantization.QuantFormat
STATIC: Mapping[str, Values] = {
    "default settings": {},
    **{
        f"{format.name}, {own.name}, {of.name}": {
            "quant_format": format,
            "activation_type": own,
            "weight_type": of,
            "per_channel": own != of,
        }
        for format in (FORMAT.QDQ, FORMAT.QOperator)
        for own, of in (
            (TYPE.QInt8, TYPE.QInt8),
            (TYPE.QUInt8, TYPE.QInt8),
            (TYPE.QUInt8, TYPE.QUInt8),
        )
    },
    "reduced": {"reduce_range": True, "per_channel": True},
    "16 bits": {"activation_type": TYPE.QUInt16, "weight_type": TYPE.QInt8},
    "signed 16 bits": {
        "activation_type": TYPE.QInt16,
        "weight_type": TYPE.QInt16,
        "extra_options": {"UseQDQContribOps": True},
    },
    "4 bits": {"activation_type": TYPE.QUInt8, "weight_type": TYPE.QInt4},
    "weights in pairs": {"extra_options": {"DedicatedQDQPair": True, "AddQDQPairToWeight": True}},
}
DYNAMIC: Mapping[str, Values] = {
    "default settings": {},
    "unsigned": {"weight_type": TYPE.QUInt8},
    "per channel": {"per_channel": True, "reduce_range": True},
    "asymmetric": {"extra_options": {"WeightSymmetric": False}},
}


def data(model: Any, seed: int) -> Values:
    random = np.random.default_rng(seed)
    sizes = {
        each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        for each in model.graph.input
    }
    return {name: random.normal(0, 1, shape).astype("float32") for name, shape in sizes.items()}


class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
    """Data from which ranges are measured."""

    def __init__(self, model: Any) -> None:
        self._rows: Iterator[Values] = iter([data(model, seed) for seed in range(4)])

    def get_next(self) -> Values | None:
        return next(self._rows, None)


def step_of(file: Any) -> float:
    """Return the largest step of the quantised values of a model."""
    scales = [
        float(onnx.numpy_helper.to_array(tensor).max())
        for tensor in file.graph.initializer
        if tensor.name.endswith("_scale")
    ]
    return max(scales, default=0.0)


def compare(path: Path, feeds: Values, tolerance: float) -> None:
    """Check that outputs differ by one step of the last quantisation at most."""
    content = path.read_bytes()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    # Its optimizer leaves out pairs of quantisation: it computes other numbers than the file says.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    found = import_model(read_model(content))
    results = evaluate(found.graph, {**found.parameters, **feeds})
    for value, wanted in zip(results.values(), expected, strict=True):
        assert value.shape == wanted.shape
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=tolerance + 1e-5)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("settings", STATIC)
@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"sequences"}))
def test_static_quantisation(name: str, settings: str, tmp_path: Path) -> None:
    model, target = MODELS[name], tmp_path / "quantised.onnx"
    onnx.save(model, tmp_path / "model.onnx")
    reader = Reader(model)
    quantization.quantize_static(tmp_path / "model.onnx", target, reader, **STATIC[settings])
    compare(target, data(model, 9), step_of(onnx.load(target)))


@pytest.mark.parametrize("settings", DYNAMIC)
@pytest.mark.parametrize("name", MODELS)
def test_dynamic_quantisation(name: str, settings: str, tmp_path: Path) -> None:
    model, target = MODELS[name], tmp_path / "quantised.onnx"
    onnx.save(model, tmp_path / "model.onnx")
    quantization.quantize_dynamic(tmp_path / "model.onnx", target, **DYNAMIC[settings])
    compare(target, data(model, 9), 1e-3 if name == "sequences" else 0.0)
