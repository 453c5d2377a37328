"""The class of a picture."""

from __future__ import annotations

from typing import Any

from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.tasks.scores import best_labels


class ImageClassification(PictureTask):
    """Returns the most likely classes of pictures, with their scores.

    >>> async def name_animal(classify):
    ...     return (await classify("photo.jpg", top_k=1))[0]["label"]
    """

    outputs = frozenset({"logits"})
    classes = "…ForImageClassification"

    def fits(self) -> bool:
        """Return whether there is one row of scores for each picture."""
        logits = self.model.describe_output("logits")
        return logits.sequence is None and len(logits.sizes()) == 1

    async def __call__(
        self,
        inputs: Any,
        *,
        top_k: int | None = 5,
        function_to_apply: str | None = None,
        batch_size: int = 1,
    ) -> list[Any]:
        """Return a list of dicts with `label` and `score` for a picture, a list of these for more.

        - `inputs`: a picture or a list: paths, addresses, files, their bytes, arrays of bytes,
          image objects of PIL; in pages also canvases, videos and `ImageData`.
        - `top_k`: how many classes, all for None.
        - `function_to_apply`: "softmax", "sigmoid" or "none"; by default what the config says.
        - `batch_size`: how many pictures are computed at once.
        """
        pictures, single = as_pictures(inputs)
        config = self.model.config
        results = [
            best_labels(result.outputs["logits"].tolist(), config, top_k, function_to_apply)
            async for result in self.run(pictures, batch_size)
        ]
        return results[0] if single else results
