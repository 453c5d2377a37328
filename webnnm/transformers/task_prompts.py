"""The tasks of Florence-2: words for each, and what kind of answer it has.

Source: B. Xiao et al., "Florence-2: advancing a unified representation for a variety of vision
tasks", arXiv:2311.06242 (2023), and the processor of `transformers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from webnnm.core.errors import DataError

Answer = Literal["text", "boxes", "quadrilaterals", "phrases", "polygons", "boxes or polygons"]


class Task(NamedTuple):
    """What the model is told, with {input} in the place of further words, and how it answers.

    `has_labels` is whether places follow the words for what is there.
    """

    words: str
    answer: Answer = "text"
    has_labels: bool = True


TASKS: Mapping[str, Task] = {
    "<OCR>": Task("What is the text in the image?"),
    "<OCR_WITH_REGION>": Task("What is the text in the image, with regions?", "quadrilaterals"),
    "<CAPTION>": Task("What does the image describe?"),
    "<DETAILED_CAPTION>": Task("Describe in detail what is shown in the image."),
    "<MORE_DETAILED_CAPTION>": Task("Describe with a paragraph what is shown in the image."),
    "<OD>": Task("Locate the objects with category name in the image.", "boxes"),
    "<DENSE_REGION_CAPTION>": Task(
        "Locate the objects in the image, with their descriptions.", "boxes"
    ),
    "<REGION_PROPOSAL>": Task("Locate the region proposals in the image.", "boxes", False),
    "<CAPTION_TO_PHRASE_GROUNDING>": Task("Locate the phrases in the caption: {input}", "phrases"),
    "<REFERRING_EXPRESSION_SEGMENTATION>": Task(
        "Locate {input} in the image with mask", "polygons", False
    ),
    "<REGION_TO_SEGMENTATION>": Task(
        "What is the polygon mask of region {input}", "polygons", False
    ),
    "<OPEN_VOCABULARY_DETECTION>": Task("Locate {input} in the image.", "boxes or polygons"),
    "<REGION_TO_CATEGORY>": Task("What is the region {input}?"),
    "<REGION_TO_DESCRIPTION>": Task("What does the region {input} describe?"),
    "<REGION_TO_OCR>": Task("What text is in the region {input}?"),
}
"""The word for a task → the task."""
INPUT = "{input}"


def find_task(prompt: str) -> str:
    """Return the word for the task of a prompt, "" if there is none.

    >>> find_task("<CAPTION_TO_PHRASE_GROUNDING> a green car"), find_task("Where is it?")
    ('<CAPTION_TO_PHRASE_GROUNDING>', '')
    """
    return next((mark for mark in TASKS if mark in prompt), "")


def write_task(prompt: str) -> str:
    """Return a prompt in the words that the model learnt for its task.

    >>> write_task("<CAPTION>"), write_task("<REGION_TO_OCR><loc_5><loc_5><loc_9><loc_9>")
    ('What does the image describe?', 'What text is in the region <loc_5><loc_5><loc_9><loc_9>?')

    A prompt without a task stays as it is. Raises `DataError` NNM704 for words after a task that
    takes none.
    """
    mark = find_task(prompt)
    if not mark:
        return prompt
    words = TASKS[mark].words
    more = prompt.replace(mark, "").strip()
    if INPUT in words:
        return words.replace(INPUT, more)
    if more:
        message = f'there is more than {mark} in the prompt: "{more[:60]}"'
        raise DataError("NNM704", message, hint="the task takes no further words")
    return words
