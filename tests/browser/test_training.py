"""Training on WebNN against NumPy: every optimizer, every way to treat gradients, every loss."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.browser.harness import PyodidePage
from webnnm.training.optimizers import OPTIMIZERS

ROWS, FEATURES = 50, 4

CLASSES = """
model:input shape=[4]; model:output shape=[3];
model:layers matmul(w, shape=[6]), add(b), tanh(), matmul(w), add(b), softmax();
"""
TWO_HEADS = """
trunk:input shape=[4]; trunk:layers matmul(w, shape=[6]), add(b), tanh();
kind:output shape=[3]; kind:layers matmul(w, node=trunk), add(b), softmax();
size:output shape=[1]; size:layers matmul(w, node=trunk), add(b);
"""

PROGRAM = """
from webnnm import Dataset, NNModel

found = []
for backend in ("numpy", "webnn", "webnn"):
    dataset = Dataset(
        {inputs: x}, targets, split=(0.6, 0.2, 0.2), batch_size=12, sample_weight=weights or None
    )
    model = await NNModel.create(
        source=source, backend=backend, dataset=dataset, log=lambda _: None, seed=3
    )
    history = await model.train(epochs=8, **settings)
    last = history.to_dict()["epochs"][-1]
    found.append({
        "losses": history.losses,
        "validation": [record.val_loss for record in history.epochs],
        "best": (history.scouting or {}).get("best"),
        "last": {name: last[name] for name in ("scale", "clip_rate", "grad_norm", "penalty")},
        "seconds": history.phases.get("scouting"),
        "weights": [p.value.tolist() for p in model.params()],
    })
    model.close()
found
"""

SETTINGS: dict[str, dict[str, Any]] = {
    # The signs that lion takes may hang on rounding errors.
    **{o.name: {"optimizer": o.name} for o in OPTIMIZERS.values() if o.name != "lion"},
    "scaling": {"gradient_scaling": "on", "growth_interval": 5, "optimizer": "adam"},
    "global clipping": {"gradient_clipping": "global", "optimizer": "sgdm", "lr": 0.1},
    "adaptive clipping": {"gradient_clipping": "agc", "optimizer": "sgdm", "lr": 0.1},
    "regularisation": {"regularization": "L1+L2", "lambda1": 1e-3, "lambda2": 1e-2},
    "accumulation": {"accumulate": 2, "optimizer": "adam"},
    "class weights": {"class_weight": "balanced"},
    "freezing": {"freeze": 0.3, "seeds": 0},
    "one cycle": {"schedule": "onecycle", "optimizer": "adam"},
}
LOSSES = ("MSE", "MAE", "HUL", "BCE", "CCE", "SCE", "KLD", "FOL")


def data() -> dict[str, Any]:
    draw = random.Random(0)
    x = [[draw.gauss(0, 1) for _ in range(FEATURES)] for _ in range(ROWS)]
    y = [[float(k == (row[0] > 0) + (row[1] > 0)) for k in range(3)] for row in x]
    return {"x": x, "y": y}


async def train(
    page: PyodidePage, source: str, weights: Sequence[float] = (), **settings: Any
) -> Any:
    rows = data()
    targets: Any = {"model": rows["y"]}
    inputs = "model"
    if source == TWO_HEADS:
        inputs = "trunk"
        targets = {"kind": rows["y"], "size": [[40 * row[2]] for row in rows["x"]]}
    given = {"x": rows["x"], "targets": targets, "inputs": inputs, "settings": settings}
    return await page.run_python(PROGRAM, source=source, weights=list(weights), **given)


def agree(found: Any, tolerance: float = 1e-3) -> None:
    numpy, first, second = found
    assert first["losses"] == pytest.approx(numpy["losses"], rel=tolerance)
    assert first["validation"] == pytest.approx(numpy["validation"], rel=tolerance)
    assert first["best"] == numpy["best"]
    assert first["losses"] == second["losses"]
    assert first["weights"] == second["weights"]


@pytest.mark.usefixtures("numpy_in_pages")
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
async def test_backends_agree_and_runs_repeat(
    pyodide_page: PyodidePage, settings: dict[str, Any]
) -> None:
    found = await train(pyodide_page, CLASSES, **({"seeds": 0} | settings))
    agree(found)
    numpy, webnn, _ = found
    assert webnn["last"] == pytest.approx(numpy["last"], rel=1e-2, nan_ok=True)


@pytest.mark.usefixtures("numpy_in_pages")
@pytest.mark.parametrize("loss", LOSSES)
async def test_losses_agree(pyodide_page: PyodidePage, loss: str) -> None:
    head = "sigmoid" if loss == "BCE" else "softmax"
    text = CLASSES.replace("softmax", head) + f"model:loss {loss};"
    agree(await train(pyodide_page, text, seeds=0))


@pytest.mark.usefixtures("numpy_in_pages")
@pytest.mark.parametrize("source", [CLASSES, TWO_HEADS], ids=["one output", "two outputs"])
async def test_weights_of_rows_count_alike(pyodide_page: PyodidePage, source: str) -> None:
    """In steps of a batch, in several steps of one dispatch, in validation losses."""
    weights = [(row % 4) / 2 for row in range(ROWS)]
    found = await train(pyodide_page, source, weights, seeds=0)
    agree(found)
    alike = await train(pyodide_page, source, seeds=0)
    assert abs(alike[1]["losses"][0] - found[1]["losses"][0]) > 1e-3, "they count"


@pytest.mark.usefixtures("numpy_in_pages")
async def test_weights_of_labels_agree(pyodide_page: PyodidePage) -> None:
    text = CLASSES.replace("softmax", "sigmoid") + "model:loss BCE;"
    agree(await train(pyodide_page, text, seeds=0, class_weight={"0": 4.0, "2": 0.5}))


@pytest.mark.usefixtures("numpy_in_pages")
async def test_uncertainty_weighs_two_heads_alike(pyodide_page: PyodidePage) -> None:
    agree(await train(pyodide_page, TWO_HEADS, seeds=0, optimizer="adam"))


@pytest.mark.usefixtures("numpy_in_pages")
async def test_scouting_chooses_the_same_start(pyodide_page: PyodidePage) -> None:
    found = await train(pyodide_page, CLASSES, seeds=30)
    agree(found)
    assert found[0]["best"] > 0


@pytest.mark.usefixtures("numpy_in_pages")
async def test_float16_trains_with_scaling(pyodide_page: PyodidePage) -> None:
    numpy, first, second = await train(
        pyodide_page, CLASSES, compute_type="float16", seeds=0, optimizer="adam", lr=0.01
    )
    assert first["last"]["scale"] is not None
    assert first["losses"] == pytest.approx(numpy["losses"], rel=2e-2)
    assert first["losses"] == second["losses"]
    assert first["losses"][-1] < first["losses"][0]


async def test_divergence_names_the_layer(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm import Dataset, NNModel, WebNNMError
source = '''model:input shape=[1]; model:output shape=[1]; model:loss MSE;
model:layers mul(a), exp(), exp();'''
dataset = Dataset([[1.0], [2.0]], [[1e6], [2e6]], split=(1, 0, 0))
model = await NNModel.create(source=source, dataset=dataset, log=lambda _: None)
message = ""
try:
    await model.train(epochs=50, optimizer="sgdm", lr=1.0, seeds=0)
except WebNNMError as error:
    message = str(error)
[message, model.params()[0].value.tolist()]
"""
    message, value = await pyodide_page.run_python(program)
    assert message.startswith("NNM708")
    assert 'layer "exp1" (line 2, column 22)' in message
    assert all(abs(v) < float("inf") for v in value)


