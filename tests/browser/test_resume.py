"""A training goes on after the page was loaded anew, from what the browser kept."""

from __future__ import annotations

import pytest
from playwright.async_api import BrowserContext

from tests.browser.harness import PageLog, PyodidePage, open_pyodide_in

SET_UP = """
from webnnm import IrisDataset, NNModel
from webnnm.snapshots.storage import discard

source = '''
model:input shape=[4]; model:output shape=[3];
model:layers matmul(w, shape=[8]), add(b), tanh(), dropout(0.1), matmul(w), add(b), softmax();
'''
settings = {"epochs": 12, "batch_size": 16, "seeds": 5, "progress": "off", "optimizer": "adam"}
place = "browser:run.webnnm.safetensors"

async def given():
    data = await IrisDataset.create(standardize=True)
    return {"dataset": data, "backend": backend, "log": lambda _: None}

def told(model, history):
    values = {p.name: [float(v) for v in model.state.parameters.value(p.name).values()]
              for p in model.params()}
    return [values, [r.epoch for r in history.epochs], [r.loss for r in history.epochs],
            [history.best_epoch, history.best_loss, model.step]]
"""
WHOLE = """
model = await NNModel.create(source=source, **await given())
answer = told(model, await model.train(settings))
model.close()
answer
"""
BEGIN = """
model = await NNModel.create(source=source, **await given())
await model.train(settings, on_batch=lambda record: (record.epoch, record.batch) != (6, 3))
await model.save(place)
model.close()
"""
GO_ON = """
model = await NNModel.load(place, **await given())
answer = told(model, await model.train(resume=True))
model.close()
await discard(place)
answer
"""
WITHOUT_FILES = "import js; js.eval('delete FileSystemFileHandle.prototype.createWritable')"


# The file is the same, whatever it lies in.
@pytest.mark.usual("webnn-private files", "numpy-database")
@pytest.mark.parametrize("storage", ["private files", "database"])
@pytest.mark.parametrize("backend", ["webnn", "numpy"])
async def test_a_training_goes_on_after_a_reload(
    webnn_context: BrowserContext,
    page_log: PageLog,
    site_url: str,
    backend: str,
    storage: str,
    numpy_in_pages: None,
) -> None:
    page = await open_pyodide_in(webnn_context, page_log, site_url)
    start = f"backend = {backend!r}\n{WITHOUT_FILES if storage == 'database' else ''}{SET_UP}"
    whole = await page.run_python(start + WHOLE)
    await page.run_python(start + BEGIN)
    await page.start_anew(site_url)
    found = await page.run_python(start + GO_ON)
    assert found[1] == [6, 7, 8, 9, 10, 11, 12]
    rest = [whole[0], whole[1][5:], whole[2][5:], whole[3]]
    if backend == "numpy":
        assert found == rest
    else:
        assert found[2] == pytest.approx(rest[2], rel=1e-6)
        assert found[3] == pytest.approx(rest[3], rel=1e-6)
        for name, values in rest[0].items():
            assert found[0][name] == pytest.approx(values, rel=1e-6, abs=1e-7), name


async def test_a_file_is_downloaded(pyodide_page: PyodidePage) -> None:
    program = f"""backend = "auto"
{SET_UP}
model = await NNModel.create(source=source, **await given())
await model.save("download:iris.webnnm.safetensors")
model.serialize()
"""
    async with pyodide_page.page.expect_download() as downloading:
        text = await pyodide_page.run_python(program)
    download = await downloading.value
    assert download.suggested_filename == "iris.webnnm.safetensors"
    from webnnm import NNModel

    model = await NNModel.load(await download.path(), backend="numpy", log=lambda _: None)
    assert model.serialize() == text


async def test_what_the_browser_does_not_keep_is_told(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm import DataError, NNModel
found = []
for place in ("browser:nothing", "browser:a/b", "browser:"):
    try:
        await NNModel.load(place, log=lambda _: None)
    except DataError as error:
        found.append([error.code, str(error)])
found
"""
    found = await pyodide_page.run_python(program)
    assert [code for code, _ in found] == ["NNM715"] * 3
    assert 'has no "nothing" stored' in found[0][1]
    assert '"a/b" is not a valid name' in found[1][1]
