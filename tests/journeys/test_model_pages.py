"""Pages with trained models, which `make models` fetches; where it did not, they open at least."""

from __future__ import annotations

import pytest

from tests.browser.site_pages import SMOLLM2
from tests.browser.test_model_pages import SPEECH
from tests.journeys.journey import Journey
from tests.journeys.test_taught_pages import COUNT, sense, write_png
from tools.common import SITE

UNFETCHED = "its models were not on the machine of the journey: `make models` fetches them"


async def fetch(journey: Journey, step: str, *models: str) -> bool:
    """Download the models of a page; return whether they are in the site."""
    if not all((SITE / "models" / model).exists() for model in models):
        journey.record_skip(step, UNFETCHED)
        return False
    await journey.tab.click("#download")
    await journey.wait_for("#work:enabled")
    return True


@pytest.mark.usual()
async def test_camera(journey: Journey) -> None:
    await journey.open("camera.html")
    if await fetch(journey, "paints", "multistyle26.onnx"):
        await journey.fill(side="128")
        file = write_png(journey.folder / "red.png", (200, 30, 30))
        await journey.tab.upload("#file", [file])
        await journey.tab.wait_until(COUNT, 3)  # after the landscape in two sizes
        journey.record_success("paints")
        await sense(journey, "sees by the camera")


@pytest.mark.usual()
async def test_how_a_language_model_writes(journey: Journey) -> None:
    await journey.open("writes.html")
    if await fetch(journey, "reads", SMOLLM2):
        await journey.wait_for_text("#next", "Paris")
        await journey.tab.click("#draw")
        await journey.wait_for("#tokens #token-5")
        journey.record_success("reads")


@pytest.mark.usual()
async def test_speech(journey: Journey) -> None:
    await journey.open("speech.html")
    if await fetch(journey, "hears", "silero_vad_16k_op15.onnx"):
        if SPEECH.exists():
            await journey.tab.upload("#file", [SPEECH])
            await journey.tab.wait_until(COUNT, 344)
            journey.record_success("hears")
        await sense(journey, "hears by the microphone")


@pytest.mark.usual()
async def test_text_in_pictures(journey: Journey) -> None:
    await journey.open("ocr.html")
    models = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")
    if await fetch(journey, "reads", *models):
        await journey.tab.click("#example")
        await journey.wait_for("#result[data-done]")
        assert "Networks" in await journey.text("#lines")
        journey.record_success("reads")


@pytest.mark.usual()
async def test_transcribe(journey: Journey) -> None:
    await journey.open("transcribe.html")
    if await fetch(journey, "transcribes", "whisper-tiny.en/model.bin") and SPEECH.exists():
        await journey.tab.upload("#file", [SPEECH])
        await journey.wait_for("#rate[data-done]")
        assert "ask" in await journey.text("#segments")
        journey.record_success("transcribes")


@pytest.mark.usual()
async def test_read_aloud(journey: Journey) -> None:
    await journey.open("aloud.html")
    models = ("en_US-joe-medium/en_US-joe-medium.onnx", "cmudict.dict")
    if await fetch(journey, "reads aloud", *models):
        await journey.fill(text="Good morning.")
        await journey.tab.click("#speak")
        await journey.wait_for("#rate[data-done]")
        assert await journey.text("#sentences") == "Good morning."
        journey.record_success("reads aloud")


@pytest.mark.usual()
async def test_search(journey: Journey) -> None:
    await journey.open("search.html")
    if await fetch(journey, "finds", "all-MiniLM-L6-v2/model.safetensors"):
        await journey.tab.click("#find")
        await journey.wait_for("#found li")
        journey.record_success("finds")


@pytest.mark.usual()
async def test_any_model_from_its_files(journey: Journey) -> None:
    pytest.importorskip("numpy")
    from tests.unit.tasks.tiny_vit import vit_files

    await journey.open("hub.html")
    contents = vit_files(*"abc")
    files = [journey.folder / name for name in contents]
    for file in files:
        file.write_bytes(contents[file.name])
    await journey.tab.upload("#folder", files)
    await journey.wait_for("#work:enabled")
    picture = write_png(journey.folder / "red.png", (200, 30, 30))
    await journey.tab.upload("#picture", [picture])
    await journey.tab.click("#run")
    await journey.wait_for("#shares dd")
    journey.record_success("classifies a picture with a model of files")


@pytest.mark.usual()
async def test_chat_with_a_model_of_a_file(journey: Journey) -> None:
    pytest.importorskip("numpy")
    from tests.unit.transformers.test_gguf_models import write

    await journey.open("chat.html")
    file = write(journey.folder, **{"llama.context_length": 2000})
    await journey.tab.upload("#file", [file])
    await journey.wait_for("#work:enabled")
    await journey.fill(most="12", role="", message="ab")
    await journey.tab.click("#send")
    await journey.wait_for('#rate[data-count="2"]')
    journey.record_success("answers with a model of a file")


@pytest.mark.usual()
async def test_style(journey: Journey) -> None:
    await journey.open("teach.html")
    if await fetch(journey, "learns a style", SMOLLM2):
        sentences = "\n".join((await journey.value("#sentences")).splitlines()[:2])
        await journey.fill(sentences=sentences, epochs="1", rank="2")
        await journey.tab.click("#teach")
        await journey.wait_for("#ask:enabled")
        journey.record_success("learns a style")
