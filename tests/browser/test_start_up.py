"""What pages load of webnnm, and when: the first wheel, the second one, modules without files."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import BrowserContext

from tests.browser.harness import PageLog, PyodidePage, PythonError, open_pyodide_in
from tools import compile_wheel, page_wheel
from tools.measure import LARGEST_COMPILED_KB, LARGEST_WHEEL_KB
from tools.page_budget import LIMIT_ALL_KB, LIMIT_FIRST_KB, LIMIT_KB, LIMITS_ALL_KB, visit

REST = "**/webnnm_rest-*.whl"
PIPELINE = "import webnnm\nwebnnm.pipeline.__name__"
TRAIN = """
from webnnm import IrisDataset, NNModel
SOURCE = '''
model:input shape=[4]; model:output shape=[3];
model:layers dense(shape=[3], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
'''
iris = await IrisDataset.create(standardize=True)
async with await NNModel.create(source=SOURCE, dataset=iris, log=lambda _: None) as model:
    await model.train(epochs=20)
    result = await model.test()
result.samples
"""
MODEL = (
    TRAIN[: TRAIN.index("async with")]
    + """
async with await NNModel.create(source=SOURCE, dataset=iris, log=lambda _: None) as model:
    count = model.state.parameters.count
count
"""
)
FINDER = """
import sys
(modules,) = (each for each in sys.meta_path if type(each).__name__ == "Modules")
"""
WATCHED = f"""
import dataclasses, webnnm
from webnnm.page_modules import key_of
{FINDER}
execute = dataclasses.exec
generated = []

def watch(text, names, made):
    if names["__name__"].startswith("webnnm."):
        generated.append((key_of(text) in modules.codes, names["__name__"]))
    execute(text, names, made)

dataclasses.exec = watch
"""
COMPILED = """
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
inside = [file.removeprefix(modules.folder + "/") for file in files if file]
here = [file for file in inside if not file.startswith("/")]
found = [file in modules.codes for file in here].count(True), sum(ready for ready, _ in generated)
missing = [file for file in here if file not in modules.codes]
[found, sorted(missing), [name for ready, name in generated if not ready]]
"""
WAIT = "import webnnm\nfrom webnnm.page_modules import load_rest\n"
RARE = "from webnnm.ops import lstm\nlstm.__file__.rpartition('/')[2]"
COME = f"""
import asyncio
from webnnm.page_modules import REST
{FINDER}
while not modules.has(REST):
    await asyncio.sleep(0)
"""
LOADED = """
import pathlib, pyodide_js, webnnm
file = pyodide_js.lockfile.packages.webnnm.file_name
[file, *(path.name for path in pathlib.Path(webnnm.__path__[0]).glob("*.code"))]
"""
OTHER_PYTHON = f"""
import pathlib, site
place = pathlib.Path(site.getsitepackages()[0], "webnnm", "first.code")
place.write_bytes(b"mark" + place.read_bytes()[4:])
import webnnm
from webnnm import parse
{FINDER}
[len(modules.codes), "notation/parser.py" in modules.texts, parse("m:input shape=[2];") is not None]
"""
TREE = f"""
import importlib
import webnnm.ops.lstm  # of the second wheel
import webnnm.tasks  # of the third wheel
{FINDER}
names = sorted(name for name in {{**modules.texts, **modules.codes}} if name.endswith(".py"))
dotted = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
"""


@pytest.fixture
async def fresh(
    webnn_context: BrowserContext, page_log: PageLog, site_url: str
) -> tuple[PyodidePage, list[str]]:
    """A page that just started Pyodide, with what it asks for from then on."""
    page = await open_pyodide_in(webnn_context, page_log, site_url)
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    return page, asked


def second_wheel() -> str:
    return compile_wheel.current().rest.name


def third_wheel() -> str:
    return compile_wheel.current().models.name


def test_the_first_wheel_is_small() -> None:
    assert page_wheel.current().first.stat().st_size < LARGEST_WHEEL_KB * 1000
    assert compile_wheel.current().first.stat().st_size < LARGEST_COMPILED_KB * 1000


async def test_another_python_takes_the_texts(fresh: tuple[PyodidePage, list[str]]) -> None:
    page, _ = fresh
    assert await page.run_python(OTHER_PYTHON) == [0, True, True]


@pytest.mark.projects("webnn")
@pytest.mark.parametrize(
    "name", ["index.html", "iris.html", "arrays.html", "playground.html", "hub.html"]
)
async def test_the_largest_pages_of_each_kind_load_little_before_they_can_be_used(
    launch: Any, site_url: str, project: Any, name: str
) -> None:
    loaded = await visit(await launch(project.name), site_url, name)
    assert loaded.own_kb <= LIMIT_KB
    assert loaded.all_kb <= LIMITS_ALL_KB.get(name, LIMIT_ALL_KB)


@pytest.mark.projects("webnn")
async def test_the_first_page_shows_itself_with_few_bytes(
    launch: Any, site_url: str, project: Any
) -> None:
    loaded = await visit(await launch(project.name), site_url, "index.html")
    assert loaded.own_kb < loaded.shown_kb <= LIMIT_FIRST_KB


async def test_a_first_training_asks_for_the_second_wheel_once(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    """What is measured of a training and of its start comes with it."""
    page, asked = fresh
    assert await page.run_python(TRAIN) == 45
    assert [name for name in asked if name.startswith("webnnm")] == [second_wheel()]


async def test_a_first_training_compiles_nothing(fresh: tuple[PyodidePage, list[str]]) -> None:
    """Neither modules nor the methods of their dataclasses; a class of the program's own is."""
    page, _ = fresh
    own = "@dataclasses.dataclass\nclass Own:\n    number: int\nassert Own(3) == Own(number=3)\n"
    (modules, classes), *missing = await page.run_python(WATCHED + own + TRAIN + COMPILED)
    assert modules > 200
    assert classes > 100
    assert missing == [["__init__.py", "page_modules.py"], []]


