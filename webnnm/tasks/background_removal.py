"""Pictures without their background, which becomes transparent."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import show
from webnnm.tasks.maps import resize_to_bytes
from webnnm.tasks.picture_task import PictureTask, as_pictures

MARGIN = 1e-5
"""By this, shares may be below 0 or above 1; other numbers are logits."""
CHANNELS = 4


class BackgroundRemoval(PictureTask):
    """Returns pictures whose background is transparent.

    >>> async def cut_out(remove):
    ...     return await remove("photo.jpg")
    """

    inputs = frozenset()
    classes = "a network with one picture and one mask, such as MODNet, BiRefNet or RMBG in ONNX"
    keeps_pixels = True

    @property
    def pixel_input(self) -> str:
        """The name of the input for pictures."""
        names = self.model.inputs()
        return "pixel_values" if "pixel_values" in names else names[0]

    @property
    def outputs(self) -> frozenset[str]:  # pyrefly: ignore[bad-override]
        """The output with the mask: the first one."""
        return frozenset(self.model.outputs()[:1])

    def fits(self) -> bool:
        """Return whether there is one input, and one map with a number for each pixel."""
        if len(self.model.inputs()) != 1 or len(self.model.config.get("id2label") or ()) > 1:
            return False
        (name,) = self.outputs
        features = self.model.describe_output(name)
        dims = features.dims or []
        if features.sequence is not None:  # that is what ONNX files have after the batch
            return len(dims) == 2
        return len(dims) == 3 and dims[0] == 1

    async def __call__(self, images: Any, *, batch_size: int = 1) -> Any:
        """Return an array of bytes `[height, width, 4]`, red, green, blue and alpha, or a list.

        `PIL.Image.fromarray` makes an image of it.

        - `images`: a picture or a list, see `ImageClassification`.
        - `batch_size`: how many pictures are computed at once.

        Raises `DataError` NNM717 if the network has several masks.
        """
        pictures, single = as_pictures(images)
        (name,) = self.outputs
        results: list[Any] = []
        async for result in self.run(pictures, batch_size):
            mask = result.outputs[name]
            device, logits = self.model.backend, has_logits(mask)
            alpha = await resize_to_bytes(device, mask, result.size, logits=logits)
            assert result.picture.original is not None
            results.append(add_alpha(result.picture.original, alpha).public())
        return results[0] if single else results


def has_logits(mask: HostArray) -> bool:
    """Return whether the numbers of a mask `[1, height, width]` are logits: they are no shares.

    >>> has_logits(HostArray.of([[[0.0, 1.0]]])), has_logits(HostArray.of([[[0.0, 3.0]]]))
    (False, True)

    Raises `DataError` NNM717 if there are several masks.
    """
    if len(mask.shape) != 3 or mask.shape[0] != 1:
        message = f"the output is {show(mask.shape)}, not a mask [1, height, width]"
        raise DataError("NNM717", message, hint="use image-segmentation for several masks")
    values: Any = mask.values()
    return min(values) < -MARGIN or max(values) > 1 + MARGIN


def add_alpha(pixels: HostArray, alpha: HostArray) -> HostArray:
    """Return pixels `[height, width, 3]` with a fourth channel.

    >>> pixel, alpha = HostArray("uint8", (1, 1, 3), b"abc"), HostArray("uint8", (1, 1, 1), b"z")
    >>> bytes(add_alpha(pixel, alpha).data)
    b'abcz'
    """
    height, width, colours = pixels.shape
    data = bytearray(CHANNELS * height * width)
    for channel in range(colours):
        data[channel::CHANNELS] = bytes(pixels.data[channel::colours])
    data[colours::CHANNELS] = bytes(alpha.data)
    return HostArray("uint8", (height, width, CHANNELS), bytes(data))
