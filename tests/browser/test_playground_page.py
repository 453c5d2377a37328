"""The playground: its boundary follows the training, points are drawn, links repeat a curve."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.browser.accessibility import violations
from tests.browser.first_look import check_policy, open_and_look
from tests.browser.playground import IDLE, charts_are_drawn, open_playground
from tests.browser.saved_pages import BUTTON, ask, open_saved_page
from tests.browser.site_pages import (
    LIVE,
    check_usable,
    fill,
    hold_back,
    open_site_page,
    result_of,
    skip_where_nothing_runs,
    write_model,
)

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

CONSOLE_PROGRESS = "webnnm:progress "
# The colours of the plane, from which a boundary is read: those of a column of its canvas.
COLUMN = """
() => {
  const canvas = document.querySelector("#plane canvas");
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  return [...context.getImageData(Math.round(width / 2), 0, 1, height).data].join();
}
"""


def losses_of(page: Any) -> list[tuple[int, float, float]]:
    """Return a list that fills with the epochs that a page tells."""
    found: list[tuple[int, float, float]] = []

    def hear(message: Any) -> None:
        if message.text.startswith(CONSOLE_PROGRESS):
            told = json.loads(message.text.removeprefix(CONSOLE_PROGRESS))
            found.append((told["epoch"], told["loss"], told["val_loss"]))

    page.on("console", hear)
    return found


@in_one_browser
async def test_a_training_that_begins_at_once_waits_for_the_charts_and_starts_over_once(
    page: Any, site_url: str, project: Any
) -> None:
    epochs = losses_of(page)
    come = await hold_back(page, "**/components/charts.js")
    await open_site_page(page, site_url, "playground.html")
    await page.locator("#train").click()
    await page.evaluate(LIVE)
    assert await page.locator("#train").text_content() == "Pause"
    # What is set anew meanwhile is trained, and nothing else.
    await page.locator("#epochs").fill("5")
    await page.locator("#epochs").press("Tab")
    await page.locator(IDLE).click()
    come.set()
    await result_of(page)
    assert "Epoch 5 of 5" in await page.locator("#progress-text").text_content()
    assert [epoch for epoch, *_ in epochs] == [1, 2, 3, 4, 5]


@in_one_browser
async def test_points_that_are_chosen_before_the_charts_are_there_are_shown(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url, "#data=circles")
    circles = await page.evaluate(COLUMN)
    await page.goto("about:blank")
    come = await hold_back(page, "**/components/charts.js")
    await open_site_page(page, site_url, "playground.html")
    await fill(page, data="circles")
    await page.wait_for_function("location.hash.includes('data=circles')")
    come.set()
    await charts_are_drawn(page)
    await page.wait_for_function(f"(circles) => ({COLUMN})() === circles", arg=circles)


@in_both_browsers
@pytest.mark.usual("webnn")
async def test_the_boundary_changes_from_step_to_step_and_a_link_gives_the_same_curve(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    epochs = losses_of(page)
    await open_playground(page, site_url)
    await fill(page, data="circles", rows="60", noise="0.02", lr="0.05", epochs="12", seed="7")
    await page.get_by_role("checkbox", name="x1²").check()
    # The model takes as many numbers as it is told.
    await page.wait_for_function("location.hash.includes('shape%3D%5B3%5D')")
    before = await page.evaluate(COLUMN)
    await page.locator("#step").click()
    await page.get_by_text("Epoch 1 of 12").first.wait_for()
    await page.locator(IDLE).wait_for()
    after_one = await page.evaluate(COLUMN)
    assert after_one != before
    assert [epoch for epoch, *_ in epochs] == [1], "the training waits after a step"
    words = await page.locator("#plane").get_attribute("aria-label")
    assert "After 1 epochs the model takes" in words
    await page.locator("#train").click()
    await result_of(page)
    assert await page.evaluate(COLUMN) != after_one
    assert "after 12 epochs" in await page.locator("#chart").get_attribute("aria-label")
    assert (await page.locator("#accuracy").text_content()).endswith("%")
    assert await page.locator("#review").is_visible()
    first, address = [*epochs], page.url
    assert [epoch for epoch, *_ in first] == [*range(1, 13)]

    await page.goto("about:blank")
    epochs.clear()
    await open_playground(page, site_url, f"#{address.partition('#')[2]}")
    assert await page.locator("#data").input_value() == "circles"
    assert await page.get_by_role("checkbox", name="x1²").is_checked()
    await page.locator("#train").click()
    await result_of(page)
    assert epochs == first, "the same link gives the same losses, to the last digit"


@in_one_browser
async def test_points_are_drawn_and_learnt_and_the_page_suits_all(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    await open_and_look(page, site_url, "playground.html")
    await charts_are_drawn(page)
    assert await violations(page) == []
    await fill(page, data="drawn")
    await page.locator("#clear-points").click()
    plane = page.locator("#plane canvas")
    await plane.scroll_into_view_if_needed()
    box = await plane.bounding_box()

    def at(x: float, y: float) -> tuple[float, float]:
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    for x, number in ((0.3, "0"), (0.8, "1")):
        await page.locator("#brush").select_option(number)
        await plane.scroll_into_view_if_needed()
        box = await plane.bounding_box()
        await page.mouse.move(*at(x, 0.2))
        await page.mouse.down()
        for k in range(1, 9):
            await page.mouse.move(*at(x, 0.2 + 0.07 * k))
        await page.mouse.up()
    await page.locator("#point-x").fill("1")
    await page.locator("#add-point").click()
    words = await page.locator("#plane").get_attribute("aria-label")
    assert words.startswith("9 blue circles and 10 orange squares."), words
    assert "points=" in page.url

    await fill(page, epochs="60", lr="0.1")
    await page.locator("#train").click()
    await result_of(page)
    words = await page.locator("#plane").get_attribute("aria-label")
    share = float(words.partition("takes ")[2].partition("%")[0])
    assert 20 < share < 80, "left and right are told apart"
    assert await page.locator("#accuracy").text_content() == "100.0%"
    async with open_saved_page(page, tmp_path) as tab:
        for x, colour in ((-0.5, "blue"), (0.8, "orange")):
            assert next(iter(await ask(tab, x1=x, x2=0))) == colour

    await page.locator("#again").click()
    await page.get_by_text("Not trained yet").first.wait_for()
    assert await page.get_by_role("button", name=BUTTON).count() == 0
    assert await violations(page) == []
    await check_policy(page)
    await check_usable(page)


# The pictures of drawn units, column by column, each as one text.
PICTURES = """
() => [...document.querySelectorAll("#network .column")].map((column) =>
  [...column.querySelectorAll("canvas")].map((canvas) => {
    const { width, height } = canvas;
    return [...canvas.getContext("2d").getImageData(0, 0, width, height).data].join();
  }))