async def test_activations_that_are_computed_again_change_nothing(
    pyodide_page: PyodidePage,
) -> None:
    program = """
from webnnm import IrisDataset, NNModel

source = '''
model:input shape=[4]; model:output shape=[3];
model:layers unit(repeat=9), matmul(w), add(b), softmax();
unit:layers matmul(w, shape=[8]), layerNorm(s, t), dropout(0.1), tanh();
'''
found = []
for recompute in (False, True):
    model = await NNModel.create(
        source=source, dataset=await IrisDataset.create(standardize=True), backend="webnn",
        log=lambda _: None)
    history = await model.train(epochs=4, seeds=0, progress="off", recompute=recompute)
    found.append([history.losses, [list(model.state.parameters.value(p.name).values())
                                   for p in model.params()]])
    model.close()
found
"""
    kept, again = await pyodide_page.run_python(program)
    assert again == kept


VALIDATED = """
from pyodide.code import run_js
from webnnm import Dataset, NNModel

written = run_js('''(() => {
  const found = [];
  const write = MLContext.prototype.writeTensor;
  MLContext.prototype.writeTensor = function (tensor, ...given) {
    found.push(`${tensor.dataType}${tensor.shape}`);
    return write.call(this, tensor, ...given);
  };
  found.restore = () => { MLContext.prototype.writeTensor = write; };
  return found;
})()''')
counts = []
for epochs in (2, 7):
    dataset = Dataset({"model": x}, targets, split=(0.4, 0.6, 0), batch_size=12)
    model = await NNModel.create(
        source=source, backend="webnn", dataset=dataset, log=lambda _: None
    )
    written.length = 0
    history = await model.train(epochs=epochs, seeds=0, restore_best=False)
    shapes = list(written)
    counts.append([shapes.count("float3230,4"), shapes.count("float3230,3"), len(history.epochs)])
    model.close()
written.restore()
counts
"""


async def test_the_validation_subset_goes_to_the_device_once(pyodide_page: PyodidePage) -> None:
    rows = data()
    source = f"model:loss CCE;{CLASSES}"
    found = await pyodide_page.run_python(
        VALIDATED, source=source, x=rows["x"], targets={"model": rows["y"]}
    )
    assert found == [[1, 1, 2], [1, 1, 7]]  # its 30 rows and their targets, however many epochs
