"""The size of the pictures that a model reads: a setting, or that of the folder's processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from webnnm.core.errors import DataError
from webnnm.transformers.architectures import SIZED_BY_PROCESSOR
from webnnm.transformers.config import MAX_PICTURE
from webnnm.transformers.pretrained import Folder, text_of_folder

IMAGE_SIZE, PICTURE_SIZE = "image_size", "picture_size"
"""The key of configs, and the one of the pictures where a config has that of its tables."""
SQUARE = 1 << 10, 1 << 10
"""The picture whose size after processing is that of a text."""


async def with_picture_size(
    config: Mapping[str, Any],
    source: Folder,
    image_size: int | Sequence[int] | None,
    log: Callable[[str], object],
) -> dict[str, Any]:
    """Return a config that says which size pictures have, if its model has none of its own.

    `image_size` is height and width, or one number for both; None means the size that the folder's
    processor makes of a square; `log` gets a line if it keeps the shape of pictures. Raises
    `DataError` NNM704 for a size of a model that has one of its own, or for an invalid one, NNM818
    for a processor that is damaged or not supported.
    """
    reads_any = config.get("model_type") in SIZED_BY_PROCESSOR
    if image_size is None:
        size = await _processor_size(source, IMAGE_SIZE in config, log) if reads_any else None
    else:
        size = [image_size] * 2 if isinstance(image_size, int) else [*image_size]
        if not reads_any:
            message = f"image_size={size} for a model whose pictures have a size of their own"
            raise DataError(
                "NNM704", message, hint=f"it is for {', '.join(sorted(SIZED_BY_PROCESSOR))}"
            )
        if len(size) != 2 or not all(0 < side <= MAX_PICTURE for side in size):
            message = f"image_size={size}"
            hint = f"height and width are integers from 1 to {MAX_PICTURE}"
            raise DataError("NNM704", message, hint=hint)
    return {**config} if size is None else set_picture_size(config, size)


def set_picture_size(config: Mapping[str, Any], size: Sequence[int]) -> dict[str, Any]:
    """Return a config for pictures of a height and a width.

    >>> set_picture_size({"model_type": "resnet"}, [32, 48])
    {'model_type': 'resnet', 'image_size': [32, 48]}
    """
    return {**config, PICTURE_SIZE if IMAGE_SIZE in config else IMAGE_SIZE: [*size]}


async def _processor_size(
    source: Folder, has_own: bool, log: Callable[[str], object]
) -> list[int] | None:
    """Return height and width of the pictures of a processor, None if there is none.

    If these depend on the picture and the config has a size of its own, that one is kept.
    """
    from webnnm.transformers.processors.files import read_picture_processor
    from webnnm.transformers.processors.picture_sizes import find_model_size

    try:
        settings = await read_picture_processor(partial(text_of_folder, source))
    except DataError as error:
        if error.code == "NNM715":
            return None
        hint = "from_pretrained with image_size=(height, width) does without this file"
        raise DataError(error.code, error.message, hint=hint) from error
    size = find_model_size(SQUARE, settings)
    if size is not None and settings.varies and settings.pad_size is None:
        log(
            "pictures keep their shape, and each size gets a graph of its own: "
            "image_size=(height, width) makes all of them one size"
        )
        return None if has_own else [*size]
    return size and [*size]
