"""Chat templates are rendered as by transformers, within bounds on time and memory."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.data.test_references import Touched
from tests.unit.transformers.folders import CONFIG, write
from tests.unit.transformers.templates import (
    ASKED,
    BRIEFED,
    CONVERSATIONS,
    HOSTILE,
    LONGER,
    TEMPLATES,
    TOOLS,
)
from tests.unit.transformers.tokenizer_json import TEXT
from webnnm import BackendError, DataError
from webnnm.transformers.chat_template import ChatTemplate, conversation

pytestmark = pytest.mark.desktop
jinja2 = pytest.importorskip("jinja2")
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


def render(template: str, messages: list[dict[str, Any]] = ASKED, **more: Any) -> str:
    return conversation(messages, ChatTemplate({"default": template}, SPECIAL), **more)


class Raised(Exception):
    """What raise_exception raises below."""


def by_jinja(template: str, messages: list[dict[str, Any]], **more: Any) -> str:
    """Return what the environment of transformers makes of a template."""
    from jinja2 import ext, nodes, sandbox

    class Generation(ext.Extension):
        tags = frozenset({"generation"})

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return nodes.CallBlock(self.call_method("_say"), [], [], body).set_lineno(line)

        def _say(self, caller: Any) -> str:
            return caller()

    def raise_exception(message: str) -> None:
        raise Raised(message)

    def tojson(value: Any, indent: Any = None) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment.from_string(template).render(
        messages=messages, add_generation_prompt=True, **SPECIAL, **more
    )


@pytest.mark.parametrize("talk", CONVERSATIONS)
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["", "tools"])
def test_texts_are_those_of_jinja(name: str, talk: str, tools: Any) -> None:
    messages, template = CONVERSATIONS[talk], TEMPLATES[name]
    try:
        expected = by_jinja(template, messages, tools=tools, documents=None)
    except Raised as error:
        with pytest.raises(DataError, match="NNM722: the chat template refuses") as caught:
            render(template, messages, tools=tools)
        assert str(error) in str(caught.value)
    except (jinja2.TemplateError, TypeError):
        with pytest.raises(DataError, match="NNM718: the chat template cannot be rendered"):
            render(template, messages, tools=tools)
    else:
        assert render(template, messages, tools=tools) == expected


def test_texts_of_known_templates() -> None:
    assert render(TEMPLATES["phi-4"]) == (
        '<|im_start|>user<|im_sep|>  What is <b>it</b>, "Zoë"? <|im_end|>'
        "<|im_start|>assistant<|im_sep|>"
    )
    assert render(TEMPLATES["qwen 3"], LONGER, enable_thinking=False).endswith(
        "<|im_start|>assistant\nA cat.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert render(TEMPLATES["mistral"], LONGER[:2]).startswith("<s>[INST]   What is")
    briefed = render(TEMPLATES["default system message"], BRIEFED)
    assert briefed.startswith("<s><<SYS>>Be brief.<</SYS>>[USER] What is")
    assert render(TEMPLATES["llama 3.1"], date_string="today").startswith(
        "<s><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
        "Today Date: today\n\n<|eot_id|>"
    )


def test_functions_of_templates() -> None:
    assert render("{{ strftime_now('%Y') }}") in (str(datetime.now().year), "2026")
    assert render("{{ {'a': '<é>'}|tojson }}") == '{"a": "<é>"}'
    assert render("{{ add_generation_prompt }}", add_generation_prompt=False) == "False"
    assert render("{{ documents[0].title }}", documents=[{"title": "T"}]) == "T"
    thoughts = [{"role": "assistant", "content": None, "reasoning": "Hm"}]
    assert render("{{ messages[0] }}", thoughts) == (
        "{'thinking': 'Hm', 'role': 'assistant', 'reasoning': 'Hm', 'reasoning_content': 'Hm'}"
    )


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_templates_end_within_bounds(number: int) -> None:
    with pytest.raises(DataError, match="NNM718: the chat template") as caught:
        render(HOSTILE[number])
    assert "as one text" in caught.value.hint
    assert len(str(caught.value)) < 900


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% break %}", "'break' outside loop"),
        ("{{ range(end=1, end=2) }}", "keyword argument repeated: end"),
        ("{% macro f(x, x) %}{% endmacro %}", "duplicate argument 'l_1_x' in function definition"),
        ("{% for a in x %}" * 21 + "{% endfor %}" * 21, "too many statically nested blocks"),
    ],
)
def test_faults_of_templates_read_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, reason: str
) -> None:
    """Python looks for the line of a fault in a file of the name that code was compiled with."""
    render("loads what templates need")
    monkeypatch.chdir(tmp_path)
    touched = Touched()
    touched.on = True
    try:
        with pytest.raises(DataError) as caught:
            render(template)
    finally:
        touched.on = False
    assert caught.value.message == f"the chat template cannot be rendered: {reason}"
    assert not {*touched.seen} - {"open "}


def test_long_conversations_are_written() -> None:
    messages = [
        {"role": role, "content": f"{number} " * 300}
        for number in range(400)
        for role in ("user", "assistant")
    ]
    for name in ("chatml", "llama 3.1", "qwen 3", "gemma"):
        assert len(render(TEMPLATES[name], messages)) > 500_000


def test_templates_change_nothing_of_the_messages() -> None:
    messages = [{"role": "user", "content": "Hi", "more": None}]
    render("{% set messages = messages + messages %}{% set x = messages[0].copy() %}", messages)
    assert messages == [{"role": "user", "content": "Hi", "more": None}]


@pytest.mark.parametrize("message", ["Hi", {"content": "Hi"}, {"role": 1}, None, 5])
def test_what_is_no_message_is_refused(message: Any) -> None:
    with pytest.raises(DataError, match=r"NNM702: .* is not a message"):
        render("", [message])


def test_templates_have_names() -> None:
    several = ChatTemplate({"default": "plain", "tool_use": "tools", "rag": "documents"})
    assert conversation(ASKED, several) == "plain"
    assert conversation(ASKED, several, tools=TOOLS) == "tools"
    assert conversation(ASKED, several, chat_template="rag") == "documents"
    with pytest.raises(DataError, match=r'NNM718: .*default, tool_use, rag, not "rog"') as caught:
        conversation(ASKED, several, chat_template="rog")
    assert "rag" in caught.value.hint
    with pytest.raises(DataError, match="NNM718: the model has no chat template"):
        conversation(ASKED, ChatTemplate())


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "webnnm.transformers.template_sandbox", None)
    with pytest.raises(BackendError, match="NNM709: a chat template needs the package jinja2"):
        render("")


async def load(folder: Path) -> Any:
    return await webnnm.from_pretrained(folder, backend="numpy", log=lambda _: None)


async def test_folders_have_templates_and_special_tokens(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    folder = write(tmp_path, {**CONFIG, "eos_token_id": 2})
    (folder / "tokenizer.json").write_text(TEXT)
    listed = [
        {"name": "default", "template": "{{ bos_token }}the bat{{ eos_token }}"},
        {"name": "other", "template": "{{ pad_token }}"},
    ]
    told: dict[str, Any] = {"chat_template": listed, "bos_token": {"content": "<s>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    (folder / "special_tokens_map.json").write_text('{"eos_token": "<|im_end|>"}')
    model = await load(folder)
    assert model.apply_chat_template(ASKED) == "<s>the bat<|im_end|>"
    assert model.apply_chat_template(ASKED, chat_template="other") == ""
    assert isinstance(await model.generate(ASKED, max_new_tokens=2), str)
    model.close()
    (folder / "chat_template.jinja").write_text("{{ tools }}")
    model = await load(folder)
    assert model.apply_chat_template(ASKED, tools=[1]) == "[1]"
    model.close()


@pytest.mark.parametrize(
    "told",
    [
        [],
        5,
        {"chat_template": 5},
        {"chat_template": [5]},
        {"chat_template": [{"name": "default"}]},
        {"bos_token": 5},
        {"bos_token": {"text": "<s>"}},
    ],
)
async def test_damaged_tokenizer_configs_are_named(tmp_path: Path, told: Any) -> None:
    folder = write(tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"NNM818: tokenizer_config\.json"):
        await load(folder)
