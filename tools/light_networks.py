"""Well-known image networks of the package onnx: the real structure with random weights."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx


def with_drawn_weights(name: str) -> bytes:
    """Return a light network up to a softmax, with random weights (He), not 0.02 throughout.

    With equal weights all classes are equal, and their logits are so large that the result of a
    softmax depends on how they were rounded.
    """
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model, rng = onnx.load(folder / f"{name}.onnx"), np.random.default_rng(0)
    graph = model.graph
    shapes = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    for node in [each for each in graph.node if each.op_type == "ConstantOfShape"]:
        shape = tuple(int(size) for size in shapes[node.input[0]])
        drawn = rng.uniform(0.5, 1.5, shape)  # includes variances, which are positive
        if len(shape) > 1:
            drawn = rng.normal(0, math.sqrt(2 / math.prod(shape[1:])), shape)
        value = onnx.numpy_helper.from_array(drawn.astype("float32"), node.output[0])
        graph.initializer.append(value)
        graph.node.remove(node)
    if graph.node[-1].op_type == "Softmax":
        softmax = graph.node.pop()
        graph.node[-1].output[0] = softmax.output[0]
        graph.output[0].CopyFrom(onnx.helper.make_empty_tensor_value_info(softmax.output[0]))
    return bytes(model.SerializeToString())
