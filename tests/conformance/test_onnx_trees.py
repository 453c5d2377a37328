"""Decision trees as ONNX Runtime walks them."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.backends.reference import evaluate
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.reader import read_model

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx", reason="makes the models")
runtime = pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")

FEATURES, DEPTH, TREES = 5, 3, 4


def forest(seed: int, prefix: str, targets: int, modes: list[str]) -> dict[str, Any]:
    """Return the attributes of random trees: full ones, with nodes numbered level by level."""
    dice = np.random.default_rng(seed)
    inner, size = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids")
    }
    nodes |= {"falsenodeids": [], "missing_value_tracks_true": []}
    leaves: dict[str, list[Any]] = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    for tree in range(TREES):
        for number in range(size):
            is_leaf = number >= inner
            row = {
                "treeids": tree,
                "nodeids": number,
                "featureids": 0 if is_leaf else int(dice.integers(FEATURES)),
                "values": float(np.float32(dice.choice([-0.5, 0.0, 0.5]))),
                "modes": "LEAF" if is_leaf else str(dice.choice(modes)),
                "truenodeids": 0 if is_leaf else 2 * number + 1,
                "falsenodeids": 0 if is_leaf else 2 * number + 2,
                "missing_value_tracks_true": 0 if is_leaf else int(dice.integers(2)),
            }
            for name, value in row.items():
                nodes[name].append(value)
            for target in range(targets if is_leaf else 0):
                leaves["treeids"].append(tree)
                leaves["nodeids"].append(number)
                leaves["ids"].append(target)
                leaves["weights"].append(float(np.float32(dice.uniform(0.05, 0.2))))
    found: dict[str, Any] = {f"nodes_{name}": column for name, column in nodes.items()}
    return found | {f"{prefix}_{name}": column for name, column in leaves.items()}


def compare(operator: str, outputs: list[str], attributes: dict[str, Any]) -> None:
    call = onnx.helper.make_node(operator, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    given = [onnx.helper.make_tensor_value_info("x", 1, [6, FEATURES])]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    of = onnx.helper.make_graph([call], "trees", given, results)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = onnx.helper.make_model(of, opset_imports=opsets)
    model.ir_version = 8
    data = model.SerializeToString()
    x = np.random.default_rng(1).choice([-1.0, -0.5, 0.0, 0.5, 1.0, np.nan], (6, FEATURES))
    feeds = {"x": x.astype("float32")}
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    found = evaluate(import_model(read_model(data)).graph, feeds)
    for value, wanted in zip(found.values(), session.run(None, feeds), strict=True):
        assert value.dtype == wanted.dtype
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], ["BRANCH_LT", "BRANCH_GTE", "BRANCH_EQ"]])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression(aggregate: str, modes: list[str]) -> None:
    attributes = forest(0, "target", 2, modes)
    more = {"n_targets": 2, "aggregate_function": aggregate, "base_values": [0.5, -0.5]}
    compare("TreeEnsembleRegressor", ["y"], {**attributes, **more})


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_classification(transform: str) -> None:
    attributes = forest(3, "class", 3, ["BRANCH_LEQ"])
    more = {"classlabels_int64s": [4, 1, 2], "post_transform": transform}
    compare("TreeEnsembleClassifier", ["label", "scores"], {**attributes, **more})


@pytest.mark.parametrize("shift", [0.0, -0.1])
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("chosen", [0, 1])
def test_two_classes_by_one_score(chosen: int, transform: str, shift: float) -> None:
    attributes = forest(0, "class", 1, ["BRANCH_LEQ"])
    attributes["class_ids"] = [chosen] * len(attributes["class_ids"])
    attributes["class_weights"] = [weight + shift for weight in attributes["class_weights"]]
    more = {"classlabels_int64s": [0, 1], "post_transform": transform}
    compare("TreeEnsembleClassifier", ["label", "scores"], {**attributes, **more})
