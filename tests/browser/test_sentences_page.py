"""The page of texts: sentences are learnt, asked about, explained, and served by a saved page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.first_look import check_policy, open_and_look
from tests.browser.saved_pages import ask, open_saved_page
from tests.browser.site_pages import colour_schemes, look_closer, open_site_page, result_of
from tests.browser.test_table_page import download
from webnnm import NNModel

MAX_PAGE_BYTES = 60_000
"""The most that the archive of a page that runs a small model may have."""

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")


@in_one_browser
async def test_sentences_are_learnt_explained_and_taken_away(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    page.set_default_timeout(30_000)
    await open_and_look(page, site_url, "sentences.html")
    await page.locator("#example").click()
    await page.get_by_text("messages.csv: 168 rows.").wait_for()
    sources = page.locator("#sources")
    await sources.filter(has_text="3 classes: complaint, praise, question.").wait_for()
    source = await page.locator("#source").input_value()
    assert "bincount(size=" in source
    await page.get_by_label("Read them by").select_option("bytes")
    await sources.filter(has_text="3 classes").wait_for()
    await page.wait_for_function(
        "before => document.querySelector('#source').value !== before", arg=source
    )
    await page.get_by_label("Read them by").select_option("words")
    await page.wait_for_function(
        "before => document.querySelector('#source').value === before", arg=source
    )
    await page.locator("#train").click()
    await result_of(page)
    score = float((await page.locator("#score").inner_text()).rstrip("%"))
    guess = re.search(r"right for ([\d.]+)%", await page.locator("#baseline").inner_text())
    assert guess and score > float(guess[1]) + 20
    assert (await page.locator("#actual").inner_text()).startswith("Its label is ")
    course = ("Metrics", "Learning rate", "Gradient norm")
    layers = ("Weights", "Activations", "Gradients")
    await look_closer(page, *course, "ROC", "Calibration", *layers)

    # A sentence of one's own, and what decides.
    await page.get_by_label("A sentence", exact=True).fill("When will it arrive?")
    answer = page.locator("#answer")
    await answer.filter(has_text="question").wait_for()
    await page.locator("#words mark").first.wait_for()
    tokens = await page.locator("#importances tbody th").all_inner_texts()
    assert sorted(tokens) == sorted(["when", "will", "it", "arrive", "?"]) or "…" in tokens
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        async for _ in colour_schemes(page):
            assert await violations(page) == []
    await check_policy(page)
    await page.get_by_label("A sentence", exact=True).fill("")
    await answer.filter(has_text="question").wait_for(state="detached")
    assert await page.locator("#words").inner_text() == ""

    # The files do what the page does.
    sentence = "Thank you, it works perfectly"
    await page.get_by_label("A sentence", exact=True).fill(sentence)
    await answer.filter(has_text="praise").wait_for()
    file = await download(page, "Save the model", tmp_path)
    async with await NNModel.load(file, backend="numpy", log=lambda _: None) as model:
        assert (await model.predict(sentence)).classes == ["praise"]
    async with open_saved_page(page, tmp_path) as tab:
        field = tab.locator("webnnm-model textarea")
        await field.fill(sentence)
        assert next(iter(await ask(tab))) == "praise"
        await field.fill("Why? When?")
        assert next(iter(await ask(tab))) == "question"
    (archive,) = tmp_path.glob("*.zip")
    assert archive.stat().st_size < MAX_PAGE_BYTES


@in_one_browser
async def test_confusions_of_many_classes_are_listed_and_another_file_begins_anew(
    page: Any, site_url: str
) -> None:
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "sentences.html")
    await page.get_by_text("Paste rows").click()
    names = [f"a rather long subject {chr(97 + number)}" for number in range(14)]
    lines = [
        f"a remark of some length about word{k % 5}, number {k}\t{name}"
        for k in range(12)
        for name in names
    ]
    rows = "\n".join(["text\tsubject", *lines])
    await page.locator("#pasted").fill(rows)
    await page.get_by_role("button", name="Read the rows").click()
    await page.locator("#sources").filter(has_text="14 classes").wait_for()
    await page.locator(".teaching summary", has_text="More").click()
    await page.locator("#epochs").fill("3")
    await page.locator("#train").click()
    await result_of(page)
    assert await page.locator("#tables th[scope=col]").all_inner_texts() == [
        *("Class", "Taken for", "Rows"),
        *("subject", "Precision", "Recall", "F1", "Rows"),
    ]
    await page.get_by_role("button", name="taken for").first.click()
    await page.locator("#mistakes blockquote").first.wait_for()
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert "Training has ended" in str(await page.locator("#status").text_content())
    curve = page.locator("#chart")
    assert str(await curve.get_attribute("aria-label")).startswith("Training loss from")
    await page.locator("#example").click()
    await page.locator("#sources").filter(has_text="3 classes").wait_for()
    assert await page.locator("#status").text_content() == ""
    assert await curve.is_hidden()
    assert await curve.get_attribute("aria-label") == "Training loss, no epochs yet"


# Notes what the page says of the sentence, and how far the training is then.
WATCH_BARS = """
() => {
  globalThis.looks = [];
  const [bars, course] = ["#shares", "#progress-text"].map((name) => document.querySelector(name));
  const note = () => looks.push([course.textContent, bars.textContent]);
  new MutationObserver(note).observe(bars, { childList: true, subtree: true, characterData: true });
}
"""


@in_one_browser
async def test_sentences_are_written_by_class_and_the_bars_follow(page: Any, site_url: str) -> None:
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "sentences.html")
    needs = page.locator("#needs")
    assert await needs.text_content() == "Write at least 5 sentences of each class."
    assert await page.locator("#train").is_hidden()
    classes = page.locator("#kinds > li")
    await classes.nth(0).get_by_label("Name").fill("Weather")
    things = ("rain", "snow", "wind", "sun", "fog", "hail")
    lines = [f"There will be {thing} {when}" for thing in things for when in ("today", "at night")]
    await page.get_by_label("Sentences of Weather").fill("\n".join(lines))
    await needs.filter(has_text="“Class 2” has no sentences").wait_for()
    await classes.nth(1).get_by_label("Name").fill("Food")
    dishes = ("soup", "bread", "rice", "cake", "salad", "cheese")
    lines = [f"We eat {dish} {how}" for dish in dishes for how in ("with butter", "for lunch")]
    await page.get_by_label("Sentences of Food").fill("\n".join(lines))
    await classes.nth(1).get_by_text("12 sentences").wait_for()
    await page.locator("#train").wait_for()
    await page.get_by_label("A sentence", exact=True).fill("We eat soup today")
    await page.evaluate(WATCH_BARS)
    await page.locator("#train").click()
    await result_of(page)
    looks = await page.evaluate("looks")
    assert len({bars for course, bars in looks if course.startswith("Epoch")}) >= 3
    await page.get_by_label("A sentence", exact=True).fill("We eat cake with cheese")
    await page.locator("#answer", has_text="Food").wait_for()
    assert await page.locator("#shares dt").all_text_contents() == ["Food", "Weather"]
    # Another class is not known yet: the model has to learn anew.
    await page.locator("#add").press("Enter")
    await page.keyboard.type("Sport")
    await needs.filter(has_text="“Sport” has no sentences").wait_for()
    await page.locator("#train").wait_for(state="hidden")
    await page.get_by_role("button", name="Remove class Sport").click()
    await page.locator("#train").wait_for()


@in_both_browsers
async def test_rows_are_pasted_and_wrong_ones_are_named(page: Any, site_url: str) -> None:
    await open_site_page(page, site_url, "sentences.html")
    await page.get_by_text("Paste rows").click()
    await page.locator("#pasted").fill("one\ntwo\n")
    await page.get_by_role("button", name="Read the rows").click()
    await page.get_by_role("alert").get_by_text("the rows have one column").wait_for()
    rows = "mood\ttext\n" + "so\tthis is so\nno\tno, it is not\n" * 12
    await page.locator("#pasted").fill(rows)
    await page.get_by_role("button", name="Read the rows").click()
    await page.get_by_text("pasted: 24 rows.").wait_for()
    assert await page.locator("#text option:checked").inner_text() == "text"
    assert await page.locator("#label option:checked").inner_text() == "mood"
    await page.get_by_label("Labels", exact=True).select_option(label="text")
    await page.locator("#sources.warning").get_by_text("is used twice").wait_for()
    assert await page.locator("#train").is_disabled()
