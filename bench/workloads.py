"""The models that every contestant trains: texts, sizes, and the same initial numbers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CLASSES = 10
LEARNING_RATE = 0.01
MOMENTUM = 0.9
ADAMW = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "weight_decay": 0.1}
SEED = 7
SURPRISES = 0.3
"""The share of letters that do not follow from the previous one."""

DENSE = "dense:layers matmul(w), add(b), activation();"
POOL = "maxPool2d(windowDimensions={height:2, width:2}, strides={height:2, width:2})"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A model with its data.

    `kind` selects the contestants' programs; `text` is the model in the notation, with
    `parameters`, name → shape, under its names; `features` is the shape of a row, `batch` the rows
    of a step and `steps` the batches of an epoch; `epochs` the minimum of a training, and `lr` its
    learning rate; `optimizer` is "sgdm" or "adamw"; `tensorflow` says whether TensorFlow.js takes
    part; `facts` are numbers that a kind needs.
    """

    name: str
    title: str
    kind: str
    text: str
    parameters: Mapping[str, tuple[int, ...]]
    features: tuple[int, ...]
    batch: int
    steps: int
    classes: int = CLASSES
    epochs: int = 4
    lr: float = LEARNING_RATE
    optimizer: str = "sgdm"
    tensorflow: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def described(self) -> dict[str, Any]:
        """The workload as JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "text": self.text,
            "features": list(self.features),
            "batch": self.batch,
            "steps": self.steps,
            "classes": self.classes,
            "facts": dict(self.facts),
            "optimizer": self.optimizer,
            "lr": self.lr,
            "momentum": MOMENTUM,
            "adamw": ADAMW,
            "parameters": {name: list(shape) for name, shape in self.parameters.items()},
        }


def mlp(
    name: str,
    title: str,
    sizes: list[int],
    batch: int,
    steps: int,
    lr: float = LEARNING_RATE,
) -> Workload:
    """Return a network of dense layers: relu in between, softmax at the end."""
    layers = [f"dense(shape=[{size}], activation=relu)" for size in sizes[1:-1]]
    layers.append(f"dense(shape=[{sizes[-1]}], activation=softmax)")
    parameters: dict[str, tuple[int, ...]] = {}
    for number, (inputs, units) in enumerate(pairwise(sizes), 1):
        parameters |= {f"w{number}": (inputs, units), f"b{number}": (units,)}
    return Workload(
        name=name,
        title=title,
        kind="mlp",
        text=f"model:loss categoricalCrossEntropy;"
        f"model:input shape=[{sizes[0]}]; model:output shape=[{sizes[-1]}];"
        f"model:layers {', '.join(layers)};{DENSE}",
        parameters=parameters,
        features=(sizes[0],),
        batch=batch,
        steps=steps,
        classes=sizes[-1],
        lr=lr,
        facts={"sizes": sizes},
    )


CNN = Workload(
    name="cnn",
    title="CNN 28×28, conv 8 and 16 of 5×5, dense 128, batch 64",
    kind="cnn",
    text=f"""
model:loss categoricalCrossEntropy;
model:input shape={{channel:1, height:28, width:28}}; model:output shape=[10];
model:layers
  conv2d(f, filters=8, kernel=5, padding=same, bias=c), relu(), {POOL},
  conv2d(f, filters=16, kernel=5, bias=c), relu(), {POOL},
  flatten(), matmul(w, shape=[128]), add(b), relu(), matmul(w), add(b), softmax();
""",
    parameters={
        "f1": (8, 1, 5, 5),
        "c1": (8,),
        "f2": (16, 8, 5, 5),
        "c2": (16,),
        "w1": (400, 128),
        "b1": (128,),
        "w2": (128, 10),
        "b2": (10,),
    },
    features=(1, 28, 28),
    batch=64,
    steps=50,
)

LSTM = Workload(
    name="lstm",
    title="LSTM 64 units, length 32, 16 features, batch 32",
    kind="lstm",
    text="""
model:loss categoricalCrossEntropy;
model:input shape=[16] sequence=true; model:output shape=[10];
model:layers lstm(w, r, bias=c, hiddenSize=64), matmul(w), add(b), softmax();
""",
    parameters={
        "w1": (1, 256, 16),
        "r1": (1, 256, 64),
        "c1": (1, 256),
        "w2": (64, 10),
        "b1": (10,),
    },
    features=(32, 16),
    batch=32,
    steps=50,
    facts={"units": 64},
)

BLOCK = Workload(
    name="transformer",
    title="transformer block, length 64, width 128, 4 heads, inner 512, batch 8",
    kind="transformer",
    text="""
model:loss categoricalCrossEntropy;
model:input shape=[128] sequence=true; model:output shape=[10];
model:layers
  attend(q, k, v, o=p, heads=4), residual(skip=1), layerNormalization(scale=s, bias=t),
  matmul(w, shape=[512]), add(b), relu(), matmul(w, shape=[128]), add(b),
  residual(skip=5), layerNormalization(scale=s, bias=t),
  reduceMean(axes=[sequence]), matmul(w), add(b), softmax();
