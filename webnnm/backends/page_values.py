"""Values of a page as arrays whose numbers stay in JavaScript: typed arrays, pictures, sounds."""

from __future__ import annotations

import json
from typing import Any

from webnnm.backends.drawing import find_picture_class
from webnnm.backends.frames import find_layout, load_frames, translate_picture_errors
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.core.page_arrays import PageArray, find_class, read_typed_array
from webnnm.ops.declare.tensors import TensorType

FULL_BYTE = 255


async def read_page_value(where: str, value: Any, type: TensorType) -> HostArray | None:
    """Return a value of JavaScript as an array of a type, None if Python has to read it.

    Typed arrays have as many numbers as the type, and are read in its shape. The colours of
    anything that a canvas can draw are 0 … 1, or 0 … 255 in uint8; a sound of one channel is its
    samples. Raises `DataError` NNM702 for a sound of several channels, for a picture whose input
    takes none, and for one that cannot be read.
    """
    array = read_typed_array(value, type.dtype, type.shape)
    if array is None and find_picture_class(value) is not None:
        return await _read_picture(where, value, type)
    if array is None and find_class(value) == "AudioBuffer":
        if value.numberOfChannels != 1:
            channels = f"{value.numberOfChannels} channels"
            hint = "mix them, or pass one of them: sound.getChannelData(0)"
            raise DataError("NNM702", f"{where}: the sound has {channels}", hint=hint)
        array = read_typed_array(value.getChannelData(0), type.dtype, type.shape)
    if array is None or len(array) != 1:
        return None
    return PageArray(type.dtype, type.shape, array.js)


async def _read_picture(where: str, picture: Any, type: TensorType) -> HostArray:
    layout = find_layout(type)
    if layout is None:
        hint = "pictures are [1, channels, height, width] or [1, height, width, channels]"
        raise DataError("NNM702", f"{where} takes {type}, which is no picture", hint=hint)
    # Not all browsers have arrays of float16.
    dtype: DataType = "float32" if type.dtype == "float16" else type.dtype
    scale = float(FULL_BYTE if dtype == "uint8" else 1)
    described = layout.tensor("", False, [scale] * layout.channels, [0.0] * layout.channels)
    module = await load_frames()
    with translate_picture_errors():
        data = module.readPicture(picture, json.dumps(described.format(dtype)))
    array = PageArray(dtype, type.shape, data)
    return array if dtype == type.dtype else HostArray.of(array, type.dtype)
