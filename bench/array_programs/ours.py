"""The six array programs in webnnm; each yields its state after every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webnnm import grad, jit, tree_map, xp

Data = dict[str, Any]


def mlp(data: Data) -> Iterator[Any]:
    x, y = data["x"], data["y"]

    def loss(p):
        hidden = xp.maximum(x @ p["w1"] + p["b1"], 0)
        hidden = xp.maximum(hidden @ p["w2"] + p["b2"], 0)
        z = hidden @ p["w3"] + p["b3"]
        z = z - xp.max(z, axis=1, keepdims=True)
        return xp.mean(xp.log(xp.sum(xp.exp(z), axis=1)) - xp.sum(y * z, axis=1))

    @jit(donate_argnames=["p"])
    def step(p):
        return tree_map(lambda each, slope: each - 0.1 * slope, p, grad(loss)(p))

    p = {name: data[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3")}
    while True:
        p = step(p)
        yield p["w3"]


def logistic(data: Data) -> Iterator[Any]:
    x, y, w = data["x"], data["y"], data["w"]

    def loss(w):
        z = x @ w
        return xp.mean(xp.logaddexp(z, 0 * z) - y * z)

    step = jit(lambda w: w - 0.1 * grad(loss)(w))
    while True:
        w = step(w)
        yield w


def chain(data: Data) -> Iterator[Any]:
    @jit
    def step(x):
        for _ in range(5):
            x = xp.tanh(x * 1.1 + 0.1) * 0.9
        return x

    x = data["x"]
    while True:
        x = step(x)
        yield x


def single(data: Data) -> Iterator[Any]:
    step = jit(lambda x: x * 0.99)
    x = data["x"]
    while True:
        x = step(x)
        yield x


def products(data: Data) -> Iterator[Any]:
    a, m = data["a"], data["m"]

    @jit
    def step(m):
        for _ in range(8):
            m = m @ a
        return m

    while True:
        m = step(m)
        yield m


def life(data: Data) -> Iterator[Any]:
    def convolve(board):
        edge = xp.zeros((1, board.shape[1]))
        wide = xp.concat([edge, board, edge])
        board = wide[:-2] + wide[1:-1] + wide[2:]
        edge = xp.zeros((board.shape[0], 1))
        wide = xp.concat([edge, board, edge], axis=1)
        return wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]

    @jit
    def step(board):
        count = convolve(board)
        return xp.astype((count == 3) | ((count == 4) & (board == 1)), xp.float32)

    board = data["board"]
    while True:
        board = step(board)
        yield board
