"""Pictures in texts: what a model sees in them takes the places of a token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.lru_cache import LruCache
from webnnm.core.shapes import count, show

PICTURES, STATES = "pixel_values", "image_hidden_states"
"""The input and the output of the tower of pictures."""
FEATURES, SEQUENCE = "image_features", "image_tokens"
"""The input of texts that takes what the tower computes, and its sequence."""
IMAGE_TOKEN, IMAGE_TOKENS = 128257, {"florence2": 51289}
"""The token in whose places pictures are, if the config has none; those of some families."""
MOST_SEEN = 64
"""The pictures whose features are kept: those of a conversation come again in each turn."""

See = Callable[[HostArray], Awaitable[HostArray]]
"""Computes the features `[1, places, size]` of a picture `[1, 3, height, width]`."""


def takes_pictures(inputs: Collection[str]) -> bool:
    """Return whether a model with these inputs reads texts with pictures in them.

    >>> takes_pictures(["input_ids", "image_features", "pixel_values"])
    True
    """
    return {PICTURES, FEATURES} <= {*inputs}


class SeenPictures:
    """The features of pictures in texts, each computed once; `size` is that of a vector."""

    def __init__(self, see: See, size: int) -> None:
        self._see, self._size = see, size
        self._kept = LruCache[tuple[int, bytes], HostArray](MOST_SEEN, lambda _: None)

    async def features(self, rows: Sequence[Sequence[HostArray]], version: int) -> HostArray:
        """Return the features of the pictures `[3, height, width]` of each text.

        They are `[texts, places, size]`, filled up with zeros; `version` is that of the parameters.
        """
        texts: list[bytes] = []
        for row in rows:
            parts = [await self._features(picture, version) for picture in row]
            texts.append(b"".join(bytes(part.data) for part in parts))
        longest = max(4 * self._size, *map(len, texts))
        data = b"".join(text + bytes(longest - len(text)) for text in texts)
        return HostArray("float32", (len(rows), longest // (4 * self._size), self._size), data)

    async def _features(self, picture: HostArray, version: int) -> HostArray:
        key = version, blake2b(picture.data).digest()
        features = self._kept.get(key)
        if features is None:
            one = HostArray(picture.dtype, (1, *picture.shape), picture.data)
            features = self._kept[key] = await self._see(one)
        return features


def split_pictures(values: Any) -> list[list[HostArray]]:
    """Return the pictures of each text, of an array `[texts, pictures, 3, height, width]`.

    Pictures of zeros fill up rows, and are left out, as in `transformers`. Without `pictures`,
    each text has one.

    >>> split_pictures([[[[[1.0]]], [[[0.0]]]]])
    [[HostArray(float32[1, 1, 1], [[[1]]])]]

    Raises `DataError` NNM702 for arrays of other ranks.
    """
    array = HostArray.of(values, "float32")
    if len(array.shape) == 4:
        pixels = [bytes(array.part(row, row + 1).data) for row in range(len(array))]
        return [[HostArray("float32", array.shape[1:], data)] for data in pixels]
    if len(array.shape) != 5:
        message = f"{PICTURES} of texts are [texts, pictures, 3, height, width]"
        raise DataError(
            "NNM702", f"{message}, or without pictures, but {show(array.shape)} was given"
        )
    texts, pictures, *shape = array.shape
    step, rows = 4 * count(shape), list[list[HostArray]]()
    data = memoryview(array.data)
    for text in range(texts):
        starts = [step * (text * pictures + picture) for picture in range(pictures)]
        parts = [bytes(data[start : start + step]) for start in starts]
        rows.append([HostArray("float32", shape, part) for part in parts if any(part)])
    return rows


def check_places(
    config: Mapping[str, Any], rows: Sequence[Sequence[int]], pictures: Sequence[int], places: int
) -> None:
    """Raise `DataError` NNM702 if a text does not have the places of its pictures.

    `pictures` are their numbers, each with so many `places`.
    """
    family = config.get("model_type", "")
    token = config.get("image_token_id") or IMAGE_TOKENS.get(family, IMAGE_TOKEN)
    for row, number in zip(rows, pictures, strict=True):
        actual = [*row].count(token)
        if actual != number * places:
            message = (
                f"a text has {actual} tokens of pictures, {number} pictures have {places} each"
            )
            hint = f"write token {token} {places} times for each picture"
            raise DataError("NNM702", message, hint=hint)
