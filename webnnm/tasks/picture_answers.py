"""Tasks that a model carries out for a picture: captions, boxes, polygons, words that are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.formats.fields import Fields
from webnnm.tasks.image_to_text import read_length
from webnnm.tasks.picture_task import as_pictures
from webnnm.transformers.config import read_object
from webnnm.transformers.hub_model import HubModel
from webnnm.transformers.location_tokens import read_answer
from webnnm.transformers.picture_prompts import process_for_task, tokenize_task
from webnnm.transformers.picture_tokens import STATES
from webnnm.transformers.processors.files import JOINT_FILE
from webnnm.transformers.task_prompts import find_task

if TYPE_CHECKING:
    from webnnm.transformers.json_tokenizer import JsonTokenizer

ANSWERS = "post_processor_config"
"""The key of a processor with how texts are read."""


async def carry_out_tasks(
    model: HubModel, images: Any, text: Any, full: bool, settings: Mapping[str, Any]
) -> list[Any]:
    """Return what a model writes for the task of each picture, and what that means.

    A single text is the task of all pictures. Raises `DataError` NNM702 for other numbers of
    texts, NNM704 without a picture.
    """
    if images is None:
        raise DataError("NNM704", "there is no picture", hint="give images=")
    pictures, single = as_pictures(images)
    prompts = [text] * len(pictures) if isinstance(text, str) else [*text]
    if len(prompts) != len(pictures):
        raise DataError("NNM702", f"{len(prompts)} texts for {len(pictures)} pictures")
    banned = await _read_banned(model)
    settings = {**read_length(model.generation_config), **settings}
    results = [
        await _carry_out(model, picture, prompt, full, settings, banned)
        for picture, prompt in zip(pictures, prompts, strict=True)
    ]
    return results[0] if single else results


async def _carry_out(
    model: HubModel,
    picture: Any,
    prompt: str,
    full: bool,
    settings: Mapping[str, Any],
    banned: Sequence[str],
) -> list[dict[str, Any]]:
    """Return a dict for each text that is written about a picture."""
    how = model.read_file, model.picture_size(), model.backend
    processed = await process_for_task(picture, *how)
    pixels = HostArray("float32", (1, *processed.pixels.shape), processed.pixels.data)
    tokenizer, places = model.tokenizer, model.describe_output(STATES).sizes()[0]
    tokens = tokenize_task(prompt, tokenizer, places)
    rows = await model.generate_ids([tokens], pixel_values=pixels, **settings)
    mark, results = find_task(prompt), list[dict[str, Any]]()
    for row in rows:
        written = tokenizer.decode(row)
        result: dict[str, Any] = {
            "input_text": prompt,
            "generated_text": prompt + written if full else written,
        }
        if mark:  # places are control tokens
            text = cast("JsonTokenizer", tokenizer).decode(row, special=True)
            result["answer"] = {mark: read_answer(text, mark, processed.size, banned)}
        results.append(result)
    return results


async def _read_banned(model: HubModel) -> list[str]:
    """Return the phrases that are not located.

    Raises `DataError` NNM818 for ways to read texts that are not supported.
    """
    try:
        joint = read_object(await model.read_file(JOINT_FILE), JOINT_FILE)
    except DataError as error:
        if error.code != "NNM715":
            raise
        return []
    kinds = Fields.of(joint.get(ANSWERS) or {}, ANSWERS, "NNM818")
    ocr = Fields.of(kinds.get("ocr") or {}, f"{ANSWERS}.ocr", "NNM818")
    if ocr.number("AREA_THRESHOLD", 0.0):
        raise ocr.wrong("AREA_THRESHOLD", "0: all places are returned")
    grounding = kinds.get("phrase_grounding") or {}
    phrases = Fields.of(grounding, f"{ANSWERS}.phrase_grounding", "NNM818")
    return phrases.texts("banned_grounding_tokens", [])
