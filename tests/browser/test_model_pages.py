"""Pages with trained ONNX models: the camera, the microphone, and text in pictures."""

from __future__ import annotations

import array
import base64
import wave
from pathlib import Path
from typing import Any

import pytest

from tests.browser.interop import INTEROP
from tests.browser.site_pages import check_usable, fill, needs, open_site_page
from tests.browser.taught_pages import FAKE
from tests.places import SHARED
from webnnm.formats.onnx.messages import (
    DimensionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorShapeProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.writer import serialize

in_one_browser = pytest.mark.projects("webnn")

SPEECH = SHARED / "models" / "jfk.flac"
RATE = 16_000
# Decodes a file of sound, given in base64, to samples from −32767 to 32767.
DECODE = """
async (text) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const decoder = new OfflineAudioContext(1, 1, 16000);
  const sound = await decoder.decodeAudioData(bytes.buffer);
  return Array.from(sound.getChannelData(0), (sample) => Math.round(sample * 32767));
}
"""
# The mean of red, green and blue of a canvas.
MEAN = """
(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const sums = [0, 0, 0];
  data.forEach((value, place) => { if (place % 4 < 3) sums[place % 4] += value; });
  return sums.map((sum) => sum / (data.length / 4));
}
"""
# Count the graphs that are alive.
COUNT_GRAPHS = """
globalThis.graphs = 0;
const { build } = MLGraphBuilder.prototype;
MLGraphBuilder.prototype.build = async function counted(...args) {
  const graph = await build.apply(this, args);
  globalThis.graphs += 1;
  return graph;
};
const { destroy } = MLGraph.prototype;
MLGraph.prototype.destroy = function counted() {
  globalThis.graphs -= 1;
  return destroy.call(this);
};
"""


def needs_speech() -> None:
    if not SPEECH.exists():
        pytest.skip(f"there is no {SPEECH}, a recording of speech; WEBNNM_SHARED names its folder")


async def ready(page: Any, site_url: str, name: str, backend: str = "WebNN", **fields: str) -> None:
    """Open a page, fill in fields, download its models and wait for them."""
    await open_site_page(page, site_url, name)
    await fill(page, **fields)
    assert await page.locator("#work:disabled").count() == 1
    assert await page.locator("#recorded").is_visible()
    await page.locator("#download").click()
    await page.locator("#work:enabled").wait_for()
    assert await page.locator("#recorded").is_hidden()
    assert f"Ready, on {backend}" in await page.locator("#progress-text").text_content()


def film(path: Path, *, width: int = 320, height: int = 240, pictures: int = 4) -> None:
    """Write a film whose left half is white and whose right half is black, as YUV4MPEG2."""
    light = (bytes([235]) * (width // 2) + bytes([16]) * (width // 2)) * height
    colour = bytes([128]) * (width * height // 4)
    head = f"YUV4MPEG2 W{width} H{height} F10:1 Ip A1:1 C420jpeg\n".encode()
    path.write_bytes(head + pictures * (b"FRAME\n" + light + colour + colour))


async def make_square(page: Any) -> dict[str, Any]:
    """Return the file of a picture for the page to choose."""
    picture = await page.evaluate("""
    async () => {
      const canvas = new OffscreenCanvas(64, 64);
      canvas.getContext("2d").fillRect(16, 16, 32, 32);
      const blob = await canvas.convertToBlob();
      return Array.from(new Uint8Array(await blob.arrayBuffer()));
    }""")
    return {"name": "square.png", "mimeType": "image/png", "buffer": bytes(map(int, picture))}


@in_one_browser
async def test_camera_is_painted(
    launch: Any, new_page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    needs("multistyle26.onnx")
    film(tmp_path / "film.y4m")
    played = f"--use-file-for-fake-video-capture={tmp_path / 'film.y4m'}"
    page = await new_page(await launch(project.name, *FAKE, played))
    await ready(page, site_url, "camera.html")
    await page.locator("#side").select_option("128")
    await page.locator("#start").click()
    rate = page.locator("#rate")
    await page.wait_for_function("Number(document.querySelector('#rate').dataset.count) >= 3")
    assert "pictures per second of 128 × 96 pixels" in await rate.text_content()
    assert "WebNN" in await rate.text_content()
    seen = await page.locator("#camera").evaluate(MEAN)
    assert seen == pytest.approx([127, 127, 127], abs=12)
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    painted = await page.locator("#painted").evaluate(MEAN)
    # A picture that stays can be painted in another style.
    count = await rate.get_attribute("data-count")
    await page.locator("#style").fill("8")
    await page.locator("#style").press("Tab")
    await page.wait_for_function(
        "count => document.querySelector('#rate').dataset.count !== count", arg=count
    )
    other = await page.locator("#painted").evaluate(MEAN)
    assert max(abs(a - b) for a, b in zip(painted, other, strict=True)) > 5
    await check_usable(page)


async def paint_film(page: Any, site_url: str, backend: str, device: str) -> tuple[str, list[int]]:
    """Paint some frames of the camera, and return how the page says it did and the last picture."""
    await ready(page, site_url, "camera.html", backend, device=device)
    await page.locator("#side").select_option("128")
    await page.locator("#start").click()
    await page.wait_for_function("Number(document.querySelector('#rate').dataset.count) >= 3")
    rate = await page.locator("#rate").text_content()
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    painted = await page.locator("#painted").evaluate(
        "(canvas) => Array.from(canvas.getContext('2d').getImageData(0, 0, 128, 96).data)"
    )
    return rate, painted


def negative() -> bytes:
    """Return a network with the inputs and the output of that of the camera page."""

    def value(name: str, *sizes: int | str) -> ValueInfoProto:
        dimensions = [
            DimensionProto(dim_param=size) if isinstance(size, str) else DimensionProto(size)
            for size in sizes
        ]
        return ValueInfoProto(name, TypeProto(TensorTypeProto(1, TensorShapeProto(dimensions))))

    graph = GraphProto(
        name="negative",
        node=[NodeProto(["style_weights"], ["sum"], op_type="ReduceMax"),
              NodeProto(["sum", "image"], ["stylized"], op_type="Sub")],
        input=[value("image", 1, 3, "height", "width"), value("style_weights", 26)],
        output=[value("stylized", 1, 3, "height", "width")],
    )  # fmt: skip
    return serialize(ModelProto(8, graph=graph, opset_import=[OperatorSetIdProto("", 17)]))


@pytest.mark.projects("webnn-webgpu")
@pytest.mark.parametrize(
    ("backend", "device", "model"),
    [("WebNN", "", None), ("ONNX Runtime Web (WebGPU)", "webgpu", negative())],
    ids=["webnn", "onnxruntime"],
)
async def test_camera_is_painted_alike_over_webgpu(
    launch: Any, new_page: Any, site_url: str, project: Any, tmp_path: Path,
    backend: str, device: str, model: bytes | None,
) -> None:  # fmt: skip
    if model is None:
        needs("multistyle26.onnx")
    film(tmp_path / "film.y4m")
    played = f"--use-file-for-fake-video-capture={tmp_path / 'film.y4m'}"
    browser = await launch(project.name, *FAKE, played)
    rates: list[str] = []
    pictures: list[list[int]] = []
    for script in ("", f"{INTEROP} shareTensors();"):
        page = await new_page(browser)
        await page.add_init_script(script)
        if model is not None:  # in software the other one takes ten seconds
            await page.route("**/multistyle26.onnx", lambda route: route.fulfill(body=model))
        rate, picture = await paint_film(page, site_url, backend, device)
        rates.append(rate)
        pictures.append(picture)
    assert "ms each over the host" in rates[0]
    assert "ms each over WebGPU" in rates[1]
    differences = [abs(a - b) for a, b in zip(*pictures, strict=True)]
    assert max(differences) <= 2
    assert max(pictures[1]) - min(pictures[1]) > 200
    await check_usable(page)


@in_one_browser
async def test_microphone_is_heard(
    launch: Any, new_page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    needs("silero_vad_16k_op15.onnx")
    needs_speech()
    decoder = await new_page(await launch(project.name))
    await decoder.goto(f"{site_url}/notation.html")
    text = base64.b64encode(SPEECH.read_bytes()).decode()
    samples = await decoder.evaluate(DECODE, text)
    with wave.open(str(tmp_path / "speech.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(array.array("h", map(int, samples)).tobytes())
    played = f"--use-file-for-fake-audio-capture={tmp_path / 'speech.wav'}"
    page = await new_page(await launch(project.name, *FAKE, played))
    await ready(page, site_url, "speech.html")
    await page.locator("#start").click()
    await page.locator("#heard", has_text="Speech").wait_for()
    await page.locator("#stretches li").nth(1).wait_for()
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    assert "dropped" not in await page.locator("#rate").text_content()
    await check_usable(page)


@in_one_browser
async def test_a_file_of_speech_is_heard(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("silero_vad_16k_op15.onnx")
    needs_speech()
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "speech.html")
    await page.locator("#file").set_input_files(SPEECH)
    await page.locator("#rate[data-count='344']").wait_for()
    rate = await page.locator("#rate").text_content()
    assert rate.startswith("11.0 s of sound in")
    heard = await page.locator("#stretches li").all_text_contents()
    begins = [float(text.split()[0]) for text in heard]
    # "And so, my fellow Americans, | ask not | what your country can do for you, | ask what …"
    assert begins == pytest.approx([0.3, 3.3, 4.0, 5.4, 8.1], abs=0.25)


@in_one_browser
async def test_a_tone_is_silence(launch: Any, new_page: Any, site_url: str, project: Any) -> None:
    needs("silero_vad_16k_op15.onnx")
    page = await new_page(await launch(project.name, *FAKE))
    await ready(page, site_url, "speech.html")
    await page.locator("#start").click()
    await page.wait_for_function("Number(document.querySelector('#rate').dataset.count) >= 60")
    await page.locator("#stop").click()
    await page.locator("#start:enabled").wait_for()
    assert await page.locator("#stretches li").count() == 0
    assert await page.locator("#none").is_visible()


@in_one_browser
async def test_text_in_a_picture_is_read(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "ocr.html")
    await page.locator("#example").click()
    await page.locator("#result[data-done]").wait_for()
    lines = page.locator("#lines")
    expected = "Networks read text\nin 2026: WebNN, ONNX\nOn your device"
    assert await lines.get_attribute("data-text") == expected
    assert "3 lines in" in await page.locator("#rate").text_content()
    await check_usable(page)
    # A picture of its own, turned upside down.
    turned = await page.evaluate("""
    async () => {
      const canvas = new OffscreenCanvas(500, 160);
      const context = canvas.getContext("2d");
      context.fillStyle = "#f4efe0";
      context.fillRect(0, 0, 500, 160);
      context.translate(500, 160);
      context.rotate(Math.PI);
      context.fillStyle = "#123";
      context.font = "40px serif";
      context.fillText("Ticket No. 4711", 60, 95);
      const blob = await canvas.convertToBlob();
      return Array.from(new Uint8Array(await blob.arrayBuffer()));
    }""")
    picture = {"name": "t.png", "mimeType": "image/png", "buffer": bytes(map(int, turned))}
    await page.locator("#file").set_input_files([picture])
    await page.locator("#rate", has_text="1 line in").wait_for()
    assert await lines.get_attribute("data-text") == "Ticket No. 4711"


@pytest.mark.projects("no-webnn")
async def test_without_webnn_a_picture_is_painted_on_onnx_runtime(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("multistyle26.onnx")
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "camera.html", "ONNX Runtime Web (WebAssembly)")
    await page.locator("#side").select_option("128")
    await page.locator("#file").set_input_files([await make_square(page)])
    rate = page.locator("#rate[data-count='3']")
    await rate.wait_for()
    assert "A picture of 128 × 128 pixels" in await rate.text_content()


@in_one_browser
async def test_a_camera_that_is_refused_is_told(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("multistyle26.onnx")
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "camera.html")
    await page.locator("#start").click()
    alert = page.locator("#alert pre")
    await alert.wait_for()
    assert "The camera cannot be opened" in await alert.text_content()
    assert "choose a picture" in await alert.text_content()
    assert await page.locator("#start").is_enabled()


@in_one_browser
async def test_a_camera_that_does_not_play_is_closed(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("multistyle26.onnx")
    page = await new_page(await launch(project.name, *FAKE))
    await page.add_init_script("""
      HTMLMediaElement.prototype.play = async () => { throw new DOMException("no", "AbortError") };
    """)
    await ready(page, site_url, "camera.html")
    await page.locator("#side").select_option("128")
    await page.locator("#start").click()
    await page.locator("#alert", has_text="The camera cannot be opened").wait_for()
    await page.locator("#file").set_input_files([await make_square(page)])
    rate = page.locator("#rate[data-count='3']")
    await rate.wait_for()
    assert "A picture of 128 × 128 pixels" in await rate.text_content()


@in_one_browser
async def test_quick_changes_leave_one_painter(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("multistyle26.onnx")
    page = await new_page(await launch(project.name))
    await page.add_init_script(COUNT_GRAPHS)
    await ready(page, site_url, "camera.html")
    await page.locator("#side").select_option("128")
    await page.locator("#file").set_input_files([await make_square(page)])
    await page.locator("#rate[data-count='3']").wait_for()
    graphs = await page.evaluate("graphs")
    await page.evaluate("""
    () => {
      const side = document.querySelector("#side");
      for (const value of [...side.options].slice(0, 2).map((option) => option.value)) {
        side.value = value;
        side.dispatchEvent(new Event("change", { bubbles: true }));
      }
    }""")
    await page.locator("#rate[data-count='5']").wait_for()
    assert await page.evaluate("graphs") == graphs
