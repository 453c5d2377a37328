"""Prompts with pictures: messages, texts, places of tiles, and what is refused."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from typing import Any

import pytest

import webnnm
from tests.parity.tasks.pictures import IDEFICS_TOKENS, make_files, read_fixtures
from tests.unit.tasks.words import QUIET
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.transformers.picture_prompts import read_prompt, write_places
from webnnm.transformers.processors.tiles import Tiles, count_tiles

pytestmark = pytest.mark.desktop
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)
TASK = "image-text-to-text"


def make_model_files() -> dict[str, bytes]:
    """Return the files of the recorded SmolVLM, with a chat template."""
    fixture = next(one for one in read_fixtures() if one["task"] == TASK)
    template = json.dumps({"chat_template": TEMPLATE}).encode()
    return {**make_files(fixture), "chat_template.json": template}


def draw(value: int, side: int = 9) -> HostArray:
    """Return a picture of noise that begins with a value."""
    noise = random.Random(value).randbytes(3 * side * side - 1)
    return HostArray("uint8", (side, side, 3), bytes([value]) + noise)


def write_messages(*parts: Any) -> list[dict[str, Any]]:
    """Return a message of pictures and texts."""
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", **part}
        for part in parts
    ]
    return [{"role": "user", "content": content}]


def test_places_are_rows_of_tiles_and_the_picture() -> None:
    first, image, _, last, *numbered = IDEFICS_TOKENS
    one = f"{first}{numbered[0]}{image}{first}{numbered[1]}{image}\n"
    two = f"{first}{numbered[3]}{image}{first}{numbered[4]}{image}\n"
    assert write_places(Tiles([], 2, 2), 1) == f"{one}{two}\n{first}{last}{image}{first}"
    assert [count_tiles(size, 10) for size in ((10, 10), (11, 30), (40, 9))] == [
        *((1, 1), (2, 3), (4, 1)),
    ]


async def test_messages_are_texts_with_pictures() -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("jinja2")
    async with await webnnm.pipeline(TASK, make_model_files(), **QUIET) as answer:
        assert webnnm.list_tasks(answer.model) == [TASK, "text-generation"]
        settings = {"max_new_tokens": 6, "return_full_text": False}
        pictures = [draw(40), draw(200)]
        messages = write_messages({"image": pictures[0]}, "so good", {"url": pictures[1]})
        text = "<image>so good<image>"
        assert read_prompt(messages, None, answer.model.tokenizer, {}) == (text, pictures)
        (expected,) = await answer(pictures, text, **settings)
        (actual,) = await answer(messages, **settings)
        assert actual == {**expected, "input_text": messages}
        assert await answer(text=[messages, messages], **settings) == [[actual], [actual]]
        (full,) = await answer(messages, max_new_tokens=6)
        answered = {"role": "assistant", "content": actual["generated_text"]}
        assert full["generated_text"] == [*messages, answered]
        pieces = [piece async for piece in answer.model.generate(messages, max_new_tokens=6)]
        assert "".join(pieces) == actual["generated_text"]


async def test_features_of_pictures_are_computed_once() -> None:
    pytest.importorskip("tokenizers")
    async with await webnnm.from_pretrained(make_model_files(), **QUIET) as model:
        seen = model._forward.pictures
        computed: list[HostArray] = []
        see = seen._see

        async def count(picture: HostArray) -> HostArray:
            computed.append(picture)
            return await see(picture)

        seen._see = count
        text = await model.generate("<image>so", images=[draw(9)], max_new_tokens=4)
        first = len(computed)
        assert first == 10 == len({bytes(picture.data) for picture in computed})
        again = await model.generate("<image>so", images=[draw(9)], max_new_tokens=4)
        assert (again, len(computed)) == (text, first)
        model.state.parameters.version += 1
        await model.generate("<image>so", images=[draw(9)], max_new_tokens=4)
        assert len(computed) == 2 * first


def test_pictures_in_messages_can_be_base64() -> None:
    data = b64encode(b"picture").decode()
    template: Any = type("Named", (), {"template": None})

    def read(**part: Any) -> list[Any]:
        prompt = write_messages(part)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("webnnm.transformers.picture_prompts.conversation", lambda *_: "<image>")
            return read_prompt(prompt, None, template, {}).pictures

    assert read(base64=data) == read(base64=f"data:image/png;base64,{data}") == [b"picture"]
    assert read(path="photo.jpg") == ["photo.jpg"]
    for part in ({"base64": "…"}, {}):
        with pytest.raises(DataError, match=r"NNM702: a p"):
            read(**part)


async def test_wrong_prompts_are_refused() -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("jinja2")
    files = make_model_files()
    async with await webnnm.pipeline(TASK, files, **QUIET) as answer:
        for images, text in (([draw(1)], "so"), ([], "<image>"), (None, "<image> so <image>")):
            with pytest.raises(DataError, match=r"NNM702: . pictures, but . × <image>"):
                await answer(images, text)
        with pytest.raises(DataError, match=r"NNM702: messages have their pictures in them"):
            await answer([draw(1)], write_messages({"image": draw(1)}))
        with pytest.raises(DataError, match=r"NNM704: there is no text"):
            await answer([draw(1)])
        with pytest.raises(DataError, match=r"NNM704: the last message is one of the model"):
            await answer([{"role": "assistant", "content": "so"}])
        model = answer.model
        ids, token = [[5, 6]], model.config["image_token_id"]
        pixels = HostArray("float32", (1, 1, 3, 8, 8), b"\0\0\x80?" * 192)
        for rows, given in ((ids, pixels), ([[token] * 5], pixels), ([[token]], None)):
            with pytest.raises(DataError, match=r"NNM702: a text has . tokens of pictures"):
                await model.predict(input_ids=rows, pixel_values=given)
            with pytest.raises(DataError, match=r"NNM702: a text has . tokens of pictures"):
                await model.generate_ids(rows, pixel_values=given)
        with pytest.raises(DataError, match=r"NNM702: pixel_values of texts are \[texts"):
            await model.predict(input_ids=ids, pixel_values=[[[1.0]]])
        with pytest.raises(DataError, match=r"NNM702: 2 texts, and pictures of 1"):
            await model.predict(input_ids=ids * 2, pixel_values=pixels)
    processor = json.loads(files["processor_config.json"])
    processor["image_processor"]["max_image_size"] = {"longest_edge": 9}
    other = {**files, "processor_config.json": json.dumps(processor).encode()}
    async with await webnnm.pipeline(TASK, other, **QUIET) as answer:
        with pytest.raises(DataError, match=r"NNM818: .*pictures of 9 × 9 pixels"):
            await answer([draw(1)], "<image>")


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("text_config", {"model_type": "gemma"}, '"text_config.model_type" is "gemma"'),
        ("text_config", {"use_resampler": True}, '"text_config.use_resampler" is true'),
        ("vision_config", {"num_experts": 3}, '"vision_config.num_experts" is 3'),
        ("", {"scale_factor": 3}, "4 x 4 patches cannot be joined by 3 x 3"),
        ("", {"connector": "mlp"}, '"connector" is "mlp"'),
    ],
)
async def test_other_models_are_refused(part: str, changes: dict[str, Any], message: str) -> None:
    files = make_model_files()
    config = json.loads(files["config.json"])
    (config[part] if part else config).update(changes)
    given = {**files, "config.json": json.dumps(config).encode()}
    with pytest.raises(DataError, match=f"NNM818: config.json: {message}"):
        await webnnm.from_pretrained(given, **QUIET)