"""
LINES = """
() => [...document.querySelectorAll("#network path")].map((path) =>
  [path.getAttribute("class"), Number(path.getAttribute("stroke-width"))])
"""


async def units_of(page: Any) -> list[int]:
    """Return how many units the drawn columns have."""
    columns = await page.locator("#network .column").all()
    return [await column.locator(".unit").count() for column in columns]


async def check_layers(page: Any, layers: str) -> None:
    """Check that the drawing, the field and the editor have these hidden layers, and keep them."""
    await page.evaluate(LIVE)
    abouts = await page.locator("#network .column.hidden .about").all_text_contents()
    assert " | ".join(abouts) == layers.replace("identity", "linear")
    for text in (
        await page.locator("#source").input_value(),
        await page.locator(".cm-content").inner_text(),
    ):
        *hidden, _ = re.findall(r"dense\(shape=\[(\d+)\], activation=(\w+)\)", text)
        assert " | ".join(f"{units} {activation}" for units, activation in hidden) == layers


async def focused(page: Any) -> str:
    """Return the name of the button that has the focus."""
    return await page.evaluate("document.activeElement.ariaLabel")


async def press(page: Any, label: str) -> None:
    await page.get_by_role("button", name=label, exact=True).click()


@in_one_browser
async def test_buttons_edit_the_text_and_the_text_changes_the_drawing(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url)
    assert await units_of(page) == [2, 8, 8, 2]
    await press(page, "Remove a unit from layer 1")
    await page.locator("#network", has_text="7 tanh").wait_for()
    source = page.locator("#source")
    assert "dense(shape=[7], activation=tanh),\n  dense(shape=[8]" in await source.input_value()
    assert await focused(page) == "Remove a unit from layer 1", "the focus stays on the button"
    await press(page, "Add a layer before the output")
    await page.locator("#network", has_text="Layer 3").wait_for()
    assert await units_of(page) == [2, 7, 8, 8, 2]
    await press(page, "Remove layer 2")
    await page.locator("#network .column:nth-of-type(n)", has_text="Layer 3").wait_for(
        state="detached"
    )
    assert await units_of(page) == [2, 7, 8, 2]
    assert "shape%3D%5B7%5D" in page.url, "the link has the text as it is now"

    await write_model(page, (await source.input_value()).replace("[7]", "[40]"))
    await page.get_by_text("and 32 more").wait_for()
    assert await units_of(page) == [2, 8, 8, 2]
    await page.get_by_role("checkbox", name="x1·x2").check()
    await page.locator("#network .inputs .unit").nth(2).wait_for()
    # What is no stack of dense layers is drawn as boxes.
    branch = "p:input shape=[3]; p:output shape=[2]; p:layers matmul(w, shape=[4], name=h), "
    await write_model(page, branch + "relu(), add(h), matmul(v), softmax();")
    await page.locator("#diagram svg").wait_for()
    assert await page.locator("#network-view").is_hidden()
    await fill(page, epochs="3")
    await page.locator("#train").click()
    await result_of(page)
    await write_model(page, "p:input shape=[3]; p:output shape=[2]; p:layers matmul(w), softmax();")
    await page.locator("#network .unit").first.wait_for()
    assert await units_of(page) == [3, 2]
    assert await page.locator("#diagram-view").is_hidden()


@in_one_browser
async def test_four_hidden_layers_fit_and_buttons_end_at_limits_without_losing_the_focus(
    page: Any, site_url: str, project: Any
) -> None:
    await page.set_viewport_size({"width": 1280, "height": 800})
    await open_playground(page, site_url)
    for count in range(3, 8):
        await press(page, "Add a layer before the output")
        await page.locator("#network", has_text=f"Layer {count}").wait_for()
        hidden = await page.locator("#network").evaluate("box => box.scrollWidth - box.clientWidth")
        assert (hidden > 0) == (count > 4), f"{count} hidden layers"
    # There is no more room: no button asks for more, and the focus is near.
    assert await focused(page) == "Remove layer 7"
    limits = page.get_by_role("button", name="At most 7 hidden layers are drawn")
    assert await limits.count() == 8
    assert await limits.first.is_disabled()
    for number in range(7, 0, -1):
        await press(page, f"Remove layer {number}")
        await page.locator("#network", has_text=f"Layer {number}").wait_for(state="detached")
        neighbour = f"Remove layer {number - 1}" if number > 1 else "Add a layer before the output"
        assert await focused(page) == neighbour
    await press(page, "Add a layer before the output")
    for units in (3, 2, 1):
        await press(page, "Remove a unit from layer 1")
        await page.locator("#network", has_text=f"{units} tanh").wait_for()
    assert await focused(page) == "Add a unit to layer 1"


# Starts over when the page first says that it reviews the model, as somebody quick does.
START_OVER_AT_ONCE = """
() => {
  const text = document.querySelector("#progress-text");
  new MutationObserver((_changes, observer) => {
    if (!text.textContent.startsWith("Reviewing")) return;
    observer.disconnect();
    document.querySelector("#again").click();
    document.querySelector("#again").click();
  }).observe(text, { childList: true });
}
"""


@in_one_browser
async def test_starting_over_before_the_first_epoch_leaves_a_page_that_trains(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url)
    await fill(page, epochs="5")
    await page.evaluate(START_OVER_AT_ONCE)
    await page.locator("#train").click()
    await page.locator("#train:has-text('Pause')").wait_for()
    await page.locator(IDLE).wait_for()
    await page.evaluate(LIVE)
    assert await page.locator("#progress-text").text_content() == "Not trained yet"
    await page.locator("#train").click()
    await result_of(page)
    assert "Epoch 5 of 5" in await page.locator("#progress-text").text_content()


@in_one_browser
async def test_what_cannot_be_trained_is_said_in_plain_words(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url)
    await page.locator("#feature-0").click()
    await page.get_by_text("shape=[1]").wait_for()
    await page.locator("#feature-1").click()
    await page.get_by_text("The network needs at least one input.").wait_for()
    assert await page.locator("#feature-1").is_checked()
    await page.locator("#feature-0").click()
    await page.locator("#features-note:empty").wait_for(state="attached")
    await fill(page, data="drawn")
    await page.locator("#clear-points").click()
    await page.locator("#train").click()
    error = await page.locator("#alert pre").text_content()
    assert error == "Draw at least two points of each class."


@in_both_browsers
async def test_units_show_what_they_make_of_the_plane(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_playground(page, site_url)
    await fill(page, data="circles", lr="0.05", epochs="40")
    await page.locator("#train").click()
    await result_of(page)
    columns = await page.evaluate(PICTURES)
    assert [len(column) for column in columns] == [2, 8, 8, 2]
    assert all(len({*column}) == len(column) for column in columns), "no two are the same"
    lines = await page.evaluate(LINES)
    assert len(lines) == 2 * 8 + 8 * 8 + 8 * 2
    assert {sign for sign, _ in lines} == {"positive", "negative"}
    assert min(width for _, width in lines) < 1.5 < 4 < max(width for _, width in lines)

    decided = await page.evaluate(COLUMN)
    await page.locator("#network .unit").first.focus()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowDown")
    assert await page.locator("#plane-title").text_content() == "Unit 2 of layer 1"
    readout = await page.locator("#network-readout").text_content()
    assert readout.startswith("Unit 2 of layer 1. Weights from x1: ") and ". Bias: " in readout
    label = await page.evaluate("document.activeElement.ariaLabel")
    assert f"{label}. Press it to change them." == readout
    await page.wait_for_function(f"(before) => ({COLUMN})() !== before", arg=decided)
    await page.locator("#train").focus()
    await page.wait_for_function(f"(before) => ({COLUMN})() === before", arg=decided)
    assert await page.locator("#plane-title").text_content() == "What it decides"

    # Near the middle of a line its weight is told.
    middle = await page.evaluate("""() => {
      const path = document.querySelector("#network path");
      const { x, y } = path.getPointAtLength(path.getTotalLength() / 2);
      const box = path.ownerSVGElement.getBoundingClientRect();
      return [x + box.x, y + box.y];
    }""")
    await page.mouse.move(*middle)
    await page.get_by_text("Input x1 to unit 1 of layer 1: weight ").wait_for()
    assert await violations(page) == []


async def parameter(page: Any, name: str) -> Any:
    """Return the field of a weight in the open popover."""
    return page.locator("#weights label", has_text=re.compile(f"^{name}$")).locator("input")


async def press_step(page: Any, times: int) -> None:
    """Press Step several times at once, as a quick finger does."""
    await page.evaluate(
        "times => { for (let n = 0; n < times; n += 1) document.querySelector('#step').click(); }",
        times,
    )


@in_both_browsers
async def test_every_click_on_step_trains_an_epoch(page: Any, site_url: str, project: Any) -> None:
    skip_where_nothing_runs(project)
    epochs = losses_of(page)
    await open_playground(page, site_url)
    await press_step(page, 6)
    await page.get_by_text("Epoch 6 of 200").first.wait_for()
    await page.locator(IDLE).wait_for()
    for _ in range(3):
        await page.locator("#step").click()
    await page.get_by_text("Epoch 9 of 200").first.wait_for()
    await page.locator(IDLE).wait_for()
    # Other settings start over, with the clicks that come while the old training ends.
    await page.locator("#train").click()
    await page.locator("#epochs").evaluate("field => { field.value = 7; }")
    await press_step(page, 3)
    await page.get_by_text("Epoch 3 of 7").first.wait_for()
    await page.locator(IDLE).wait_for()
    assert [epoch for epoch, *_ in epochs[:9]] == [*range(1, 10)]
    assert [epoch for epoch, *_ in epochs[-3:]] == [1, 2, 3]
    # After its last epoch a model is trained further.
    await page.locator("#train").click()
    await result_of(page)
    await page.locator(IDLE).wait_for()
    await page.locator("#step").click()
    await page.get_by_text("Epoch 8 of 14").first.wait_for()


@in_both_browsers
async def test_a_weight_is_set_by_its_line_or_by_the_keyboard_and_training_goes_on_from_it(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    epochs = losses_of(page)
    await open_playground(page, site_url)
    await fill(page, data="circles", epochs="9", lr="0.0001")
    await page.locator("#step").click()
    await page.get_by_text("Epoch 1 of 9").first.wait_for()
    await page.locator(IDLE).wait_for()
    decided = await page.evaluate(COLUMN)
    # The last line is from the eighth unit to orange.
    await page.locator("#network path").last.scroll_into_view_if_needed()
    middle = await page.evaluate("""() => {
      const path = [...document.querySelectorAll("#network path")].at(-1);
      const { x, y } = path.getPointAtLength(0.5 * path.getTotalLength());
      const box = path.ownerSVGElement.getBoundingClientRect();
      return [x + box.x, y + box.y];
    }""")
    await page.mouse.click(*middle)
    assert await page.locator("#weights-title").text_content() == "Weights of output orange"
    assert await violations(page) == []
    field = await parameter(page, "from unit 8")
    assert await field.evaluate("field => field === document.activeElement")
    await field.fill("9")
    await field.press("Enter")
    await page.locator("#status", has_text="The weight is set").wait_for(state="attached")
    assert await page.evaluate(COLUMN) != decided, "the plane shows it at once"
    await page.keyboard.press("Escape")
    assert await page.locator("#weights").is_hidden()
    unit = page.locator("#network .outputs .unit").last
    assert "8: 9.00" in await unit.get_attribute("aria-label")

    # Enter opens the fields of a unit; the bias is the last one.
    await unit.focus()
    await page.keyboard.press("Enter")
    field = await parameter(page, "bias")
    await field.fill("-4")
    await field.press("Tab")
    await page.wait_for_function(
        "unit => unit.ariaLabel.endsWith('Bias: −4.00')", arg=await unit.element_handle()
    )
    await page.keyboard.press("Escape")
    # So small a rate hardly changes them.
    await page.locator("#train").click()
    await result_of(page)
    label = await unit.get_attribute("aria-label")
    bias = float(label.rpartition(": ")[2].replace("−", "-"))
    assert abs(bias + 4) < 0.1
    assert abs(float(re.search(r"8: (\d+\.\d+)", label)[1]) - 9) < 0.1
    # The model that is saved has them, too.
    await unit.press("Enter")
    field = await parameter(page, "bias")
    await field.fill("-5")
    await field.press("Enter")
    await page.wait_for_function(
        "unit => unit.ariaLabel.endsWith('Bias: −5.00')", arg=await unit.element_handle()
    )
    await page.keyboard.press("Escape")
    await page.locator("#step").click()
    await page.get_by_text("Epoch 10 of 18").first.wait_for()
    await page.locator(IDLE).wait_for()
    label = await unit.get_attribute("aria-label")
    assert abs(float(label.rpartition(": ")[2].replace("−", "-")) + 5) < 0.1

    # A link keeps what was set, and after which epoch; wrong ones are told.
    first, address = [*epochs], page.url
    assert len(first) == 10
    await page.goto("about:blank")
    epochs.clear()
    await open_playground(page, site_url, f"#{address.partition('#')[2]}")
    await page.locator("#train").click()
    await page.get_by_text("Epoch 10 of 18").first.wait_for()
    await page.locator(IDLE).wait_for()
    assert epochs == first
    await page.locator("#again").click()
    await page.wait_for_function("!location.hash.includes('weights')")
    await page.goto("about:blank")
    await open_playground(page, site_url, "#epochs=3&weights=1,0,9,0,1;2,0,0,0,1;1,x;2,0,0,0,inf")
    text = await page.locator("#alert pre").text_content()
    assert "2 of the weights cannot be set" in text
    await page.locator("#train").click()
    await result_of(page)
    text = await page.locator("#alert pre").text_content()
    assert text == "The network has no weight that the link sets."
    assert "weights=2%2C0%2C0%2C0%2C1" in page.url


@in_one_browser
async def test_the_activation_and_the_training_share_are_menus(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url)
    menu = page.get_by_label("Activation of the hidden layers")
    assert await menu.input_value() == "tanh"
    await menu.select_option("leakyRelu")
    await page.locator("#network", has_text="8 leakyRelu").wait_for()
    await check_layers(page, "8 leakyRelu | 8 leakyRelu")
    assert "leakyRelu" in page.url
    text = await page.locator("#source").input_value()
    await write_model(page, text.replace("leakyRelu", "relu", 1))
    await page.locator("#network", has_text="8 relu").wait_for()
    assert await menu.input_value() == ""
    assert await menu.evaluate("menu => menu.selectedOptions[0].text") == "different ones"
    await menu.select_option("identity")
    await page.locator("#network", has_text="8 linear").wait_for()
    assert await menu.input_value() == "identity"
    for number in (2, 1):
        await press(page, f"Remove layer {number}")
        await page.locator("#network", has_text=f"Layer {number}").wait_for(state="detached")
    assert await menu.is_hidden()

    await fill(page, rows="100", epochs="3", split="0.1")
    epochs = losses_of(page)
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text))
    await page.locator("#train").click()
    await result_of(page)
    assert len(epochs) == 3
    assert any("training 10 rows" in line for line in lines)
    assert "split=0.1" in page.url
    # Two points of each class: nothing is left to validate with.
    await fill(page, data="drawn")
    await page.locator("#clear-points").click()
    for x, number in ((0.5, "1"), (0.6, "1"), (-0.5, "0"), (-0.6, "0")):
        await fill(page, brush=number)
        await page.locator("#point-x").fill(f"{x}")
        await page.locator("#add-point").click()
    await fill(page, split="0.9")
    await page.locator("#train").click()
    await result_of(page)
    assert "validation" not in await page.locator("#progress-text").text_content()


@in_both_browsers
async def test_a_surface_is_learnt_by_squared_error(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    skip_where_nothing_runs(project)
    epochs = losses_of(page)
    await open_playground(page, site_url)
    before = await page.evaluate(COLUMN)
    await fill(page, data="hills", noise="0", epochs="80", lr="0.03")
    await page.locator("#network", has_text="1 linear").wait_for()
    assert await page.locator("#plane-title").text_content() == "What it computes"
    words = await page.locator("#plane").get_attribute("aria-label")
    assert words.startswith("200 points with values from −1, blue, to 1, orange."), words
    text = await page.locator("#source").input_value()
    assert "output shape=[1];" in text and "dense(shape=[1], activation=identity);" in text
    await page.locator("#train").click()
    await result_of(page)
    assert await page.evaluate(COLUMN) != before
    first, last = epochs[0][2], epochs[-1][2]
    assert last < 0.2 * first
    assert await page.locator("#accuracy").text_content() == f"{last:.4f}"
    assert (await page.locator("#samples").text_content()).startswith("mean squared error")
    assert await violations(page) == []
    # The hills stand where x1 and x2 have the same sign, the hollows where they differ.
    async with open_saved_page(page, tmp_path) as tab:
        for x, y in ((0.5, 0.5), (-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5)):
            answer = await tab.locator("webnnm-model").evaluate(
                "(model, row) => model.predict(row)", [x, y]
            )
            (value,) = answer["values"]
            assert value * x * y > 0.1, (x, y, value)

    await fill(page, data="xor")
    await page.locator("#network", has_text="2 softmax").wait_for()
    assert await page.locator("#plane-title").text_content() == "What it decides"
    await page.locator("#plane[aria-label*='blue circles']").wait_for()
    await page.goto("about:blank")
    await open_playground(page, site_url, "#data=slope&epochs=3")
    await page.locator("#train").click()
    await result_of(page)
    assert "mean squared error" in await page.locator("#plane").get_attribute("aria-label")


IN_SIGHT = """
(names) => names.filter((name) => {
  const { top, bottom } = document.querySelector(name).getBoundingClientRect();
  return top < 0 || bottom > innerHeight;
})
"""


@in_one_browser
@pytest.mark.parametrize("size", [(360, 740), (390, 844)])
async def test_on_a_phone_what_learns_is_in_sight_with_its_loss(
    page: Any, site_url: str, project: Any, size: tuple[int, int]
) -> None:
    width, height = size
    await page.set_viewport_size({"width": width, "height": height})
    await open_playground(page, site_url)
    assert await page.evaluate(IN_SIGHT, ["#train", "#step"]) == []
    await fill(page, epochs="20")
    await page.evaluate("scrollTo(0, 0)")
    await page.locator("#train").click()
    await result_of(page)
    await page.locator("#plane").evaluate("plane => plane.scrollIntoView({ block: 'nearest' })")
    assert await page.evaluate(IN_SIGHT, ["#train", "#progress-text", "#plane"]) == []
    # The network is next to it, and the button goes with it.
    gap = await page.evaluate(
        "document.querySelector('#network').getBoundingClientRect().top"
        " - document.querySelector('#plane').getBoundingClientRect().bottom"
    )
    assert 0 < gap < 300
    await page.locator("#network").evaluate("network => network.scrollIntoView()")
    assert await page.evaluate(IN_SIGHT, ["#train", "#progress-text"]) == []


@in_one_browser
async def test_who_prefers_less_motion_sees_the_network_change_at_the_end(
    page: Any, site_url: str, project: Any
) -> None:
    await page.emulate_media(reduced_motion="reduce")
    await open_playground(page, site_url)
    assert await page.get_by_text("Your device asks for less motion").is_visible()
    await page.locator("#step").click()
    await page.get_by_text("Epoch 1 of 200").first.wait_for()
    await page.locator(IDLE).wait_for()
    assert None not in {sign for sign, _ in await page.evaluate(LINES)}
    await fill(page, epochs="10000")
    await page.locator("#train").click()
    await page.wait_for_function("document.querySelector('#progress').value > 20")
    assert {sign for sign, _ in await page.evaluate(LINES)} == {None}
    await page.locator("#train").click()
    await page.locator(IDLE).wait_for()
    assert None not in {sign for sign, _ in await page.evaluate(LINES)}


# Notes how long the page's program waits; to be there before the page.
WAITS = """
globalThis.waits = [];
const later = globalThis.setTimeout;
globalThis.setTimeout = (work, wait, ...values) => {
  waits.push(wait);
  return later(work, wait, ...values);
};
"""
HALF_SECONDS = "waits.filter((wait) => wait > 150 && wait <= 500 && wait !== 300).length"


@in_one_browser
async def test_the_speed_is_the_one_that_is_chosen(page: Any, site_url: str, project: Any) -> None:
    await page.add_init_script(WAITS)
    epochs = losses_of(page)
    await open_playground(page, site_url)
    await page.evaluate("waits.length = 0")
    await page.locator("#speed").select_option("2")
    await page.locator("#train").click()
    await page.wait_for_function("document.querySelector('#progress').value >= 4")
    assert await page.evaluate(HALF_SECONDS) >= 2, "two epochs a second wait for one another"
    await page.locator("#train").click()
    await page.locator(IDLE).wait_for()
    count = len(epochs)
    await page.evaluate(LIVE)
    assert len(epochs) == count, "what is paused goes no further"
    await page.locator("#speed").select_option("0")
    await page.evaluate("waits.length = 0")
    await page.locator("#train").click()
    await result_of(page)
    assert len(epochs) == 200
    assert await page.evaluate(HALF_SECONDS) < 100, "at full speed no epoch waits"


@in_one_browser
async def test_the_result_is_saved_as_a_video(page: Any, site_url: str, project: Any) -> None:
    await open_playground(page, site_url)
    await fill(page, epochs="30")
    await page.locator("#record").wait_for()
    await page.locator("#record").click()
    await page.locator("#train").click()
    await result_of(page)
    async with page.expect_download() as download:
        await page.locator("#record").click()
    content = Path(await (await download.value).path()).read_bytes()
    assert content.startswith(b"\x1aE\xdf\xa3") and len(content) > 5_000


class Claim(NamedTuple):
    """What a question of the page claims: the rule by which the expert finds what is wrong, and
    that the validation loss is above the first number with it, below the second one without; and
    the hidden layers of both."""

    rule: str
    above: float
    below: float
    layers: str
    better_layers: str


CLAIMS = {
    "What do inputs change?": Claim("E902", 0.6, 0.1, "", ""),
    "Why relu?": Claim("E309", 0.6, 0.1, "8 identity | 8 identity", "8 relu | 8 relu"),
    "Why depth?": Claim("E922", 0.25, 0.1, "3 relu", "6 relu | 6 relu | 6 relu"),
    "What is overfitting?": Claim("E905", 1, 0.6, "32 relu | 32 relu", "32 relu | 32 relu"),
    "When do units die?": Claim("E908", 0.6, 0.2, "8 relu", "8 relu"),
    "Why standardise?": Claim("E603", 0.5, 0.1, "8 tanh | 8 tanh", "8 tanh | 8 tanh"),
}


async def answer(page: Any) -> tuple[float, float]:
    """Train what a question loads, and return the validation loss and the percentage that is right,
    one of which its conclusion names."""
    await page.locator("#result").evaluate("result => delete result.dataset.done")
    await page.locator(IDLE).click()
    await result_of(page)
    accuracy = await page.locator("#accuracy").text_content()
    loss = float((await page.locator("#progress-text").text_content()).rpartition(" ")[2])
    conclusion = await page.locator("#lesson-text").text_content()
    assert accuracy in conclusion or f"{loss:.2f}" in conclusion
    return loss, float(accuracy.removesuffix("%"))


@in_one_browser
async def test_questions_show_what_they_claim(page: Any, site_url: str, project: Any) -> None:
    await open_playground(page, site_url)
    for question, claim in CLAIMS.items():
        await page.get_by_role("button", name=question).dblclick()
        await page.locator("#lesson-text").wait_for()
        await check_layers(page, claim.layers)
        assert await page.locator("#lesson-finding").is_hidden()
        loss, accuracy = await answer(page)
        assert loss > claim.above, question
        finding = await page.locator("#lesson-finding").text_content()
        assert finding.startswith("The expert: ") and finding.endswith(claim.rule), question
        await page.locator("#lesson-next").click()
        await page.locator("#lesson-next").wait_for(state="hidden")
        await check_layers(page, claim.better_layers)
        better_loss, better_accuracy = await answer(page)
        assert better_loss < claim.below and better_accuracy > accuracy, question
        assert await page.locator("#lesson-finding").is_hidden(), "nothing of it is left"
    # What is set otherwise is no longer the question's.
    await page.locator("#epochs").fill("7")
    await page.locator("#epochs").press("Tab")
    await page.locator("#lesson").wait_for(state="hidden")
