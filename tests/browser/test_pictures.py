"""Pictures of a page: what a canvas can draw goes into predictions as it is."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage

PROGRAM = """
import asyncio, js
from pyodide.code import run_js
from webnnm import DataError, ImageDataset, NNModel

WIDTH, HEIGHT = 6, 4
COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]

def plain(colour):
    return bytes(colour) * (WIDTH * HEIGHT)

data = ImageDataset(
    b"".join(map(plain, COLOURS)), ["red", "green", "blue", "white"],
    shape=(HEIGHT, WIDTH, 3), layout="hwc", split=(1, 0, 0),
)
model = await NNModel.create(
    source='''m:input shape={channels:3, height:4, width:6}; m:output shape=[4];
        m:layers flatten(), matmul(w), mul(4), softmax();''',
    dataset=data, backend="webnn", log=lambda line: None,
)
# Blue, green, red, white by the sums of the planes.
area = WIDTH * HEIGHT
votes = [[-1, -1, 3, 1], [-1, 3, -1, 1], [3, -1, -1, 1]]
names = data.labels()
order = [names.index(name) for name in ("blue", "green", "red", "white")]
weights = [[0.0] * 4 for _ in range(3 * area)]
for plane in range(3):
    for place in range(area):
        for column, vote in zip(order, votes[plane]):
            weights[plane * area + place][column] = vote / area
model.state.parameters.set("w1", weights)

make = run_js('''(kind, style, width, height) => {
  const canvas = kind === "canvas" ? document.createElement("canvas") : null;
  const drawn = canvas ?? new OffscreenCanvas(width, height);
  drawn.width = width; drawn.height = height;
  const context = drawn.getContext("2d");
  if (style) { context.fillStyle = style; context.fillRect(0, 0, width, height); }
  if (kind === "bitmap") return createImageBitmap(drawn);
  if (kind === "data") return context.getImageData(0, 0, width, height);
  if (kind === "frame") return new VideoFrame(drawn, { timestamp: 0 });
  if (kind === "image") return new Promise((done) => {
    const image = new Image();
    image.onload = () => done(image);
    drawn.convertToBlob().then((blob) => { image.src = URL.createObjectURL(blob); });
  });
  return drawn;
}''')

video = run_js('''async (style) => {
  const canvas = document.createElement("canvas");
  canvas.width = 60; canvas.height = 40;
  const context = canvas.getContext("2d");
  const paint = () => { context.fillStyle = style; context.fillRect(0, 0, 60, 40); };
  paint();
  const video = document.createElement("video");
  video.muted = true;
  video.srcObject = canvas.captureStream(30);
  const playing = video.play();
  while (video.readyState < 2) { paint(); await new Promise(requestAnimationFrame); }
  await playing;
  return video;
}''')

async def picture(kind, style, width=WIDTH, height=HEIGHT):
    found = make(kind, style, width, height)
    return await found if hasattr(found, "then") else found

found = {}
for kind in ("canvas", "offscreen", "bitmap", "data", "frame", "image"):
    pictures = [await picture(kind, "#00f"), await picture(kind, "#0f0", 60, 40)]
    several, one = await model.predict(pictures), await model.predict(pictures[0])
    found[kind] = several.classes + one.classes
found["video"] = (await model.predict(await video("#f00"))).classes
# The left half is blue, the right one white: what is drawn lies where it lay.
half = await picture("canvas", "#fff", 12, 8)
half.getContext("2d").fillStyle = "#00f"
half.getContext("2d").fillRect(0, 0, 6, 8)
from webnnm.backends.drawing import draw_pixels
row = bytes(draw_pixels(half, WIDTH, HEIGHT))[: 4 * WIDTH]
errors = []
for wrong in (await picture("canvas", None), js.document.createElement("video"),
              js.document.createElement("img"), js.document.createElement("div")):
    try:
        await model.predict(wrong)
    except DataError as error:
        errors.append(str(error))
model.close()
[found, row.hex(), errors]
"""


async def test_pictures_of_a_page_are_predicted(pyodide_page: PyodidePage) -> None:
    found, row, errors = await pyodide_page.run_python(PROGRAM)
    video = found.pop("video")
    assert found == {key: ["blue", "green", "blue"] for key in found}
    assert video == ["red"]
    assert row == "0000ffff" * 3 + "ffffffff" * 3
    transparent, waiting, loading, other = errors
    assert "transparent pixels" in transparent
    assert "HTMLVideoElement has no image data yet" in waiting
    assert "HTMLImageElement has no image data yet" in loading
    assert other


@pytest.mark.parametrize("given", ["[[1, 2, 3]]", "[1, 2, 3]"])
async def test_a_page_without_numpy_gets_predictions(
    pyodide_page_without_numpy: PyodidePage, given: str
) -> None:
    program = f"""
import sys
from webnnm import Dataset, NNModel

data = Dataset([[1.0, 2.0, 3.0], [5.0, 3.0, 1.0]] * 3, [0, 1] * 3,
               labels=["no", "yes"], standardize=True, split=(1, 0, 0))
model = await NNModel.create(
    source="m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), softmax();",
    dataset=data, log=lambda line: None)
model.state.parameters.set("w1", [[0, 5], [0, 0], [0, 0]])
found = await model.predict({given})
result = [found.classes, found.tolist()[0], found[0].tolist(), list(found.shape), repr(found),
          data.decode("model", found), "numpy" in sys.modules]
model.close()
result
"""
    (
        classes,
        shares,
        first,
        shape,
        text,
        decoded,
        numpy,
    ) = await pyodide_page_without_numpy.run_python(program)
    assert (classes, decoded, shape, numpy) == (["no"], ["no"], [1, 2], False)
    assert shares == first and shares[0] > 0.99
    assert text.startswith("no 9")
