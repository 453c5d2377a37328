"""WebNN against NumPy where a training has state of its own: running statistics, random masks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.browser.harness import PyodidePage

ROWS, STEPS, FEATURES = 50, 6, 3

TEXTS = {
    "batch normalisation and dropout": """
        model:input shape=[6, 3]; model:output shape=[2];
        model:layers
          reshape([18]), matmul(w, shape=[8]), batchNorm(scale=g, bias=c), relu(), dropout(0.3),
          matmul(w), add(b), softmax();
    """,
    "recurrent": """
        model:input shape=[3] sequence=true; model:output shape=[2];
        model:layers
          lstm(w, r, bias=b, hiddenSize=5, returnSequence=true), dropout(0.1), batchNorm(),
          gru(w, r, bias=b, direction=both, hiddenSize=3), layerNorm(scale=g, bias=c),
          matmul(w), add(b), softmax();
    """,
}
PROGRAM = """
from webnnm import Dataset, NNModel

found = {}
for backend in ("webnn", "numpy"):
    dataset = Dataset(x, y, split=(0.8, 0, 0.2), batch_size=12)
    model = await NNModel.create(
        source=source, backend=backend, dataset=dataset, sequence_length=6, log=lambda _: None
    )
    history = await model.train(epochs=10, lr=0.01)
    found[history.backend] = {
        "losses": history.losses,
        "states": {p.name: p.value.tolist() for p in model.params() if not p.trainable},
        "predictions": (await model.predict(x[:3])).tolist(),
    }
    model.close()
found
"""


@pytest.mark.usefixtures("numpy_in_pages")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_losses_states_and_predictions_agree(pyodide_page: PyodidePage, text: str) -> None:
    """The last batch of an epoch is short: the rows that fill it do not count."""
    draw = random.Random(0)
    x = [[[draw.gauss(0, 1) for _ in range(FEATURES)] for _ in range(STEPS)] for _ in range(ROWS)]
    y = [[1.0, 0.0] if sum(step[0] for step in row) > 0 else [0.0, 1.0] for row in x]
    found: Any = await pyodide_page.run_python(PROGRAM, source=text, x=x, y=y)
    webnn, numpy = found["webnn"], found["numpy"]
    assert webnn["losses"] == pytest.approx(numpy["losses"], rel=1e-3)
    assert webnn["losses"][0] == pytest.approx(numpy["losses"][0], rel=1e-4)
    assert webnn["states"].keys() == numpy["states"].keys() == {"mean1", "variance1"}
    for name, state in numpy["states"].items():
        assert webnn["states"][name] == pytest.approx(state, rel=1e-3, abs=1e-4)
    for ours, theirs in zip(webnn["predictions"], numpy["predictions"], strict=True):
        assert ours == pytest.approx(theirs, abs=2e-3)
