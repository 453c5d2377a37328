"""Prompts with pictures: messages and texts that say where they are, and the tokens of both."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from webnnm.backends.base import Backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.transformers.chat_template import Message, conversation
from webnnm.transformers.processors.files import ReadFile, read_picture_processor
from webnnm.transformers.processors.picture_settings import FILE, Size
from webnnm.transformers.processors.pictures import (
    ProcessedPicture,
    process_picture,
    show_size,
)
from webnnm.transformers.processors.tiles import Tiles, process_tiles
from webnnm.transformers.task_prompts import write_task
from webnnm.transformers.tokenizer import Tokenizer

IMAGE, BORDER, ALL = "<image>", "<fake_token_around_image>", "<global-img>"
SOURCES = ("image", "url", "path")
"""Keys of the pictures in messages; there is "base64" as well."""


class PicturePrompt(NamedTuple):
    """A text with a mark for each of its pictures."""

    text: str
    pictures: list[Any]


def read_prompt(
    prompt: Any, images: Sequence[Any] | None, tokenizer: Tokenizer, chat: Mapping[str, Any]
) -> PicturePrompt:
    """Return the text of a prompt or of messages, and its pictures.

    Raises `DataError` NNM702 for pictures without marks and the other way round, and what
    `conversation` raises.
    """
    pictures = [*(images or [])]
    if isinstance(prompt, str):
        text = prompt
    else:
        if images is not None:
            message = "messages have their pictures in them, but there are images="
            raise DataError("NNM702", message, hint='{"type": "image", "image": …}')
        plain: list[Message] = []
        for message in cast("Sequence[Any]", prompt):
            plain.append(_take_pictures(message, pictures))
        text = conversation(plain, tokenizer.template, **chat)
    marks = text.count(IMAGE)
    if marks != len(pictures):
        message = f"{len(pictures)} pictures, but {marks} × {IMAGE} in the text"
        raise DataError("NNM702", message, hint=f"write {IMAGE} in the place of each picture")
    return PicturePrompt(text, pictures)


def _take_pictures(message: Any, pictures: list[Any]) -> Any:
    """Return a message without its pictures, which are added to a list."""
    content = cast("Mapping[str, Any]", message).get("content") if _is_object(message) else None
    if not isinstance(content, (list, tuple)):
        return message
    parts: list[Any] = []
    for part in cast("Sequence[Any]", content):
        if _is_object(part) and part.get("type") == "image":
            pictures.append(_read_picture(part))
            part = {"type": "image"}
        parts.append(part)
    return {**message, "content": parts}


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _read_picture(part: Mapping[str, Any]) -> Any:
    picture = next((part[key] for key in SOURCES if part.get(key) is not None), None)
    if picture is None and part.get("base64") is not None:
        try:
            return b64decode(str(part["base64"]).rpartition(",")[2], validate=True)
        except ValueError as error:
            raise DataError("NNM702", "a picture in a message is not base64") from error
    if picture is None:
        hint = '{"type": "image", "image": …}, or "url", "path", "base64"'
        raise DataError("NNM702", "a part of a message is a picture, but has none", hint=hint)
    return picture


class TokenizedPrompt(NamedTuple):
    """The tokens of a prompt, and the pictures that it has in it, as the model takes them."""

    tokens: list[int]
    pictures: list[HostArray]


async def tokenize(
    prompt: PicturePrompt,
    tokenizer: Tokenizer,
    read_file: ReadFile,
    size: Size,
    places: int,
) -> TokenizedPrompt:
    """Return the tokens of a prompt, with `places` for each tile of its pictures.

    `size` is that of the pictures of the model. Raises `DataError` NNM818 for a processor of other
    sizes, and what `process_tiles` raises.
    """
    parts, tiles = prompt.text.split(IMAGE), list[HostArray]()
    text = parts[0]
    if prompt.pictures:
        settings = await read_picture_processor(read_file)
        if size != (settings.tile, settings.tile):
            message = f"{FILE}: pictures of {show_size((settings.tile, settings.tile))} pixels"
            hint = f"the model reads pictures of {show_size(size)}"
            raise DataError("NNM818", message, hint=hint)
        for number, picture in enumerate(prompt.pictures):
            name = f"picture {number}" if len(prompt.pictures) > 1 else "the picture"
            cut = await process_tiles(picture, name, settings)
            tiles += cut.tiles
            text += write_places(cut, places) + parts[number + 1]
    first = tokenizer.template.special.get("bos_token")
    begins = first is not None and text.startswith(first)
    return TokenizedPrompt(
        tokenizer.encode_rendered(text) if begins else tokenizer.encode(text), tiles
    )


def read_task_prompt(prompt: Any, images: Sequence[Any] | None) -> PicturePrompt:
    """Return the prompt of a model that carries out tasks for a picture, such as Florence-2.

    Raises `DataError` NNM702 for messages, and for more than a picture.
    """
    pictures = [*(images or [])]
    if not isinstance(prompt, str):
        hint = 'such as model.generate("<CAPTION>", images=[photo])'
        raise DataError("NNM702", "the model takes no messages, but a task", hint=hint)
    if len(pictures) > 1:
        raise DataError("NNM702", f"a task for {len(pictures)} pictures", hint="give one")
    return PicturePrompt(prompt, pictures)


async def process_for_task(
    picture: Any, read_file: ReadFile, size: Size | None, backend: Backend
) -> ProcessedPicture:
    """Return a picture as a model of this size takes it."""
    settings = await read_picture_processor(read_file)
    return await process_picture(picture, "the picture", settings, size, backend=backend)


def tokenize_task(prompt: str, tokenizer: Tokenizer, places: int) -> list[int]:
    """Return the tokens of a task, behind `places` for what is seen in a picture, 0 without."""
    text, special = write_task(prompt), tokenizer.template.special
    if places:
        begin, end = special.get("bos_token", "<s>"), special.get("eos_token", "</s>")
        text = f"{IMAGE * places}{begin}{text}{end}"
    return tokenizer.encode_rendered(text)


def write_places(cut: Tiles, places: int) -> str:
    """Return the text in whose places the tiles of a picture are.

    >>> write_places(Tiles([], 0, 0), 2)
    '<fake_token_around_image><global-img><image><image><fake_token_around_image>'
    """
    one = IMAGE * places
    lines = [
        "".join(f"{BORDER}<row_{row + 1}_col_{column + 1}>{one}" for column in range(cut.columns))
        for row in range(cut.rows)
    ]
    rows = "\n".join([*lines, "\n"]) if lines else ""
    return f"{rows}{BORDER}{ALL}{one}{BORDER}"