""",
    parameters={
        **dict.fromkeys(("q1", "k1", "v1", "p1"), (128, 128)),
        **dict.fromkeys(("s1", "t1", "s2", "t2"), (128,)),
        "w1": (128, 512),
        "b1": (512,),
        "w2": (512, 128),
        "b2": (128,),
        "w3": (128, 10),
        "b3": (10,),
    },
    features=(64, 128),
    batch=8,
    steps=50,
    facts={"heads": 4, "inner": 512},
)

LETTERS, WIDTH, DEPTH, WINDOW = 65, 384, 6, 128

GPT = Workload(
    name="gpt",
    title=f"GPT, {DEPTH} layers, {WIDTH} wide, 6 heads, {LETTERS} letters, batch 8 × {WINDOW}",
    kind="gpt",
    text=f"""
model:input int32 shape=[] sequence=letters;
model:param table shape=[{LETTERS}, {WIDTH}];
model:param place shape=[{WINDOW}, {WIDTH}];
model:output shape=[{LETTERS}] sequence=letters;
model:loss SCE;
model:layers
  embedding(table), positionalEmbedding(place), block(repeat={DEPTH}),
  layerNormalization(scale=s), matmul(table, bTranspose=true);
block:layers
  layerNormalization(scale=s),
  attend(q, k, v, o, heads=6, causal=true),
  residual(to=input, name=attended),
  layerNormalization(scale=s),
  matmul(up, shape=[{4 * WIDTH}]), gelu(), matmul(down, shape=[{WIDTH}]),
  residual(to=attended);
""",
    parameters={
        "table": (LETTERS, WIDTH),
        "place": (WINDOW, WIDTH),
        **{f"s{n}": (WIDTH,) for n in range(1, 2 * DEPTH + 2)},
        **{f"{name}{n}": (WIDTH, WIDTH) for n in range(1, DEPTH + 1) for name in "qkvo"},
        **{f"up{n}": (WIDTH, 4 * WIDTH) for n in range(1, DEPTH + 1)},
        **{f"down{n}": (4 * WIDTH, WIDTH) for n in range(1, DEPTH + 1)},
    },
    features=(WINDOW,),
    batch=8,
    steps=10,
    classes=LETTERS,
    epochs=2,
    lr=1e-3,
    optimizer="adamw",
    tensorflow=False,
    facts={"heads": 6, "layers": DEPTH, "width": WIDTH},
)

# It takes some ten thousand steps until webnnm has settled how many to put into a dispatch.
TINY = replace(mlp("mlp_tiny", "MLP 4-16-3, batch 32", [4, 16, 3], 32, 100), epochs=400)
LARGE = mlp("mlp_large", "MLP 784-256-128-10, batch 64", [784, 256, 128, 10], 64, 100)
WORKLOADS = {w.name: w for w in (LARGE, TINY, CNN, LSTM, BLOCK, GPT)}


def numbers(workload: Workload) -> dict[str, np.ndarray[Any, Any]]:
    """Return initial values of every parameter, and rows that can be learned: classes by centre."""
    random = np.random.default_rng(SEED)

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return random.standard_normal(shape).astype("float32")

    arrays = {
        name: normal(*shape) * _spread(workload, name, shape)
        for name, shape in workload.parameters.items()
    }
    for name, shape in workload.parameters.items():
        if workload.kind in ("transformer", "gpt") and name.startswith("s"):
            arrays[name] = np.ones(shape, "float32")
    rows = workload.batch * workload.steps
    if workload.kind == "gpt":
        return arrays | _text(random, rows, workload)
    of = random.integers(0, workload.classes, rows)
    centres = normal(workload.classes, *workload.features) * 0.3
    arrays["x"] = centres[of] + normal(rows, *workload.features)
    arrays["y"] = np.eye(workload.classes, dtype="float32")[of]
    return arrays


def _text(
    random: np.random.Generator, rows: int, workload: Workload
) -> dict[str, np.ndarray[Any, Any]]:
    """Return letters that mostly follow from the previous one: `x`, and the next letters, `y`."""
    (length,), letters = workload.features, workload.classes
    following, surprises = random.permutation(letters), random.random(rows * length) < SURPRISES
    text = [0]
    for surprise in surprises:
        text.append(int(random.integers(letters)) if surprise else int(following[text[-1]]))
    codes = np.array(text, "int32")
    return {"x": codes[:-1].reshape(rows, length), "y": codes[1:].reshape(rows, length)}


def _spread(workload: Workload, name: str, shape: tuple[int, ...]) -> np.float32:
    if workload.kind == "gpt":
        return np.float32(0.02)
    if len(shape) == 1 or name.startswith("c"):
        return np.float32(0.01)
    inputs = math.prod(shape[1:]) if name.startswith("f") else shape[0]
    if workload.kind == "lstm" and len(shape) == 3:
        return np.float32(shape[2] ** -0.5)
    return np.float32((2 / inputs) ** 0.5)


def write(workload: Workload, folder: Path) -> dict[str, Any]:
    """Write the numbers of a workload to a file; return its contents as the programs read them.

    `tensors` is name → [offset in bytes, shape, data type].
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Any] = {}
    offset = 0
    with (folder / f"{workload.name}.bin").open("wb") as file:
        for name, array in numbers(workload).items():
            content = np.ascontiguousarray(array).tobytes()
            file.write(content)
            tensors[name] = [offset, list(array.shape), str(array.dtype)]
            offset += len(content)
    described = workload.described | {"file": f"{workload.name}.bin", "tensors": tensors}
    (folder / f"{workload.name}.json").write_text(json.dumps(described))
    return described
