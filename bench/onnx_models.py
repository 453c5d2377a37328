"""Inference of ONNX models, compared with ONNX Runtime Web: time per run and to a first result."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from bench.contest import MODELS, Contest, Failed
from bench.training_steps import Unequal
from tools.common import say
from tools.light_networks import with_drawn_weights
from tools.models import file_in_cache

CONTESTANTS = ("ours", "webnn", "wasm")
"""Ours on WebNN, and ONNX Runtime Web with its providers; "webgpu" is checked, in software."""
APART = 1e-3
"""Largest deviation from our results, relative to the largest number: the convolutions of WebNN's
own runtime and of ONNX Runtime sum in another order."""


@dataclass(frozen=True, kw_only=True)
class Net:
    """A model: its file and the shape of its input, including sizes that the file leaves free."""

    file: str
    title: str
    input: str
    shape: Sequence[int]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def described(self) -> dict[str, Any]:
        """The model as onnx.js takes it."""
        return {
            "url": f"/bench-models/{self.file}",
            "name": self.input,
            "shape": self.shape,
            "sizes": self.sizes,
        }


def _free(*sizes: int) -> dict[str, int]:
    """Return free sizes under the names that the files of RapidOCR use."""
    return {f"DynamicDimension.{index}": size for index, size in enumerate(sizes)}


NETS = (
    Net(
        file="efficientnet-lite0.onnx",
        title="EfficientNet-Lite0, 224 × 224",
        input="image",
        shape=(1, 3, 224, 224),
    ),
    Net(
        file="light_resnet50.onnx",
        title="ResNet-50, 224 × 224",
        input="gpu_0/data_0",
        shape=(1, 3, 224, 224),
    ),
    Net(
        file="PP-OCRv6_det_small.onnx",
        title="text detection, PP-OCRv6, 480 × 640",
        input="x",
        shape=(1, 3, 480, 640),
        sizes=_free(1, 480, 640),
    ),
    Net(
        file="PP-OCRv6_rec_small.onnx",
        title="text recognition, PP-OCRv6, 48 × 320",
        input="x",
        shape=(1, 3, 48, 320),
        sizes=_free(1, 320),
    ),
)


def write_models() -> None:
    """Put the files of the models where pages of the contest find them."""
    MODELS.mkdir(parents=True, exist_ok=True)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    opsets = [helper.make_opsetid("", 17)]
    relu = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    (MODELS / "relu.onnx").write_bytes(relu)
    for net in NETS:
        path = MODELS / net.file
        if not path.exists():
            path.write_bytes(_content(net.file))


def _content(file: str) -> bytes:
    if file.startswith("light_"):
        return with_drawn_weights(file.removesuffix(".onnx"))
    return file_in_cache(file).read_bytes()


async def measure(contest: Contest, rounds: int, seconds: float) -> dict[str, Any]:
    """Return the median times of all contestants for every model.

    Each time a contestant has a page of its own, in which its runtime has been started with a
    model of one operator. Raises `Unequal` if results differ.
    """
    found: dict[str, Any] = {}
    for net in NETS:
        first: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        again: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        results: dict[str, NDArray[Any]] = {}
        for number in range(rounds):
            for name in CONTESTANTS[number % 3 :] + CONTESTANTS[: number % 3]:
                async with contest.another_page():
                    await contest.run("startOnnx", name)
                    opened = await contest.run("openOnnx", net.described)
                    again[name].append(await contest.run("runOnnx", 1e3 * seconds))
                first[name].append(opened["first"])
                results[name] = np.asarray(opened["result"])
            summary = ", ".join(
                f"{name} {first[name][-1]:.0f}/{again[name][-1]:.1f}" for name in again
            )
            say(f"  {net.title}, round {number + 1}: {summary} (first result/run, ms)")
        results |= await _on_webgpu(contest, net)
        found[net.file] = {
            "title": net.title,
            "first": {name: statistics.median(times) for name, times in first.items()},
            "run": {name: statistics.median(times) for name, times in again.items()},
            "apart": compare_results(net.title, results),
            "rounds": {"first": first, "run": again},
        }
    return found


async def _on_webgpu(contest: Contest, net: Net) -> dict[str, NDArray[Any]]:
    """Return the results of ONNX Runtime Web on WebGPU in software, nothing if that fails."""
    try:
        async with contest.another_browser("webgpu"):
            await contest.run("startOnnx", "webgpu")
            opened = await contest.run("openOnnx", net.described)
    except Failed as error:
        say(f"  {net.title} on WebGPU: {str(error).splitlines()[0]}")
        return {}
    return {"webgpu": np.asarray(opened["result"])}


def compare_results(title: str, results: Mapping[str, NDArray[Any]]) -> dict[str, float]:
    """Return how far each result is from ours, relative to the largest number.

    Raises `Unequal` if that is too far.
    """
    ours = results["ours"]
    largest = float(np.max(np.abs(ours)))
    differences: dict[str, float] = {}
    for name, result in results.items():
        differences[name] = float(np.max(np.abs(result - ours))) / largest
        if not differences[name] <= APART:
            raise Unequal(
                f"{title}: {name} is off by {differences[name]:.2g} of the largest number"
            )
    return differences
