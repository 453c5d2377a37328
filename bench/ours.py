"""webnnm as users write it: in the page of the contest by Pyodide, elsewhere on any backend."""

from __future__ import annotations

import json
import time
from typing import Any

from webnnm import Dataset, GraphBuilder, NNModel, TextDataset, backend
from webnnm.core.arrays import HostArray
from webnnm.graph.transforms.autodiff import gradients

# What other contestants do not do is turned off: seed search, decay, clipping, loss weights.
EQUAL: dict[str, Any] = {
    "schedule": "constant",
    "seeds": 0,
    "gradient_clipping": "off",
    "gradient_scaling": "off",
    "regularization": "off",
    "loss_weights": "off",
    "shuffle": False,
    "validation_split": 0,
    "patience": 10**9,
    "restore_best": False,
    "progress": "off",
}


class Ours:
    """A model with the dataset and the initial parameters of a workload, by default on WebNN."""

    def __init__(
        self, workload: dict[str, Any], numbers: dict[str, HostArray], backend: str = "webnn"
    ) -> None:
        self.workload = workload
        self.backend = backend
        self.start = {name: numbers[name] for name in workload["parameters"]}
        self.rows = numbers["x"]
        self.dataset = _dataset(workload, numbers["x"], numbers["y"])
        sgd = {"momentum_factor": workload["momentum"], "weight_decay": 0.0}
        self.settings = {
            **EQUAL,
            **(sgd if workload["optimizer"] == "sgdm" else workload["adamw"]),
            **{name: workload[name] for name in ("optimizer", "lr")},
            "batch_size": workload["batch"],
        }
        self.lines: list[str] = []
        self.model: NNModel

    async def open(self) -> None:
        """Create the model."""
        self.model = await NNModel.create(
            source=self.workload["text"],
            dataset=self.dataset,
            backend=self.backend,
            log=self.lines.append,
        )

    async def losses(self, count: int) -> str:
        """Return the losses of the first steps."""
        losses: list[float] = []

        def note(record: Any) -> bool:
            losses.append(record.loss)
            return len(losses) < count

        await self.model.load_params(self.start)
        await self.model.train(self.settings, epochs=1, on_batch=note)
        return json.dumps(losses)

    async def train(self, epochs: int) -> str:
        """Train from the start; return the milliseconds of a step and further measurements."""
        await self.model.load_params(self.start)
        began = time.perf_counter()
        history = await self.model.train(self.settings, epochs=epochs)
        seconds = time.perf_counter() - began
        steps = self.workload["steps"]
        steady = history.epochs[len(history.epochs) // 2 :]
        ledger = self.model.memory()
        return json.dumps(
            {
                "step": 1e3 * sum(e.phases["steps"] for e in steady) / (len(steady) * steps),
                "whole": 1e3 * seconds / (epochs * steps),
                "seconds": seconds,
                "phases": history.phases,
                "first": history.epochs[0].loss,
                "ledger": [ledger.graphs, ledger.tensors, ledger.bytes],
            }
        )

    async def forward(self, rows: int, repeats: int) -> str:
        """Return the milliseconds of an inference of that many rows, and its results.

        "time" is that of writing, computing and reading, "predict" that of one call.
        """
        model, shape = self.model, (rows, *self.workload["features"])
        await model.load_params(self.start)
        count = 4
        for size in shape:
            count *= size
        data = HostArray("float32", shape, self.rows.data[:count])
        context = await model.create_context(rows)
        await context.compile()
        began = 0.0
        for k in range(-10, repeats):
            if k == 0:
                began = time.perf_counter()
            context.set_data(data)
            await model.run(context)
            result = await context.output()
        seconds = time.perf_counter() - began
        context.close()
        await model.compile(rows)
        for k in range(-10, repeats):
            if k == 0:
                began = time.perf_counter()
            await model.predict(data, rows)
        total_seconds = time.perf_counter() - began
        return json.dumps(
            {
                "time": 1e3 * seconds / repeats,
                "predict": 1e3 * total_seconds / repeats,
                "result": HostArray.of(result).values().tolist(),
            }
        )

    def close(self) -> None:
        """Free the memory of the device."""
        self.model.close()


def _dataset(workload: dict[str, Any], x: HostArray, y: HostArray) -> Dataset:
    options: dict[str, Any] = {"split": (1, 0, 0), "method": "sequential", "name": "bench"}
    if workload["kind"] != "gpt":
        return Dataset(x, y, **options)
    text = HostArray("int32", (len(x) * x.shape[1] + 1,), bytes(x.data) + bytes(y.data[-4:]))
    return TextDataset(text, x.shape[1], vocabulary=workload["classes"], **options)


async def open_workload(described: str, content: Any, backend: str) -> Ours:
    """Return a model for a workload on a backend; its numbers are in one buffer."""
    workload = json.loads(described)
    memory = content.to_py()
    numbers: dict[str, HostArray] = {}
    for name, (offset, shape, dtype) in workload["tensors"].items():
        count = 4
        for size in shape:
            count *= size
        numbers[name] = HostArray(dtype, shape, memory[offset : offset + count])
    ours = Ours(workload, numbers, backend)
    await ours.open()
    return ours


async def build(nodes: int, salt: float) -> str:
    """Return milliseconds of declaring, compiling, differentiating a graph of that many operators.

    `time` is that of declaring and compiling, which `build` of webnn.js does by hand.
    """
    device = await backend("webnn")
    began = time.perf_counter()
    b = GraphBuilder()
    y = x = b.input("x", "float32", [16, 16])
    for layer in range(nodes // 4):
        w = b.constant([[salt + layer + k * 1e-3 for k in range(16)]] * 16, "float32")
        y = b.relu(b.matmul(y, w) + (salt - layer)) * (1 / (layer + 2))
    graph = b.build({"y": y})
    declared = time.perf_counter()
    executable = await device.compile(graph)
    done = time.perf_counter()
    gradients(b.reduce_sum(y), [x])
    differentiated = time.perf_counter()
    device.close()
    return json.dumps(
        {
            "declare": 1e3 * (declared - began),
            "compile": 1e3 * (done - declared),
            "device": 1e3 * executable.build_seconds,
            "time": 1e3 * (done - began),
            "differentiate": 1e3 * (differentiated - done),
        }
    )


IRIS = """
model:loss categoricalCrossEntropy; model:input shape=[4]; model:output shape=[3];
model:layers dense(shape=[3], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""


async def _iris(**settings: Any) -> str:
    from webnnm import IrisDataset

    began = time.perf_counter()
    data = await IrisDataset.create(standardize=True)
    model = await NNModel.create(source=IRIS, dataset=data, log=lambda _: None)
    history = await model.train(progress="off", **settings)
    tested = await model.test()
    seconds = time.perf_counter() - began
    model.close()
    return json.dumps(
        {
            "seconds": seconds,
            "accuracy": tested.accuracy,
            "epochs": len(history.epochs),
            "phases": history.phases,
            "backend": history.backend,
        }
    )


async def iris_defaults() -> str:
    """Return the seconds of creating, training and testing an Iris model with the defaults."""
    return await _iris()


async def iris_long() -> str:
    """Return the seconds of 5,000 epochs in batches of 16."""
    return await _iris(epochs=5000, batch_size=16, patience=5000)
