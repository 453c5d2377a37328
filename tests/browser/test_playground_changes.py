"""The playground after a result is changed by hand, and what its fields and its points refuse."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.playground import IDLE, open_playground
from tests.browser.site_pages import (
    LIVE,
    fill,
    result_of,
    skip_where_nothing_runs,
    write_model,
)

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

FIELDS = "#weights input"
SHARE = "#share-result"


async def train(page: Any) -> None:
    await page.locator("#result").evaluate("result => delete result.dataset.done")
    await page.locator("#train").click()
    await result_of(page)
    await page.locator(IDLE).wait_for()


async def text_of(page: Any, name: str) -> str:
    return await page.locator(name).text_content()


async def open_fields(page: Any, name: str) -> None:
    """Open the fields of a unit by the keyboard."""
    await page.locator(name).focus()
    await page.keyboard.press("Enter")
    await page.locator("#weights").wait_for()


async def set_bias(page: Any, value: str) -> None:
    await page.locator(FIELDS).last.fill(value)
    await page.locator(FIELDS).last.press("Enter")


@in_both_browsers
@pytest.mark.usual("webnn")
async def test_losses_are_those_of_the_model_with_the_weight_that_is_set(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    await open_playground(page, site_url, "#data=circles&epochs=60&lr=0.05")
    await train(page)
    assert float((await text_of(page, "#accuracy")).removesuffix("%")) > 90
    await open_fields(page, "#network .outputs .unit >> nth=0")
    bias = await page.locator(FIELDS).last.input_value()
    before = await text_of(page, "#progress-text")
    await set_bias(page, "50")
    # All is blue: the points that are orange are wrong, each by a loss of about 50.
    await page.locator("#plane[aria-label*='takes 0% of the plane']").wait_for()
    wrong = 1 - float((await text_of(page, "#accuracy")).removesuffix("%")) / 100
    assert 0.3 < wrong < 0.7
    losses = re.findall(r"(?:loss|validation) ([\d.]+)", await text_of(page, "#progress-text"))
    assert [
        0.7 < float(loss) / 50 / share < 1.3
        for loss, share in zip(losses, (0.5, wrong), strict=True)
    ] == [True, True], losses
    await page.keyboard.press("Escape")
    await page.locator(SHARE).click()
    card = await page.locator(".result-card canvas").get_attribute("aria-label")
    assert await text_of(page, "#accuracy") in card and f"{losses[1]}" in card
    await page.get_by_role("button", name="Close").click()

    # As it was before, it has the same validation loss.
    await open_fields(page, "#network .outputs .unit >> nth=0")
    await set_bias(page, bias)
    validation = float(before.rpartition(" ")[2])
    await page.wait_for_function(
        "(loss) => Math.abs(document.querySelector('#progress-text').textContent"
        ".split(' ').at(-1) - loss) < 0.002",
        arg=validation,
    )


@in_one_browser
async def test_points_that_are_added_after_training_are_not_told_as_learnt(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url)
    await fill(page, data="drawn", epochs="10")
    await train(page)
    await page.locator(SHARE).wait_for()
    await page.locator("#add-point").click()
    await page.locator("#plane[aria-label^='101 blue']").wait_for()
    assert await page.locator(SHARE).is_hidden()
    await train(page)
    await page.locator(SHARE).click()
    card = await page.locator(".result-card canvas").get_attribute("aria-label")
    assert "201 points" in card
    await page.get_by_role("button", name="Close").click()

    address = page.url
    for name in ("#point-x", "#point-y"):
        await page.locator(name).fill("99")
        await page.locator("#add-point").click()
        error = await text_of(page, "#alert pre")
        assert error == "x1 and x2 of a point are numbers from −1.3 to 1.3."
        await page.locator(name).fill("0")
    assert page.url == address
    assert await page.locator(SHARE).is_visible()
    await page.goto("about:blank")
    await open_playground(page, site_url, "#data=drawn&points=0,0,1;0,9,1")
    error = await text_of(page, "#alert pre")
    assert error == (
        "Parts of this link were left out: 1 point without x1 and x2 from −1.3 to 1.3."
    )


@in_one_browser
async def test_networks_with_other_outputs_than_the_points_have_are_refused(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url, "#epochs=5")
    text = await page.locator("#source").input_value()
    three = text.replace("output shape=[2]", "output shape=[3]")
    await write_model(page, three.replace("dense(shape=[2]", "dense(shape=[3]"))
    await page.locator("#train").click()
    error = page.locator("#alert pre")
    await error.get_by_text("Points of two classes need a network with two outputs").wait_for()
    assert await text_of(page, "#progress-text") == "Not trained yet"
    await page.locator(IDLE).wait_for()
    one = text.replace("output shape=[2]", "output shape=[1]")
    one = one.replace("dense(shape=[2], activation=softmax", "dense(shape=[1], activation=sigmoid")
    await write_model(page, one)
    await train(page)
    assert await error.count() == 0
    await fill(page, data="hills")
    await page.locator("#network", has_text="1 linear").wait_for()
    await write_model(page, text)
    await page.locator("#train").click()
    await error.get_by_text("Points with values need a network with one output").wait_for()


@in_one_browser
async def test_the_fields_of_weights_refuse_what_is_too_large_and_lead_back_to_the_unit(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url, "#epochs=5")
    await train(page)
    unit = "#network .hidden .unit >> nth=0"
    await open_fields(page, unit)
    decided = await text_of(page, "#progress-text")
    for value in ("1e300", "-1000001", ""):
        await set_bias(page, value)
        await (
            page.locator("#weights")
            .get_by_role("alert")
            .get_by_text("A weight is a number from −1,000,000 to 1,000,000.")
            .wait_for()
        )
    assert await page.locator(FIELDS).last.get_attribute("aria-invalid") == "true"
    bottom = "document.querySelector('#weights').getBoundingClientRect().bottom < innerHeight"
    assert await page.evaluate(bottom), "the reason is in sight"
    await page.evaluate(LIVE)
    assert "weights" not in page.url and await text_of(page, "#progress-text") == decided
    await set_bias(page, "1000000")
    await page.wait_for_function("location.hash.includes('1000000')")
    assert await page.locator("#weights").get_by_role("alert").text_content() == ""
    # Tab leaves the fields for the unit; what is written last is set.
    await page.locator(FIELDS).last.fill("0.25")
    await page.keyboard.press("Tab")
    assert await page.locator("#weights").is_hidden()
    assert await page.evaluate("document.activeElement.dataset.key") == "unit 1 0"
    await page.locator("#network-readout", has_text="Bias: 0.25").wait_for()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Shift+Tab")
    assert await page.locator("#weights").is_hidden()
    assert await page.evaluate("document.activeElement.dataset.key") == "unit 1 0"

    text = await page.locator("#source").input_value()
    await write_model(page, text.replace("dense(shape=[8]", "dense(shape=[12]", 1))
    await page.get_by_text("and 4 more").wait_for()
    await train(page)
    await open_fields(page, "#network .outputs .unit >> nth=0")
    assert "not drawn" not in await text_of(page, "#weights")
    await page.keyboard.press("Escape")
    await open_fields(page, "#network .hidden >> nth=1 >> .unit >> nth=0")
    assert "4 more weights, of units not drawn, are not shown." in await text_of(page, "#weights")


@in_one_browser
async def test_weights_beyond_what_numbers_hold_leave_a_page_that_says_so(
    page: Any, site_url: str, project: Any
) -> None:
    await open_playground(page, site_url, "#epochs=3")
    for _ in range(5):
        await page.get_by_role("button", name="Add a layer before the output").click()
        await page.evaluate(LIVE)
    await fill(page, data="slope")
    await page.locator("[name=activation]").select_option("identity")
    await page.locator("#network", has_text="8 linear").wait_for()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await train(page)
    for number in range(1, 9):
        await open_fields(page, f"[data-key='unit {number} 0']")
        await page.locator(FIELDS).first.fill("1000000")
        await page.locator(FIELDS).first.press("Enter")
        await page.wait_for_function(
            "(count) => new URLSearchParams(location.hash.slice(1)).get('weights')"
            "?.split(';').length === count",
            arg=number,
        )
        await page.keyboard.press("Escape")
    await page.wait_for_function(
        "/loss (inf|nan)/.test(document.querySelector('#progress-text').textContent)"
    )
    assert errors == [] and await page.locator("#alert pre").count() == 0
    await page.locator(SHARE).click()
    card = await page.locator(".result-card canvas").get_attribute("aria-label")
    assert "training loss, validation" in card and "too large" in card


@in_one_browser
async def test_a_link_restores_trainings_after_the_first_and_its_button_tells_of_that_link(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script("""
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => {} } });
    """)
    await open_playground(page, site_url, "#data=hills&epochs=6")
    assert await text_of(page, "#plane-title") == "What it computes"
    await train(page)
    assert "trained" not in page.url
    await page.locator("#train").click()
    await page.get_by_text("Epoch 12 of 12").first.wait_for()
    await page.locator(IDLE).wait_for()
    shown = await text_of(page, "#progress-text")
    await page.locator("#share").click()
    await page.get_by_role("button", name="The link is copied").wait_for()
    address = page.url
    await fill(page, noise="0.1")
    await page.get_by_role("button", name="Copy the link to this").wait_for()
    assert "trained" not in page.url
    await page.goto("about:blank")
    await open_playground(page, site_url, f"#{address.partition('#')[2]}")
    await page.locator("#train").click()
    await page.get_by_text("Epoch 12 of 12").first.wait_for()
    await page.locator(IDLE).wait_for()
    assert await text_of(page, "#progress-text") == shown
    await page.goto("about:blank")
    await open_playground(page, site_url, "#trained=x")
    assert '"x" is no number of epochs' in await text_of(page, "#alert pre")
