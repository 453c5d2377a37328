"""Classes that are only named when a picture is classified, by the likeness of text and picture.

Source: A. Radford et al., "Learning transferable visual models from natural language supervision",
arXiv:2103.00020 (2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.tasks.candidate_labels import fill_template
from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.tasks.scores import rank, sigmoid, softmax
from webnnm.tasks.text_rows import encode_text, pad_rows

TEMPLATE = "This is a photo of {}."
SIGMOID = "siglip"
"""What the `model_type` of models contains whose labels are judged one by one."""
SIGMOID_LENGTH = 64
"""The number of tokens that these models were trained on."""


class ZeroShotImageClassification(PictureTask):
    """Returns how well each of some labels describes a picture.

    >>> async def sort(classify):
    ...     return await classify("photo.jpg", candidate_labels=["a cat", "a dog"])
    """

    inputs = frozenset({"pixel_values", "input_ids"})
    outputs = frozenset({"image_embeds"})
    classes = "CLIPModel"
    uses_tokenizer = True

    async def __call__(
        self,
        image: Any,
        candidate_labels: str | Sequence[str],
        *,
        hypothesis_template: str = TEMPLATE,
        batch_size: int = 1,
    ) -> list[Any]:
        """Return dicts with `score` and `label`, best first, or a list of these for each picture.

        - `image`: a picture or a list, see `ImageClassification`.
        - `candidate_labels`: a list, or one text with commas.
        - `hypothesis_template`: the text that describes the picture, with {} for the label.
        - `batch_size`: how many pictures are computed at once.
        """
        pictures, single = as_pictures(image)
        labels, texts = fill_template(candidate_labels, hypothesis_template)
        function = sigmoid if self._sigmoid else softmax
        results: list[list[dict[str, Any]]] = []
        async for result in self.run(pictures, batch_size, **self._encode(texts)):
            scores = function(result.outputs["logits_per_image"].tolist())
            results.append([{"score": scores[k], "label": labels[k]} for k in rank(scores, None)])
        return results[0] if single else results

    @property
    def _sigmoid(self) -> bool:
        return SIGMOID in str(self.model.config.get("model_type"))

    def _encode(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """Return the inputs for texts, padded to the longest."""
        rows = [encode_text(self.model, text, truncation=None).ids for text in texts]
        longest = max(map(len, rows))
        if self._sigmoid:
            longest = SIGMOID_LENGTH
            rows = [row if len(row) <= longest else [*row[: longest - 1], row[-1]] for row in rows]
        inputs = pad_rows(self.model, rows, longest)
        return {name: values for name, values in inputs.items() if name in self.model.inputs()}
