"""Models live through training, test and snapshot on every conforming WebNN, as on NumPy.

The mock refuses what the specification's text lets an implementation refuse: calls, bindings,
types and ranks. `wide` supports everything that is allowed, `least` only what is required.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.unit.backends.fake_webnn import FakeWebNN
from tests.unit.backends.webnn_tables import support_limits
from webnnm import Dataset, NNModel
from webnnm.backends.base import Backend
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.webnn import WebNNBackend
from webnnm.training.optimizers import OPTIMIZERS

np = pytest.importorskip("numpy")

ROWS = 18
TOKENS = 7
DENSE = """
m:input shape=[4]; m:output shape=[3];
m:layers matmul(w, shape=[8]), add(b), batchNorm(), relu(), dropout(p=0.25), matmul(v), add(c),
    softmax();
"""
CONVOLUTIONAL = """
m:input shape={channels:1, height:8, width:8}; m:output shape=[3];
m:layers conv2d(f, filters=4, kernel=3, bias=b), relu(),
    maxPool2d(windowDimensions=[3, 3], strides=[2, 2], outputShapeRounding=ceil),
    averagePool2d(windowDimensions=[2, 2]), flatten(), matmul(w), softmax();
"""
RECURRENT = """
m:input shape=[4] sequence=true; m:output shape=[3];
m:layers lstm(w, r, bias=b, hiddenSize=5, returnSequence=true), gru(w, r, hiddenSize=4),
    matmul(v), softmax();
"""
DECODER = """
m:loss SCE; m:input int32 shape=[] sequence=true; m:output shape=[7];
m:param embed float32 shape=[7, 8];
m:layers embedding(embed), positionalEmbedding(pos, size=16), layerNorm(scale=g, bias=b),
    attend(q, k, v, o, heads=2, causal=true),
    matmul(embed, bTranspose=true), softmax();
"""
draw = np.random.default_rng(0)


def rows_of(*shape: int) -> Dataset:
    """Return rows of three classes, in groups of four."""
    labels = np.arange(ROWS) % 3
    x = draw.normal(size=(ROWS, *shape)) + labels.reshape(-1, *[1] * len(shape))
    targets = np.eye(3)[labels].tolist()
    return Dataset(x.astype("float32").tolist(), targets, split=(2, 1, 0), batch_size=4)


def texts_of_tokens() -> Dataset:
    x = draw.integers(0, TOKENS, (ROWS, 6))
    following = np.roll(x, -1, 1).tolist()
    kinds = {"model": "classes"}
    return Dataset(x.tolist(), following, split=(2, 1, 0), batch_size=4, kinds=kinds)


KINDS = {
    "dense": (DENSE, rows_of(4)),
    "convolutional": (CONVOLUTIONAL, rows_of(1, 8, 8)),
    "recurrent": (RECURRENT, rows_of(5, 4)),
    "decoder": (DECODER, texts_of_tokens()),
}
IMPLEMENTATIONS = {"wide": False, "least": True}


async def open_webnn(name: str = "wide") -> WebNNBackend:
    fake = FakeWebNN(limits=support_limits(required=IMPLEMENTATIONS[name]))
    return await WebNNBackend.open(bridge=cast(Any, fake))


async def train(backend: Backend, kind: str, **settings: Any) -> tuple[NNModel, list[Any]]:
    """Return a trained model, and its losses: of each epoch, then of a test of what it saved."""
    text, dataset = KINDS[kind]
    model = await NNModel.create(
        source=text, dataset=dataset, backend=backend, log=lambda _: None, review=False
    )
    options = {"epochs": 3, "progress": "off", **settings}
    history = await model.train(**options)
    losses = [epoch.loss for epoch in history.epochs]
    restored = await NNModel.load(
        await model.save(), dataset=dataset, backend=backend, log=lambda _: None
    )
    losses.append((await restored.test("validation")).loss)
    restored.close()
    return model, losses


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", KINDS)
async def test_models_train_as_on_numpy(kind: str, name: str) -> None:
    backend = await open_webnn(name)
    model, losses = await train(backend, kind)
    _, expected = await train(ReferenceBackend(), kind)
    np.testing.assert_allclose(losses, expected, rtol=1e-3)
    model.close()
    assert (backend.memory().graphs, backend.memory().tensors) == (0, 0)
    backend.close()


SETTINGS: dict[str, dict[str, Any]] = {
    **{name: {"optimizer": name} for name in OPTIMIZERS},
    "accumulate": {"accumulate": 2},
    "recompute": {"recompute": True},
    "float16": {"compute_type": "float16"},
    "clipping": {"gradient_clipping": "agc"},
    "scaling": {"gradient_scaling": "on"},
}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("setting", SETTINGS)
async def test_settings_of_a_training_are_accepted(setting: str, name: str) -> None:
    backend = await open_webnn(name)
    model, losses = await train(backend, "dense", **SETTINGS[setting])
    assert all(map(np.isfinite, losses))
    model.close()
    backend.close()
