"""The size of the pictures that a model reads: a setting, or that of the folder's processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.formats.fields import Fields
from webnnm.transformers.architectures import ANY_SIZE
from webnnm.transformers.config import MAX_PICTURE, read_object
from webnnm.transformers.pretrained import Folder, text_of_folder

PROCESSOR = "preprocessor_config.json"
IMAGE_SIZE, PICTURE_SIZE = "image_size", "picture_size"
"""The key of configs, and the one of the pictures where a config has that of its tables."""
SHORTEST = "shortest_edge"


async def with_picture_size(
    config: Mapping[str, Any], source: Folder, image_size: int | Sequence[int] | None
) -> dict[str, Any]:
    """Return a config that says which size pictures have, if its model can read any.

    `image_size` is height and width, or one number for both; None means the size that the folder's
    processor makes. Raises `DataError` NNM704 for a size of a model that has one of its own, or for
    an invalid one, NNM818 for a damaged `preprocessor_config.json`.
    """
    reads_any = config.get("model_type") in ANY_SIZE
    if image_size is None:
        size = await _processor_size(source) if reads_any else None
    else:
        size = [image_size] * 2 if isinstance(image_size, int) else [*image_size]
        if not reads_any:
            message = f"image_size={size} for a model whose pictures have a size of their own"
            raise DataError("NNM704", message, hint=f"it is for {', '.join(sorted(ANY_SIZE))}")
        if len(size) != 2 or not all(0 < side <= MAX_PICTURE for side in size):
            message = f"image_size={size}"
            hint = f"height and width are integers from 1 to {MAX_PICTURE}"
            raise DataError("NNM704", message, hint=hint)
    if size is None:
        return {**config}
    return {**config, PICTURE_SIZE if IMAGE_SIZE in config else IMAGE_SIZE: size}


async def _processor_size(source: Folder) -> list[int] | None:
    """Return height and width of the pictures of a processor, None if there is none."""
    try:
        fields = read_object(await text_of_folder(source, PROCESSOR), PROCESSOR)
    except DataError as error:
        if error.code != "NNM715":
            raise
        return None
    crops = fields.get("crop_size") is not None and fields.get("do_center_crop", True)
    key = "crop_size" if crops else "size"
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, int):
        return [value] * 2
    sizes = Fields.of(value, f"{PROCESSOR}: {key}", "NNM818")
    if SHORTEST in sizes:
        return [sizes.integer(SHORTEST, None, 1, MAX_PICTURE)] * 2
    return [sizes.integer(side, None, 1, MAX_PICTURE) for side in ("height", "width")]
