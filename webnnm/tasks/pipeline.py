"""Opens a model for a task, such as "text-classification"."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Self

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError, suggestion
from webnnm.transformers.hub_model import HubModel
from webnnm.transformers.pretrained import Folder
from webnnm.transformers.pretrained_model import from_pretrained

TASKS = {
    "audio-classification": ("audio_classification", "AudioClassification"),
    "automatic-speech-recognition": ("speech_recognition", "SpeechRecognition"),
    "background-removal": ("background_removal", "BackgroundRemoval"),
    "depth-estimation": ("depth_estimation", "DepthEstimation"),
    "document-question-answering": ("document_questions", "DocumentQuestionAnswering"),
    "feature-extraction": ("feature_extraction", "FeatureExtraction"),
    "fill-mask": ("fill_mask", "FillMask"),
    "image-classification": ("image_classification", "ImageClassification"),
    "image-feature-extraction": ("image_features", "ImageFeatureExtraction"),
    "image-segmentation": ("image_segmentation", "ImageSegmentation"),
    "image-text-to-text": ("image_text_to_text", "ImageTextToText"),
    "image-to-text": ("image_to_text", "ImageToText"),
    "mask-generation": ("mask_generation", "MaskGeneration"),
    "object-detection": ("object_detection", "ObjectDetection"),
    "question-answering": ("question_answering", "QuestionAnswering"),
    "sentence-similarity": ("sentence_similarity", "SentenceSimilarity"),
    "summarization": ("text_to_text", "Summarization"),
    "text-classification": ("text_classification", "TextClassification"),
    "text-generation": ("text_generation", "TextGeneration"),
    "text-ranking": ("text_ranking", "TextRanking"),
    "text-to-speech": ("text_to_speech", "TextToSpeech"),
    "text2text-generation": ("text_to_text", "TextToText"),
    "token-classification": ("token_classification", "TokenClassification"),
    "translation": ("text_to_text", "Translation"),
    "visual-question-answering": ("visual_questions", "VisualQuestionAnswering"),
    "zero-shot-classification": ("zero_shot", "ZeroShotClassification"),
    "zero-shot-object-detection": ("zero_shot_detection", "ZeroShotObjectDetection"),
    "zero-shot-image-classification": ("zero_shot_images", "ZeroShotImageClassification"),
}
"""Task → the module and the class of its pipeline."""
ALIASES = {
    "ner": "token-classification",
    "sentiment-analysis": "text-classification",
    "speech-recognition": "automatic-speech-recognition",
    "text-to-audio": "text-to-speech",
}


class Pipeline:
    """A model that carries out one task; made by `pipeline`.

    Call it with one input or a list of them. Use `async with`, or call `close`, to free device
    memory early; a model that was passed to `pipeline` stays open.

    Attributes: `model`, the `PretrainedModel`, or `PretrainedOnnxModel`.
    """

    inputs: ClassVar[frozenset[str]] = frozenset()
    """The inputs that a model for the task has, all of them."""
    outputs: ClassVar[frozenset[str]]
    """The outputs that a model for the task has, at least one of them."""
    classes: ClassVar[str]
    """The classes of models that have them, for messages."""
    general: ClassVar[bool] = False
    """Whether models for more specific tasks can carry it out, too."""
    uses_tokenizer: ClassVar[bool] = False
    """Whether a model without a tokenizer is of no use for it."""

    def __init__(self, task: str, model: HubModel, *, owned: bool) -> None:
        self.task, self.model, self._owned = task, model, owned
        self.check()

    @classmethod
    async def open(cls, task: str, source: Folder, settings: Mapping[str, Any]) -> Self:
        """Return the pipeline for a folder; if it cannot be used, nothing stays open."""
        # That a model is not one of pictures says more than that it has no tokenizer.
        early = cls.uses_tokenizer and "pixel_values" not in cls.inputs
        chosen: dict[str, Any] = {"require_tokenizer": early, **settings}
        model = await from_pretrained(source, **chosen)
        try:
            opened = cls(task, model, owned=True)
            await opened.prepare()
        except BaseException:
            model.close()
            raise
        return opened

    def check(self) -> None:
        """Raise `DataError` NNM717 if the model does not fit the task, NNM718 for its tokenizer."""
        inputs, outputs = {*self.model.inputs()}, {*self.model.outputs()}
        if not self.inputs <= inputs or not self.outputs & outputs or not self.fits():
            architectures = self.model.config.get("architectures") or ["a model without a class"]
            raise DataError(
                "NNM717",
                f"{architectures[0]} cannot be used for {self.task}: it computes "
                f"{', '.join(self.model.outputs())}",
                hint=f"load weights of {self.classes}",
            )
        if self.uses_tokenizer:
            _ = self.model.tokenizer  # raises if there is none

    def fits(self) -> bool:
        """Return whether a model with such outputs fits the task."""
        return True

    @property
    def class_name(self) -> str:
        """The class of the model in `transformers`, "" if its config does not name one."""
        return str((self.model.config.get("architectures") or [""])[0])

    async def prepare(self) -> None:
        """Read what the task needs besides the model; called once, by `pipeline`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the device memory of the model, unless it was passed to `pipeline`."""
        if self._owned:
            self.model.close()

    def __repr__(self) -> str:
        return f"<pipeline {self.task}: {self.model.name}>"


@require_await
async def pipeline(task: str, model: Folder | HubModel, **settings: Any) -> Any:
    """Open a model for a task; the result is called with inputs, and returns plain results.

    >>> import webnnm
    >>> async def judge(folder):
    ...     async with await webnnm.pipeline("text-classification", folder) as classify:
    ...         return await classify(["What a day!", "I want my money back."])

    Tasks, their arguments and results have the names and forms that they have in Hugging Face's
    `transformers`; [Pipelines](../docs/pipelines.md) lists them.

    - `task`: a name such as "text-classification" or "image-classification".
    - `model`: a folder, URL or files, or an open model of `from_pretrained`.
    - `settings`: those of `from_pretrained`, such as `weights="int8"`, or `dtype="q8"` for
      the ONNX files of a folder.

    Raises `DataError` NNM704 for an unknown task, NNM717 for a model that does not fit it, NNM718
    for a tokenizer that the task needs, and what `from_pretrained` raises; then nothing stays open.
    """
    name = ALIASES.get(task, task)
    if name not in TASKS:
        hint = suggestion(task, [*TASKS, *ALIASES]) or f"there are {', '.join(TASKS)}"
        raise DataError("NNM704", f'there is no pipeline for the task "{task}"', hint=hint)
    module, class_name = TASKS[name]
    kind_of_task: type[Pipeline] = getattr(import_module(f"webnnm.tasks.{module}"), class_name)
    if not isinstance(model, HubModel):
        return await kind_of_task.open(name, model, settings)
    if settings:
        names = ", ".join(settings)
        hint = "pass them to from_pretrained, which opens the model"
        raise DataError("NNM704", f"{names}: the model is already open", hint=hint)
    opened = kind_of_task(name, model, owned=False)
    await opened.prepare()
    return opened
