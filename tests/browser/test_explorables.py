"""Pages to play with: one training step, and the way of a model to the device."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.calls_in_page import calls_and_results
from tests.browser.harness import PageLog, PyodidePage
from tests.browser.site_pages import open_site_page, write_model
from tests.browser.test_pages import check_policy, open_and_look, skip_where_nothing_runs

SUM = re.compile(r"tanh\((.+?) · (.+?) \+ (.+?) · (.+?) \+ (.+?)\) = (.+?),")
CALLS = "document.querySelector('#calls').textContent"


async def number(page: Any, name: str) -> float:
    """Return a number that the page shows in an element."""
    text = await page.locator(f"#{name}").text_content()
    return float(text.replace("−", "-").replace("∂", ""))


async def explanation(page: Any, phase: str) -> str:
    """Go on to a phase, and return what the page says of it."""
    await page.locator("#next").click()
    await page.locator("#phase", has_text=phase).wait_for()
    return await page.locator("#explanation").text_content()


@pytest.mark.projects("webnn", "no-webnn")
async def test_a_step_shows_its_numbers(
    page: Any, page_log: PageLog, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_and_look(page, site_url, "step.html")
    await page.locator("#at-y", has_text="0.28").wait_for()
    text = await page.locator("#explanation").text_content()
    assert "h₁ = tanh(0.80 · 1 + 0.60 · 0 + (−0.30)) = 0.46" in text
    assert "(0.28 − 1)² = 0.522" in await explanation(page, "Loss")
    assert "2 · (0.28 − 1) = −1.44" in await explanation(page, "Backward")
    # The chain rule, by hand: a hidden unit gets its share of the gradient of the answer.
    assert await number(page, "back-y") == -1.44
    assert await number(page, "gradient-v-1") == pytest.approx(-1.44 * 0.462, abs=0.01)
    assert await number(page, "back-h-1") == pytest.approx(-1.44 * 0.7 * (1 - 0.462**2), abs=0.01)
    assert "c = 0.10 − 0.10 · (−1.44) = 0.24" in await explanation(page, "Update")
    assert await number(page, "value-c") == 0.24
    await explanation(page, "Forward")
    assert await page.locator("#row-3").is_checked(), "the next row is shown"
    await check_policy(page)


@pytest.mark.projects("webnn")
async def test_weights_are_moved_and_learn(page: Any, page_log: PageLog, site_url: str) -> None:
    page_log.watch(page)
    await open_site_page(page, site_url, "step.html")
    await page.locator("#at-y", has_text="0.28").wait_for()
    await page.locator("#c").fill("1.1")
    await page.locator("#at-y", has_text="1.28").wait_for()
    await page.locator("#rate").fill("1")
    for _ in range(3):
        await page.locator("#next").click()
    await page.locator("#explanation", has_text="Try a smaller learning rate").wait_for()
    learnt = page.locator("#learnt")
    for count in range(101, 3001, 100):
        await page.locator("#many").click()
        await page.locator("#learnt", has_text=f"fter {count} steps").wait_for()
        if "the learning rate was too high" in await learnt.text_content():
            break
    else:
        pytest.fail("a learning rate of 1 does not diverge")
    await page.locator("#reset").click()
    await page.locator("#rate").fill("0.1")
    for count in (100, 200, 300):
        await page.locator("#many").click()
        await page.locator("#learnt", has_text=f"after {count} steps").wait_for()
    assert "it has learnt all four" in await page.locator("#learnt").text_content()


@pytest.mark.projects("webnn", "no-webnn")
async def test_a_model_is_followed_to_the_device(
    page: Any, page_log: PageLog, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_and_look(page, site_url, "inside.html")
    await page.locator("#figures[data-done]").wait_for()
    calls = await page.evaluate(CALLS)
    assert "builder.conv2d(" in calls
    assert "builder.relu(" in calls
    forward = calls.count("\n")
    await page.locator("#kind").select_option("train")
    await page.wait_for_function(f"({CALLS}.match(/\\n/g) ?? []).length > {2 * forward}")
    await page.locator("#figures[data-done]").wait_for()
    await write_model(page, "model:input shape=[4]; model:output shape=[4];")
    await page.locator("#run").click()
    await page.locator("#alert pre").wait_for()
    # Stages that do not show this model say so; layers follow the text by themselves.
    stale = page.locator(".stale h2", has_text="of the last model that worked")
    assert await stale.count() == 4
    await write_model(page, "model:input shape=[4")
    await page.locator(".stale #stage-layers").wait_for()
    await write_model(page, NETWORK)
    await page.locator(".stale #stage-layers").wait_for(state="detached")
    await page.locator("#kind").select_option("inference")
    await page.locator("#figures[data-done]").wait_for()
    assert await page.locator(".stale, .stages h2 small").count() == 0
    await check_policy(page)


NETWORK = """
model:input shape={channels:4, height:8, width:8};
model:output shape=[5];
model:layers
  conv2d(f, filters=4, kernel=3, padding=same, strides=2), relu(), clamp(minValue=0, maxValue=6),
  layerNormalization(scale, bias), flatten(), mul(0.5), dense(shape=[5]), softmax();
dense:layers matmul(w), add(b);
"""
"""Operators with plain arguments, options, optional operands and constants."""

# Builds a graph by the calls that are given as text, runs it once, and returns the results.
RUN = """
async ({ text, constants, inputs, outputs }) => {
  const context = await navigator.ml.createContext();
  const build = new (async () => {}).constructor("context", "constants", `${text}\\nreturn graph;`);
  const graph = await build(context, Uint8Array.from(constants).buffer);
  const create = async (entries, usage) => Object.fromEntries(
    await Promise.all(Object.entries(entries).map(async ([name, { shape }]) => [
      name, await context.createTensor({ dataType: "float32", shape, ...usage }),
    ])));
  const sent = await create(inputs, { writable: true });
  const results = await create(outputs, { readable: true });
  for (const [name, { values }] of Object.entries(inputs)) {
    context.writeTensor(sent[name], new Float32Array(values));
  }
  context.dispatch(graph, sent, results);
  const [result] = Object.values(results);
  return [...new Float32Array(await context.readTensor(result))];
}
"""


async def test_calls_build_the_same_graph(pyodide_page: PyodidePage) -> None:
    text, constants, inputs, outputs = await pyodide_page.call(calls_and_results, NETWORK)
    given = {"text": text, "constants": [*constants], "inputs": inputs, "outputs": outputs}
    result = await pyodide_page.page.evaluate(RUN, given)
    (expected,) = outputs.values()
    assert sum(result) == pytest.approx(1, abs=1e-5)
    assert result == pytest.approx(expected["values"], abs=1e-6)
