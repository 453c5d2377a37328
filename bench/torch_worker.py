"""PyTorch on the CPU: reads commands as lines of JSON and answers in the same way.

A line names what to `do`, a method of `Contestant`, and its arguments; `open` creates one.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch  # type: ignore[reportMissingImports]
from torch.nn import functional as F  # type: ignore[reportMissingImports]

Tensors = dict[str, Any]

LEAST_STEPS = 5


def mlp(p: Tensors, x: Any, facts: dict[str, Any]) -> Any:
    """Return the logits of dense layers with relu in between."""
    last = len(facts["sizes"]) - 1
    for k in range(1, last + 1):
        x = torch.addmm(p[f"b{k}"], x, p[f"w{k}"])
        if k < last:
            x = torch.relu(x)
    return x


def cnn(p: Tensors, x: Any, _facts: dict[str, Any]) -> Any:
    """Return the logits of two convolutions and two dense layers."""
    x = F.max_pool2d(torch.relu(F.conv2d(x, p["f1"], p["c1"], padding=2)), 2)
    x = F.max_pool2d(torch.relu(F.conv2d(x, p["f2"], p["c2"])), 2)
    x = torch.relu(torch.addmm(p["b1"], x.flatten(1), p["w1"]))
    return torch.addmm(p["b2"], x, p["w2"])


def lstm(p: Tensors, x: Any, facts: dict[str, Any]) -> Any:
    """Return the logits of a dense layer on the last state of a recurrent one."""
    start = torch.zeros(1, x.shape[0], facts["units"])
    weights = [p["w1"], p["r1"], p["c1"]]
    # The second bias, which PyTorch requires and the model lacks, stays zero.
    weights.append(torch.zeros_like(p["c1"]))
    _, state, _ = torch.lstm(x, (start, start), weights, True, 1, 0.0, True, False, True)
    return torch.addmm(p["b1"], state[0], p["w2"])


def transformer(p: Tensors, x: Any, facts: dict[str, Any]) -> Any:
    """Return the logits of a transformer block, a mean over its tokens and a dense layer."""
    rows, length, width = x.shape
    heads = facts["heads"]
    q, k, v = (
        (x @ p[name]).view(rows, length, heads, width // heads).transpose(1, 2)
        for name in ("q1", "k1", "v1")
    )
    mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, length, width)
    x = F.layer_norm(x + mixed @ p["p1"], (width,), p["s1"], p["t1"])
    high = torch.relu(x @ p["w1"] + p["b1"])
    x = F.layer_norm(x + (high @ p["w2"] + p["b2"]), (width,), p["s2"], p["t2"])
    return torch.addmm(p["b3"], x.mean(1), p["w3"])


def gpt(p: Tensors, x: Any, facts: dict[str, Any]) -> Any:
    """Return the logits of every letter, `[letters, vocabulary]`, of causal transformer blocks."""
    rows, length = x.shape
    heads, width = facts["heads"], facts["width"]
    x = F.embedding(x, p["table"]) + p["place"]
    for n in range(1, facts["layers"] + 1):
        normal = F.layer_norm(x, (width,), p[f"s{2 * n - 1}"])
        q, k, v = (
            (normal @ p[f"{name}{n}"]).view(rows, length, heads, width // heads).transpose(1, 2)
            for name in "qkv"
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(rows, length, width) @ p[f"o{n}"]
        normal = F.layer_norm(x, (width,), p[f"s{2 * n}"])
        x = x + F.gelu(normal @ p[f"up{n}"]) @ p[f"down{n}"]
    x = F.layer_norm(x, (width,), p[f"s{2 * facts['layers'] + 1}"])
    return (x @ p["table"].T).flatten(0, 1)


MODELS = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer, "gpt": gpt}


def to_torch_layout(workload: dict[str, Any], name: str, values: Any) -> Any:
    """Return a parameter as PyTorch has it: the gates of an LSTM as input, forget, cell, output."""
    if workload["kind"] == "lstm" and name in ("w1", "r1", "c1"):
        i, o, f, g = np.split(values[0], 4)
        return np.concatenate([i, f, g, o])
    return values.copy()


class Contestant:
    """A model with its optimizer and all rows."""

    def __init__(self, workload: dict[str, Any], folder: Path) -> None:
        self.workload = workload
        content = (folder / workload["file"]).read_bytes()
        arrays = {
            name: np.frombuffer(content, dtype, math.prod(shape), offset).reshape(shape)
            for name, (offset, shape, dtype) in workload["tensors"].items()
        }
        self.x, y = torch.from_numpy(arrays.pop("x").copy()), arrays.pop("y")
        self.y = torch.from_numpy(y.astype("int64") if workload["kind"] == "gpt" else y.argmax(1))
        self.start = {
            name: torch.from_numpy(to_torch_layout(workload, name, array))
            for name, array in arrays.items()
        }
        self.model = MODELS[workload["kind"]]
        self.parameters = self.start
        self.restart()

    def restart(self) -> None:
        """Reset the parameters and the optimizer."""
        self.parameters = {n: t.clone().requires_grad_() for n, t in self.start.items()}
        learned, lr = list(self.parameters.values()), self.workload["lr"]
        if self.workload["optimizer"] == "sgdm":
            self.optimizer = torch.optim.SGD(learned, lr=lr, momentum=self.workload["momentum"])
            return
        adamw = self.workload["adamw"]
        groups = [
            {"params": [t for t in learned if t.dim() > 1], "weight_decay": adamw["weight_decay"]},
            {"params": [t for t in learned if t.dim() == 1], "weight_decay": 0.0},
        ]
        betas = adamw["beta1"], adamw["beta2"]
        self.optimizer = torch.optim.AdamW(groups, lr, betas, adamw["epsilon"], fused=True)

    def step(self, number: int) -> Any:
        """Train one batch and return its loss."""
        batch = self.workload["batch"]
        rows = slice(number * batch, (number + 1) * batch)
        self.optimizer.zero_grad()
        logits = self.model(self.parameters, self.x[rows], self.workload["facts"])
        loss = F.cross_entropy(logits, self.y[rows].flatten())
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def losses(self, count: int) -> list[float]:
        """Return the losses of the first steps."""
        self.restart()
        return [float(self.step(k)) for k in range(count)]

    def epoch(self) -> float:
        """Return the mean loss of an epoch from the start."""
        self.restart()
        steps = self.workload["steps"]
        return sum(float(self.step(k)) for k in range(steps)) / steps

    def train(self, seconds: float, threads: int) -> float:
        """Train from the start for a time; return milliseconds of a step in the second half."""
        torch.set_num_threads(threads)
        self.restart()
        total, half = torch.zeros(()), seconds / 2
        done, counted, began, start = 0, 0, 0.0, time.perf_counter()
        while counted < LEAST_STEPS or time.perf_counter() - start < seconds:
            if not began and done >= LEAST_STEPS and time.perf_counter() - start >= half:
                began = time.perf_counter()
            total += self.step(done % self.workload["steps"])
            done += 1
            counted += began > 0
        return 1e3 * (time.perf_counter() - began) / counted

    def forward(self, rows: int, repeats: int, threads: int) -> dict[str, Any]:
        """Return the milliseconds of an inference of that many rows, and its results."""
        torch.set_num_threads(threads)
        x = self.x[:rows].numpy()
        began, result = 0.0, torch.zeros(0)
        with torch.inference_mode():
            for k in range(-10, repeats):
                if k == 0:
                    began = time.perf_counter()
                logits = self.model(self.start, torch.from_numpy(x), self.workload["facts"])
                result = torch.softmax(logits, 1)
        seconds = time.perf_counter() - began
        return {"time": 1e3 * seconds / repeats, "result": result.flatten().tolist()}


def main() -> None:
    """Answer until the input ends."""
    contestant: Any = None
    for line in sys.stdin:
        command = json.loads(line)
        do = command.pop("do")
        if do == "open":
            contestant = Contestant(command["workload"], Path(command["folder"]))
            answer: Any = {"version": torch.__version__, "threads": torch.get_num_threads()}
        else:
            answer = getattr(contestant, do)(**command)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
