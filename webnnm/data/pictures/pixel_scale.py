"""Pixels as light: numbers of any scale, scaled to 0 … 1."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError

FULL_SCALES = (1.0, 255.0, 65535.0)
FULL_BYTE = 255.0


@dataclass(frozen=True, slots=True)
class Light:
    """How the pixels of a dataset were scaled, for later pictures.

    >>> Light(255.0, of_bytes=True).of("picture", HostArray.of([0, 51], "uint8")).tolist()[0]
    0.0

    Attributes: `white`, the number that is 1; `of_bytes`, whether the pixels were bytes.
    """

    white: float
    of_bytes: bool

    @classmethod
    def measure(cls, pixels: HostArray, white: float | None = None) -> Light:
        """Return the light of a dataset's pixels; without `white`, it follows from their scale.

        >>> Light.measure(HostArray.of([0, 300]))
        Light(white=65535.0, of_bytes=False)

        Raises `DataError` NNM704 for a `white` that is not positive.
        """
        if pixels.dtype == "uint8" and white is None:
            white = FULL_BYTE
        if white is None:
            highest = max(pixels.values(), default=0)
            white = next((full for full in FULL_SCALES if highest <= full), 1.0)
        if not white > 0:
            hint = "the pixel value of white"
            raise DataError("NNM704", f"white is {white}", hint=hint)
        return cls(float(white), pixels.dtype == "uint8")

    def of(self, where: str, pixels: HostArray) -> HostArray:
        """Return new pixels in 0 … 1.

        If the pixels were bytes in the dataset and are other numbers now, fractions up to 1 are
        already scaled. Raises `DataError` NNM702 if it is unclear whether 1 is black or white.
        """
        bytes_now = pixels.dtype == "uint8"
        if bytes_now and not self.of_bytes:
            return to_unit(pixels, FULL_BYTE)
        if self.of_bytes and not bytes_now and self.white > 1:
            flat = pixels.values()
            if max(flat, default=0) <= 1 and any(flat):
                if not any(value % 1 for value in flat):
                    raise DataError(
                        "NNM702",
                        f"{where}: all pixels are 0 or 1, but white was {self.white:g}",
                        hint="give bytes (uint8), where 255 is white; or fractions in 0 … 1",
                    )
                return to_unit(pixels, 1.0)
        return to_unit(pixels, self.white)


def to_unit(pixels: HostArray, white: float) -> HostArray:
    """Return pixels in 0 … 1, float32; `white` is the number that becomes 1.

    >>> to_unit(HostArray.of([0, 51], "uint8"), 255).tolist() == HostArray.of([0, 0.2]).tolist()
    True
    """
    flat = pixels.values()
    if white == 1 and is_float(pixels.dtype):
        return HostArray.of(pixels, "float32")
    if pixels.dtype == "uint8":
        light = [value / white for value in range(256)]
        scaled = array("f", map(light.__getitem__, flat))  # pyrefly: ignore[unknown-argument-type]
        return HostArray("float32", pixels.shape, scaled)
    return HostArray("float32", pixels.shape, array("f", [value / white for value in flat]))
