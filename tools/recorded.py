"""Records what models give on pages, for those who have not downloaded or trained one there yet.

A recorder uses a page as a visitor would, and returns a figure that needs neither Python nor the
model. tools/showcase.py writes the figures; a test compares them with what the models give.
"""

from __future__ import annotations

import base64
import io
import re
import sys
import wave
from array import array
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.common import ROOT
from tools.page_offers import OFFERS
from tools.recorded_drawings import draw_forecast, draw_sound
from webnnm.core.markup import Markup, join, tag
from webnnm.data.sounds import wav

PATIENCE = 600_000
"""Milliseconds that a model may need for what is recorded."""
FOLDER = ROOT / "site" / "parts" / "recorded"
"""Where the figures are: parts of the pages of the same names."""
SPEECH = ROOT / "site" / "shown" / "speech.wav"
STYLES = (8, 16, 20)
"""The styles in which the landscape is painted."""
SIDE = 240
"""Pixels of a painted picture's side."""
QUALITIES = (0.85, 0.7, 0.5, 0.3)
PICTURE_BYTES = 13_000
"""Bytes of a picture at most: it has the first quality that is small enough."""
ANSWERS = 3
"""Sentences that a search shows."""
NEXT = 5
"""Next tokens that are shown, of ten."""
PAST = 48
"""Values that are drawn before a forecast."""
QUESTION = "What is the capital of France?"
# What elements show as bars.
VALUES = "(all) => all.map(({ value }) => value)"
SIZE = "({ width, height }) => [width, height]"
# The texts of the elements that a selector fits.
TEXTS = "(all) => all.map((element) => element.textContent.trim())"
# The picture on a canvas, as the address of data.
PICTURE = "(canvas, quality) => canvas.toDataURL('image/webp', quality)"
# Notes how the answer of a chat grows.
WATCH_ANSWER = """
() => {
  globalThis.grown = [];
  const conversation = document.querySelector("#conversation");
  new MutationObserver(() => {
    const [, answer] = conversation.querySelectorAll("p");
    if (answer && answer.textContent !== "…") grown.push(answer.textContent);
  }).observe(conversation, { childList: true, characterData: true, subtree: true });
}
"""
# Keeps the rows of the charts that are drawn from now on, by the names of their data.
WATCH_CHARTS = """
() => {
  globalThis.charts = [];
  const { parse } = JSON;
  JSON.parse = (...given) => {
    const value = parse(...given);
    const layers = value?.spec?.layer?.map(({ data }) => [data.name, data.values]);
    if (layers) charts.push(Object.fromEntries(layers));
    return value;
  };
}
"""
# Whether the window of the test and what comes next are drawn.
BOTH_DRAWN = "charts.filter(({ interval }) => interval).length === 2"


class Result(NamedTuple):
    """What is recorded of a page: a figure, and its pictures and sounds by their names."""

    figure: Markup
    files: dict[str, bytes]


def make_figure(*content: Markup, caption: str) -> Markup:
    """Return a figure of what a page shows, one element in a line."""
    rows = [*content, tag("figcaption", tag("b", "Recorded."), f" {caption}")]
    lines = join(part for row in rows for part in (row, "\n"))
    return tag("figure", "\n", lines, id="recorded", class_="recorded of-example")


async def open_with_model(page: Any, url: str, name: str) -> None:
    """Open a page, and download its model where it has one for download."""
    await page.goto(f"{url}/{name}")
    if name not in OFFERS:
        await page.locator("#example:enabled").wait_for(timeout=PATIENCE)
        return
    await page.locator("#download:enabled").click(timeout=PATIENCE)
    await page.locator("#work:enabled").wait_for(timeout=PATIENCE)


async def read_texts(page: Any, selector: str) -> list[str]:
    """Return the texts of the elements that a selector fits."""
    return await page.locator(selector).evaluate_all(TEXTS)


async def take_picture(page: Any, selector: str) -> bytes:
    """Return the picture on a canvas as a small file."""
    content = b""
    for quality in QUALITIES:
        address = await page.locator(selector).evaluate(PICTURE, quality)
        content = base64.b64decode(address.partition(",")[2])
        if len(content) <= PICTURE_BYTES:
            break
    return content


