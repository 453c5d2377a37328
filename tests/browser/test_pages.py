"""The pages of the site: what they compute, what they say, and for whom they are usable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Route

from tests.browser.first_look import (
    FETCHED,
    check_policy,
    find_pages_opened_elsewhere,
    open_and_look,
)
from tests.browser.harness import PageLog, pages_have_numpy
from tests.browser.saved_pages import ask, open_saved_page
from tests.browser.site_pages import (
    ACCESSIBILITY,
    PAGES,
    SHARES_DIFFER,
    backend_of,
    check_contrast,
    check_usable,
    fill,
    hold_back,
    open_site_page,
    result_of,
    says_that_numpy_will_train,
    skip_where_nothing_runs,
    train_on,
    write_model,
)
from tests.browser.taught_pages import read_shares
from webnnm import parse
from webnnm.graph.elaboration.elaborate import elaborate

in_both_browsers = pytest.mark.projects("webnn", "no-webnn")
in_one_browser = pytest.mark.projects("webnn")

# Notes what Hello shows as its output.
NOTE_OUTPUTS = """
() => {
  globalThis.outputs = [];
  const result = document.querySelector("#result");
  new MutationObserver(() => outputs.push(result.dataset.output))
    .observe(result, { attributeFilter: ["data-output"] });
}
"""
CONSOLE_PROGRESS = "webnnm:progress "
MANY_MISTAKES = """  dense(shape=[9], activation=relu), dropout(0.9),
  matmul(v, shape=[2]), matmul(u, shape=[40], init=normal(20)), relu(),"""
SETOSA = {"sepal-length": "5.0", "sepal-width": "3.4", "petal-length": "1.4", "petal-width": "0.2"}
LOWEST = {"sepal-length": "4.3", "sepal-width": "2.0", "petal-length": "1.1", "petal-width": "0.1"}


@in_both_browsers
async def test_gallery_says_what_runs_here_and_its_lines_work(
    page: Any, site_url: str, project: Any
) -> None:
    await open_and_look(page, site_url, "index.html")
    await check_policy(page)
    runs = page.locator("#runs")
    assert await runs.get_attribute("data-webnn") == str(project.webnn).lower()
    sentence = await runs.text_content()
    assert sentence.endswith(".")
    if project.webnn:
        assert "odels run on WebNN" in sentence
        await run_lines(page, site_url)
    elif pages_have_numpy():
        assert "odels run on NumPy" in sentence
    else:
        assert "odels run on ONNX Runtime (WebAssembly)" in sentence


async def run_lines(page: Any, site_url: str) -> None:
    """Make the lines for one's own page a page, and open it."""
    lines = await page.locator("#snippet").text_content()

    async def answer(route: Route) -> None:
        await route.fulfill(body=lines, content_type="text/html; charset=utf-8")

    await page.route("**/own.html", answer)
    await page.goto(f"{site_url}/own.html")
    await page.get_by_text("testing: 45 samples").wait_for()


