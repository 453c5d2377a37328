"""Images from arrays and objects: layouts, 0 … 1, channels, labels."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.pictures.images import ImageDataset
from webnnm.data.pictures.pixels import read_pictures

ALL = {"split": (1, 0, 0)}
GREY = HostArray("uint8", (2, 2, 3), bytes(range(0, 240, 20)))
LABELS = [0.5, 1.5]


def image_of(data: ImageDataset, row: int = 0) -> Any:
    return data.sample(row)[0]["model"].tolist()


def test_bytes_become_light_in_0_to_1() -> None:
    data = ImageDataset(GREY, LABELS, **ALL)
    field = data.inputs["model"]
    assert (field.shape, field.dtype, field.names) == ((2, 3), "float32", ("height", "width"))
    assert image_of(data)[1] == pytest.approx([60 / 255, 80 / 255, 100 / 255])
    assert data.name == "images"


@pytest.mark.parametrize(
    ("shape", "layout", "names"),
    [
        ((8, 6), None, ("height", "width")),
        ((8, 6, 3), None, ("height", "width", "channels")),
        ((1, 8, 6), None, ("channels", "height", "width")),
        ((3, 4, 4), "hwc", ("height", "width", "channels")),
        ((6, 8, 7), "chw", ("channels", "height", "width")),
    ],
)
def test_layouts(shape: tuple[int, ...], layout: str | None, names: tuple[str, ...]) -> None:
    size = 2
    for part in shape:
        size *= part
    data = ImageDataset(bytes(size), LABELS, shape=shape, layout=layout, **ALL)
    assert (data.inputs["model"].shape, data.inputs["model"].names) == (shape, names)


@pytest.mark.parametrize(
    ("pixels", "white", "expected"),
    [
        ([0.0, 0.5, 1.0], None, [0, 0.5, 1]),
        ([0, 51, 255], None, [0, 0.2, 1]),
        ([0, 1, 65535], None, [0, 1 / 65535, 1]),
        ([0, 8, 16], 16, [0, 0.5, 1]),
        (HostArray.of([0, 1, 1], "uint8"), None, [0, 1 / 255, 1 / 255]),
        (HostArray.of([0, 1, 1], "uint8"), 1, [0, 1, 1]),
        (HostArray.of([-1.0, 0.5, 1.0], "float16"), None, [-1, 0.5, 1]),
    ],
)
def test_scales(pixels: Any, white: float | None, expected: list[float]) -> None:
    data = ImageDataset(pixels, [0.5], shape=(1, 3), white=white, **ALL)
    assert image_of(data)[0] == pytest.approx(expected)


class Picture:
    """What an image of PIL has."""

    def __init__(self, mode: str, size: tuple[int, int], data: bytes) -> None:
        self.mode, self.size, self._data = mode, size, data

    def tobytes(self) -> bytes:
        return self._data


class Photograph(Picture):
    """An image of PIL whose camera was held in some way."""

    def __init__(self, orientation: int, size: tuple[int, int], data: bytes) -> None:
        super().__init__("L", size, data)
        self.orientation = orientation

    def getexif(self) -> dict[int, int]:
        return {0x0112: self.orientation} if self.orientation else {}

    def transpose(self, method: int) -> Picture:
        width, height = self.size
        rows = [list(self._data[k * width : (k + 1) * width]) for k in range(height)]
        turned = {
            0: [row[::-1] for row in rows],  # FLIP_LEFT_RIGHT
            1: rows[::-1],  # FLIP_TOP_BOTTOM
            2: [list(row) for row in zip(*rows, strict=True)][::-1],  # ROTATE_90
            3: [row[::-1] for row in rows[::-1]],  # ROTATE_180
            4: [list(row) for row in zip(*rows[::-1], strict=True)],  # ROTATE_270
            5: [list(row) for row in zip(*rows, strict=True)],  # TRANSPOSE
            6: [list(row) for row in zip(*[row[::-1] for row in rows[::-1]], strict=True)],
        }[method]
        data = bytes(value for row in turned for value in row)
        return Picture("L", (len(turned[0]), len(turned)), data)


# What a camera stores of the scene [[1, 2, 3], [4, 5, 6]], by the orientation that it notes.
HELD = {
    0: ((3, 2), [1, 2, 3, 4, 5, 6]),
    1: ((3, 2), [1, 2, 3, 4, 5, 6]),
    2: ((3, 2), [3, 2, 1, 6, 5, 4]),
    3: ((3, 2), [6, 5, 4, 3, 2, 1]),
    4: ((3, 2), [4, 5, 6, 1, 2, 3]),
    5: ((2, 3), [1, 4, 2, 5, 3, 6]),
    6: ((2, 3), [3, 6, 2, 5, 1, 4]),
    7: ((2, 3), [6, 3, 5, 2, 4, 1]),
    8: ((2, 3), [4, 1, 5, 2, 6, 3]),
}


@pytest.mark.parametrize("orientation", HELD)
def test_photographs_are_upright(orientation: int) -> None:
    size, stored = HELD[orientation]
    photographs = [Photograph(orientation, size, bytes(stored))] * 2
    data = ImageDataset(photographs, LABELS, **ALL)
    scene = [[1 / 255, 2 / 255, 3 / 255], [4 / 255, 5 / 255, 6 / 255]]
    assert image_of(data) == [pytest.approx(row) for row in scene]
    later = read_pictures("input", photographs[0], data.inputs["model"])
    assert list(later.values()) == [1, 2, 3, 4, 5, 6]


def test_true_is_white() -> None:
    np = pytest.importorskip("numpy")
    masks = np.array([[[True, False]], [[False, True]]])
    for images in (masks, list(masks)):
        data = ImageDataset(images, LABELS, **ALL)
        assert image_of(data) == [[1, 0]]
    later = data.light.of("input", read_pictures("input", masks[0], data.inputs["model"]))
    assert list(later.values()) == [1, 0]
    view = memoryview(bytes([1, 0, 0, 1])).cast("?")
    assert image_of(ImageDataset(view, LABELS, shape=(1, 2), **ALL)) == [[1, 0]]


@pytest.mark.parametrize("mode", ["I;16", "I;16B", "I"])
def test_pictures_of_16_bits_keep_their_greys(mode: str) -> None:
    values = array("i" if mode == "I" else "H", [0, 32768, 65535, 655])
    if mode == "I;16B":
        values.byteswap()
    data = ImageDataset([Picture(mode, (2, 2), values.tobytes())] * 2, LABELS, **ALL)
    assert image_of(data)[0] == pytest.approx([0, 0.50001], abs=1e-4)
    assert image_of(data)[1] == pytest.approx([1, 0.01], abs=1e-4)
    later = read_pictures("input", Picture(mode, (2, 2), values.tobytes()), data.inputs["model"])
    assert list(data.light.of("input", later).values())[2] == 1


def test_integers_that_may_be_of_8_or_16_bits_are_refused() -> None:
    dim = Picture("I", (2, 2), array("i", [0, 100, 252, 7]).tobytes())
    with pytest.raises(DataError, match="255 or 65535") as caught:
        ImageDataset([dim] * 2, LABELS, **ALL)
    assert 'convert("L")' in caught.value.hint
    black = Picture("I", (2, 2), bytes(16))
    assert image_of(ImageDataset([black] * 2, LABELS, **ALL)) == [[0, 0], [0, 0]]


class Canvas:
    """What ImageData of a canvas has."""

    width, height, data = 2, 1, bytes([255, 0, 0, 255, 0, 255, 0, 255])


def test_image_objects() -> None:
    colour = [Picture("RGB", (3, 2), bytes(range(18))), Picture("RGB", (3, 2), bytes(18))]
    data = ImageDataset(colour, LABELS, layout="hwc", **ALL)
    assert data.inputs["model"].shape == (2, 3, 3)
    assert image_of(data)[0][1] == pytest.approx([3 / 255, 4 / 255, 5 / 255])
    grey = ImageDataset([Picture("L", (3, 2), bytes(6))] * 2, LABELS, **ALL)
    assert grey.inputs["model"].shape == (2, 3)
    canvas = ImageDataset([Canvas(), Canvas()], LABELS, layout="hwc", **ALL)
    assert image_of(canvas) == [[[1, 0, 0, 1], [0, 1, 0, 1]]]


def test_lists_of_arrays() -> None:
    rows = [GREY.rows([row]) for row in range(2)]
    flat = [HostArray("uint8", (6,), row.data) for row in rows]
    data = ImageDataset(flat, LABELS, shape=(2, 3), **ALL)
    assert image_of(data, 1)[0][0] == pytest.approx(120 / 255)


def test_numpy_images() -> None:
    np = pytest.importorskip("numpy")
    pixels = np.arange(2 * 8 * 6 * 3, dtype="uint8").reshape(2, 8, 6, 3)
    for images in (pixels, list(pixels)):
        data = ImageDataset(images, LABELS, **ALL)
        assert image_of(data, 1)[0][0] == pytest.approx([144 / 255, 145 / 255, 146 / 255])


def test_standardising_is_per_channel() -> None:
    pixels = bytes([10, 200, 30, 200] * 5)
    data = ImageDataset(pixels, [0.5], shape=(5, 2, 2), standardize=True, **ALL)
    fitted = data.standardization["model"]
    assert fitted.mean == pytest.approx((20 / 255, 200 / 255))
    left, right = image_of(data)[0]
    assert left == pytest.approx([-1, 0], abs=1e-5)
    assert right == pytest.approx([1, 0], abs=1e-5)


def test_labels_are_numbers_words_or_outputs() -> None:
    data = ImageDataset(GREY, ["frog", "cat"], **ALL)
    assert data.labels() == ["cat", "frog"]
    assert data.arrays("training")[1]["model"].tolist() == [1, 0]
    named = ImageDataset(GREY, [1, 0], class_names=["a", "b", "c"], **ALL)
    assert (named.labels(), named.outputs["model"].classes) == (["a", "b", "c"], 3)
    assert ImageDataset(GREY, {"box": [[0.5, 1.5]] * 2}, **ALL).outputs["box"].shape == (2,)


@pytest.mark.parametrize(
    ("images", "options", "code", "text"),
    [
        (
            bytes(10),
            {"shape": (2, 2)},
            "NNM702",
            r"10 pixels do not divide into images of \[2, 2\]",
        ),
        (bytes(128), {"shape": (8, 8, 1), "layout": "hw"}, "NNM702", 'are not "hw"'),
        (bytes(1200), {"shape": (10, 10, 6)}, "NNM702", "an ambiguous layout"),
        (bytes(54), {"shape": (3, 3, 3)}, "NNM702", "an ambiguous layout"),
        (bytes(20), {}, "NNM702", "an ambiguous layout"),
        (GREY, {"layout": "hcw"}, "NNM704", 'unknown layout "hcw"'),
        (GREY, {"white": 0}, "NNM704", "white is 0"),
        ([[[1, 2], [3]]], {}, "NNM702", "images: .*ragged"),
        ([GREY, HostArray("uint8", (1, 3), bytes(3))], {}, "NNM702", "image 1 is uint8"),
        ([Picture("P", (8, 1), bytes(8))], {}, "NNM702", 'image 0 has mode "P"'),
        ([Picture("L", (8, 2), b"0")], {}, "NNM702", "16 bytes, 1 given"),
    ],
)
def test_what_makes_no_images(images: Any, options: Any, code: str, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        ImageDataset(images, LABELS, **options, **ALL)
    assert caught.value.code == code