def show_picture(name: str, description: str, size: tuple[int, int]) -> Markup:
    """Return the element of a picture in `shown`."""
    width, height = size
    return tag("img", src=f"./shown/{name}", alt=description, width=width, height=height)


def make_bar(share: float, name: str) -> Markup:
    """Return the bar of a share, which is announced by the name of what it says."""
    return tag("meter", f"{share:.0%}", value=f"{share:.2f}", aria_label=name)


async def record_camera(page: Any) -> Result:
    """Paint the page's landscape in some styles."""
    count = page.locator("#rate")
    painted = [show_picture("camera.webp", "A landscape drawn by the page", (SIDE, SIDE))]
    pictures = {"camera.webp": await take_picture(page, "#camera")}
    for style in STYLES:
        before = await count.get_attribute("data-count")
        await page.locator("#style").fill(str(style))
        await page.locator("#style").press("Tab")
        await page.locator(f"#rate:not([data-count='{before}'])").wait_for(timeout=PATIENCE)
        name = f"camera-{style}.webp"
        pictures[name] = await take_picture(page, "#painted")
        painted.append(show_picture(name, f"The landscape in style {style}", (SIDE, SIDE)))
    *others, last = map(str, STYLES)
    styles = f"{', '.join(others)} and {last}"
    return Result(
        make_figure(
            tag("div", *painted, class_="row"),
            caption=f"A landscape, and what the network made of it in styles {styles}.",
        ),
        pictures,
    )


async def record_transcribe(page: Any) -> Result:
    """Transcribe the page's sample."""
    await page.locator("#sample").click()
    await page.locator("#rate[data-done]").wait_for(timeout=PATIENCE)
    lines = [tag("li", text) for text in await read_texts(page, "#segments li")]
    sound = draw_sound(wav.read(SPEECH.read_bytes()).samples, "The sound of the sample")
    caption = "Five seconds of speech from 1961, and what Whisper wrote down."
    return Result(make_figure(sound, tag("ol", *lines, class_="lines"), caption=caption), {})


async def record_aloud(page: Any) -> Result:
    """Have the first sentences of the page's text read."""
    text = (await page.locator("#text").input_value()).partition("!")[2].strip().split(".")[0]
    await page.locator("#text").fill(f"{text}.")
    await page.locator("#speak").click()
    await page.locator("#rate[data-done]").wait_for(timeout=PATIENCE)
    async with page.expect_download() as waiting:
        await page.locator("#save:enabled").click()
    sound = wav.read(Path(await (await waiting.value).path()).read_bytes())
    sentences = [tag("li", text) for text in await read_texts(page, "#sentences li")]
    return Result(
        make_figure(
            tag("ol", *sentences, class_="lines"),
            draw_sound(sound.samples, "The sound of the sentence"),
            tag("button", "Listen", id="listen", type="button", data_waits="", disabled=""),
            caption="A sentence, and the sound that the voice made of it.",
        ),
        {"aloud.wav": encode_short(sound.samples, sound.rate)},
    )


def encode_short(samples: Sequence[float], rate: int) -> bytes:
    """Return a file of samples of 16 bits."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        numbers = array("h", [round(32767 * max(-1.0, min(1.0, value))) for value in samples])
        if sys.byteorder == "big":
            numbers.byteswap()
        file.writeframes(numbers.tobytes())
    return content.getvalue()


async def record_speech(page: Any) -> Result:
    """Listen to the page's sample."""
    await page.locator("#sample").click()
    await page.locator("#rate[data-count]").wait_for(timeout=PATIENCE)
    points = await page.locator("#curve polyline").get_attribute("points")
    curve = [1 - float(point.partition(",")[2]) / 100 for point in points.split()]
    spoken = "; ".join(await read_texts(page, "#stretches li"))
    samples = wav.read(SPEECH.read_bytes()).samples
    description = "The sound of the sample, and over it the probability of speech"
    caption = f"Five seconds of sound; the line shows how probable speech is. Speech: {spoken}."
    return Result(make_figure(draw_sound(samples, description, curve), caption=caption), {})