@in_both_browsers
async def test_hello_squares_numbers_and_shows_the_casts(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_and_look(page, site_url, "hello.html")
    result = await result_of(page)
    assert await result.get_attribute("data-output") == "4, 9, 16, 25, 36"
    assert (await result.get_attribute("data-backend")).startswith(backend_of(project))
    graph = await page.locator("#graph").text_content()
    assert [line.split() for line in graph.splitlines()] == [
        ["model:input", "int32[1,", "5]"],
        ["cast1", "float16[1,", "5]", "cast(model:input,", "type=float16)"],
        ["add1", "float16[1,", "5]", "add(cast1,", "1)"],
        ["pow1", "float16[1,", "5]", "pow(add1,", "2)"],
        ["cast2", "float32[1,", "5]", "cast(pow1,", "type=float32)"],
        ["model:output", "float32[1,", "5]", "cast2"],
    ]
    await page.locator("#numbers").fill("0 1 2 3")
    await page.locator("#numbers").press("Enter")
    alert = page.locator("#alert pre")
    await alert.wait_for()
    assert "NNM702" in await alert.text_content()
    await page.locator("#numbers").fill("0 1 2 3 4")
    await page.locator("#run").click()
    result = await result_of(page)
    assert await result.get_attribute("data-output") == "1, 4, 9, 16, 25"
    assert await page.locator("#alert").text_content() == ""
    await check_policy(page)


@in_one_browser
async def test_hello_shows_the_latest_numbers_alone(page: Any, site_url: str, project: Any) -> None:
    """A run that began with others is still waiting when the page can be used."""
    come = await hold_back(page, "**/webnnm_rest-*.whl")
    await open_site_page(page, site_url, "hello.html")
    await page.evaluate(NOTE_OUTPUTS)
    for numbers in ("0 1 2 3", "0 1 2 3 4"):
        await page.locator("#numbers").fill(numbers)
        await page.locator("#run").click()
    come.set()
    await result_of(page)
    assert await page.evaluate("outputs") == ["1, 4, 9, 16, 25"]
    assert await page.locator("#alert").text_content() == ""


@in_both_browsers
async def test_iris_trains_and_shows_the_test(
    page: Any, page_log: PageLog, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await open_and_look(page, site_url, "iris.html")
    if not project.webnn:
        await says_that_numpy_will_train(page)
    assert not any("numpy" in url for url in asked)
    result = await train_on(page, epochs=100)
    assert any("numpy" in url for url in asked) == (not project.webnn)
    assert float(await result.get_attribute("data-accuracy")) >= 0.8
    assert float(await result.get_attribute("data-seconds")) > 0
    assert (await result.get_attribute("data-backend")).startswith(backend_of(project))
    assert backend_of(project) in await page.locator("#backend").text_content()
    counts = await page.locator(".confusion td").all_text_contents()
    assert sum(map(int, counts)) == 45
    assert await page.locator("#tables table").count() == 2
    assert "27 parameters" in await page.locator("#summary").text_content()
    assert await page.locator("#progress").evaluate("bar => bar.value / bar.max") == 1
    assert "in 100 epochs" in await page.locator("#chart").get_attribute("aria-label")
    assert "ended" in await page.locator("#status").text_content()
    told = [line for line in page_log.console if line.startswith(CONSOLE_PROGRESS)]
    states = [json.loads(line.removeprefix(CONSOLE_PROGRESS)) for line in told]
    assert len(states) >= 2, "progress is shown while the training runs"
    assert [state["epochs"] for state in states] == [100] * len(states)
    assert states[0]["loss"] > states[-1]["loss"]
    assert await page.evaluate(FETCHED) == ["fetch"], "a click at once does not block the page"
    await check_policy(page)
    await check_usable(page)


@in_one_browser
async def test_iris_answers_with_the_parameters_of_the_last_training(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    await open_site_page(page, site_url, "iris.html")
    assert await page.locator("#classify").is_disabled()
    assert await page.locator("#page").is_disabled()
    await train_on(page, epochs=1)
    primary = page.locator("main .primary:visible")
    assert await primary.all_text_contents() == ["Try it"], "what comes next"
    for name, value in SETOSA.items():
        await page.locator(f"#{name}").fill(value)
    await page.locator("#classify").click()
    await page.locator("#shares dd").first.wait_for()
    before = await page.locator("#shares dd").all_text_contents()
    await fill(page, epochs="100000")
    await page.locator("#train").click()
    await page.locator("#stop:enabled").wait_for()
    for name in ("species", "shares"):
        assert await page.locator(f"#{name}").inner_text() == "", "the model that said it is gone"
    await page.locator("#stop").click()
    await result_of(page)
    await page.locator("#shares dd").first.wait_for()
    await train_on(page, epochs=100, optimizer="sgdm")
    # The same flower is asked about again: the answer is that of the model that is there now.
    await page.wait_for_function(SHARES_DIFFER, arg="".join(before))
    again = await page.locator("#shares dd").all_text_contents()
    await page.locator("#classify").click()
    assert await page.locator("#species", has_text="setosa").count() == 1
    assert await page.locator("#shares dd").all_text_contents() == again
    outside = page.locator("#outside")
    assert not await outside.is_visible()
    await fill(page, **LOWEST)
    await page.locator("#classify").click()
    await page.wait_for_function(SHARES_DIFFER, arg="".join(again))
    assert not await outside.is_visible(), "the lowest values that training saw"
    await fill(page, **{"petal-length": "999"})
    await page.locator("#classify").click()
    await outside.wait_for()
    told = await outside.text_content()
    assert told.startswith("Training saw only petal lengths from 1.1 to 6.9 cm: outside of that")
    await fill(page, **SETOSA)
    await page.locator("#classify").click()
    await outside.wait_for(state="hidden")
    flower = {name.replace("-", "_"): value for name, value in SETOSA.items()}
    async with open_saved_page(page, tmp_path) as tab:
        assert await ask(tab, **flower) == await read_shares(page)


@in_one_browser
async def test_findings_settings_and_validation_are_shown(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    assert await page.locator("#review").is_hidden()
    await page.locator("#standardize").uncheck()
    await train_on(page, epochs=100, lr="0.6")
    summary = await page.locator("#review-summary").text_content()
    assert summary == "2 warnings, 3 notes."
    findings = page.locator("#findings .finding")
    told = {(await f.locator("small").text_content()): f for f in await findings.all()}
    assert {"E111", "E305", "E603", "E606"} <= set(told)
    far = await told["E603"].text_content()
    assert far.startswith("Warning: 3 of 4 features")
    assert "To do: Standardise the inputs" in far
    assert await told["E603"].get_attribute("class") == "finding warning"
    others = page.locator("#findings details.others")
    assert "Also: 3 notes." in await others.text_content()
    assert "E603" not in await others.text_content(), "it is one of the three that matter"
    area = page.locator("#findings .area", has_text="Loss").first
    assert "E111" in await area.text_content() and "E606" not in await area.text_content()
    await told["E603"].get_by_role("button", name="Line 3:7").click()
    selected = "area => area.value.slice(area.selectionStart).split('\\n')[0]"
    source = page.locator("#source")
    assert await source.evaluate(selected) == "input shape=[4];"
    assert (
        "times that of a prediction that knows nothing"
        in await page.locator("#scouting").text_content()
    )
    await page.locator("#review > details > summary").click()
    rows = await page.locator("#settings tbody tr").all_inner_texts()
    settings = {name: (value, origin) for name, value, origin in (r.split("\t") for r in rows)}
    assert settings["epochs"] == ("100", "given")
    assert settings["lr"] == ("0.6", "given")
    assert settings["beta1"] == ("0.9", "default of adamw")
    assert settings["shuffle"] == ("true", "default")
    assert settings["model:loss"] == ("CCE", "given")
    await check_usable(page)
    await page.locator("#standardize").check()
    await page.locator("#validate").check()
    await train_on(page, epochs=100)
    left = await page.locator("#findings small").all_text_contents()
    assert "E603" not in left, "the remedy was applied"
    assert "validation" in await page.locator("#progress-text").text_content()
    assert "validation loss" in await page.locator("#chart").get_attribute("aria-label")
    assert "of 21 flowers" in await page.locator("#samples").text_content()


@in_one_browser
async def test_three_findings_stand_first_and_the_training_has_its_own(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    source = page.locator("#source")
    text = await source.input_value()
    await write_model(page, text.replace("  dense(shape=[3], activation=relu),", MANY_MISTAKES))
    await page.locator("#standardize").uncheck()
    await train_on(page, epochs=40, lr="3")
    before, after = page.locator("#findings"), page.locator("#happened-findings")
    assert await before.locator("> .findings > .finding").count() == 3
    folded = before.locator("details.others")
    assert await folded.locator(".finding").first.is_hidden()
    await folded.locator("> summary").click()
    assert await folded.locator(".finding.warning, .finding.advice").count() >= 1
    assert await folded.locator(".finding").first.is_visible()
    ids = await after.locator("small").all_text_contents()
    assert ids and all(id.startswith("E9") for id in ids)
    assert not [id for id in await before.locator("small").all_text_contents() if id[:2] == "E9"]
    assert await page.get_by_role("heading", name="What happened in training").is_visible()
    causes = after.locator("> .findings > .finding > .cause")
    assert "Probably because of E305" in await causes.first.text_content()
    assert "It explains E9" in await before.locator(".finding", has_text="E305").text_content()
    first = before.locator(".why", has_text="E305")
    assert await first.locator("summary").text_content() == "Why E305 · almost sure (90%)"
    await first.locator("summary").click()
    await first.get_by_text("more than ten times the optimizer's default").wait_for()
    assert await first.get_by_text("Ignore it with sgd or sgdm").is_visible()
    assert await page.evaluate(ACCESSIBILITY) == []
    await check_contrast(page)
    await page.set_viewport_size({"width": 390, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


@in_one_browser
async def test_errors_of_a_model_and_of_its_training_come_and_go(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    source, diagnostics = page.locator("#source"), page.locator("#diagnostics")
    assert "No errors" in await diagnostics.text_content()
    good = await source.input_value()
    await write_model(page, good.replace("activation=softmax", "activation=sofmax"))
    problem = diagnostics.locator(".problem")
    await problem.wait_for()
    assert "Line 11:3" in await problem.text_content()
    assert "^" in await problem.locator("pre").text_content()
    assert "softmax" in await problem.text_content(), "the hint"
    assert await source.get_attribute("aria-invalid") == "true"
    frame = page.locator(".frame.wrong")
    assert await frame.evaluate("frame => frame.style.getPropertyValue('--wrong-line')") == "11"
    await problem.get_by_role("button", name="Line 11:3").click()
    selected = "area => area.value.slice(area.selectionStart, area.selectionEnd)"
    assert await source.evaluate(selected) == "a"
    await write_model(page, good)
    await problem.wait_for(state="detached")
    assert await source.get_attribute("aria-invalid") == "false"
    assert await diagnostics.get_attribute("aria-live") == "polite"
    # What only a training can meet is told by it.
    await write_model(page, good.replace("shape=[4]", "shape=[5]"))
    await page.locator("#train").click()
    await page.locator("#alert pre").wait_for()
    assert "NNM702" in await page.locator("#alert pre").text_content()
    assert await page.locator("#alert").get_attribute("role") == "alert"
    await write_model(page, good)
    await train_on(page, epochs=5)
    assert await page.locator("#alert").text_content() == ""


# The value of a progress bar, once it has stayed the same for a while.
STANDS = """
async (bar) => {
  let before = -1;
  while (bar.value !== before) {
    before = bar.value;
    for (let frame = 0; frame < 60; frame += 1) {
      await new Promise((resolve) => { requestAnimationFrame(resolve); });
    }
  }
  return before;
}
"""


@in_both_browsers
async def test_pause_and_stop(page: Any, site_url: str, project: Any) -> None:
    skip_where_nothing_runs(project)
    await open_site_page(page, site_url, "iris.html")
    await page.locator("#epochs").fill("100000")
    await page.locator("#lr").fill("0.0002")  # so small that patience does not end it
    await page.locator("#train").click()
    await page.get_by_text("s left").wait_for()
    await page.locator("#pause").click()
    progress = page.locator("#progress")
    held = await progress.evaluate(STANDS)
    assert held < 100_000
    await page.locator("#pause", has_text="Resume").click()
    goes_on = "held => document.querySelector('#progress').value > held"
    await page.wait_for_function(goes_on, arg=held)
    await page.locator("#stop").click()
    result = await result_of(page)
    assert 0 <= float(await result.get_attribute("data-accuracy")) <= 1
    assert "stopped by you" in await page.locator("#progress-text").text_content()
    assert await page.locator("#train").is_enabled()


@in_one_browser
async def test_keyboard_alone_is_enough(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "iris.html")
    await page.locator(".frame[data-rich]").wait_for()
    focused = "document.activeElement.id || document.activeElement.className"
    await page.keyboard.press("Tab")
    assert await page.evaluate(focused) == "skip"
    order: list[str] = []
    for _ in range(40):  # the links to all pages come first
        await page.keyboard.press("Tab")
        order.append(await page.evaluate(focused))
        if order[-1] == "epochs":
            await page.keyboard.press("Control+A")
            await page.keyboard.type("20")
        if order[-1] == "validate":
            break
    fields = ["epochs", "optimizer", "lr", "seed", "standardize", "validate"]
    fields = ["train", "rich-editor", *fields]
    assert [name for name in order if name in fields] == fields
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert await page.evaluate(outline) == "solid"
    for _ in order[order.index("train") + 1 :]:
        await page.keyboard.press("Shift+Tab")
    assert await page.evaluate(focused) == "train"
    await page.keyboard.press("Enter")
    await result_of(page)
    await page.wait_for_function("document.activeElement.id === 'train'")


@pytest.mark.parametrize(
    "name", [name for name in PAGES if name not in find_pages_opened_elsewhere()]
)
@in_one_browser
async def test_page_starts_and_is_usable_by_all_under_its_policy(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    """Pages whose own tests look at them are left out here."""
    await open_and_look(page, site_url, name)
    await check_policy(page)


@in_one_browser
async def test_models_of_the_notation_page_are_right(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "notation.html")
    models = await page.locator("main pre").all_text_contents()
    assert len(models) == 3
    for text in models:
        assert elaborate(parse(text)).warnings == []


@in_one_browser
async def test_failed_start_is_told(
    page: Any, page_log: PageLog, site_url: str, project: Any
) -> None:
    await page.route("**/trainer.py", lambda route: route.fulfill(status=404, body="gone"))
    await page.goto(f"{site_url}/iris.html")
    await page.locator("#boot.failed").wait_for()
    assert "could not start" in await page.locator("#boot").text_content()
    await page_log.forget(page)


@in_one_browser
async def test_failed_program_is_told(
    page: Any, page_log: PageLog, site_url: str, project: Any
) -> None:
    await page.route("**/hello.py", lambda route: route.fulfill(body="raise OSError('no disk')"))
    await page.goto(f"{site_url}/hello.html")
    await page.locator("#boot.failed", has_text="OSError: no disk").wait_for()
    await page_log.forget(page)
