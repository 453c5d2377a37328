"""The hidden states of pictures, or one vector for each."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.picture_task import PictureTask, as_pictures

POOLED = "pooler_output"


class ImageFeatureExtraction(PictureTask):
    """Returns the last hidden states of pictures, or a vector for each.

    >>> async def compare(extract, one, other):
    ...     (first,), (second,) = await extract([one, other], pool=True)
    ...     return sum(a * b for a, b in zip(first, second))
    """

    outputs = frozenset({"last_hidden_state", "image_embeds"})
    classes = "image encoders, …Model"
    general = True

    async def __call__(self, inputs: Any, *, pool: bool = False, batch_size: int = 1) -> Any:
        """Return an array `[1, tokens, size]` for a picture, a list of these for several.

        - `inputs`: see `ImageClassification`.
        - `pool`: whether to return one vector `[1, size]`, that of the pooler.
        - `batch_size`: how many pictures are computed at once.

        Raises `DataError` NNM704 if the model has no pooler.
        """
        names = self.model.outputs()
        name = "image_embeds" if "image_embeds" in names else "last_hidden_state"
        if pool:
            name = POOLED
            if name not in names:
                hint = f"it computes {', '.join(names)}"
                raise DataError("NNM704", "pool: the model has no pooler", hint=hint)
        pictures, single = as_pictures(inputs)
        results: list[Any] = []
        async for result in self.run(pictures, batch_size):
            values = result.outputs[name]
            results.append(HostArray("float32", (1, *values.shape), values.data).public())
        return results[0] if single else results