async def record_ocr(page: Any) -> Result:
    """Take what was read in the page's example, which it reads first."""
    await page.locator("#result[data-done]").wait_for(timeout=PATIENCE)
    width, height = await page.locator("#picture").evaluate(SIZE)
    picture = show_picture("ocr.webp", "The picture, each line of text framed", (width, height))
    rows = await page.locator("#lines tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    lines = [tag("tr", tag("th", text, scope="row"), tag("td", value)) for text, value in rows]
    head = tag("tr", tag("th", "Text", scope="col"), tag("th", "Confidence", scope="col"))
    caption = tag("caption", "What the lines say", class_="spoken")
    table = tag("table", caption, tag("thead", head), tag("tbody", *lines))
    return Result(
        make_figure(
            tag("div", picture, table, class_="pictures"),
            caption="A picture, the lines that were found in it, and what they say.",
        ),
        {"ocr.webp": await take_picture(page, "#picture")},
    )


async def record_search(page: Any) -> Result:
    """Take the answers to the page's question, which it looks for first."""
    query = await page.locator("#query").input_value()
    await page.locator(f'#found[data-query="{query}"] li').first.wait_for(timeout=PATIENCE)
    sentences = await read_texts(page, "#found li p")
    closeness = [float(text) for text in await read_texts(page, "#found li small")]
    rows = [
        tag("li", tag("p", text), make_bar(share, "Similarity"), tag("small", f"{share:.2f}"))
        for text, share in list(zip(sentences, closeness, strict=True))[:ANSWERS]
    ]
    many = (await page.locator("#rate").text_content()).partition(",")[0]
    caption = f"The question, and the closest of {many}, with how close they are."
    question = tag("p", tag("strong", query))
    return Result(make_figure(question, tag("ol", *rows, class_="found"), caption=caption), {})


async def record_chat(page: Any) -> Result:
    """Ask a question, and take the answer token by token."""
    await page.evaluate(WATCH_ANSWER)
    await page.locator("#message").fill(QUESTION)
    await page.locator("#send").click()
    await page.locator('#rate[data-count="2"]').wait_for(timeout=PATIENCE)
    texts = list(dict.fromkeys(await page.evaluate("grown")))
    pieces = [text.removeprefix(before) for before, text in zip(["", *texts], texts, strict=False)]
    messages = [
        tag("li", tag("strong", "You"), tag("p", QUESTION)),
        tag("li", tag("strong", "Model"), tag("p", *(tag("span", piece) for piece in pieces))),
    ]
    caption = f"An answer of {len(pieces)} tokens, which come one after the other."
    return Result(make_figure(tag("ol", *messages, class_="conversation"), caption=caption), {})


async def record_writes(page: Any) -> Result:
    """Take the tokens of the page's text, and what may come next."""
    text = await page.locator("#text").input_value()
    await page.locator(f'#figures[data-text="{text}"]').wait_for(timeout=PATIENCE)
    tokens = [tag("li", tag("span", token)) for token in await read_texts(page, "#tokens button")]
    names = await read_texts(page, "#next button")
    shares = await page.locator("#next meter").evaluate_all(VALUES)
    rows = [
        tag("li", tag("span", name), make_bar(share, "Probability"), f" {share:.1%}")
        for name, share in list(zip(names, shares, strict=True))[:NEXT]
    ]
    return Result(
        make_figure(
            tag("ol", *tokens, class_="tokens"),
            tag("ol", *rows, class_="next"),
            caption="The tokens of a text, and what is most probable to come next.",
        ),
        {},
    )


async def record_teach(page: Any) -> Result:
    """Teach the page's sentences, and take what the model answers before and after."""
    question = await page.locator("#prompt").input_value()
    many = len((await page.locator("#sentences").input_value()).splitlines())
    await page.locator("#teach").click()
    await page.locator("#after[data-done]").wait_for(timeout=PATIENCE)
    rows = [
        tag(name, text)
        for title, element in (("Before", "#before"), ("After", "#after"))
        for name, text in (
            ("dt", title),
            ("dd", tag("blockquote", *await read_texts(page, element))),
        )
    ]
    asked = tag("p", tag("strong", question))
    caption = f"One question, before and after the model had learnt {many} sentences of pirates."
    return Result(make_figure(asked, tag("dl", *rows, class_="answers"), caption=caption), {})


async def record_hub(page: Any) -> Result:
    """Take the result of the page's example, which it runs first."""
    await page.locator("#rate[data-task]").wait_for(timeout=PATIENCE)
    sentence = await page.locator("#text").input_value()
    values = [float(text.rstrip("%")) / 100 for text in await read_texts(page, "#shares dd")]
    rows = [
        tag(name, *inside)
        for text, share in zip(await read_texts(page, "#shares dt"), values, strict=True)
        for name, inside in (
            ("dt", [text]),
            ("dd", [make_bar(share, "Similarity"), f"{share:.0%}"]),
        )
    ]
    caption = "How close in meaning other sentences are to the first, as the example finds it."
    asked = tag("p", tag("strong", sentence))
    return Result(make_figure(asked, tag("dl", *rows), caption=caption), {})


async def train_example(page: Any) -> list[Markup]:
    """Train on the rows that a page brings; return what its test says."""
    await page.locator("#example").click()
    await page.locator("#train:enabled").click()
    await page.locator("#result[data-done]").wait_for(timeout=PATIENCE)
    score = await page.locator("#score").text_content()
    samples = re.split(r" \(|;", await page.locator("#samples").text_content())[0]
    return [tag("p", tag("strong", score), f" {samples}", class_="figure")]


async def record_table(page: Any) -> Result:
    """Train on the page's penguins, and take what the test took for what."""
    score = await train_example(page)
    header = await read_texts(page, "#tables .confusion thead th")
    names = await read_texts(page, "#tables .confusion tbody th")
    counts = await read_texts(page, "#tables .confusion tbody td")
    size = len(names)
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(
                tag("td", count, class_="right" if at == number else None)
                for at, count in enumerate(counts[number * size :][:size])
            ),
        )
        for number, name in enumerate(names)
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in header))
    title = tag("caption", "Confusion matrix", class_="spoken")
    table = tag("table", title, tag("thead", head), tag("tbody", *rows), class_="confusion")
    caption = (
        "What a network learnt from the penguins: each row is a species, and the columns are what "
        "the network took its penguins for."
    )
    return Result(make_figure(*score, table, caption=caption), {})


