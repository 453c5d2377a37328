"""Exported pages answer without Python as models do in Python: with and without WebNN."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.exported_cases import CASES, Case, open_model
from tests.browser.site_pages import WATCH_POLICY
from tools.common import SITE
from webnnm import GraphBuilder, TableDataset, export_graph, load_onnx
from webnnm.cli.serve import SiteServer
from webnnm.core.errors import WebNNMError
from webnnm.formats.page.exporting import build_page, export_page
from webnnm.formats.page.onnx_runtime import FILES
from webnnm.model.serving import answer

ANSWER = """async ([engine, rows]) => {
  const { openModel } = await import("./webnnm/inference/model.js");
  const model = await openModel("./model.json", engine);
  const answers = [];
  for (const row of rows) {
    answers.push(await model.predict(row).catch(({ message }) => ({ error: message })));
  }
  model.close();
  return { engine: model.engine, answers };
}"""
DRAWN = """async ([width, height, pixels]) => {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const image = new ImageData(new Uint8ClampedArray(pixels), width);
  canvas.getContext("2d").putImageData(image, 0, 0);
  const model = document.querySelector("webnnm-model");
  return model.predict(canvas).then((m) => ({ m }), ({ message }) => ({ error: message }));
}"""
RECALLED = f"""async (settings) => {{
  await document.querySelector("webnnm-model").signature; // it opens the model as well
  const build = MLGraphBuilder.prototype.build;
  let builds = 0;
  MLGraphBuilder.prototype.build = function (...args) {{
    builds += 1;
    return build.apply(this, args);
  }};
  await ({ANSWER})(settings);
  return builds;
}}"""
AFTER_LOSS = """async (row) => {
  const contexts = [];
  const create = navigator.ml.createContext.bind(navigator.ml);
  navigator.ml.createContext = async (...options) => {
    contexts.push(await create(...options));
    return contexts.at(-1);
  };
  const { openModel } = await import("./webnnm/inference/model.js");
  const model = await openModel(new URL("./model.json", document.baseURI).href, "webnn");
  const before = await model.predict(row);
  contexts[0].destroy();
  const both = await Promise.all([model.predict(row), model.predict(row)]);
  model.close();
  return { before, both, opened: contexts.length };
}"""
ODD = ("toString", "__proto__", "constructor")
"""Columns with names that every object in JavaScript has."""
PREDICT_ODD = """async (rows) => {
  const { openModel } = await import("./webnnm/inference/model.js");
  const model = await openModel(new URL("./model.json", document.baseURI).href);
  const parsed = rows.map((text) => JSON.parse(text));
  const bare = Object.defineProperties(
    Object.create(null), Object.getOwnPropertyDescriptors(parsed[0]));
  const answer = (row) => model.predict(row).catch(({ message }) => ({ error: message }));
  return Promise.all([...parsed, bare].map(answer));
}"""
MANY = """async (count) => {
  const { readPicture } = await import("./webnnm/inference/pictures.js");
  const { describe } = await import("./webnnm/inference/answers.js");
  const light = { white: 255, ofBytes: true };
  const pixels = new Float32Array(count).fill(0.5);
  const picture = await readPicture("m", { light, fieldShape: [count] }, pixels);
  const scores = new Float32Array(count).fill(-9);
  scores[count - 1] = 1;
  const labels = ["probability", "logit", "logProbability"].map((scale) => {
    const format = { shape: [count], positions: false, kind: "classes", classes: count, scale };
    return describe({ m: format }, { m: scores }, {}).m.label;
  });
  return [picture[count - 1], ...labels];
}"""
KEPT = """async () => {
  const { promise: renewed, resolve } = Promise.withResolvers();
  const registration = await navigator.serviceWorker.ready;
  await registration.update();
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  if (worker.state === "activated") resolve();
  worker.addEventListener("statechange", () => worker.state === "activated" && resolve());
  await renewed;
  const cache = await caches.open("webnnm-page");
  return (await cache.keys()).map(({ url }) => url.split("/").at(-1));
}"""
LISTEN = """(element) => {
  const { promise, resolve } = Promise.withResolvers();
  globalThis.said = promise;
  element.addEventListener("prediction", ({ detail }) => resolve(detail), { once: true });
}"""
CODE = re.compile(r"NNM\d{3}")


async def find_answers(case: Case, folder: Path) -> list[Any]:
    """Export the model of a case; return what Python answers to its rows."""
    model = await open_model(case)
    await export_page(model.state, folder, case.sequence)
    answers: list[Any] = []
    for row in case.rows:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # rows far from those of the training
                answers.append(json.loads(await answer(model, row)))
        except WebNNMError as error:
            answers.append({"error": error.code})
    return answers


def check_equal(actual: Any, expected: Any, where: str) -> None:
    """Check that answers are the same but for rounding, and errors have the same code."""
    if isinstance(expected, dict) and "error" in expected:
        assert isinstance(actual, dict) and "error" in actual, where
        code = CODE.match(actual["error"])
        assert code and code[0] == expected["error"], (where, actual)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        for key, value in expected.items():
            check_equal(actual[key], value, f"{where}, {key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for index, value in enumerate(expected):
            check_equal(actual[index], value, f"{where}[{index}]")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=2e-5, abs=2e-6), where
    else:
        assert actual == expected, where


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Path]:
    """A folder for an exported page."""
    yield tmp_path / "page"


@pytest.mark.webnn
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_answers_are_those_of_python(
    case: Case, folder: Path, webnn_context: Any, page_log: Any
) -> None:
    expected = await find_answers(case, folder)
    assert any("error" not in one for one in expected)
    engines = json.loads((folder / "model.json").read_text())["engines"]
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        for engine in engines:
            result = await page.evaluate(ANSWER, [engine, case.rows])
            assert result["engine"] == engine
            for row, actual, right in zip(case.rows, result["answers"], expected, strict=True):
                check_equal(actual, right, f"{engine}, {row}")
        await check_form(page, case)
    await page.close()


async def check_form(page: Any, case: Case) -> None:
    """Fill in the form of a page, and check that it answers."""
    element, (row, *_) = page.locator("webnnm-model"), case.rows
    file = {"name": "a.png", "mimeType": "image/png", "buffer": await page.screenshot()}
    for field in await element.locator("input, textarea").all():
        kind = await field.evaluate("(field) => field.type")
        if kind == "file":
            await field.set_input_files(file)
        elif kind in ("date", "datetime-local"):
            assert (await field.input_value()).startswith(f"{case.days_of}-")
        elif kind == "textarea":
            await field.fill(row if isinstance(row, str) else json.dumps(row))
        else:
            await field.fill("1")
    await element.get_by_role("button", name="Predict").click()
    answer = element.locator("form .whole[role=status] :is(p, li)").first
    failure = element.locator("p[role=status]:not(:empty)")
    await answer.or_(failure).first.wait_for()
    assert await failure.all_inner_texts() == []
    shown = await element.locator("form .whole[role=status]").inner_text()
    assert "object" not in shown and "NaN" not in shown and "undefined" not in shown


@pytest.mark.webnn
async def test_columns_have_the_names_of_members_of_every_object(
    folder: Path, webnn_context: Any, page_log: Any
) -> None:
    rows = {name: [1.0, 2.0, 4.0] for name in ODD} | {"dear": ["no", "yes", "no"]}
    case = Case(
        "odd names",
        "m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), softmax();",
        lambda: TableDataset(rows, label="dear", split=(1, 0, 0)),
        [dict.fromkeys(ODD, 2), *({name: 1 for name in ODD if name != one} for one in ODD)],
    )
    expected = await find_answers(case, folder)
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        answers = await page.evaluate(PREDICT_ODD, [json.dumps(row) for row in case.rows])
    check_equal(answers, [*expected, expected[0]], "odd names")
    await page.close()


async def test_pictures_and_classes_can_be_many(
    folder: Path, webnn_context: Any, page_log: Any
) -> None:
    await find_answers(next(case for case in CASES if case.name.startswith("grey")), folder)
    page = await webnn_context.new_page()
    page_log.watch(page)
    count = 256 * 256 * 3
    with SiteServer(folder) as server:
        await page.goto(server.url)
        assert await page.evaluate(MANY, count) == [0.5, *[count - 1] * 3]
    await page.close()


@pytest.mark.projects("webnn", "no-webnn")
async def test_the_element_shows_a_form_and_predicts(folder: Path, page: Any) -> None:
    (right, *_) = await find_answers(CASES[0], folder)
    await page.add_init_script(WATCH_POLICY)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        await page.get_by_label("city").select_option("Ulm")
        await page.get_by_label("area").fill("40")
        await page.get_by_label("rooms").fill("2")
        await page.get_by_role("button", name="Predict").click()
        first = page.locator("webnnm-model li").first
        await first.wait_for()
        assert right["m"]["label"] in await first.inner_text()
        assert await violations(page) == []
        assert await page.evaluate("refused") == []
        names = await page.evaluate("performance.getEntriesByType('resource').map((it) => it.name)")
        assert not any("pyodide" in name or "model-worker" in name for name in names)


@pytest.mark.projects("webnn", "no-webnn")
async def test_fields_of_a_form_may_be_empty_where_cells_were(folder: Path, page: Any) -> None:
    case = next(case for case in CASES if case.name.startswith("features for missing cells"))
    rows = [
        {"city": "", "area": None, "since": ""},
        {"city": "Rome", "area": 40, "since": "2020-05-01"},
    ]
    expected = await find_answers(case._replace(rows=rows), folder)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        city = page.get_by_label("city")
        await city.wait_for()  # the form appears once the model is loaded
        assert (await city.locator("option").all_inner_texts())[:1] == ["missing"]
        for row, right, option in zip(rows, expected, ("missing", "other"), strict=True):
            await city.select_option(label=option)
            await page.get_by_label("area").fill(str(row["area"] or ""))
            await page.get_by_label("since").fill(str(row["since"]))
            await page.locator("webnnm-model").evaluate(LISTEN)
            await page.get_by_role("button", name="Predict").click()
            check_equal({"m": await page.evaluate("said")}, right, option)


async def test_a_page_that_was_visited_works_without_a_network(
    folder: Path, webnn_context: Any, new_page: Any
) -> None:
    (right, *_) = await find_answers(CASES[0], folder)
    page = await new_page(webnn_context.browser)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        await page.evaluate("navigator.serviceWorker.ready.then(() => {})")
        url = server.url
    await page.goto(url)  # the server has ended
    await page.locator("webnnm-model form").wait_for()
    for engine in json.loads((folder / "model.json").read_text())["engines"]:
        answers = (await page.evaluate(ANSWER, [engine, CASES[0].rows[:1]]))["answers"]
        check_equal(answers, [right], engine)


async def test_a_later_export_replaces_what_the_service_worker_keeps(
    folder: Path, webnn_context: Any, new_page: Any
) -> None:
    await find_answers(CASES[0], folder)
    page = await new_page(webnn_context.browser)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        await page.evaluate("navigator.serviceWorker.ready.then(() => {})")
        old = {path.name for path in folder.glob("model-*.bin")}
        other = next(case for case in CASES if case.name.startswith("flowers"))
        (right, *_) = await find_answers(other, folder)
        await page.goto(server.url)
        answers = (await page.evaluate(ANSWER, ["script", other.rows[:1]]))["answers"]
        check_equal(answers, [right], "the later model")
        kept = await page.evaluate(KEPT)
    new = {path.name for path in folder.glob("model-*.bin")}
    assert {name for name in kept if name.endswith(".bin")} == new != old


@pytest.mark.parametrize("alpha", [255, 254])
@pytest.mark.parametrize("name", ["grey", "coloured"])
async def test_pictures_are_read_as_python_reads_them(
    folder: Path, webnn_context: Any, page_log: Any, name: str, alpha: int
) -> None:
    case = next(case for case in CASES if case.name.startswith(name))
    pixels = [(7 * k) % 256 for k in range(6 * 5 * 4)]
    pixels[3::4] = [alpha] * 30
    picture = SimpleNamespace(width=5, height=6, data=bytes(pixels))
    (right,) = await find_answers(case._replace(rows=[picture]), folder)
    assert ("error" in right) == (alpha < 255)
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        check_equal(await page.evaluate(DRAWN, [5, 6, pixels]), right, "a canvas")
    await page.close()


@pytest.mark.webnn
async def test_faults_are_tested_once_and_avoided(
    folder: Path, webnn_context: Any, page_log: Any
) -> None:
    model = await open_model(CASES[0])
    files = build_page(model.state)
    manifest = json.loads(files["model.json"])
    assert manifest["webnn"]["trials"] == []  # dense layers meet no known fault
    names = ("a causal transformer", "series of different lengths, and a class of each")
    tested: list[Any] = []
    for number, name in enumerate(names):
        await find_answers(next(case for case in CASES if case.name == name), folder / str(number))
        tested.append(json.loads((folder / str(number) / "model.json").read_text())["webnn"])
    first, second = tested
    assert first["faults"] and second["faults"] and first["probes"] != second["probes"]
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        for number, device in enumerate(tested):
            await page.goto(f"{server.url}/{number}/index.html")
            await page.evaluate(ANSWER, ["webnn", []])
            key = f"webnnm-faults/{device['probes']}"
            kept = json.loads(await page.evaluate("(key) => localStorage.getItem(key)", key))
            assert set(kept["shown"]) <= set(range(len(device["faults"])))
        for number in range(len(tested)):
            await page.goto(f"{server.url}/{number}/index.html")
            # The model's own graph, and no probes:
            assert await page.evaluate(RECALLED, ["webnn", []]) == 1
    await page.close()


@pytest.mark.webnn
async def test_an_imported_graph_takes_and_returns_its_tensors(
    folder: Path, webnn_context: Any, page_log: Any
) -> None:
    b = GraphBuilder()
    x, ids = b.input("x", "float32", [1, 2, 3]), b.input("ids", "int32", [2])
    graph = b.build({"y": b.gather(b.tanh(x), ids, axis=2), "sum": x.reduce_sum()})
    net = await load_onnx(await export_graph(graph, format="onnx"), backend="numpy")
    data = {"x": [[[1, 2, 3], [0.5, -1, 0]]], "ids": [2, 0]}
    expected = {name: array.tolist() for name, array in (await net.predict(data)).items()}
    assert await net.export(folder, format="page") == folder
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        for engine in ("webnn", "script"):
            (answered,) = (await page.evaluate(ANSWER, [engine, [data]]))["answers"]
            values = {name: one["values"] for name, one in answered.items()}
            check_equal(values, expected, engine)
    await page.close()


@pytest.mark.projects("no-webnn")
async def test_onnx_runtime_runs_what_the_browser_has_no_webnn_for(folder: Path, page: Any) -> None:
    text = "m:input shape=[600]; m:output shape=[1]; m:layers matmul(w, shape=[600]), matmul(v);"
    case = Case("large", text, lambda: None, [[number / 600 for number in range(600)]])
    expected = await find_answers(case, folder)
    model = await open_model(case)
    files = {name: (SITE / "vendor" / "onnxruntime" / name).read_bytes() for name in FILES}
    await export_page(model.state, folder, None, files)
    await page.add_init_script(WATCH_POLICY)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        result = await page.evaluate(ANSWER, ["onnxruntime", case.rows])
        assert result["engine"] == "onnxruntime"
        check_equal(result["answers"], expected, "onnxruntime")
        names = await page.evaluate("performance.getEntriesByType('resource').map((it) => it.name)")
        assert any(name.endswith(".onnx") for name in names)
        assert not any(name.endswith(".bin") for name in names)  # the same weights
        assert await page.evaluate("refused") == []


async def test_weights_of_another_length_are_refused(
    folder: Path, webnn_context: Any, page_log: Any
) -> None:
    await find_answers(CASES[0], folder)
    (weights,) = folder.glob("model-*.bin")
    weights.write_bytes(weights.read_bytes()[:-8])
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        status = page.locator("webnnm-model p[role=status]:not(:empty)").first
        await page.get_by_text(f"{weights.name} has {weights.stat().st_size} bytes").wait_for()
        assert "this browser cannot" not in await status.inner_text()
    await page.close()


@pytest.mark.webnn
async def test_a_lost_device_is_replaced(folder: Path, webnn_context: Any, page_log: Any) -> None:
    await find_answers(CASES[0], folder)
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(folder) as server:
        await page.goto(server.url)
        result = await page.evaluate(AFTER_LOSS, CASES[0].rows[0])
    assert result["both"] == [result["before"]] * 2
    assert result["opened"] == 2
    await page.close()


@pytest.mark.webnn
async def test_the_header_of_pasted_rows_names_their_columns(
    folder: Path, webnn_context: Any, page_log: Any
) -> None:
    case = next(case for case in CASES if case.name.startswith("a series of months"))
    await find_answers(case, folder)
    table = case.rows[0]
    names = [*table[0]]
    page = await webnn_context.new_page()
    page_log.watch(page)
    shown: list[str] = []
    with SiteServer(folder) as server:
        await page.goto(server.url)
        field, button = page.locator("textarea"), page.get_by_role("button", name="Predict")
        label = await page.locator("label.whole").inner_text()
        assert ", ".join(["month", "weather", "price", "sold"]) in label
        for order, header in ((names, True), (names[::-1], True), (names, False)):
            cells = [["" if row[name] is None else row[name] for name in order] for row in table]
            lines = [order, *cells] if header else cells
            await page.goto(server.url)
            await field.fill("\n".join(",".join(map(str, line)) for line in lines))
            await button.click()
            answer = page.locator("form .whole[role=status] :is(p, li)").first
            await answer.wait_for()
            shown.append(await page.locator("form .whole[role=status]").inner_text())
    assert len(set(shown)) == 1
    await page.close()
