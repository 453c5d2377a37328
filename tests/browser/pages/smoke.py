"""Relu on WebNN by hand, without webnnm's own backend: the runtime is what is tested."""

import sys

import js
from pyodide.ffi import to_js

import webnnm

__export__ = ["relu"]


async def relu(values: list[float]) -> str:
    """Say which Python and package answered, and what WebNN made of the values."""
    import json

    answer: dict[str, object] = {
        "python": sys.version.split()[0],
        "webnnm": webnnm.__version__,
        "worker": not hasattr(js, "document"),
        "isolated": bool(js.crossOriginIsolated),
        "result": None,
    }
    if hasattr(js.navigator, "ml"):
        context = await js.navigator.ml.createContext()
        builder = js.MLGraphBuilder.new(context)
        shape = to_js([len(values)])
        operand = builder.input("x", dataType="float32", shape=shape)
        graph = await builder.build(y=builder.relu(operand))
        given = await context.createTensor(dataType="float32", shape=shape, writable=True)
        wanted = await context.createTensor(dataType="float32", shape=shape, readable=True)
        context.writeTensor(given, js.Float32Array.new(to_js(values)))
        context.dispatch(graph, js.Object.new(x=given), js.Object.new(y=wanted))
        answer["result"] = js.Float32Array.new(await context.readTensor(wanted)).to_py().tolist()
    return json.dumps(answer)