async def record_forecast(page: Any) -> Result:
    """Train on the page's visitors, and take what comes after them."""
    await page.evaluate(WATCH_CHARTS)
    score = await train_example(page)
    await page.wait_for_function(BOTH_DRAWN, timeout=PATIENCE)
    series, *_, ahead = await page.evaluate("charts.filter(({ lines }) => lines)")
    past = [(row["time"], row["value"]) for row in series["lines"]][-PAST:]
    forecast = [(row["time"], row["value"]) for row in ahead["lines"] if row["line"] == "model"][1:]
    interval = [(row["low"], row["high"]) for row in ahead["interval"]]
    name = await page.locator("#target").input_value()
    level = await page.locator("#interval option:checked").text_content()
    drawing = draw_forecast(past, forecast, interval, f"{name.capitalize()}, and their forecast")
    caption = (
        f"Four years of {name}, and what a network that learnt the years before forecasts for the "
        f"next {len(forecast)} months, with an interval of {level}."
    )
    return Result(make_figure(*score, drawing, caption=caption), {})


RECORDERS: dict[str, Callable[[Any], Awaitable[Result]]] = {
    "camera.html": record_camera,
    "transcribe.html": record_transcribe,
    "aloud.html": record_aloud,
    "speech.html": record_speech,
    "ocr.html": record_ocr,
    "search.html": record_search,
    "chat.html": record_chat,
    "writes.html": record_writes,
    "teach.html": record_teach,
    "hub.html": record_hub,
    "table.html": record_table,
    "forecast.html": record_forecast,
}
"""Page → what records a result of its model."""