async def test_loading_a_pretrained_model_compiles_nothing(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, _ = fresh
    program = """
import webnnm
from webnnm.formats.onnx.importing.table import find_entry
webnnm.load_onnx, webnnm.from_pretrained
entries = [find_entry("", name) for name in ("Conv", "Gemm", "MatMul", "LayerNormalization")]
assert all(entries)
"""
    (modules, _), *missing = await page.run_python(WATCHED + program + COMPILED)
    assert modules > 200
    assert missing == [["__init__.py", "page_modules.py"], []]


async def test_a_first_model_needs_the_bytecode_of_the_first_wheel_alone(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, _ = fresh
    assert await page.run_python(LOADED) == [compile_wheel.current().first.name, "first.code"]
    await page.page.context.route(REST, lambda route: route.abort())
    assert await page.run_python(MODEL) == 27


async def test_the_second_wheel_is_waited_for_when_it_is_needed_at_once(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, asked = fresh
    assert await page.run_python("import webnnm\n" + RARE) == "lstm.py"
    assert [name for name in asked if name.startswith("webnnm")] == [second_wheel()]


async def test_the_second_wheel_comes_by_itself(fresh: tuple[PyodidePage, list[str]]) -> None:
    """Then nothing is missing when the network goes, and nothing is asked for twice."""
    page, asked = fresh
    await page.run_python("import webnnm")
    assert not asked
    await page.run_python(COME)
    await page.page.context.set_offline(True)
    assert await page.run_python(RARE) == "lstm.py"
    assert asked == [second_wheel()]


async def test_all_who_wait_for_the_second_wheel_share_one_request(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, asked = fresh
    twice = "import asyncio\nawait asyncio.gather(load_rest(), load_rest())\nawait load_rest()\n"
    assert await page.run_python(WAIT + twice + RARE) == "lstm.py"
    assert asked == [second_wheel()]


async def test_who_waits_for_the_second_wheel_without_a_network_can_ask_again(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, _ = fresh
    await page.page.context.set_offline(True)
    await page.run_python(WAIT + "await load_rest()")
    with pytest.raises(PythonError, match="cannot be fetched now"):
        await page.run_python(RARE)
    await page.page.context.set_offline(False)
    assert await page.run_python(WAIT + "await load_rest()\n" + RARE) == "lstm.py"


async def test_the_second_wheel_is_loaded_like_any_other(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, asked = fresh
    await page.run_python("import pyodide_js\nawait pyodide_js.loadPackage('webnnm-rest')\nNone")
    asked.clear()
    assert await page.run_python("import webnnm\n" + RARE) == "lstm.py"
    assert not asked


async def test_an_error_says_what_to_do_without_the_second_wheel(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, _ = fresh
    await page.page.context.set_offline(True)
    with pytest.raises(PythonError, match=r'webnnm/ops/lstm.py .*loadPackage."webnnm-rest"'):
        await page.run_python("import webnnm\n" + RARE)
    await page.page.context.set_offline(False)
    assert await page.run_python(RARE) == "lstm.py"


async def test_the_third_wheel_comes_with_pretrained_models_alone(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, asked = fresh
    await page.run_python(WAIT + "await load_rest()\n" + RARE)
    assert third_wheel() not in asked
    assert await page.run_python(PIPELINE) == "pipeline"
    assert asked.count(third_wheel()) == 1


async def test_who_waits_for_the_third_wheel_is_not_blocked(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, asked = fresh
    await page.run_python("from webnnm.page_modules import load_models\nawait load_models()")
    assert {*asked} == {second_wheel(), third_wheel()}
    await page.page.context.set_offline(True)
    assert await page.run_python(PIPELINE) == "pipeline"
    await page.page.context.set_offline(False)


async def test_errors_do_not_need_the_sources(fresh: tuple[PyodidePage, list[str]]) -> None:
    page, asked = fresh
    await page.run_python("import webnnm")
    await page.page.context.set_offline(True)
    program = """
import traceback
from webnnm import WebNNMError, parse
try:
    parse("model:layers dense(;")
except WebNNMError as error:
    text = "".join(traceback.format_exception(error))
text
"""
    text = await page.run_python(program)
    assert 'webnnm/notation/cursor.py", line' in text
    assert "raise NotationError(" not in text
    assert compile_wheel.current().sources.name in asked


async def test_operators_are_found_one_by_one(fresh: tuple[PyodidePage, list[str]]) -> None:
    """An operator that is used imports its own module, a word that nobody knows imports all."""
    page, _ = fresh
    program = """
import sys
from webnnm import GraphBuilder, WebNNMError, ops
count = lambda: sum(name.startswith("webnnm.ops.") for name in sys.modules)
b = GraphBuilder()
x = b.input("x", "float32", [2])
before = count()
x.relu()
after = count()
try:
    x.rellu()
except AttributeError as error:
    text = str(error)
[before, after, count(), len(ops.registry()), text]
"""
    before, after, everything, operators, text = await page.run_python(program)
    assert after <= before + 5
    assert everything > 60 > after
    assert operators > 100
    assert "relu" in text


async def test_tracebacks_show_the_text_and_every_module_can_be_imported(
    fresh: tuple[PyodidePage, list[str]],
) -> None:
    page, _ = fresh
    program = """
import inspect, traceback
from webnnm import WebNNMError, ops, parse
try:
    parse("model:layers dense(;")
except WebNNMError as error:
    text = "".join(traceback.format_exception(error))
[text, inspect.getsource(ops.lookup)]
"""
    text, source = await page.run_python(program)
    assert 'webnnm/notation/cursor.py", line' in text
    assert "raise NotationError(" in text
    assert source.startswith("def lookup(name):")
    program = "import webnnm\n" + TREE + "[importlib.import_module(f'webnnm.{d}').__name__ "
    # One is on top of Jinja, which pages fetch with the first chat template.
    program += "for d in dotted if d != 'transformers.template_sandbox']"
    found = await page.run_python(program)
    assert len(found) > 200


@pytest.mark.projects("worker")
async def test_a_worker_waits_for_the_second_wheel_too(page: Any, site_url: str) -> None:
    """Workers start from blobs, and have addresses of their own."""
    await page.goto(f"{site_url}/tests/empty.html")
    program = """
    ([index, code]) => new Promise((resolve, reject) => {
      const source = `import { loadPyodide } from "${index}/pyodide.mjs";
        const pyodide = await loadPyodide({ indexURL: "${index}", packages: ["webnnm"] });
        postMessage(pyodide.runPython(${JSON.stringify(code)}));`;
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const worker = new Worker(url, { type: "module" });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(event.message);
    })
    """
    arguments = [f"{site_url}/vendor/pyodide", "import webnnm\n" + RARE]
    assert await page.evaluate(program, arguments) == "lstm.py"
