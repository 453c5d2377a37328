"""Says what runs models in this browser, and trains a network in sight."""

import json

import page
from page import element, ready, show_what_runs
from pyscript import when, window
from pyscript.js_modules import plane

from webnnm.page_modules import load_rest

SOURCE = """
spirals:input shape=[2]; spirals:output shape=[2];
spirals:layers dense(shape=[16], activation=tanh), dense(shape=[16], activation=tanh),
  dense(shape=[2], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""
EXTENT, GRID = 1.3, 40
"""How far the plane reaches from 0, and its cells in each direction."""
EPOCHS, PAINTED = 400, 4
"""The plane is painted after so many epochs."""
STILL = "(prefers-reduced-motion: reduce)"


@when("click", "#copy")
async def copy(event):
    """Copy the example to the clipboard."""
    if await page.copy(element("snippet").textContent):
        element("copy").textContent = "Copied"


async def learn():
    """Train a network on two spirals, and show what it decides meanwhile."""
    await load_rest()
    from webnnm import Dataset, NNModel, make_spirals
    from webnnm.core.arrays import HostArray

    points, classes = make_spirals(160)
    marks = json.dumps([(*point, number) for point, number in zip(points, classes, strict=True)])
    wide = 2 * EXTENT / GRID
    places = [(k + 0.5) * wide - EXTENT for k in range(GRID)]
    cells = HostArray.of([(x, y) for y in places for x in places], "float32")
    data = Dataset(points, classes, split=(1, 0, 0), batch_size=20)
    async with await NNModel.create(source=SOURCE, dataset=data, seed=1, log=page.log) as model:

        async def paint(record):
            if record.epoch % PAINTED and record.epoch != record.epochs:
                return
            shares = [round(row[-1], 2) for row in (await model.predict(cells, GRID**2)).tolist()]
            verb = "learns" if record.epoch < record.epochs else "has learnt"
            text = (
                f"A network of {model.state.parameters.count} parameters {verb} two spirals on "
                f"{model.backend.description}: epoch {record.epoch} of {record.epochs}, "
                f"loss {record.loss:.3f}"
            )
            plane.show(json.dumps(shares), marks, text)

        settings = {"epochs": EPOCHS, "weight_decay": 0, "restore_best": False}
        await model.train(settings, on_epoch=paint, review=False, progress=None)


report = await show_what_runs()
element("runs").dataset.webnn = str(report.webnn).lower()
ready()
if report.webnn and not window.matchMedia(STILL).matches:
    await learn()
