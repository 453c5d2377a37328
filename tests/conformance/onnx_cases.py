"""The operator cases of the package onnx, kept in the git-ignored cache: they take long to make."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Sequence
from typing import Any

import pytest

from tests.conformance.onnx_jobs import HELD_AS, OnnxCase
from tools.common import CACHE
from webnnm.core.arrays import HostArray

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx", reason="the cases are of the package onnx")

ABSOLUTE = 1e-6
"""How far a result may be at least, whatever a case asks for: rounding errors of float32 near 0."""


def cases() -> dict[str, OnnxCase]:
    """Return all cases by name."""
    path = CACHE / f"onnx-cases-{onnx.__version__}.pickle"
    if not path.exists():
        found = _collect()
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")  # several processes may begin at once
        part.write_bytes(pickle.dumps([vars(case) for case in found]))
        part.replace(path)
    content = pickle.loads(path.read_bytes())
    return {values["name"]: OnnxCase(**values) for values in content}


def _collect() -> list[OnnxCase]:
    """Make the cases anew."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = load_model_tests(kind="node")
    subjects = {
        case.name: next(
            (n.op_type for n in case.model.graph.node if n.op_type != "Constant"), "Constant"
        )
        for case in given
    }
    return [
        _case(case, subjects.get(case.name.partition("_expanded")[0], subjects[case.name]))
        for case in given
    ]


def _case(case: Any, operator: str) -> OnnxCase:
    ((inputs, outputs),) = case.data_sets
    own = {tensor.name for tensor in case.model.graph.initializer}
    names = [info.name for info in case.model.graph.input if info.name not in own]
    return OnnxCase(
        case.name,
        operator,
        case.model.SerializeToString(),
        {name: _pack(value) for name, value in zip(names, inputs, strict=True)},
        tuple(_pack(value) for value in outputs),
        case.rtol,
        max(case.atol, ABSOLUTE),
    )


def _pack(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    """Return a value as data type, shape and bytes; what is not a tensor has none of them."""
    if hasattr(value, "raw_data"):
        value = onnx.numpy_helper.to_array(value)
    if isinstance(value, list) or value is None:
        return "", (), b""
    array = np.asarray(value)
    name = array.dtype.name
    if name in ("int4", "uint4"):
        return name, array.shape, bytes(HostArray.of(array.astype("int8").tolist(), name).data)  # type: ignore[arg-type]
    array = array.astype("uint8") if name == "bool" else array
    return array.dtype.name, array.shape, array.tobytes() if array.dtype != object else b""


RANDOM = {"Bernoulli"}
"""Operators whose results differ from the expected ones: only types and shapes are compared."""


def problem(case: OnnxCase, found: Sequence[Any], least: float = 0.0) -> str:
    """Return what is wrong with results that may be `least` apart, "" if nothing is."""
    if len(found) != len(case.expected):
        return f"{len(found)} results, {len(case.expected)} expected"
    for k, (value, (dtype, shape, data)) in enumerate(zip(found, case.expected, strict=True)):
        kept = "int8" if dtype in ("int4", "uint4") else dtype
        value = np.asarray(value)
        if value.shape != shape:
            return f"result {k} has shape {value.shape}, expected {shape}"
        if value.dtype.name != HELD_AS.get(kept, kept) and dtype not in ("int4", "uint4"):
            return f"result {k} is {value.dtype.name}, expected {dtype}"
        if case.operator in RANDOM:
            continue
        if kept == dtype:
            expected = np.frombuffer(data, dtype).reshape(shape)
        else:
            expected = np.asarray(HostArray(dtype, shape, data).values(), "int8").reshape(shape)  # type: ignore[arg-type]
        near = np.allclose(
            value.astype("float64"),
            expected.astype("float64"),
            rtol=case.relative,
            atol=max(case.absolute, least),
            equal_nan=True,
        )
        if not near:
            return f"result {k} is {value.ravel()[:6]}, expected {expected.ravel()[:6]}"
    return ""
