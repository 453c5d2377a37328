"""The page that learns from examples: a person teaches it classes, and nothing leaves."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.saved_pages import ask, open_saved_page
from tests.browser.site_pages import (
    check_usable,
    needs,
    open_site_page,
    skip_where_nothing_runs,
    write_model,
)
from tests.browser.taught_pages import (
    FAKE,
    answer,
    begin,
    check_that_nothing_leaves,
    class_of,
    read_shares,
    teach,
    train,
)
from webnnm import NNModel

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

# Draws pictures of a kind, each a little different, and returns them as files of PNG.
DRAW = """
async ({ kind, count, first }) => {
  const files = [];
  for (let number = first; number < first + count; number++) {
    const canvas = new OffscreenCanvas(160, 120);
    const context = canvas.getContext("2d");
    const turn = (scale) => (Math.sin(12.9898 * (number + 1) * scale) + 1) / 2;
    context.fillStyle = `hsl(${360 * turn(1)} 12% ${80 + 15 * turn(2)}%)`;
    context.fillRect(0, 0, 160, 120);
    context.fillStyle = { sun: "#f2b100", sea: "#0a5bd6", leaf: "#1c8a2e" }[kind];
    context.translate(80 + 16 * (turn(3) - 0.5), 60 + 16 * (turn(4) - 0.5));
    const size = 30 + 12 * turn(5);
    context.beginPath();
    if (kind === "sun") context.arc(0, 0, size, 0, 2 * Math.PI);
    else if (kind === "sea") context.rect(-size * 1.4, -size / 2, size * 2.8, size);
    else { context.moveTo(0, -size); context.lineTo(size, size); context.lineTo(-size, size); }
    context.fill();
    const blob = await canvas.convertToBlob();
    files.push(Array.from(new Uint8Array(await blob.arrayBuffer())));
  }
  return files;
}
"""


async def draw(page: Any, kind: str, count: int, first: int = 0) -> list[dict[str, Any]]:
    """Return files of pictures that the page draws."""
    found = await page.evaluate(DRAW, {"kind": kind, "count": count, "first": first})
    return [
        {"name": f"{kind}{n}.png", "mimeType": "image/png", "buffer": bytes(map(int, each))}
        for n, each in enumerate(found)
    ]


@in_both_browsers
@pytest.mark.usual("no-webnn")
async def test_a_class_is_learnt_and_nothing_leaves(
    page: Any, site_url: str, project: Any, tmp_path: Any
) -> None:
    skip_where_nothing_runs(project)
    page.set_default_timeout(30_000)
    requests = await begin(page, site_url, "examples.html", "#without")
    new = {kind: (await draw(page, kind, 1, 50))[0] for kind in ("sun", "sea", "leaf")}
    await teach(page, 0, "Sun", await draw(page, "sun", 6))
    await teach(page, 1, "Sea", await draw(page, "sea", 6))
    # By keyboard: a third class, its name is selected; one picture too many goes again.
    await page.locator("#add").press("Enter")
    await page.keyboard.type("Leaf")
    await page.locator("#needs", has_text="“Leaf” has no pictures").wait_for()
    assert await page.locator("#learn").is_hidden()
    await teach(page, 2, "Leaf", await draw(page, "leaf", 7))
    await class_of(page, 2).get_by_role("button", name="Remove picture 7 of Leaf").press("Enter")
    await class_of(page, 2).get_by_text("6 pictures").wait_for()
    assert await page.evaluate("document.activeElement.ariaLabel") == "Remove picture 6 of Leaf"
    await train(page)
    assert "18 pictures of 3 classes learnt" in await page.locator("#course-text").text_content()
    assert "shape=[3]" in await page.locator("#source").input_value()
    for kind, file in new.items():
        assert (await answer(page, file)).lower() == kind
    assert await page.locator("#shares dt").all_text_contents() == ["Sun", "Sea", "Leaf"]
    # What is saved says the same when it is opened again, and goes to other programs.
    async with page.expect_download() as saved:
        await page.locator("#save").click()
    file = tmp_path / "examples.webnnm.safetensors"
    await (await saved.value).save_as(file)
    async with page.expect_download() as exported:
        await page.locator("#export").click()
    assert (await exported.value).suggested_filename == "examples.onnx"
    shares = await page.locator("#shares").text_content()
    # And a page of its own says the same without Python.
    async with open_saved_page(page, tmp_path) as tab:
        for picture in new.values():
            await answer(page, picture)
            assert await ask(tab, picture) == await read_shares(page)
    await class_of(page, 2).get_by_role("button", name="Remove class Leaf").click()
    await train(page)
    assert await answer(page, new["sun"]) == "Sun"
    assert await page.locator("#shares dt").all_text_contents() == ["Sun", "Sea"]
    await page.locator("#open").set_input_files(file)
    await page.get_by_text("is opened: Sun, Sea, Leaf").wait_for()
    assert await answer(page, new["leaf"]) == "Leaf"
    assert await page.locator("#shares").text_content() == shares
    # Another model text is trained as it is; a wrong one is told with its place.
    text = await page.locator("#source").input_value()
    told = page.locator("#alert pre")
    await page.locator(".teaching summary", has_text="More").click()
    await write_model(page, text.replace("softmax()", "softmx()"))
    await page.locator("#learn").click()
    await told.get_by_text("softmax").wait_for()
    await write_model(page, text)
    await check_that_nothing_leaves(page, requests)
    assert await violations(page) == []
    await check_usable(page)  # which leaves it narrow and dark
    assert await violations(page) == []


# Notes what the page says of the example that is shown, and how far the training is then.
WATCH_BARS = """
() => {
  globalThis.looks = [];
  const [bars, course] = ["#shares", "#course-text"].map((name) => document.querySelector(name));
  const note = () => looks.push([course.textContent, bars.textContent]);
  new MutationObserver(note).observe(bars, { childList: true, subtree: true, characterData: true });
}
"""


@in_both_browsers
async def test_ready_examples_are_learnt_with_two_clicks_and_the_bars_follow(
    page: Any, site_url: str, project: Any, tmp_path: Any
) -> None:
    skip_where_nothing_runs(project)
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "examples.html")
    assert await page.locator("#needs").text_content() == (
        "Record at least 5 pictures of each class."
    )
    assert await page.locator("#learn").is_hidden()
    assert await page.locator("#shares[data-example] dt").all_text_contents() == [
        "Class 1",
        "Class 2",
    ]
    await page.locator("#ready").dblclick()
    await page.locator("#learn").wait_for()
    names = page.locator("#classes input[required]")
    assert await names.evaluate_all("fields => fields.map(({ value }) => value)") == ["Sun", "Leaf"]
    assert await page.locator("#classes .thumbnails li").count() == 16
    assert await page.evaluate("document.activeElement.id") == "learn"
    await page.locator("#ready").click()
    await page.locator("#learn").focus()
    assert await page.locator("#without").is_checked()
    await page.evaluate(WATCH_BARS)
    await page.keyboard.press("Enter")
    await page.locator("#course-text[data-trained='1']").wait_for()
    summary = await page.locator("#course-text").text_content()
    assert summary.startswith("16 pictures of 2 classes learnt"), "more clicks add no examples"
    looks = await page.evaluate("looks")
    early = {bars for course, bars in looks if course.startswith("Epoch")}
    assert len(early) >= 3, "the bars move while the network learns"
    # Samples that are none of the examples, of each class in turn.
    for kind in ("Sun", "Leaf", "Sun"):
        await page.locator("#sample").click()
        await page.locator("#answer", has_text=kind).wait_for()
    widths = await page.locator("#shares .bar").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().width)"
    )
    assert len(widths) == 2
    assert widths[0] == widths[1]
    # Another name of a class is that of the answers and of what is saved, but no name of two.
    await page.locator("#answer", has_text="Sun").wait_for()
    await class_of(page, 1).get_by_label("Name").fill("Sun")
    assert await page.locator("#shares dt").all_text_contents() == ["Sun", "Leaf"]
    await class_of(page, 1).get_by_label("Name").fill("Oak")
    await page.locator("#shares dt", has_text="Oak").wait_for()
    assert await page.locator("#shares dt").all_text_contents() == ["Sun", "Oak"]
    # A bar has the length below a long name that it has beside a short one, at least.
    bar = page.locator("#shares .bar").first
    beside = (await bar.bounding_box())["width"]
    await class_of(page, 1).get_by_label("Name").fill("Leaves of oaks, of beeches and of birches")
    await page.locator("#shares dt", has_text="Leaves of oaks").wait_for()
    assert (await bar.bounding_box())["width"] >= beside > 80
    await class_of(page, 1).get_by_label("Name").fill("Oak")
    await page.locator("#shares dt", has_text="Oak").wait_for()
    assert (await bar.bounding_box())["width"] == beside
    # The link has the model; opened in another tab it says the same.
    await page.locator("#link").click()
    await page.wait_for_function("location.hash.startsWith('#taught=pixels.')")
    file = (await draw(page, "sun", 1, 50))[0]
    name = await answer(page, file)
    shares = await read_shares(page)
    tab = await page.context.new_page()
    await tab.goto(page.url)
    await tab.get_by_text("The model of the link is opened: Sun, Oak").wait_for()
    assert await answer(tab, file) == name
    for label, share in (await read_shares(tab)).items():
        rounded, exact = (float(text.removesuffix("%")) for text in (share, shares[label]))
        assert abs(rounded - exact) < 1, "the link has its numbers in 16 bits"
    await tab.close()
    await class_of(page, 1).get_by_label("Name").fill("Leaf")
    # An answer that names a class that is removed goes with it.
    await class_of(page, 0).get_by_role("button", name="Remove class Sun").click()
    assert await page.locator("#answer").text_content() == ""
    assert await page.locator("#shares dt").all_text_contents() == ["Leaf"]
    await page.locator("#shares-help", has_text="train again").wait_for()
    await page.locator("#ready").click()
    await class_of(page, 1).get_by_text("8 pictures").wait_for()
    assert await names.evaluate_all("fields => fields.map(({ value }) => value)") == ["Leaf", "Sun"]
    await train(page)
    assert await answer(page, file) == "Sun"


@in_one_browser
async def test_links_that_are_none_of_this_page_are_refused(page: Any, site_url: str) -> None:
    page.set_default_timeout(30_000)
    stranger = "m:name m; m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), softmax();"
    async with await NNModel.create(source=stranger, backend="numpy", log=lambda _: None) as model:
        foreign = await model.save(optimizer=False)
    packed = urlsafe_b64encode(zlib.compress(foreign)).decode().rstrip("=")
    wrong = {
        f"pixels.{packed}": "The model of this link is not one of this page",
        f"sounds.{packed}": "The model of this link is not one of this page",
        f"pixels.{packed[:90]}": "The link to this model is not complete",
        "pixels.!": "The link to this model is not complete",
        "": "The link to this model is not complete",
    }
    for number, (link, problem) in enumerate(wrong.items()):
        await open_site_page(page, site_url, f"examples.html?{number}#taught={link}")
        await page.locator("#alert pre", has_text=problem).wait_for()
    await page.locator("#ready").click()
    await page.locator("#learn").wait_for()
    assert await page.locator("#alert").text_content() == ""


@in_one_browser
async def test_the_first_training_says_that_the_server_lacks_the_model_and_learns_without(
    page: Any, site_url: str
) -> None:
    page.set_default_timeout(30_000)
    await page.route("**/efficientnet-lite0.onnx", lambda route: route.fulfill(status=404))
    await open_site_page(page, site_url, "examples.html")
    await teach(page, 0, "Sun", await draw(page, "sun", 5))
    await teach(page, 1, "Leaf", await draw(page, "leaf", 5))
    assert await page.locator("#blocked").get_attribute("data-blocked") == "partly"
    await train(page)
    text = await page.locator("#progress-text").text_content()
    assert text.startswith("This site has no efficientnet-lite0.onnx to download.")
    assert text.endswith("The network learns from pixels instead.")
    assert await page.locator("#without").is_checked()
    assert await answer(page, (await draw(page, "leaf", 1, 50))[0]) == "Leaf"


@in_one_browser
async def test_without_a_camera_files_remain(page: Any, site_url: str) -> None:
    await open_site_page(page, site_url, "examples.html")
    await class_of(page, 0).get_by_role("button", name="Hold to record").press("Space")
    alert = page.locator("#alert pre", has_text="The camera cannot be opened")
    await alert.wait_for()
    assert "add pictures from files" in await alert.text_content()
    assert await page.locator("#start").is_visible()


@in_one_browser
async def test_a_class_is_learnt_from_the_camera(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    page = await new_page(await launch(project.name, *FAKE))
    page.set_default_timeout(30_000)
    requests = await begin(page, site_url, "examples.html", "#without")
    # A click records one picture, a button that is held down more, and a key one.
    take = class_of(page, 0).get_by_role("button", name="Hold to record pictures of Class 1")
    await take.click()
    await class_of(page, 0).get_by_text("1 picture", exact=True).wait_for()
    await page.locator("#stop:enabled").wait_for()
    await take.press("Space")
    await class_of(page, 0).get_by_text("2 pictures").wait_for()
    await take.hover()
    await page.mouse.down()
    await class_of(page, 0).locator(".thumbnails li").nth(4).wait_for()
    await page.mouse.up()
    await teach(page, 1, "Sun", await draw(page, "sun", 5))
    await train(page)
    # The camera goes on, and what it shows is recognised picture by picture.
    await page.wait_for_function("Number(document.querySelector('#rate').dataset.count) >= 3")
    assert (await page.locator("#answer").text_content()).startswith("Class 1")
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    assert await answer(page, (await draw(page, "sun", 1, 50))[0]) == "Sun"
    assert requests == []


@in_both_browsers
async def test_the_first_training_downloads_the_model_of_photographs(
    page: Any, site_url: str, project: Any
) -> None:
    needs("efficientnet-lite0.onnx")
    page.set_default_timeout(60_000)
    await open_site_page(page, site_url, "examples.html")
    await teach(page, 0, "Sun", await draw(page, "sun", 5))
    await teach(page, 1, "Leaf", await draw(page, "leaf", 5))
    assert await page.locator("#blocked").get_attribute("data-blocked") == "partly"
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await train(page)
    assert [address.rpartition("/")[2] for address in requests] == ["efficientnet-lite0.onnx"]
    assert await page.locator("#blocked").get_attribute("data-blocked") == "wholly"
    assert await answer(page, (await draw(page, "leaf", 1, 50))[0]) == "Leaf"
    await page.locator("#link").click()
    await page.wait_for_function("location.hash.startsWith('#taught=efficientnet-lite0.')")
    tab = await page.context.new_page()
    await tab.goto(page.url)
    await tab.locator("#progress-text", has_text="The model of this link builds on it").wait_for()
    await tab.locator("#download").click()
    await tab.get_by_text("The model of the link is opened: Sun, Leaf").wait_for()
    assert await answer(tab, (await draw(page, "leaf", 1, 51))[0]) == "Leaf"
    await tab.close()


@in_both_browsers
async def test_the_backbone_tells_apart_what_pixels_do_not(
    page: Any, site_url: str, project: Any, tmp_path: Any
) -> None:
    needs("efficientnet-lite0.onnx")
    page.set_default_timeout(60_000)
    requests = await begin(page, site_url, "examples.html", "#download")
    await teach(page, 0, "Sun", await draw(page, "sun", 5))
    await teach(page, 1, "Leaf", await draw(page, "leaf", 5))
    await train(page)
    new = {kind: (await draw(page, kind, 1, 50))[0] for kind in ("sun", "leaf")}
    for kind, file in new.items():
        assert (await answer(page, file)).lower() == kind
    shares = await page.locator("#shares").text_content()
    # Backbone and head are one model in the file.
    async with page.expect_download() as saved:
        await page.locator("#save").click()
    file = tmp_path / "examples.webnnm.safetensors"
    await (await saved.value).save_as(file)
    assert file.stat().st_size > 13_000_000
    async with page.expect_download() as exported:
        await page.locator("#export").click()
    await (await exported.value).save_as(tmp_path / "examples.onnx")
    await page.locator("#open").set_input_files(file)
    await page.get_by_text("is opened: Sun, Leaf").wait_for()
    assert await answer(page, new["leaf"]) == "Leaf"
    assert await page.locator("#shares").text_content() == shares
    async with open_saved_page(page, tmp_path) as tab:
        assert await ask(tab, new["leaf"]) == await read_shares(page)
    assert [each for each in requests if not each.startswith("blob:")] == []
