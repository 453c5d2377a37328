"""One small model goes through every layer: text, review, training, test, file, answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.harness import PyodidePage

PROGRAM = """
from webnnm import IrisDataset, NNModel

TEXT = '''
iris:input shape=[4];
iris:output shape=[3];
iris:layers dense(shape=[8], activation=relu), dense(activation=softmax);
dense:layers matmul(w), add(b), activation();
'''

def quiet(line): ...

async def whole_way(backend):
    dataset = await IrisDataset.create(standardize=True)
    settings = {"backend": backend, "log": quiet}
    async with await NNModel.create(source=TEXT, dataset=dataset, seed=1, **settings) as model:
        findings = model.review()
        history = await model.train(epochs=20, seeds=1, progress="off")
        result = await model.test()
        predicted = await model.predict([[5.1, 3.5, 1.4, 0.2]])
        saved = await model.save()
    async with await NNModel.load(saved, **settings) as restored:
        again = await restored.predict([[5.1, 3.5, 1.4, 0.2]])
        backend = restored.backend.name
    return {
        "backend": backend,
        "errors": [str(finding) for finding in findings if finding.severity == "error"],
        "losses": history.losses,
        "accuracy": result.accuracy,
        "label": predicted.labels[0],
        "probabilities": [predicted.tolist(), again.tolist()],
    }
"""


async def test_a_model_is_reviewed_trained_saved_and_asked(pyodide_page: PyodidePage) -> None:
    """On WebNN in the browser, with the numbers of NumPy."""
    desktop: dict[str, Any] = {}
    exec(PROGRAM, desktop)
    expected = await desktop["whole_way"]("numpy")
    found = await pyodide_page.run_python(f"{PROGRAM}\nawait whole_way('webnn')")
    assert (found["backend"], expected["backend"]) == ("webnn", "numpy")
    assert found["errors"] == []
    assert found["losses"][-1] < found["losses"][0] / 2
    assert found["losses"] == pytest.approx(expected["losses"], rel=1e-4)
    assert found["accuracy"] == expected["accuracy"] > 0.8
    assert found["label"] == "setosa"
    before, after = found["probabilities"]
    assert after[0] == pytest.approx(before[0], rel=1e-4)
